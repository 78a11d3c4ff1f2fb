"""A question, taken apart into the five documented fields."""

from typing import Annotated

from pydantic import Field

from memolith.domain.queries import Query
from memolith.engine.documents import FILES
from memolith.engine.search import MAX_QUERY_LENGTH
from memolith.errors import InvalidInput
from memolith.tools.signature import Argument

MAX_FOUND_FILES = 10
MAX_FIELD_LENGTH = MAX_QUERY_LENGTH // 4
MAX_WORD_LENGTH = 200
Words = Annotated[list[str], Field(max_length=50)]


class ParsedQuery(Argument):
    """A question, taken apart; a part that is left empty follows from the others."""

    bm25_cleaned_query: Annotated[
        str, Field(max_length=MAX_FIELD_LENGTH, description="Its telling words.")
    ]
    named_entities: Annotated[
        Words, Field(description="People, firms, places and products; who has them comes first.")
    ]
    bm25_keywords: Annotated[Words, Field(description="More words to look for.")]
    bm25_boost_keywords: Annotated[Words, Field(description="Words that count more than others.")]
    rewritten_query_for_dense_model: Annotated[
        str, Field(max_length=MAX_FIELD_LENGTH, description="It as a sentence.")
    ]

    def to_query(self) -> Query:
        """The query that the engine understands; empty fields are derived from the others."""
        cleaned = self.bm25_cleaned_query.strip()
        sentence = self.rewritten_query_for_dense_model.strip()
        entities = _cut(self.named_entities or self._capitalized_keywords())
        boosted = _cut(self.bm25_boost_keywords) or entities
        keywords = [*_cut(self.bm25_keywords), *boosted, *entities]
        # The sentence stands in for the words only if no other field has any.
        words = cleaned
        if not words and not keywords:
            words = sentence
        text = " ".join((words, *keywords)).replace('"', " ").strip()
        if not text:
            raise InvalidInput(
                "There is nothing to search for; fill at least one field.", field="parsed_query"
            )
        return Query(
            text=text[:MAX_QUERY_LENGTH],
            filter=FILES,
            limit=MAX_FOUND_FILES,
            per_item=True,
            family="memorylake",
            meant=(sentence or cleaned or text)[:MAX_QUERY_LENGTH],
            boosted=tuple(boosted),
            entities=tuple(entities),
        )

    def _capitalized_keywords(self) -> list[str]:
        keywords = [*self.bm25_keywords, *self.bm25_boost_keywords]
        return [keyword for keyword in keywords if keyword[:1].isupper()]


def _cut(words: list[str]) -> list[str]:
    """The words, none of them longer than a name can be."""
    return [word[:MAX_WORD_LENGTH] for word in words]
