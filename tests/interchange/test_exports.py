"""What is exported is complete, and other programs, or memolith itself, can read it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from memolith.bootstrap import App
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.errors import InvalidInput
from memolith.interchange.exporters.csv_table import write_csv
from memolith.interchange.exporters.folder import export_folder
from memolith.interchange.exporters.mem0 import write_mem0
from memolith.interchange.importers.mem0 import read_mem0
from memolith.interchange.importers.notes import read_obsidian
from memolith.interchange.note_files import Style
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store


@pytest.fixture
def tea(app: App) -> str:
    """A memory that is linked from an entity."""
    draft = note('Green tea,\n"hot".', title="Tea & cake", tags=("a, b", "köln"))
    tea = app.engine.writing.remember(ME, draft).item.id
    maria = app.engine.writing.remember(
        ME, Draft(kind="entity", title="Maria", blocks=(Block("Drinks tea"),))
    ).item.id
    app.engine.writing.link(ME, maria, tea, "likes")
    return tea


@pytest.mark.parametrize("style", ["wiki", "markdown"])
def test_a_folder_of_notes_can_be_imported_with_its_links(
    app: App, tea: str, tmp_path: Path, style: Style
) -> None:
    folder = tmp_path / "out"
    assert export_folder(app.engine, ME, folder, style) == 2
    data = read_obsidian(folder)
    notes = {record.title: record for record in data.records}
    assert notes["Tea & cake"].blocks == (Block('Green tea,\n"hot".'),)
    assert notes["Tea & cake"].attributes["memolith"] == tea
    assert [(link.source, link.label, link.target) for link in data.links] == [
        ("entities/Maria.md", "likes", "memories/Tea & cake.md")
    ]
    assert (folder / ".obsidian").exists() == (style == "wiki")
    assert bool(re.search(r"\[\[", (folder / "entities/Maria.md").read_text("utf-8"))) == (
        style == "wiki"
    )


@pytest.mark.parametrize("style", ["wiki", "markdown"])
def test_links_of_a_note_in_a_directory_of_its_own_lead_to_their_notes(
    app: App, tea: str, tmp_path: Path, style: Style
) -> None:
    draft = note("Boil it.", title="Water", attributes={"path": "kitchen/hot/Water.md"})
    water = app.engine.writing.remember(ME, draft).item.id
    app.engine.writing.link(ME, water, tea, "makes")
    export_folder(app.engine, ME, tmp_path / "out", style)
    links = [(link.source, link.target) for link in read_obsidian(tmp_path / "out").links]
    assert ("kitchen/hot/Water.md", "memories/Tea & cake.md") in links
    if style == "markdown":
        file = tmp_path / "out" / "kitchen" / "hot" / "Water.md"
        assert "](../../memories/" in file.read_text(encoding="utf-8")


def test_a_folder_that_holds_something_is_not_written_to(
    app: App, tea: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInput, match="is not empty"):
        export_folder(app.engine, ME, tmp_path, "wiki")
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["mine.txt"]


def test_mem0_gets_what_its_own_importer_reads(app: App, tea: str, tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    with path.open("w", encoding="utf-8") as file:
        assert write_mem0(app.engine, ME, file) == (1, 1)
    (record,) = read_mem0(path).records
    item, _ = app.engine.reading.read(ME, tea)
    assert record.source_id == tea
    assert record.blocks == (Block('Green tea,\n"hot".'),)
    assert record.tags == ("a, b", "köln")
    assert (record.created_at, record.updated_at) == (item.created_at, item.updated_at)
    assert record.attributes["title"] == "Tea & cake"


def test_a_table_has_every_item_in_one_row(app: App, tea: str) -> None:
    file = io.StringIO(newline="")
    assert write_csv(app.engine, ME, file) == 2
    rows = list(csv.DictReader(io.StringIO(file.getvalue(), newline="")))
    assert [row["kind"] for row in rows] == ["memory", "entity"]
    assert rows[0]["id"] == tea
    assert rows[0]["text"] == 'Green tea,\n"hot".'
    assert json.loads(rows[0]["tags"]) == ["a, b", "köln"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_no_cell_of_a_table_is_a_formula(app: App, text: str) -> None:
    app.engine.writing.remember(ME, note(text, title="=2+2"))
    file = io.StringIO(newline="")
    write_csv(app.engine, ME, file)
    (row,) = csv.DictReader(io.StringIO(file.getvalue(), newline=""))
    assert (row["text"], row["title"]) == ("'" + text, "'=2+2")
