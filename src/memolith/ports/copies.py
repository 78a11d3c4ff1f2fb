"""Copies of what is remembered, made beside the calls, to be downloaded."""

from typing import IO, NamedTuple, Protocol

RUNNING = "running"
READY = "ready"
FAILED = "failed"


class Copy(NamedTuple):
    """A copy that is being made, or that waits to be downloaded."""

    id: str
    kind: str
    """`export`: the log of one tenant. `backup`: everything, with the files."""
    tenant: str
    made_by: str
    started_at: str
    state: str = RUNNING
    done: int = 0
    total: int = 0
    """How much there is to do; 0 while it is not known."""
    bytes: int = 0
    problem: str = ""


class Copies(Protocol):
    """Makes copies, one at a time, and keeps them for a while."""

    def reserve(self, copy: Copy) -> bool:
        """Take the place of a tenant; False while another copy of it is being made.

        What the tenant has not fetched of earlier ones is deleted.
        """
        ...

    def start(self, copy: Copy) -> None:
        """Begin to make a copy that has its place."""
        ...

    def all(self, tenant: str) -> list[Copy]:
        """The copies of a tenant, the newest first."""
        ...

    def open(self, id: str) -> IO[bytes]:
        """A copy that is ready, as a file; refused if it is gone."""
        ...

    def remove(self, id: str) -> None:
        """Delete a copy, or stop making it."""
        ...
