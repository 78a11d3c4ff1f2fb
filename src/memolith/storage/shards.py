"""Several PostgreSQL databases as one store: a small map in the first says which tenant lives elsewhere."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from operator import itemgetter

from memolith.engine.upkeep import carry_rest, differences, follow, unequal
from memolith.errors import Conflict, InvalidInput, NotFound, StoreCorrupt, TenantMoving
from memolith.storage.postgres import PostgresStore
from memolith.storage.postgres_read import Connection
from memolith.storage.store import SqlWriter

FRESH_S = 1.0
TABLES = ("event", "item", "tag", "passage", "posting", "term", "sketch", "link", "embedding", "outbox", "outbox_done",
          "access", "setting")
Progress = Callable[[int, int], None]


class Shards(PostgresStore):
    """The first database, which also knows the others; what is about no tenant in particular happens in it alone."""

    def __init__(self, url: str, connections: int = 10, busy_s: float = 20.0, statement_s: float = 60.0,
                 pooled: bool = False) -> None:
        super().__init__(url, connections, busy_s, statement_s, pooled)
        self._open = partial(PostgresStore, connections=connections, busy_s=busy_s, statement_s=statement_s,
                             pooled=pooled)
        self._stores: dict[str, PostgresStore] = {}
        self._homes: dict[str, str] = {}
        self._known_at, self._lock = float("-inf"), threading.Lock()

    @contextmanager
    def transaction(self, tenant: str | None, writes: bool, wait_s: float) -> Iterator[Connection]:
        begin = home.transaction if (home := self.home(tenant)) else super().transaction
        with begin(tenant, writes, wait_s) as db:
            yield db

    @contextmanager
    def writing(self, tenant: str | None, wait_s: float | None = None) -> Iterator[SqlWriter]:
        """Writes of one tenant where it lives; if it has just moved, in its new home."""
        with ExitStack() as stack:
            try:
                rows = stack.enter_context(super().writing(tenant, wait_s))
            except TenantMoving:
                self.forget()
                rows = stack.enter_context(super().writing(tenant, wait_s))
            yield rows

    def forget(self) -> None:
        """Read the map anew with the next call, because it has changed."""
        self._known_at = float("-inf")

    def home(self, tenant: str | None) -> PostgresStore | None:
        """The other database that a tenant lives in; what another process changed is known here within a second."""
        if tenant is None:
            return None
        if time.monotonic() - self._known_at > FRESH_S:
            with self.reading(None) as rows:
                self._homes = dict(rows.find("home"))
            self._known_at = time.monotonic()
        url = self._homes.get(tenant)
        return self._at(url) if url else None

    def _at(self, url: str) -> PostgresStore:
        with self._lock:
            if url not in self._stores:
                self._stores[url] = self._open(url)
            return self._stores[url]

    def homes(self) -> dict[str, str]:
        """Where the tenants of other databases live."""
        self.forget()
        self.home("")
        return dict(self._homes)

    def elsewhere(self) -> Iterator[PostgresStore]:
        """The other databases in which tenants live, in any order, so that one which is gone holds up none for long."""
        urls = sorted(set(self.homes().values()))
        yield from map(self._at, random.sample(urls, len(urls)))

    def move(self, tenant: str, url: str, embed: Callable[[PostgresStore], object],
             progress: Progress | None = None) -> int:
        """Carry a tenant to another database; its writes are refused only while the last few events are copied."""
        with super().writing(None) as rows:
            if rows.row("move_lock", tenant=tenant) != (True,):
                raise Conflict("Somebody else moves this tenant right now; nothing was done.")
            return self._move(tenant, url, embed, progress)

    def _move(self, tenant: str, url: str, embed: Callable[[PostgresStore], object], progress: Progress | None) -> int:
        self.forget()
        source, back = self.home(tenant), url == self.url
        target = PostgresStore(url) if back else self._at(url)
        here: PostgresStore = source or PostgresStore(self.url)
        with here.reading(None) as rows, target.reading(None) as other:
            if not (count := rows.last_seq(tenant)):
                raise NotFound(f"There is no tenant {tenant[:60]!r}.", field="tenant")
            if rows.database() == other.database():
                raise InvalidInput("The tenant lives in this database already.", field="to")
        freeze(target, tenant, False)
        follow(here, target, tenant, progress)
        embed(target)
        if problems := differences(target, tenant):
            raise StoreCorrupt(f"The copy does not equal its log, so nothing was changed: {problems[0]}")
        follow(here, target, tenant, progress)
        # Waits for the writer at work. A tenant that an earlier move left behind frozen is one like any other here.
        freeze(here, tenant, True)
        with ExitStack() as failed:
            failed.callback(freeze, here, tenant, False)
            follow(here, target, tenant, progress)
            carry_rest(here, target, tenant)
            if problems := unequal(here, target, tenant):
                raise StoreCorrupt(f"The copy is not equal, so nothing was changed: {problems[0]}")
            with super().writing(None) as rows:
                if back:
                    rows.drop("home", tenant=tenant)
                else:
                    rows.put("home", {"tenant": tenant, "url": url}, ("tenant",))
                rows.do("notify")
            failed.pop_all()
        self.forget()
        return count

    def purge(self, tenant: str, url: str) -> None:
        """Remove what is left of a tenant in a database that it has moved away from."""
        self.forget()
        home = self.home(tenant) or self
        with closing(PostgresStore(url)) as store, home.reading(None) as here, store.writing(None) as rows:
            if rows.database() == here.database() or rows.one(itemgetter(6), "head", tenant=tenant) is not True:
                raise Conflict("The tenant lives there, or never did; nothing was removed.")
            for table in TABLES:
                rows.drop(table, tenant=tenant)
            rows.change("head", ("tenant",), {"tenant": tenant, "seq": 0, "passages": 0, "terms": 0, "at": ""})

    def close(self) -> None:
        super().close()
        for store in self._stores.values():
            store.close()


def freeze(store: PostgresStore, tenant: str, frozen: bool) -> None:
    """Refuse a tenant's writes here, or let them in again."""
    with store.writing(None) as rows:
        rows.change("head", ("tenant",), {"tenant": tenant, "frozen": frozen})
