"""The events of items that were erased, which make one row: nothing is left to name them by."""

from collections.abc import Sequence
from typing import Any

from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS


def is_of_erased(event: dict[str, Any]) -> bool:
    """Whether an event is about an item, or a link, that is gone."""
    return event["id"] is None and event["type"] in (*ITEM_EVENTS, *LINK_EVENTS)


def without_erased(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events, with one row for each erased item that says how many changes it had.

    The links of an erased item are gone with it, and have no row.
    """
    counts: dict[str, int] = {}
    links: set[str] = set()
    for event in events:
        if is_of_erased(event):
            counts[event["stream"]] = counts.get(event["stream"], 0) + 1
            if event["type"] in LINK_EVENTS:
                links.add(event["stream"])
    shown = []
    for event in events:
        stream = event["stream"]
        if not is_of_erased(event):
            shown.append(event)
        elif stream in counts and stream not in links:
            shown.append({**event, "erased_changes": counts.pop(stream)})
    return shown
