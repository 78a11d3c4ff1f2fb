"""Keys that let clients in over HTTP."""

from collections.abc import Callable
from typing import NamedTuple


class ClientKey(NamedTuple):
    """A key that lets a client in over HTTP; only its SHA-256 is known here."""

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


Allowance = Callable[[str, int, int], int]


"""Takes so many calls of a key in a minute; returns how many all servers took together."""
