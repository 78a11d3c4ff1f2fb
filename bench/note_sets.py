"""Sets of labelled notes: what somebody wrote down, and questions with the note that answers.

`bench/notes/week.toml` explains the fields.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from memolith.domain.clock import shifted

MINUTE_S = 60
FOLDER = Path(__file__).parent / "notes"
KINDS = ("changed", "date", "person", "plain", "none")
"""The kinds of questions; `none` has no answer."""
TITLE_WORDS = 7
"""A note without a title is named by so many of its first words where a tool requires a name."""


@dataclass(frozen=True)
class Note:
    """One note. `replaces` is the id of a note that is no longer true because of it; `twin` is
    the id of one that reads almost alike although both are true.
    """

    id: str
    at: str
    text: str
    title: str = ""
    tags: tuple[str, ...] = ()
    replaces: str | None = None
    twin: str | None = None

    @property
    def name(self) -> str:
        """The title, or the first words."""
        if self.title:
            return self.title
        return " ".join(self.text.split()[:TITLE_WORDS]).rstrip(".,:;")


@dataclass(frozen=True)
class Question:
    """One question; `right` is the id of the only note that answers it, if one does."""

    kind: str
    ask: str
    right: str | None = None


@dataclass(frozen=True)
class NoteSet:
    """The notes, the oldest first, and the questions about them."""

    name: str
    notes: tuple[Note, ...]
    questions: tuple[Question, ...]

    @property
    def by_id(self) -> dict[str, Note]:
        """The notes by their ids."""
        return {note.id: note for note in self.notes}

    @property
    def asked_at(self) -> str:
        """When the questions are asked: a minute after the last note."""
        return shifted(self.notes[-1].at, MINUTE_S)


def load_set(name: str) -> NoteSet:
    """A set by its name (`week`) or by the path of its file."""
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        path = Path(name)
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    notes = []
    for entry in data["notes"]:
        tags = tuple(entry.pop("tags", ()))
        at = entry.pop("at") + ":00.000000Z"
        notes.append(Note(tags=tags, at=at, **entry))
    questions = [Question(**entry) for entry in data["questions"]]
    return NoteSet(path.stem, tuple(notes), tuple(questions))
