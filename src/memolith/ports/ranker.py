"""How candidates of a search are weighed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from memolith.domain.items import Item
from memolith.domain.passages import Passage, PassageRef
from memolith.ports.text_index import Statistics

SESSION_REACH = 6
"""So many passages before and after belong to what a passage is said in."""

NEAR_REACH = 2
"""The words of so many passages before and after count together with those of a passage."""

READ_TOGETHER = "read together"
"""The reason of a hit that the judge of deep search has read: its verdict."""


class NamedSpeaker(NamedTuple):
    """A speaker whom a question names."""

    name: str
    written: str
    """How the question writes it."""
    certainty: float
    """How sure that is: 1 if it is spelt the same."""


class Asked(NamedTuple):
    """A question as the ranker sees it."""

    text: str
    terms: tuple[str, ...]
    statistics: Statistics
    named: tuple[NamedSpeaker, ...] = ()
    """The speakers that the question names."""
    boosted: frozenset[str] = frozenset()
    """The terms that count more than others."""
    entities: tuple[frozenset[str], ...] = ()
    """The entities that the question names, each as the terms of its name."""
    phrases: tuple[tuple[str, ...], ...] = ()
    """What stands between quotes, as terms."""
    name_terms: frozenset[str] = frozenset()
    """The terms of the named speakers' names."""
    date_terms: frozenset[str] = frozenset()
    """The terms of the days and months that the question names."""


Evidence = tuple[PassageRef, Passage, tuple[str, ...], float | None]
"""A passage with all that its score depends on: its text, its terms, and its cosine.

The cosine is None where the passage has no vector. A search makes thousands of them, so it has no
class of its own.
"""


class Surroundings(NamedTuple):
    """What is known of the candidates of a search and of what stands around them."""

    evidence: Mapping[PassageRef, Evidence]
    """The candidates, and the passages near them."""
    cosines: Mapping[PassageRef, float]
    """The cosines of these, and of passages a little further away."""
    superseded: Collection[str]
    """The items that a newer one contradicts."""


class Ranked(NamedTuple):
    """A candidate with its score and the signals behind it."""

    ref: PassageRef
    passage: Passage
    score: float
    """The probability that the passage answers the question."""
    reasons: Mapping[str, float]
    """The signals that speak for it or against it, in plain words."""


class Ranker(Protocol):
    """Turns signals into one score, and knows what a score is worth."""

    @property
    def floor(self) -> float:
        """A hit with a lower score is most likely unrelated."""
        ...

    def rank(
        self,
        asked: Asked,
        mode: str,
        candidates: Collection[PassageRef],
        known: Surroundings,
    ) -> list[Ranked]:
        """Score the candidates, the best first."""
        ...

    def named_speakers(self, text: str, speakers: Sequence[str]) -> list[NamedSpeaker]:
        """Return the speakers that a question names, also if it spells them in another way."""
        ...

    def named_days(self, text: str, years: Sequence[int]) -> list[tuple[str, str]]:
        """Return the first and last days of what a question names: days or months.

        One without a year is that of each of the given years.
        """
        ...

    def without_dates(self, text: str) -> str:
        """Return a question without the days and months that it names."""
        ...

    def quoted_phrases(self, text: str) -> list[str]:
        """Return what stands between quotes."""
        ...

    def by_similarity(self, asked: Asked, known: Mapping[PassageRef, Evidence]) -> list[Ranked]:
        """Score passages by how alike they are to a text, the most alike first.

        Those without a vector are compared by their words.
        """
        ...

    def is_sure(self, ranked: Sequence[Ranked]) -> bool:
        """Whether the first of ranked hits is most likely right: good, and ahead of the others."""
        ...

    def strength(self, score: float, is_sure: bool) -> str:
        """Return what a hit is worth in a word: strong, likely or weak."""
        ...

    def deepened(self, score: float, verdict: float) -> float:
        """Return the score of a hit after the judge of deep search has read it."""
        ...

    def similarity(self, cosine: float) -> float:
        """Return how alike two texts are whose vectors have this cosine."""
        ...

    def cosine(self, similarity: float) -> float:
        """Return the smallest cosine that is worth a similarity."""
        ...

    def pairs(
        self,
        vectors: Sequence[tuple[PassageRef, bytes]],
        threshold: float,
        most: int,
        tell: Callable[[int, int], None],
    ) -> list[tuple[PassageRef, PassageRef, float]]:
        """Return the most similar pairs among unit vectors, with their similarities; best first.

        `tell` hears how many vectors are done, and how many there are.
        """
        ...


class Judge(Protocol):
    """Reads a question and a passage together, and says how well the one answers the other."""

    def judge(self, question: str, passages: Sequence[str]) -> list[float]:
        """Return a verdict for each passage; above 0 it rather answers than not."""
        ...


class Lexicon(Protocol):
    """Words as the text index knows them."""

    def terms(self, text: str) -> list[str]:
        """Return the index terms of a text, in order."""
        ...

    def phrase_terms(self, text: str) -> list[str]:
        """Return the terms of a phrase as they stand one after the other in a text."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query that say something."""
        ...

    def extra(self, item: Item, passage: Passage) -> str:
        """Return what is searched beside the text of a passage."""
        ...
