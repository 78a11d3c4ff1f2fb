"""What the families of documented tools have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ToolCall = Callable[..., dict[str, Any]]
"""Runs a tool by its name; arguments that are None are left out."""


class FamilyCalls:
    """The documented tools of one family as methods."""

    def __init__(self, call: ToolCall) -> None:
        self._call = call
