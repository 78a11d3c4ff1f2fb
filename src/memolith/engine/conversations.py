"""Conversations: which of them can be archived or deleted, and how they are spread over folders."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple, cast

from memolith.domain.callers import Caller
from memolith.domain.clock import DAY_S, shifted
from memolith.domain.items import Item
from memolith.domain.passages import Block, PassageRef
from memolith.domain.queries import Condition, Filter
from memolith.engine.history import History
from memolith.engine.matching import checked
from memolith.engine.reading import Reading
from memolith.ports.clock import Clock
from memolith.ports.event_log import NO_LIMIT
from memolith.ports.items import FolderCount
from memolith.ports.store import Store

PINNED_IMPORTANCE = 10
"""Conversations of this importance are never suggested."""
DELETABLE_IMPORTANCE = 2
DELETABLE_AGE_DAYS = 180
"""Only conversations this unimportant and this old are suggested for deletion."""
CHARACTERS_PER_TOKEN = 4
PREVIEW_CHARACTERS = 100
PREVIEW_PASSAGES = 3
# In scripts without spaces between words, each character counts as a word.
WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)


class PruneCandidate(NamedTuple):
    """A conversation that can go, and what to do with it."""

    item: Item
    importance: float
    last_accessed: str
    tokens: int
    preview: str
    recommendation: Literal["archive", "delete"]


class PruneReport(NamedTuple):
    """The least important conversations that can go, and how many and how long all are."""

    candidates: list[PruneCandidate]
    total: int
    total_tokens: int


@dataclass(frozen=True)
class Conversations:
    """Reads conversations as a whole."""

    store: Store
    clock: Clock
    reading: Reading
    history: History

    def prune(
        self, caller: Caller, age_days: int, max_importance: float, limit: int
    ) -> PruneReport:
        """Which unimportant conversations nobody has touched for so many days."""
        now = self.clock.now()
        touched_before = shifted(now, -DAY_S * age_days)
        deletable_before = shifted(now, -DAY_S * max(2 * age_days, DELETABLE_AGE_DAYS))
        items = self._unimportant(caller, max_importance)
        accesses = self.reading.accesses(caller, [item.id for item in items])
        last_accessed = {}
        for item in items:
            _, accessed_at = accesses.get(item.id, (0, ""))
            last_accessed[item.id] = max(item.updated_at, accessed_at)
        stale = [item for item in items if last_accessed[item.id] <= touched_before]
        stale.sort(key=lambda item: (_importance(item), last_accessed[item.id], item.seq))
        with self.store.reading(caller.tenant) as rows:
            sizes = rows.text_sizes(caller.tenant, [item.id for item in stale])
            # Somebody may have erased one meanwhile.
            stale = [item for item in stale if item.id in sizes]
            refs: set[PassageRef] = set()
            for item in stale[:limit]:
                first = sizes[item.id].first
                refs.update(PassageRef(first + step) for step in range(PREVIEW_PASSAGES))
            passages = rows.passages_at(refs)
        previews = dict.fromkeys((item.id for item in stale), "")
        for _, (item, passage) in sorted(passages.items()):
            if passage.block == 0:
                previews[item.id] += passage.text
        tokens = {id: ceil(size.characters / CHARACTERS_PER_TOKEN) for id, size in sizes.items()}
        candidates = []
        for item in stale[:limit]:
            importance = _importance(item)
            last = last_accessed[item.id]
            deletable = importance <= DELETABLE_IMPORTANCE and last <= deletable_before
            candidates.append(
                PruneCandidate(
                    item=item,
                    importance=importance,
                    last_accessed=last,
                    tokens=tokens[item.id],
                    preview=previews[item.id][:PREVIEW_CHARACTERS],
                    recommendation="delete" if deletable else "archive",
                )
            )
        return PruneReport(candidates, len(stale), sum(tokens.values()))

    def _unimportant(self, caller: Caller, max_importance: float) -> tuple[Item, ...]:
        chosen = Filter(
            kinds=("conversation",),
            statuses=("active",),
            where=(
                Condition("importance_score", "le", max_importance),
                Condition("importance_score", "lt", PINNED_IMPORTANCE),
            ),
        )
        with self.store.reading(caller.tenant) as rows:
            page = rows.list_items(caller, chosen, "updated_at", False, NO_LIMIT, counted=False)
        return page.items

    def tokens(self, caller: Caller, items: Sequence[Item]) -> int:
        """About how many tokens these conversations have together."""
        with self.store.reading(caller.tenant) as rows:
            sizes = rows.text_sizes(caller.tenant, [item.id for item in items])
        return sum(ceil(size.characters / CHARACTERS_PER_TOKEN) for size in sizes.values())

    def folder_counts(self, caller: Caller, chosen: Filter) -> list[FolderCount]:
        """How many conversations that pass the filter lie in each folder, by importance."""
        with self.store.reading(caller.tenant) as rows:
            return rows.folders(caller, checked(chosen))

    def session_count(self, caller: Caller, id: str) -> int:
        """In how many sessions a conversation took place; each append that stands is one more."""
        events = self.history.events(caller, id)
        undone: set[object] = set()
        for event in reversed(events):
            if event.seq not in undone:
                undone.add(event.data.get("undoes"))
        appended = [
            event for event in events if event.type == "appended" and event.seq not in undone
        ]
        return 1 + len(appended)


def word_count(blocks: Sequence[Block]) -> int:
    """How many words were said."""
    return sum(len(WORD.findall(block.text)) for block in blocks)


def _importance(item: Item) -> float:
    return float(cast(float, item.attributes["importance_score"]))
