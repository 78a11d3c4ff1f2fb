"""One score for every hit: the probability that it answers, learned from labelled questions."""

from collections.abc import Callable, Collection, Mapping, Sequence

from memolith.domain.passages import PassageRef
from memolith.ports.ranker import (
    READ_TOGETHER,
    Asked,
    Evidence,
    NamedSpeaker,
    Ranked,
    Surroundings,
)
from memolith.retrieval.ranking.calibration import cosine_of, similarity_of
from memolith.retrieval.ranking.dates import named_periods, without_dates
from memolith.retrieval.ranking.known_words import has_known_word
from memolith.retrieval.ranking.names import meant_names
from memolith.retrieval.ranking.pairs import most_similar_pairs
from memolith.retrieval.ranking.phrases import quoted_phrases
from memolith.retrieval.ranking.signals import Signals, Words, match
from memolith.retrieval.ranking.weights import (
    LACKS_TYPE,
    bent,
    certainty,
    combination_of,
    deepened,
    probability,
    squashed,
    unsquashed,
    weights,
)

DIGITS = 4
"""Scores are rounded to so many digits before hits are put in order by them."""

DOUBT = 4.0
"""How far the logarithm of the odds falls if no word of the question is known to the store, to
English or to the model. What is very near to it by meaning stays above the floor."""

MIN_CERTAINTY_OF_NAME = 0.7
"""Below it, a word that looks like a name is mostly there by chance."""

DAYS_OF_MONTH = 31
REASONS = {
    "meaning": "meaning",
    "words": "words",
    "phrase": "quoted words",
    "entities": "entities",
    "speaker": "speaker",
    "other_speaker": "another speaker",
    "date": "date",
    "mentions_date": "names the date",
    "time_words": "words of time",
    "answered_meaning": "after a question on it",
    "near_words": "words nearby",
    "previous_meaning": "passage before",
    "next_meaning": "passage after",
    "session": "same session",
    "superseded": "superseded",
    "superseded_now": "superseded",
    "lacks_type": LACKS_TYPE,
}
"""The signals that are shown, in plain words."""


class HybridRanker:
    """Scores by words, meaning and what stands around; weights.toml has the weights."""

    @property
    def floor(self) -> float:
        """A hit with a lower score is most likely unrelated."""
        return weights().floor

    def rank(
        self,
        asked: Asked,
        mode: str,
        candidates: Collection[PassageRef],
        known: Surroundings,
    ) -> list[Ranked]:
        """Score the candidates, the best first."""
        signals = Signals(asked, known)
        is_known = mode == "text" or has_known_word(asked)
        ranked = []
        for ref in candidates:
            found = signals.of(ref)
            if mode == "text":
                found.pop("meaning", None)
            _, passage, _, _ = known.evidence[ref]
            score = _score(mode, found)
            if not is_known:
                score = _doubted(score)
            ranked.append(Ranked(ref, passage, score, reasons_of(found)))
        ranked.sort(key=lambda hit: (-hit.score, hit.ref))
        return ranked

    def named_speakers(self, text: str, speakers: Sequence[str]) -> list[NamedSpeaker]:
        """Return the speakers that a question names, also if it spells them in another way."""
        return [
            NamedSpeaker(meant.name, meant.written, meant.certainty)
            for meant in meant_names(text, speakers)
            if meant.certainty >= MIN_CERTAINTY_OF_NAME
        ]

    def named_days(self, text: str, years: Sequence[int]) -> list[tuple[str, str]]:
        """Return the first and last days of what a question names: days or months."""
        return [
            (period.first.isoformat(), period.last.isoformat())
            for period in named_periods(text, years)
            if (period.last - period.first).days < DAYS_OF_MONTH
        ]

    def without_dates(self, text: str) -> str:
        """Return a question without the days and months that it names."""
        return without_dates(text)

    def quoted_phrases(self, text: str) -> list[str]:
        """Return what stands between quotes."""
        return quoted_phrases(text)

    def by_similarity(self, asked: Asked, known: Mapping[PassageRef, Evidence]) -> list[Ranked]:
        """Score passages by how alike they are to a text, the most alike first."""
        words = Words.of(asked)
        ranked = []
        for ref, passage, terms, cosine in known.values():
            if cosine is None:
                shared = match(words, terms).share
                alike = similarity_of(shared)
                reasons = {"words": shared}
            else:
                alike = similarity_of(cosine)
                reasons = {"meaning": cosine}
            ranked.append(Ranked(ref, passage, round(alike, DIGITS), reasons))
        ranked.sort(key=lambda hit: (-hit.score, hit.ref))
        return ranked

    def is_sure(self, ranked: Sequence[Ranked]) -> bool:
        """Whether the first of ranked hits is most likely right: good, and ahead of the others."""
        if not ranked or ranked[0].score < weights().floor:
            return False
        scores = [hit.score for hit in ranked]
        best = ranked[0]
        in_session = REASONS["session"] in best.reasons
        part = "said" if in_session and best.passage.speaker is not None else "written"
        chosen = weights()
        if READ_TOGETHER in best.reasons:
            return (
                certainty(scores, best.reasons, chosen.sure_deep[part]) >= chosen.strong_deep[part]
            )
        return certainty(scores, best.reasons, chosen.sure[part]) >= chosen.strong[part]

    def strength(self, score: float, is_sure: bool) -> str:
        """Return what a hit is worth in a word: strong, likely or weak."""
        if is_sure:
            return "strong"
        return "likely" if score >= weights().likely else "weak"

    def deepened(self, score: float, verdict: float) -> float:
        """Return the score of a hit after the judge of deep search has read it."""
        return round(deepened(score, verdict, weights().deep), DIGITS)

    def similarity(self, cosine: float) -> float:
        """Return how alike two texts are whose vectors have this cosine."""
        return similarity_of(cosine)

    def cosine(self, similarity: float) -> float:
        """Return the smallest cosine that is worth a similarity."""
        return cosine_of(similarity)

    def pairs(
        self,
        vectors: Sequence[tuple[PassageRef, bytes]],
        threshold: float,
        most: int,
        tell: Callable[[int, int], None],
    ) -> list[tuple[PassageRef, PassageRef, float]]:
        """Return the most similar pairs with their similarities, the best first."""
        return most_similar_pairs(vectors, threshold, most, tell)


def _score(mode: str, signals: Mapping[str, float]) -> float:
    chosen = combination_of(signals, mode, weights())
    return round(probability(bent(signals), chosen), DIGITS)


def _doubted(score: float) -> float:
    """The score of a hit for a question of unknown words."""
    return round(squashed(unsquashed(score) - DOUBT), DIGITS)


def reasons_of(signals: Mapping[str, float]) -> dict[str, float]:
    """The signals that are shown, in plain words."""
    reasons: dict[str, float] = {}
    for name, plain in REASONS.items():
        value = signals.get(name)
        if value:
            reasons[plain] = value
    return reasons
