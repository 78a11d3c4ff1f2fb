"""The keys of clients, the settings of the server, its tenants, and revealing what is in the vault."""

from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, families
from memolith.domain.callers import SCOPES, Caller
from memolith.domain.items import Draft
from memolith.engine.client_keys import digest
from memolith.engine.usage import Client
from memolith.engine.vault import Secret
from memolith.errors import Conflict, Denied, InvalidInput, MemolithError, NotFound
from memolith.settings import MASK, Settings, shown_settings
from memolith.tools.call import Call
from memolith.tools.registry import Registry
from tests.checked import present
from tests.conftest import ME, note
from tests.programs.children import cli
from tests.programs.served import Served, thread
from tests.stores import each_store

pytestmark = each_store
GLOBEX = Caller(tenant="globex")


def ask(app: App, tool: str, call: Call | None = None, /, **arguments: Any) -> dict[str, Any]:
    outcome = Registry(families()).run(tool, arguments, call or Call(ME, app.engine))
    if outcome.error:
        raise outcome.error
    return dict(outcome.body)


def states(app: App, **arguments: Any) -> dict[str, str]:
    return {key["name"]: key["state"] for key in ask(app, "list_client_keys", **arguments)["keys"]}


def events_of(app: App, id: str) -> list[tuple[str, str]]:
    with app.store.reading(ME.tenant) as rows:
        return [(event.type, event.actor) for event in rows.events(ME.tenant, f"client-key/{id}")]


def test_a_new_key_is_shown_once_and_only_its_hash_is_kept(app: App) -> None:
    made = ask(
        app,
        "create_client_key",
        name="laptop",
        user="ann",
        scopes=["read"],
        projects=["atlas"],
        expires_at="2100-01-01",
    )
    record = present(app.keys.by_digest(digest(made["key"])))
    assert (record.id, record.name, record.tenant) == (made["id"], "laptop", ME.tenant)
    assert (record.user, record.scopes, record.projects) == ("ann", ("read",), ("atlas",))
    assert record.expires_at == "2100-01-01T00:00:00.000000Z"
    (listed,) = ask(app, "list_client_keys")["keys"]
    assert {**listed, "key": made["key"]} == made
    with app.store.reading(ME.tenant) as rows:
        assert made["key"] not in str(list(rows.events_after(ME.tenant, 0)))
    assert events_of(app, made["id"]) == [("stored", "local")]


def test_a_key_has_sensible_defaults(app: App) -> None:
    made = ask(app, "create_client_key", name="laptop")
    assert (made["user"], made["scopes"], made["projects"]) == ("local", ["read", "write"], [])
    assert made["expires_at"] is None


