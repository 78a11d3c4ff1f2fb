"""Captures of the Subcog family: the documented examples, every parameter, and what the first one
got wrong.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.tools.call import Call
from tests.conftest import ME, At, note, show_everything
from tests.stores import each_store
from tests.tools.subcog_calls import capture, found, refused, run

pytestmark = each_store
POSTGRES = "Use PostgreSQL for primary storage because of JSONB support"


def aged(app: App, id: str, days: float, **attributes: Any) -> None:
    """Bring in a memory of the past."""
    at = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    app.engine.maintenance.import_(
        ME,
        [
            json.dumps(
                {
                    "event": {
                        "seq": 1,
                        "stream": id,
                        "version": 1,
                        "type": "remembered",
                        "actor": "local",
                        "at": at,
                        "key": None,
                        "data": {
                            "kind": "memory",
                            "title": id,
                            "status": "active",
                            "owner": "local",
                            "audience": "user",
                            "project": None,
                            "namespace": "context",
                            "tags": [],
                            "attributes": attributes,
                            "blocks": [{"text": f"about {id}"}],
                            "chunker": 1,
                        },
                    }
                }
            )
        ],
    )


def test_the_documented_capture_and_recall(app: App) -> None:
    made = run(
        app,
        "capture",
        namespace="decisions",
        content=POSTGRES,
        tags=["database", "architecture"],
        source="ARCHITECTURE.md",
    )
    assert made == {"id": made["id"], "urn": f"subcog://user/decisions/{made['id']}"}
    answer = run(
        app,
        "recall",
        query="database storage decision",
        filter="ns:decisions since:7d",
        mode="hybrid",
        detail="medium",
        limit=5,
    )
    (hit,) = answer["results"]
    assert 0 < hit.pop("score") <= 1
    assert hit.pop("created_at") == hit.pop("updated_at")
    assert hit == {
        "id": made["id"],
        "namespace": "decisions",
        "tags": ["architecture", "database"],
        "content": POSTGRES,
        "uri": f"subcog://memory/{made['id']}",
        "urn": made["urn"],
    }
    assert answer["total"] == 1


def test_every_namespace_is_taken_and_another_is_refused_with_the_list(app: App) -> None:
    names = [one["name"] for one in run(app, "namespaces")["namespaces"]]
    assert len(names) == 12
    for name in names:
        assert found(app, namespace=name) == []
        assert found(app, namespace=name) == [] == found(app, filter=f"ns:{name}")
        id = capture(app, f"Something about {name}.", name)
        assert found(app, namespace=name) == [id] == found(app, filter=f"namespace:{name}")
    assert (
        run(app, "get", memory_id=capture(app, "Tidy this up.", "tech_debt"))["namespace"]
        == "tech-debt"
    )
    code, field, words = refused(app, "capture", content="x", namespace="zoo")
    assert (code, field) == (-32602, "namespace")
    assert all(name in words for name in names)
    decisions = run(app, "namespaces")["namespaces"][0]
    assert decisions["signal_words"] == ["decided", "chose", "going with"]


def test_the_domain_says_who_sees_a_capture_and_a_stated_project_counts(app: App) -> None:
    ann, bob = (Caller(user=name, project="github.com/acme/widgets") for name in ("ann", "bob"))
    eve = Caller(user="eve")
    made = {
        domain: run(
            app, "capture", ann, content=f"For the {domain}.", namespace="config", domain=domain
        )
        for domain in ("project", "user", "org")
    }
    assert [made[domain]["urn"].split("/")[2] for domain in made] == ["project", "user", "org"]
    seen = {
        who.user: {row["id"] for row in run(app, "recall", who)["results"]}
        for who in (ann, bob, eve)
    }
    ids = {domain: one["id"] for domain, one in made.items()}
    assert seen == {
        "ann": set(ids.values()),
        "bob": {ids["project"], ids["org"]},
        "eve": {ids["org"]},
    }
    whole = run(app, "get", bob, memory_id=ids["project"])
    assert (whole["project"], whole["domain"]) == ("github.com/acme/widgets", "project")
    assert run(app, "get", ann, memory_id=ids["user"])["project"] is None
    assert refused(app, "get", eve, memory_id=ids["project"])[0] == -32604


def test_a_user_and_an_agent_are_kept_with_a_capture_and_found_again(app: App) -> None:
    one = capture(app, "By an agent.", agent_id="planner", tags=["x"])
    two = capture(app, "For a user.", user_id="maria")
    tagged = app.engine.writing.remember(
        ME, note("Tagged by hand.", tags=("agent:planner",))
    ).item.id
    assert set(found(app, agent_id="planner")) == {one, tagged}
    assert found(app, user_id="maria") == [two]
    assert found(app, user_id="maria", agent_id="planner") == []
    run(app, "update", memory_id=one, tags=["y"])
    assert one in found(app, agent_id="planner")
    assert found(app, agent_id="planner", query="hand") == [tagged]


def test_a_ttl_sets_when_a_capture_ends_and_zero_keeps_it(app: App) -> None:
    kept = capture(app, "Stays a week.", ttl="7d")
    ever = capture(app, "Stays.", ttl="0")
    whole = run(app, "get", memory_id=kept)
    left = datetime.fromisoformat(whole["expires_at"]) - datetime.fromisoformat(whole["created_at"])
    assert abs(left - timedelta(days=7)) < timedelta(minutes=5)
    assert run(app, "get", memory_id=ever)["expires_at"] is None


def test_a_capture_is_gone_when_its_time_is_over(app: App) -> None:
    kept = capture(app, "Stays a week.", ttl="7d")
    ever = capture(app, "Stays.", ttl="0")
    aged(app, "stale", 10, expires_at="2026-01-01T00:00:00.000000Z")
    assert set(found(app)) == {kept, ever}
    assert found(app, query="stale") == []
    assert refused(app, "get", memory_id="stale")[0] == -32604
    assert refused(app, "update", memory_id="stale", tags=["x"])[0] == -32604
    assert app.engine.reading.count_by(ME, "kind") == {"memory": 2}


def test_a_restored_capture_outlives_its_time_and_gc_purges_the_others(app: App) -> None:
    kept = capture(app, "Stays a week.", ttl="7d")
    aged(app, "stale", 10, expires_at="2026-01-01T00:00:00.000000Z")
    assert found(app) == [kept]
    aged(app, "older", 20, expires_at="2026-01-01T00:00:00.000000Z")
    app.engine.writing.restore(ME, "stale")
    assert set(found(app)) == {kept, "stale"}
    assert run(app, "gc", purge=True)["purged"] == 1
    assert app.engine.history.last(ME, "older").type == "erased"
    assert app.engine.maintenance.verify() == []


@pytest.mark.parametrize("ttl", ["soon", "7", "-1d", "1.5h", "200000w"])
def test_a_ttl_that_is_no_length_of_time_is_refused(app: App, ttl: str) -> None:
    answer = refused(app, "capture", content="x", namespace="config", ttl=ttl)
    assert answer[:2] == (-32608, "ttl")


def test_a_retried_capture_with_a_ttl_is_kept_once(app: App) -> None:
    call = Call(ME, app.engine, idempotency_key="k")
    arguments = {"content": "Once.", "namespace": "config", "ttl": "1h"}
    first, second = (
        app.registry.run("subcog_capture", arguments, call).body["id"] for _ in range(2)
    )
    assert first == second


def test_secrets_are_redacted_in_text_and_title_and_a_blocking_server_refuses(
    at: At, tmp_path: Path
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"{'x' * 60} the deploy token is {token}"
    app = open_app(at(tmp_path / "redacting"))
    made = run(app, "capture", content=text, namespace="security", source=f"env:{token}")
    assert sum(made["redactions"].values()) == 2
    whole = run(app, "get", memory_id=made["id"])
    assert "[REDACTED]" in whole["content"]
    item = app.engine.reading.read(ME, made["id"])[0]
    assert "ghp_" not in json.dumps([whole, item.title])
    assert "redactions" in run(app, "update", memory_id=made["id"], content=f"now {token}")
    app.close()
    app = open_app(at(tmp_path / "redacting").model_copy(update={"secrets": "block"}))
    assert refused(app, "capture", content=text, namespace="security")[:2] == (-32605, "content")
    app.close()


def test_what_is_nearly_the_same_is_told_and_kept(app: App) -> None:
    first = capture(app, POSTGRES)
    again = run(app, "capture", content=POSTGRES, namespace="decisions")
    assert first in again["warnings"][0]
    assert set(found(app)) == {first, again["id"]}


@pytest.mark.parametrize("query", [None, "", "*", " * "])
def test_without_a_query_memories_are_listed_in_pages_that_neither_overlap_nor_skip(
    app: App, query: str | None
) -> None:
    ids = [capture(app, f"Number {n}", "progress" if n % 2 else "apis") for n in range(9)]
    asked: dict[str, Any] = {} if query is None else {"query": query}
    assert found(app, **asked) == ids[::-1]
    assert [
        id for offset in (0, 4, 8) for id in found(app, **asked, limit=4, offset=offset)
    ] == ids[::-1]
    assert run(app, "recall", **asked, limit=2)["total"] == 9
    assert found(app, **asked, namespace="apis") == ids[::-2]
    assert found(app, **asked, namespace="apis", filter="ns:apis,progress") == ids[::-2]
    assert found(app, **asked, namespace="apis", filter="ns:progress") == []


def test_pages_of_a_search_neither_overlap_nor_skip(app: App) -> None:
    for n in range(9):
        capture(app, f"zebra {'stripe ' * n}")
    whole = found(app, query="zebra")
    assert len(whole) == 9
    assert [
        id for offset in (0, 4, 8) for id in found(app, query="zebra", limit=4, offset=offset)
    ] == whole
    for n in range(45):
        capture(app, f"zebra number {n}")
    assert [len(found(app)), len(found(app, query="zebra"))] == [50, 10]


def test_the_three_levels_of_detail(app: App) -> None:
    id = capture(app, "word " * 100, source="a.md", tags=["t"])
    light, medium, whole = (
        run(app, "recall", query="word", detail=detail)["results"][0]
        for detail in ("light", "medium", "everything")
    )
    dates = {"created_at", "updated_at"}
    assert light.keys() == {"id", "urn", "uri", "namespace", "tags"} | dates
    assert medium["content"] == ("word " * 100)[:200] + "…"
    assert whole["content"] == "word " * 100
    assert (whole["source"], whole["status"], whole["id"]) == ("a.md", "active", id)
    listed = run(app, "recall")["results"][0]
    assert listed["content"] == medium["content"]
    assert "score" not in listed


def test_the_three_modes(smart: App) -> None:
    show_everything(smart)
    meant = capture(smart, "The feline slept all afternoon.")
    named = capture(smart, "Run cat file.txt to print it.")
    assert found(smart, query="a cat taking a nap", mode="vector")[0] == meant
    assert found(smart, query="cat", mode="text") == [named]
    assert set(found(smart, query="cat", mode="hybrid")) == {meant, named}
    scores = [hit["score"] for hit in run(smart, "recall", query="a cat taking a nap")["results"]]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) < 1


def test_get_takes_ids_addresses_and_urns_and_counts_as_a_reading(app: App) -> None:
    made = run(app, "capture", content=POSTGRES, namespace="decisions", source="a.md")
    id = made["id"]
    for name in (
        id,
        made["urn"],
        f"subcog://memory/{id}",
        f"subcog://_/decisions/{id}",
        f"subcog://_/_/{id}",
    ):
        assert run(app, "get", memory_id=name)["content"] == POSTGRES
    for name in (
        f"subcog://org/decisions/{id}",
        f"subcog://user/apis/{id}",
        "nope",
        "subcog://memory/nope",
    ):
        assert refused(app, "get", memory_id=name)[:2] == (-32604, "memory_id")
    assert app.engine.reading.accesses(ME, [id])[id][0] == 5


def test_an_update_changes_text_and_tags_and_is_found_anew(smart: App) -> None:
    id = capture(smart, "The cache lives in Redis.", tags=["cache"])
    before = run(smart, "get", memory_id=id)
    answer = run(smart, "update", memory_id=id, content="Sessions are kept in signed cookies.")
    assert (answer["updated"], answer["tags"]) == (["content"], ["cache"])
    assert found(smart, query="signed cookies", mode="text") == [id]
    assert found(smart, query="Redis", mode="text") == []
    hit = run(smart, "recall", query="where are logins remembered?", mode="vector")["results"][0]
    assert hit["content"].startswith("Sessions")
    assert run(smart, "update", memory_id=id, tags=["session"])["tags"] == ["session"]
    after = run(smart, "get", memory_id=id)
    assert after["created_at"] == before["created_at"]
    assert after["updated_at"] > before["updated_at"]
    assert smart.engine.reading.read(ME, id)[0].title == "Sessions are kept in signed cookies."
    assert refused(smart, "update", memory_id=id)[:2] == (-32608, "content")
    assert refused(smart, "update", memory_id="nope", tags=[])[:2] == (-32604, "memory_id")


def test_a_delete_leaves_a_tombstone_that_can_be_restored_and_hard_erases(app: App) -> None:
    id = capture(app, "Remove me.")
    assert run(app, "delete", memory_id=id)["status"] == "tombstoned"
    assert (
        refused(app, "get", memory_id=id)[0]
        == refused(app, "update", memory_id=id, tags=[])[0]
        == -32604
    )
    assert refused(app, "delete", memory_id=id)[0] == -32604
    assert (
        found(app),
        found(app, filter="status:tombstoned"),
        found(app, filter="status:deleted"),
    ) == ([], [id], [id])
    app.engine.writing.restore(ME, id)
    assert found(app) == [id]
    run(app, "delete", memory_id=id)
    assert run(app, "delete", memory_id=id, hard=True)["status"] == "erased"
    assert found(app, filter="status:tombstoned") == []


def test_what_lanonasis_writes_is_a_capture_too_and_the_other_way_round(app: App) -> None:
    made = app.registry.run(
        "create_memory",
        {
            "title": "Deploys",
            "content": "Need the VPN.",
            "memory_type": "workflow",
            "tags": ["ops"],
        },
        Call(ME, app.engine),
    ).body
    assert found(app, filter="ns:patterns tag:ops") == [made["id"]]
    assert run(app, "get", memory_id=made["id"])["namespace"] == "patterns"
    id = capture(app, "First line.\nSecond line.", "tech-debt")
    theirs = app.registry.run("get_memory", {"memory_id": id}, Call(ME, app.engine)).body
    assert (theirs["title"], theirs["memory_type"]) == ("First line.", "project")
    app.registry.run("update_memory", {"memory_id": id, "status": "draft"}, Call(ME, app.engine))
    assert found(app, filter="status:pending") == [id]
    assert run(app, "get", memory_id=id)["status"] == "pending"


def test_empty_and_unknown_arguments_are_refused_by_name(app: App) -> None:
    refusals: list[tuple[int, str, dict[str, Any]]] = [
        (-32602, "content", {"content": "", "namespace": "config"}),
        (-32608, "content", {"content": " \n", "namespace": "config"}),
        (-32602, "agent_id", {"content": "x", "namespace": "config", "agent_id": "a" * 61}),
        (-32608, "tags", {"content": "x", "namespace": "config", "tags": [" "]}),
    ]
    for code, field, arguments in refusals:
        assert refused(app, "capture", **arguments)[:2] == (code, field)
    assert refused(app, "recall", filter="ns:decisions colour:red")[1] == "filter"
    assert refused(app, "recall", limit=1001)[1] == "limit"
    assert found(app) == []
