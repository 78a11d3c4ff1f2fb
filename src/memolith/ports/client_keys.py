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

    def all(self) -> list[ClientKey]:
        """Every key, oldest first."""
        ...

    def revoke(self, id: str) -> bool:
        """Stop letting a client in; False if there is no such key."""
        ...

    def used(self, id: str, at: str) -> None:
        """Note when a key was last used."""
        ...


Allowance = Callable[[str, int, int], int]
"""Takes a key, a minute and a number of calls; returns how many calls of that key all servers
together have taken in that minute."""
