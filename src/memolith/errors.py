"""Everything that can go wrong, as one tree with the HTTP status; to the right what is derived from a class.

MemolithError
├── InvalidInput     400  Malformed, BlockedContent
├── Unauthenticated  401
├── Denied           403
├── NotFound         404  PromptNotFound
├── Conflict         409  VersionConflict, AlreadyExists, NotUndoable
├── TooLarge         413
├── RateLimited      429
├── Unavailable      503  StoreBusy, StoreReadOnly, StoreCorrupt, StoreGone, StoreDenied, OutcomeUnknown, TenantMoving,
│                         SchemaTooNew, EmbedderDown, AnalystDown
└── DiskFull         507
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager


class MemolithError(Exception):
    """Something went wrong inside memolith."""

    type = "internal_error"
    status = 500
    retry_s: int | None = None
    """After how many seconds the same call may well succeed."""

    def __init_subclass__(
        cls, type: str = "", status: int | None = None, retry_s: int | None = None
    ) -> None:
        """`class StoreBusy(Unavailable, retry_s=1)`: the type is the name in small letters where none is given."""
        cls.type = type or re.sub(r"(?<!^)([A-Z])", r"_\1", cls.__name__).lower()
        cls.status = status or cls.status
        cls.retry_s = retry_s or cls.retry_s

    def __init__(
        self,
        message: str | None = None,
        *,
        field: str | None = None,
        id: str | None = None,
        value: object = None,
    ) -> None:
        self.message = message or (self.__doc__ or "").split("\n")[0]
        self.field, self.id, self.value = field, id, value
        super().__init__(self.message)


class InvalidInput(MemolithError, type="validation_error", status=400):
    """An argument is not valid."""


class Malformed(InvalidInput, type="validation_error"):
    """An argument does not fit what the tool takes."""


class BlockedContent(InvalidInput, type="content_blocked"):
    """The text holds a secret, and secrets are blocked here."""


class Unauthenticated(MemolithError, status=401):
    """A valid key is needed."""


class Denied(MemolithError, type="permission_denied", status=403):
    """You may not do this."""


class NotFound(MemolithError, status=404):
    """There is no such thing here."""


class PromptNotFound(NotFound, type="not_found"):
    """There is no such prompt or template."""


class Conflict(MemolithError, status=409):
    """The present state does not allow this."""


class VersionConflict(Conflict):
    """The item has changed since you read it; read it again and repeat."""


class AlreadyExists(Conflict):
    """This exists already."""


class NotUndoable(Conflict):
    """This event cannot be undone."""


class TooLarge(MemolithError, status=413):
    """The input is too large."""


class RateLimited(MemolithError, status=429):
    """Too many calls; wait a moment."""


class Unavailable(MemolithError, status=503):
    """A part that is needed does not work right now."""


class StoreBusy(Unavailable, retry_s=1):
    """Other writers kept the database busy for too long; try again."""


class StoreReadOnly(Unavailable):
    """The data folder cannot be written; check its permissions."""


class StoreCorrupt(Unavailable):
    """The database file is damaged; restore a backup with `memolith restore-backup`."""


class StoreGone(Unavailable, retry_s=2):
    """The database server cannot be reached; nothing was done. It is tried again with the next call."""


class StoreDenied(Unavailable):
    """The database server does not let memolith in; check user and password in the setting `database`."""


class OutcomeUnknown(Unavailable):
    """The database went away while a write was committed; look whether it is there, or repeat it with its key."""


class TenantMoving(Unavailable, retry_s=2):
    """This tenant moves to another database right now; nothing was written. Try again in a few seconds."""


class SchemaTooNew(Unavailable):
    """This data was written by a newer memolith; update the program."""


class EmbedderDown(Unavailable):
    """The embedding model cannot be used right now."""


class AnalystDown(Unavailable):
    """The model that analyses texts cannot be used right now."""


class DiskFull(MemolithError, status=507):
    """The disk is full; nothing was written. Free some room and repeat."""


def of_system(error: OSError) -> MemolithError:
    """What an error of the file system means to us."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull()
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly()
    return Unavailable(f"The data folder cannot be used: {error.strerror}.")


@contextmanager
def translated(
    foreign: type[Exception] | tuple[type[Exception], ...],
    kind: type[MemolithError],
    message: str,
    field: str | None = None,
) -> Iterator[None]:
    """What others raise as one of these becomes ours; {error} in the message stands for what they said."""
    try:
        yield
    except foreign as error:
        raise kind(message.replace("{error}", str(error)), field=field) from error