def test_no_key_gives_more_than_it_has(app: App) -> None:
    call = Call(ME, app.engine, scopes=frozenset(("admin", "read")))
    with pytest.raises(Denied, match="not the scope 'run'"):
        ask(app, "create_client_key", call, name="x", scopes=["read", "run"])
    assert ask(app, "create_client_key", call, name="x", scopes=["read", "admin"])["key"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes"),
        ({"expires_at": "2001-01-01"}, "future"),
        ({"expires_at": "soon"}, "not a time"),
        ({"scopes": ["admin"], "projects": ["atlas"]}, "sees all projects"),
        ({"user": "a\x00b"}, "user"),
    ],
)
def test_what_makes_no_sense_is_refused_and_no_key_is_left(
    app: App, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        ask(app, "create_client_key", name="x", **arguments)
    assert app.keys.all() == []


def test_a_key_whose_event_cannot_be_told_is_taken_back(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise MemolithError("no log today")

    monkeypatch.setattr(app.engine.client_keys.recorder, "tell", refuse)
    with pytest.raises(MemolithError, match="no log today"):
        ask(app, "create_client_key", name="x")
    assert app.keys.all() == []


def test_keys_are_paused_resumed_and_revoked_and_the_log_tells(app: App) -> None:
    id = ask(app, "create_client_key", name="laptop")["id"]
    assert ask(app, "pause_client_key", id=id)["state"] == "paused"
    ask(app, "pause_client_key", id=id)
    assert states(app, state="paused") == {"laptop": "paused"}
    assert ask(app, "resume_client_key", id=id)["state"] == "valid"
    assert ask(app, "revoke_client_key", id=id)["state"] == "revoked"
    ask(app, "revoke_client_key", id=id)
    assert [type for type, _ in events_of(app, id)] == ["stored", "paused", "resumed", "revoked"]
    with pytest.raises(Conflict, match="was revoked"):
        ask(app, "resume_client_key", id=id)


def test_the_audit_names_the_key(app: App) -> None:
    id = ask(app, "create_client_key", name="laptop")["id"]
    ask(app, "pause_client_key", id=id)
    found = ask(app, "list_events", types=["stored", "paused"])["events"]
    assert [event["about"] for event in found] == ["client key laptop"] * 2
    assert [event["undoable"] for event in found] == [False, False]


def test_keys_are_listed_by_state_and_page(app: App) -> None:
    for name in ("a", "b", "c"):
        ask(app, "create_client_key", name=name)
    keys = ask(app, "list_client_keys", limit=1, offset=1)
    assert ([key["name"] for key in keys["keys"]], keys["total"]) == (["b"], 3)
    ask(app, "revoke_client_key", id=keys["keys"][0]["id"])
    assert states(app, state="revoked") == {"b": "revoked"}
    assert states(app, state="valid") == {"c": "valid", "a": "valid"}


def test_nobody_locks_themselves_out(app: App) -> None:
    id = ask(app, "create_client_key", name="laptop")["id"]
    own = Call(ME, app.engine, client=Client(id, "cursor"))
    for tool in ("pause_client_key", "revoke_client_key"):
        with pytest.raises(Conflict, match="that you call with"):
            ask(app, tool, own, id=id)
    assert states(app) == {"laptop": "valid"}


def test_the_keys_of_another_tenant_are_out_of_reach(app: App) -> None:
    id = ask(app, "create_client_key", name="laptop")["id"]
    theirs = Call(GLOBEX, app.engine)
    assert ask(app, "list_client_keys", theirs)["keys"] == []
    for tool in ("pause_client_key", "resume_client_key", "revoke_client_key"):
        with pytest.raises(NotFound):
            ask(app, tool, theirs, id=id)
    made = ask(app, "create_client_key", theirs, name="theirs")
    assert present(app.keys.by_id(made["id"])).tenant == "globex"


@pytest.fixture
def served(tmp_path: Path) -> Any:
    with thread(tmp_path / "data") as server:
        yield server


@pytest.mark.stores("sqlite")
def test_a_paused_key_is_refused_in_plain_words_at_once_and_let_in_again(served: Served) -> None:
    made = served.tool("create_client_key", {"name": "laptop"}).json()
    key = made["key"]
    assert served.tool("overview", {}, key).status_code == 200
    assert served.tool("pause_client_key", {"id": made["id"]}).status_code == 200
    wait_until_refused(served, key)
    refused = served.tool("overview", {}, key)
    assert (refused.status_code, refused.json()["error"]) == (401, "key_paused")
    assert refused.json()["message"].startswith("This key is paused")
    served.tool("resume_client_key", {"id": made["id"]})
    assert served.tool("overview", {}, key).status_code == 200


def wait_until_refused(served: Served, key: str) -> None:
    """Who was let in is remembered for the rest of a second."""
    while served.tool("overview", {}, key).status_code == 200:
        pass


@pytest.mark.stores("sqlite")
def test_the_server_counts_the_calls_of_each_key(served: Served) -> None:
    key = served.tool("create_client_key", {"name": "laptop", "user": "ann"}).json()["key"]
    served.tool("overview", {}, key, User_Agent="otter-client/1.2")
    served.tool("fetch", {"ids": ["none"]}, key, User_Agent="otter-client/1.3")
    served.call("overview", {}, key)
    found = served.tool("list_clients", {"user": "ann"}).json()["clients"]
    by_program = {client["program"]: client for client in found}
    assert by_program["otter-client"]["calls"] == 2
    assert by_program["otter-client"]["errors"] == 1
    assert {client["key_name"] for client in found} == {"laptop"}
    assert sum(client["calls"] for client in found) == 3


@pytest.mark.stores("sqlite")
def test_the_command_line_uses_the_same_keys(app: App) -> None:
    data = app.settings.data
    made = cli(data, "keys", "create", "laptop", "--json")
    assert made.returncode == 0, made.stderr
    (key,) = app.keys.all()
    assert events_of(app, key.id) == [("stored", "local")]
    for action, state in (("pause", "paused"), ("resume", "valid"), ("revoke", "revoked")):
        assert cli(data, "keys", action, key.id).returncode == 0
        assert states(app) == {"laptop": state}
    assert cli(data, "keys", "pause", "none").returncode == 1


# The vault


def test_a_value_of_the_vault_is_revealed_with_admin_and_the_log_tells(app: App) -> None:
    app.engine.writing.remember(ME, Draft("project", "Zoo", id="zoo"))
    secret = Secret("Stripes", "api_key", "staging", "zoo", 90, {}, id="stripes")
    app.engine.vault.store(ME, secret, "sk-123")
    revealed = ask(app, "reveal_api_key", key_id="stripes")
    assert revealed == {"key_id": "stripes", "name": "Stripes", "value": "sk-123"}
    with app.store.reading(ME.tenant) as rows:
        assert rows.events(ME.tenant, "key/stripes")[-1].type == "revealed"
    with pytest.raises(Denied, match="admin"):
        ask(
            app, "reveal_api_key", Call(ME, app.engine, scopes=SCOPES - {"admin"}), key_id="stripes"
        )
    with pytest.raises(NotFound):
        ask(app, "reveal_api_key", Call(GLOBEX, app.engine), key_id="stripes")


# The server


def settings_of(app: App, **arguments: Any) -> dict[str, dict[str, Any]]:
    found = ask(app, "list_settings", **arguments)["settings"]
    return {setting["name"]: setting for setting in found}


def test_settings_are_told_with_default_source_and_meaning(app: App) -> None:
    found = settings_of(app)
    assert set(found) == set(Settings.model_fields)
    port = found["port"]
    assert (port["value"], port["default"], port["source"]) == ("8724", "8724", "default")
    assert port["variable"] == "MEMOLITH_PORT"
    assert port["meaning"] == "the port of the server; 0: any free port"
    assert "port" not in settings_of(app, changed_only=True)
    assert "data" in settings_of(app, changed_only=True)


def test_folders_are_told_on_the_machine_of_the_server_alone(app: App) -> None:
    assert settings_of(app)["data"]["value"] == "a folder of the server"
    local = Call(ME, app.engine, local=True)
    (data, *_) = ask(app, "list_settings", local)["settings"]
    assert (data["name"], data["value"]) == ("data", str(app.settings.data))


def test_secrets_among_the_settings_are_not_told(tmp_path: Path) -> None:
    (tmp_path / "memolith.toml").write_text("max_tags = 7\n")
    environ = {"MEMOLITH_MAX_TITLE": "99", "MEMOLITH_VAULT_KEY": "geheim"}
    chosen = Settings(
        data=tmp_path,
        max_tags=7,
        max_title=99,
        vault_key="geheim",
        port=1,
        embedder_url="https://ann:geheim@example.org/v1",
    )
    shown = {setting.name: setting for setting in shown_settings(chosen, environ)}
    assert "geheim" not in str(shown)
    assert shown["vault_key"].value == MASK
    assert shown["embedder_key"].value == ""
    assert shown["embedder_url"].value == f"https://{MASK}@example.org/v1"
    sources = {name: shown[name].source for name in ("max_tags", "max_title", "port", "max_tag")}
    assert sources == {
        "max_tags": "file",
        "max_title": "variable",
        "port": "flag",
        "max_tag": "default",
    }


def test_the_settings_are_for_the_owner_of_the_server(app: App) -> None:
    with pytest.raises(Denied, match="owns this server"):
        ask(app, "list_settings", Call(GLOBEX, app.engine))


def test_tenants_are_told_with_what_they_have(app: App) -> None:
    app.engine.writing.remember(ME, note("Otters.", id="a"))
    app.engine.writing.forget(ME, "a")
    app.engine.writing.remember(GLOBEX, note("Goats."))
    ask(app, "create_client_key", Call(GLOBEX, app.engine), name="theirs")
    found = ask(app, "list_tenants")
    assert found["tenants"] == [
        {"tenant": "globex", "events": 2, "items": 1, "client_keys": 1},
        {"tenant": "local", "events": 2, "items": 1, "client_keys": 0},
    ]
    assert found["total"] == 2
    assert sum(file["bytes"] for file in found["disk"]) > 0
    second = ask(app, "list_tenants", limit=1, offset=1)
    assert [tenant["tenant"] for tenant in second["tenants"]] == ["local"]


def test_an_admin_of_another_tenant_sees_that_tenant_alone(app: App) -> None:
    app.engine.writing.remember(ME, note("Otters."))
    found = ask(app, "list_tenants", Call(GLOBEX, app.engine))
    assert ([tenant["tenant"] for tenant in found["tenants"]], found["total"]) == (["globex"], 1)
    assert found["disk"] == []
