"""Figures over REST: how memories were used, and what they take up."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from memolith.domain.events import EventFilter
from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.engine.activity import EventSearch
from memolith.engine.validation import when
from memolith.errors import NotFound
from memolith.ports.usage import MAX_COUNTED_READS, ReadsWanted, TitledRead
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import own_memories
from memolith.tools.lanonasis.memory_types import count_by_type
from memolith.tools.lanonasis.rest.api import BASE, lanonasis_api
from memolith.tools.lanonasis.rest.models import (
    AccessedMemory,
    AccessPatterns,
    ExtendedStats,
    SearchAnalytics,
)

ANALYTICS = BASE + "/analytics"
TOP_MEMORIES = 10
TOP_TAGS = 10
EVENTS_PER_PAGE = 1000
MAX_EVENT_PAGES = 20
"""How far back changes are counted: as many pages of events as this."""
TEXTS_AT_ONCE = 500
MEMORIES = Filter(kinds=("memory",))


@lanonasis_api.route("GET", ANALYTICS + "/search", read_only=True)
def get_search_analytics(
    call: Call,
    *,
    from_: str | None = None,
    to: str | None = None,
    group_by: Literal["day", "week", "month"] = "day",
) -> SearchAnalytics:
    """Refused: what people searched for is not written down."""
    raise NotFound(
        "memolith writes down no searches, so there are no figures of them. "
        "`getAccessPatterns` tells which memories were found and read."
    )


@lanonasis_api.route("GET", ANALYTICS + "/access", read_only=True)
def get_access_patterns(
    call: Call, *, from_: str | None = None, to: str | None = None
) -> AccessPatterns:
    """How often memories were read, changed and deleted, and which of them most."""
    since = when("from", from_) if from_ else None
    until = when("to", to) if to else None
    page = call.engine.usage.reads(call.caller, ReadsWanted(since=since), MAX_COUNTED_READS)
    memories = {item.id for item in call.engine.reading.list_all(call.caller, MEMORIES)}
    reads = [
        read
        for read in page.reads
        if read.item in memories and (until is None or read.last <= until)
    ]
    warnings: list[str] = []
    if len(page.reads) == MAX_COUNTED_READS:
        warnings.append(f"Only the last {MAX_COUNTED_READS:,} reads were counted.")
    changes = _changes(call, since, until, warnings)
    total = sum(read.times for read in reads)
    found = sum(read.times for read in reads if "search" in read.tool or "recall" in read.tool)
    return {
        "total_accesses": total,
        "by_type": {
            "read": total,
            "update": changes["revised"],
            "delete": changes["forgotten"],
        },
        "by_method": {"api": 0, "search": found, "direct": total - found},
        "most_accessed": _most_accessed(reads),
        "access_by_hour": [
            {"hour": hour, "count": count}
            for hour, count in sorted(Counter(int(read.last[11:13]) for read in reads).items())
        ],
        "warnings": warnings,
    }


@lanonasis_api.route("GET", ANALYTICS + "/stats", read_only=True)
def get_extended_stats(call: Call) -> ExtendedStats:
    """How many memories the user has, how large they are, and what happened today."""
    reading = call.engine.reading
    chosen = own_memories(call.caller)
    items = reading.list_all(call.caller, chosen)
    total = len(items)
    size = _text_bytes(call, items)
    today = call.engine.clock.now()[:10]
    shown = call.engine.usage.reads(call.caller, ReadsWanted(since=today), MAX_COUNTED_READS)
    tags = Counter(tag for item in items for tag in item.tags)
    projects = Counter(item.project for item in items if item.project)
    return {
        "total_memories": total,
        "by_type": count_by_type(Counter(item.namespace for item in items)),
        "by_project": [
            {"project_id": name, "project_name": name, "count": count}
            for name, count in projects.most_common()
        ],
        "storage": {
            "total_size_mb": round(size / 10**6, 6),
            "avg_memory_size_kb": round(size / 1000 / total, 3) if total else 0.0,
            "total_chunks": sum(item.passages for item in items),
        },
        "activity": {
            "created_today": sum(item.created_at >= today for item in items),
            "updated_today": sum(item.updated_at >= today for item in items),
            "searched_today": len({read.item for read in shown.reads if "search" in read.tool}),
        },
        "top_tags": [{"tag": tag, "count": count} for tag, count in tags.most_common(TOP_TAGS)],
    }


def _changes(call: Call, since: str | None, until: str | None, warnings: list[str]) -> Counter[str]:
    """How many events of each type the caller sees of memories."""
    counts: Counter[str] = Counter()
    before: int | None = None
    for _ in range(MAX_EVENT_PAGES):
        chosen = EventFilter(kinds=("memory",), before=before)
        search = EventSearch(chosen, since=since, until=until)
        page = call.engine.activity.events(call.caller, search, EVENTS_PER_PAGE)
        counts.update(event.head.type for event in page.events)
        before = page.next_before
        if before is None:
            return counts
    warnings.append("There are more changes; only the latest were counted.")
    return counts


def _most_accessed(reads: Sequence[TitledRead]) -> list[AccessedMemory]:
    times: Counter[str] = Counter()
    titles: dict[str, str] = {}
    last: dict[str, str] = {}
    for read in reads:
        times[read.item] += read.times
        titles[read.item] = read.title
        last[read.item] = max(read.last, last.get(read.item, ""))
    return [
        {
            "memory_id": id,
            "title": titles[id],
            "access_count": count,
            "last_accessed": last[id],
        }
        for id, count in times.most_common(TOP_MEMORIES)
    ]


def _text_bytes(call: Call, items: Sequence[Item]) -> int:
    """How many bytes the texts of items have."""
    total = 0
    for start in range(0, len(items), TEXTS_AT_ONCE):
        ids = [item.id for item in items[start : start + TEXTS_AT_ONCE]]
        texts = call.engine.insights.texts(call.caller, ids)
        total += sum(len(text.encode()) for text in texts.values())
    return total
