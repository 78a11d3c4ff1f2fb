"""The client keys that lie in a store."""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from memolith.ports.client_keys import ClientKey

NOTE_USE_WAIT_S = 0.2
"""How long a request waits to note that its key was used, which is not worth a delay."""


class ClientKeyReader(Protocol):
    """Reads rows of client keys."""

    def client_keys(self) -> list[ClientKey]: ...
    def client_key_by_digest(self, digest: str) -> ClientKey | None: ...
    def client_key_by_id(self, id: str) -> ClientKey | None: ...
    def is_ticket_ended(self, tenant: str, nonce: str) -> bool: ...


class ClientKeyWriter(ClientKeyReader, Protocol):
    """Writes rows of client keys."""

    def add_client_key(self, key: ClientKey) -> None: ...
    def revoke_client_key(self, id: str) -> None: ...
    def pause_client_key(self, id: str, paused: bool) -> None: ...
    def delete_client_key(self, id: str) -> None: ...
    def note_client_key_use(self, id: str, at: str) -> None: ...
    def end_ticket(self, tenant: str, nonce: str, ends_s: int) -> bool: ...
    def forget_old_tickets(self, now_s: int) -> None: ...


class ClientKeyStore(Protocol):
    """A store whose reader and writer know client keys."""

    def reading(self, tenant: None) -> AbstractContextManager[ClientKeyReader]: ...
    def writing(
        self, tenant: None, wait_s: float | None = None
    ) -> AbstractContextManager[ClientKeyWriter]: ...


class StoredKeys(NamedTuple):
    """The client keys of one store; see the port `ClientKeys`."""

    store: ClientKeyStore

    def add(self, key: ClientKey) -> None:
        with self.store.writing(None) as rows:
            rows.add_client_key(key)

    def by_digest(self, digest: str) -> ClientKey | None:
        with self.store.reading(None) as rows:
            return rows.client_key_by_digest(digest)

    def by_id(self, id: str) -> ClientKey | None:
        with self.store.reading(None) as rows:
            return rows.client_key_by_id(id)

    def all(self) -> list[ClientKey]:
        with self.store.reading(None) as rows:
            return rows.client_keys()

    def revoke(self, id: str) -> bool:
        with self.store.writing(None) as rows:
            rows.revoke_client_key(id)
            return rows.client_key_by_id(id) is not None

    def pause(self, id: str, paused: bool) -> bool:
        with self.store.writing(None) as rows:
            rows.pause_client_key(id, paused)
            return rows.client_key_by_id(id) is not None

    def remove(self, id: str) -> None:
        with self.store.writing(None) as rows:
            rows.delete_client_key(id)

    def used(self, id: str, at: str) -> None:
        with self.store.writing(None, NOTE_USE_WAIT_S) as rows:
            rows.note_client_key_use(id, at)

    def end_ticket(self, key: ClientKey, nonce: str, ends_s: int, now_s: int) -> bool:
        with self.store.writing(None) as rows:
            rows.forget_old_tickets(now_s)
            return rows.end_ticket(key.tenant, nonce, ends_s)

    def is_ticket_ended(self, key: ClientKey, nonce: str) -> bool:
        with self.store.reading(None) as rows:
            return rows.is_ticket_ended(key.tenant, nonce)
