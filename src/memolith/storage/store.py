"""What the stores of every SQL database have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from memolith.engine.ports import ClientKey
from memolith.storage.reader import Known, SqlReader
from memolith.storage.rows import columns, key_from
from memolith.storage.writer import SqlWriter


class SqlStore(ABC):
    """A database and the connections to it that are idle."""

    reader: type[SqlReader]
    writer: type[SqlWriter]

    def __init__(self, busy_s: float) -> None:
        self._busy_s = busy_s
        self._idle: list[Any] = []
        self._known: Known = {}
        self._closed = False

    @abstractmethod
    def transaction(self, tenant: str | None, writes: bool, wait_s: float) -> AbstractContextManager[Any]:
        """A connection in a transaction of its own, which waits at most so long for locks."""

    @contextmanager
    def reading(self, tenant: str | None) -> Iterator[SqlReader]:
        """Reads of one tenant that all see the same moment; None reads across tenants."""
        with self.transaction(tenant, False, self._busy_s) as db:
            yield self.reader(db, tenant, self._known)

    @contextmanager
    def writing(self, tenant: str | None, wait_s: float | None = None) -> Iterator[SqlWriter]:
        """Reads and writes that happen wholly or not at all; durable when this ends."""
        wait = self._busy_s if wait_s is None else min(wait_s, self._busy_s)
        with self.transaction(tenant, True, wait) as db:
            yield self.writer(db, tenant)

    @contextmanager
    def rebuilding(self) -> Iterator[Callable[[str], SqlWriter]]:
        """Empty read models, to be filled anew from the log in one transaction."""
        with self.writing(None) as rows:
            for name in ("empty_models", "empty_index"):
                rows.do(name)
            yield rows.begin
            rows.do("access_again")

    def close(self) -> None:
        """Close every idle connection."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


class StoredKeys(NamedTuple):
    """The keys of HTTP clients in one store; only their hashes."""

    store: SqlStore

    def add(self, key: ClientKey) -> None:
        """Let a client in."""
        with self.store.writing(None) as rows:
            rows.add("client_key", columns(key))

    def by_digest(self, digest: str) -> ClientKey | None:
        """The key with that hash, revoked or not."""
        with self.store.reading(None) as rows:
            return rows.one(key_from, "client_key", digest=digest)

    def all(self) -> list[ClientKey]:
        """Every key, oldest first."""
        with self.store.reading(None) as rows:
            return sorted(map(key_from, rows.find("client_key")), key=lambda key: (key.created_at, key.id))

    def revoke(self, id: str) -> bool:
        """Shut a client out; False if there is no such key."""
        with self.store.writing(None) as rows:
            rows.change("client_key", ("id",), {"id": id, "revoked": 1})
            return any(rows.find("client_key", id=id))

    def used(self, id: str, at: str) -> None:
        """Note that a key was used."""
        with self.store.writing(None, 0.2) as rows:
            rows.change("client_key", ("id",), {"id": id, "last_used": at})
