"""The past of an item: its history, its state at any time, and undo, which leaves no trace but in
the log.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.domain.events import Changes
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.links import Link
from memolith.domain.passages import Block, Passage
from memolith.domain.queries import Query
from memolith.engine.history import Step
from memolith.errors import Conflict, InvalidInput, NotFound, NotUndoable
from tests.conftest import ME, note
from tests.stores import each_store, tags_of

pytestmark = each_store
ANN, BOB = Caller("acme", "ann"), Caller("acme", "bob")
LONG = "A sentence that goes on for a while. " * 40
TALK = Draft(
    kind="conversation",
    blocks=(Block("hi there", "ann", "2026-01-01T10:00:00Z"), Block("hello", "bot")),
)
State = tuple[Item, str, tuple[str, ...], list[Passage]]


def state(app: App, id: str) -> State:
    """Everything of an item that undo must bring back."""
    with app.store.reading(None) as rows:
        item = rows.item(ME.tenant, id)
        assert item is not None
        # A number and a truth value are equal in Python, but not in the bytes of their JSON.
        return (
            item._replace(version=0, updated_at=""),
            json.dumps(dict(item.attributes), sort_keys=True),
            tags_of(rows, ME.tenant, id),
            rows.passages(ME.tenant, id),
        )


def links(app: App) -> list[Link]:
    with app.store.reading(None) as rows:
        return [link._replace(version=0, updated_at="") for link in rows.all_links(ME.tenant)]


def length(app: App) -> int:
    with app.store.reading(None) as rows:
        return rows.last_seq(ME.tenant)


def changed(step: Step) -> dict[str, tuple[object, object]]:
    return dict(step.changes)


# History and as_of


def test_history_tells_what_each_event_changed(app: App) -> None:
    id = app.engine.writing.remember(ME, note("one", title="t", attributes={"a": 1})).item.id
    app.engine.writing.revise(
        ME, id, Patch(title="u", blocks=(Block("two"),), attributes={"a": 2, "b": [3]})
    )
    app.engine.writing.tag(ME, id, add=["x"])
    app.engine.writing.revise(
        ME, id, Patch(dropped=("a",), audience=Audience.ORG, status="done", project="p")
    )
    app.engine.writing.forget(ME, id)
    app.engine.writing.restore(ME, id)
    steps = app.engine.history.history(ME, id)
    assert (
        " ".join(step.event.type for step in steps)
        == "remembered revised tagged revised forgotten restored"
    )
    assert [step.event.seq for step in steps] == [1, 2, 3, 4, 5, 6]
    assert {step.event.actor for step in steps} == {"local"}
    assert changed(steps[0])["text"] == (None, "one")
    assert changed(steps[1]) == {
        "title": ("t", "u"),
        "text": ("one", "two"),
        "attributes.a": (1, 2),
        "attributes.b": (None, [3]),
    }
    assert changed(steps[2]) == {"tags": ([], ["x"])}
    assert changed(steps[3]) == {
        "attributes.a": (2, None),
        "audience": ("user", "org"),
        "status": ("active", "done"),
        "project": (None, "p"),
    }
    assert changed(steps[4]) == {"forgotten": (False, True)}
    assert changed(steps[5]) == {"forgotten": (True, False)}


def test_history_tells_of_appended_messages_and_of_links(app: App) -> None:
    talk = app.engine.writing.remember(ME, TALK).item.id
    other = app.engine.writing.remember(ME, note("x")).item.id
    app.engine.writing.append(ME, talk, [Block("more", "ann")])
    link = app.engine.writing.link(ME, talk, other, "about", 0.5)
    app.engine.writing.link(ME, talk, other, "about", 0.7, again=True)
    app.engine.writing.unlink(ME, link.id)
    types = [step.event.type for step in app.engine.history.history(ME, talk)]
    assert types == ["remembered", "appended", "linked", "relinked", "unlinked"]
    _, appended, _, relinked, _ = app.engine.history.history(ME, talk)
    old, new = changed(appended)["messages"]
    assert [message["text"] for message in new[len(old) :]] == ["more"]  # type: ignore[index, arg-type]
    assert changed(relinked) == {"strength": (0.5, 0.7)}
    assert [step.event.type for step in app.engine.history.history(ME, other)] == [
        "remembered",
        "linked",
        "relinked",
        "unlinked",
    ]
    with app.store.reading(None) as rows:
        at = rows.events(ME.tenant, talk)[-1].at
    assert len(app.engine.history.history(ME, talk, until=at)) == 2


@pytest.mark.parametrize(
    "patch, told",
    [
        (Patch(attributes={"new": None}), "attributes.new"),
        (Patch(attributes={"n": True}), "attributes.n"),
        (Patch(blocks=(Block("one", at="2020-01-01"),)), None),
    ],
    ids=["null", "truth", "time"],
)
def test_history_tells_of_every_change_also_of_a_null_and_of_a_time(
    app: App, patch: Any, told: str | None
) -> None:
    id = app.engine.writing.remember(ME, note("one", attributes={"n": 1})).item.id
    assert app.engine.writing.revise(ME, id, patch).item.version == 2
    fields = changed(app.engine.history.history(ME, id)[1])
    assert fields
    assert told is None or told in fields


def test_the_state_as_of_each_step_is_what_it_was_then(app: App) -> None:
    id = app.engine.writing.remember(ME, note(LONG, title="t", id="a")).item.id
    steps: list[Callable[[], object]] = [
        lambda: None,
        lambda: app.engine.writing.revise(
            ME, id, Patch(blocks=(Block("short"), Block("second", "bob")), attributes={"a": 1})
        ),
        lambda: app.engine.writing.append(ME, id, [Block("third")]),
        lambda: app.engine.writing.tag(ME, id, add=["x", "y"]),
        lambda: app.engine.writing.forget(ME, id),
        lambda: app.engine.writing.restore(ME, id),
        lambda: app.engine.writing.tag(ME, id, remove=["x"]),
        lambda: app.engine.history.undo(ME, 7),
    ]
    seen = []
    for step in steps:
        step()
        seen.append(
            (app.engine.history.last(ME, id).at, *app.engine.reading.read(ME, id, forgotten=True))
        )
    for at, item, blocks in seen:
        assert app.engine.history.as_of(ME, id, at) == (item, blocks)
    assert app.engine.history.as_of(ME, id, "2100-01-01")[0] == seen[-1][1]
    for at in ("2000-01-01", "2000-01-01T00:00:00+02:00"):
        with pytest.raises(NotFound):
            app.engine.history.as_of(ME, id, at)


def test_a_time_that_is_none_is_refused_by_name(app: App) -> None:
    id = app.engine.writing.remember(ME, note("x")).item.id
    for call in (
        lambda: app.engine.history.as_of(ME, id, "yesterday"),
        lambda: app.engine.history.history(ME, id, until="32.1.2026"),
    ):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.field == "as_of"


def test_an_erased_item_keeps_a_bare_history_and_no_past(app: App) -> None:
    id = app.engine.writing.remember(
        ANN, note("secret plan", title="plan", audience=Audience.ORG)
    ).item.id
    app.engine.writing.erase(ANN, id)
    steps = app.engine.history.history(ANN, id)
    assert [(step.event.type, dict(step.event.data), step.changes) for step in steps] == [
        ("remembered", {}, {}),
        ("erased", {}, {}),
    ]
    with pytest.raises(NotFound):
        app.engine.history.as_of(ANN, id, "2100-01-01")
    with pytest.raises(NotFound):
        app.engine.history.history(BOB, id)


def test_an_item_made_private_is_gone_for_the_others_also_in_a_search_of_the_past(app: App) -> None:
    id = app.engine.writing.remember(ANN, note("zebra", audience=Audience.ORG)).item.id
    then = app.clock.now()
    app.engine.writing.revise(ANN, id, Patch(audience=Audience.USER))
    totals = [
        app.engine.recall.search(caller, Query("zebra", mode="text", as_of=then)).total
        for caller in (ANN, BOB)
    ]
    assert totals == [1, 0]


@pytest.mark.parametrize("path", ["history", "as_of"])
def test_what_an_item_said_while_it_was_private_stays_private(app: App, path: str) -> None:
    id = app.engine.writing.remember(ANN, note("draft about zebras")).item.id
    then = app.clock.now()
    app.engine.writing.revise(ANN, id, Patch(blocks=(Block("final"),), audience=Audience.ORG))
    assert app.engine.reading.read(BOB, id)[1][0].text == "final"
    if path == "history":
        assert "zebras" not in str(app.engine.history.history(BOB, id))
    else:
        with pytest.raises(NotFound):
            app.engine.history.as_of(BOB, id, then)


# Undo of every type of event

CHANGES: dict[str, Callable[[App, str], object]] = {
    "title": lambda app, id: app.engine.writing.revise(ME, id, Patch(title="new")),
    "text": lambda app, id: app.engine.writing.revise(
        ME, id, Patch(blocks=(Block(LONG + "The end."),))
    ),
    "several blocks": lambda app, id: app.engine.writing.revise(
        ME, id, Patch(blocks=(Block("a", "x"), Block("b", "y")))
    ),
    "only a time": lambda app, id: app.engine.writing.revise(
        ME,
        id,
        Patch(
            blocks=tuple(
                replace(block, at="2020-01-01")
                for block in app.engine.reading.read(ME, id)[1] or [Block("x")]
            )
        ),
    ),
    "status": lambda app, id: app.engine.writing.revise(ME, id, Patch(status="done")),
    "scope": lambda app, id: app.engine.writing.revise(
        ME, id, Patch(audience=Audience.PROJECT, project="p", namespace="n")
    ),
    "tags": lambda app, id: app.engine.writing.revise(ME, id, Patch(tags=("z",))),
    "metadata": lambda app, id: app.engine.writing.revise(
        ME, id, Patch(attributes={"a": 2, "b": {"c": [1]}})
    ),
    "metadata to null": lambda app, id: app.engine.writing.revise(
        ME, id, Patch(attributes={"a": None})
    ),
    "number to truth": lambda app, id: app.engine.writing.revise(
        ME, id, Patch(attributes={"a": True})
    ),
    "new null metadata": lambda app, id: app.engine.writing.revise(
        ME, id, Patch(attributes={"new": None})
    ),
    "dropped metadata": lambda app, id: app.engine.writing.revise(ME, id, Patch(dropped=("a",))),
    "dropped null": lambda app, id: app.engine.writing.revise(ME, id, Patch(dropped=("null",))),
    "everything": lambda app, id: app.engine.writing.revise(
        ME,
        id,
        Patch("new", (Block("x"),), ("q",), {"b": 1}, ("a",), "done", Audience.ORG, "p", "n"),
    ),
    "tagged": lambda app, id: app.engine.writing.tag(ME, id, add=["a", "b"], remove=["t"]),
    "appended": lambda app, id: app.engine.writing.append(
        ME, id, [Block(LONG, "ann"), Block("", "bot"), Block("x")]
    ),
    "forgotten": lambda app, id: app.engine.writing.forget(ME, id),
}
STARTS = {
    "memory": note("hi there", title="t", tags=("t", "u"), attributes={"a": 1, "null": None}),
    "long memory": note(LONG, tags=("t",), attributes={"a": 1, "null": None}),
    "conversation": replace(TALK, tags=("t",), attributes={"a": 1, "null": None}),
    "dated block": Draft(
        blocks=(Block("hi there", "ann", "2026-01-01", "p. 1", {"n": 1}),),
        tags=("t",),
        attributes={"a": 1, "null": None},
    ),
    "entity without text": Draft(
        kind="entity", title="Ann", tags=("t",), attributes={"a": 1, "null": None}
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_undo_restores_the_state_and_undo_of_the_undo_the_change(app: App, change: Any) -> None:
    for name, start in STARTS.items():
        id = app.engine.writing.remember(ME, start).item.id
        before, made = state(app, id), length(app)
        CHANGES[change](app, id)
        after = state(app, id)
        assert after != before, name
        undone = app.engine.history.undo(ME, made + 1)
        assert state(app, id) == before, name
        assert (undone.data["undoes"], undone.seq) == (made + 1, made + 2)
        app.engine.history.undo(ME, made + 2)
        assert state(app, id) == after, name
        app.engine.history.undo(ME, made + 3)
        assert state(app, id) == before, name
    assert app.engine.maintenance.verify() == []


@pytest.mark.parametrize(("year", "forgotten"), [(2020, False), (2120, True)])
def test_undo_of_a_restore_brings_the_expiry_back(app: App, year: int, forgotten: bool) -> None:
    expiry = f"{year}-01-01T00:00:00.000000Z"
    id = app.engine.writing.remember(ME, note("tea", attributes={"expires_at": expiry})).item.id
    if forgotten:
        app.engine.writing.forget(ME, id)
    restored = app.engine.writing.restore(ME, id).seq
    assert "expires_at" not in app.engine.reading.read(ME, id)[0].attributes
    undone = app.engine.history.undo(ME, restored).seq
    with app.store.reading(ME.tenant) as rows:
        item = rows.item(ME.tenant, id)
        assert item
        assert (item.attributes["expires_at"], item.forgotten) == (expiry, forgotten)
    app.engine.history.undo(ME, undone)
    assert "expires_at" not in app.engine.reading.read(ME, id)[0].attributes


def test_undo_of_remembering_forgets_and_its_undo_restores(app: App) -> None:
    id = app.engine.writing.remember(ME, note("tea")).item.id
    before = state(app, id)
    app.engine.history.undo(ME, 1)
    with pytest.raises(NotFound):
        app.engine.reading.read(ME, id)[0]
    app.engine.history.undo(ME, 2)
    assert state(app, id) == before


def test_undo_of_restoring_forgets_again(app: App) -> None:
    id = app.engine.writing.remember(ME, note("tea")).item.id
    app.engine.writing.forget(ME, id)
    app.engine.writing.restore(ME, id)
    app.engine.history.undo(ME, 3)
    assert state(app, id)[0].forgotten


def test_an_undone_text_is_found_again_by_its_words(app: App) -> None:
    id = app.engine.writing.remember(ME, note("zebra")).item.id
    app.engine.writing.revise(ME, id, Patch(blocks=(Block("giraffe"),)))
    app.engine.history.undo(ME, 2)
    totals = [
        app.engine.recall.search(ME, Query(word, mode="text")).total
        for word in ("zebra", "giraffe")
    ]
    assert totals == [1, 0]


def test_an_event_is_undone_past_later_ones_that_touched_something_else(app: App) -> None:
    id = app.engine.writing.remember(ME, note("one", title="t")).item.id
    app.engine.writing.revise(ME, id, Patch(title="u"))
    app.engine.writing.revise(ME, id, Patch(blocks=(Block("two"),)))
    app.engine.writing.tag(ME, id, add=["x"])
    app.engine.history.undo(ME, 2)
    item, blocks = app.engine.reading.read(ME, id)
    assert (item.title, blocks[0].text, item.tags) == ("t", "two", ("x",))


OVERLAPS: dict[str, tuple[Callable[[App, str], object], Callable[[App, str], object]]] = {
    "title": (
        CHANGES["title"],
        lambda app, id: app.engine.writing.revise(ME, id, Patch(title="newer")),
    ),
    "text": (CHANGES["text"], lambda app, id: app.engine.writing.append(ME, id, [Block("x")])),
    "metadata": (
        CHANGES["metadata"],
        lambda app, id: app.engine.writing.revise(ME, id, Patch(dropped=("b",))),
    ),
    "tags": (CHANGES["tagged"], lambda app, id: app.engine.writing.tag(ME, id, add=["later"])),
    "appended": (
        CHANGES["appended"],
        lambda app, id: app.engine.writing.append(ME, id, [Block("x")]),
    ),
    "forgotten": (CHANGES["forgotten"], lambda app, id: app.engine.writing.restore(ME, id)),
    "undone": (CHANGES["title"], lambda app, id: app.engine.history.undo(ME, 2)),
}


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_undo_is_refused_where_later_events_touched_the_same(app: App, overlap: Any) -> None:
    id = app.engine.writing.remember(ME, note("one", title="t", attributes={"a": 1})).item.id
    for change in OVERLAPS[overlap]:
        change(app, id)
    before = state(app, id)
    with pytest.raises(NotUndoable):
        app.engine.history.undo(ME, 2)
    assert (state(app, id), length(app)) == (before, 3)


@pytest.mark.parametrize(
    "patches",
    [
        (Patch(project="p"), Patch(audience=Audience.PROJECT)),
        (Patch(blocks=(Block("text"),)), Patch(title="")),
    ],
    ids=["project", "title"],
)
def test_undo_is_refused_where_what_is_left_would_not_be_a_valid_item(
    app: App, patches: tuple[Any, ...]
) -> None:
    app.engine.writing.remember(ME, Draft(kind="entity", title="Ann", id="a"))
    for patch in patches:
        app.engine.writing.revise(ME, "a", patch)
    with pytest.raises(NotUndoable):
        app.engine.history.undo(ME, 2)
    assert length(app) == 3


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_what_was_erased_cannot_be_undone(app: App, seq: int) -> None:
    id = app.engine.writing.remember(ME, note("one")).item.id
    app.engine.writing.revise(ME, id, Patch(title="t"))
    app.engine.writing.erase(ME, id)
    with pytest.raises(NotUndoable):
        app.engine.history.undo(ME, seq)
    assert length(app) == 3


@pytest.mark.parametrize("seq", [3, 4, 5, 6])
def test_a_link_erased_with_its_item_cannot_be_undone(app: App, seq: int) -> None:
    a, b = (app.engine.writing.remember(ME, note(text)).item.id for text in "ab")
    link = app.engine.writing.link(ME, a, b, "about")
    app.engine.writing.link(ME, a, b, "about", 0.5, again=True)
    app.engine.writing.unlink(ME, link.id)
    app.engine.writing.erase(ME, a)
    with pytest.raises(NotUndoable):
        app.engine.history.undo(ME, seq)
    assert length(app) == 7


@pytest.mark.parametrize("seq", [0, -1, 2, 10**30])
def test_an_event_that_is_not_there_cannot_be_undone(app: App, seq: int) -> None:
    app.engine.writing.remember(ME, note("one"))
    with pytest.raises(NotFound):
        app.engine.history.undo(ME, seq)
    with pytest.raises(NotFound):
        app.engine.history.undo(ANN, 1)


# Links


def test_undo_of_linking_relinking_and_unlinking_and_back_again(app: App) -> None:
    a, b = (app.engine.writing.remember(ME, note(text)).item.id for text in "ab")
    link = app.engine.writing.link(ME, a, b, "about", 0.5, {"n": 1})
    made = links(app)
    app.engine.writing.link(ME, a, b, "about", 0.9, again=True)
    relinked = links(app)
    app.engine.history.undo(ME, 4)
    assert links(app) == made
    app.engine.history.undo(ME, 5)
    assert links(app) == relinked
    app.engine.writing.unlink(ME, link.id)
    app.engine.history.undo(ME, 7)
    assert links(app) == relinked
    app.engine.history.undo(ME, 8)
    assert links(app) == []
    app.engine.history.undo(ME, 9)
    assert links(app) == relinked
    app.engine.history.undo(ME, 3)
    assert links(app) == []
    assert app.engine.maintenance.verify() == []


def test_undo_of_a_link_event_is_refused_where_the_link_went_on(app: App) -> None:
    a, b = (app.engine.writing.remember(ME, note(text)).item.id for text in "ab")
    link = app.engine.writing.link(ME, a, b, "about", 0.1)
    app.engine.writing.link(ME, a, b, "about", 0.2, again=True)
    app.engine.writing.link(ME, a, b, "about", 0.3, again=True)
    with pytest.raises(NotUndoable):
        app.engine.history.undo(ME, 4)
    app.engine.writing.unlink(ME, link.id)
    for seq in (3, 5):
        with pytest.raises(NotUndoable):
            app.engine.history.undo(ME, seq)
    assert length(app) == 6


def test_a_cut_link_does_not_come_back_beside_a_new_one_of_the_same_type(app: App) -> None:
    a, b = (app.engine.writing.remember(ME, note(text)).item.id for text in "ab")
    app.engine.writing.unlink(ME, app.engine.writing.link(ME, a, b, "about").id)
    app.engine.writing.link(ME, a, b, "about")
    with pytest.raises(NotUndoable):
        app.engine.history.undo(ME, 4)
    assert length(app) == 5


# Undo keeps what must always hold


def topic(app: App, id: str, parent: str | None = None) -> None:
    attributes = {"parent_topic_id": parent} if parent else {}
    app.engine.writing.remember(ME, Draft("topic", id.title(), id=id, attributes=attributes))


def move(app: App, id: str, parent: str | None) -> int:
    """Move a topic; returns the number of the event."""
    patch = Patch(attributes={"parent_topic_id": parent} if parent else {})
    if parent is None:
        patch = Patch(dropped=("parent_topic_id",))
    return app.engine.writing.revise(ME, id, patch).seq


def test_an_undo_that_would_put_a_topic_below_itself_is_refused(app: App) -> None:
    topic(app, "birds")
    topic(app, "owls", "birds")
    freed = move(app, "owls", None)
    move(app, "birds", "owls")
    with pytest.raises(NotUndoable, match="below itself"):
        app.engine.history.undo(ME, freed)
    with pytest.raises(InvalidInput, match="below itself"):
        move(app, "owls", "birds")


def test_an_undo_that_would_put_a_topic_below_one_that_is_gone_is_refused(app: App) -> None:
    topic(app, "birds")
    topic(app, "owls", "birds")
    freed = move(app, "owls", None)
    app.engine.writing.forget(ME, "birds")
    with pytest.raises(NotUndoable, match="no topic 'birds'"):
        app.engine.history.undo(ME, freed)


def test_a_topic_with_topics_below_it_cannot_be_taken_away_by_undo_or_forget(app: App) -> None:
    topic(app, "birds")
    made = length(app)
    topic(app, "owls", "birds")
    with pytest.raises(Conflict, match="below this one"):
        app.engine.history.undo(ME, made)
    with pytest.raises(Conflict, match="below this one"):
        app.engine.writing.forget(ME, "birds")


def test_an_undo_that_would_take_a_taken_name_is_refused(app: App) -> None:
    app.engine.writing.remember(ME, Draft("project", "Apollo", id="first"))
    renamed = app.engine.writing.revise(ME, "first", Patch(title="Gemini")).seq
    app.engine.writing.remember(ME, Draft("project", "Apollo", id="second"))
    with pytest.raises(NotUndoable, match="Apollo"):
        app.engine.history.undo(ME, renamed)


def test_a_cycle_of_topics_that_was_stored_once_stops_nothing(app: App) -> None:
    topic(app, "birds")
    topic(app, "owls", "birds")
    topic(app, "eagles")
    with app.store.writing(ME.tenant) as rows:
        birds = rows.item(ME.tenant, "birds")
        assert birds is not None
        looped = birds._replace(attributes={"parent_topic_id": "owls"})
        rows.apply(Changes(before=birds, item=looped))
    move(app, "eagles", "owls")
    assert app.engine.reading.find(ME, "topic", "eagles") is not None
