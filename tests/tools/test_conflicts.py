"""What tools tell of memories that newer ones replace, and of the dates of hits."""

from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import SCOPES
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME
from tests.stores import each_store

pytestmark = each_store
OLD = "The public API allows 600 requests per minute."
NEW = "The public API allows 900 requests per minute."
DIFFERS = "number: 600 requests became 900 requests"

WRITES: dict[str, tuple[str, dict[str, Any]]] = {
    "remember": ("content", {}),
    "create_memory": ("content", {"title": "API limit"}),
    "subcog_capture": ("content", {"namespace": "decisions"}),
    "create_concept": ("explanation", {"name": "API limit"}),
}
"""Each tool that answers with conflicts: the argument with the text, and what else it needs."""


def call(app: App, tool: str, /, scopes: frozenset[str] = SCOPES, **arguments: Any) -> Any:
    outcome = app.registry.run(tool, arguments, Call(ME, app.engine, scopes=scopes))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def write(app: App, tool: str, text: str, **more: Any) -> Any:
    field, others = WRITES[tool]
    arguments = {**others, field: text}
    if tool == "create_concept":
        # A name must be new.
        arguments["name"] += f" {len(text)} {text[-25:-20]}"
    return call(app, tool, **arguments, **more)


def id_of(body: dict[str, Any]) -> str:
    return str(body.get("id") or body["concept_id"])


@pytest.fixture
def changed(smart: App) -> dict[str, str]:
    """An old and a new memory, which has replaced it."""
    old = write(smart, "remember", OLD)
    new = write(smart, "remember", NEW)
    smart.embeddings.embed_waiting()
    return {"old": old["id"], "new": new["id"]}


@pytest.mark.parametrize("tool", WRITES)
def test_a_write_tells_what_it_replaces(smart: App, tool: str) -> None:
    first = write(smart, tool, OLD)
    assert not first.get("conflicts")
    (conflict,) = write(smart, tool, NEW)["conflicts"]
    assert conflict["id"] == id_of(first)
    assert conflict["differs"] == DIFFERS
    assert 0.8 < conflict["score"] <= 1


def test_a_key_that_may_not_read_is_told_nothing(smart: App) -> None:
    write(smart, "remember", OLD)
    told = call(smart, "remember", scopes=frozenset(("write",)), content=NEW)
    assert told["conflicts"] == []


def test_a_repeated_write_is_told_the_same(smart: App) -> None:
    write(smart, "remember", OLD)
    first = write(smart, "remember", NEW, idempotency_key="k")
    assert first["conflicts"]
    assert write(smart, "remember", NEW, idempotency_key="k") == first


@pytest.mark.parametrize("erased", ["old", "new"])
def test_an_erase_leaves_no_answer_that_tells_what_differed(smart: App, erased: str) -> None:
    old = write(smart, "remember", OLD)["id"]
    new = write(smart, "remember", NEW, idempotency_key="k")["id"]
    smart.engine.writing.erase(ME, {"old": old, "new": new}[erased])
    with smart.store.reading(ME.tenant) as rows:
        assert [answer.body for answer in rows.answers(ME.tenant)] == [""]


def test_hits_of_recall_have_dates_and_tell_what_is_superseded(
    smart: App, changed: dict[str, str]
) -> None:
    hits = {hit["id"]: hit for hit in call(smart, "recall", query="API requests")["hits"]}
    old = hits[changed["old"]]
    new = hits[changed["new"]]
    assert old["superseded_by"] == changed["new"]
    assert old["superseded_at"] == new["at"]
    assert "superseded_at" not in new
    assert old["at"] < new["at"] <= new["updated_at"]


def test_context_and_fetch_tell_what_is_superseded(smart: App, changed: dict[str, str]) -> None:
    found = call(smart, "context", query="public API requests per minute", budget_tokens=500)
    cited = {citation["id"]: citation for citation in found["citations"]}
    assert cited[changed["new"]]["at"]
    (item,) = call(smart, "fetch", ids=[changed["old"]])["items"]
    assert item["superseded_by"] == changed["new"]
    (item,) = call(smart, "fetch", ids=[changed["new"]])["items"]
    assert "superseded_by" not in item


@pytest.mark.parametrize("detail", ["light", "medium", "everything"])
def test_subcog_shows_dates_in_every_detail(
    smart: App, changed: dict[str, str], detail: str
) -> None:
    found = call(smart, "subcog_recall", query="API requests", detail=detail)["results"]
    rows = {row["id"]: row for row in found}
    assert rows[changed["old"]]["superseded_by"] == changed["new"]
    assert rows[changed["new"]]["created_at"] <= rows[changed["new"]]["updated_at"]
    assert "superseded_at" not in rows[changed["new"]]


def test_subcog_get_and_lanonasis_tell_what_is_superseded(
    smart: App, changed: dict[str, str]
) -> None:
    assert call(smart, "subcog_get", memory_id=changed["old"])["superseded_by"] == changed["new"]
    memory = call(smart, "get_memory", memory_id=changed["old"])
    assert memory["superseded_by"] == changed["new"]
    results = call(smart, "search_memories", query="API requests", threshold=0.0)["results"]
    rows = {row["id"]: row for row in results}
    assert rows[changed["old"]]["superseded_at"] == rows[changed["new"]]["created_at"]


def test_a_concept_search_has_dates_and_tells_what_is_superseded(smart: App) -> None:
    old = write(smart, "create_concept", OLD)["concept_id"]
    new = write(smart, "create_concept", NEW)["concept_id"]
    smart.embeddings.embed_waiting()
    found = call(smart, "search_concepts_semantic", query="API requests")["results"]
    rows = {row["concept_id"]: row for row in found}
    assert rows[old]["superseded_by"] == new
    assert rows[new]["created_at"] <= rows[new]["updated_at"]


def test_a_chatgpt_document_tells_what_is_superseded(smart: App, changed: dict[str, str]) -> None:
    tools = smart.registry.choose("chatgpt")
    outcome = tools.run("fetch", {"id": changed["old"]}, Call(ME, smart.engine))
    assert outcome.ok
    assert body_of(outcome)["metadata"]["superseded_by"] == changed["new"]
