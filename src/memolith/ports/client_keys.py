"""Keys that let clients in over HTTP."""

from collections.abc import Callable
from typing import NamedTuple, Protocol


class ClientKey(NamedTuple):
    """A key that lets a client in over HTTP. Only its SHA-256 digest is stored."""

    id: str
    digest: str
    name: str
    tenant: str
    user: str
    scopes: tuple[str, ...]
    created_at: str
    expires_at: str | None = None
    last_used: str | None = None
    revoked: bool = False
    paused: bool = False
    """Whether it lets nobody in until it is resumed."""
    projects: tuple[str, ...] = ()
    """The only projects that it lets a client into; empty if it is bound to none."""


class ClientKeys(Protocol):
    """The client keys of one store."""

    def add(self, key: ClientKey) -> None:
        """Store a new key."""
        ...

    def by_digest(self, digest: str) -> ClientKey | None:
        """The key with this SHA-256 digest."""
        ...

    def by_id(self, id: str) -> ClientKey | None:
        """The key with this id."""
        ...

    def all(self) -> list[ClientKey]:
        """Every key, oldest first."""
        ...

    def revoke(self, id: str) -> bool:
        """Stop letting a client in; False if there is no such key."""
        ...

    def pause(self, id: str, paused: bool) -> bool:
        """Keep a client out for a while, or let it in again; False if there is no such key."""
        ...

    def remove(self, id: str) -> None:
        """Remove a key that nobody has seen, so that it is not even listed."""
        ...

    def used(self, id: str, at: str) -> None:
        """Note when a key was last used."""
        ...

    def end_ticket(self, key: ClientKey, nonce: str, ends_s: int, now_s: int) -> bool:
        """Let a ticket of a key count no more, on every server; False if it did not count before.

        It is remembered until `ends_s`, when it would end by itself.
        """
        ...

    def is_ticket_ended(self, key: ClientKey, nonce: str) -> bool:
        """Whether a ticket of a key was used up or signed out."""
        ...


Allowance = Callable[[str, int, int], int]
"""Takes a key, a minute and a number of calls; returns how many calls of that key all servers
together have taken in that minute."""
