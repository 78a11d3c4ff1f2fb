"""A call that is repeated under its idempotency key: one effect, and its first answer."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.clock import shifted
from memolith.domain.items import Patch
from memolith.domain.passages import Block
from memolith.engine.idempotency import DAYS_KEPT, Once, Request
from memolith.engine.transactions import Transactions
from memolith.engine.validation import InputRules
from memolith.engine.work_ahead import WorkAhead
from memolith.errors import Conflict, MemolithError, StoreBusy
from memolith.tools.call import Call
from memolith.tools.signature import Signature
from tests.checked import call_with_key
from tests.conftest import ME, note
from tests.stores import dump, each_store

pytestmark = each_store
ANN = Caller("acme", "ann")
BOB = Caller("acme", "bob")
STRANGER = Caller("globex", "ann")
TOKEN = "gh" + "p_" + "Ab3" * 12


def length(app: App, caller: Caller = ME) -> int:
    with app.store.reading(None) as rows:
        return rows.last_seq(caller.tenant)


def everything(app: App) -> str:
    """All that the store holds, kept answers included."""
    with app.store.reading(None) as rows:
        return f"{dump(app.store)} {rows.answers(ME.tenant)}"


def refused(app: App, tool: str, arguments: dict[str, Any], key: str) -> MemolithError:
    with pytest.raises(Conflict) as caught:
        call_with_key(app, tool, arguments, key)
    return caught.value


def test_a_repeated_write_gets_the_first_answer_although_the_item_has_changed(app: App) -> None:
    arguments = {"content": "tea at five", "metadata": {"a": 1, "b": 2}}
    first = call_with_key(app, "remember", arguments, "k")
    call_with_key(app, "revise", {"id": first["id"], "title": "later"}, None)
    assert call_with_key(app, "remember", arguments, "k") == first
    assert length(app) == 2


def test_a_default_that_is_spelled_out_does_not_make_a_repeated_call_another_one(app: App) -> None:
    first = call_with_key(app, "remember", {"content": "tea"}, "k")
    spelled_out = {"content": "tea", "kind": "memory", "title": "", "tags": None, "project": None}
    assert call_with_key(app, "remember", spelled_out, "k") == first
    assert length(app) == 1
    refused(app, "remember", {"content": "tea", "kind": "conversation"}, "k")


def test_an_answer_that_the_version_before_kept_is_given_again(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = {"content": "tea", "kind": "memory"}
    with monkeypatch.context() as before:
        before.setattr(Signature, "without_defaults", lambda self, given: dict(given))
        first = call_with_key(app, "remember", arguments, "k")
    assert call_with_key(app, "remember", arguments, "k") == first


def test_the_order_of_metadata_does_not_make_a_repeated_call_another_one(app: App) -> None:
    first = call_with_key(app, "remember", {"content": "tea", "metadata": {"a": 1, "b": 2}}, "k")
    again = call_with_key(app, "remember", {"content": "tea", "metadata": {"b": 2, "a": 1}}, "k")
    assert again == first


@pytest.mark.parametrize(
    "text", ["The zebra drinks tea at five.", "The zebra drinks tea at five, always alone."]
)
def test_a_repeated_write_reports_the_same_duplicates_exact_or_near(app: App, text: str) -> None:
    twin = app.engine.writing.remember(ME, note("the zebra drinks tea at five.")).item.id
    for _ in range(2):
        assert call_with_key(app, "remember", {"content": text}, "k")["similar"] == [twin]


def test_a_repeated_change_reports_the_same_redactions(app: App) -> None:
    id = app.engine.writing.remember(ME, note("tea")).item.id
    first = call_with_key(app, "subcog_update", {"memory_id": id, "content": TOKEN}, "k")
    app.engine.writing.tag(ME, id, add=["later"])
    assert first["redactions"] == {"github-token": 1}
    assert call_with_key(app, "subcog_update", {"memory_id": id, "content": TOKEN}, "k") == first
    assert length(app) == 3


def test_a_key_used_for_other_arguments_or_another_tool_is_a_conflict(app: App) -> None:
    id = call_with_key(app, "remember", {"content": "one"}, "k")["id"]
    errors = [
        refused(app, "remember", {"content": "two"}, "k"),
        refused(app, "revise", {"id": id, "title": "one"}, "k"),
        refused(app, "create_memory", {"title": "one", "content": "one"}, "k"),
    ]
    assert [error.field for error in errors] == ["idempotency_key"] * 3
    assert length(app) == 1


def test_keys_are_per_user_and_per_tenant(app: App) -> None:
    callers = (ANN, BOB, STRANGER)
    made = [call_with_key(app, "remember", {"content": "same"}, "k", caller) for caller in callers]
    assert len({answer["id"] for answer in made}) == 3


def test_a_call_that_failed_is_tried_again_under_its_key(app: App) -> None:
    with pytest.raises(MemolithError):
        call_with_key(app, "forget", {"id": "soon"}, "k")
    app.engine.writing.remember(ME, note("tea", id="soon"))
    assert call_with_key(app, "forget", {"id": "soon"}, "k")["id"] == "soon"


def test_a_call_that_found_nothing_to_do_does_nothing_later_either(app: App) -> None:
    first = call_with_key(app, "bulk_delete_memories", {"memory_ids": ["soon"]}, "k")
    app.engine.writing.remember(ME, note("tea", id="soon"))
    assert call_with_key(app, "bulk_delete_memories", {"memory_ids": ["soon"]}, "k") == first
    assert length(app) == 1


def test_calls_with_one_key_at_the_same_moment_have_one_effect_and_one_answer(app: App) -> None:
    start = threading.Barrier(6)

    def remember(_: int) -> str:
        start.wait()
        return str(call_with_key(app, "remember", {"content": "tea"}, "k")["id"])

    with ThreadPoolExecutor(6) as threads:
        ids = set(threads.map(remember, range(6)))
    assert len(ids) == 1
    assert length(app) == 1


def test_a_key_can_be_used_anew_when_its_answer_is_no_longer_kept(app: App) -> None:
    class Later:
        def now(self) -> str:
            return shifted(app.clock.now(), (DAYS_KEPT + 1) * 86400)

    first = call_with_key(app, "remember", {"content": "tea"}, "k")
    transactions = Transactions(app.store, print)
    later = Once(transactions, Later(), app._cipher, WorkAhead(transactions, InputRules()))
    request = Request("remember", {"content": "tea"}, "k")
    answer = later.run(ME, request, lambda: {"id": "new"}, lambda result: {**result})
    assert answer["id"] != first["id"]
    later.forget_old_answers()
    with app.store.reading(None) as rows:
        assert [kept.body for kept in rows.answers(ME.tenant)] == ['{"id": "new"}']


def test_an_answer_that_quotes_an_erased_item_is_erased_with_it(app: App) -> None:
    arguments = {"title": "Quixotic", "content": "The zymurgy of the flibbergibbet."}
    id = call_with_key(app, "create_memory", arguments, "k")["id"]
    call_with_key(app, "erase_item", {"id": id}, "e")
    text = everything(app).lower()
    assert [word for word in ("quixotic", "zymurgy") if word in text] == []
    assert "erased" in refused(app, "create_memory", arguments, "k").message
    assert call_with_key(app, "erase_item", {"id": id}, "e")["erased"] == id


def test_an_answer_about_an_erased_item_that_quotes_nothing_of_it_is_kept(app: App) -> None:
    arguments = {"content": "The zymurgy of the flibbergibbet."}
    first = call_with_key(app, "remember", arguments, "k")
    app.engine.writing.erase(ME, first["id"])
    assert call_with_key(app, "remember", arguments, "k") == first


def test_an_answer_that_quotes_what_an_erased_item_once_was_is_erased(app: App) -> None:
    arguments = {"title": "Tea", "content": "The zymurgy of the flibbergibbet."}
    id = call_with_key(app, "create_memory", arguments, "k")["id"]
    app.engine.writing.revise(ME, id, Patch(title="Coffee", blocks=(Block("Nothing else."),)))
    app.engine.writing.erase(ME, id)
    assert "zymurgy" not in everything(app)


def test_a_key_with_fewer_rights_is_not_told_the_answer_of_one_with_more(app: App) -> None:
    call_with_key(app, "create_memory", {"title": "Tea", "content": "At five."}, "k")
    call = Call(ME, app.engine, idempotency_key="k", scopes=frozenset(["write"]))
    outcome = app.registry.run("create_memory", {"title": "Tea", "content": "At five."}, call)
    assert isinstance(outcome.error, Conflict)


def test_what_fails_after_the_commit_neither_undoes_nor_hides_the_write(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.engine.writing.remember(ME, note("tea", id="old"))
    app.engine.writing.remember(ME, note("coffee", id="kept"))

    def busy() -> bool:
        raise StoreBusy

    monkeypatch.setattr(app.store, "shred", busy)
    assert call_with_key(app, "erase_item", {"id": "old"}, "k")["erased"] == "old"
    assert app.engine.maintenance.verify() == []


def test_a_new_value_of_the_vault_is_told_again_but_kept_only_as_ciphertext(app: App) -> None:
    project = call_with_key(app, "create_project", {"name": "Zoo"}, None)["id"]
    key = {"name": "Zoo", "type": "api_key", "value": "old", "environment": "staging"}
    id = call_with_key(app, "create_api_key", {**key, "project_id": project}, None)["id"]
    first = call_with_key(app, "rotate_api_key", {"key_id": id}, "k")
    assert call_with_key(app, "rotate_api_key", {"key_id": id}, "k") == first
    assert first["new_value"] not in everything(app)
