"""The analyst that is always there: it counts words and knows some names and turns of phrase.

The same text always gets the same answer.
"""

from collections.abc import Mapping, Sequence

from memolith.analysts.builtin import rewriting
from memolith.analysts.builtin.entities import find_entities
from memolith.analysts.builtin.insights import find_insights
from memolith.analysts.builtin.tags import find_tags
from memolith.ports.analyst import Finding


class BuiltinAnalyst:
    """Finds tags, themes and entities by the words that stand out."""

    name = "built-in"

    def tags(self, text: str, known: Sequence[str], most: int) -> list[Finding]:
        return [Finding(*tag) for tag in find_tags(text, known, most)]

    def insights(
        self, groups: Sequence[Sequence[tuple[str, str]]], topic: str
    ) -> tuple[list[Finding], str]:
        report = find_insights(groups, topic)
        return [Finding(*insight) for insight in report.insights], report.summary

    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        if task == "structure":
            return rewriting.structure(texts[0])
        if task == "context":
            return rewriting.context(texts)
        if task == "summarize":
            return rewriting.summarize(texts)
        return rewriting.merge(texts)

    def entities(self, text: str, known: Mapping[str, str]) -> list[Finding]:
        report = find_entities(text, known)
        return [
            *(Finding(entity.type, entity.name, entity.confidence) for entity in report.entities),
            *(
                Finding(
                    relation.type,
                    relation.sentence,
                    relation.confidence,
                    (relation.source, relation.target),
                )
                for relation in report.relations
            ),
        ]
