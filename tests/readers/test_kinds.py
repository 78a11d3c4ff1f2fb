"""Every kind of file is documented and has a sample."""

from pathlib import Path

import pytest

from memolith.readers.kinds import BINARY_KINDS, READABLE_KINDS, TEXT_KINDS

ROOT = Path(__file__).parents[2]
FORMATS = [kind.format for kind in (*BINARY_KINDS, *TEXT_KINDS)]
WITHOUT_SAMPLE = {"json", "tsv"}
"""Made by the tests themselves."""


@pytest.mark.parametrize("format", FORMATS)
def test_every_kind_is_named_where_another_one_is_refused(format: str) -> None:
    assert format in READABLE_KINDS.replace(",", "").split()


@pytest.mark.parametrize("format", FORMATS)
def test_every_kind_is_in_the_table_of_the_guide(format: str) -> None:
    guide = (ROOT / "docs" / "how-to" / "files.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in guide.splitlines() if line.startswith("|")]
    assert any(format in row.replace(",", " ").split() for row in rows)


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in WITHOUT_SAMPLE])
def test_every_kind_has_a_sample(format: str) -> None:
    table = (ROOT / "tests" / "files" / "README.md").read_text(encoding="utf-8")
    assert f"| {format} |" in table
