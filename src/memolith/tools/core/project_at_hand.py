"""The project that a caller works in: that of the repository around a local server."""

from collections.abc import Sequence
from dataclasses import replace

from memolith.domain.queries import Hit
from memolith.errors import Denied
from memolith.tools.call import Call

KINDS_OF_PROJECTS = ("memory", "conversation", "document")
"""What is remembered for the project at hand; names and notions belong to no project."""
REACH = 4
"""Hits of the project at hand are looked for among so many times the wanted ones."""
MAX_HITS = 100


def project_at_hand(call: Call) -> str | None:
    """The project of the repository that the caller works in; None if there is none.

    A project that does not let the caller in is none to them.
    """
    if not call.in_working_folder:
        return None
    around = call.engine.repository("")
    if around is None:
        return None
    try:
        call.engine.projects.check(replace(call.caller, project=around.project))
    except Denied:
        return None
    return around.project


def search_limit(limit: int, at_hand: str | None) -> int:
    """How many hits to look at, so that those of the project at hand are among them."""
    if at_hand is None:
        return limit
    return max(limit, min(limit * REACH, MAX_HITS))


def preferred(hits: Sequence[Hit], at_hand: str | None, limit: int) -> list[Hit]:
    """The hits to show, in the order of their scores.

    Those of the project at hand and of no project get the places first; others fill the rest.
    """
    if at_hand is None:
        return list(hits[:limit])
    near = [hit for hit in hits if hit.item.project in (None, at_hand)]
    others = [hit for hit in hits if hit.item.project not in (None, at_hand)]
    room = max(0, limit - len(near))
    shown = {id(hit) for hit in (*near[:limit], *others[:room])}
    return [hit for hit in hits if id(hit) in shown]


def warnings_of_rest(hits: Sequence[Hit], shown: Sequence[Hit], at_hand: str | None) -> list[str]:
    """Tell that better hits of other projects made room, so that nobody misses them unawares."""
    if at_hand is None or not shown:
        return []
    left_out = {id(hit) for hit in hits} - {id(hit) for hit in shown}
    better = [hit for hit in hits if id(hit) in left_out and hit.score > shown[-1].score]
    if not better:
        return []
    return [
        f"{len(better)} better hits of other projects made room for those of {at_hand}; an empty "
        "project shows all alike."
    ]
