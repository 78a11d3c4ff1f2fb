"""The git repository around a folder."""

from collections.abc import Callable
from typing import NamedTuple


class Checkout(NamedTuple):
    """A git repository, as it is checked out in a folder."""

    path: str
    """The root of the working tree."""

    project: str
    """Names the repository wherever it is checked out, such as `github.com/acme/widgets`."""

    branch: str | None
    """The branch that is checked out; None where a commit is, or where it cannot be told."""

    branches: Callable[[], frozenset[str] | None]
    """Reads the names of all branches; None where they cannot be read."""
