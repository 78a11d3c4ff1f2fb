"""Giving a memory more tags, a clearer structure and its context."""

from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.attributes import Attributes
from memolith.domain.callers import Caller
from memolith.domain.items import Item, Patch, Written
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.engine.consolidation import Consolidation
from memolith.engine.insights import Insights
from memolith.engine.reading import Reading
from memolith.engine.recall import Recall
from memolith.engine.writing import Writing

MAX_ADDED_TAGS = 5
MAX_RELATED = 3
MIN_RELATED_SIMILARITY = 0.6
MAX_QUERY_LENGTH = 1000


class Enriched(NamedTuple):
    """What was added to a memory."""

    written: Written
    tags_added: list[str]
    structure_improved: bool
    context: str | None
    warnings: list[str]


@dataclass(frozen=True)
class Enrichment:
    """Asks the analyst what a memory lacks, and adds it."""

    reading: Reading
    writing: Writing
    recall: Recall
    insights: Insights
    consolidation: Consolidation

    def enrich(
        self,
        caller: Caller,
        item: Item,
        text: str,
        around: Filter,
        *,
        tags: bool,
        structure: bool,
        context: bool,
    ) -> Enriched:
        """Add what is asked for; `around` are the memories whose tags and texts may serve."""
        warnings: list[str] = []
        new_tags: list[str] = []
        if tags:
            new_tags = self._new_tags(caller, item, text, around, warnings)
        new_text = text
        if structure:
            rewritten = self.consolidation.rewrite("structure", [text])
            new_text = rewritten.text
            warnings.extend(rewritten.warnings)
        new_context = None
        if context:
            surroundings = self._surroundings(caller, item, text, around)
            rewritten = self.consolidation.rewrite("context", [text, *surroundings])
            new_context = rewritten.text
            warnings.extend(rewritten.warnings)
        attributes: Attributes = {"context": new_context} if new_context else {}
        patch = Patch(
            blocks=(Block(new_text),), tags=(*item.tags, *new_tags), attributes=attributes
        )
        written = self.writing.revise(caller, item.id, patch, item.version)
        return Enriched(
            written=written,
            tags_added=new_tags,
            structure_improved=new_text != text,
            context=new_context,
            warnings=list(dict.fromkeys(warnings)),
        )

    def _new_tags(
        self, caller: Caller, item: Item, text: str, around: Filter, warnings: list[str]
    ) -> list[str]:
        vocabulary = list(self.reading.count_by(caller, "tag", around))
        max_findings = MAX_ADDED_TAGS + len(item.tags)
        answer = self.insights.ask(lambda analyst: analyst.tags(text, vocabulary, max_findings))
        warnings.extend(answer.warnings)
        tags = [found.tag for found in answer.value if found.tag not in item.tags]
        return tags[:MAX_ADDED_TAGS]

    def _surroundings(self, caller: Caller, item: Item, text: str, around: Filter) -> list[str]:
        """Sentences about where a memory comes from and what is related to it."""
        places = ""
        for name in ("branch", "source"):
            value = item.attributes.get(name)
            if value:
                places += f", {name} {value}"
        origin = f"Captured on {item.created_at[:10]} in {item.project or 'no project'}{places}."
        related = self.recall.search(
            caller,
            Query(
                text=text[:MAX_QUERY_LENGTH],
                filter=around,
                # One more, because the memory finds itself.
                limit=MAX_RELATED + 1,
                threshold=MIN_RELATED_SIMILARITY,
                alike=True,
                per_item=True,
            ),
        )
        titles = [hit.item.title for hit in related.hits if hit.item.id != item.id]
        return [origin, *(f"Related: {title}" for title in titles)]
