"""Verification: whether the rows of a tenant equal a replay of its log."""

from itertools import chain

from memolith.domain.attributes import exact
from memolith.domain.events import LINK_EVENTS, Event
from memolith.domain.fold import Replay
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.engine.progress import Progress, no_progress
from memolith.errors import StoreCorrupt
from memolith.ports.store import Reader, Store


def differences(store: Store, tenant: str, progress: Progress = no_progress) -> list[str]:
    """Where a tenant's rows differ from a replay of its log, stream by stream."""
    problems: list[str] = []
    with store.reading(tenant) as rows:
        streams = rows.streams(tenant)
        for done, stream in enumerate(streams, start=1):
            progress(done, len(streams))
            problems += _stream_problems(rows, tenant, stream)
        logged = set(streams)
        for row in chain[Item | Link](rows.all_items(tenant), rows.all_links(tenant)):
            if row.id not in logged:
                problems.append(f"{type(row).__name__.lower()} {row.id} is not in the log")
        return problems + rows.index_differences(tenant)


def _stream_problems(rows: Reader, tenant: str, stream: str) -> list[str]:
    try:
        events = rows.events(tenant, stream)
        state = Replay.of(events)
    except StoreCorrupt as error:
        return [error.message]
    problems = []
    row = rows.link_by_id(tenant, stream) or rows.item(tenant, stream)
    if exact(row) != exact(state.row):
        kind = "link" if events[0].type in LINK_EVENTS else "item"
        problems.append(f"{kind} {stream} differs from the log")
    if exact(rows.passages(tenant, stream)) != exact(state.passages):
        problems.append(f"passages of {stream} differs from the log")
    if not _versions_are_complete(events):
        problems.append(f"{stream}: versions have gaps")
    return problems


def _versions_are_complete(events: list[Event]) -> bool:
    return [event.version for event in events] == list(range(1, len(events) + 1))
