"""Finding what was remembered: by words, by meaning, or both, always within the caller's scope and filter."""

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from memolith.engine.events import Replay, embedded
from memolith.engine.intake import plain, when
from memolith.engine.matching import checked, item_matches, passage_matches
from memolith.engine.model import Caller, Filter, Found, Hit, Item, Passage, Query
from memolith.engine.ports import Asked, Candidate, Evidence, Lexicon, Meaning, Place, Ranked, Ranker, Reader, Store
from memolith.errors import DiskFull, EmbedderDown, InvalidInput, Unavailable

MODES = ("hybrid", "vector", "text")
SIDE, NEAR = 1000, 100
POOL, BESIDE = 40, 20
STRONG = 0.79
COMMON_SHARE, COMMON_LEAST = 0.02, 2000
MODEL_WAIT_S, DRAIN_S = 5.0, 0.15
MAX_QUERY, MOST_BYGONE = 10_000, 200
OFF = "Search by meaning is switched off"
ROLES = frozenset(("user", "assistant", "system", "tool", "human", "ai", "developer"))


class Dense(NamedTuple):
    """The query as a vector, and where to look for others."""

    vector: bytes
    meaning: Meaning


@dataclass(frozen=True, slots=True)
class Recall:
    """Searches the store; without a model it searches by words and says so."""

    store: Store
    lexicon: Lexicon
    ranker: Ranker
    meaning: Callable[[], Meaning | None]
    drain: Callable[[str, float], object]

    def recall(self, caller: Caller, query: Query) -> Found:
        query = replace(check(query), filter=checked(query.filter))
        warnings: list[str] = []
        meaning = None if query.mode == "text" else self._ready(query, warnings)
        with self.store.reading(caller.tenant) as rows:
            if not meaning or not rows.waiting(caller.tenant, "embed"):
                return self._answer(rows, caller, query, meaning, warnings)
        # Whoever cannot write can still search.
        with suppress(DiskFull, Unavailable):
            self.drain(caller.tenant, DRAIN_S)
        if not meaning.embedder.ready:
            meaning = self._ready(query, warnings)
        with self.store.reading(caller.tenant) as rows:
            warnings += _lacking(rows.waiting(caller.tenant, "embed") if meaning else 0)
            return self._answer(rows, caller, query, meaning, warnings)

    def _answer(self, rows: Reader, caller: Caller, query: Query, meaning: Meaning | None,
                warnings: list[str]) -> Found:
        search = Search(rows, caller, query, self.lexicon, self.ranker)
        dense = self._dense(meaning, query.meant or search.stripped, query, warnings) if meaning else None
        ranked, full = search.run(dense)
        if full:
            warnings.append(f"More than {SIDE} passages fit; the total counts the best of them.")
        hits = search.hits(ranked[query.offset:query.offset + query.limit])
        return Found(hits, len(ranked) + search.unread, tuple(warnings))

    def pairs(self, caller: Caller, chosen: Filter, threshold: float, most: int,
              tell: Callable[[int, int], None]) -> tuple[list[tuple[Item, Item, float]], list[str]]:
        """The most similar pairs of items by the meaning of how they begin, and what the caller should know."""
        warnings: list[str] = []
        if (meaning := self._ready(Query(""), warnings)) is None:
            return [], warnings
        with suppress(DiskFull, Unavailable):
            self.drain(caller.tenant, DRAIN_S)
        with self.store.reading(caller.tenant) as rows:
            warnings += _lacking(rows.waiting(caller.tenant, "embed"))
            near = self.ranker.pairs(meaning.vectors.beginnings(rows, caller, checked(chosen)), threshold, most, tell)
            found = rows.places({place for pair in near for place in pair[:2]})
        return [(found[one][0], found[two][0], score) for one, two, score in near], warnings

    def state(self) -> tuple[str, str]:
        """Whether search by meaning works (healthy, loading, down or off), and the model; asking starts to load it."""
        try:
            if (meaning := self.meaning()) is None:
                return "off", "none"
            return "healthy" if meaning.embedder.wait(0.0) else "loading", meaning.embedder.id
        except EmbedderDown:
            return "down", "down"

    def _ready(self, query: Query, warnings: list[str]) -> Meaning | None:
        """The model once it is loaded; without it a warning, or an error where only meaning was asked for."""
        try:
            meaning = self.meaning()
            if meaning and meaning.embedder.wait(MODEL_WAIT_S):
                return meaning
            why = "The embedding model is not ready" if meaning else OFF
        except EmbedderDown as error:
            why = error.message.rstrip(".")
        if query.mode == "vector" and why == OFF:
            raise InvalidInput(f"{OFF} here; use the mode text.", field="mode")
        if query.mode == "vector":
            raise EmbedderDown(f"{why}, so nothing can be found by meaning alone.")
        warnings.append(f"{why}; found by words only.")
        return None

    def _dense(self, meaning: Meaning, text: str, query: Query, warnings: list[str]) -> Dense | None:
        try:
            vector = meaning.embedder.embed([text])[0]
        except EmbedderDown as error:
            if query.mode == "vector":
                raise
            warnings.append(f"{error.message} Found by words only.")
            return None
        if vector is None and query.mode == "vector":
            warnings.append("The model understands too little of this query; found by words.")
        return None if vector is None else Dense(vector, meaning)


