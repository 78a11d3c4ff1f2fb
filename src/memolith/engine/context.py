"""Text for a prompt: the best passages within a budget of tokens, each with its source."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import weigh
from memolith.domain.items import Item
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter, Hit, Query
from memolith.engine.matching import passage_matches
from memolith.engine.packing import Candidate, Citation, PackDraft
from memolith.engine.recall import Recall
from memolith.errors import InvalidInput
from memolith.ports.store import Store

MAX_ITEMS = 100
MIN_BUDGET_TOKENS = 20
MAX_BUDGET_TOKENS = 200_000
MAX_LINE_CHARACTERS = 300
MAX_WITH_NEIGHBOURS = 3
"""The messages around so many of the best hits may go into a pack."""
NEIGHBOUR_REACH = 2
"""How far before and after a hit."""
NEIGHBOUR_SHARE = 0.2
"""What a message next to a hit is worth, as a share of the hit's score; one step further, the same
share of that."""
MAX_WITH_LINKS = 3
"""The items linked to so many of the best hits may go into a pack."""
MAX_LINKED_ITEMS = 20
LINK_SHARE = 0.2
"""What an item linked to a hit is worth at least, as a share of the hit's score."""
LOWER_FLOOR = 0.5
"""Where something passes the floor, so do messages with this share of it, as long as there is room:
what a conversation says is spread over several of them. A note stands for itself."""
MAX_GROWTH = 3
"""How long a pack may become with what is below the floor, in lengths of what is above it.

So a question with one weak hit does not fill a large budget.
"""


class Pack(NamedTuple):
    """The text, its sources, and about how many tokens it has."""

    text: str
    citations: tuple[Citation, ...]
    tokens: int
    warnings: tuple[str, ...]


class NewestLines(NamedTuple):
    """A line for each of the items that changed last, and their ids."""

    text: str
    ids: tuple[str, ...]


