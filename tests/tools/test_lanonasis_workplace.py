"""LanOnasis beside the memories: health, settings, projects, keys, topics, documentation, and who
sees what.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.engine.tenant_settings import KEYS
from memolith.errors import DiskFull, MemolithError, StoreBusy
from memolith.store_copy import copy_everything
from memolith.tools.call import Call
from memolith.tools.lanonasis.dialect import lanonasis
from tests.checked import present
from tests.conftest import At, note
from tests.programs.served import Served, thread, wait_for_room_in_the_minute
from tests.stores import each_store, each_store_in_full_run
from tests.tools.lanonasis_calls import MISSING, create, refused, run

pytestmark = each_store

BOB = Caller(user="bob")
KEY: dict[str, Any] = {
    "name": "OpenAI API Key",
    "type": "api_key",
    "value": "sk-canary-4711",
    "environment": "production",
}


@pytest.fixture
def project(app: App) -> str:
    return str(run(app, "create_project", name="Shop")["id"])


# Health and settings


def test_health_tells_whether_the_model_is_loaded(app: App, smart: App) -> None:
    services = {"database": "healthy", "cache": "healthy", "embeddings": "unhealthy"}
    assert run(app, "health_check")["services"] == services
    present(smart.embedder).wait(30)
    body = run(smart, "health_check")
    assert (body["status"], body["services"]["embeddings"]) == ("healthy", "healthy")
    assert body["uptime"] > 0
    assert run(smart, "intelligence_health_check")["services"] == {
        "embedding": "healthy",
        "analysis": "built-in",
    }


def test_a_setting_is_parsed_by_its_type_keeps_its_history_and_holds_in_every_process(
    app: App, tmp_path: Path, at: At
) -> None:
    assert run(app, "get_config", key="max_memories") == {
        "key": "max_memories",
        "value": 1_000_000,
        "type": "int",
        "history": [],
        "description": KEYS["max_memories"].about,
    }
    assert run(app, "get_config", key="embedding_model")["value"] == "none"
    set_to = run(app, "set_config", key="max_memories", value="10000")
    assert (set_to["value"], set_to["previous_value"]) == (10_000, 1_000_000)
    run(app, "set_config", key="max_memories", value="20000")
    other = open_app(at(tmp_path / "data"))
    body = run(other, "get_config", key="max_memories")
    assert [(step["value"], step["by"]) for step in body["history"]] == [
        (10_000, "local"),
        (20_000, "local"),
    ]
    assert run(app, "get_config", Caller("other"), key="max_memories")["value"] == 1_000_000, (
        "tenants differ"
    )
    other.close()


@pytest.mark.parametrize(
    "key,value,code,field",
    [
        ("max_memories", "many", -32005, "value"),
        ("max_memories", "0", -32005, "value"),
        ("max_memories", "1.5", -32005, "value"),
        ("max_memories", "nan", -32005, "value"),
        ("search_threshold", "1.01", -32005, "value"),
        ("no_such_key", "1", -32004, "key"),
        ("embedding_model", "other", -32002, "key"),
    ],
)
def test_a_bad_setting_is_refused_and_leaves_no_trace(
    app: App, key: str, value: str, code: int, field: str
) -> None:
    assert refused(app, "set_config", key=key, value=value) == (code, field)
    with app.store.reading(None) as rows:
        assert (rows.last_seq("local"), rows.records("setting", "local")) == (0, {})


def test_an_unknown_key_is_not_found(app: App) -> None:
    assert refused(app, "get_config", key="nope") == (-32004, "key")


# Projects and the organisation


def test_projects_have_unique_names_and_an_organisation(app: App, project: str) -> None:
    made = run(
        app, "create_project", name="  Big   Plan ", description="Why.", organization_id="local"
    )
    assert (made["name"], made["description"], made["organization_id"]) == (
        "Big Plan",
        "Why.",
        "local",
    )
    assert refused(app, "create_project", name="Shop") == (-32005, "name")
    assert refused(app, "create_project", name=" ") == (-32005, "name")
    assert refused(app, "create_project", name="x" * 256) == (-32602, "name")
    assert [one["name"] for one in run(app, "list_projects")["projects"]] == ["Big Plan", "Shop"]
    assert run(app, "list_projects", organization_id="local") == run(app, "list_projects")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_projects", {}),
        ("get_organization_info", {}),
        ("create_project", {"name": "y"}),
    ]
    for tool, more in calls:
        assert refused(app, tool, organization_id="elsewhere", **more) == (
            -32004,
            "organization_id",
        )


def test_one_of_many_who_want_the_same_name_gets_it(app: App) -> None:
    outcomes: list[bool] = []

    def make() -> None:
        outcomes.append(
            app.registry.run("create_project", {"name": "One"}, Call(Caller(), app.engine)).ok
        )

    threads = [threading.Thread(target=make) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(outcomes) == [False] * 7 + [True]


def test_a_project_of_the_organisation_is_seen_by_all_of_it_and_another_by_its_owner(
    app: App, project: str
) -> None:
    shared = run(app, "create_project", name="Ours", organization_id="local")["id"]
    assert [one["id"] for one in run(app, "list_projects", BOB)["projects"]] == [shared]
    assert run(app, "list_projects", Caller("other"))["projects"] == []


def test_the_organisation_tells_real_settings_limits_and_usage(app: App, project: str) -> None:
    create(app)
    run(app, "create_api_key", **KEY, project_id=project)
    run(app, "set_config", key="max_tags", value="30")
    body = run(app, "get_organization_info", organization_id="local")
    assert body["limits"]["max_tags"] == 30
    assert body["settings"]["search_threshold"] == 0.7
    assert body["usage"] == {"memories": 1, "projects": 1, "api_keys": 1}


# Keys of vendors


def test_a_key_is_kept_without_ever_showing_its_value(app: App, project: str) -> None:
    made = run(
        app,
        "create_api_key",
        **KEY,
        project_id=project,
        rotation_frequency=30,
        metadata={"team": "web"},
    )
    assert made == {
        **made,
        "name": KEY["name"],
        "type": "api_key",
        "environment": "production",
        "project_id": project,
        "rotation_frequency": 30,
        "metadata": {"team": "web"},
        "last_rotated": None,
        "is_active": True,
    }
    assert made["expires_at"] > made["created_at"]
    assert run(app, "get_api_key", key_id=made["id"]) == made
    assert run(app, "list_api_keys")["keys"] == [made]
    with app.store.reading(None) as rows:
        told = repr([event.data for event in rows.events_after("local", 0)]) + repr(
            rows.records("vault", "local")
        )
    assert "canary" not in told
    assert app.engine.vault.reveal(Caller(), made["id"]) == KEY["value"]


@pytest.mark.parametrize(
    "name,value", [("environment", "staging"), ("type", "ssh_key"), ("project_id", MISSING)]
)
def test_each_filter_of_the_key_list_narrows_it(
    app: App, project: str, name: str, value: Any
) -> None:
    run(app, "create_api_key", **KEY, project_id=project)
    same = {"project_id": project, **KEY}[name]
    assert len(run(app, "list_api_keys", **{name: same})["keys"]) == 1
    assert run(app, "list_api_keys", **{name: value})["keys"] == []


@pytest.mark.parametrize(
    "type,begins",
    [
        ("api_key", "key_"),
        ("oauth_token", ""),
        ("ssh_key", "-----BEGIN OPENSSH"),
        ("certificate", "-----BEGIN CERTIFICATE"),
    ],
)
def test_a_rotation_makes_a_value_that_suits_the_type_and_shows_it_once(
    app: App, project: str, type: str, begins: str
) -> None:
    id = run(app, "create_api_key", **{**KEY, "type": type}, project_id=project)["id"]
    first, second = (run(app, "rotate_api_key", key_id=id) for _ in range(2))
    assert first["new_value"].startswith(begins)
    assert len(first["new_value"]) > 40
    assert first["new_value"] != second["new_value"] == app.engine.vault.reveal(Caller(), id)
    after = run(app, "get_api_key", key_id=id)
    assert after["last_rotated"] == second["rotated_at"]
    assert "new_value" not in after


def test_a_revoked_key_stays_readable_and_cannot_be_used(app: App, project: str) -> None:
    id = run(app, "create_api_key", **KEY, project_id=project)["id"]
    gone = run(app, "revoke_api_key", key_id=id)
    assert gone == {"id": id, "is_active": False, "revoked_at": gone["revoked_at"]}
    assert run(app, "revoke_api_key", key_id=id) == gone
    assert run(app, "get_api_key", key_id=id)["is_active"] is False
    assert refused(app, "rotate_api_key", key_id=id) == (-32005, "key_id")


def test_keys_need_a_project_and_ids_that_are_there(app: App, project: str) -> None:
    memory = create(app)
    for wrong in (MISSING, memory):
        assert refused(app, "create_api_key", **KEY, project_id=wrong) == (-32004, "project_id")
    for tool in ("get_api_key", "rotate_api_key", "revoke_api_key"):
        assert refused(app, tool, key_id=MISSING) == (-32004, "key_id")
    for field, value in (
        ("type", "x"),
        ("environment", "x"),
        ("rotation_frequency", 0),
        ("value", ""),
    ):
        assert refused(app, "create_api_key", **{**KEY, "project_id": project, field: value}) == (
            -32602,
            field,
        )


# Topics


def test_topics_make_a_tree(app: App) -> None:
    top = run(
        app, "create_topic", name="Work", description="All of it", color="#A0b1C2", icon="bag"
    )["id"]
    below = run(app, "create_topic", name="Deploys", parent_topic_id=top)["id"]
    shown = {one["id"]: one for one in run(app, "list_topics")["topics"]}
    assert {name: shown[top][name] for name in ("name", "description", "color", "icon")} == {
        "name": "Work",
        "description": "All of it",
        "color": "#A0b1C2",
        "icon": "bag",
    }
    assert shown[below]["parent_topic_id"] == top
    for wrong in (top, below):
        body = app.registry.run(
            "update_topic", {"topic_id": top, "parent_topic_id": wrong}, _call(app)
        ).body
        assert body["field"] == "parent_topic_id"
    assert (
        app.registry.run("delete_topic", {"topic_id": top}, _call(app)).body["error"] == "conflict"
    )
    run(
        app,
        "update_topic",
        topic_id=below,
        name="Ships",
        color="#000000",
        icon="x",
        description="d",
        parent_topic_id="top",
    )
    assert {
        one["name"]: one.get("parent_topic_id") for one in run(app, "list_topics")["topics"]
    } == {"Work": None, "Ships": None}
    run(app, "delete_topic", topic_id=top)
    assert [one["id"] for one in run(app, "list_topics")["topics"]] == [below]
    memory = create(app)
    run(app, "assign_topic", topic_id=below, memory_id=memory)
    assert run(app, "get_memory", memory_id=memory)["topic_id"] == below
    assert run(app, "list_topics", BOB)["topics"] == []
    for field, value in (
        ("color", "red"),
        ("name", "x" * 101),
        ("icon", "x" * 51),
        ("description", "x" * 501),
    ):
        body = app.registry.run("create_topic", {"name": "n", field: value}, _call(app)).body
        assert body["field"] == field


def _call(app: App) -> Call:
    return Call(Caller(), app.engine)


# Documentation


def test_the_documentation_is_found_by_section(app: App) -> None:
    body = run(app, "search_lanonasis_docs", query="memolith install a client")
    assert {"title", "section", "path", "excerpt", "score"} == set(body["results"][0])
    assert body["query"] == "memolith install a client"
    sections = {
        name: {
            one["section"]
            for one in run(app, "search_lanonasis_docs", query="memolith", section=name, limit=50)[
                "results"
            ]
        }
        for name in ("api", "guides", "sdks")
    }
    assert sections == {name: {name} for name in sections}
    assert len(run(app, "search_lanonasis_docs", query="memolith", limit=2)["results"]) == 2
    assert all(
        (Path(__file__).parents[2] / "docs" / one["path"]).is_file() for one in body["results"]
    )
    assert refused(app, "search_lanonasis_docs", query="x", section="blog") == (-32602, "section")


# All of the documentation gets vectors here, which takes long.
@pytest.mark.full
@each_store_in_full_run
def test_the_documentation_is_found_by_meaning_too(smart: App) -> None:
    present(smart.embedder).wait(30)
    run(smart, "search_lanonasis_docs", query="anything")
    body = run(smart, "search_lanonasis_docs", query="undo an accidental removal")
    assert "Found by words" not in str(body.get("warnings"))
    assert body["results"]


# Who sees what, over HTTP


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with thread(tmp_path_factory.mktemp("served")) as server:
        server.app.engine.writing.remember(Caller(user="cleo"), note("Cleo likes figs.", id="m"))
        yield server


def test_nothing_leaks_between_users_and_tenants(served: Served) -> None:
    ann, bob, far = served.key("ann"), served.key("bob"), served.key("ann", "elsewhere")
    made = served.tool("create_memory", {"title": "t", "content": "quokka"}, ann).json()["id"]
    project = served.tool("create_project", {"name": "Mine"}, ann).json()["id"]
    key = served.tool("create_api_key", {**KEY, "project_id": project}, ann).json()["id"]
    for other in (bob, far):
        for tool, arguments in (
            ("get_memory", {"memory_id": made}),
            ("delete_memory", {"memory_id": made}),
            ("get_api_key", {"key_id": key}),
            ("rotate_api_key", {"key_id": key}),
            ("update_memory", {"memory_id": made, "title": "x"}),
            ("create_api_key", {**KEY, "project_id": project}),
        ):
            assert served.tool(tool, arguments, other).status_code == 404, tool
        assert served.tool("list_memories", {}, other).json()["data"] == []
        assert served.tool("search_memories", {"query": "quokka"}, other).json()["results"] == []
        assert served.tool("list_api_keys", {}, other).json()["keys"] == []
        assert served.tool("list_projects", {}, other).json()["projects"] == []
        assert served.tool("get_stats", {}, other).json()["total_memories"] == 0
        assert served.tool("bulk_delete_memories", {"memory_ids": [made]}, other).json()[
            "failed_ids"
        ] == [made]


def test_a_key_does_what_its_scopes_allow(served: Served) -> None:
    ann, far = served.key("ann"), served.key("ann", "elsewhere")
    reader = served.key("ann", "local", "read")
    admin = served.key("root", "local", "read", "write", "admin")
    made = served.tool("create_memory", {"title": "t", "content": "quokka"}, ann).json()["id"]
    assert served.tool("get_memory", {"memory_id": made}, reader).status_code == 200
    for tool, arguments in (
        ("create_memory", {"title": "t", "content": "c"}),
        ("set_config", {"key": "max_tags", "value": "9"}),
    ):
        assert served.tool(tool, arguments, reader).json()["code"] == -32002
    assert served.tool("set_config", {"key": "max_tags", "value": "9"}, ann).status_code == 403
    assert served.tool("set_config", {"key": "max_tags", "value": "9"}, admin).status_code == 200
    assert served.tool("get_config", {"key": "max_tags"}, far).json()["value"] == 20


@pytest.mark.parametrize(
    "tool,more",
    [
        ("get_stats", {}),
        ("list_topics", {}),
        ("intelligence_detect_duplicates", {}),
        ("intelligence_extract_insights", {}),
        ("intelligence_analyze_patterns", {}),
        ("intelligence_suggest_tags", {"memory_id": "m"}),
        ("intelligence_find_related", {"memory_id": "m"}),
    ],
)
def test_another_users_id_needs_an_admin_key(
    served: Served, tool: str, more: dict[str, Any]
) -> None:
    answer = served.tool(tool, {"user_id": "cleo", **more}, served.key("bob"))
    assert (answer.status_code, answer.json()["code"], answer.json()["data"]["field"]) == (
        403,
        -32002,
        "user_id",
    )
    assert served.tool(tool, {"user_id": "cleo", **more}, served.key("cleo")).status_code == 200
    assert served.tool(tool, {"user_id": "cleo", **more}, served.admin).status_code == 200


def test_an_admin_sees_another_users_figures(served: Served) -> None:
    served.tool("create_memory", {"title": "t", "content": "c"}, served.key("dora"))
    assert served.tool("get_stats", {"user_id": "dora"}, served.admin).json()["total_memories"] == 1


# One test per documented code, on the family's own path and elsewhere

CODES = {
    -32602: ("create_memory", {"title": "t"}),
    -32004: ("get_memory", {"memory_id": "nope"}),
    -32005: ("create_memory", {"title": " ", "content": "c"}),
    -32002: ("get_stats", {"user_id": "somebody"}),
}


@pytest.mark.parametrize("code", CODES)
def test_a_tool_error_has_its_documented_code_on_every_path(served: Served, code: Any) -> None:
    tool, arguments = CODES[code]
    key = served.key("ann")
    params = {"name": tool, "arguments": arguments}
    own = served.mcp("tools/call", params, key, "/mcp/lanonasis").json()
    if code == -32002:
        # The newer protocol has forbidden this code.
        assert own["result"]["isError"]
    else:
        assert own["error"]["code"] == code
        assert own["error"]["data"]["details"]
    shared = served.mcp("tools/call", params, key).json()["result"]
    assert shared["isError"]
    assert "structuredContent" not in shared
    rest = served.tool(tool, arguments, key).json()
    assert rest["code"] == code
    assert set(rest) == {"code", "message", "data"}


def test_no_key_and_too_many_calls_have_their_codes(tmp_path: Path) -> None:
    with thread(tmp_path, calls_per_minute=2) as server:
        for key, code, status in ((None, -32001, 401), ("wrong", -32001, 401)):
            own = server.ask("POST", "/mcp/lanonasis", key, {})
            assert (own.status_code, own.json()["error"]["code"]) == (status, code)
            rest = server.ask("POST", "/mcp/tools/get_memory", key, {})
            assert (rest.status_code, rest.json()["code"]) == (status, code)
        wait_for_room_in_the_minute()
        answers = [server.tool("list_topics", {}) for _ in range(3)]
        assert answers[-1].json()["code"] == -32003
        assert (
            server.ask("POST", "/mcp/lanonasis", server.admin, {}).json()["error"]["code"] == -32003
        )


def test_the_protocols_own_codes_stay(served: Served) -> None:
    key = served.key("ann")
    assert served.mcp("no/such", {}, key, "/mcp/lanonasis").json()["error"]["code"] == -32601
    unknown = served.mcp("tools/call", {"name": "nope", "arguments": {}}, key, "/mcp/lanonasis")
    assert unknown.json()["error"]["code"] == -32602
    deaf = served.ask(
        "POST", "/mcp/lanonasis", key, {}, Accept="text/plain", Content_Type="application/json"
    )
    assert deaf.json()["error"]["code"] == -32600


def test_a_store_that_cannot_be_used_is_a_server_error() -> None:
    worded = [lanonasis.dialect.jsonrpc(kind()) for kind in (StoreBusy, DiskFull, MemolithError)]
    assert [found and found[0] for found in worded] == [-32000, -32000, -32603]


def test_a_vault_is_sealed_anew_and_goes_with_the_settings_to_another_store(
    app: App, project: str, at: At, tmp_path: Path
) -> None:
    id = run(app, "create_api_key", project_id=project, **KEY)["id"]
    run(app, "set_config", key="max_tags", value="7")
    before = app.engine.vault.get(Caller(), id).sealed
    assert app.rekey_vault("") == 1
    assert app.engine.vault.get(Caller(), id).sealed != before
    assert app.engine.vault.reveal(Caller(), id) == KEY["value"]
    other = open_app(at(tmp_path / "other"))
    copied = copy_everything(app.store, other.store, lambda tenant: lambda done, total: None)
    assert copied["local"] > 0
    assert run(other, "get_config", key="max_tags")["value"] == 7
    assert run(other, "get_api_key", key_id=id) == run(app, "get_api_key", key_id=id)
    other.close()
    at.drop(tmp_path / "other")
