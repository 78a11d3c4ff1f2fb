"""Who acts, and who may see what."""

from dataclasses import dataclass
from enum import StrEnum

MACHINE_TENANT = "local"
"""The tenant of whoever owns this machine: of the command line, of stdio and of the local key."""

SCOPES: frozenset[str] = frozenset(("read", "write", "admin", "run"))
"""What a key can allow."""


class Audience(StrEnum):
    """Who may see an item beside its owner."""

    USER = "user"
    PROJECT = "project"
    ORG = "org"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts: a user of a tenant, and the project they work in.

    Whoever makes a caller from a request checks that its project lets the user in; see
    `engine/projects.py`.
    """

    tenant: str = MACHINE_TENANT
    user: str = "local"
    project: str | None = None
    admin: bool = False
    bound_to: tuple[str, ...] = ()
    """The only projects whose items the caller sees; empty if there is no such limit."""

    def may_look_into(self, project: str | None) -> bool:
        """Whether the caller is not kept to other projects than this one."""
        return not self.bound_to or project is None or project in self.bound_to