class ContextBuilder:
    """Makes the text that a prompt is given from memory."""

    def __init__(self, store: Store, recall: Recall) -> None:
        self.store = store
        self.recall = recall

    def newest(self, caller: Caller, budget_tokens: int, chosen: Filter) -> NewestLines:
        """What changed last in the caller's project, then outside of projects; a line for each."""
        filters = [chosen]
        if caller.project:
            filters.insert(0, replace(chosen, projects=(caller.project,)))
        items: dict[str, Item] = {}
        with self.store.reading(caller.tenant) as rows:
            for way in filters:
                page = rows.list_items(caller, way, "updated_at", True, MAX_ITEMS, counted=False)
                for item in page.items:
                    if item.project in (None, caller.project):
                        items[item.id] = item
            texts = rows.passages_of(caller.tenant, items)
        lines: dict[str, str] = {}
        used = 0
        for id, item in items.items():
            text = " ".join(text_of(texts[id]).split())
            line = f"- {item.namespace or item.kind}: {text[:MAX_LINE_CHARACTERS]}"
            used += weigh(line)
            if used > budget_tokens:
                break
            lines[id] = line
        return NewestLines("\n".join(lines.values()), tuple(lines))

    def pack(
        self,
        caller: Caller,
        text: str,
        budget_tokens: int,
        chosen: Filter = Filter(),
        *,
        of_project_only: bool = False,
    ) -> Pack:
        """The best passages that fit, the best first, each under its number.

        What was said around the best hits and what is linked to them goes with them. If some of
        the budget is left, messages below the floor follow. Where nothing passes the floor, the
        pack is empty. With `of_project_only`, nothing of other projects than the caller's goes in;
        what belongs to no project does.
        """
        if not MIN_BUDGET_TOKENS <= budget_tokens <= MAX_BUDGET_TOKENS:
            raise InvalidInput(
                "The budget must lie between 20 and 200,000 tokens.", field="budget_tokens"
            )
        floor = self.recall.floor
        threshold = LOWER_FLOOR * floor
        query = Query(text, chosen, limit=MAX_ITEMS, threshold=threshold, family="core")
        found = self.recall.search(caller, query)
        if of_project_only:
            near = [hit for hit in found.hits if hit.item.project in (None, caller.project)]
            found = found._replace(hits=tuple(near))
        hits = [hit for hit in found.hits if hit.score >= floor]
        draft = PackDraft(budget_tokens)
        if hits:
            neighbours = self._neighbours(caller, hits[:MAX_WITH_NEIGHBOURS], chosen)
            linked = self._linked(caller, query, hits[:MAX_WITH_LINKS])
            if of_project_only:
                linked = [
                    candidate
                    for candidate in linked
                    if candidate.item.project in (None, caller.project)
                ]
            draft.fill([*map(Candidate.of, hits), *neighbours, *linked])
            draft.limit(MAX_GROWTH * draft.used)
            draft.fill(map(Candidate.of, filter(_is_spoken, found.hits)))
        return _pack(draft, found.warnings)

    def _neighbours(self, caller: Caller, hits: Sequence[Hit], chosen: Filter) -> list[Candidate]:
        """What was said just before and after hits in conversations."""
        spoken = [hit for hit in hits if _is_spoken(hit)]
        if not spoken:
            return []
        hits_around: dict[PassageRef, list[Hit]] = {}
        with self.store.reading(caller.tenant) as rows:
            sizes = rows.text_sizes(caller.tenant, {hit.item.id for hit in spoken})
            for hit in spoken:
                first = max(0, hit.passage.ordinal - NEIGHBOUR_REACH)
                end = min(hit.item.passages, hit.passage.ordinal + NEIGHBOUR_REACH + 1)
                for ordinal in range(first, end):
                    if hit.item.id in sizes:
                        ref = PassageRef(sizes[hit.item.id].first + ordinal)
                        hits_around.setdefault(ref, []).append(hit)
            passages = rows.passages_at(hits_around)
        candidates = []
        for ref, (item, passage) in passages.items():
            for hit in hits_around[ref]:
                distance = abs(passage.ordinal - hit.passage.ordinal)
                # The item may have changed since the search.
                is_same = item.version == hit.item.version
                if distance and is_same and passage_matches(passage, chosen):
                    worth = hit.score * NEIGHBOUR_SHARE**distance
                    beside = Candidate.of(hit).place
                    candidates.append(Candidate(item, passage, 0.0, worth, beside))
        return candidates

    def _linked(self, caller: Caller, query: Query, hits: Sequence[Hit]) -> list[Candidate]:
        """The best passage of each item that is linked to a hit."""
        scores = {hit.item.id: hit.score for hit in reversed(hits)}
        with self.store.reading(caller.tenant) as rows:
            steps = rows.steps(caller, query.filter, scores, "both")
        worths: dict[str, float] = {}
        for step in steps:
            if step.end not in scores:
                worth = LINK_SHARE * scores[step.start]
                worths[step.end] = max(worth, worths.get(step.end, 0.0))
        if not worths:
            return []
        ids = sorted(worths, key=lambda id: -worths[id])[:MAX_LINKED_ITEMS]
        among = replace(query.filter, ids=tuple(ids))
        found = self.recall.search(
            caller, replace(query, filter=among, threshold=0.0, per_item=True, deep=False)
        )
        candidates = []
        for hit in found.hits:
            # An entity is a name, which the hit has already.
            if hit.item.kind != "entity":
                worth = max(hit.score, worths[hit.item.id])
                candidates.append(Candidate(hit.item, hit.passage, hit.score, worth))
        return candidates


def _is_spoken(hit: Hit) -> bool:
    return hit.item.kind == "conversation"


def _pack(draft: PackDraft, warnings: tuple[str, ...]) -> Pack:
    texts = []
    citations = []
    for number, part in enumerate(draft.parts(), start=1):
        best = part.best
        citations.append(
            Citation(
                number,
                best.item.id,
                best.item.title,
                part.cite,
                best.score,
                best.passage.at,
                best.item.updated_at,
            )
        )
        texts.append(f"{part.head(number)}\n{part.text}")
    return Pack("\n\n".join(texts), tuple(citations), draft.used, warnings)
