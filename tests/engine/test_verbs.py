"""The verbs of the engine: what each one does, for whom, and what it leaves alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.links import Link
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.engine.validation import InputRules
from memolith.errors import (
    AlreadyExists,
    BlockedContent,
    Conflict,
    Denied,
    InvalidInput,
    MemolithError,
    NotFound,
    VersionConflict,
)
from tests.checked import erased_wholly
from tests.conftest import ME, engine_of, note
from tests.stores import dump, each_store

pytestmark = each_store
ANN, BOB = Caller("acme", "ann"), Caller("acme", "bob")
BOB_IN_X = replace(BOB, project="x")
STRANGER = Caller("globex", "ann")
TOKEN = "gh" + "p_" + "Ab3" * 12
TALK = Draft(kind="conversation", blocks=(Block("hi there", "ann"), Block("hello", "bot")))


def length(app: App, caller: Caller = ME) -> int:
    with app.store.reading(None) as rows:
        return rows.last_seq(caller.tenant)


def remember(app: App, text: str = "tea at five", caller: Caller = ME, **fields: object) -> str:
    return app.engine.writing.remember(caller, note(text, **fields)).item.id


def texts(app: App, id: str, caller: Caller = ME) -> list[str]:
    return [block.text for block in app.engine.reading.read(caller, id)[1]]


def found(app: App, caller: Caller, words: str, **choice: object) -> set[str]:
    query = Query(words, Filter(**choice), mode="text", limit=100)  # type: ignore[arg-type]
    return {hit.item.id for hit in app.engine.recall.search(caller, query).hits}


def refused(
    error: type[MemolithError], call: Callable[..., object], *arguments: object, **named: object
) -> MemolithError:
    with pytest.raises(error) as caught:
        call(*arguments, **named)
    return caught.value


# Remember, revise, tag, append


def test_what_is_remembered_is_read_back_as_written(app: App) -> None:
    long = "First sentence. " * 100 + "\n\n  odd\tspacing\r\n 日本語。テスト"
    draft = Draft(
        title="A title",
        blocks=(Block(long), Block("b", "ann", "2026-01-02T03:04:05Z", "p. 3", {"n": 1})),
        tags=("b", "a"),
        attributes={"x": [1, {"y": None}]},
        status="draft",
        namespace="ns",
        project="p",
    )
    written = app.engine.writing.remember(ME, draft)
    item, blocks = app.engine.reading.read(ME, written.item.id)
    assert item == written.item
    assert (item.title, item.tags, item.status, item.version) == ("A title", ("a", "b"), "draft", 1)
    assert (item.owner, item.namespace, item.project) == ("local", "ns", "p")
    assert item.attributes == {"x": [1, {"y": None}]}
    assert blocks[0].text == long
    assert blocks[1] == Block("b", "ann", "2026-01-02T03:04:05.000000Z", "p. 3", {"n": 1})


def test_a_chosen_id_is_kept_and_cannot_be_taken_twice_even_after_erasing(app: App) -> None:
    assert remember(app, id="mine") == "mine"
    refused(AlreadyExists, remember, app, id="mine")
    app.engine.writing.erase(ME, "mine")
    refused(AlreadyExists, remember, app, id="mine")
    assert remember(app, caller=ANN, id="mine") == "mine"


def test_revise_changes_only_what_the_patch_names(app: App) -> None:
    id = remember(app, title="old", tags=("a",), attributes={"a": 1, "b": 2}, namespace="n")
    before = app.engine.reading.read(ME, id)[0]
    after = app.engine.writing.revise(
        ME, id, Patch(title="new", attributes={"b": 3, "c": 4}, dropped=("a",))
    ).item
    assert after == before._replace(
        title="new", attributes={"b": 3, "c": 4}, version=2, updated_at=after.updated_at
    )
    assert after.updated_at > before.updated_at
    assert app.engine.writing.revise(ME, id, Patch(namespace="")).item.namespace == "context"
    assert app.engine.reading.read(ME, id)[0].title == "new"


def test_revised_text_is_found_by_its_new_words_only(app: App) -> None:
    id = remember(app, "zebra")
    app.engine.writing.revise(ME, id, Patch(blocks=(Block("giraffe"),)))
    assert (found(app, ME, "zebra"), found(app, ME, "giraffe")) == (set(), {id})
    app.engine.writing.revise(ME, id, Patch(title="okapi"))
    assert found(app, ME, "okapi") == {id}


def test_tags_are_added_and_removed(app: App) -> None:
    id = remember(app, tags=("b", "c"))
    assert app.engine.writing.tag(ME, id, add=[" a ", "b"], remove=["c", "unknown"]).item.tags == (
        "a",
        "b",
    )
    assert found(app, ME, "tea", tags_all=("a",)) == {id}
    assert found(app, ME, "tea", tags_any=("c",)) == set()
    assert (
        refused(InvalidInput, app.engine.writing.tag, ME, id, add=["z"], remove=["z"]).field
        == "tags"
    )


def test_appended_messages_follow_the_others_and_are_found(app: App) -> None:
    talk = app.engine.writing.remember(ME, TALK).item
    item = app.engine.writing.append(
        ME, talk.id, [Block("the zebra sleeps", "ann"), Block("good", "bot")]
    ).item
    assert (item.blocks, item.passages, item.version) == (4, 4, 2)
    assert texts(app, talk.id) == ["hi there", "hello", "the zebra sleeps", "good"]
    assert found(app, ME, "zebra") == {talk.id}


# Forget, restore, erase


def test_a_forgotten_item_leaves_every_read_path_and_comes_back_whole(app: App) -> None:
    id, other = remember(app, tags=("a",)), remember(app, "other")
    app.engine.writing.link(ME, id, other, "about")
    before = app.engine.reading.read(ME, id)
    app.engine.writing.forget(ME, id)
    for verb in (app.engine.reading.read, app.engine.writing.forget, app.engine.graph.explore):
        refused(NotFound, verb, ME, id)
    assert app.engine.reading.read_many(ME, [id, other])[0][0].id == other
    assert app.engine.reading.list_items(ME).total == 1
    assert (found(app, ME, "tea"), app.engine.graph.explore(ME, other).links) == (set(), ())
    refused(NotFound, app.engine.writing.link, ME, id, other, "again")
    item = app.engine.writing.restore(ME, id).item
    assert app.engine.reading.read(ME, id) == (
        before[0]._replace(version=3, updated_at=item.updated_at),
        before[1],
    )
    assert found(app, ME, "tea") == {id}
    assert len(app.engine.graph.explore(ME, other).links) == 1


def test_what_is_not_forgotten_cannot_be_restored(app: App) -> None:
    id = remember(app)
    refused(Conflict, app.engine.writing.restore, ME, id)
    assert length(app) == 1


@pytest.mark.stores("sqlite")
def test_erasing_leaves_no_byte_of_text_title_tags_metadata_speaker_and_links(
    app: App, tmp_path: Path
) -> None:
    words = ["quixotic", "zymurgy", "flibber", "sphinxian", "gobbledy", "hrothgar"]
    draft = Draft(
        title=words[0],
        blocks=(Block(words[1], speaker=words[2]),),
        tags=(words[3],),
        attributes={"k": words[4]},
    )
    id, other = app.engine.writing.remember(ME, draft).item.id, remember(app)
    cut = app.engine.writing.link(ME, id, other, "about", attributes={"k": words[5]})
    app.engine.writing.unlink(ME, cut.id)
    app.engine.writing.link(ME, other, id, "about", attributes={"k": words[5]})
    app.engine.writing.revise(ME, id, Patch(title="plain", blocks=(Block("plain"),)))
    app.engine.reading.note_access(ME, id)
    app.engine.reading.flush_accesses()
    app.engine.writing.forget(ME, id)
    assert erased_wholly(app, id)
    data = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()).lower()
    assert [word for word in words if word.encode() in data] == []
    refused(NotFound, app.engine.reading.read, ME, id, forgotten=True)
    with app.store.reading(None) as rows:
        assert (rows.accesses(ME.tenant, [id]), list(rows.all_links(ME.tenant))) == ({}, [])
    assert app.engine.maintenance.verify() == []


def test_only_the_owner_or_an_admin_erases(app: App) -> None:
    first, second = (remember(app, caller=ANN, audience=Audience.ORG) for _ in range(2))
    refused(Denied, app.engine.writing.erase, BOB, first)
    assert erased_wholly(app, first, replace(BOB, admin=True))
    assert erased_wholly(app, second, ANN)


# Links


def test_a_link_is_made_replaced_and_cut(app: App) -> None:
    a, b = remember(app), remember(app)
    link = app.engine.writing.link(ME, a, b, "about", 0.5, {"why": "x"})
    assert app.engine.graph.explore(ME, a).links == app.engine.graph.explore(ME, b).links == (link,)
    refused(AlreadyExists, app.engine.writing.link, ME, a, b, "about")
    again = app.engine.writing.link(ME, a, b, "about", 0.75, again=True)
    assert (again.id, again.strength, again.attributes, again.version) == (link.id, 0.75, {}, 2)
    assert app.engine.writing.link(ME, b, a, "about").id != link.id
    assert app.engine.writing.unlink(ME, link.id) == again
    refused(NotFound, app.engine.writing.unlink, ME, link.id)
    assert len(app.engine.graph.explore(ME, a).links) == 1


# The optimistic lock


def test_a_stale_version_is_refused_and_changes_nothing(app: App) -> None:
    id = remember(app)
    assert app.engine.writing.revise(ME, id, Patch(title="a"), expected=1).item.version == 2
    error = refused(
        VersionConflict, app.engine.writing.revise, ME, id, Patch(title="b"), expected=1
    )
    assert (error.field, error.id) == ("expected_version", id)
    assert (app.engine.reading.read(ME, id)[0].title, length(app)) == ("a", 2)


def test_a_change_that_changes_nothing_writes_no_event(app: App) -> None:
    id = remember(app, title="t", tags=("a",), attributes={"n": 1})
    before = app.engine.reading.read(ME, id)[0]
    same = Patch(
        title=" t ",
        blocks=(Block("tea at five"),),
        tags=("a",),
        attributes={"n": 1},
        dropped=("x",),
        status="active",
        audience=Audience.USER,
        project="",
        namespace="",
    )
    for written in (
        app.engine.writing.revise(ME, id, same),
        app.engine.writing.revise(ME, id, Patch()),
        app.engine.writing.tag(ME, id, add=["a"], remove=["b"]),
    ):
        assert (written.item, written.seq) == (before, 1)
    assert length(app) == 1


def test_a_link_made_again_as_it_is_writes_no_event(app: App) -> None:
    a, b = remember(app), remember(app)
    link = app.engine.writing.link(ME, a, b, "about", 0.5, {"a": 1})
    assert app.engine.writing.link(ME, a, b, "about", 0.5, {"a": 1}, again=True) == link
    assert length(app) == 3


def test_a_number_and_a_truth_value_are_different_metadata(app: App) -> None:
    id = remember(app, attributes={"done": 1})
    assert (
        app.engine.writing.revise(ME, id, Patch(attributes={"done": True})).item.attributes["done"]
        is True
    )
    for value in (1, True):
        app.engine.writing.revise(ME, id, Patch(blocks=(Block("x", attributes={"done": value}),)))
        assert app.engine.reading.read(ME, id)[1][0].attributes["done"] is value


# Who sees what

AUDIENCES = {  # audience -> who sees it
    Audience.USER: (ANN,),
    Audience.PROJECT: (ANN, BOB_IN_X),
    Audience.ORG: (ANN, BOB, BOB_IN_X),
}


CALLERS = (ANN, BOB, BOB_IN_X, STRANGER, replace(STRANGER, project="x", admin=True))


def linked_pair(app: App, audience: Audience) -> tuple[str, str, Link]:
    id = remember(app, "zebra one", ANN, audience=audience, project="x", tags=("t",))
    other = remember(app, "zebra two", ANN, audience=Audience.ORG)
    return id, other, app.engine.writing.link(ANN, id, other, "about")


@pytest.mark.parametrize("caller", CALLERS, ids=str)
@pytest.mark.parametrize("audience", list(Audience))
def test_only_the_audience_sees_an_item_on_any_path(app: App, audience: Any, caller: Any) -> None:
    id, other, link = linked_pair(app, audience)
    sees = caller in AUDIENCES[audience]
    assert (id in {item.id for item in app.engine.reading.list_items(caller).items}) == sees
    assert app.engine.reading.list_items(caller).total == sees + (caller.tenant == "acme")
    assert (
        (id in found(app, caller, "zebra"))
        == (id in found(app, caller, "zebra", tags_all=("t",)))
        == sees
    )
    assert bool(app.engine.reading.read_many(caller, [id])) == sees
    if caller.tenant == "acme":
        assert app.engine.graph.explore(caller, other).links == (link,) * sees
    for path in (
        app.engine.reading.read,
        app.engine.graph.explore,
        app.engine.history.history,
        app.engine.history.last,
    ):
        if sees:
            path(caller, id)
        else:
            refused(NotFound, path, caller, id)


@pytest.mark.parametrize(
    "audience, caller",
    [
        (audience, caller)
        for audience in Audience
        for caller in CALLERS
        if caller not in AUDIENCES[audience]
    ],
    ids=str,
)
def test_nobody_outside_the_audience_changes_an_item(app: App, audience: Any, caller: Any) -> None:
    id, other, link = linked_pair(app, audience)
    engine = app.engine
    refused(NotFound, engine.writing.revise, caller, id, Patch(title="mine"))
    refused(NotFound, engine.writing.tag, caller, id, ["mine"])
    refused(NotFound, engine.writing.append, caller, id, [Block("mine")])
    refused(NotFound, engine.writing.link, caller, other, id, "mine")
    refused(NotFound, app.engine.history.as_of, caller, id, "2100-01-01")
    for verb in (engine.writing.forget, engine.writing.restore, engine.writing.erase):
        refused(NotFound, verb, caller, id)
    refused(NotFound, engine.writing.unlink, caller, link.id)
    for seq in (1, 3):
        refused(NotFound, app.engine.history.undo, caller, seq)
    assert (length(app, ANN), length(app, STRANGER)) == (3, 0)


@pytest.mark.parametrize("audience", list(Audience))
def test_the_history_of_an_item_tells_nothing_of_links_to_what_one_does_not_see(
    app: App, audience: Any
) -> None:
    _, other, link = linked_pair(app, audience)
    told = {step.event.stream for step in app.engine.history.history(BOB, other)}
    assert told == ({other, link.id} if BOB in AUDIENCES[audience] else {other})


def test_a_refused_unlink_does_not_tell_what_the_hidden_end_is(app: App) -> None:
    hidden, _, link = linked_pair(app, Audience.USER)
    for error in (
        refused(NotFound, app.engine.writing.unlink, BOB, link.id),
        refused(NotFound, app.engine.history.undo, BOB, 3),
    ):
        assert hidden not in f"{error.id} {error}"


# Duplicates, access counts


def test_the_same_text_but_for_case_and_white_space_is_reported(app: App) -> None:
    id = remember(app, "Tea at  five", title="T")
    hidden = remember(app, "tea at five", Caller(user="bob"))
    similar = app.engine.writing.remember(ME, note("tea at FIVE ")).similar
    assert [(one.id, one.title, one.similarity, one.exact) for one in similar] == [
        (id, "T", 1.0, True)
    ]
    assert hidden not in {one.id for one in similar}
    assert not any(one.exact for one in app.engine.writing.remember(ME, note("tea at six")).similar)
    app.engine.writing.forget(ME, id)
    assert id not in {
        one.id for one in app.engine.writing.remember(ME, note("tea at five")).similar
    }


def test_a_long_text_that_only_begins_the_same_is_no_exact_duplicate(app: App) -> None:
    start = "The same sentence stands here. " * 60
    remember(app, start + "The end is good.")
    assert not any(
        one.exact
        for one in app.engine.writing.remember(ME, note(start + "The end is bad.")).similar
    )


def test_copies_of_others_do_not_hide_ones_own_duplicate(app: App) -> None:
    for n in range(21):
        remember(app, caller=Caller(user=f"u{n}"))
    mine = remember(app)
    assert [one.id for one in app.engine.writing.remember(ME, note("tea at five")).similar] == [
        mine
    ]


def test_access_counts_are_no_events_and_are_written_with_the_next_flush(app: App) -> None:
    id = remember(app)
    for _ in range(3):
        app.engine.reading.note_access(ME, id)
    with app.store.reading(None) as rows:
        assert rows.accesses(ME.tenant, [id]) == {}
    app.engine.reading.flush_accesses()
    app.engine.reading.note_access(ME, id)
    app.close()
    again = open_app(app.settings)
    with again.store.reading(None) as rows:
        assert rows.accesses(ME.tenant, [id])[id][0] == 4
    assert length(again) == 1
    assert [item.id for item in again.engine.reading.list_items(ME, sort="access_count").items] == [
        id
    ]
    again.close()


def test_a_read_that_was_not_yet_written_leaves_no_trace_of_an_erased_item(app: App) -> None:
    id = remember(app)
    app.engine.reading.note_access(ME, id)
    app.engine.writing.erase(ME, id)
    app.engine.reading.flush_accesses()
    with app.store.reading(None) as rows:
        assert rows.accesses(ME.tenant, [id]) == {}


# Secrets

DRAFTS = {
    "content": note(f"key {TOKEN}"),
    "title": note("x", title=TOKEN),
    "tags": note("x", tags=(TOKEN,)),
    "metadata": note("x", attributes={"a": [{"b": TOKEN}]}),
    "tuple": note("x", attributes={"a": (TOKEN,)}),
    "speaker": Draft(blocks=(Block("x", speaker=TOKEN),)),
    "project": note("x", project=TOKEN),
    "namespace": note("x", namespace=TOKEN),
    "locator": Draft(blocks=(Block("x", locator=TOKEN),)),
    "message metadata": Draft(blocks=(Block("x", attributes={"a": TOKEN}),)),
    "name": note("x", attributes={TOKEN: 1}),
}


def leaks(app: App) -> bool:
    files = [file for file in app.settings.data.rglob("*") if file.is_file()]
    return TOKEN in str(dump(app.store)) or any(
        TOKEN.encode() in file.read_bytes() for file in files
    )


@pytest.mark.parametrize("place", DRAFTS)
def test_a_secret_is_redacted_named_and_never_written(app: App, place: Any) -> None:
    assert app.engine.writing.remember(ME, DRAFTS[place]).redactions == {"github-token": 1}
    assert not leaks(app)


def test_a_secret_is_redacted_in_every_changing_verb(app: App) -> None:
    id, other = remember(app), remember(app)
    assert app.engine.writing.revise(ME, id, Patch(title=TOKEN)).redactions == {"github-token": 1}
    assert app.engine.writing.tag(ME, id, add=[TOKEN]).redactions == {"github-token": 1}
    assert app.engine.writing.append(ME, id, [Block("x", TOKEN)]).redactions == {"github-token": 1}
    assert app.engine.writing.link(ME, id, other, "about", attributes={"a": TOKEN}).attributes == {
        "a": "[REDACTED]"
    }
    assert not leaks(app)


def test_the_name_of_a_metadata_field_tells_that_its_value_is_a_secret(app: App) -> None:
    written = app.engine.writing.remember(
        ME, note("x", attributes={"db": {"password": "Tr0ub4" + "dor&3"}, "note": "ok"})
    )
    assert written.item.attributes == {"db": {"password": "[REDACTED]"}, "note": "ok"}


def test_a_value_is_not_lost_as_a_whole_for_a_word_inside_it(app: App) -> None:
    text = "for guests the wifi password: sunshine,"
    kept = app.engine.writing.remember(ME, note("x", attributes={"remark": text})).item.attributes[
        "remark"
    ]
    assert str(kept).startswith("for guests the wifi password: ")


@pytest.mark.parametrize("place", DRAFTS)
def test_where_secrets_are_blocked_nothing_is_written(app: App, place: Any) -> None:
    error = refused(
        BlockedContent,
        engine_of(app, input_rules=InputRules(secrets="block")).writing.remember,
        ME,
        DRAFTS[place],
    )
    assert error.field
    assert TOKEN not in str(error)
    assert length(app) == 0
    assert not leaks(app)


def test_where_secrets_are_allowed_they_stay(app: App) -> None:
    written = engine_of(app, input_rules=InputRules(secrets="allow")).writing.remember(
        ME, DRAFTS["content"]
    )
    assert (texts(app, written.item.id), written.redactions) == ([f"key {TOKEN}"], {})
