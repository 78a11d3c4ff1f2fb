"""Finding what was remembered: by words, by meaning, or both, always within the caller's scope and filter."""

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import mul
from typing import NamedTuple

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import embedded
from memolith.domain.items import Item, Similar
from memolith.domain.passages import Passage, PassageRef, item_row_of, passage_ref
from memolith.domain.queries import Filter, Found, Hit, Query
from memolith.engine.history import items_as_of
from memolith.engine.matching import checked, item_matches, passage_matches
from memolith.engine.statements import contradicts, same
from memolith.engine.validation import plain, when
from memolith.errors import DiskFull, EmbedderDown, InvalidInput, Unavailable
from memolith.ports.ranker import Asked, Evidence, Lexicon, Ranked, Ranker
from memolith.ports.store import Reader, Store
from memolith.ports.text_index import Candidate
from memolith.ports.vectors import Meaning

MODES = ("hybrid", "vector", "text")
SIDE, NEAR = 1000, 100
MAX_LIMIT = SIDE
POOL, BESIDE = 40, 20
STRONG = 0.79
COMMON_SHARE, COMMON_LEAST = 0.02, 2000
MODEL_WAIT_S, DRAIN_S = 5.0, 0.15
MAX_QUERY_LENGTH = 10_000
MOST_BYGONE = 200
OFF = "Search by meaning is switched off"
ROLES = frozenset(("user", "assistant", "system", "tool", "human", "ai", "developer"))
Dense = tuple[Meaning, bytes]
"""A model with its vectors, and the query as one of them."""


class Pair(NamedTuple):
    """Two items, and how similar they are."""

    first: Item
    second: Item
    similarity: float


class Pairs(NamedTuple):
    """Pairs of similar items, and what the caller should know."""

    pairs: list[Pair]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Recall:
    """Searches the store; without a model it searches by words and says so."""

    store: Store
    lexicon: Lexicon
    ranker: Ranker
    meaning: Callable[[], Meaning | None]
    embed_waiting: Callable[[str, float], object]
    """Makes vectors of what waits in a tenant, for at most so many seconds."""

    def search(self, caller: Caller, query: Query) -> Found:
        query, warnings = check(query), list[str]()
        with self._reading(caller, query.mode, warnings) as (rows, meaning):
            search = Search(rows, caller, query, self.lexicon, self.ranker)
            search.dense = (
                _dense(meaning, query.meant or search.stripped, query.mode, warnings)
                if meaning
                else None
            )
            ranked, full = search.run()
            if full:
                warnings.append(
                    f"More than {SIDE} passages fit; the total counts the best of them."
                )
            hits = search.hits(ranked[query.offset : query.offset + query.limit])
        return Found(hits, len(ranked) + search.unread, tuple(warnings))

    def similar(
        self,
        caller: Caller,
        text: str,
        threshold: float = 0.9,
        chosen: Filter = Filter(),
        limit: int = 10,
    ) -> list[Similar]:
        """Items that say nearly the same as the text, without those that contradict it."""
        hits = self.search(
            caller,
            Query(
                text[:4000],
                chosen,
                mode="vector",
                limit=5 * limit,
                threshold=threshold,
                by_similarity=True,
                per_item=True,
                verbatim=True,
            ),
        ).hits
        with self.store.reading(caller.tenant) as rows:
            passages = rows.passages_of(caller.tenant, [hit.item.id for hit in hits])
        return [
            Similar(hit.item.id, hit.item.title, hit.score, same(text, other))
            for hit in hits
            if not contradicts(text, other := text_of(passages[hit.item.id]))
        ][:limit]

    def pairs(
        self,
        caller: Caller,
        chosen: Filter,
        threshold: float,
        most: int,
        tell: Callable[[int, int], None],
    ) -> Pairs:
        """The most similar pairs of items, by the meaning of how they begin."""
        warnings: list[str] = []
        with self._reading(caller, "hybrid", warnings) as (rows, meaning):
            begun = meaning.vectors.beginnings(rows, caller, checked(chosen)) if meaning else []
            near = self.ranker.pairs(begun, threshold, most, tell)
            found = rows.passages_at({ref for pair in near for ref in pair[:2]})
        return Pairs(
            [Pair(found[one][0], found[two][0], score) for one, two, score in near], warnings
        )

    @contextmanager
    def _reading(
        self, caller: Caller, mode: str, warnings: list[str]
    ) -> Iterator[tuple[Reader, Meaning | None]]:
        """A reader, and the model where it serves; what has no vector yet gets one first, as far as time allows."""
        for drained in (False, True):
            meaning = None if mode == "text" else self._ready(mode, warnings)
            with self.store.reading(caller.tenant) as rows:
                waiting = rows.count_waiting(caller.tenant, "embed") if meaning else 0
                if drained or not waiting:
                    if waiting:
                        warnings.append(
                            f"{waiting:,} items{' or more' * (waiting >= 1000)} have no vector yet; they "
                            "are found by words only."
                        )
                    yield rows, meaning
                    return
            # Whoever cannot write can still search.
            with suppress(DiskFull, Unavailable):
                self.embed_waiting(caller.tenant, DRAIN_S)

    def state(self) -> tuple[str, str]:
        """Whether search by meaning works (healthy, loading, down or off), and the model; asking starts to load it."""
        try:
            if (meaning := self.meaning()) is None:
                return "off", "none"
            return "healthy" if meaning.embedder.wait(0.0) else "loading", meaning.embedder.id
        except EmbedderDown:
            return "down", "down"

    def _ready(self, mode: str, warnings: list[str]) -> Meaning | None:
        """The model once it is loaded; without it a warning, or an error where only meaning was asked for."""
        try:
            meaning = self.meaning()
            if meaning and meaning.embedder.wait(MODEL_WAIT_S):
                return meaning
            why = "The embedding model is not ready" if meaning else OFF
        except EmbedderDown as error:
            why = error.message.rstrip(".")
        if mode == "vector" and why == OFF:
            raise InvalidInput(f"{OFF} here; use the mode text.", field="mode")
        if mode == "vector":
            raise EmbedderDown(f"{why}, so nothing can be found by meaning alone.")
        warnings.append(f"{why}; found by words only.")
        return None


