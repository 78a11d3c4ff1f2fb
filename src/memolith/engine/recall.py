"""Recall: finding what was remembered, by words, by meaning, or both."""

import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, TypeVar

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.items import Item, Similar
from memolith.domain.queries import Filter, Found, Hit, Query
from memolith.engine.funnel import Funnel
from memolith.engine.matching import checked
from memolith.engine.search import QueryVector, Search, check_query
from memolith.engine.stale_reads import permitted_stale_reads
from memolith.engine.statements import contradicts, same
from memolith.engine.telemetry import step
from memolith.errors import DiskFull, EmbedderDown, InvalidInput, Unavailable
from memolith.ports.ranker import Judge, Lexicon, Ranker
from memolith.ports.store import Reader, Store
from memolith.ports.vectors import Meaning

MODEL_WAIT_S = 5.0
"""How long a search waits for the model to load."""
EMBED_BUDGET_S = 0.15
"""How long a search may make vectors of what was written, if much waits."""
MAX_SMALL_BACKLOG = 256
SMALL_BACKLOG_BUDGET_S = 1.0
"""How long a search may make vectors if no more waits than that: it is to find all of it."""
MAX_WAITING_COUNTED = 1000
MAX_COMPARED_CHARACTERS = 4000
"""How much of a text is compared with others by meaning."""
CANDIDATES_PER_SIMILAR_ITEM = 5
"""How many items are compared for each that is asked for, as some may contradict the text."""
Result = TypeVar("Result")


class Pair(NamedTuple):
    """Two items, and how similar they are."""

    first: Item
    second: Item
    similarity: float


class Alike(NamedTuple):
    """An item on the same matter as a text."""

    item: Item
    similarity: float
    exact: bool
    """Whether it says the same in the same words."""
    contradicts: bool


class Pairs(NamedTuple):
    """Pairs of similar items, and what the caller should know."""

    pairs: list[Pair]
    warnings: list[str]


class ModelState(NamedTuple):
    """Whether search by meaning works (healthy, loading, down or off), and the id of the model."""

    state: str
    model: str


class Explained(NamedTuple):
    """What a search found, and how it came to that."""

    found: Found
    funnel: Funnel
    below: tuple[Hit, ...]
    """The best of what was left out because its score is below the floor."""
    visible: int
    """How many items the caller sees."""
    fitting: int
    """How many of them the filter keeps."""
    floor: float


class _Answer(NamedTuple):
    """What a search found, and the best that it left out."""

    found: Found
    below: tuple[Hit, ...]
    floor: float


class Embedded(NamedTuple):
    """A text as a vector, and the model that made it."""

    model: str
    vector: tuple[float, ...]


class SearchSettings(NamedTuple):
    """What whoever runs the server has chosen."""

    floor: float | None = None
    """The score below which hits are left out; None for what the ranking has learned."""
    deep_families: frozenset[str] = frozenset()
    """The families whose searches are deep if the call does not say."""


