"""Notes which items say the same as an older one, so that a person can decide which stays."""

import logging
from collections.abc import Sequence

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.engine.statements import (
    MAX_COMPARED_CHARACTERS,
    NEAR_COPY,
    contradicts,
    likeness,
    near_copies,
)
from memolith.engine.visibility import is_gone
from memolith.errors import MemolithError
from memolith.ports.store import Reader, Store, Writer

COMPARED_KINDS = ("memory", "concept")
"""Conversations and files tell what was said once; they are not compared."""
MAX_PAIRS_PER_ITEM = 3
"""With how many older ones an item is paired: a text that stands there a hundred times over would
make thousands of pairs."""

log = logging.getLogger(__name__)


def find_duplicates(store: Store, tenant: str, ids: Sequence[str]) -> None:
    """Compare items with others of nearly the same words, and note what says the same."""
    try:
        with store.reading(tenant) as rows:
            candidates = _candidates(rows, tenant, ids)
        if candidates:
            with store.writing(tenant) as rows:
                for id, others in candidates.items():
                    record_duplicates(rows, id, others)
    except MemolithError as error:
        # The items are written and found; only the notes are missing.
        log.warning("new items were not compared with others: %s", error)


def _candidates(rows: Reader, tenant: str, ids: Sequence[str]) -> dict[str, list[str]]:
    """The items that have near copies, each with the ids of these."""
    items = [item for item in rows.items(tenant, ids).values() if _is_compared(item)]
    passages = rows.passages_of(tenant, [item.id for item in items])
    found: dict[str, list[str]] = {}
    for item in items:
        owner = Caller(tenant, item.owner, item.project)
        copies = near_copies(rows, owner, item.kind, text_of(passages[item.id]))
        others = [copy.id for copy in copies if copy.id != item.id]
        if others:
            found[item.id] = others
    return found


def record_duplicates(rows: Writer, id: str, others: Sequence[str]) -> None:
    """Note which of the others an item says the same as, the nearest ones only.

    The texts are compared here, because they may have changed since the others were found.
    """
    if not others:
        return
    items = rows.items(rows.tenant, (id, *others))
    item = items.pop(id, None)
    if item is None or not _is_compared(item):
        return
    passages = rows.passages_of(rows.tenant, (id, *items))
    text = text_of(passages[id])
    alike: list[tuple[float, Item]] = []
    for other in items.values():
        other_text = text_of(passages[other.id])
        if not _is_compared(other) or not _is_seen_as(other, item):
            continue
        similarity = _similarity(item, text, other, other_text)
        if similarity >= NEAR_COPY:
            alike.append((similarity, other))
    alike.sort(key=lambda entry: (-entry[0], entry[1].seq))
    for similarity, other in alike[:MAX_PAIRS_PER_ITEM]:
        older, newer = sorted((item, other), key=lambda one: one.seq)
        rows.put_duplicate(newer.id, older.id, similarity)


def _similarity(item: Item, text: str, other: Item, other_text: str) -> float:
    """How much two items say the same: nothing if they contradict each other.

    This happens while others wait to write, so long texts count only if they are the same.
    """
    if max(len(text), len(other_text)) > MAX_COMPARED_CHARACTERS:
        return float(text == other_text)
    if contradicts(f"{item.title}\n{text}", f"{other.title}\n{other_text}"):
        return 0.0
    return likeness(text, other_text)


def _is_compared(item: Item) -> bool:
    return item.kind in COMPARED_KINDS and item.blocks == 1 and not is_gone(item)


def _is_seen_as(item: Item, other: Item) -> bool:
    """Whether both are of the same kind, and the same people see them."""
    return (item.kind, item.owner, item.audience, item.project) == (
        other.kind,
        other.owner,
        other.audience,
        other.project,
    )
