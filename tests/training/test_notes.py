"""Notes and changes of fact are filled from templates, the same way every time."""

from itertools import islice
from pathlib import Path

from training.sources import notes
from training.sources.repository import FolderRepository
from training.sources.table import TABLE_FILE

from tests.training.samples import repository

FACTS = """
[[fact]]
notes = ["{person} grew up in {city}."]
questions = ["Where is {person} from?"]
[[fact]]
notes = ["{person} cannot swim."]
questions = ["What is {person} bad at?"]
"""
CHANGES = """
[[change]]
old = "{person} lives in {city}."
new = ["{person} moved from {city} to {city2}."]
now = ["Where does {person} live now?"]
before = ["Where did {person} live?"]
"""


TURNS = """
[[turn]]
said = ["I grew up in {city}."]
replies = ["I had no idea!"]
questions = ["Where is {person} from?"]
[[turn]]
said = ["I never learned to swim."]
replies = ["Really?"]
questions = ["What can {person} not do?"]
"""


def sample(folder: Path) -> FolderRepository:
    months = 'month = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]'
    values = f'person = ["Ada", "Bo", "Cy"]\ncity = ["Rome", "Oslo", "Bonn"]\n{months}\n'
    files = {"facts.toml": FACTS, "changes.toml": CHANGES, "turns.toml": TURNS}
    return repository(folder, {"values.toml": values, **files})


def test_the_note_names_whom_the_question_names(tmp_path: Path) -> None:
    for pair in islice(notes.build(sample(tmp_path)), 30):
        person = pair.question.split()[2]
        assert f"{person} grew up in" in pair.passages[0]
        assert f"{person} cannot swim." in pair.negatives
        assert not any(f"{person} grew up in" in text for text in pair.negatives)


def test_what_holds_now_is_the_newer_note_and_what_held_is_both(tmp_path: Path) -> None:
    for pair in notes.build_changes(sample(tmp_path)):
        assert "moved from" in pair.passages[0]
        if "now" in pair.question:
            assert "lives in" in pair.negatives[0]
        else:
            assert "lives in" in pair.passages[1]


def test_a_turn_is_said_by_whom_the_question_is_about(tmp_path: Path) -> None:
    for pair in islice(notes.build_turns(sample(tmp_path)), 60):
        person = pair.question.split()[2]
        assert pair.passages[0].startswith(f"{person}: I grew up in")
        assert pair.negatives[0].endswith(": I had no idea!")
        assert not pair.negatives[0].startswith(person)
        assert not pair.before[0].startswith(person)


def test_the_same_pairs_come_every_time(tmp_path: Path) -> None:
    source = sample(tmp_path)
    assert list(notes.build(source)) == list(notes.build(source))
    assert list(notes.build_changes(source)) == list(notes.build_changes(source))
    assert list(notes.build_turns(source)) == list(notes.build_turns(source))


def test_no_place_of_the_templates_is_left_open() -> None:
    own = FolderRepository(TABLE_FILE.parent / "notes")
    pairs = [*notes.build(own), *notes.build_changes(own), *notes.build_turns(own)]
    texts = {text for pair in pairs for text in (pair.question, *pair.passages, *pair.negatives)}
    assert not [text for text in texts if "{" in text]
