"""Stands in for the engine where the tools of a test need none: calls are run, and not kept."""

from collections.abc import Callable
from typing import Any


class RunOnly:
    """Runs a call without a store, as often as it comes."""

    def run(
        self, caller: Any, request: Any, action: Callable[[], Any], word: Callable[[Any], Any]
    ) -> Any:
        return word(action())


class CountsNothing:
    """Forgets who has called."""

    def note_call(self, caller: Any, client: Any, error: str = "") -> None:
        """Do nothing."""


class DemoEngine:
    """All that a tool that writes nothing needs of an engine."""

    once = RunOnly()
    usage = CountsNothing()
