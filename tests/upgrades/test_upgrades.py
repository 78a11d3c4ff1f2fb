"""A data folder of every earlier schema version opens with the present code, on both stores."""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.settings import Settings
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME
from tests.postgres import Server, binaries
from tests.programs.children import cli
from tests.stores import STORES
from tests.upgrades.folders import FOLDERS, archive, versions

SEALED = "not-a-real-key-4711"
KEPT = [(store, version) for store in STORES for version in versions(store)]
# From the oldest version, all migrations run; the full run also begins at each later one.
FOLDERS_TO_OPEN = [
    pytest.param(kept, marks=[] if kept[1] == versions(kept[0])[0] else pytest.mark.full)
    for kept in KEPT
]


@dataclass(frozen=True)
class Folder:
    """The data of an earlier version, unpacked for one test."""

    settings: Settings
    ids: dict[str, str]

    def command(self, *arguments: str) -> str:
        """What a command that must succeed prints."""
        database = {}
        if self.settings.database:
            database["MEMOLITH_DATABASE"] = self.settings.database
        ran = cli(self.settings.data, *arguments, MEMOLITH_EMBEDDER="minilm", **database)
        assert ran.returncode == 0, ran
        return ran.stdout


@dataclass(frozen=True)
class Opened:
    """The present code on the data of an earlier version."""

    app: App
    ids: dict[str, str]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers that must succeed."""
        outcome = self.app.registry.run(tool, arguments, Call(ME, self.app.engine))
        assert outcome.ok, outcome.body
        return body_of(outcome)

    def found(self, query: str, mode: str) -> str:
        """The id of the best hit."""
        return str(self.call("recall", query=query, mode=mode)["hits"][0]["id"])


def load(server: Server, script: Path) -> str:
    """The address of a new database that a dump was read into."""
    url = server.create()
    subprocess.run(
        [str(binaries() / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(script), url],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return url


@pytest.fixture(params=FOLDERS_TO_OPEN, ids="-".join)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    """A fresh copy of the data of each version and store."""
    store, version = request.param
    with tarfile.open(archive(store, version)) as packed:
        packed.extractall(tmp_path, filter="data")
    fields: dict[str, Any] = {"data": tmp_path / "data", "embedder": "minilm"}
    server: Server | None = None
    if store == "postgres":
        server = request.getfixturevalue("server")
        fields["database"] = load(server, tmp_path / "database.sql")
    yield Folder(Settings(**fields), json.loads((tmp_path / "ids.json").read_text()))
    if server:
        server.drop(fields["database"])


@pytest.fixture
def opened(folder: Folder) -> Iterator[Opened]:
    app = open_app(folder.settings)
    assert app.embedder is not None
    assert app.embedder.wait(60)
    # The first look at the model queues what an earlier one has embedded. A search waits for that
    # only as long as a user would, which is too short on a busy machine.
    assert app.embeddings.meaning() is not None
    app.embeddings.embed_waiting(ME.tenant, 60)
    yield Opened(app, folder.ids)
    app.close()


@pytest.mark.parametrize("store", STORES)
def test_every_schema_version_has_a_folder_here(store: str) -> None:
    missing = [version for version in versions(store) if not archive(store, version).exists()]
    assert versions(store)
    assert not missing, "run `python -m scripts.make_upgrade_folder` and commit what it writes"


def test_no_folder_is_kept_for_a_version_that_does_not_exist() -> None:
    known = {archive(store, version) for store, version in KEPT}
    assert set(FOLDERS.iterdir()) == known


def test_a_folder_verifies_clean(folder: Folder) -> None:
    assert json.loads(folder.command("verify", "--json"))["problems"] == []


def test_a_rebuild_of_the_tables_from_the_log_verifies_clean(folder: Folder) -> None:
    folder.command("rebuild")
    assert json.loads(folder.command("verify", "--json"))["problems"] == []


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("tea", "steeped"),
        ("bike", "red frame"),
        ("talk", "slates"),
        ("Chlorophyll", "pigment"),
        ("capture", "billing service"),
        ("deploy", "VPN"),
    ],
)
def test_items_are_found_by_their_words(opened: Opened, name: str, query: str) -> None:
    assert opened.found(query, "text") == opened.ids[name]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("train", "a railway journey to Portugal"),
        ("piano", "a musical instrument"),
        ("rent", "paying the landlord for the flat"),
    ],
)
def test_items_are_found_by_their_meaning(opened: Opened, name: str, query: str) -> None:
    assert opened.found(query, "vector") == opened.ids[name]


def test_an_ingested_file_is_found_and_still_there(opened: Opened) -> None:
    (file,) = opened.call("list_files")["files"]
    assert file["name"] == "harbour.txt"
    assert opened.found("crane in dock four", "text") == file["id"]


def test_a_revision_is_in_the_history_and_can_be_undone(opened: Opened) -> None:
    bike = opened.ids["bike"]
    events = opened.call("history", id=bike)["events"]
    assert len(events) == 2
    opened.call("undo_event", event=max(event["event"] for event in events))
    (item,) = opened.call("fetch", ids=[bike])["items"]
    assert item["content"] == "The bicycle has a blue frame and new tyres."


def test_a_forgotten_item_is_hidden_and_can_be_restored(opened: Opened) -> None:
    hits = opened.call("recall", query="printer cellar", mode="text")["hits"]
    assert opened.ids["old"] not in [hit["id"] for hit in hits]
    opened.call("restore", id=opened.ids["old"])
    assert opened.found("printer cellar", "text") == opened.ids["old"]


def test_a_restored_item_is_still_there(opened: Opened) -> None:
    assert opened.found("spare key", "text") == opened.ids["back"]


def test_a_relationship_of_concepts_is_kept(opened: Opened) -> None:
    chain = opened.call(
        "get_concept_chain",
        start_concept_id=opened.ids["Chlorophyll"],
        end_concept_id=opened.ids["Photosynthesis"],
    )
    assert chain["length"] == 1


def test_tags_are_kept(opened: Opened) -> None:
    capture = opened.call("subcog_get", memory_id=opened.ids["capture"])
    assert set(capture["tags"]) == {"database", "billing"}


def test_a_prompt_can_be_run(opened: Opened) -> None:
    said = opened.call("prompt_run", name="greet", variables={"name": "Zoe"})
    assert "Say hello to Zoe." in json.dumps(said)


def test_entities_and_their_relationship_are_kept(opened: Opened) -> None:
    assert opened.call("subcog_entities", action="list")["entity_count"] == 2
    assert opened.call("subcog_relationships", action="list")["relationship_count"] == 1


def test_how_often_an_item_was_read_is_kept(opened: Opened) -> None:
    memory = opened.call("get_memory", memory_id=opened.ids["deploy"])
    assert memory["access_count"] >= 1


def test_the_vault_opens_with_its_own_key(folder: Folder) -> None:
    revealed = folder.command("vault", "reveal", folder.ids["key"], "--yes")
    assert SEALED in revealed


def test_a_new_item_can_be_written_and_found(opened: Opened) -> None:
    id = opened.call("remember", content="The lighthouse was painted white.")["id"]
    assert opened.found("lighthouse", "text") == id


def test_writing_leaves_a_folder_that_verifies_clean(folder: Folder) -> None:
    folder.command("remember", "The lighthouse was painted white.")
    assert json.loads(folder.command("verify", "--json"))["problems"] == []
