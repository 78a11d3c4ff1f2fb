"""The filter language: what it keeps is what a plain predicate keeps; what it cannot read it points
at.
"""

import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memolith.bootstrap import App, open_app
from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.filter_language import KEYS, parse
from memolith.engine.validation import seconds
from memolith.errors import InvalidInput
from memolith.tools.subcog.namespaces import STORED_NAMESPACES, STORED_STATUSES
from tests.conftest import ME, At, note
from tests.stores import each_store

pytestmark = each_store
NOW = "2026-11-15T12:00:00.000000Z"
TAGS = ["rust", "db", "old one", "a,b", 'say "hi"', "ns:x"]
SOURCES = [None, "src/main.rs", "src/db/pool.rs", "docs/a b.md", "we[ir]d*.txt", "README.md"]
BRANCHES = [None, "main", "feature/auth", "feature/pool", "fix-1"]
PROJECTS: list[Any] = [
    None,
    "github.com/acme/widgets",
    "github.com/acme/gears",
    "gitlab.com/other/widgets",
]
ENTITIES = ["PostgreSQL", "Rust", "Ann Lee"]
ALIASES = {"PostgreSQL": ["Postgres", "the Elephant"], "Rust": ["rustc"]}
KEPT = [status for status in STORED_STATUSES if STORED_STATUSES[status]]


@dataclass
class Row:
    """All that a filter can ask about one memory."""

    item: Item
    mentions: tuple[str, ...]


class Filled:
    """An app and a description of what it holds."""

    def __init__(self, app: App, rows: list[Row]) -> None:
        self.app = app
        self.rows = rows