class Search:
    """One search inside one read transaction."""

    def __init__(self, rows: Reader, caller: Caller, query: Query, lexicon: Lexicon, ranker: Ranker) -> None:
        self._rows, self._caller, self._query = rows, caller, query
        self._lexicon, self._ranker = lexicon, ranker
        self._phrases = [phrase for text in re.findall(r'"([^"]+)"', query.text) if (phrase := lexicon.terms(text))]
        self._terms = lexicon.query_terms(query.text)
        words = set(re.findall(r"\w+", query.text.lower()))
        self._named = tuple(name for name in rows.speakers(caller.tenant)
                            if name.lower() not in ROLES and words & set(re.findall(r"\w+", name.lower())))
        self._items: dict[int, Item] = {}
        self._read: dict[Place, Passage] = {}
        self._near: dict[int, float] = {}
        """The cosines that the search by meaning found already."""
        self.unread = 0
        """How many were found beyond those that had to be weighed for this page."""

    @property
    def stripped(self) -> str:
        """The query without the names of those who speak: they are in every one of their messages."""
        text = self._query.text
        if self._query.verbatim:
            return text
        for word in {word for name in self._named for word in name.split()}:
            text = re.sub(rf"\b{re.escape(word)}('s)?\b", " ", text, flags=re.I)
        return " ".join(text.split()) or self._query.text

    def run(self, dense: Dense | None) -> tuple[list[Ranked], bool]:
        """Everything that was found in order, and whether a side was full."""
        query = self._query
        statistics = self._rows.statistics(self._caller.tenant, self._terms)
        asked = Asked(query.text, tuple(self._terms), statistics, self._named,
                      frozenset(self._lexicon.terms(" ".join(query.boosted))),
                      tuple(frozenset(self._lexicon.terms(name)) for name in query.entities))
        words = [] if query.mode == "vector" and dense else self._by_words(asked)
        # What has none of the telling words is as similar as its vector says; what it said once may be another matter.
        least = self._ranker.cosine(query.threshold) if query.threshold and query.as_of is None else -1.0
        # Without a bound on what counts as near, everything is; so many are as far as anyone would turn pages.
        bounded = query.mode == "hybrid" and not (query.threshold or query.by_similarity or query.per_item)
        near = dense.meaning.vectors.nearest(self._rows, self._caller, query.filter, dense.vector,
                                             NEAR if bounded else SIDE, least) if dense else []
        self._near = dict(near)
        if self._phrases:
            kept = dict(words)
            near = [candidate for candidate in near if candidate[0] in kept]
        ranked = self._order(asked, words, near, dense)
        if query.as_of is not None:
            ranked = self._as_of(asked, ranked, query.as_of, dense)
        full = len(words) >= SIDE or (len(near) >= SIDE and query.threshold > 0 and
                                      self._ranker.similarity(near[-1][1]) >= query.threshold)
        return self._cut(ranked), full

    def _by_words(self, asked: Asked) -> list[Candidate]:
        """Candidates that hold the telling words; very common ones do not choose, but still count for the order."""
        frequencies = asked.statistics.frequencies
        known = [term for term in asked.terms if frequencies.get(term)]
        bound = max(COMMON_LEAST, COMMON_SHARE * asked.statistics.passages)
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

    def _order(self, asked: Asked, words: list[Candidate], near: list[Candidate],
               dense: Dense | None) -> list[Ranked]:
        """The best of both sides with their neighbours, weighed exactly; then the rest, each by itself."""
        query = self._query
        most = POOL if query.mode == "hybrid" else SIDE
        best = {Place.of(ref) for ref, _ in (*words[:most], *near[:most])}
        first = {Place.of(ref) for ref, _ in (*words[:BESIDE], *near[:BESIDE])} if not self._phrases else set()
        passages = self._passages(best) if query.mode != "hybrid" else self._with_neighbours(best, first)
        pool = self._weigh(passages, dense)
        ranked = self._ranker.rank(asked, pool) if query.mode == "hybrid" else self._alone(asked, pool)
        rest = {ref for ref, _ in (*words, *near)} - {place.ref for place in passages}
        blocks = {(one.place.item, one.passage.block) for one in ranked} if query.per_block else set()
        beyond = query.offset + query.limit > (len(blocks) or len(ranked))
        if not (beyond or query.threshold or query.by_similarity or query.per_item or query.as_of):
            self.unread = self._rows.blocks_at(rest, blocks) if query.per_block else len(rest)
            return ranked
        return ranked + self._alone(asked, self._weigh(self._passages(set(map(Place.of, rest))), dense))

    def _with_neighbours(self, best: set[Place], first: set[Place]) -> dict[Place, Passage]:
        """The passages at these places, and those before and after the first of them that pass the filter."""
        found = self._passages(best | {Place(item, ordinal + step) for item, ordinal in first for step in (-1, 1)
                                       if ordinal + step >= 0})
        return {place: passage for place, passage in found.items()
                if place in best or passage_matches(passage, self._query.filter)}

    def _alone(self, asked: Asked, pool: list[Evidence]) -> list[Ranked]:
        """Each by itself, in the order of the mode."""
        judged = self._ranker.judge(asked, pool)
        if self._query.mode == "vector":
            judged = [one if (cosine := one.reasons.get("cosine")) is None else
                      one._replace(order=cosine, similarity=self._ranker.similarity(cosine)) for one in judged]
        elif self._query.mode == "text":
            judged = [one._replace(order=one.reasons["text"]) for one in judged]
        return _sorted(judged)

    def _passages(self, places: set[Place]) -> dict[Place, Passage]:
        found = self._rows.places(places - self._read.keys())
        self._items |= {place.item: item for place, (item, _) in found.items()}
        self._read |= {place: passage for place, (_, passage) in found.items()}
        return {place: self._read[place] for place in sorted(places & self._read.keys())}

    def _weigh(self, passages: dict[Place, Passage], dense: Dense | None) -> list[Evidence]:
        cosines = {place: self._near[place.ref] for place in passages if place.ref in self._near}
        if dense and (others := passages.keys() - cosines.keys()):
            cosines |= dense.meaning.vectors.cosines(self._rows, dense.vector, others)
        return [Evidence(place, passage, self._words(self._items[place.item], passage), cosines.get(place))
                for place, passage in passages.items()]

    def _words(self, item: Item, passage: Passage) -> tuple[str, ...]:
        return tuple(self._lexicon.terms(f"{passage.text}\n{self._lexicon.extra(item, passage)}"))

    def _cut(self, ranked: list[Ranked]) -> list[Ranked]:
        """Without what is below the threshold, and one hit per item or per block where asked."""
        query = self._query
        kept = [one for one in ranked if one.similarity >= query.threshold]
        if query.by_similarity:
            kept.sort(key=lambda one: (-one.similarity, one.place))
        if query.per_item or query.per_block:
            first: dict[tuple[int, int], Ranked] = {}
            for one in kept:
                first.setdefault((one.place.item, one.passage.block * query.per_block), one)
            kept = list(first.values())
        return kept

    def _as_of(self, asked: Asked, ranked: list[Ranked], at: str, dense: Dense | None) -> list[Ranked]:
        """What was unchanged since comes from the index; what was not, from a replay of its log."""
        changed = set(self._rows.streams(self._caller.tenant, at))
        stay = [one for one in ranked if one.passage.item not in changed]
        past = _bygone(self._rows, self._caller, self._query.filter, changed, at)
        # In no index: their vectors are made on the spot, for the first so many.
        texts = [embedded(item.title, passage.speaker, passage.text) for item, passage in past[:MOST_BYGONE]]
        vectors = dense.meaning.embedder.embed(texts) if dense else []
        cosines = {n: dense.meaning.vectors.cosine(dense.vector, vector)
                   for n, vector in enumerate(vectors) if dense and vector is not None}
        pool: list[Evidence] = []
        for n, (item, passage) in enumerate(past):
            place = Place(-1 - n, passage.ordinal)
            self._items[place.item] = item
            pool.append(Evidence(place, passage, self._words(item, passage), cosines.get(n)))
        made = self._alone(asked, pool)
        return _sorted(stay + [one for one in made if one.reasons["text"] or one.reasons.get("cosine", 0.0) > 0])

    def hits(self, chosen: Sequence[Ranked]) -> tuple[Hit, ...]:
        """Ranked passages as the caller gets to see them, each with those within the reach, itself included."""
        around: dict[Place, list[Place]] = {}
        for one in chosen if self._query.reach else ():
            item, ordinal = one.place
            # Where no message was split, the next passage is the next message.
            reach = min(self._query.reach, 1 + self._items[item].passages - self._items[item].blocks)
            around[one.place] = [Place(item, n) for n in range(max(0, ordinal - reach), ordinal + reach + 1)]
        found = self._passages(set(chain.from_iterable(around.values()))) if around else {}
        return tuple(Hit(
            item=self._items[one.place.item], passage=one.passage, score=one.similarity,
            rank_score=round(one.order, 4), strength="strong" if one.similarity >= STRONG else "weak",
            reasons={name: round(value, 4) for name, value in one.reasons.items() if value},
            around=tuple(found[place] for place in around.get(one.place, ()) if place in found)) for one in chosen)


