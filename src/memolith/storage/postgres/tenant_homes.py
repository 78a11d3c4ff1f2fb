"""Which database each tenant lives in."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memolith.storage.postgres.store import PostgresStore

FRESH_S = 1.0
"""For how long the map is used before it is read again; another process may have changed it."""


class TenantHomes:
    """The map of the tenants that live in other databases, and the stores of those databases."""

    def __init__(
        self, read: Callable[[], dict[str, str]], open_store: Callable[[str], "PostgresStore"]
    ) -> None:
        self._read = read
        self._open_store = open_store
        self._urls: dict[str, str] = {}
        self._read_at: float | None = None
        self._stores: dict[str, PostgresStore] = {}
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Read the map again with the next call, because it has changed."""
        self._read_at = None

    def store_of(self, tenant: str) -> "PostgresStore | None":
        """The store of the other database that a tenant lives in."""
        if self._read_at is None or time.monotonic() - self._read_at > FRESH_S:
            self._urls = self._read()
            self._read_at = time.monotonic()
        url = self._urls.get(tenant)
        return self.store_at(url) if url else None

    def store_at(self, url: str) -> "PostgresStore":
        """The store of another database, opened when first needed."""
        with self._lock:
            if url not in self._stores:
                self._stores[url] = self._open_store(url)
            return self._stores[url]

    def urls(self) -> dict[str, str]:
        """The addresses of other databases by the tenants that live there, read now."""
        self.forget()
        self.store_of("")
        return dict(self._urls)

    def stores(self) -> Iterator["PostgresStore"]:
        """The stores of other databases, in any order, so that a dead one blocks no other."""
        urls = sorted(set(self.urls().values()))
        for url in random.sample(urls, len(urls)):
            yield self.store_at(url)

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
