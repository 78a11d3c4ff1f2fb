"""Written notes and talk become one pair for each question."""

import tomllib
from pathlib import Path

import pytest
from training.sources import written
from training.sources.table import TABLE_FILE

from tests.training.samples import repository

TALK = """
kind = "talk"
[[entry]]
text = "Bo: Did your boat get wet?"
[[entry]]
text = "Ada: The boat sank in the harbour."
ask = ["What happened to Ada's vessel?", "Where did it go down?"]
"""
CHANGE = """
kind = "notes"
[[entry]]
text = "Dinner is at eight from now on."
instead_of = "Dinner is at seven."
ask = ["When do we eat in the evening?"]
[[entry]]
text = "Dinner guests sit on the left."
"""
FOLDER = TABLE_FILE.parent / "notes" / "written"
FILES = sorted(FOLDER.glob("*.toml"))


def test_each_question_is_a_pair_with_other_entries_as_negatives(tmp_path: Path) -> None:
    pairs = list(written.build(repository(tmp_path, {"written/talk.toml": TALK})))
    assert [pair.question for pair in pairs] == [
        "What happened to Ada's vessel?",
        "Where did it go down?",
    ]
    for pair in pairs:
        assert pair.passages == ("Ada: The boat sank in the harbour.",)
        assert pair.negatives == ("Bo: Did your boat get wet?",)
        assert pair.before == ("Bo: Did your boat get wet?",)


def test_the_note_that_was_replaced_is_the_first_negative(tmp_path: Path) -> None:
    [pair] = written.build(repository(tmp_path, {"written/change.toml": CHANGE}))
    assert pair.passages == ("Dinner is at eight from now on.",)
    assert pair.negatives == ("Dinner is at seven.", "Dinner guests sit on the left.")


def test_other_files_are_left_out(tmp_path: Path) -> None:
    assert not list(written.build(repository(tmp_path, {"facts.toml": TALK})))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_hold_texts_and_questions(path: Path) -> None:
    collection = tomllib.loads(path.read_text(encoding="utf-8"))
    assert collection["kind"] in ("notes", "talk")
    texts = [entry["text"] for entry in collection["entry"]]
    assert len(set(texts)) == len(texts)
    asked = [question for entry in collection["entry"] for question in entry.get("ask", ())]
    assert len(set(asked)) == len(asked) > 0
    if collection["kind"] == "talk":
        assert all(": " in text for text in texts)
