"""Commands that bring in much at once make its vectors before they end."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memolith.bootstrap import open_app
from memolith.settings import Settings
from tests.programs.children import ask, cli, on_terminal

SMART = {"MEMOLITH_EMBEDDER": "minilm"}
FACTS = (
    "Our puppy chewed the sofa while we were out.",
    "The flight to Lisbon was delayed by a thunderstorm.",
)
CHAT = {
    "uuid": "c1",
    "name": "Pets",
    "chat_messages": [{"sender": "human", "text": text} for text in FACTS],
}


def lines_to_import(folder: Path) -> list[str]:
    file = folder / "lines.jsonl"
    file.write_text("".join(json.dumps({"content": text}) + "\n" for text in FACTS), "utf-8")
    return ["import", str(file)]


def chat_to_import(folder: Path) -> list[str]:
    file = folder / "conversations.json"
    file.write_text(json.dumps([CHAT]), "utf-8")
    return ["import-chats", str(file)]


def files_to_ingest(folder: Path) -> list[str]:
    for number, text in enumerate(FACTS):
        (folder / f"{number}.txt").write_text(text, "utf-8")
    return ["ingest", str(folder)]


COMMANDS = [lines_to_import, chat_to_import, files_to_ingest]
each_command = pytest.mark.parametrize("prepare", COMMANDS, ids=lambda prepare: prepare.__name__)


def counts(data: Path, tenant: str = "local") -> tuple[int, int]:
    """How many vectors there are, and how many jobs of a tenant wait."""
    app = open_app(Settings(data=data, embedder="none"))
    with app.store.reading(None) as rows:
        vectors = sum(rows.models().values())
        waiting = rows.count_waiting(tenant, "embed")
    app.close()
    return vectors, waiting


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


@each_command
def test_the_vectors_are_made_before_the_command_ends(
    tmp_path: Path, files: Path, prepare: Callable[[Path], list[str]]
) -> None:
    ran = cli(tmp_path / "data", *prepare(files), "--tenant", "acme", **SMART)
    assert (ran.returncode, ran.stderr) == (0, "")
    vectors, waiting = counts(tmp_path / "data", "acme")
    assert vectors >= len(FACTS)
    assert waiting == 0


@each_command
def test_with_no_vectors_they_are_left_to_others(
    tmp_path: Path, files: Path, prepare: Callable[[Path], list[str]]
) -> None:
    ask(tmp_path / "data", *prepare(files), "--no-vectors", **SMART)
    vectors, waiting = counts(tmp_path / "data")
    assert vectors == 0
    assert waiting > 0


def test_other_tenants_are_left_alone(tmp_path: Path, files: Path) -> None:
    data = tmp_path / "data"
    ask(data, *lines_to_import(files), "--no-vectors", "--tenant", "other", **SMART)
    ask(data, *lines_to_import(files), **SMART)
    assert counts(data) == (2, 0)
    assert counts(data, "other") == (2, 2)


def test_the_progress_bar_goes_on_while_the_vectors_are_made(tmp_path: Path, files: Path) -> None:
    shown, printed = on_terminal(tmp_path / "data", *lines_to_import(files), "--json", **SMART)
    assert json.loads(printed)["items"] == len(FACTS)
    assert "\rimporting [" in shown
    assert shown.index("\rembedding [") > shown.index("\rimporting [")
    assert "100 %" in shown[shown.index("\rembedding [") :]


def test_an_embedder_that_is_down_does_not_undo_an_import(tmp_path: Path, files: Path) -> None:
    away = {
        "MEMOLITH_EMBEDDER": "http",
        "MEMOLITH_EMBEDDER_URL": "http://127.0.0.1:9/v1",
        "MEMOLITH_EMBEDDER_MODEL": "none",
    }
    ran = cli(tmp_path / "data", *lines_to_import(files), "--json", **away)
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["items"] == len(FACTS)
    assert "2 items have no vector yet; `memolith upkeep` tries again." in ran.stderr
