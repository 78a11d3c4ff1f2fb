"""Warnings that several families add to their results."""

from collections.abc import Iterable

from memolith.domain.items import Similar

MORE_THAN_SHOWN = "There is more than is shown."


def warn_if_cut(cut: bool) -> list[str]:
    """A warning if a walk through the graph stopped early."""
    return [MORE_THAN_SHOWN] if cut else []


def warn_of_similar(similar: Iterable[Similar]) -> list[str]:
    """A warning for each stored item that says nearly the same as a new one."""
    return [f"{item.title!r} ({item.id}) says nearly the same." for item in similar]