class Recall:
    """Searches what a caller may see; without a model it searches by words and says so."""

    def __init__(
        self,
        store: Store,
        lexicon: Lexicon,
        ranker: Ranker,
        meaning: Callable[[], Meaning | None],
        embed_waiting: Callable[[str, float], object],
        judge: Callable[[], Judge | None] = lambda: None,
        chosen: SearchSettings = SearchSettings(),
    ) -> None:
        self.store = store
        self.lexicon = lexicon
        self.ranker = ranker
        self.meaning = meaning
        """The model that serves, with its vectors; None if search by meaning is off."""
        self.embed_waiting = embed_waiting
        """Makes vectors of what waits in a tenant, for at most so many seconds."""
        self.judge = judge
        """Who reads the best hits of a deep search; None where there is no model."""
        self.chosen = chosen

    @property
    def floor(self) -> float:
        """The score below which a hit is left out if the query does not say otherwise."""
        return self.ranker.floor if self.chosen.floor is None else self.chosen.floor

    def search(self, caller: Caller, query: Query) -> Found:
        """One page of the passages that the query finds."""
        return self._search(caller, query, Funnel()).found

    def explain(self, caller: Caller, query: Query, below: int) -> Explained:
        """The same page, with how the search came to it and the best that it left out."""
        funnel = Funnel()
        answer = self._search(caller, query, funnel, below)
        everything = Filter(forgotten=query.filter.forgotten)
        with self.store.reading(caller.tenant) as rows:
            visible = rows.list_items(caller, everything, limit=1).total
            fitting = visible
            if query.filter != everything:
                fitting = rows.list_items(caller, checked(query.filter), limit=1).total
        return Explained(answer.found, funnel, answer.below, visible, fitting, answer.floor)

    def _search(self, caller: Caller, query: Query, funnel: Funnel, below: int = 0) -> _Answer:
        with step("search", mode=query.mode) as span:
            answer = self._find(caller, query, funnel, below)
            span.note("scored", funnel.scored)
            span.note("hits", len(answer.found.hits))
        return answer

    def _find(self, caller: Caller, query: Query, funnel: Funnel, below: int) -> _Answer:
        query = self._completed(check_query(query))
        warnings: list[str] = []

        def run(rows: Reader, meaning: Meaning | None) -> _Answer:
            judge = self._judge(warnings) if query.deep else None
            search = Search(rows, caller, query, self.lexicon, self.ranker, judge, funnel)
            query_vector = None
            if meaning:
                text = query.meant or search.text_for_model
                query_vector = _embed(meaning, text, query.mode, warnings)
            results = search.run(query_vector)
            if results.is_cut:
                warnings.append(
                    "More passages fit than were compared; the total counts the best of them."
                )
            page = results.ranked[query.offset : query.offset + query.limit]
            found = Found(search.hits(page), len(results.ranked), tuple(warnings))
            return _Answer(found, search.hits(funnel.below[:below]), query.threshold or 0.0)

        if query.mode == "text":
            with self.store.reading(caller.tenant) as rows:
                return run(rows, None)
        return self._with_model(caller, query.mode, warnings, run)

    def _completed(self, query: Query) -> Query:
        """The query with what it leaves to the settings."""
        threshold = self.floor if query.threshold is None else query.threshold
        deep = query.deep
        if deep is None:
            deep = query.family in self.chosen.deep_families
        return replace(query, threshold=threshold, deep=deep)

    def similar(
        self,
        caller: Caller,
        text: str,
        threshold: float = 0.9,
        chosen: Filter = Filter(),
        limit: int = 10,
    ) -> list[Similar]:
        """Items that say nearly the same as the text, without those that contradict it."""
        candidates = CANDIDATES_PER_SIMILAR_ITEM * limit
        found = [
            Similar(other.item.id, other.item.title, other.similarity, other.exact)
            for other in self.alike(caller, text, threshold, chosen, candidates)
            if not other.contradicts
        ]
        return found[:limit]

    def alike(
        self, caller: Caller, text: str, threshold: float, chosen: Filter, limit: int
    ) -> list[Alike]:
        """Items on the same matter as the text, also those that contradict it."""
        query = Query(
            text[:MAX_COMPARED_CHARACTERS],
            chosen,
            mode="vector",
            limit=limit,
            threshold=threshold,
            alike=True,
            per_item=True,
        )
        hits = self.search(caller, query).hits
        with self.store.reading(caller.tenant) as rows:
            passages = rows.passages_of(caller.tenant, [hit.item.id for hit in hits])
        found = []
        for hit in hits:
            other = text_of(passages[hit.item.id])
            found.append(Alike(hit.item, hit.score, same(text, other), contradicts(text, other)))
        return found

    def pairs(
        self,
        caller: Caller,
        chosen: Filter,
        threshold: float,
        limit: int,
        tell: Callable[[int, int], None],
    ) -> Pairs:
        """The most similar pairs of items, by the meaning of how they begin."""
        chosen = checked(chosen)
        warnings: list[str] = []

        def run(rows: Reader, meaning: Meaning | None) -> Pairs:
            if meaning is None:
                return Pairs([], warnings)
            vectors = meaning.vectors.beginnings(rows, caller, chosen)
            nearest = self.ranker.pairs(vectors, threshold, limit, tell)
            refs = {ref for first, second, _ in nearest for ref in (first, second)}
            found = rows.passages_at(refs)
            pairs = []
            for first, second, similarity in nearest:
                pairs.append(Pair(found[first][0], found[second][0], similarity))
            return Pairs(pairs, warnings)

        return self._with_model(caller, "hybrid", warnings, run)

    def _with_model(
        self,
        caller: Caller,
        mode: str,
        warnings: list[str],
        run: Callable[[Reader, Meaning | None], Result],
    ) -> Result:
        """Run a search with the model; what has no vector yet gets one first, if time allows."""
        meaning = self._model(mode, warnings)
        with self.store.reading(caller.tenant) as rows:
            waiting = rows.count_waiting(caller.tenant, "embed", MAX_SMALL_BACKLOG + 1)
            if meaning is None or not waiting:
                return run(rows, meaning)
        budget_s = EMBED_BUDGET_S if waiting > MAX_SMALL_BACKLOG else SMALL_BACKLOG_BUDGET_S
        # Who takes what is a little old need not wait for what is new.
        if permitted_stale_reads() is None:
            # A process that cannot write can still search.
            with suppress(DiskFull, Unavailable):
                self.embed_waiting(caller.tenant, budget_s)
        meaning = self._model(mode, warnings)
        with self.store.reading(caller.tenant) as rows:
            if meaning:
                waiting = rows.count_waiting(caller.tenant, "embed", MAX_WAITING_COUNTED)
                if waiting:
                    warnings.append(_warning_of_waiting(waiting))
            return run(rows, meaning)

    def _judge(self, warnings: list[str]) -> Judge | None:
        judge = self.judge()
        if judge is None:
            warnings.append("Deep search needs the model of the package; this search was not deep.")
        return judge

    def _model(self, mode: str, warnings: list[str]) -> Meaning | None:
        """The model once it is loaded.

        Without it there is a warning, or an error where a search by meaning alone was asked for.
        """
        try:
            meaning = self.meaning()
            if meaning and meaning.embedder.wait(MODEL_WAIT_S):
                return meaning
            reason = "The embedding model is not ready"
            if meaning is None:
                reason = "Search by meaning is switched off"
                if mode == "vector":
                    raise InvalidInput(f"{reason} here; use the mode text.", field="mode")
        except EmbedderDown as error:
            reason = error.message.rstrip(".")
        if mode == "vector":
            raise EmbedderDown(f"{reason}, so nothing can be found by meaning alone.")
        warnings.append(f"{reason}; found by words only.")
        return None

    def embed(self, text: str) -> Embedded:
        """A text as the vector that searches by meaning compare."""
        meaning = self.meaning()
        if meaning is None or not meaning.embedder.wait(MODEL_WAIT_S):
            raise EmbedderDown("The embedding model is switched off here or not ready yet.")
        vector = meaning.embedder.embed([text])[0]
        if vector is None:
            raise InvalidInput("The model understands too little of this text.", field="text")
        numbers = struct.unpack(f"<{meaning.embedder.dimension}f", vector)
        return Embedded(meaning.embedder.id, numbers)

    def state(self) -> ModelState:
        """How the search by meaning is; asking starts to load the model."""
        try:
            meaning = self.meaning()
            if meaning is None:
                return ModelState("off", "none")
            loaded = meaning.embedder.wait(0.0)
            return ModelState("healthy" if loaded else "loading", meaning.embedder.id)
        except EmbedderDown:
            return ModelState("down", "down")


def _embed(meaning: Meaning, text: str, mode: str, warnings: list[str]) -> QueryVector | None:
    """The query as a vector; None if the model cannot make one."""
    try:
        with step("embed", texts=1, model=meaning.embedder.id):
            vector = meaning.embedder.embed([text])[0]
    except EmbedderDown as error:
        if mode == "vector":
            raise
        warnings.append(f"{error.message} Found by words only.")
        return None
    if vector is None:
        if mode == "vector":
            warnings.append("The model understands too little of this query; found by words.")
        return None
    return QueryVector(meaning, vector)


def _warning_of_waiting(waiting: int) -> str:
    count = f"{waiting:,} items"
    if waiting >= MAX_WAITING_COUNTED:
        count += " or more"
    return f"{count} have no vector yet; they are found by words only."
