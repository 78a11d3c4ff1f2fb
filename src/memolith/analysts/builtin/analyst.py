"""The analyst that is always there: it counts words and knows some names and turns of phrase.

The same text always gets the same answer.
"""

from collections.abc import Mapping, Sequence

from memolith.analysts.builtin import rewriting
from memolith.analysts.builtin.entities import find_entities
from memolith.analysts.builtin.facts import stated_facts
from memolith.analysts.builtin.insights import find_insights
from memolith.analysts.builtin.replies import quote_what_fits
from memolith.analysts.builtin.tags import find_tags
from memolith.ports.analyst import (
    ChatMessage,
    EntityReport,
    FoundTag,
    InsightReport,
    Memory,
    ReplyOptions,
)


class BuiltinAnalyst:
    """Finds tags, themes and entities by the words that stand out."""

    name = "built-in"

    def tags(self, text: str, own_tags: Sequence[str], limit: int) -> list[FoundTag]:
        """Suggest tags for a text, the surest first."""
        return find_tags(text, own_tags, limit)

    def insights(self, groups: Sequence[Sequence[Memory]], topic: str) -> InsightReport:
        """Find a theme for each group, a gap where a memory is alone, and telling sentences."""
        return find_insights(groups, topic)

    def entities(self, text: str, familiar_types: Mapping[str, str]) -> EntityReport:
        """Read entities and relations out of a text."""
        return find_entities(text, familiar_types)

    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        """Make one text of several, sentence by sentence."""
        if task == "structure":
            return rewriting.structure(texts[0])
        if task == "context":
            return rewriting.context(texts)
        if task == "summarize":
            return rewriting.summarize(texts)
        return rewriting.merge(texts)

    def facts(self, messages: Sequence[ChatMessage]) -> list[str]:
        """The sentences that state something, word for word."""
        return stated_facts(messages)

    def reply(self, messages: Sequence[ChatMessage], options: ReplyOptions) -> str:
        """Quote the sentences that fit the last message; no temperature changes them."""
        return quote_what_fits(messages, options.max_tokens)
