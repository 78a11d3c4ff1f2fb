"""Coding sessions: what hooks have written down, and who sees it."""

from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.session_log import SessionNote, note_session
from memolith.tools.call import Call
from tests.checked import body_of, present
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
ANN = Caller("local", "ann")
READ = frozenset(("read",))
ADMIN = frozenset(("read", "admin"))
LONG_AGO = "2020-01-01T00:00:00Z"
FAR_AWAY = "2100-01-01T00:00:00Z"


def ask(
    app: App, tool: str, caller: Caller = ME, scopes: frozenset[str] = READ, **arguments: Any
) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine, scopes=scopes))
    assert outcome.ok, outcome.body
    schema = present(app.registry.find(tool)).output_schema
    jsonschema.Draft202012Validator(schema).validate(outcome.body)
    return body_of(outcome)


def write_down(
    app: App, session: str, type: str, hook: str, *ids: str, caller: Caller = ME
) -> None:
    told = SessionNote(session, type, hook, ids)
    note_session(app.store, app.engine.history.recorder, caller, told)


@pytest.fixture
def worked(app: App) -> App:
    """Two sessions of mine and one of Ann's."""
    for id in ("one", "two", "three"):
        app.engine.writing.remember(ME, note(f"Fact {id}.", id=id))
    zoo = Caller("local", "local", "zoo")
    write_down(app, "first", "injected", "SessionStart", "one", "two", caller=zoo)
    write_down(app, "first", "injected", "UserPromptSubmit", "two", caller=zoo)
    write_down(app, "first", "kept", "PreCompact", "three", caller=zoo)
    write_down(app, "theirs", "injected", "SessionStart", "one", caller=ANN)
    write_down(app, "second", "injected", "SessionStart", "three")
    return app


def ids(listed: dict[str, Any]) -> list[str]:
    return [session["session_id"] for session in listed["sessions"]]


def test_sessions_are_listed_the_newest_first_with_counts(worked: App) -> None:
    listed = ask(worked, "list_sessions")
    assert (ids(listed), listed["total"]) == (["second", "first"], 2)
    first = listed["sessions"][1]
    assert (first["project"], first["by"]) == ("zoo", "local")
    assert (first["injected"], first["kept"]) == (2, 1)
    assert first["started_at"] < first["last_at"]


def test_limit_and_offset_page_through_sessions(worked: App) -> None:
    page = ask(worked, "list_sessions", limit=1, offset=1)
    assert (ids(page), page["total"]) == (["first"], 2)


def test_sessions_can_be_limited_to_a_time(worked: App) -> None:
    first = ask(worked, "list_sessions")["sessions"][1]
    assert ids(ask(worked, "list_sessions", until=first["last_at"])) == ["first"]
    assert ids(ask(worked, "list_sessions", since=first["last_at"])) == ["second", "first"]
    assert ask(worked, "list_sessions", until=LONG_AGO)["total"] == 0
    assert ask(worked, "list_sessions", since=FAR_AWAY)["total"] == 0


def test_people_see_their_own_sessions_and_admins_all(worked: App) -> None:
    assert ids(ask(worked, "list_sessions", ANN)) == ["theirs"]
    assert ids(ask(worked, "list_sessions", scopes=ADMIN)) == ["second", "theirs", "first"]
    refused = worked.registry.run(
        "show_session", {"session_id": "theirs"}, Call(ME, worked.engine, scopes=READ)
    )
    assert refused.error is not None
    assert refused.error.status == 404
    shown = ask(worked, "show_session", scopes=ADMIN, session_id="theirs")
    assert shown["session"]["by"] == "ann"


def test_a_session_tells_what_was_given_and_kept_in_order(worked: App) -> None:
    shown = ask(worked, "show_session", session_id="first")
    assert [(moment["type"], moment["hook"]) for moment in shown["moments"]] == [
        ("injected", "SessionStart"),
        ("injected", "UserPromptSubmit"),
        ("kept", "PreCompact"),
    ]
    assert shown["moments"][0]["items"] == [
        {"id": "one", "kind": "memory", "title": "Fact one.", "forgotten": False},
        {"id": "two", "kind": "memory", "title": "Fact two.", "forgotten": False},
    ]
    assert "conversation_id" not in shown


def test_what_is_hidden_or_gone_has_no_title(worked: App) -> None:
    worked.engine.writing.forget(ME, "three")
    mine = ask(worked, "show_session", session_id="second")["moments"][0]["items"]
    assert mine == [{"id": "three", "kind": "memory", "title": "Fact three.", "forgotten": True}]
    theirs = ask(worked, "show_session", ANN, session_id="theirs")["moments"][0]["items"]
    assert theirs == [{"id": "one", "kind": None, "title": "", "forgotten": False}]


def test_an_imported_transcript_is_found(worked: App) -> None:
    talk = Draft(
        "conversation", "Talk", (Block("Hello."),), id="talk", attributes={"source_id": "first"}
    )
    worked.engine.writing.remember(ME, talk)
    shown = ask(worked, "show_session", session_id="first")
    assert shown["conversation_id"] == "talk"


def test_no_item_follows_from_a_session_and_its_events_are_listed(worked: App) -> None:
    events = ask(worked, "list_events", types=["injected", "kept"])["events"]
    assert [event["type"] for event in events] == ["injected", "kept", "injected", "injected"]
    assert ask(worked, "list_items")["total"] == 3


def test_who_is_kept_to_projects_sees_only_what_sessions_did_there(worked: App) -> None:
    kept_to_zoo = replace(ME, bound_to=("zoo",))
    kept_to_farm = replace(ME, bound_to=("farm",))
    assert ids(ask(worked, "list_sessions", kept_to_zoo)) == ["second", "first"]
    for scopes in (READ, ADMIN):
        listed = ask(worked, "list_sessions", kept_to_farm, scopes)
        assert "first" not in ids(listed)
        assert listed["total"] == len(ids(listed))
        call = Call(kept_to_farm, worked.engine, scopes=scopes)
        refused = worked.registry.run("show_session", {"session_id": "first"}, call)
        assert refused.error is not None
        assert refused.error.status == 404


def test_two_people_with_a_session_of_one_name_each_see_their_own(worked: App) -> None:
    write_down(worked, "first", "kept", "PreCompact", "one", caller=ANN)
    [theirs] = [
        session
        for session in ask(worked, "list_sessions", ANN)["sessions"]
        if session["session_id"] == "first"
    ]
    assert (theirs["by"], theirs["project"], theirs["injected"]) == ("ann", None, 0)
    shown = ask(worked, "show_session", ANN, session_id="first")
    assert shown["session"] == theirs
    assert len(shown["moments"]) == 1
    mine = ask(worked, "show_session", session_id="first")
    assert len(mine["moments"]) == 3
    everything = ask(worked, "show_session", scopes=ADMIN, session_id="first")
    assert len(everything["moments"]) == 4
