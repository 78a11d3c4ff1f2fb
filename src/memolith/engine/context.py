"""A pack of passages for a prompt: within a budget, without repetition, each with its source."""

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import weigh
from memolith.domain.queries import Filter, Hit, Query
from memolith.engine.recall import Recall
from memolith.engine.statements import facts, shingles
from memolith.errors import InvalidInput
from memolith.ports.store import Store

MOST, FAINT, REPEATED = 100, 0.70, 0.8


class Citation(NamedTuple):
    """Where a numbered part of the pack comes from."""

    number: int
    id: str
    title: str
    cite: str
    score: float


class Pack(NamedTuple):
    """The text, its sources, and about how many tokens it has."""

    text: str
    citations: tuple[Citation, ...]
    tokens: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class ContextBuilder:
    """Makes the text that a prompt is given from memory."""

    store: Store
    recall: Recall

    def newest(self, caller: Caller, budget: int, chosen: Filter) -> str:
        """What changed last in the caller's project, then in none, a line with its namespace each, as many as fit."""
        ways = [replace(chosen, projects=(caller.project,))] if caller.project else []
        with self.store.reading(caller.tenant) as rows:
            items = {
                item.id: item
                for way in (*ways, chosen)
                for item in rows.list_items(
                    caller, way, "updated_at", True, MOST, counted=False
                ).items
                if item.project in (None, caller.project)
            }
            texts = rows.passages_of(caller.tenant, items)
        lines = [
            f"- {item.namespace or item.kind}: {' '.join(text_of(texts[id]).split())[:300]}"
            for id, item in items.items()
        ]
        sums = accumulate(map(weigh, lines))
        return "\n".join(line for line, total in zip(lines, sums, strict=True) if total <= budget)

    def pack(self, caller: Caller, text: str, budget: int, chosen: Filter = Filter()) -> Pack:
        """The best passages that fit, best first, each under its number."""
        if not 20 <= budget <= 200_000:
            raise InvalidInput(
                "The budget must lie between 20 and 200,000 tokens.", field="budget_tokens"
            )
        found = self.recall.search(caller, Query(text, chosen, limit=MOST))
        parts, citations = list[str](), list[Citation]()
        told, words, used = set[tuple[str, ...]](), set[str](), 0
        for hit in found.hits:
            new, known = shingles(hit.passage.text), facts(hit.passage.text)
            # What stands in the pack already, be it in a longer passage or spread over several, is not told again, unless
            # it brings another number, name or negation.
            if hit.score < FAINT or (
                len(new & told) > REPEATED * len(new) and known.telling <= words
            ):
                continue
            source = Citation(len(parts) + 1, hit.item.id, hit.item.title, cite(hit), hit.score)
            head = (
                f"[{source.number}] {', '.join(filter(None, (source.title, source.cite)))}".rstrip()
            )
            part = f"{head}\n{f'{hit.passage.speaker}: ' * bool(hit.passage.speaker)}{hit.passage.text.strip()}"
            if used + (size := weigh(part)) > budget:
                continue
            parts.append(part)
            citations.append(source)
            told |= new
            words.update(known.words)
            used += size
        return Pack("\n\n".join(parts), tuple(citations), used, found.warnings)


def cite(hit: Hit) -> str:
    """Where in its item a hit stands, for people."""
    passage = hit.passage
    if passage.locator:
        return passage.locator
    if hit.item.kind == "conversation":
        return f"message {passage.block + 1}, {passage.at[:10]}"
    return f"part {passage.ordinal + 1} of {hit.item.passages}" if hit.item.passages > 1 else ""