def _bygone(rows: Reader, caller: Caller, chosen: Filter, streams: Collection[str],
            at: str) -> list[tuple[Item, Passage]]:
    """The passages that the caller would have seen then, of items that have changed since."""
    found: list[tuple[Item, Passage]] = []
    for id, current in sorted(rows.items(caller.tenant, streams).items()):
        if current.scope.admits(caller):
            state = Replay.of(rows.events(caller.tenant, id), until=at)
            if isinstance(item := state.row, Item) and item.scope.admits(caller) and item_matches(item, chosen):
                found += [(item, passage) for passage in state.passages if passage_matches(passage, chosen)]
    return found


def check(query: Query) -> Query:
    plain("query", query.text)
    faults = (
        ("mode", query.mode not in MODES, f"There is no mode {query.mode!r}; use one of {', '.join(MODES)}."),
        ("query", not query.text.strip(), "There is nothing to search for."),
        ("query", len(query.text) > MAX_QUERY, f"A query has at most {MAX_QUERY:,} characters."),
        ("as_of", query.as_of is not None and any(test.op == "linked" for test in query.filter.where),
         "What was linked in the past cannot be searched for."),
        ("limit", not 1 <= query.limit <= SIDE, f"The limit must lie between 1 and {SIDE}."),
        ("offset", query.offset < 0, "The offset cannot be negative."),
        ("threshold", not 0 <= query.threshold <= 1, "The threshold must lie between 0 and 1."))
    for name, wrong, message in faults:
        if wrong:
            raise InvalidInput(message, field=name)
    return query if query.as_of is None else replace(query, as_of=when("as_of", query.as_of))


def _lacking(waiting: int) -> list[str]:
    several = f"{waiting:,} items" if waiting < 1000 else "1,000 items or more"
    return [f"{several} have no vector yet; they are found by words only."] if waiting else []


def _sorted(ranked: Sequence[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda one: (-one.order, one.place))

