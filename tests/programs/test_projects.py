"""A project is a boundary: its members see it, and a key that is bound to it sees no other."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.doors.http.auth.keys import NewKey, make_key
from memolith.engine.graph.walking import Traversal
from memolith.errors import Denied, InvalidInput, NotFound
from tests.conftest import At, note
from tests.programs.children import wait_for
from tests.programs.served import Served, thread
from tests.stores import each_store

pytestmark = each_store

PROJECT = "github.com/acme/atlas"
OTHER = "github.com/acme/budget"
WORD = "walrusque"
ADMIN = Caller("acme", "boss", admin=True)
ANN = Caller("acme", "ann", PROJECT)
BOB = Caller("acme", "bob")


@pytest.fixture
def served(at: At, tmp_path: Path) -> Iterator[Served]:
    settings = at(tmp_path / "data")
    extra: dict[str, Any] = {"database": settings.database} if settings.database else {}
    with thread(tmp_path / "data", **extra) as made:
        yield made
    at.drop(tmp_path / "data")


def in_project(text: str, project: str = PROJECT, **fields: Any) -> Draft:
    """A draft that the whole project sees."""
    return note(text, audience=Audience.PROJECT, project=project, **fields)


def bound_key(served: Served, user: str, *projects: str) -> str:
    """A key of a user that is bound to projects."""
    wanted = NewKey(user, user, "acme", projects=projects)
    secret, _ = make_key(served.app.keys, served.app.clock.now(), wanted)
    served.secrets.append(secret)
    return secret


def reads(caller: Caller, id: str) -> dict[str, Callable[[App], object]]:
    """Ways to learn of an item; each gives something false where it is hidden."""
    seen = Filter(ids=(id,))

    def of(read: Callable[[App], object]) -> Callable[[App], object]:
        def or_nothing(app: App) -> object:
            try:
                return read(app)
            except NotFound:
                return None

        return or_nothing

    return {
        "read": of(lambda app: app.engine.reading.read(caller, id)),
        "read_many": of(lambda app: app.engine.reading.read_many(caller, [id])),
        "find": of(lambda app: app.engine.reading.find(caller, "memory", id)),
        "list": of(lambda app: app.engine.reading.list_items(caller, seen).items),
        "total": of(lambda app: app.engine.reading.list_items(caller, seen).total),
        "count": of(lambda app: app.engine.reading.count_by(caller, "kind", seen)),
        "search": of(lambda app: app.engine.recall.search(caller, Query(WORD, seen)).hits),
        "total found": of(lambda app: app.engine.recall.search(caller, Query(WORD, seen)).total),
        "past": of(
            lambda app: (
                app.engine.recall.search(caller, Query(WORD, seen, as_of=app.clock.now())).hits
            )
        ),
        "history": of(lambda app: app.engine.history.history(caller, id)),
        "explore": of(lambda app: app.engine.graph.explore(caller, id, Traversal())),
        "neighbours": of(
            lambda app: [
                item
                for item in app.engine.graph.explore(caller, "hub", Traversal()).items
                if item.id == id
            ]
        ),
        "near copies": of(
            lambda app: app.engine.reading.near_copies(caller, "memory", f"The {WORD} plan.")
        ),
        "forget_all": of(lambda app: app.engine.writing.forget_all(caller, [id], "memory")),
    }


def test_a_project_without_members_is_open_to_the_tenant(app: App) -> None:
    app.engine.writing.remember(ANN, in_project(f"The {WORD} plan."))
    bob = replace(BOB, project=PROJECT)
    app.engine.projects.check(bob)
    assert app.engine.projects.members(bob, PROJECT) == []
    assert app.engine.recall.search(bob, Query(WORD)).hits
    app.engine.writing.remember(bob, in_project("Bob's part."))


def test_a_project_with_members_lets_in_nobody_else(app: App) -> None:
    app.engine.projects.add_member(ADMIN, PROJECT, "ann")
    assert app.engine.projects.members(ANN, PROJECT) == ["ann"]
    app.engine.projects.check(ANN)
    app.engine.projects.check(replace(ADMIN, project=PROJECT))
    with pytest.raises(Denied, match="is not open to you"):
        app.engine.projects.check(replace(BOB, project=PROJECT))
    # Another tenant has a project of that name of its own.
    app.engine.projects.check(Caller("globex", "bob", PROJECT))


def test_only_members_write_into_a_project(app: App) -> None:
    engine = app.engine
    own = engine.writing.remember(BOB, note("Bob's own.")).item
    was_in = engine.writing.remember(replace(BOB, project=PROJECT), in_project("Early.")).item
    engine.projects.add_member(ADMIN, PROJECT, "ann")
    engine.writing.remember(ANN, in_project("Ann's part."))
    for draft in (in_project("Bob's part."), note("Labelled.", project=PROJECT)):
        with pytest.raises(Denied, match="is not open to you"):
            engine.writing.remember(BOB, draft)
    for id, patch in (
        (own.id, Patch(project=PROJECT)),
        (own.id, Patch(project=PROJECT, audience=Audience.PROJECT)),
        (was_in.id, Patch(title="Changed for all to see")),
    ):
        with pytest.raises(Denied, match="is not open to you"):
            engine.writing.revise(BOB, id, patch)
    # What is one's own can always be taken away.
    engine.writing.forget(BOB, was_in.id)


def test_members_are_changed_by_an_admin_alone(app: App) -> None:
    engine = app.engine
    kept = engine.projects.add_member(ADMIN, PROJECT, "ann")
    for write in (
        lambda: engine.projects.add_member(ANN, PROJECT, "bob"),
        lambda: engine.projects.remove_member(ANN, PROJECT, "ann"),
        lambda: engine.projects.add_member(ANN, OTHER, "ann"),
        lambda: engine.writing.forget(ANN, kept.item.id),
        lambda: engine.writing.erase(ANN, kept.item.id),
        lambda: engine.history.undo(ANN, kept.seq),
        lambda: engine.writing.remember(
            ANN, Draft("project", OTHER, audience=Audience.PROJECT, project=OTHER)
        ),
    ):
        with pytest.raises(Denied):
            write()
    assert engine.projects.members(ADMIN, PROJECT) == ["ann"]
    assert engine.projects.members(ADMIN, OTHER) == []
    with pytest.raises(NotFound):
        engine.writing.forget(BOB, kept.item.id)


def test_members_have_a_history_and_can_be_undone_and_exported(app: App) -> None:
    engine = app.engine
    engine.projects.add_member(ADMIN, PROJECT, "ann")
    added = engine.projects.add_member(ADMIN, PROJECT, "bob")
    engine.projects.add_member(ADMIN, PROJECT, "bob")
    assert engine.projects.members(ADMIN, PROJECT) == ["ann", "bob"]
    steps = engine.history.history(ADMIN, added.item.id)
    assert [step.changes["attributes.members"][1] for step in steps] == [["ann"], ["ann", "bob"]]
    engine.history.undo(ADMIN, added.seq)
    assert engine.projects.members(ADMIN, PROJECT) == ["ann"]
    lines = list(engine.maintenance.export("acme"))
    engine.maintenance.import_(Caller("copy"), lines)
    assert engine.projects.members(Caller("copy", admin=True), PROJECT) == ["ann"]
    engine.projects.remove_member(ADMIN, PROJECT, "ann")
    engine.projects.check(replace(BOB, project=PROJECT))
    with pytest.raises(NotFound, match="is no member"):
        engine.projects.remove_member(ADMIN, PROJECT, "ann")
    engine.writing.erase(ADMIN, added.item.id)
    engine.projects.add_member(ADMIN, PROJECT, "bob")
    assert engine.projects.members(ADMIN, PROJECT) == ["bob"]


def test_a_name_that_is_stored_in_another_form_is_refused(app: App) -> None:
    for name in (" padded ", "key sk-proj-" + "a1B2" * 12):
        with pytest.raises(InvalidInput, match="another form"):
            app.engine.projects.add_member(ADMIN, name, "ann")
    assert app.engine.reading.list_items(ADMIN).total == 0


@pytest.mark.parametrize("way", list(reads(ANN, "x")))
def test_what_belongs_to_another_project_is_hidden_from_a_key_that_is_bound(
    app: App, way: str
) -> None:
    owner = Caller("acme", "ann", OTHER)
    bound = replace(owner, project=PROJECT, bound_to=(PROJECT,))
    app.engine.writing.remember(owner, note("The hub.", id="hub"))
    for id, project in (("hidden", OTHER), ("shown", PROJECT), ("plain", None)):
        draft = note(f"The {WORD} plan.", id=id, project=project)
        app.engine.writing.remember(owner, draft)
        app.engine.writing.link(owner, "hub", id, "about")
    shared = replace(owner, user="zoe")
    app.engine.writing.remember(shared, in_project(f"{WORD}!", OTHER, id="of-others"))
    if way != "near copies":
        assert not reads(bound, "hidden")[way](app)
        assert not reads(bound, "of-others")[way](app)
        assert reads(bound, "shown")[way](app)
        assert reads(bound, "plain")[way](app)
        assert reads(owner, "hidden")[way](app)
        return
    found = app.engine.reading.near_copies(bound, "memory", f"The {WORD} plan.")
    assert sorted(copy.id for copy in found) == ["plain", "shown"]


def test_a_bound_key_writes_into_no_other_project(app: App) -> None:
    bound = Caller("acme", "ann", PROJECT, bound_to=(PROJECT,))
    app.engine.writing.remember(bound, note("Here.", project=PROJECT))
    with pytest.raises(Denied, match="is not open to you"):
        app.engine.writing.remember(bound, note("There.", project=OTHER))


def test_a_bound_key_finds_by_meaning_only_what_it_may_see(smart: App) -> None:
    ann = Caller("acme", "ann")
    for number, project in enumerate((OTHER, PROJECT, None)):
        smart.engine.writing.remember(
            ann, note(f"The cat number {number} sleeps on the sofa.", project=project)
        )
    bound = replace(ann, bound_to=(PROJECT,))
    found = smart.engine.recall.search(bound, Query("a pet that naps", mode="vector"))
    assert {hit.item.project for hit in found.hits} == {PROJECT, None}


# Over HTTP


def test_a_request_that_states_a_closed_project_is_refused_through_every_door(
    served: Served,
) -> None:
    boss = served.key("boss", "acme", "read", "write", "admin")
    ann = served.key("ann", "acme")
    bob = served.key("bob", "acme")
    header = {"X_Memolith_Project": PROJECT}
    captured = served.tool(
        "subcog_capture",
        {"content": f"The {WORD} plan.", "namespace": "decisions"},
        ann,
        **header,
    ).json()
    found = served.tool("subcog_recall", {"query": WORD}, bob, **header).json()
    assert [row["id"] for row in found["results"]] == [captured["id"]]
    member = {"project": PROJECT, "user": "ann"}
    assert served.tool("add_project_member", member, bob).status_code == 403
    assert served.tool("add_project_member", member, boss).status_code == 200

    def is_closed() -> bool:
        return served.tool("overview", {}, bob, **header).status_code == 403

    # Who was let in is remembered for a second.
    wait_for(is_closed)
    refused = served.tool("recall", {"query": WORD}, bob, **header)
    assert (refused.status_code, refused.json()["field"]) == (403, "project")
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "recall", "arguments": {"query": WORD}}),
        ("resources/read", {"uri": f"subcog://memory/{captured['id']}"}),
        ("prompts/list", {}),
    ):
        assert served.mcp(method, params, bob, **header).status_code == 403
    # Without the header nothing of it is found either.
    assert served.tool("fetch", {"ids": [captured["id"]]}, bob).status_code == 404
    assert served.tool("recall", {"query": WORD}, bob).json()["hits"] == []
    assert served.tool("list_project_members", {"project": PROJECT}, bob).status_code == 403
    for tool, arguments in (
        ("remember", {"content": "x", "project": PROJECT}),
        ("create_memory", {"title": "x", "content": "x", "project_ref": PROJECT}),
    ):
        assert served.tool(tool, arguments, bob).status_code == 403
    # A member and an admin go on as before.
    for key in (ann, boss):
        hits = served.tool("recall", {"query": WORD}, key, **header).json()["hits"]
        assert [hit["id"] for hit in hits] == [captured["id"]]
    shown = served.tool("list_project_members", {"project": PROJECT}, ann, **header).json()
    assert shown == {"project": PROJECT, "members": ["ann"]}
    left = served.tool("remove_project_member", member, boss).json()
    assert left["warnings"] == [
        "The project has no members now, so it is open to the whole tenant."
    ]
    wait_for(lambda: not is_closed())


def test_a_bound_key_works_in_its_projects_only(served: Served) -> None:
    free = served.key("ann", "acme")
    both = bound_key(served, "ann", PROJECT, OTHER)
    one = bound_key(served, "ann", PROJECT)
    ids = {
        project: served.tool(
            "remember", {"content": f"{WORD} of {project}", "project": project}, free
        ).json()["id"]
        for project in (PROJECT, OTHER, "third")
    }

    def found(key: str, **headers: str) -> set[str]:
        hits = served.tool("recall", {"query": WORD}, key, **headers).json()["hits"]
        return {hit["id"] for hit in hits}

    assert found(free) == set(ids.values())
    assert found(both) == {ids[PROJECT], ids[OTHER]}
    assert found(one) == {ids[PROJECT]}
    refused = served.tool("recall", {"query": WORD}, one, X_Memolith_Project=OTHER)
    assert refused.status_code == 403
    assert f"not for the project '{OTHER}'" in refused.json()["message"]
    # It works in its only project without saying so.
    captured = served.tool(
        "subcog_capture", {"content": "Ours.", "namespace": "decisions"}, one
    ).json()
    assert captured["urn"].startswith("subcog://project/")
    assert served.tool("remember", {"content": "x", "project": OTHER}, one).status_code == 403


def test_a_key_for_admins_cannot_be_bound(served: Served) -> None:
    with pytest.raises(InvalidInput, match="cannot be bound"):
        make_key(
            served.app.keys,
            served.app.clock.now(),
            NewKey("x", scopes=("admin",), projects=(PROJECT,)),
        )


def test_an_ordinary_item_with_members_closes_no_project(app: App) -> None:
    app.engine.writing.remember(
        BOB,
        Draft("project", PROJECT, (Block("x"),), attributes={"members": ["bob"]}, project=PROJECT),
    )
    app.engine.projects.check(ANN)
    assert app.engine.projects.members(ANN, PROJECT) == []
