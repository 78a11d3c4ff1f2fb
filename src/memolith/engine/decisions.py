"""What a person decides about two items that say the same, or contradict each other.

The pairs are noted when items are written (`duplicates.py`) and when they get their vectors
(`superseding.py`), so that a list of them costs no search.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.domain.links import DISTINCT_FROM
from memolith.domain.passages import Passage
from memolith.engine.consolidation import Consolidation, ConsolidationGroup, ConsolidationPlan
from memolith.engine.recording import NewEvent, Recorder
from memolith.engine.statements import contradicts, likeness
from memolith.engine.visibility import is_gone
from memolith.engine.writing import NewLink, Writing
from memolith.errors import InvalidInput, NotFound
from memolith.ports.items import OpenPair
from memolith.ports.store import Reader, Store, Writer

Outcome = Literal["keep_first", "keep_second", "keep_both", "merge"]
MAX_COUNTED = 10_000
"""Where counting ends: nobody decides more than that by hand."""
MAX_EXCERPT_CHARACTERS = 2000
SAME_WORDS = "Both have the same words."
NEARLY_SAME_WORDS = "Both have nearly the same words, and no number, date or name differs."
UNKNOWN_CHANGE = "The newer one seems to change what the older one says."


class Side(NamedTuple):
    """One of two items, with the beginning of its text."""

    item: Item
    excerpt: str
    is_cut: bool


class Proposal(NamedTuple):
    """Two items that wait for a decision, and why."""

    kind: str
    first: Side
    second: Side
    similarity: float | None
    reason: str


class ProposalPage(NamedTuple):
    """A stretch of the pairs that wait, and how many there are; `is_cut` if there are more."""

    proposals: list[Proposal]
    total: int
    is_cut: bool


class ChosenPair(NamedTuple):
    """Two items by their ids."""

    first: str
    second: str


class Decision(NamedTuple):
    """What a decision about a pair wrote, to undo it; no events if it was decided before."""

    pair: ChosenPair
    events: list[int]
    merged: str | None = None
    """The item that stands for both, if they were merged."""


@dataclass(frozen=True)
class Decisions:
    """Lists the pairs that wait, and carries out what a person decides."""

    store: Store
    writing: Writing
    recorder: Recorder
    consolidation: Consolidation

    def waiting(self, caller: Caller, kind: str, limit: int, offset: int) -> ProposalPage:
        """A page of the pairs that wait, the newest first; an empty kind stands for all."""
        with self.store.reading(caller.tenant) as rows:
            total = rows.count_open_pairs(caller, kind, MAX_COUNTED + 1)
            pairs = rows.open_pairs(caller, kind, limit, offset) if total else []
            ids = {id for pair in pairs for id in (pair.first, pair.second)}
            items = rows.items(caller.tenant, ids)
            passages = rows.passages_of(caller.tenant, ids)
        sides = {id: _side(item, passages[id]) for id, item in items.items()}
        proposals = [
            Proposal(
                pair.kind,
                sides[pair.first],
                sides[pair.second],
                pair.similarity,
                _reason(pair),
            )
            for pair in pairs
        ]
        return ProposalPage(proposals, min(total, MAX_COUNTED), total > MAX_COUNTED)

    def decide(
        self, caller: Caller, pairs: Sequence[ChosenPair], outcome: Outcome
    ) -> list[Decision]:
        """Decide all of these pairs the same way, all or none.

        A pair of which one item is gone, perhaps by the decision before it, is left as it is: so
        no text that stands there several times can lose its last copy.
        """
        if outcome == "merge":
            return self._merge(caller, pairs)
        with self.store.writing(caller.tenant) as rows:
            return [self._decide(rows, caller, pair, outcome) for pair in pairs]

    def _decide(self, rows: Writer, caller: Caller, pair: ChosenPair, outcome: Outcome) -> Decision:
        first, second = _items_of(rows, caller, pair)
        if is_gone(first) or is_gone(second):
            return Decision(pair, [])
        if outcome == "keep_both":
            return self._keep_both(rows, caller, pair)
        kept, gone = (first, second) if outcome == "keep_first" else (second, first)
        new = NewEvent(gone.id, "forgotten", {"kept": kept.id}, gone)
        recorded = self.recorder.record(rows, caller, new)
        return Decision(pair, [recorded.event.seq])

    def _keep_both(self, rows: Writer, caller: Caller, pair: ChosenPair) -> Decision:
        """Say by a link that the two are different things."""
        for source, target in (pair, reversed(pair)):
            if rows.link_between(caller.tenant, source, target, DISTINCT_FROM):
                return Decision(pair, [])
        link = self.writing.link_in(rows, caller, NewLink(*pair, DISTINCT_FROM))
        return Decision(pair, [link.seq])

    def _merge(self, caller: Caller, pairs: Sequence[ChosenPair]) -> list[Decision]:
        """Make one memory of each pair; a memory that is in several pairs is merged once."""
        # Before the write: an analyst may take its time, and nobody should wait for a lock.
        groups = self._merged_groups(caller, pairs)
        decisions = []
        with self.store.writing(caller.tenant):
            for pair in pairs:
                group = groups.get(pair)
                if group is None:
                    decisions.append(Decision(pair, []))
                    continue
                plan = ConsolidationPlan("merge", [group], [], forgets_sources=True)
                done = self.consolidation.carry_out(caller, plan)
                decisions.append(Decision(pair, done.events, done.ids[0]))
        return decisions

    def _merged_groups(
        self, caller: Caller, pairs: Collection[ChosenPair]
    ) -> dict[ChosenPair, ConsolidationGroup]:
        """What each pair becomes; pairs with an item that is gone or merged already have none."""
        taken: set[str] = set()
        chosen: dict[ChosenPair, tuple[list[Item], list[str]]] = {}
        with self.store.reading(caller.tenant) as rows:
            for pair in pairs:
                items = _items_of(rows, caller, pair)
                if taken.intersection(pair) or any(is_gone(item) for item in items):
                    continue
                _require_mergeable(*items)
                texts = [text_of(rows.passages(caller.tenant, item.id)) for item in items]
                _require_agreement(rows, caller, pair, texts)
                chosen[pair] = (list(items), texts)
                taken.update(pair)
        return {
            pair: ConsolidationGroup(
                items, likeness(*texts), self.consolidation.rewrite("merge", texts).text
            )
            for pair, (items, texts) in chosen.items()
        }


def _items_of(rows: Reader, caller: Caller, pair: ChosenPair) -> tuple[Item, Item]:
    """Both items of a pair, also if they are forgotten; the caller must be allowed to see them."""
    if pair.first == pair.second:
        raise InvalidInput("A pair has two different items.", field="pairs", value=pair.first)
    found = rows.items(caller.tenant, pair)
    for id in pair:
        if id not in found or not found[id].admits(caller):
            raise NotFound(f"There is no item {id[:100]!r}.", field="pairs", id=id)
    return found[pair.first], found[pair.second]


def _require_mergeable(first: Item, second: Item) -> None:
    """Refuse what a merge would tear out of its place, or show to others than before."""
    if first.kind != "memory" or second.kind != "memory":
        raise InvalidInput("Only memories can be merged; keep one of the two.", field="outcome")
    if (first.owner, first.audience, first.project) != (
        second.owner,
        second.audience,
        second.project,
    ):
        raise InvalidInput(
            "Two memories that different people see cannot be merged; keep one of the two.",
            field="outcome",
        )


def _require_agreement(
    rows: Reader, caller: Caller, pair: ChosenPair, texts: Sequence[str]
) -> None:
    """Refuse to make one text of two that contradict each other: it would say both."""
    replaced = rows.superseded(caller.tenant, pair)
    is_replaced = any(mark.by in pair for mark in replaced.values())
    if is_replaced or contradicts(*texts):
        raise InvalidInput(
            "Two memories that contradict each other cannot be made one; keep one of them, "
            "or both.",
            field="outcome",
        )


def _side(item: Item, passages: Sequence[Passage]) -> Side:
    text = text_of(passages)
    return Side(item, text[:MAX_EXCERPT_CHARACTERS], len(text) > MAX_EXCERPT_CHARACTERS)


def _reason(pair: OpenPair) -> str:
    if pair.kind == "contradiction":
        return pair.reason or UNKNOWN_CHANGE
    return SAME_WORDS if pair.similarity == 1.0 else NEARLY_SAME_WORDS
