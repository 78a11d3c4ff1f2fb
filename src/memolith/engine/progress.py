"""How long work tells how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Takes how much is done, and how much there is in all; 0 if that is not known."""


def no_progress(done: int, total: int) -> None:
    """For callers that do not want to know."""
