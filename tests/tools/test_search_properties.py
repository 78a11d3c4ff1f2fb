"""What holds for every tool that searches, in stores of one note and of thousands."""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from memolith.bootstrap import App, families
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Found, Query
from memolith.engine.recall import Recall
from memolith.tools.call import Call
from memolith.tools.family import Tool
from memolith.tools.registry import Registry
from tests.checked import body_of
from tests.conftest import ME, At

TOOLS = [tool for family in families() for tool in family.tools]
MAX_LIMIT = 100
Arguments = Mapping[str, Any]
NOTHING: Arguments = MappingProxyType({})
Row = dict[str, Any]
Vector = np.ndarray[Any, np.dtype[np.float64]]


class SearchTool(NamedTuple):
    """A tool that answers a question with a list, and where in its answer things stand."""

    name: str
    """Its family and its name."""
    kind: str | None
    """The kind of the items that it finds; None for those that come with the server."""
    rows: str
    """Where the list is."""
    key: tuple[str, ...]
    """The fields that tell a row from the others, the id of its item first."""
    score: str = "score"
    total: str = "total"
    """Where the score of a row and the total of all stand; empty if they are not told."""
    max_limit: int | None = MAX_LIMIT
    """The longest list that it gives; None if its length cannot be chosen."""
    has_offset: bool = False
    narrowing: Arguments = NOTHING
    """The arguments that keep every second item."""
    fixed: Arguments = NOTHING
    threshold: str = ""
    """The parameter that sets the lowest score; empty if there is none."""

    def arguments(self, query: str) -> Arguments:
        """The call for a question."""
        if self.name == "memorylake.search_memory":
            parsed = {
                "bm25_cleaned_query": query,
                "named_entities": [],
                "bm25_keywords": [],
                "bm25_boost_keywords": [],
                "rewritten_query_for_dense_model": query,
            }
            return {"parsed_query": parsed}
        return {"query": query, **self.fixed}

    def id_of(self, row: Row) -> tuple[Any, ...]:
        """What tells a row from the others."""
        return tuple(row[field] for field in self.key)


SEARCH_TOOLS = (
    SearchTool(
        "core.recall",
        kind="memory",
        rows="hits",
        key=("id", "text"),
        has_offset=True,
        narrowing={"tags": ["even"]},
        threshold="min_score",
    ),
    SearchTool(
        "core.context",
        kind="memory",
        rows="citations",
        key=("id", "cite"),
        total="",
        max_limit=None,
        narrowing={"project": "even"},
        fixed={"budget_tokens": 200_000},
    ),
    SearchTool(
        "lanonasis.search_memories",
        kind="memory",
        rows="results",
        key=("id",),
        score="similarity_score",
        total="total_results",
        narrowing={"tags": ["even"]},
        threshold="threshold",
    ),
    SearchTool(
        "lanonasis.search_lanonasis_docs",
        kind=None,
        rows="results",
        key=("path", "excerpt"),
        max_limit=50,
        narrowing={"section": "guides"},
    ),
    SearchTool(
        "sekha.memory_search",
        kind="conversation",
        rows="results",
        key=("conversation_id", "message_id"),
        total="total_results",
        has_offset=True,
        narrowing={"filters": {"folder": "/even"}},
    ),
    SearchTool(
        "memorylake.search_memory",
        kind="document",
        rows="results",
        key=("id",),
        total="",
        max_limit=None,
    ),
    SearchTool(
        "knowledge.search_concepts_semantic",
        kind="concept",
        rows="results",
        key=("concept_id",),
        score="similarity",
        max_limit=50,
        narrowing={"area": "even"},
    ),
    SearchTool(
        "subcog.subcog_recall",
        kind="memory",
        rows="results",
        key=("id",),
        max_limit=1000,
        has_offset=True,
        narrowing={"filter": "tag:even"},
    ),
    SearchTool(
        "chatgpt.search",
        kind="memory",
        rows="results",
        key=("id",),
        score="",
        total="",
        max_limit=None,
    ),
)
NO_LISTS = {
    "lanonasis.intelligence_extract_insights": "it tells what the memories on a topic say",
    "manage.explain_search": "it tells how `core.recall` came to its hits",
    "manage.list_prompts": "it looks for names and words of prompts, without scores",
    "basic_memory.search_notes": "it gives its list as a text; see test_basic_memory",
    "manage.show_graph": "it looks for names of nodes, without scores",
    "openmemory.search_memory": "it gives its list as a text; see test_openmemory",
    "official.search_nodes": "it gives entities with their relations; see test_official",
    "subcog.subcog_consolidate": "it sums up the memories on a question",
    "subcog.subcog_templates": "it fills a template with the memories on a question",
}
"""Other tools that search, and what they answer instead of a list of hits."""


