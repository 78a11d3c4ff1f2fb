"""`import`, `export` and `sync` as real commands: what they print, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memolith.engine.front_matter import read_note
from tests.interchange import foreign_files
from tests.programs.children import cli


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def words(text: str) -> str:
    return " ".join(text.split())


def test_an_import_says_whose_it_is_what_came_and_what_did_not(data: Path, tmp_path: Path) -> None:
    path = foreign_files.official(tmp_path)
    done = cli(data, "import", str(path), "--no-vectors")
    assert done.returncode == 0
    assert f"{path} is from official." in done.stderr
    shown = words(done.stdout)
    assert "taken 3" in shown
    assert "1 An item cannot be linked to itself. Acme owns Acme" in shown
    report = json.loads(cli(data, "import", str(path), "--no-vectors", "--json").stdout)
    assert (report["taken"], report["known"], report["known_links"]) == (0, 3, 2)


def test_an_import_that_is_refused_says_why_and_leaves_nothing(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "unknown.json"
    path.write_text("{}", encoding="utf-8")
    done = cli(data, "import", str(path))
    assert done.returncode == 2
    assert "unknown.json is not recognised as anything of mem0, openmemory" in done.stderr
    done = cli(data, "import", "--from", "mem0")
    assert done.returncode == 2
    assert "Give the file or folder to import" in done.stderr
    assert cli(data, "import", str(path), "--from", "nonsense").returncode == 2


@pytest.mark.parametrize("format", ["markdown", "obsidian", "mem0", "csv"])
def test_what_is_exported_can_be_read(data: Path, tmp_path: Path, format: str) -> None:
    cli(data, "remember", "Maria prefers tea in Köln.")
    place = tmp_path / "out"
    done = cli(data, "export", str(place), "--format", format, "--json")
    assert done.returncode == 0
    files = [place] if place.is_file() else sorted(place.rglob("*.md"))
    assert any("Köln" in file.read_text(encoding="utf-8") for file in files)
    if place.is_dir():
        assert json.loads(done.stdout)["notes"] == 1
        assert cli(data, "export", str(place), "--format", format).returncode == 2
    else:
        assert cli(data, "export", "--format", format).stdout == place.read_text(encoding="utf-8")
        again = cli(data, "export", str(place), "--format", format)
        assert again.returncode == 2
        assert "exists already" in again.stderr


def test_a_dry_run_of_a_plain_import_is_refused(data: Path) -> None:
    done = cli(data, "import", "--dry-run", stdin='{"content": "Tea."}')
    assert done.returncode == 2
    assert "--dry-run is for files of other programs" in done.stderr
    assert "Tea." not in cli(data, "list").stdout


def test_a_broken_line_of_a_plain_import_is_named(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"content": "Tea."}\nnot json\n', encoding="utf-8")
    done = cli(data, "import", str(path))
    assert done.returncode == 2
    assert "Line 2 is not JSON" in done.stderr


def test_notes_cannot_go_to_standard_output(data: Path) -> None:
    cli(data, "remember", "Maria prefers tea.")
    done = cli(data, "export", "--format", "obsidian")
    assert done.returncode == 2
    assert "Name the folder to write the notes to." in done.stderr


def test_a_sync_fails_while_there_is_a_conflict(data: Path, tmp_path: Path) -> None:
    cli(data, "remember", "Maria prefers tea.")
    vault = tmp_path / "vault"
    assert cli(data, "sync", str(vault), "--no-vectors").returncode == 0
    (file,) = (vault / "memories").iterdir()
    text = file.read_text(encoding="utf-8")
    id = str(read_note(text).fields["memolith"])
    file.write_text(text.replace("tea.", "milk."), encoding="utf-8")
    revised = cli(data, "revise", id, "--content", "Maria prefers coffee.")
    assert revised.returncode == 0, revised.stderr
    done = cli(data, "sync", str(vault), "--no-vectors")
    assert done.returncode == 1
    assert "has changed on both sides" in words(done.stdout)
    (aside,) = (path for path in (vault / "memories").iterdir() if "conflict" in path.name)
    assert "milk." in aside.read_text(encoding="utf-8")
    aside.unlink()
    assert cli(data, "sync", str(vault), "--no-vectors").returncode == 0
