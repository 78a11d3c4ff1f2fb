"""The list of files, and what was read in one of them around the place that a hit cites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.cell_ranges import CellRange
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME

FILES = Path(__file__).parents[1] / "files"


def run(app: App, tool: str, /, **arguments: Any) -> Any:
    outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


@pytest.fixture
def book(app: App) -> str:
    return app.engine.documents.ingest(ME, FILES / "book.xlsx", "book.xlsx").item.id


def test_files_are_listed_with_size_and_dates_and_found_by_name(app: App, book: str) -> None:
    app.engine.documents.ingest(ME, FILES / "notes.md", "Notes.md")
    listed = run(app, "list_files")["files"]
    assert [file["name"] for file in listed] == ["Notes.md", "book.xlsx"]
    assert listed[1]["bytes"] == (FILES / "book.xlsx").stat().st_size
    assert (listed[1]["version"], listed[1]["created_at"][:2]) == (1, "20")
    found = run(app, "list_files", name="note")
    assert ([file["name"] for file in found["files"]], found["total"]) == (["Notes.md"], 1)


@pytest.mark.parametrize(
    ("cite", "cells"),
    [
        ("Sales 2024!A1:F201", "Sales 2024!A1:F201"),
        ("Sales 2024!B20", "Sales 2024!A16:F29"),
        ("Zahlen!C5", "Zahlen!B4:C5"),
    ],
)
def test_the_pieces_around_a_cited_place_are_shown(
    app: App, book: str, cite: str, cells: str
) -> None:
    shown = run(app, "show_file", memory_id=book, cite=cite, limit=3)
    piece = shown["chunks"][shown["cited"] - shown["offset"]]
    assert piece["locator"] == cells


@pytest.mark.parametrize("cite", ["page 7", "Nowhere!A1", "Sales 2024!ZZ1"])
def test_a_place_that_is_not_there_cites_nothing(app: App, book: str, cite: str) -> None:
    shown = run(app, "show_file", memory_id=book, cite=cite, offset=2, limit=1)
    assert "cited" not in shown
    assert shown["offset"] == 2


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("B2", CellRange("", 2, 2, 2, 2)),
        ("Sales!AA10:AB12", CellRange("Sales", 27, 10, 28, 12)),
        ("A!B!C3", CellRange("A!B", 3, 3, 3, 3)),
        ("page 1", None),
        ("A0", None),
        ("", None),
    ],
)
def test_a_range_of_cells_is_read(text: str, cells: CellRange | None) -> None:
    assert CellRange.parse(text) == cells
