"""The keys of HTTP clients; only their hashes."""

from __future__ import annotations

from memolith.engine.ports import ClientKey
from memolith.storage.rows import columns, key_from
from memolith.storage.store import SqlStore


class StoredKeys:
    """All client keys of one store."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    def add(self, key: ClientKey) -> None:
        """Let a client in."""
        with self._store.writing(None) as rows:
            rows.add("client_key", columns(key))

    def by_digest(self, digest: str) -> ClientKey | None:
        """The key with that hash, revoked or not."""
        with self._store.reading(None) as rows:
            return rows.one(key_from, "client_key", digest=digest)

    def all(self) -> list[ClientKey]:
        """Every key, oldest first."""
        with self._store.reading(None) as rows:
            return sorted(map(key_from, rows.find("client_key")), key=lambda key: (key.created_at, key.id))

    def revoke(self, id: str) -> bool:
        """Shut a client out; False if there is no such key."""
        with self._store.writing(None) as rows:
            rows.change("client_key", ("id",), {"id": id, "revoked": 1})
            return any(rows.find("client_key", id=id))

    def used(self, id: str, at: str) -> None:
        """Note that a key was used."""
        with self._store.writing(None, 0.2) as rows:
            rows.change("client_key", ("id",), {"id": id, "last_used": at})
