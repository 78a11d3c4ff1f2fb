"""Warnings that several families add to their results."""

from collections.abc import Iterable

from memolith.domain.items import Similar
from memolith.tools.call import Call

MORE_THAN_SHOWN = "There is more than is shown."


def warn_if_cut(cut: bool) -> list[str]:
    """A warning if a walk through the graph stopped early."""
    return [MORE_THAN_SHOWN] if cut else []


def warn_of_similar(call: Call, similar: Iterable[Similar]) -> list[str]:
    """A warning for each stored item that says nearly the same as a new one.

    A key that may not read gets none: they would tell what is stored.
    """
    if not call.may_read:
        return []
    return [f"{item.title!r} ({item.id}) says nearly the same." for item in similar]
