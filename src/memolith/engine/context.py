"""Text for a prompt: the best passages within a budget of tokens, each with its source."""

from dataclasses import replace
from typing import NamedTuple

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import weigh
from memolith.domain.items import Item
from memolith.domain.passages import Passage
from memolith.domain.queries import Filter, Hit, Query
from memolith.engine.recall import Recall
from memolith.engine.statements import facts, shingles
from memolith.errors import InvalidInput
from memolith.ports.store import Store

MAX_ITEMS = 100
MAX_REPEATED_SHARE = 0.8
"""A passage of which more stands in the pack already is left out."""
MIN_BUDGET_TOKENS = 20
MAX_BUDGET_TOKENS = 200_000
MAX_LINE_CHARACTERS = 300


class Citation(NamedTuple):
    """Where a numbered part of the pack comes from."""

    number: int
    id: str
    title: str
    cite: str
    score: float
    at: str
    """When it was said."""
    updated_at: str
    """When its item was last changed."""


class Pack(NamedTuple):
    """The text, its sources, and about how many tokens it has."""

    text: str
    citations: tuple[Citation, ...]
    tokens: int
    warnings: tuple[str, ...]


class ContextBuilder:
    """Makes the text that a prompt is given from memory."""

    def __init__(self, store: Store, recall: Recall) -> None:
        self.store = store
        self.recall = recall

    def newest(self, caller: Caller, budget_tokens: int, chosen: Filter) -> str:
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
        lines: list[str] = []
        used = 0
        for id, item in items.items():
            text = " ".join(text_of(texts[id]).split())
            line = f"- {item.namespace or item.kind}: {text[:MAX_LINE_CHARACTERS]}"
            used += weigh(line)
            if used > budget_tokens:
                break
            lines.append(line)
        return "\n".join(lines)

    def pack(
        self, caller: Caller, text: str, budget_tokens: int, chosen: Filter = Filter()
    ) -> Pack:
        """The best passages that fit, the best first, each under its number."""
        if not MIN_BUDGET_TOKENS <= budget_tokens <= MAX_BUDGET_TOKENS:
            raise InvalidInput(
                "The budget must lie between 20 and 200,000 tokens.", field="budget_tokens"
            )
        found = self.recall.search(caller, Query(text, chosen, limit=MAX_ITEMS, family="core"))
        draft = _PackDraft(budget_tokens)
        for hit in found.hits:
            draft.add(hit)
        return Pack("\n\n".join(draft.parts), tuple(draft.citations), draft.used, found.warnings)


class _PackDraft:
    """A pack while it grows."""

    def __init__(self, budget_tokens: int) -> None:
        self.parts: list[str] = []
        self.citations: list[Citation] = []
        self.used = 0
        self._budget_tokens = budget_tokens
        self._sequences: set[tuple[str, ...]] = set()
        """The word sequences that stand in the pack already."""
        self._words: set[str] = set()

    def add(self, hit: Hit) -> None:
        """Add a passage if it fits and is not there already."""
        sequences = shingles(hit.passage.text)
        found = facts(hit.passage.text)
        # A passage may be there already in a longer one, or spread over several. It is repeated
        # only if it brings another number, name or negation.
        repeated = len(sequences & self._sequences)
        if repeated > MAX_REPEATED_SHARE * len(sequences) and found.telling <= self._words:
            return
        number = len(self.parts) + 1
        citation = Citation(
            number,
            hit.item.id,
            hit.item.title,
            cite(hit),
            hit.score,
            hit.passage.at,
            hit.item.updated_at,
        )
        part = f"{_head(citation)}\n{_spoken(hit.passage)}"
        tokens = weigh(part)
        if self.used + tokens > self._budget_tokens:
            return
        self.parts.append(part)
        self.citations.append(citation)
        self.used += tokens
        self._sequences |= sequences
        self._words.update(found.words)


def cite(hit: Hit) -> str:
    """Where in its item a hit stands, for people."""
    passage = hit.passage
    if passage.locator:
        return passage.locator
    if hit.item.kind == "conversation":
        return f"message {passage.block + 1}, {passage.at[:10]}"
    if hit.item.passages > 1:
        return f"part {passage.ordinal + 1} of {hit.item.passages}"
    return ""


def _head(citation: Citation) -> str:
    source = ", ".join(part for part in (citation.title, citation.cite) if part)
    return f"[{citation.number}] {source}".rstrip()


def _spoken(passage: Passage) -> str:
    text = passage.text.strip()
    return f"{passage.speaker}: {text}" if passage.speaker else text
