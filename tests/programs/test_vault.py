"""The vault as a program: no value it was given is ever found in a file, a log or an output."""

from __future__ import annotations

import base64
import json
import os
import random
import stat
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memolith.adapters.cipher import AesCipher
from memolith.bootstrap import open_app, restore_backup
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.engine.vault import Secret
from memolith.errors import StoreCorrupt, Unavailable
from memolith.settings import Settings
from tests.programs.children import ask, cli, in_memory, scan
from tests.programs.served import process, thread

ME = Caller()
LETTERS = "ghijklmnopqrstuvwxyz"
DRAFT = {"type": "api_key", "environment": "production"}


def canaries(count: int) -> list[str]:
    pick = random.Random(8)
    return ["".join(pick.choices(LETTERS, k=24)) for _ in range(count)]


def new_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


def call(data: Path, tool: str, **arguments: object) -> dict[str, Any]:
    return dict(json.loads(cli(data, "call", tool, "--arguments", json.dumps(arguments)).stdout))


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, str]:
    """A folder with one key in its vault."""
    project = call(tmp_path, "create_project", name="Shop")["id"]
    return tmp_path, call(
        tmp_path, "create_api_key", name="k", value="quux-canary", project_id=project, **DRAFT
    )["id"]


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.full)])
def test_many_values_leave_no_byte_anywhere(count: int) -> None:
    words, said = canaries(count), []
    with in_memory() as place:
        with process(place / "data", MEMOLITH_LOG_LEVEL="debug") as server:
            project = server.tool("create_project", {"name": "Shop"}).json()["id"]
            ids = []
            for n, word in enumerate(words):
                answer = server.tool(
                    "create_api_key",
                    {**DRAFT, "name": f"n{n}", "value": word, "project_id": project},
                )
                ids.append(answer.json()["id"])
                said.append(answer.text)
            for id in ids[:20]:
                words.append(
                    server.tool("rotate_api_key", {"key_id": id}).json()["new_value"].lower()
                )
            said += [server.tool("revoke_api_key", {"key_id": id}).text for id in ids[20:40]]
            said += [
                server.tool(tool, arguments).text
                for tool, arguments in (
                    ("list_api_keys", {}),
                    ("get_api_key", {"key_id": ids[0]}),
                    ("recall", {"query": "Shop"}),
                    (
                        "create_api_key",
                        {**DRAFT, "name": "x", "value": [words[0]], "project_id": project},
                    ),
                    (
                        "create_api_key",
                        {**DRAFT, "name": "x", "valu": words[0], "project_id": project},
                    ),
                )
            ]
            # The child is killed in the middle of things when the block ends.
            log = server.log
        ask(place / "data", "backup", str(place / "all.db"))
        said += [cli(place / "data", "export").stdout, cli(place / "data", "doctor").stdout, *log]
        assert scan(place, words) == []
        assert [word for word in words if word in "".join(said).lower()] == []
        revealed = ask(place / "data", "vault", "reveal", ids[count // 2], "--yes")
        assert revealed["value"] == words[count // 2], "and it is all there"


def test_a_value_is_revealed_at_this_machine_after_confirmation_only(
    stored: tuple[Path, str],
) -> None:
    data, id = stored
    assert cli(data, "vault", "reveal", id, stdin="no\n").stdout == ""
    assert cli(data, "vault", "reveal", id, stdin="yes\n").stdout == "quux-canary\n"
    assert cli(data, "vault", "reveal", "nope", "--yes").returncode == 1
    call(data, "revoke_api_key", key_id=id)
    assert cli(data, "vault", "reveal", id, "--yes").returncode == 1
    with thread(data) as server:
        assert "vault" not in " ".join(server.listed())


def test_the_master_key_is_made_once_for_its_owner_alone_and_doctor_calls_it_the_weaker_choice(
    stored: tuple[Path, str],
) -> None:
    data, _ = stored
    assert stat.S_IMODE((data / "vault.key").stat().st_mode) == 0o600
    assert "the weaker choice" in ask(data, "doctor")["vault"]


@pytest.mark.parametrize("tool", ["create_api_key", "rotate_api_key"])
def test_a_wrong_master_key_gives_one_clear_error_and_changes_nothing(
    stored: tuple[Path, str], tool: str
) -> None:
    data, id = stored
    wrong = {"MEMOLITH_VAULT_KEY": new_key()}
    project = call(data, "list_projects")["projects"][0]["id"]
    given = (
        {"key_id": id}
        if tool == "rotate_api_key"
        else {"name": "k2", "value": "v", "project_id": project, **DRAFT}
    )
    ran = cli(data, "call", tool, "--arguments", json.dumps(given), **wrong)
    assert json.loads(ran.stderr)["code"] == -32000
    assert "another master key" in ran.stderr
    assert "another master key" in cli(data, "vault", "reveal", id, "--yes", **wrong).stderr
    assert "not the one that the vault was sealed with" in cli(data, "doctor", **wrong).stdout
    assert cli(data, "vault", "reveal", id, "--yes").stdout == "quux-canary\n"


@pytest.mark.parametrize("bad", ["short", "x" * 44, "0" * 63])
def test_a_master_key_that_is_none_is_refused(stored: tuple[Path, str], bad: str) -> None:
    ran = cli(stored[0], "vault", "reveal", stored[1], "--yes", MEMOLITH_VAULT_KEY=bad)
    assert "32 random bytes" in ran.stderr


def test_another_master_key_seals_everything_anew(stored: tuple[Path, str]) -> None:
    data, id = stored
    before = (data / "vault.key").read_text()
    assert ask(data, "vault", "rekey", "--yes") == {"sealed": 1}
    assert (data / "vault.key").read_text() != before
    assert cli(data, "vault", "reveal", id, "--yes").stdout == "quux-canary\n"
    assert (
        cli(data, "vault", "reveal", id, "--yes", MEMOLITH_VAULT_KEY=before.strip()).returncode == 1
    )
    mine = (data / "vault.key").read_text().strip()
    next_key = new_key()
    ran = cli(data, "vault", "rekey", "--yes", stdin=next_key + "\n", MEMOLITH_VAULT_KEY=mine)
    assert ran.returncode == 0, ran.stderr
    assert (
        cli(data, "vault", "reveal", id, "--yes", MEMOLITH_VAULT_KEY=next_key).stdout
        == "quux-canary\n"
    )


def test_a_change_of_the_master_key_that_was_cut_short_leaves_all_readable(
    stored: tuple[Path, str],
) -> None:
    data, id = stored
    app = open_app(Settings(data=data, embedder="none"))
    key = new_key()
    (data / "vault.key").write_text(f"{key}\n{(data / 'vault.key').read_text()}")
    app.engine.vault.rekey(AesCipher([base64.b64decode(key)]))
    assert app.engine.vault.reveal(ME, id) == "quux-canary"
    app.close()


def test_a_value_cannot_be_moved_to_another_record(stored: tuple[Path, str]) -> None:
    data, id = stored
    app = open_app(Settings(data=data, embedder="none"))
    secret = app.engine.vault.get(ME, id)
    other = app.engine.vault.store(
        ME, Secret("k2", "api_key", "staging", secret.project_id, 90, {}), "other"
    )
    with app.store.writing("local") as rows:
        records = {
            name: json.loads(value) for name, value in rows.records("local", "vault/").items()
        }
        records[id]["sealed"] = records[other.id]["sealed"]
        rows.put_record("local", f"vault/{id}", json.dumps(records[id]))
    with pytest.raises(StoreCorrupt):
        app.engine.vault.reveal(ME, id)
    app.close()


def test_a_backup_carries_the_vault_and_an_export_leaves_the_values_out(
    stored: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data, id = stored
    other = tmp_path_factory.mktemp("other")
    ask(data, "backup", str(other / "all.db"))
    restore_backup(other / "all.db", other / "data")
    (other / "data" / "vault.key").write_text((data / "vault.key").read_text())
    assert cli(other / "data", "vault", "reveal", id, "--yes").stdout == "quux-canary\n"
    exported = cli(data, "export").stdout
    assert "quux" not in exported
    assert cli(other / "new", "import", stdin=exported).returncode == 0
    assert ask(other / "new", "verify")["equal"]


def test_overdue_keys_are_listed_by_doctor(stored: tuple[Path, str]) -> None:
    data, id = stored
    app = open_app(Settings(data=data, embedder="none"))
    with app.store.writing("local") as rows:
        record = json.loads(rows.records("local", "vault/")[id])
        rows.put_record(
            "local",
            f"vault/{id}",
            json.dumps(record | {"created_at": "2020-01-01T00:00:00.000000Z"}),
        )
    app.close()
    assert "should have been rotated by 2020-03-31" in cli(data, "doctor").stdout


def test_the_keyring_of_the_system_can_hold_the_master_key(tmp_path: Path) -> None:
    keyring: Any = pytest.importorskip("keyring")
    backend: Any = keyring.backend.KeyringBackend

    class Ring(backend):  # type: ignore[misc]
        priority = 1
        kept: ClassVar[dict[tuple[str, str], str]] = {}

        def get_password(self, service: str, name: str) -> str | None:
            return self.kept.get((service, name))

        def set_password(self, service: str, name: str, value: str) -> None:
            self.kept[service, name] = value

        def delete_password(self, service: str, name: str) -> None:
            del self.kept[service, name]

    keyring.set_keyring(Ring())
    app = open_app(Settings(data=tmp_path, embedder="none", vault_key="keyring"))
    project = app.engine.writing.remember(ME, Draft("project", "Shop")).item.id
    made = app.engine.vault.store(ME, Secret("k", "api_key", "staging", project, 90, {}), "v")
    app.rekey_vault("")
    assert app.engine.vault.reveal(ME, made.id) == "v"
    assert not (tmp_path / "vault.key").exists()
    app.close()


def test_without_the_keyring_package_the_setting_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    app = open_app(Settings(data=tmp_path, embedder="none", vault_key="keyring"))
    project = app.engine.writing.remember(ME, Draft("project", "Shop")).item.id
    with pytest.raises(Unavailable, match="memolith\\[keyring\\]"):
        app.engine.vault.store(ME, Secret("k", "api_key", "staging", project, 90, {}), "v")
    app.close()