def _dense(meaning: Meaning, text: str, mode: str, warnings: list[str]) -> Dense | None:
    try:
        vector = meaning.embedder.embed([text])[0]
    except EmbedderDown as error:
        if mode == "vector":
            raise
        warnings.append(f"{error.message} Found by words only.")
        return None
    if vector is None and mode == "vector":
        warnings.append("The model understands too little of this query; found by words.")
    return None if vector is None else (meaning, vector)


class Search:
    """One search inside one read transaction."""

    def __init__(
        self, rows: Reader, caller: Caller, query: Query, lexicon: Lexicon, ranker: Ranker
    ) -> None:
        self._rows, self._caller, self._query = rows, caller, query
        self._lexicon, self._ranker = lexicon, ranker
        self._phrases = [
            phrase
            for text in re.findall(r'"([^"]+)"', query.text)
            if (phrase := lexicon.terms(text))
        ]
        terms = lexicon.query_terms(query.text)
        words = set(re.findall(r"\w+", query.text.lower()))
        named = tuple(
            name
            for name in rows.speakers(caller.tenant)
            if name.lower() not in ROLES and words & set(re.findall(r"\w+", name.lower()))
        )
        self._asked = Asked(
            query.text,
            tuple(terms),
            rows.statistics(caller.tenant, terms),
            named,
            frozenset(lexicon.terms(" ".join(query.boosted))),
            tuple(frozenset(lexicon.terms(name)) for name in query.entities),
        )
        self.dense: Dense | None = None
        self._items: dict[int, Item] = {}
        self._read: dict[PassageRef, Passage] = {}
        self._near: dict[PassageRef, float] = {}
        """The cosines that the search by meaning found already."""
        self.unread = 0
        """How many were found beyond those that had to be weighed for this page."""

    @property
    def stripped(self) -> str:
        """The query without the names of those who speak: they are in every one of their messages."""
        text = self._query.text
        if self._query.verbatim:
            return text
        for word in {word for name in self._asked.named for word in name.split()}:
            text = re.sub(rf"\b{re.escape(word)}('s)?\b", " ", text, flags=re.I)
        return " ".join(text.split()) or self._query.text

    def run(self) -> tuple[list[Ranked], bool]:
        """Everything that was found in order, and whether a side was full."""
        query, dense = self._query, self.dense
        words = [] if query.mode == "vector" and dense else self._by_words()
        # What has none of the telling words is as similar as its vector says; what it said once may be another matter.
        least = (
            self._ranker.cosine(query.threshold)
            if query.threshold and query.as_of is None
            else -1.0
        )
        # Without a bound on what counts as near, everything is; so many are as far as anyone would turn pages.
        bounded = query.mode == "hybrid" and not (
            query.threshold or query.by_similarity or query.per_item
        )
        near = (
            dense[0].vectors.nearest(
                self._rows, self._caller, query.filter, dense[1], NEAR if bounded else SIDE, least
            )
            if dense
            else []
        )
        self._near = dict(near)
        if self._phrases:
            kept = dict(words)
            near = [candidate for candidate in near if candidate[0] in kept]
        ranked = self._order(words, near)
        if query.as_of is not None:
            ranked = self._as_of(ranked, query.as_of)
        return self._cut(ranked), len(words) >= SIDE or (len(near) >= SIDE and least > -1.0)

    def _by_words(self) -> list[Candidate]:
        """Candidates that hold the telling words; very common ones do not choose, but still count for the order."""
        passages, _, frequencies = self._asked.statistics
        known = [term for term in self._asked.terms if frequencies.get(term)]
        bound = max(COMMON_LEAST, COMMON_SHARE * passages)
        telling: list[str] = []
        for term in sorted(known, key=lambda term: (frequencies[term], term)):
            # Several that are nearly too common are together as costly as one that is.
            if sum(frequencies[one] for one in (*telling, term)) <= bound:
                telling.append(term)
        find = self._rows.search_text
        if telling or self._phrases:
            found = find(self._caller, self._query.filter, telling, self._phrases, False, SIDE)
            if found or self._phrases:
                return found
        rarest = sorted(set(known) - set(telling), key=lambda term: (frequencies[term], term))
        together = find(self._caller, self._query.filter, rarest, [], True, SIDE)
        if len(together) >= POOL or (together and self._query.mode == "hybrid"):
            return together
        seen = dict(together)
        more = find(self._caller, self._query.filter, rarest[:1], [], False, SIDE)
        return together + [candidate for candidate in more if candidate[0] not in seen]

    def _order(self, words: list[Candidate], near: list[Candidate]) -> list[Ranked]:
        """The best of both sides with their neighbours, weighed exactly; then the rest, each by itself."""
        query = self._query
        most = POOL if query.mode == "hybrid" else SIDE
        best = {ref for ref, _ in (*words[:most], *near[:most])}
        beside = {
            PassageRef(ref + step)
            for ref, _ in (*words[:BESIDE], *near[:BESIDE])
            for step in (-1, 1)
            if item_row_of(PassageRef(ref + step)) == item_row_of(ref)
        }
        wide = query.mode == "hybrid" and not self._phrases
        passages = {
            ref: passage
            for ref, passage in self._passages(best | beside if wide else best).items()
            if ref in best or passage_matches(passage, query.filter)
        }
        pool = self._weigh(passages)
        ranked = (
            self._ranker.rank(self._asked, pool) if query.mode == "hybrid" else self._alone(pool)
        )
        rest = {ref for ref, _ in (*words, *near)} - passages.keys()
        blocks = (
            {(item_row_of(one.ref), one.passage.block) for one in ranked}
            if query.per_block
            else set()
        )
        beyond = query.offset + query.limit > (len(blocks) or len(ranked))
        if not (beyond or query.threshold or query.by_similarity or query.per_item or query.as_of):
            self.unread = self._rows.count_blocks(rest, blocks) if query.per_block else len(rest)
            return ranked
        return ranked + self._alone(self._weigh(self._passages(rest)))

    def _alone(self, pool: list[Evidence]) -> list[Ranked]:
        """Each by itself, in the order of the mode."""
        judged = self._ranker.judge(self._asked, pool)
        if self._query.mode == "vector":
            judged = [
                one
                if (cosine := one.reasons.get("cosine")) is None
                else one._replace(order=cosine, similarity=self._ranker.similarity(cosine))
                for one in judged
            ]
        elif self._query.mode == "text":
            judged = [one._replace(order=one.reasons["text"]) for one in judged]
        return _sorted(judged)

    def _passages(self, refs: set[PassageRef]) -> dict[PassageRef, Passage]:
        found = self._rows.passages_at(refs - self._read.keys())
        self._items |= {item_row_of(ref): item for ref, (item, _) in found.items()}
        self._read |= {ref: passage for ref, (_, passage) in found.items()}
        return {ref: self._read[ref] for ref in sorted(refs & self._read.keys())}

    def _weigh(self, passages: dict[PassageRef, Passage]) -> list[Evidence]:
        cosines, terms, extra = self._near, self._lexicon.terms, self._lexicon.extra
        if self.dense and (others := {ref for ref in passages.keys() - cosines.keys() if ref >= 0}):
            cosines |= self.dense[0].vectors.cosines(self._rows, self.dense[1], others)
        return [
            (
                ref,
                passage,
                tuple(terms(f"{passage.text}\n{extra(self._items[item_row_of(ref)], passage)}")),
                cosines.get(ref),
            )
            for ref, passage in passages.items()
        ]

    def _cut(self, ranked: list[Ranked]) -> list[Ranked]:
        """Without what is below the threshold, and one hit per item or per block where asked."""
        query = self._query
        kept = [one for one in ranked if one.similarity >= query.threshold]
        if query.by_similarity:
            kept.sort(key=lambda one: (-one.similarity, one.ref))
        if query.per_item or query.per_block:
            first: dict[tuple[int, int], Ranked] = {}
            for one in kept:
                first.setdefault((item_row_of(one.ref), one.passage.block * query.per_block), one)
            kept = list(first.values())
        return kept

    def _as_of(self, ranked: list[Ranked], at: str) -> list[Ranked]:
        """What was unchanged since comes from the index; what was not, from a replay of its log."""
        changed = set(self._rows.streams(self._caller.tenant, at))
        stay = [one for one in ranked if one.passage.item not in changed]
        past = [
            (item, passages)
            for item, passages in items_as_of(self._rows, self._caller, changed, at).values()
            if item_matches(item, self._query.filter)
        ]
        self._items |= {-1 - n: item for n, (item, _) in enumerate(past)}
        found = {
            passage_ref(-1 - n, one.ordinal): one
            for n, (_, passages) in enumerate(past)
            for one in passages
            if passage_matches(one, self._query.filter)
        }
        if self.dense:
            # In no index: their vectors are made on the spot, for the first so many.
            texts = {
                ref: embedded(self._items[item_row_of(ref)].title, one.speaker, one.text)
                for ref, one in islice(found.items(), MOST_BYGONE)
            }
            made = zip(texts, self.dense[0].embedder.embed([*texts.values()]), strict=True)
            self._near |= {
                ref: sum(map(mul, array("f", self.dense[1]), array("f", vector)))
                for ref, vector in made
                if vector is not None
            }
        judged = self._alone(self._weigh(found))
        return _sorted(
            stay
            + [one for one in judged if one.reasons["text"] or one.reasons.get("cosine", 0.0) > 0]
        )

    def hits(self, chosen: Sequence[Ranked]) -> tuple[Hit, ...]:
        """Ranked passages as the caller gets to see them, each with those within the reach, itself included."""
        around: dict[PassageRef, list[PassageRef]] = {}
        for one in chosen if self._query.reach else ():
            item = self._items[item_row_of(one.ref)]
            # Where no message was split, the next passage is the next message.
            reach = min(self._query.reach, 1 + item.passages - item.blocks)
            first = one.ref - min(reach, one.passage.ordinal)
            around[one.ref] = list(map(PassageRef, range(first, one.ref + reach + 1)))
        found = self._passages(set(chain.from_iterable(around.values()))) if around else {}
        return tuple(
            Hit(
                item=self._items[item_row_of(one.ref)],
                passage=one.passage,
                score=one.similarity,
                rank_score=round(one.order, 4),
                strength="strong" if one.similarity >= STRONG else "weak",
                reasons={name: round(value, 4) for name, value in one.reasons.items() if value},
                around=tuple(found[ref] for ref in around.get(one.ref, ()) if ref in found),
            )
            for one in chosen
        )


def check(query: Query) -> Query:
    plain("query", query.text)
    faults = (
        (
            "mode",
            query.mode not in MODES,
            f"There is no mode {query.mode!r}; use one of {', '.join(MODES)}.",
        ),
        ("query", not query.text.strip(), "There is nothing to search for."),
        (
            "query",
            len(query.text) > MAX_QUERY_LENGTH,
            f"A query has at most {MAX_QUERY_LENGTH:,} characters.",
        ),
        (
            "as_of",
            query.as_of is not None and query.filter.where,
            "The past is not searched by metadata or links.",
        ),
        ("limit", not 1 <= query.limit <= SIDE, f"The limit must lie between 1 and {SIDE}."),
        ("offset", query.offset < 0, "The offset cannot be negative."),
        ("threshold", not 0 <= query.threshold <= 1, "The threshold must lie between 0 and 1."),
    )
    for name, wrong, message in faults:
        if wrong:
            raise InvalidInput(message, field=name)
    return replace(
        query,
        filter=checked(query.filter),
        as_of=None if query.as_of is None else when("as_of", query.as_of),
    )


def _sorted(ranked: Sequence[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda one: (-one.order, one.ref))
