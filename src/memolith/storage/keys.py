"""The keys of HTTP clients; only their hashes."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Protocol

from memolith.engine.ports import ClientKey
from memolith.storage.reader import SqlReader
from memolith.storage.rows import key_from
from memolith.storage.writer import SqlWriter


class SqlStore(Protocol):
    """A store with named statements."""

    def reading(self, tenant: str | None) -> AbstractContextManager[SqlReader]: ...
    def writing(self, tenant: str | None, wait_s: float | None = None) -> AbstractContextManager[SqlWriter]: ...


class StoredKeys:
    """All client keys of one store."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    def add(self, key: ClientKey) -> None:
        """Let a client in."""
        with self._store.writing(None) as rows:
            rows.do("key_add", id=key.id, digest=key.digest, name=key.name, tenant=key.tenant, user=key.user,
                    scopes=json.dumps(key.scopes), created_at=key.created_at, expires_at=key.expires_at,
                    last_used=key.last_used, revoked=int(key.revoked))

    def by_digest(self, digest: str) -> ClientKey | None:
        """The key with that hash, revoked or not."""
        with self._store.reading(None) as rows:
            found = rows.row("key_by_digest", digest=digest)
        return key_from(found) if found is not None else None

    def all(self) -> list[ClientKey]:
        """Every key, oldest first."""
        with self._store.reading(None) as rows:
            return [key_from(row) for row in rows.rows("keys")]

    def revoke(self, id: str) -> bool:
        """Shut a client out; False if there is no such key."""
        with self._store.writing(None) as rows:
            return bool(list(rows.rows("key_revoke", id=id)))

    def used(self, id: str, at: str) -> None:
        """Note that a key was used."""
        with self._store.writing(None, 0.2) as rows:
            rows.do("key_used", id=id, at=at)
