"""Who acts, and who may see what."""

from dataclasses import dataclass
from enum import StrEnum


class Audience(StrEnum):
    """Who may see an item beside its owner."""

    USER = "user"
    PROJECT = "project"
    ORG = "org"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts: a user of a tenant, and the project they work in."""

    tenant: str = "local"
    user: str = "local"
    project: str | None = None
    admin: bool = False