ENVELOPES = {"sekha": "data", "memorylake": "result"}
"""The families that wrap their answers, and in what."""


# The stores

KINDS = ("memory", "conversation", "concept", "document")
NAMES = ("Maren", "Tobias", "Ines", "Yusuf", "Clara", "Pavel", "Noor", "Silas")
THINGS = ("violin", "ferry ticket", "tax folder", "climbing rope", "garden shed", "router", "stove")
PLACES = ("Bergen", "the harbour", "the cellar", "Lisbon", "the attic", "the office", "Graz")
SENTENCES = (
    "{name} keeps the {thing} in {place}.",
    "The {thing} of {name} costs {number} euros.",
    "{name} wants to sell the {thing} before {month}.",
    "In {place} {name} repaired the {thing} for {number} hours, and it works again.",
    "We decided with {name} that the {thing} stays in {place}.",
)
MONTHS = ("January", "March", "June", "September", "December")
QUESTIONS = (
    "Where does Maren keep the violin?",
    "What does the climbing rope cost?",
    "the router in the office",
    "What did Yusuf repair in December?",
    "Which is the latest price of the stove?",
)
ANSWER = "Maren keeps the violin in"
"""How every note begins that answers the first question."""
UNKNOWN_WORDS = "zorplim vaktquor"
SMALL_SIZES = (1, 5, 50)
LARGEST = 5000
SIZES = (*SMALL_SIZES, 500, LARGEST)
"""How many notes of its kind a tool searches; the small stores with the model of the package, and
the others in the full run alone.
"""
MANUAL_SEARCHED_AT = 50


def sentence(chance: random.Random, number: int) -> str:
    """A note; the first one answers the first question."""
    if number == 0:
        return f"{ANSWER} the green cupboard behind the stairs."
    return chance.choice(SENTENCES).format(
        name=chance.choice(NAMES),
        thing=chance.choice(THINGS),
        place=chance.choice(PLACES),
        number=chance.randrange(2, 900),
        month=chance.choice(MONTHS),
    )


def drafts(kind: str, size: int) -> Iterator[Draft]:
    """Notes of a kind, every second of which can be told from the others."""
    chance = random.Random(size)
    for number in range(size):
        is_even = number % 2 == 0
        messages = 3 if kind == "conversation" else 1
        # The years differ, because a month in a question is that of every year.
        at = f"{2020 + number % 5}-{1 + number % 12:02}-{1 + number % 28:02}T12:00:00.000000Z"
        yield Draft(
            kind,
            f"{kind} {number}",
            tuple(
                Block(sentence(chance, number), at=at, speaker=chance.choice((None, *NAMES)))
                for _ in range(messages)
            ),
            id=f"{kind}-{number}",
            tags=("even",) if is_even else (),
            project="even" if is_even else None,
            namespace="files" if kind == "document" else "decisions",
            attributes={
                "folder": "/even" if is_even else "/odd",
                "area": "even" if is_even else "odd",
            },
        )


class HashedWords:
    """Stands in for a model where there are thousands of notes: texts with the same words have
    near vectors.
    """

    id = "hashed words"
    dimension = 384

    def wait(self, timeout_s: float) -> bool:
        """It needs no loading."""
        return True

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """The normed sums of the vectors of the words."""
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> bytes:
        words = re.findall(r"\w+", text.lower()) or [""]
        total = np.sum([_word_vector(word) for word in words], axis=0)
        vector: bytes = (total / np.linalg.norm(total)).astype("<f4").tobytes()
        return vector


