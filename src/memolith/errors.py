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

    def __init__(self, message: str | None = None, *, field: str | None = None, id: str | None = None,
                 value: object = None) -> None:
        self.message = message or self.__doc__ or ""
        self.field, self.id, self.value = field, id, value
        super().__init__(self.message)


def derived(parent: type[MemolithError], name: str, meaning: str, **traits: object) -> type[MemolithError]:
    """A class of errors by its name, which in small letters is its type unless one is given, and its usual message."""
    kind = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
    return type(name, (parent,), {"__doc__": meaning, "__module__": __name__, "type": kind, **traits})


InvalidInput = derived(MemolithError, "InvalidInput", "An argument is not valid.", type="validation_error", status=400)
Malformed = derived(InvalidInput, "Malformed", "An argument does not fit what the tool takes.", type="validation_error")
BlockedContent = derived(
    InvalidInput, "BlockedContent", "The text holds a secret, and secrets are blocked here.", type="content_blocked")
Unauthenticated = derived(MemolithError, "Unauthenticated", "A valid key is needed.", status=401)
Denied = derived(MemolithError, "Denied", "You may not do this.", type="permission_denied", status=403)
NotFound = derived(MemolithError, "NotFound", "There is no such thing here.", status=404)
PromptNotFound = derived(NotFound, "PromptNotFound", "There is no such prompt or template.", type="not_found")
Conflict = derived(MemolithError, "Conflict", "The present state does not allow this.", status=409)
VersionConflict = derived(
    Conflict, "VersionConflict", "The item has changed since you read it; read it again and repeat.")
AlreadyExists = derived(Conflict, "AlreadyExists", "This exists already.")
NotUndoable = derived(Conflict, "NotUndoable", "This event cannot be undone.")
TooLarge = derived(MemolithError, "TooLarge", "The input is too large.", status=413)
RateLimited = derived(MemolithError, "RateLimited", "Too many calls; wait a moment.", status=429)
Unavailable = derived(MemolithError, "Unavailable", "A part that is needed does not work right now.", status=503)
StoreBusy = derived(
    Unavailable, "StoreBusy", "Other writers kept the database busy for too long; try again.", retry_s=1)
StoreReadOnly = derived(Unavailable, "StoreReadOnly", "The data folder cannot be written; check its permissions.")
StoreCorrupt = derived(
    Unavailable, "StoreCorrupt", "The database file is damaged; restore a backup with `memolith restore-backup`.")
StoreGone = derived(Unavailable, "StoreGone", "The database server cannot be reached; nothing was done. "
                    "It is tried again with the next call.", retry_s=2)
StoreDenied = derived(Unavailable, "StoreDenied", "The database server does not let memolith in; "
                      "check user and password in the setting `database`.")
OutcomeUnknown = derived(Unavailable, "OutcomeUnknown", "The database went away while a write was committed; "
                         "look whether it is there, or repeat it with its key.")
TenantMoving = derived(Unavailable, "TenantMoving", "This tenant moves to another database right now; "
                       "nothing was written. Try again in a few seconds.", retry_s=2)
SchemaTooNew = derived(Unavailable, "SchemaTooNew", "This data was written by a newer memolith; update the program.")
EmbedderDown = derived(Unavailable, "EmbedderDown", "The embedding model cannot be used right now.")
AnalystDown = derived(Unavailable, "AnalystDown", "The model that analyses texts cannot be used right now.")
DiskFull = derived(
    MemolithError, "DiskFull", "The disk is full; nothing was written. Free some room and repeat.", status=507)


def of_system(error: OSError) -> MemolithError:
    """What an error of the file system means to us."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull()
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly()
    return Unavailable(f"The data folder cannot be used: {error.strerror}.")


@contextmanager
def translated(foreign: type[Exception] | tuple[type[Exception], ...], kind: type[MemolithError], message: str,
               field: str | None = None) -> Iterator[None]:
    """What others raise as one of these becomes ours; {error} in the message stands for what they said."""
    try:
        yield
    except foreign as error:
        raise kind(message.replace("{error}", str(error)), field=field) from error
