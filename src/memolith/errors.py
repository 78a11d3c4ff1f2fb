"""Everything that can go wrong, as one tree. Each class is a situation that a caller can react to.

MemolithError                 500  internal_error
├── InvalidInput              400  validation_error
│   ├── Malformed             400  validation_error
│   └── BlockedContent        400  content_blocked
├── Unauthenticated           401  unauthenticated
│   └── KeyPaused             401  key_paused
├── Denied                    403  permission_denied
├── NotFound                  404  not_found
│   └── PromptNotFound        404  not_found
├── Conflict                  409  conflict
│   ├── VersionConflict       409  version_conflict
│   ├── AlreadyExists         409  already_exists
│   └── NotUndoable           409  not_undoable
├── TooLarge                  413  too_large
├── RateLimited               429  rate_limited        try again after 1 s
├── Unavailable               503  unavailable
│   ├── StoreBusy             503  store_busy          try again after 1 s
│   ├── StoreReadOnly         503  store_read_only
│   ├── StoreCorrupt          503  store_corrupt
│   ├── StoreReplaced         503  store_replaced
│   ├── StoreGone             503  store_gone          try again after 2 s
│   ├── StoreDenied           503  store_denied
│   ├── OutcomeUnknown        503  outcome_unknown
│   ├── TenantMoving          503  tenant_moving       try again after 2 s
│   ├── SchemaTooNew          503  schema_too_new
│   ├── ServerUnreachable     503  server_unreachable
│   ├── EmbedderDown          503  embedder_down
│   └── AnalystDown           503  analyst_down
└── DiskFull                  507  disk_full

The first line of a class's docstring is the message that users see when none is given.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class MemolithError(Exception):
    """Something went wrong inside memolith."""

    type: str = "internal_error"
    """The name of the error in results and in the reference pages."""

    status: int = 500
    """The HTTP status of the answer."""

    retry_s: int | None = None
    """After how many seconds the same call is likely to succeed; None if waiting does not help."""

    def __init__(
        self,
        message: str | None = None,
        *,
        field: str | None = None,
        id: str | None = None,
        value: object = None,
    ) -> None:
        if message is None:
            message = (self.__doc__ or "").split("\n")[0]
        self.message = message
        self.field = field
        """The argument or setting that is wrong."""
        self.id = id
        """The item that the error is about."""
        self.value = value
        """The offending value, unless it may be secret."""
        super().__init__(message)


class InvalidInput(MemolithError):
    """An argument is not valid."""

    type = "validation_error"
    status = 400


class Malformed(InvalidInput):
    """An argument does not fit what the tool takes."""


class BlockedContent(InvalidInput):
    """The text holds a secret, and secrets are blocked here."""

    type = "content_blocked"


class Unauthenticated(MemolithError):
    """A valid key is needed."""

    type = "unauthenticated"
    status = 401


class KeyPaused(Unauthenticated):
    """This key is paused; it works again when an admin resumes it."""

    type = "key_paused"


class Denied(MemolithError):
    """You may not do this."""

    type = "permission_denied"
    status = 403


class NotFound(MemolithError):
    """There is no such thing here."""

    type = "not_found"
    status = 404


class PromptNotFound(NotFound):
    """There is no such prompt or template."""


class Conflict(MemolithError):
    """The present state does not allow this."""

    type = "conflict"
    status = 409


class VersionConflict(Conflict):
    """The item has changed since you read it; read it again and repeat."""

    type = "version_conflict"


class AlreadyExists(Conflict):
    """This exists already."""

    type = "already_exists"


class NotUndoable(Conflict):
    """This event cannot be undone."""

    type = "not_undoable"


class TooLarge(MemolithError):
    """The input is too large."""

    type = "too_large"
    status = 413


class RateLimited(MemolithError):
    """Too many calls; wait a moment."""

    type = "rate_limited"
    status = 429
    retry_s = 1

    def __init__(
        self,
        message: str | None = None,
        *,
        field: str | None = None,
        id: str | None = None,
        value: object = None,
        retry_s: int = 1,
    ) -> None:
        super().__init__(message, field=field, id=id, value=value)
        self.retry_s = retry_s


class Unavailable(MemolithError):
    """A part that is needed does not work right now."""

    type = "unavailable"
    status = 503


class StoreBusy(Unavailable):
    """Other writers kept the database busy for too long; try again."""

    type = "store_busy"
    retry_s = 1


class StoreReadOnly(Unavailable):
    """The data folder cannot be written; check its permissions."""

    type = "store_read_only"


class StoreCorrupt(Unavailable):
    """The database file is damaged; restore a backup with `memolith restore-backup`."""

    type = "store_corrupt"


class StoreReplaced(Unavailable):
    """The database file was removed or replaced while memolith had it open; restart memolith."""

    type = "store_replaced"


class StoreGone(Unavailable):
    """The database server cannot be reached; nothing was done. The next call tries again."""

    type = "store_gone"
    retry_s = 2


class StoreDenied(Unavailable):
    """The database server refused the login; check user and password in the setting `database`."""

    type = "store_denied"


class OutcomeUnknown(Unavailable):
    """The connection broke during a commit; look for the write, or repeat it with its key."""

    type = "outcome_unknown"


class TenantMoving(Unavailable):
    """This tenant is moving to another database; nothing was written. Try again in seconds."""

    type = "tenant_moving"
    retry_s = 2


class SchemaTooNew(Unavailable):
    """This data was written by a newer memolith; update the program."""

    type = "schema_too_new"


class ServerUnreachable(Unavailable):
    """The server cannot be reached. Raised by the Python library, which tries again first."""

    type = "server_unreachable"


class EmbedderDown(Unavailable):
    """The embedding model cannot be used right now."""

    type = "embedder_down"


class AnalystDown(Unavailable):
    """The model that analyses texts cannot be used right now."""

    type = "analyst_down"


class DiskFull(MemolithError):
    """The disk is full; nothing was written. Free some room and repeat."""

    type = "disk_full"
    status = 507


FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
NO_PERMISSION = (errno.EACCES, errno.EPERM, errno.EROFS)


def of_system(error: OSError) -> MemolithError:
    """The error of ours that stands for an error of the file system in the data folder."""
    if error.errno in FULL_DISK:
        return DiskFull()
    if error.errno in NO_PERMISSION:
        return StoreReadOnly()
    return Unavailable(f"The data folder cannot be used: {error.strerror}.")


@contextmanager
def translated(
    foreign: type[Exception] | tuple[type[Exception], ...],
    kind: type[MemolithError],
    message: str,
    field: str | None = None,
) -> Iterator[None]:
    """Raise our error instead of a library's; `{error}` in the message is what the library said."""
    try:
        yield
    except foreign as error:
        raise kind(message.replace("{error}", str(error)), field=field) from error
