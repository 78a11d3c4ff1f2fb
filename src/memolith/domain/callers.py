"""Who acts, and who may see what."""

from dataclasses import dataclass
from enum import StrEnum

MACHINE_TENANT = "local"
"""The tenant of whoever owns this machine: of the command line, of stdio and of the local key."""


class Audience(StrEnum):
    """Who may see an item beside its owner."""

    USER = "user"
    PROJECT = "project"
    ORG = "org"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts: a user of a tenant, and the project they work in."""

    tenant: str = MACHINE_TENANT
    user: str = "local"
    project: str | None = None
    admin: bool = False
