"""Small worlds to tune the ranking on: what somebody wrote down, and questions about it.

A world is one JSON file in `bench/notes/worlds`, written by hand. The questions share few words
with what answers them. The names of the categories say what makes a question hard:

- `paraphrase`, `synonym`: the same said in other words
- `indirect`: the answer follows from what was written; the question names another side of it
- `shared`: one telling word of the answer stands in the question
- `name`: the question names a thing that the item describes, or the other way round
- `change`: older and newer items contradict each other; the newest is right
- `twin`: another item differs only in a number or a name
- `when`: a question about a date, or one that names a date
- `many`: several items together are the answer
- `misspelt`: a name in the question is spelt in another way
- `inflected`: the same words in other forms (of the languages that have them)
- `none`: nothing answers it, though something comes near
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, TypedDict, cast, get_args

FOLDER = Path(__file__).parent / "notes" / "worlds"

WorldKind = Literal["notes", "conversation", "file"]
Category = Literal[
    "paraphrase",
    "synonym",
    "indirect",
    "shared",
    "name",
    "change",
    "twin",
    "when",
    "many",
    "misspelt",
    "inflected",
    "none",
]
KINDS: tuple[WorldKind, ...] = get_args(WorldKind)
CATEGORIES: tuple[Category, ...] = get_args(Category)


class _ItemOptions(TypedDict, total=False):
    title: str
    tags: list[str]
    speaker: str
    session: str


class _ItemJson(_ItemOptions):
    id: str
    at: str
    text: str


class _QuestionJson(TypedDict):
    question: str
    right: list[str]
    category: Category


class _WorldJson(TypedDict):
    name: str
    language: str
    kind: WorldKind
    items: list[_ItemJson]
    questions: list[_QuestionJson]


@dataclass(frozen=True)
class Item:
    """One note, turn or section; `at` is when it was written or said."""

    id: str
    at: datetime
    text: str
    title: str | None = None
    tags: tuple[str, ...] = ()
    speaker: str | None = None
    session: str | None = None


@dataclass(frozen=True)
class Question:
    """A question and the ids of the items that answer it, all of them."""

    text: str
    right: tuple[str, ...]
    category: Category

    @property
    def answerable(self) -> bool:
        """False if nothing in the world answers the question."""
        return bool(self.right)


@dataclass(frozen=True)
class World:
    """What is stored together, oldest first, and the questions about it."""

    name: str
    language: str
    kind: WorldKind
    items: tuple[Item, ...]
    questions: tuple[Question, ...]


def load_worlds(
    *, language: str | None = None, kind: WorldKind | None = None, folder: Path = FOLDER
) -> list[World]:
    """All worlds by size, the smallest first, or those of one language or kind."""
    worlds = [load_world(path) for path in sorted(folder.glob("*.json"))]
    if language is not None:
        worlds = [world for world in worlds if world.language == language]
    if kind is not None:
        worlds = [world for world in worlds if world.kind == kind]
    return sorted(worlds, key=lambda world: (len(world.items), world.name))


def load_world(path: Path) -> World:
    """The world in a file; ValueError names the file and what is wrong in it."""
    content = cast(_WorldJson, json.loads(path.read_text(encoding="utf-8")))
    world = World(
        name=content["name"],
        language=content["language"],
        kind=content["kind"],
        items=tuple(_item(entry) for entry in content["items"]),
        questions=tuple(_question(entry) for entry in content["questions"]),
    )
    for problem in problems_of(world):
        raise ValueError(f"{path.name}: {problem}")
    return world


def problems_of(world: World) -> list[str]:
    """What is wrong with a world: kinds, ids, dates and answers that do not fit together."""
    problems: list[str] = []
    if world.kind not in KINDS:
        problems.append(f"unknown kind {world.kind!r}; use one of {', '.join(KINDS)}")
    ids = [item.id for item in world.items]
    problems += [f"two items have the id {id!r}" for id in sorted(set(ids)) if ids.count(id) > 1]
    for earlier, later in zip(world.items, world.items[1:], strict=False):
        if later.at < earlier.at:
            problems.append(f"item {later.id!r} is older than {earlier.id!r} before it")
    for question in world.questions:
        problems += _problems_of_question(question, set(ids))
    return problems


def _problems_of_question(question: Question, ids: set[str]) -> list[str]:
    problems: list[str] = []
    if question.category not in CATEGORIES:
        problems.append(f"unknown category {question.category!r} at {question.text!r}")
    if question.answerable == (question.category == "none"):
        problems.append(f"only questions of the category 'none' have no answer: {question.text!r}")
    problems += [
        f"no item has the id {id!r}, an answer to {question.text!r}"
        for id in question.right
        if id not in ids
    ]
    return problems


def _item(entry: _ItemJson) -> Item:
    return Item(
        id=entry["id"],
        at=datetime.fromisoformat(entry["at"]),
        text=entry["text"],
        title=entry.get("title"),
        tags=tuple(entry.get("tags", ())),
        speaker=entry.get("speaker"),
        session=entry.get("session"),
    )


def _question(entry: _QuestionJson) -> Question:
    return Question(entry["question"], tuple(entry["right"]), entry["category"])
