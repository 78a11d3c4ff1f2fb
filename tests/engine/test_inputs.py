"""Bad input: a typed error that names the field, and nothing written."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import MISSING, Field, fields, replace
from typing import Any

import apsw
import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Audience
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.validation import InputRules, Intake, Limits
from memolith.errors import (
    AlreadyExists,
    Conflict,
    InvalidInput,
    MemolithError,
    NotFound,
    TooLarge,
    VersionConflict,
)
from memolith.settings import Settings
from tests.checked import call_with_key, sqlite_file
from tests.conftest import ME, engine_of, note

TABLES = (
    "event",
    "head",
    "item",
    "tag",
    "passage",
    "link",
    "outbox",
    "access",
    "setting",
    "passage_fts_data",
)
NUL, HALF = "a\x00b", "a\ud800b"
Call = Callable[[App], object]
WRONG_TYPE: Any = 5


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """One app for all cases here, for no case may change anything in it."""
    made = open_app(Settings(data=tmp_path_factory.mktemp("inputs"), embedder="none"))
    for id in ("seed", "other"):
        made.engine.writing.remember(ME, note(f"tea {id}", id=id, attributes={"n": 1}))
    made.engine.writing.remember(ME, Draft(kind="entity", title="Ann", id="bare"))
    made.engine.writing.remember(
        ME, Draft(kind="entity", blocks=(Block("Ann is nice"),), id="untitled")
    )
    made.engine.writing.remember(ME, note("gone", id="gone"))
    made.engine.writing.forget(ME, "gone")
    made.engine.writing.link(ME, "seed", "other", "about", id="rel-1")
    yield made
    made.close()


def tables(app: App) -> dict[str, list[tuple[object, ...]]]:
    db = apsw.Connection(str(sqlite_file(app)))
    try:
        return {name: list(db.execute(f"select * from {name}")) for name in TABLES}
    finally:
        db.close()


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def new(**fields: Any) -> Call:
    return lambda app: app.engine.writing.remember(ME, note(**{"text": "x", **fields}))


def block(**fields: Any) -> Call:
    return lambda app: app.engine.writing.remember(
        ME, Draft(blocks=(Block(**{"text": "x", **fields}),))
    )


def edit(**fields: Any) -> Call:
    return lambda app: app.engine.writing.revise(ME, "seed", Patch(**fields))


def tie(*ends: Any, **fields: Any) -> Call:
    return lambda app: app.engine.writing.link(
        ME,
        *(ends or ("other", "seed")),
        **{"type": "about", **fields},
    )


def with_key(key: Any) -> Call:
    return lambda app: call_with_key(app, "remember", {"content": "x"}, key)


def listing(**fields: Any) -> Call:
    return lambda app: app.engine.reading.list_items(ME, **fields)


def seek(text: Any = "tea", **fields: Any) -> Call:
    return lambda app: app.engine.recall.search(ME, Query(text, **{"mode": "text", **fields}))


BAD_TEXTS: dict[str, Any] = {
    "NUL": NUL,
    "half a surrogate pair": HALF,
    "a number": 5,
    "nothing": None,
}
TIMES: tuple[Any, ...] = (
    "yesterday",
    "",
    "2026-02-30",
    "12:00",
    "0001-01-01T00:00:00+01:00",
    1700000000,
)
CASES: list[tuple[str, Call, type[MemolithError], str]] = [
    ("no text", lambda app: app.engine.writing.remember(ME, Draft()), InvalidInput, "content"),
    ("empty text", new(text=""), InvalidInput, "content"),
    ("blank text", new(text=" \n\t "), InvalidInput, "content"),
    ("5 MB text", new(text="é" * 2_500_000), TooLarge, "content"),
    ("a text just over the limit", new(text="é" * 500_001), TooLarge, "content"),
    (
        "blank messages",
        lambda app: app.engine.writing.remember(
            ME, Draft(kind="conversation", blocks=(Block(""), Block(" ")))
        ),
        InvalidInput,
        "content",
    ),
    (
        "neither title nor text",
        lambda app: app.engine.writing.remember(ME, Draft(kind="entity")),
        InvalidInput,
        "title",
    ),
    (
        "blank title and blank text",
        lambda app: app.engine.writing.remember(
            ME, Draft(kind="entity", title=" ", blocks=(Block(" "),))
        ),
        InvalidInput,
        "title",
    ),
    (
        "a title taken from an item without text",
        lambda app: app.engine.writing.revise(ME, "bare", Patch(title=" ")),
        InvalidInput,
        "title",
    ),
    (
        "the text taken from an item without title",
        lambda app: app.engine.writing.revise(ME, "untitled", Patch(blocks=())),
        InvalidInput,
        "title",
    ),
    ("unknown kind", new(kind="banana"), InvalidInput, "kind"),
    ("kind of another type", new(kind=["memory"]), InvalidInput, "kind"),
    ("long title", new(title="x" * 501), InvalidInput, "title"),
    ("tag of 10,000 characters", new(tags=("x" * 10_000,)), InvalidInput, "tags"),
    ("blank tag", new(tags=("ok", "  ")), InvalidInput, "tags"),
    ("too many tags", new(tags=tuple(str(n) for n in range(101))), InvalidInput, "tags"),
    ("tags that are one text", new(tags="work"), InvalidInput, "tags"),
    ("blank status", new(status=""), InvalidInput, "status"),
    ("status of two words", new(status="very done"), InvalidInput, "status"),
    ("long status", new(status="x" * 41), InvalidInput, "status"),
    ("project audience without project", new(audience=Audience.PROJECT), InvalidInput, "project"),
    (
        "project audience with an empty project",
        new(audience=Audience.PROJECT, project=""),
        InvalidInput,
        "project",
    ),
    (
        "project audience with a blank project",
        new(audience=Audience.PROJECT, project=" "),
        InvalidInput,
        "project",
    ),
    ("unknown audience", new(audience="everyone"), InvalidInput, "audience"),
    (
        "audience revised to project without one",
        edit(audience=Audience.PROJECT),
        InvalidInput,
        "project",
    ),
    ("long project", new(project="x" * 501), InvalidInput, "project"),
    ("long speaker", block(speaker="x" * 501), InvalidInput, "speaker"),
    ("long id", new(id="x" * 10_000), InvalidInput, "id"),
    ("blank id", new(id=" "), InvalidInput, "id"),
    ("taken id", new(id="seed"), AlreadyExists, "id"),
    ("NaN in metadata", new(attributes={"a": [math.nan]}), InvalidInput, "metadata"),
    ("infinity in metadata", new(attributes={"a": {"b": -math.inf}}), InvalidInput, "metadata"),
    ("huge metadata", new(attributes={"a": "x" * 100_001}), TooLarge, "metadata"),
    ("huge metadata of a message", block(attributes={"a": "x" * 100_001}), TooLarge, "metadata"),
    ("metadata that is no JSON", new(attributes={"a": {1, 2}}), InvalidInput, "metadata"),
    ("metadata with a number as a name", new(attributes={"a": {1: 2}}), InvalidInput, "metadata"),
    ("metadata that is a list", new(attributes=["a"]), InvalidInput, "metadata"),
    ("metadata 100,000 deep", new(attributes=nested(100_000)), InvalidInput, "metadata"),
    ("blank revised text", edit(blocks=(Block(" "),)), InvalidInput, "content"),
    ("revised to no text", edit(blocks=()), InvalidInput, "content"),
    ("revised status", edit(status="a b"), InvalidInput, "status"),
    (
        "wrong version",
        lambda app: app.engine.writing.revise(ME, "seed", Patch(title="t"), 7),
        VersionConflict,
        "expected_version",
    ),
    (
        "nothing to append",
        lambda app: app.engine.writing.append(ME, "seed", []),
        InvalidInput,
        "messages",
    ),
    (
        "blank to append",
        lambda app: app.engine.writing.append(ME, "seed", [Block(" ")]),
        InvalidInput,
        "messages",
    ),
    (
        "tag both added and removed",
        lambda app: app.engine.writing.tag(ME, "seed", ["a"], ["a"]),
        InvalidInput,
        "tags",
    ),
    (
        "number as tag to remove",
        lambda app: app.engine.writing.tag(ME, "seed", ["a"], [WRONG_TYPE]),
        InvalidInput,
        "tags",
    ),
    (
        "too many tags in all",
        lambda app: app.engine.writing.tag(ME, "seed", list(map(str, range(101)))),
        InvalidInput,
        "tags",
    ),
    ("self link", tie("seed", "seed"), InvalidInput, "target"),
    ("blank type", tie(type=""), InvalidInput, "type"),
    ("type of two words", tie(type="is a"), InvalidInput, "type"),
    ("metadata of a link", tie(attributes={"a": math.nan}), InvalidInput, "metadata"),
    ("link id of another link", tie(id="rel-1"), AlreadyExists, "id"),
    ("link id of an item", tie(id="bare"), AlreadyExists, "id"),
    ("NUL in a link id", tie(id=NUL), InvalidInput, "id"),
    ("unknown mode", seek(mode="psychic"), InvalidInput, "mode"),
    ("empty query", seek(""), InvalidInput, "query"),
    ("blank query", seek(" \t"), InvalidInput, "query"),
    ("long query", seek("x " * 5001), InvalidInput, "query"),
    ("threshold NaN", seek(threshold=math.nan), InvalidInput, "threshold"),
    ("threshold over 1", seek(threshold=1.1), InvalidInput, "threshold"),
    (
        "half a surrogate pair in a tag filter",
        seek(filter=Filter(tags_all=(HALF,))),
        InvalidInput,
        "tags",
    ),
    ("unknown sort", listing(sort="beauty"), InvalidInput, "sort"),
]
CASES += [
    (f"{name} {what}", call, InvalidInput, field)
    for what, bad in BAD_TEXTS.items()
    for name, call, field in [
        ("text", block(text=bad), "content"),
        ("title", new(title=bad), "title"),
        ("tag", new(tags=(bad,)), "tags"),
        ("status", new(status=bad), "status"),
        ("type", tie(type=bad), "type"),
        ("query", seek(bad), "query"),
        (
            "key",
            with_key(bad),
            "idempotency_key",
        ),
    ]
    if not (name == "key" and bad is None)
]
CASES += [
    (f"{name} {what}", call, InvalidInput, field)
    for what, bad in BAD_TEXTS.items()
    if bad is not None
    for name, call, field in [
        ("project", new(project=bad), "project"),
        ("namespace", new(namespace=bad), "namespace"),
        ("speaker", block(speaker=bad), "speaker"),
        ("locator", block(locator=bad), "locator"),
        ("id", new(id=bad), "id"),
        ("revised title", edit(title=bad), "title"),
        ("revised text", edit(blocks=(Block(bad),)), "content"),
    ]
]
CASES += [
    (f"metadata {what}", new(attributes={"a": bad}), InvalidInput, "metadata")
    for what, bad in BAD_TEXTS.items()
    if what not in ("a number", "nothing")
]
CASES += [
    (f"metadata in a tuple {what}", new(attributes={"a": (bad,)}), InvalidInput, "metadata")
    for what, bad in BAD_TEXTS.items()
    if isinstance(bad, str)
]
CASES += [
    (f"metadata name {what}", new(attributes={bad: 1}), InvalidInput, "metadata")
    for what, bad in BAD_TEXTS.items()
]
CASES += [
    (f"{name} {time!r}", call, InvalidInput, name)
    for time in TIMES
    for name, call in [
        ("at", block(at=time)),
        ("since", seek(filter=Filter(since=time))),
        ("until", listing(chosen=Filter(until=time))),
        ("as_of", seek(as_of=time)),
    ]
]
CASES += [
    (f"strength {bad}", tie(strength=bad), InvalidInput, "strength")
    for bad in (math.nan, math.inf, -0.01, 1.01, True, "0.5", None)
]
CASES += [
    (f"listing {name} {bad}", listing(**{name: bad}), InvalidInput, name)
    for name, bad in [
        ("limit", 0),
        ("limit", -1),
        ("limit", 10**30),
        ("offset", -1),
        ("offset", 10**30),
    ]
]
CASES += [
    (f"search {name} {bad}", seek(**{name: bad}), InvalidInput, name)
    for name, bad in [("limit", 0), ("limit", -1), ("limit", 1001), ("offset", -1)]
]
CASES += [
    (
        f"{path} where {what}",
        listing(chosen=Filter(where=(condition,)))
        if path == "listing"
        else seek(filter=Filter(where=(condition,))),
        InvalidInput,
        "where",
    )
    for path in ("listing", "seek")
    for what, condition in {
        "unknown op": Condition("n", "like", 1),
        "in without a list": Condition("n", "in", "abc"),
        "in a broken list": Condition("n", "in", "[1"),
        "half a surrogate pair": Condition("n", "eq", HALF),
        "a number too large": Condition("n", "eq", 10**30),
        "NaN": Condition("n", "eq", math.nan),
    }.items()
]


@pytest.mark.parametrize(
    "call, error, field", [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_bad_input_is_refused_by_name_and_nothing_is_written(
    shared: App, call: Any, error: Any, field: Any
) -> None:
    before = tables(shared)
    with pytest.raises(error) as caught:
        call(shared)
    assert caught.value.field == field
    assert len(caught.value.message) < 2000
    assert tables(shared) == before


VERBS: dict[str, Callable[[App, str], object]] = {
    "read": lambda app, id: app.engine.reading.read(ME, id),
    "links": lambda app, id: app.engine.graph.explore(ME, id).links,
    "forget": lambda app, id: app.engine.writing.forget(ME, id),
    "restore": lambda app, id: app.engine.writing.restore(ME, id),
    "erase": lambda app, id: app.engine.writing.erase(ME, id),
    "revise": lambda app, id: app.engine.writing.revise(ME, id, Patch(title="t")),
    "tag": lambda app, id: app.engine.writing.tag(ME, id, ["t"]),
    "append": lambda app, id: app.engine.writing.append(ME, id, [Block("t")]),
    "link from": lambda app, id: app.engine.writing.link(ME, id, "seed", "about"),
    "link to": lambda app, id: app.engine.writing.link(ME, "seed", id, "about"),
    "unlink": lambda app, id: app.engine.writing.unlink(ME, id),
    "history": lambda app, id: app.engine.history.history(ME, id),
    "as_of": lambda app, id: app.engine.history.as_of(ME, id, "2100-01-01"),
    "last": lambda app, id: app.engine.history.last(ME, id),
}


@pytest.mark.parametrize(
    "id",
    ["unknown", "", "x" * 100_000, "b\x00c", HALF, "' or 1=1 --", "rel-1"],
    ids=lambda id: ascii(id[:12]),
)
@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_id_is_not_found_and_nothing_is_written(shared: App, verb: Any, id: Any) -> None:
    if (verb, id) == ("unlink", "rel-1"):
        return
    before = tables(shared)
    with pytest.raises(NotFound) as caught:
        VERBS[verb](shared, id)
    assert len(caught.value.message) < 500
    assert tables(shared) == before


@pytest.mark.parametrize(
    "verb", sorted(VERBS.keys() - {"restore", "erase", "history", "as_of", "last"})
)
def test_a_forgotten_item_is_not_found(shared: App, verb: Any) -> None:
    before = tables(shared)
    with pytest.raises(NotFound):
        VERBS[verb](shared, "gone")
    assert tables(shared) == before


@pytest.mark.parametrize("key", ["", "  ", "x" * 256])
def test_a_key_that_is_none_is_refused(shared: App, key: str) -> None:
    before = tables(shared)
    calls: list[Callable[[], object]] = [
        lambda: call_with_key(shared, "remember", {"content": "x"}, key),
        lambda: call_with_key(shared, "revise", {"id": "seed", "title": "x"}, key),
        lambda: call_with_key(shared, "forget", {"id": "seed"}, key),
    ]
    for call in calls:
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.field == "idempotency_key"
    assert tables(shared) == before


def test_nothing_of_a_refused_draft_is_in_the_message(shared: App) -> None:
    secret = "gh" + "p_" + "Ab3" * 12
    for call in (
        new(kind=secret),
        new(status=f"a {secret}"),
        tie(type=f"a {secret}"),
        block(at=secret),
    ):
        with pytest.raises(InvalidInput) as caught:
            call(shared)
        assert secret not in str(caught.value)


# Limits


def test_an_item_cannot_grow_over_its_limit_by_appending(app: App) -> None:
    engine = engine_of(app, input_rules=InputRules(Limits(item_bytes=100)))
    engine.writing.remember(ME, note("x" * 60, id="a"))
    with pytest.raises(TooLarge) as caught:
        engine.writing.append(ME, "a", [Block("y" * 60)])
    assert caught.value.field == "content"
    assert engine.reading.read(ME, "a")[0].version == 1


@pytest.mark.parametrize(
    "limits, draft",
    [
        (Limits(text_bytes=100), note("é" * 60)),
        (Limits(item_bytes=100), Draft(blocks=(Block("é" * 30),) * 2)),
    ],
)
def test_a_limit_in_bytes_counts_bytes_however_small_it_is(
    app: App, limits: Any, draft: Any
) -> None:
    with pytest.raises(TooLarge) as caught:
        engine_of(app, input_rules=InputRules(limits)).writing.remember(ME, draft)
    assert caught.value.field == "content"


def test_what_is_just_within_the_limits_is_kept_and_found(app: App) -> None:
    words = "w" * 100
    draft = Draft(
        title="t" * 500,
        blocks=(Block(("x" * 99 + " ") * 10_000, "s" * 500),),
        tags=(words,),
        attributes={"a": "y" * 99_000, "n": nested(50), "i": 2**80, "f": sys.float_info.max},
    )
    item = app.engine.writing.remember(ME, draft).item
    assert app.engine.reading.read(ME, item.id) == (
        item,
        [replace(draft.blocks[0], at=item.created_at)],
    )
    assert (
        app.engine.reading.list_items(
            ME, Filter(tags_all=(words,), where=(Condition("n", "ne", 5),))
        ).total
        == 1
    )
    assert app.engine.recall.search(ME, Query("x" * 99, mode="text")).total > 0
    assert app.engine.maintenance.verify() == []


# Lines of an import

PLAIN = [
    "nonsense",
    "[1]",
    '"x"',
    "{}",
    "5",
    "null",
    "{'a': 1}",
    '{"content": 5}',
    '{"content": ""}',
    '{"content": "x", "colour": 1}',
    '{"content": "a\\u0000"}',
    '{"content": "a\\ud800"}',
    '{"content": "x", "metadata": {"a": NaN}}',
]
PLAIN += [
    f'{{"content": "x", "{name}": {json.dumps(value)}}}'
    for name, value in [
        ("kind", "banana"),
        ("kind", 5),
        ("tags", 5),
        ("tags", [5]),
        ("tags", "abc"),
        ("tags", [""]),
        ("title", 5),
        ("metadata", [1]),
        ("metadata", "x"),
        ("project", 5),
        ("namespace", "x" * 501),
    ]
]
EVENT = {
    "seq": 2,
    "stream": "new",
    "version": 1,
    "type": "remembered",
    "actor": "local",
    "key": None,
    "at": "2026-01-01T00:00:00.000000Z",
}
DATA = {
    "kind": "conversation",
    "title": "t",
    "status": "active",
    "owner": "local",
    "audience": "user",
    "project": None,
    "namespace": None,
    "tags": ["x"],
    "attributes": {"n": 1},
    "blocks": [{"text": "two"}],
    "chunker": 1,
}
EVENTS: dict[str, object] = {"no event": 5, "empty event": {}, "no data": EVENT}
EVENTS |= {
    f"{name} {value!r}": EVENT | {"data": DATA} | {name: value}
    for name, value in [
        ("data", [1]),
        ("data", {"title": "x"}),
        ("type", "sung"),
        ("type", "tagged"),
        ("type", "relinked"),
        ("type", None),
        ("version", 2),
        ("version", "x"),
        ("version", None),
        ("stream", 5),
        ("stream", None),
        ("stream", ""),
        ("actor", None),
        ("at", None),
        ("at", "yesterday"),
        ("key", 5),
        ("tenant", "x"),
    ]
}
EVENTS |= {
    f"data {name} {value!r}": EVENT | {"data": DATA | {name: value}}
    for name, value in [
        ("kind", "banana"),
        ("audience", "all"),
        ("blocks", "abc"),
        ("blocks", [{}]),
        ("blocks", [{"text": 5}]),
        ("blocks", [{"text": "x", "at": "noon"}]),
        ("tags", "abc"),
        ("tags", [5]),
        ("title", None),
        ("owner", 5),
        ("attributes", [1]),
        ("attributes", {"a": math.nan}),
        ("status", None),
    ]
}


# Each event is of a stream of its own, so that one that gets in does not stop the next.
BROKEN = {ascii(line[:60]): line for line in PLAIN}
BROKEN |= {
    name: json.dumps({"event": event}).replace('"new"', f'"{name}"')
    for name, event in EVENTS.items()
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_named_and_nothing_of_its_file_stays(shared: App, line: Any) -> None:
    before = tables(shared)
    with pytest.raises(MemolithError) as caught:
        shared.engine.maintenance.import_(
            ME, ['{"content": "good"}', "", line, '{"content": "good too"}']
        )
    assert "ine 3" in str(caught.value)
    assert tables(shared) == before


def test_the_event_that_was_broken_above_is_imported_where_it_is_whole(app: App) -> None:
    assert (
        app.engine.maintenance.import_(ME, [json.dumps({"event": EVENT | {"data": DATA}})])[1] == 1
    )
    assert app.engine.reading.read(ME, "new")[0].title == "t"


@pytest.mark.parametrize("depth", [100, 400, 900, 1500])
def test_metadata_is_refused_or_can_be_filtered_however_deep_it_is(app: App, depth: int) -> None:
    app.engine.writing.remember(ME, note("plain", attributes={"a": 1}))
    with suppress(InvalidInput):
        app.engine.writing.remember(ME, note("deep", attributes=nested(depth)))
    for total, condition in ((1, Condition("a", "eq", 1)), (0, Condition("b", "eq", 1))):
        assert app.engine.reading.list_items(ME, Filter(where=(condition,))).total == total
    assert app.engine.maintenance.verify() == []


def test_a_failure_in_the_middle_of_a_write_leaves_nothing(app: App) -> None:
    def write_and_fail() -> None:
        with app.store.writing(ME.tenant) as rows:
            app.engine.writing.remember_in(rows, ME, note("half done"), Intake(Limits(), "redact"))
            raise Conflict

    with pytest.raises(Conflict):
        write_and_fail()
    assert app.engine.reading.list_items(ME).total == 0
    assert app.engine.maintenance.verify() == []


FULL_BLOCK = Block(
    text="tea",
    speaker="ann",
    at="2026-01-02T03:04:05.000000Z",
    locator="page 1",
    attributes={"n": 1},
)
FULL_DRAFT = Draft(
    kind="conversation",
    title="Tea",
    blocks=(FULL_BLOCK,),
    tags=("tea",),
    attributes={"folder": "/tea", "importance_score": 3},
    status="archived",
    audience=Audience.ORG,
    project="zoo",
    namespace="facts",
    id="tea",
    ttl_s=60,
    created_at="2026-01-02T03:04:05.000000Z",
    updated_at="2026-01-03T03:04:05.000000Z",
)


def default_of(field: "Field[Any]") -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


@pytest.mark.parametrize("full", [FULL_DRAFT, FULL_BLOCK], ids=["draft", "block"])
def test_every_field_comes_through_the_intake(full: Draft | Block) -> None:
    # The intake copies field by field, so it would drop a new one that it does not name.
    draft = full if isinstance(full, Draft) else Draft(blocks=(full,))
    checked = Intake(Limits(), "redact").draft(draft)
    copy = checked if isinstance(full, Draft) else checked.blocks[0]
    for field in fields(full):
        given = getattr(full, field.name)
        assert given != default_of(field), f"give {field.name} a value above"
        assert getattr(copy, field.name) == given, field.name
