"""The git repository around a folder."""

from collections.abc import Callable
from typing import NamedTuple


class Checkout(NamedTuple):
    """A git repository: its root, its project, the branch that is checked out, and how to read all of them."""

    path: str
    project: str
    branch: str | None
    branches: Callable[[], frozenset[str] | None]
