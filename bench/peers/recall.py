"""Evidence recall on public sets through a peer's own interface.

There is no language model that reads or judges: whether the evidence is among the hits can be
counted, repeated by anybody, and does not move with the reader.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

from bench.peers.peer import Message, Session
from bench.peers.results import Figures
from bench.programs import ProgramError
from bench.retrieval import data_folder, load_eval

DEPTH = 30
"""Hits that are asked for where sessions are told by their turns."""
KS = (1, 5, 10)
TEXTS_PER_CALL = 50
LANGUAGES = ("en", "zh", "es", "ru", "ar", "hi")
"""Of the twelve languages of XQuAD: two that memolith's score was fitted to, and four others."""

Document = dict[str, Any]


class Unit(NamedTuple):
    """In what form a set is stored, and its weight when the time is shared out."""

    name: str
    weight: int


TALK_UNITS = (Unit("turn", 4), Unit("session", 1), Unit("conversation", 2))
"""A note for each turn, a note for each session, or each session as a conversation."""
PARAGRAPH = Unit("paragraph", 2)


class LabelledSet(NamedTuple):
    """Texts, and questions with their evidence."""

    name: str
    collections: Sequence[Document]
    unit: Unit

    @property
    def title(self) -> str:
        """What the set is called in the results."""
        return f"{self.name} {self.unit.name}"


@dataclass(frozen=True)
class Share:
    """The part of the time that one set may take."""

    left_s: Callable[[], float]
    """What is left of the time of all sets."""
    rest_s: float
    """What has to be left for the sets that follow."""

    def is_over(self) -> bool:
        return self.left_s() < self.rest_s


def recall_figures(
    open_store: Callable[[str], Session],
    left_s: Callable[[], float],
    has_conversations: bool,
    conversations: int,
    questions: int,
) -> Figures:
    """Figures by set and level. Sets that are not at hand are left out."""
    folder = data_folder()
    if folder is None:
        raise ProgramError("the data sets are not here; set MEMOLITH_BENCH_DATA")
    make_documents = load_eval(folder).make_docs
    sets = [
        known
        for known in [*talks(folder), *paragraphs(folder)]
        if has_conversations or known.unit.name != "conversation"
    ]
    figures: Figures = {}
    for number, known in enumerate(sets):
        weights = sum(later.unit.weight for later in sets[number:])
        share = Share(left_s, left_s() * (1 - known.unit.weight / weights))
        scores: list[Figures] = []
        for index, collection in enumerate(known.collections[:conversations]):
            unit = "session" if known.unit.name == "session" else "turn"
            documents = make_documents(collection, unit)
            with open_store(f"{known.name}-{known.unit.name}-{index}") as session:
                store = store_messages if known.unit.name == "conversation" else store_notes
                by_id = store(session, documents, share)
                scores += ask_all(session, collection, by_id, unit, questions, share)
                session.end()
        if scores:
            figures[known.title] = {
                key: round(sum(score[key] for score in scores) / len(scores), 3)
                for key in scores[0]
            } | {"questions": len(scores)}
    return figures


def talks(folder: Path) -> Iterator[LabelledSet]:
    """Sets of conversations."""
    for path in sorted(folder.glob("locomo*.json")):
        collections = json.loads(path.read_text(encoding="utf-8"))["conversations"]
        for unit in TALK_UNITS:
            yield LabelledSet(path.stem, collections, unit)


def paragraphs(folder: Path) -> Iterator[LabelledSet]:
    """Sets of paragraphs: XQuAD as published, where it is at hand, or the sets of the folder."""
    published = os.environ.get("MEMOLITH_BENCH_XQUAD")
    for language in LANGUAGES:
        path = folder / f"xquad_{language}.json"
        if published:
            text = Path(published, f"xquad.{language}.json").read_text(encoding="utf-8")
            yield LabelledSet(path.stem, [paragraphs_of(json.loads(text))], PARAGRAPH)
        elif path.is_file():
            collections = json.loads(path.read_text(encoding="utf-8"))["conversations"]
            yield LabelledSet(path.stem, collections, PARAGRAPH)


def paragraphs_of(published: Document) -> Document:
    """A file of XQuAD in the form of the other sets: each paragraph is a turn of its own."""
    turns: list[Document] = []
    questions: list[Document] = []
    for article in published["data"]:
        for paragraph in article["paragraphs"]:
            id = f"P{len(turns)}"
            turns.append({"id": id, "session": len(turns), "text": paragraph["context"]})
            questions += [
                {"question": asked["question"], "evidence": [id]} for asked in paragraph["qas"]
            ]
    # Spread over all articles, as not every question is asked.
    step = next(n for n in count(97) if gcd(n, len(questions)) == 1)
    order = [number * step % len(questions) for number in range(len(questions))]
    return {"turns": turns, "questions": [questions[number] for number in order]}


def store_notes(session: Session, documents: Sequence[Document], share: Share) -> dict[str, str]:
    """A note for each document; returns its id by the peer's own. Nothing if the time is over."""
    by_id: dict[str, str] = {}
    for start in range(0, len(documents), TEXTS_PER_CALL):
        part = documents[start : start + TEXTS_PER_CALL]
        if share.is_over():
            return {}
        ids = session.write_many([document["text"] for document in part])
        by_id |= dict(zip(ids, (document["id"] for document in part), strict=True))
    return by_id


def store_messages(session: Session, documents: Sequence[Document], share: Share) -> dict[str, str]:
    """Each session of a talk as a conversation; returns the turns by the peer's own ids."""
    by_id: dict[str, str] = {}
    for _, group in groupby(documents, lambda document: document["meta"]["session"]):
        turns = list(group)
        if share.is_over():
            return {}
        messages = [
            Message(
                turn["meta"]["speaker"],
                turn["text"].removeprefix(turn["meta"]["speaker"] + ": "),
                turn["meta"]["iso"],
            )
            for turn in turns
        ]
        ids = session.write_conversation(messages)
        by_id |= dict(zip(ids, (turn["id"] for turn in turns), strict=True))
    return by_id


def ask_all(
    session: Session,
    collection: Document,
    by_id: dict[str, str],
    unit: str,
    questions: int,
    share: Share,
) -> list[Figures]:
    """The scores of the questions on one collection; none if it was not stored in time."""
    if not by_id:
        return []
    session.settle()
    session_of = {turn["id"]: f"S{turn['session']}" for turn in collection["turns"]}
    scores = []
    for question in collection["questions"][:questions]:
        if share.is_over():
            break
        hits = session.search(question["question"], DEPTH if unit == "turn" else max(KS))
        found = [by_id[id] for id in hits if id in by_id]
        scores.append(score(found, set(question["evidence"]), session_of, unit))
    return scores


def score(
    found: Sequence[str], evidence: set[str], session_of: dict[str, str], unit: str
) -> Figures:
    """Which share of the evidence is among the first hits, by turns and by sessions."""
    wanted = {session_of[id] for id in evidence}
    sessions = list(dict.fromkeys(session_of.get(id, id) for id in found))
    figures = {f"session@{k}": len(wanted & set(sessions[:k])) / len(wanted) for k in KS}
    if unit == "turn":
        figures |= {f"turn@{k}": len(evidence & set(found[:k])) / len(evidence) for k in KS}
    return figures
