"""Exports and backups that are made beside the calls, each of them in the log."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from memolith.domain.callers import MACHINE_TENANT, Caller
from memolith.domain.ids import new_id
from memolith.engine.recording import Recorder
from memolith.engine.transactions import Transactions
from memolith.errors import Conflict, Denied, NotFound
from memolith.ports.clock import Clock
from memolith.ports.copies import READY, Copies, Copy

BACKUP = "backup"


@dataclass(frozen=True)
class Copying:
    """Starts copies for admins, and tells how far they are."""

    store: Transactions
    recorder: Recorder
    clock: Clock
    copies: Callable[[], Copies]

    def start(self, caller: Caller, kind: str) -> Copy:
        """Begin a copy. A backup holds all tenants, so only the owner of the server makes one."""
        if kind == BACKUP and caller.tenant != MACHINE_TENANT:
            raise Denied("Only an admin of the tenant that owns this server makes a backup.")
        copy = Copy(new_id(), kind, caller.tenant, caller.user, self.clock.now())
        with self.store.writing(caller.tenant) as rows:
            if not self.copies().reserve(copy):
                raise Conflict(
                    "A copy is being made already; wait until it is ready.", field="kind"
                )
            # Nobody has a copy that the log does not know, and the copy holds this entry.
            self.store.after_commit(
                lambda: self.copies().start(copy),
                if_taken_back=lambda: self.copies().remove(copy.id),
            )
            self.recorder.tell(rows, caller, f"copy/{copy.id}", "copied", {"name": kind})
        return copy

    def all(self, caller: Caller) -> list[Copy]:
        """The copies of the caller's tenant, the newest first."""
        return self.copies().all(caller.tenant)

    def remove(self, caller: Caller, id: str) -> bool:
        """Delete a copy, or stop making it; False if there is none."""
        is_own = any(copy.id == id for copy in self.all(caller))
        if is_own:
            self.copies().remove(id)
        return is_own

    def open(self, caller: Caller, id: str) -> tuple[Copy, IO[bytes]]:
        """A copy that is ready, and its file."""
        copy = self._find(caller, id)
        if copy.state != READY:
            raise Conflict("This copy is not ready.", field="id", id=id)
        return copy, self.copies().open(id)

    def _find(self, caller: Caller, id: str) -> Copy:
        for copy in self.all(caller):
            if copy.id == id:
                return copy
        raise NotFound("There is no such copy; it may have been deleted.", field="id", id=id)
