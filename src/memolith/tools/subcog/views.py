"""Memories as Subcog shows them, and how their addresses are read."""

from collections.abc import Sequence
from dataclasses import replace

from memolith.domain.items import Item, Superseded
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.filter_language import parse
from memolith.errors import NotFound
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.results import replaced, text_or_none, text_with_speakers
from memolith.tools.subcog.models import MemoryRow, WholeMemory
from memolith.tools.subcog.namespaces import (
    FOUND_STATUSES,
    STORED_NAMESPACES,
    STORED_STATUSES,
    namespace_of,
    status_of,
)

ADDRESS = "subcog://"
URN_SLASHES = 4
ANY_PART = "_"
"""How many slashes `subcog://DOMAIN/NAMESPACE/ID` has."""
MAX_SHOWN_URN_LENGTH = 200
MEDIUM_TEXT_LENGTH = 200
NO_SUCH_NAMESPACE = "-"


def memory_filter(
    call: Call, filter: str = "", namespace: str | None = None, tags: Sequence[str] = ()
) -> Filter:
    """The memories that a filter means, in a namespace if one is given.

    What was superseded is found only if the filter asks for it.
    """
    chosen = parse(filter, STORED_NAMESPACES, STORED_STATUSES, call.engine.clock.now())
    namespaces = chosen.namespaces
    if namespace is not None:
        both = [
            name
            for name in STORED_NAMESPACES[namespace]
            if not chosen.namespaces or name in chosen.namespaces
        ]
        namespaces = tuple(both) or (NO_SUCH_NAMESPACE,)
    statuses = chosen.statuses
    if not statuses and not chosen.forgotten:
        statuses = FOUND_STATUSES
    return replace(
        chosen, namespaces=namespaces, statuses=statuses, tags_all=(*chosen.tags_all, *tags)
    )


def find_memory(call: Call, id: str, forgotten: bool = False) -> Item:
    """The memory with that id; a URN must name its domain and namespace too, or `_` for any."""
    item = find_item(call, "memory", id, "memory_id", forgotten=forgotten)
    is_urn = id.count("/") == URN_SLASHES
    if is_urn and not _is_urn_of(item, id):
        raise NotFound(
            f"There is no memory {id[:MAX_SHOWN_URN_LENGTH]!r}.", field="memory_id", id=id
        )
    return item


def _is_urn_of(item: Item, urn: str) -> bool:
    """Whether a URN is that of the memory; `_` in it stands for any domain or namespace."""
    parts = zip(urn.split("/"), memory_urn(item).split("/"), strict=False)
    return all(wanted in (ANY_PART, part) for wanted, part in parts)


def memory_urn(item: Item) -> str:
    """Where a memory stands: domain, namespace and id."""
    return f"{ADDRESS}{item.audience.value}/{namespace_of(item.namespace)}/{item.id}"


def memory_uri(item: Item) -> str:
    """The address of a memory as a resource."""
    return f"{ADDRESS}memory/{item.id}"


def light_rows(call: Call, ids: Sequence[str]) -> list[MemoryRow]:
    """The memories without their text, deleted or not."""
    found = call.engine.reading.read_many(call.caller, ids, forgotten=True)
    marks = call.engine.reading.superseded(call.caller, ids)
    return [_light_row(item, marks.get(item.id)) for item, _ in found]


def medium_rows(call: Call, ids: Sequence[str]) -> list[MemoryRow]:
    """The memories with the beginning of their text, deleted or not."""
    marks = call.engine.reading.superseded(call.caller, ids)
    rows = []
    for item, blocks in call.engine.reading.read_many(call.caller, ids, forgotten=True):
        text = text_with_speakers(blocks)
        if len(text) > MEDIUM_TEXT_LENGTH:
            text = text[:MEDIUM_TEXT_LENGTH] + "…"
        row = _light_row(item, marks.get(item.id))
        row["content"] = text
        rows.append(row)
    return rows


def whole_memories(call: Call, ids: Sequence[str]) -> list[WholeMemory]:
    """The memories with all that is known of them, deleted or not."""
    found = call.engine.reading.read_many(call.caller, ids, forgotten=True)
    marks = call.engine.reading.superseded(call.caller, ids)
    return [_whole_memory(item, blocks, marks.get(item.id)) for item, blocks in found]


def _light_row(item: Item, mark: Superseded | None) -> MemoryRow:
    row: MemoryRow = {
        "id": item.id,
        "urn": memory_urn(item),
        "uri": memory_uri(item),
        "tags": list(item.tags),
        "namespace": namespace_of(item.namespace),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
    if mark is not None:
        row["superseded_at"] = mark.at
        row["superseded_by"] = mark.by
    return row


def _whole_memory(item: Item, blocks: list[Block], mark: Superseded | None) -> WholeMemory:
    return {
        "id": item.id,
        "urn": memory_urn(item),
        "uri": memory_uri(item),
        "tags": list(item.tags),
        "namespace": namespace_of(item.namespace),
        "content": text_with_speakers(blocks),
        "status": "tombstoned" if item.forgotten else status_of(item.status),
        "domain": item.audience.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "project": item.project,
        "source": text_or_none(item.attributes.get("source")),
        "branch": text_or_none(item.attributes.get("branch")),
        "context": text_or_none(item.attributes.get("context")),
        "expires_at": text_or_none(item.attributes.get("expires_at")),
        **replaced(mark),
    }
