"""Everything that can go wrong, as one tree.

MemolithError
├── InvalidInput          400  an argument is missing, ill-formed or out of range
│   ├── Malformed         400  an argument does not fit the schema of its tool
│   └── BlockedContent    400  a secret was found and the policy is to block
├── Unauthenticated       401  no key, or one that is not valid (any more)
├── Denied                403  the caller may not do this
├── NotFound              404  no such item, link, event, key or file
├── Conflict              409  the state of things does not allow it
│   ├── VersionConflict   409  somebody else was faster
│   ├── AlreadyExists     409  a name or pair that must be unique is taken
│   └── NotUndoable       409  this event cannot be undone (any more)
├── TooLarge              413  the input is over a limit
├── RateLimited           429  too many calls
├── Unavailable           503  a part that is needed does not work right now
│   ├── StoreBusy         503  other writers held the database for too long
│   ├── StoreReadOnly     503  the data folder cannot be written
│   ├── StoreCorrupt      503  the database file is damaged
│   ├── SchemaTooNew      503  the data was written by a newer memolith
│   └── EmbedderDown      503  the embedding model cannot be used
└── DiskFull              507  no room left on the disk
"""


class MemolithError(Exception):
    """Something went wrong inside memolith."""

    type = "internal_error"
    status = 500

    def __init__(self, message: str | None = None, *, field: str | None = None, id: str | None = None,
                 value: object = None) -> None:
        self.message = message or (self.__doc__ or "").split("\n")[0]
        self.field = field
        self.id = id
        self.value = value
        super().__init__(self.message)


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


class Denied(MemolithError):
    """You may not do this."""

    type = "permission_denied"
    status = 403


class NotFound(MemolithError):
    """There is no such thing here."""

    type = "not_found"
    status = 404


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


class Unavailable(MemolithError):
    """A part that is needed does not work right now."""

    type = "unavailable"
    status = 503


class StoreBusy(Unavailable):
    """Other writers kept the database busy for too long; try again."""

    type = "store_busy"


class StoreReadOnly(Unavailable):
    """The data folder cannot be written; check its permissions."""

    type = "store_read_only"


class StoreCorrupt(Unavailable):
    """The database file is damaged; restore a backup with `memolith restore-backup`."""

    type = "store_corrupt"


class SchemaTooNew(Unavailable):
    """This data was written by a newer memolith; update the program."""

    type = "schema_too_new"


class EmbedderDown(Unavailable):
    """The embedding model cannot be used right now."""

    type = "embedder_down"


class DiskFull(MemolithError):
    """The disk is full; nothing was written. Free some room and repeat."""

    type = "disk_full"
    status = 507
