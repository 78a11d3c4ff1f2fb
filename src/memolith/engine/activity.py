"""What happened in a tenant: its newest events, how much was written, and what waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import NamedTuple, cast

from memolith.domain.callers import Caller
from memolith.domain.events import (
    ITEM_EVENTS,
    LINK_EVENTS,
    RECORD_EVENTS,
    Event,
    EventFilter,
    EventHead,
)
from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.engine.history import History
from memolith.engine.record_names import record_names
from memolith.engine.validation import checked_text, when
from memolith.ports.clock import Clock
from memolith.ports.store import Reader, Store

MAX_SCANNED_EVENTS = 20_000
"""How far one page of a list of events looks back for those that the filter keeps."""
NOT_UNDOABLE = ("erased", "appraised")
UNDOABLE_TYPES = frozenset((*ITEM_EVENTS, *LINK_EVENTS)) - frozenset(NOT_UNDOABLE)
DATE_CHARACTERS = len("2026-11-16")
TITLE_CHARACTERS = 80
"""How much of its text stands for an item without a title."""


class EventSearch(NamedTuple):
    """Which events somebody wants to see."""

    chosen: EventFilter = EventFilter()
    item: str | None = None
    """Only events of this item and of its links."""
    since: str | None = None
    until: str | None = None


class LinkEnds(NamedTuple):
    """What a link connects, by its first event."""

    source: str
    target: str
    type: str


class ListedEvent(NamedTuple):
    """An event with the item, or the two items and the type of the link, that it is about."""

    head: EventHead
    item: Item | None
    title: str
    target: Item | None = None
    target_title: str = ""
    link_type: str = ""
    undoable: bool = False
    about: str = ""
    """What an event about a record is about, such as `client key laptop`."""


class EventPage(NamedTuple):
    """Some events, the newest first, and where to go on: None where there are no more."""

    events: list[ListedEvent]
    next_before: int | None


class DayCount(NamedTuple):
    """How many items were written on a day, and how many there were at its end."""

    day: str
    written: int
    total: int


class Growth(NamedTuple):
    """How much was written lately."""

    days: list[DayCount]
    today: dict[str, int]
    """The events of today by who caused them."""


@dataclass(frozen=True)
class Activity:
    """Tells what happened."""

    store: Store
    history: History
    clock: Clock

    def growth(self, caller: Caller, days: int) -> Growth:
        """How much the caller sees of what was written on the last days, today included."""
        today = date.fromisoformat(self.clock.now()[:DATE_CHARACTERS])
        first = today - timedelta(days=days - 1)
        with self.store.reading(caller.tenant) as rows:
            before_first = rows.last_seq_at(caller.tenant, first.isoformat())
            written = rows.count_items_by_day(caller, Filter(), before_first)
            total = rows.list_items(caller, Filter(), limit=1).total
            before_today = rows.last_seq_at(caller.tenant, today.isoformat())
            actors = rows.count_events_by_actor(caller, before_today)
        counts: list[DayCount] = []
        for ago in range(days):
            day = (today - timedelta(days=ago)).isoformat()
            counts.append(DayCount(day, written.get(day, 0), total))
            total -= written.get(day, 0)
        return Growth(counts[::-1], actors)

    def events(self, caller: Caller, search: EventSearch, limit: int) -> EventPage:
        """The newest events that the caller may see."""
        if search.item is not None:
            return self._events_of_item(caller, search, search.item, limit)
        checked_text("actor", search.chosen.actor or "")
        with self.store.reading(caller.tenant) as rows:
            chosen = _within_times(rows, caller.tenant, search)
            last = rows.last_seq(caller.tenant) + 1
            before = last if chosen.before is None else min(chosen.before, last)
            lowest = max(chosen.after, before - 1 - MAX_SCANNED_EVENTS)
            heads = rows.list_events(caller, replace(chosen, after=lowest, before=before), limit)
            next_before = None
            if len(heads) == limit:
                next_before = heads[-1].seq
            elif lowest > chosen.after:
                next_before = lowest + 1
            return EventPage(_listed(rows, caller.tenant, heads), next_before)

    def _events_of_item(
        self, caller: Caller, search: EventSearch, item: str, limit: int
    ) -> EventPage:
        steps = self.history.history(caller, item)
        with self.store.reading(caller.tenant) as rows:
            chosen = _within_times(rows, caller.tenant, search)
            kept = [
                _head_of(event)
                for event, _ in reversed(steps)
                if _is_kept(event.seq, event.actor, event.type, chosen)
            ]
            if chosen.kinds:
                row = rows.item(caller.tenant, item)
                fits = row is not None and row.kind in chosen.kinds
                kept = [head for head in kept if fits and head.stream == item]
            page = kept[:limit]
            next_before = page[-1].seq if len(kept) > limit else None
            return EventPage(_listed(rows, caller.tenant, page), next_before)


def _head_of(event: Event) -> EventHead:
    return EventHead(
        event.seq,
        event.stream,
        event.version,
        event.type,
        event.actor,
        event.at,
        event.data.get("undoes") is not None,
    )


def _within_times(rows: Reader, tenant: str, search: EventSearch) -> EventFilter:
    """The filter with its times turned into sequence numbers."""
    chosen = search.chosen
    if search.since is not None:
        # Times have microseconds, and the last event before one is not of it.
        first = rows.last_seq_at(tenant, _just_before(when("since", search.since)))
        chosen = replace(chosen, after=max(chosen.after, first))
    if search.until is not None:
        last = rows.last_seq_at(tenant, when("until", search.until)) + 1
        before = last if chosen.before is None else min(chosen.before, last)
        chosen = replace(chosen, before=before)
    return chosen


def _just_before(at: str) -> str:
    """A text that sorts after every earlier time and before this one."""
    return at.removesuffix("Z")


def _is_kept(seq: int, actor: str, type: str, chosen: EventFilter) -> bool:
    return (
        seq > chosen.after
        and (chosen.before is None or seq < chosen.before)
        and chosen.actor in (None, actor)
        and (not chosen.types or type in chosen.types)
    )


def _listed(rows: Reader, tenant: str, heads: Sequence[EventHead]) -> list[ListedEvent]:
    """The events with what they are about."""
    ends = _link_ends(rows, tenant, heads)
    ids = {head.stream for head in heads if head.stream not in ends}
    for link in ends.values():
        ids.update((link.source, link.target))
    items = rows.items(tenant, ids)
    titles = titles_of(rows, tenant, items)
    records = {head.stream for head in heads if head.type in RECORD_EVENTS}
    names = record_names(rows, tenant, records)
    newest = rows.newest_versions(tenant, {head.stream for head in heads})
    listed = []
    for head in heads:
        undoable = head.type in UNDOABLE_TYPES and head.version == newest.get(head.stream)
        link_ends = ends.get(head.stream)
        if link_ends is None:
            item = items.get(head.stream)
            title = titles.get(head.stream, "")
            about = names.get(head.stream, "")
            undoable = undoable and item is not None
            listed.append(ListedEvent(head, item, title, undoable=undoable, about=about))
            continue
        listed.append(
            ListedEvent(
                head,
                items.get(link_ends.source),
                titles.get(link_ends.source, ""),
                items.get(link_ends.target),
                titles.get(link_ends.target, ""),
                link_ends.type,
                undoable,
            )
        )
    return listed


def _link_ends(rows: Reader, tenant: str, heads: Sequence[EventHead]) -> dict[str, LinkEnds]:
    """What the links among the streams of events connect."""
    streams = {head.stream for head in heads if head.type in LINK_EVENTS}
    ends = {}
    for stream in streams:
        data = rows.events(tenant, stream)[0].data
        if "source" in data:
            ends[stream] = LinkEnds(
                cast(str, data["source"]), cast(str, data["target"]), cast(str, data["type"])
            )
    return ends


def titles_of(rows: Reader, tenant: str, items: Mapping[str, Item]) -> dict[str, str]:
    """What to call items: by their title, or by how their text begins."""
    untitled = [id for id, item in items.items() if not item.title]
    beginnings = rows.beginnings(tenant, untitled, TITLE_CHARACTERS)
    return {id: item.title or beginnings.get(id, "") for id, item in items.items()}
