"""A long text that is made while it is sent."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memolith.tools.result_schema import Published

A_TEXT = Published({"type": "string"})
"""Publishes it as the text that it is for clients."""


@dataclass(frozen=True)
class LazyText:
    """A text in pieces, so that it is never in memory as a whole."""

    pieces: Callable[[], Iterator[str]]

    def __str__(self) -> str:
        return "".join(self.pieces())
