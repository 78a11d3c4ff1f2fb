"""Keeping what was said: word for word, or as the facts that an analyst finds in it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Item
from memolith.domain.passages import Block
from memolith.engine.insights import Insights
from memolith.engine.reading import Reading
from memolith.engine.writing import Writing
from memolith.errors import InvalidInput
from memolith.ports.analyst import ChatMessage

MAX_FACTS = 500
"""Each fact is a write, and all of a call are one transaction, for which others wait."""


class KeptFacts(NamedTuple):
    """The items that were made, who found the facts, and what the caller should know."""

    items: list[Item]
    texts: list[str]
    """The text of each item, as it is stored."""
    method: str
    warnings: list[str]


@dataclass(frozen=True)
class Facts:
    """Makes memories of what was said."""

    writing: Writing
    reading: Reading
    insights: Insights

    def keep(self, caller: Caller, messages: Sequence[ChatMessage], place: Draft) -> KeptFacts:
        """Keep the facts in some messages that are not known at this place yet.

        A fact is known if a memory with the same attributes as the place says it word for word.
        """
        answer = self.insights.ask(lambda analyst: analyst.facts(messages))
        if len(answer.value) > MAX_FACTS:
            raise InvalidInput(
                f"This states {len(answer.value):,} facts, and at most {MAX_FACTS} are kept at "
                "once. Send it in parts, or word for word with `infer` off."
            )
        new = [fact for fact in answer.value if not self._is_known(caller, fact, place)]
        return self._write(caller, new, place)._replace(
            method=answer.method, warnings=answer.warnings
        )

    def keep_verbatim(self, caller: Caller, texts: Sequence[str], place: Draft) -> KeptFacts:
        """Keep each text as it is."""
        return self._write(caller, texts, place)

    def _write(self, caller: Caller, texts: Sequence[str], place: Draft) -> KeptFacts:
        items = []
        for text in texts:
            draft = replace(place, blocks=(Block(text),))
            items.append(self.writing.remember(caller, draft).item)
        return KeptFacts(items, self._stored_texts(caller, items), "verbatim", [])

    def _stored_texts(self, caller: Caller, items: Sequence[Item]) -> list[str]:
        ids = [item.id for item in items]
        # Also what expires at once, because a client may give a date of the past.
        found = self.reading.read_many(caller, ids, forgotten=True)
        return ["\n".join(block.text for block in blocks) for _, blocks in found]

    def _is_known(self, caller: Caller, fact: str, place: Draft) -> bool:
        copies = self.reading.near_copies(caller, place.kind, fact)
        ids = [copy.id for copy in copies if copy.exact]
        items = [item for item, _ in self.reading.read_many(caller, ids)]
        return any(_has_attributes(item, place, place.attributes) for item in items)


def _has_attributes(item: Item, place: Draft, names: Collection[str]) -> bool:
    return all(item.attributes.get(name) == place.attributes[name] for name in names)