@cache
def _word_vector(word: str) -> Vector:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(HashedWords.dimension)


class Notes(NamedTuple):
    """A store with so many notes of each kind, each kind in a tenant of its own."""

    app: App
    size: int

    def run(self, tool: SearchTool, query: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers."""
        family, name = tool.name.split(".")
        caller = Caller(f"{tool.kind}-{self.size}", ME.user)
        found = {one.name: one for one in TOOLS if one.family == family}
        registry = Registry(families(), found.values())
        call = Call(caller, self.app.engine)
        outcome = registry.run(name, {**tool.arguments(query), **arguments}, call)
        assert outcome.ok, outcome.body
        body = body_of(outcome)
        envelope = ENVELOPES.get(family)
        return body[envelope] if envelope else body

    def rows(self, tool: SearchTool, query: str, **arguments: Any) -> list[Row]:
        """The list that a tool gives, as long as it can be."""
        if tool.max_limit is not None:
            arguments = {"limit": tool.max_limit} | arguments
        rows: list[Row] = self.run(tool, query, **arguments)[tool.rows]
        return rows


@pytest.fixture(scope="module")
def make_notes(
    at: At, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], Notes]]:
    """Makes a store of a size, once."""
    made: list[App] = []

    @cache
    def open_for(is_small: bool) -> App:
        app = App(at(tmp_path_factory.mktemp("notes"), "minilm"))
        made.append(app)
        if not is_small:
            app.embedder = HashedWords()
        return app

    @cache
    def make(size: int) -> Notes:
        app = open_for(size in SMALL_SIZES)
        for kind in KINDS:
            tenant = f"{kind}-{size}"
            app.engine.writing.learn(Caller(tenant, ME.user), drafts(kind, size))
            app.engine.recall.embed_waiting(tenant, 300.0)
        return Notes(app, size)

    yield make
    for app in made:
        app.close()


@pytest.fixture
def notes(request: pytest.FixtureRequest, make_notes: Callable[[int], Notes]) -> Notes:
    """A store of each size."""
    return make_notes(request.param)


def cases(tools: Sequence[SearchTool]) -> pytest.MarkDecorator:
    """Run a test for each tool in a store of each size."""
    params = []
    for tool in tools:
        # What comes with the server is the same in every store.
        sizes = SIZES if tool.kind is not None else (MANUAL_SEARCHED_AT,)
        for size in sizes:
            marks = [] if size in SMALL_SIZES else [pytest.mark.full]
            params.append(pytest.param(size, tool, marks=marks, id=f"{tool.name}-{size}"))
    return pytest.mark.parametrize(("notes", "tool"), params, indirect=["notes"])


each_tool = cases(SEARCH_TOOLS)
each_scored_tool = cases([tool for tool in SEARCH_TOOLS if tool.score])
each_filtering_tool = cases([tool for tool in SEARCH_TOOLS if tool.narrowing])
each_tool_with_limit = cases([tool for tool in SEARCH_TOOLS if tool.max_limit is not None])
each_tool_with_threshold = cases([tool for tool in SEARCH_TOOLS if tool.threshold])
each_size = pytest.mark.parametrize(
    "notes",
    [pytest.param(size, marks=[] if size in SMALL_SIZES else [pytest.mark.full]) for size in SIZES],
    indirect=True,
)


# The properties


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: f"{tool.family}.{tool.name}")
def test_every_tool_that_searches_is_tested_here(
    stocked: App, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Query] = []
    search = Recall.search

    def listen(recall: Recall, caller: Caller, query: Query) -> Found:
        asked.append(query)
        return search(recall, caller, query)

    monkeypatch.setattr(Recall, "search", listen)
    registry = Registry(families(), [one for one in TOOLS if one.family == tool.family])
    if tool.effect != "runs":
        registry.run(tool.name, tool.example, Call(ME, stocked.engine))
    searches = any(not query.alike for query in asked)
    takes_a_query = any("query" in parameter for parameter in tool.input_schema["properties"])
    if searches or takes_a_query:
        tested = {one.name for one in SEARCH_TOOLS}
        assert f"{tool.family}.{tool.name}" in tested | NO_LISTS.keys()


@each_tool
def test_a_note_that_answers_is_found(notes: Notes, tool: SearchTool) -> None:
    if tool.kind is None:
        assert notes.rows(tool, "How do I make a backup?")
        return
    answering = {
        draft.id
        for draft in drafts(tool.kind, notes.size)
        if any(block.text.startswith(ANSWER) for block in draft.blocks)
    }
    found = {row[tool.key[0]] for row in notes.rows(tool, QUESTIONS[0])}
    assert found & answering


@each_scored_tool
def test_the_order_is_that_of_the_scores(notes: Notes, tool: SearchTool) -> None:
    for question in QUESTIONS:
        scores = [row[tool.score] for row in notes.rows(tool, question)]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 < score <= 1.0 for score in scores)


@each_tool
def test_no_row_comes_twice(notes: Notes, tool: SearchTool) -> None:
    for question in QUESTIONS:
        ids = [tool.id_of(row) for row in notes.rows(tool, question)]
        assert len(ids) == len(set(ids))


@each_tool_with_limit
def test_a_shorter_list_is_the_beginning_of_a_longer_one(notes: Notes, tool: SearchTool) -> None:
    for question in QUESTIONS:
        whole = notes.run(tool, question, limit=tool.max_limit)
        for limit in (1, 3, 10):
            shorter = notes.run(tool, question, limit=limit)
            assert _compared(tool, shorter[tool.rows]) == _compared(tool, whole[tool.rows])[:limit]
            assert shorter[tool.total] == whole[tool.total]


@each_tool_with_limit
def test_pages_join_and_the_total_is_all_of_them(notes: Notes, tool: SearchTool) -> None:
    for question in QUESTIONS:
        if not tool.has_offset:
            answer = notes.run(tool, question, limit=tool.max_limit)
            assert len(answer[tool.rows]) == min(answer[tool.total], tool.max_limit or 0)
            continue
        long_pages = _all_pages(notes, tool, question, MAX_LIMIT)
        # About three pages, of a length that the list is hardly a multiple of.
        assert _all_pages(notes, tool, question, min(MAX_LIMIT, 7 + notes.size // 3)) == long_pages


def _all_pages(notes: Notes, tool: SearchTool, question: str, size: int) -> list[Any]:
    """All rows, page by page; every page tells the same total, which is how many there are."""
    rows: list[Row] = []
    totals = set()
    while True:
        page = notes.run(tool, question, limit=size, offset=len(rows))
        totals.add(page[tool.total])
        if not page[tool.rows]:
            break
        rows += page[tool.rows]
    assert totals == {len(rows)}
    return _compared(tool, rows)


def _compared(tool: SearchTool, rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """What is to be equal of two lists."""
    return [(*tool.id_of(row), row[tool.score] if tool.score else None) for row in rows]


@each_filtering_tool
def test_a_filter_leaves_the_scores_of_what_stays(notes: Notes, tool: SearchTool) -> None:
    for question in QUESTIONS:
        everything = _by_id(tool, notes.rows(tool, question))
        narrowed = _by_id(tool, notes.rows(tool, question, **tool.narrowing))
        for id, row in everything.items():
            if id in narrowed and tool.score:
                assert narrowed[id][tool.score] == row[tool.score]
        if tool.kind is not None:
            assert all(_is_even(id) for id in narrowed)
            missing = {id for id in everything if _is_even(id)} - narrowed.keys()
            assert not missing


def _by_id(tool: SearchTool, rows: Sequence[Row]) -> dict[tuple[Any, ...], Row]:
    return {tool.id_of(row): row for row in rows}


def _is_even(id: tuple[Any, ...]) -> bool:
    return int(id[0].rpartition("-")[2]) % 2 == 0


@each_tool
def test_unknown_words_find_nothing(notes: Notes, tool: SearchTool) -> None:
    assert notes.rows(tool, UNKNOWN_WORDS) == []
    answer = notes.run(tool, UNKNOWN_WORDS)
    if tool.total:
        assert answer[tool.total] == 0


def _named(name: str) -> SearchTool:
    return next(tool for tool in SEARCH_TOOLS if tool.name == name)


@each_tool_with_threshold
def test_a_threshold_cuts_the_list(notes: Notes, tool: SearchTool) -> None:
    for question in QUESTIONS:
        whole = notes.rows(tool, question)
        for threshold in _some([row[tool.score] for row in whole]):
            cut = notes.run(tool, question, limit=MAX_LIMIT, **{tool.threshold: threshold})
            kept = [row for row in whole if row[tool.score] >= threshold]
            assert _compared(tool, cut[tool.rows]) == _compared(tool, kept)
            if len(kept) < len(whole):
                assert cut[tool.total] == len(kept)


@each_tool_with_threshold
def test_a_threshold_below_the_floor_only_adds_to_the_end(notes: Notes, tool: SearchTool) -> None:
    for question in QUESTIONS:
        usual = notes.rows(tool, question)
        everything = notes.rows(tool, question, **{tool.threshold: 0.0})
        assert _compared(tool, everything)[: len(usual)] == _compared(tool, usual)
        assert len(everything) == min(notes.size, MAX_LIMIT)


def _some(numbers: Sequence[float]) -> list[float]:
    """The first, the last and a few between them, also such as no row has."""
    chosen = [numbers[place * (len(numbers) - 1) // 4] for place in range(5) if numbers]
    return [*chosen, *(round((number + 1) / 2, 3) for number in chosen), 1.0]


@each_size
def test_related_memories_are_in_order_and_cut_by_their_threshold(notes: Notes) -> None:
    tool = SearchTool(
        "lanonasis.intelligence_find_related",
        kind="memory",
        rows="related",
        key=("id",),
        score="similarity_score",
    )
    arguments = {"memory_id": "memory-0", "user_id": ME.user, "limit": 50}
    whole = _related(notes, tool, arguments | {"similarity_threshold": 0.0})
    similarities = [row["similarity_score"] for row in whole]
    assert similarities == sorted(similarities, reverse=True)
    for threshold in _some(similarities):
        kept = [row for row in whole if row["similarity_score"] >= threshold]
        cut = _related(notes, tool, arguments | {"similarity_threshold": threshold})
        assert _compared(tool, cut) == _compared(tool, kept)


def _related(notes: Notes, tool: SearchTool, arguments: Mapping[str, Any]) -> list[Row]:
    _, name = tool.name.split(".")
    caller = Caller(f"{tool.kind}-{notes.size}", ME.user)
    outcome = notes.app.registry.run(name, arguments, Call(caller, notes.app.engine))
    assert outcome.ok, outcome.body
    rows: list[Row] = body_of(outcome)[tool.rows]
    return rows


@each_size
def test_all_families_find_the_same_memories_in_the_same_order(notes: Notes) -> None:
    for question in QUESTIONS:
        hits = notes.rows(_named("core.recall"), question)
        scores: dict[str, float] = {}
        for hit in hits:
            scores.setdefault(hit["id"], hit["score"])
        ids = list(scores)
        of_subcog = notes.rows(_named("subcog.subcog_recall"), question, limit=MAX_LIMIT)
        assert [(row["id"], row["score"]) for row in of_subcog] == list(scores.items())
        of_lanonasis = notes.rows(_named("lanonasis.search_memories"), question)
        assert [row["id"] for row in of_lanonasis] == ids
        of_chatgpt = notes.rows(_named("chatgpt.search"), question)
        assert [row["id"] for row in of_chatgpt] == ids[:10]
        cited = notes.rows(_named("core.context"), question)
        assert {row["id"]: row["score"] for row in cited}.items() <= scores.items()
