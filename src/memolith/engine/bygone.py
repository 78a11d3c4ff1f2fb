"""Items as they were at some time, for a search in the past."""

from __future__ import annotations

from collections.abc import Collection

from memolith.engine.events import LINK_EVENTS, Replay
from memolith.engine.matching import item_matches, passage_matches
from memolith.engine.model import Caller, Filter, Item, Passage
from memolith.engine.ports import Reader


def bygone(rows: Reader, caller: Caller, chosen: Filter, streams: Collection[str],
           at: str) -> list[tuple[Item, Passage]]:
    """The passages that the caller would have seen then, of items that have changed since."""
    found: list[tuple[Item, Passage]] = []
    for stream in sorted(streams):
        events = rows.events(caller.tenant, stream)
        if events[0].type in LINK_EVENTS or events[-1].type == "erased":
            continue
        current = rows.item(caller.tenant, stream)
        if current is None or not current.scope.admits(caller):
            continue
        state = Replay.until(events, at)
        item = state.row
        if isinstance(item, Item) and item.scope.admits(caller) and item_matches(item, chosen):
            found += [(item, passage) for passage in state.passages if passage_matches(passage, chosen)]
    return found
