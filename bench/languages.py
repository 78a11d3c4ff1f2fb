"""Is search by words in other languages as good as plain FTS5? Notes of our own, question to note.

The questions of `bench/languages` have other forms of the words of their notes. Those of the worlds in
`bench/notes/worlds` often have other words, which no search by words can find.
"""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw
from tests.stores import engine_on

from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.storage.sqlite.store import SqliteStore

FOLDER = Path(__file__).with_name("languages")
WORLDS = Path(__file__).parent / "notes" / "worlds"
LANGUAGES = tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))
WORLDS_IN_LANGUAGES = ("arabic", "greek", "hindi", "russian", "thai", "turkish", "vietnamese")
ME = Caller()
DEPTH = 10

Search = Callable[[str], list[int]]
"""The numbers of the notes that a question finds, the best first."""


class Question(NamedTuple):
    """A question and the numbers of the notes that answer it."""

    text: str
    answers: frozenset[int]


class NoteSet(NamedTuple):
    """The notes of a language, and questions about them."""

    notes: list[str]
    questions: list[Question]


class Score(NamedTuple):
    """How well a search found the answers, as shares of the questions."""

    first: float
    in_three: float
    mrr: float

    def __str__(self) -> str:
        return f"{self.first:6.3f} {self.in_three:6.3f} {self.mrr:6.3f}"


def load(name: str) -> NoteSet:
    """The notes of a language or of a world."""
    if name in WORLDS_IN_LANGUAGES:
        return _load_world(name)
    raw_notes = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["notes"]
    questions = [
        Question(question, frozenset([number]))
        for number, raw in enumerate(raw_notes)
        for question in raw["questions"]
    ]
    return NoteSet([raw["text"] for raw in raw_notes], questions)


def _load_world(name: str) -> NoteSet:
    """A world, without the questions that nothing in it answers."""
    world = json.loads((WORLDS / f"{name}.json").read_text(encoding="utf-8"))
    numbers = {item["id"]: number for number, item in enumerate(world["items"])}
    questions = [
        Question(raw["question"], frozenset(numbers[id] for id in raw["right"]))
        for raw in world["questions"]
        if raw["right"]
    ]
    return NoteSet([item["text"] for item in world["items"]], questions)


def score(questions: Sequence[Question], search: Search) -> Score:
    """How well a search finds the answers."""
    ranks = []
    for question in questions:
        found = search(question.text)
        places = [place for place, number in enumerate(found) if number in question.answers]
        ranks.append(places[0] if places else None)
    count = len(ranks)
    return Score(
        first=sum(rank == 0 for rank in ranks) / count,
        in_three=sum(rank is not None and rank < 3 for rank in ranks) / count,
        mrr=sum(1 / (1 + rank) for rank in ranks if rank is not None) / count,
    )


def score_of_fts5(language: str) -> Score:
    """Plain FTS5 with its own tokenizer: any word of the question, by BM25."""
    notes, questions = load(language)
    with closing(apsw.Connection(":memory:")) as db:
        db.execute("create virtual table note using fts5 (text, tokenize='unicode61')")
        db.executemany("insert into note (rowid, text) values (?, ?)", enumerate(notes))

        def search(question: str) -> list[int]:
            words = re.findall(r"\w+", question.lower())
            match = " OR ".join(f'"{word}"' for word in words)
            found = db.execute(
                "select rowid from note where note match ? order by rank limit ?", (match, DEPTH)
            )
            return [int(str(number)) for (number,) in found]

        return score(questions, search)


def score_of_memolith(language: str) -> Score:
    """Our search by words, through the engine."""
    notes, questions = load(language)
    with (
        tempfile.TemporaryDirectory(prefix="memolith-bench-") as folder,
        closing(SqliteStore(Path(folder))) as store,
    ):
        engine = engine_on(store)
        numbers = {}
        for number, text in enumerate(notes):
            item = engine.writing.remember(ME, Draft(blocks=(Block(text),))).item
            numbers[item.id] = number

        def search(question: str) -> list[int]:
            found = engine.recall.search(ME, Query(question, mode="text", limit=DEPTH))
            return [numbers[hit.item.id] for hit in found.hits]

        return score(questions, search)


def main() -> None:
    print(f"{'language':10} {'method':10} {'first':>6} {'in 3':>6} {'mrr':>6}")
    for language in (*LANGUAGES, *WORLDS_IN_LANGUAGES):
        print(f"{language:10} {'fts5':10} {score_of_fts5(language)}", flush=True)
        print(f"{language:10} {'memolith':10} {score_of_memolith(language)}", flush=True)


if __name__ == "__main__":
    main()