@pytest.fixture(scope="module")
def filled(at: At, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """An app with 120 memories that differ in everything, and their plain descriptions."""
    app = open_app(at(tmp_path_factory.mktemp("filters"), "minilm"))
    for name in ENTITIES:
        app.engine.writing.remember(
            ME,
            note(
                "",
                id=name,
                kind="entity",
                title=name,
                attributes={"aliases": ALIASES[name]} if name in ALIASES else {},
            ),
        )
    names = [one for names in STORED_NAMESPACES.values() for one in names]
    found = []
    for n in range(120):
        draft = note(
            f"zebra number {n}",
            tags=tuple(tag for k, tag in enumerate(TAGS) if n >> k & 1),
            namespace=names[n * 7 % len(names)],
            project=PROJECTS[n % 4],
            status=("active", "archived", "superseded", "draft", "pending", "consolidated")[
                n // 5 % 6
            ],
            attributes={
                name: value
                for name, value in (
                    ("source", SOURCES[n * 5 % 6]),
                    ("branch", BRANCHES[n // 3 % 5]),
                )
                if value
            },
        )
        item = app.engine.writing.remember(ME, draft).item
        mentions = tuple(name for k, name in enumerate(ENTITIES) if n % (k + 2) == 0)
        for name in mentions:
            app.engine.writing.link(ME, name, item.id, "MentionedIn")
        if n % 11 == 0:
            app.engine.writing.link(ME, "Rust", item.id, "RelatesTo", again=True)
        if n % 9 == 0:
            item = app.engine.writing.forget(ME, item.id).item
        found.append(Row(item, mentions))
    app.engine.recall.embed_waiting(ME.tenant, 60)
    yield Filled(app, found)
    app.close()


def quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written(values: list[str], quotes: bool) -> str:
    return ",".join(
        quoted(value) if quotes or re.search(r'[\s,"]', value) else value for value in values
    )


def some(values: list[str], most: int = 3) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=most)


def keyed(
    key: str, values: list[str], minus: str = ""
) -> st.SearchStrategy[tuple[str, list[str], bool]]:
    spellings = [name for name in KEYS if KEYS[name] == key]
    return st.tuples(
        st.sampled_from([minus + name for name in spellings] + [minus + spellings[0].upper()]),
        some(values),
        st.booleans(),
    )


def globs(values: list[str | None]) -> list[str]:
    known = [value for value in values if value]
    return [
        *known,
        *(value[:4] + "*" for value in known),
        *("*" + value[-4:] for value in known),
        "*",
        "?ain",
        "x[a]*",
    ]


TIMES = ["7d", "24h", "2w", "1s", "90m", "2026-01-01", "2026-11-15T11:59:00Z", "2099-01-01"]
TERMS = st.lists(
    st.one_of(
        keyed("ns", list(STORED_NAMESPACES)),
        keyed("tag", TAGS),
        keyed("tag", TAGS, "-"),
        keyed("source", globs(SOURCES)),
        keyed("path", globs(SOURCES)),
        keyed("branch", globs(BRANCHES)),
        keyed("project", [*PROJECTS[1:], "none/such"]),
        keyed("entity", [*ENTITIES, "rust", "nobody", "postgres", "Rustc", "the elephant"]),
        keyed("status", KEPT),
        keyed("since", TIMES),
        keyed("before", TIMES),
    ),
    max_size=5,
)


def moment(text: str, now: str) -> datetime:
    units = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    if text[-1] in units:
        return datetime.fromisoformat(now) - timedelta(**{units[text[-1]]: int(text[:-1])})
    return datetime.fromisoformat(text if "T" in text else text + "T00:00:00Z")


def matches(value: Json, patterns: list[str]) -> bool:
    return isinstance(value, str) and any(
        fnmatch.fnmatchcase(value, one.replace("[", "[[]")) for one in patterns
    )


def holds(row: Row, terms: list[tuple[str, list[str]]], now: str) -> bool:
    """The meaning of the language in plain words: tags and entities must all hold, of other keys
    one is enough.
    """
    item = row.item
    wanted: dict[str, list[list[str]]] = {}
    for key, values in terms:
        wanted.setdefault(key, []).append(values)
    flat = {key: [value for values in groups for value in values] for key, groups in wanted.items()}
    created = datetime.fromisoformat(item.created_at)
    word = next(word for word, stored in STORED_STATUSES.items() if item.status in stored)
    tests = {
        "ns": lambda: any(item.namespace in STORED_NAMESPACES[one] for one in flat["ns"]),
        "tag": lambda: all(set(group) & set(item.tags) for group in wanted["tag"]),
        "-tag": lambda: not set(flat["-tag"]) & set(item.tags),
        "source": lambda: matches(item.attributes.get("source"), flat["source"]),
        "path": lambda: matches(item.attributes.get("source"), flat["path"]),
        "branch": lambda: matches(item.attributes.get("branch"), flat["branch"]),
        "project": lambda: item.project in flat["project"],
        "entity": lambda: all(
            {one.lower() for one in group}
            & {one.lower() for name in row.mentions for one in (name, *ALIASES.get(name, ()))}
            for group in wanted["entity"]
        ),
        "status": lambda: word in flat["status"],
        "since": lambda: all(created >= moment(one, now) for one in flat["since"]),
        "before": lambda: all(created < moment(one, now) for one in flat["before"]),
    }
    return not item.forgotten and all(tests[key]() for key in wanted)


@given(terms=TERMS, blanks=st.sampled_from([" ", "  ", "\t", "\n "]))
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_random_filter_keeps_exactly_the_rows_that_a_plain_predicate_keeps(
    filled: Filled, terms: list[tuple[str, list[str], bool]], blanks: str
) -> None:
    app, found = filled.app, filled.rows
    text = blanks.join(f"{key}:{written(values, quotes)}" for key, values, quotes in terms)
    plain = [
        (("-" if key.startswith("-") else "") + KEYS[key.lstrip("-").lower()], values)
        for key, values, _ in terms
    ]
    now = app.clock.now()
    chosen = parse(text, STORED_NAMESPACES, STORED_STATUSES, now)
    wanted = {row.item.id for row in found if holds(row, plain, now)}
    page = app.engine.reading.list_items(ME, chosen, limit=1000)
    assert ({item.id for item in page.items}, page.total) == (wanted, len(wanted)), text
    for mode in ("text", "vector", "hybrid"):
        hits = app.engine.recall.search(ME, Query("zebra", chosen, mode, limit=1000)).hits
        assert {hit.item.id for hit in hits} == wanted, (mode, text)


ODD = st.text(st.sampled_from('ab:,"\\- \tnstagince7d*[]ß\x00\ud800'), min_size=1, max_size=25)


@given(
    text=st.one_of(
        ODD, st.text(max_size=30), st.tuples(st.sampled_from(list(KEYS)), ODD).map(":".join)
    )
)
@settings(max_examples=400, deadline=None)
def test_garbage_is_read_or_refused_with_a_place_inside_it(text: str) -> None:
    try:
        parse(text, STORED_NAMESPACES, STORED_STATUSES, NOW)
        return
    except InvalidInput as error:
        told, field = error.message, error.field
    place = re.search(r"at position (\d+):", told)
    assert field == "filter"
    assert place
    assert 1 <= int(place[1]) <= len(text) + 1


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("database", 1, "key:value"),
        ("ns:decisions oops", 14, "key:value"),
        ("color:red", 1, "ns, namespace, tag"),
        ("ns:decisions ns:zoo", 17, "decisions, patterns"),
        ("status:alive", 8, "active, archived"),
        ("tag:", 5, "missing"),
        ("tag:a,,b", 7, "missing"),
        ("tag:a, b", 7, "missing"),
        ('tag:"open', 5, "closed"),
        ('tag:""', 5, "missing"),
        ('tag:"a"b', 8, "comma"),
        ("since:yesterday", 7, "7d"),
        ("since:7x", 7, "7d"),
        ("before:2026-13-01", 8, "7d"),
        ("since:999999999w", 7, "7d"),
        ("before:0001-01-01", 8, "7d"),
        ("-ns:decisions", 1, "-tag"),
        ("status:active,tombstoned", 8, "together"),
        ("tag:a\x00b", 6, "stored"),
        (":x", 1, "key:value"),
        ("since:٧d", 7, "7d"),
    ],
)
def test_an_error_points_at_what_is_wrong(text: str, place: int, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text, STORED_NAMESPACES, STORED_STATUSES, NOW)
    assert f"at position {place}:" in caught.value.message
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("colour:red", "'colour'"),
        ("ns:decisions banana", "'banana'"),
        ("-ns:decisions", "'-ns'"),
        ("since:soonish", "'soonish'"),
        ("status:alive", "'alive'"),
    ],
)
def test_an_error_names_the_offending_value(text: str, named: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text, STORED_NAMESPACES, STORED_STATUSES, NOW)
    assert named in caught.value.message


def test_a_bad_duration_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        seconds("ttl", "banana")
    assert "'banana'" in caught.value.message


def test_an_entity_that_the_caller_cannot_see_is_no_key_to_what_mentions_it(app: App) -> None:
    ann, bob = Caller(user="ann"), Caller(user="bob")
    entity = app.engine.writing.remember(ann, note("", kind="entity", title="Falcon")).item
    memory = app.engine.writing.remember(ann, note("About the launch.", audience="org")).item
    app.engine.writing.link(ann, entity.id, memory.id, "MentionedIn")
    chosen = parse("entity:falcon", STORED_NAMESPACES, STORED_STATUSES, NOW)
    assert [
        app.engine.reading.list_items(caller, chosen).total
        for caller in (ann, bob, replace(bob, admin=True))
    ] == [1, 0, 1]


@pytest.mark.parametrize(
    "condition", [Condition("MentionedIn", "linked", ["x"]), Condition("n", "eq", 1)]
)
def test_the_past_is_not_searched_by_links_or_metadata(app: App, condition: Any) -> None:
    with pytest.raises(InvalidInput, match="past"):
        app.engine.recall.search(ME, Query("x", Filter(where=(condition,)), as_of=NOW))
