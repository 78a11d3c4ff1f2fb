"""Moves a tenant to another database while it goes on reading and writing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from memolith.engine.progress import Progress, no_progress
from memolith.engine.tenant_copy import carry_rest, follow, unequal, unequal_logs
from memolith.engine.verification import differences
from memolith.errors import Conflict, InvalidInput, NotFound, StoreCorrupt

if TYPE_CHECKING:
    from memolith.storage.postgres.store import PostgresStore
    from memolith.storage.postgres.writer import PostgresWriter


class TenantMove:
    """One move of a tenant. Its writes are refused only while the last few events are copied."""

    def __init__(
        self,
        leader: PostgresStore,
        tenant: str,
        url: str,
        embed: Callable[[PostgresStore], object],
        progress: Progress | None,
    ) -> None:
        self._leader = leader
        self._tenant = tenant
        self._url = url
        self._embed = embed
        self._progress = progress or no_progress

    def run(self) -> int:
        """Move the tenant; returns how many events it had. If it fails, nothing has changed."""
        leader = self._leader
        with ExitStack() as opened, leader.writing(None) as lock:
            if not lock.lock_tenant_move(self._tenant):
                raise Conflict("Somebody else moves this tenant right now; nothing was done.")
            leader.forget()
            # A store that does not follow the tenant when it has moved.
            plain = opened.enter_context(closing(leader.plain_store(leader.url)))
            source = leader.home(self._tenant) or plain
            target = plain if self._moves_back else leader.store_at(self._url)
            events = self._check(source, target)
            checked = self._copy(source, target)
            self._switch(source, target, checked, lock)
        leader.forget()
        return events

    @property
    def _moves_back(self) -> bool:
        """Whether the tenant comes back to the database that holds the map."""
        return self._url == self._leader.url

    def _check(self, source: PostgresStore, target: PostgresStore) -> int:
        """How many events the tenant has; refuses a tenant or a target that makes no sense."""
        with source.reading(None) as old, target.reading(None) as new:
            events = old.last_seq(self._tenant)
            if not events:
                raise NotFound(f"There is no tenant {self._tenant[:60]!r}.", field="tenant")
            if old.database() == new.database():
                raise InvalidInput("The tenant lives in this database already.", field="to")
        return events

    def _copy(self, source: PostgresStore, target: PostgresStore) -> int:
        """Copy nearly everything while the tenant goes on writing, and check the copy.

        Returns the number of the last event that was checked.
        """
        # An earlier move away from the target has left the tenant frozen there.
        target.freeze(self._tenant, False)
        follow(source, target, self._tenant, self._progress, with_vectors=True, nearly=True)
        self._embed(target)
        # Without statistics the planner would take the tables for empty, and the first searches
        # and writes of a large tenant would take seconds.
        target.analyze()
        problems = differences(target, self._tenant)
        if problems:
            raise StoreCorrupt(
                f"The copy does not equal its log, so nothing was changed: {problems[0]}"
            )
        follow(source, target, self._tenant, self._progress, with_vectors=True, nearly=True)
        carry_rest(source, target, self._tenant)
        with target.reading(self._tenant) as rows:
            checked = rows.last_seq(self._tenant)
        problems = unequal_logs(source, target, self._tenant, checked)
        if problems:
            raise StoreCorrupt(f"The copy is not equal, so nothing was changed: {problems[0]}")
        follow(source, target, self._tenant, self._progress, with_vectors=True, nearly=True)
        return checked

    def _switch(
        self, source: PostgresStore, target: PostgresStore, checked: int, lock: PostgresWriter
    ) -> None:
        """Copy the last events while writes are refused, and note the new home.

        If the process dies here, the next writer finds that nobody moves the tenant any more, and
        lets its writes in again: see `PostgresStore.writing`.
        """
        # Waits for the writer at work.
        source.freeze(self._tenant, True)
        with ExitStack() as on_failure:
            on_failure.callback(source.freeze, self._tenant, False)
            follow(source, target, self._tenant, self._progress, with_vectors=True)
            carry_rest(source, target, self._tenant)
            problems = unequal(source, target, self._tenant, checked)
            if problems:
                raise StoreCorrupt(f"The copy is not equal, so nothing was changed: {problems[0]}")
            # In the transaction that holds the lock: should the lock be lost, nothing is noted.
            if self._moves_back:
                lock.delete_home(self._tenant)
            else:
                lock.put_home(self._tenant, self._url)
            lock.notify_of_homes()
            # The move is done with the commit: the tenant stays frozen where it was.
            on_failure.pop_all()


def purge_tenant(leader: PostgresStore, tenant: str, url: str) -> None:
    """Remove what is left of a tenant in a database that it has moved away from."""
    leader.forget()
    home = leader.home(tenant) or leader
    with (
        closing(leader.plain_store(url)) as store,
        home.reading(None) as at_home,
        store.writing(None) as rows,
    ):
        if rows.database() == at_home.database() or not rows.is_frozen(tenant):
            raise Conflict("The tenant lives there, or never did; nothing was removed.")
        rows.purge(tenant)
