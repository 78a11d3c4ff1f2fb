"""Evidence recall on public sets through a peer's own interface.

There is no language model that reads or judges: whether the evidence is among the hits can be
counted, repeated by anybody, and does not move with the reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from bench.peers.peer import Session
from bench.peers.results import Figures
from bench.programs import ProgramError
from bench.retrieval import data_folder, load_eval

DEPTH = 30
"""Hits that are asked for where sessions are told by their turns."""
KS = (1, 5, 10)

LOCOMO = (("turn", 4), ("session", 1))
PARAGRAPHS = (("turn", 2),)
"""The units of a set, each with its weight when the time is shared out."""

Document = dict[str, Any]


def recall_figures(
    open_store: Callable[[str], Session],
    left_s: Callable[[], float],
    conversations: int,
    questions: int,
) -> Figures:
    """Figures by set and level. Sets that are not at hand are left out."""
    folder = data_folder()
    if folder is None:
        raise ProgramError("the data sets are not here; set MEMOLITH_BENCH_DATA")
    make_documents = load_eval(folder).make_docs
    figures: Figures = {}
    paths = sorted(folder.glob("locomo*.json")) + sorted(folder.glob("xquad_*.json"))
    jobs = [
        (path, unit, weight)
        for path in paths
        for unit, weight in (LOCOMO if path.stem.startswith("locomo") else PARAGRAPHS)
    ]
    for number, (path, unit, weight) in enumerate(jobs):
        data = json.loads(path.read_text(encoding="utf-8"))
        end = left_s() * (1 - weight / sum(later for _, _, later in jobs[number:]))
        name = f"{path.stem} {unit if path.stem.startswith('locomo') else 'paragraph'}"
        scores: list[Figures] = []
        for index, conversation in enumerate(data["conversations"][:conversations]):
            documents = make_documents(conversation, unit)
            with open_store(f"{path.stem}-{unit}-{index}") as session:
                scores += ask_all(session, conversation, documents, unit, questions, left_s, end)
                session.end()
        if scores:
            figures[name] = {
                key: round(sum(score[key] for score in scores) / len(scores), 3)
                for key in scores[0]
            } | {"questions": len(scores)}
    return figures


def ask_all(
    session: Session,
    conversation: Document,
    documents: Sequence[Document],
    unit: str,
    questions: int,
    left_s: Callable[[], float],
    end: float,
) -> list[Figures]:
    """The scores of the questions of one conversation; none if the budget ends while it is stored."""
    by_id: dict[str, str] = {}
    for start in range(0, len(documents), 50):
        part = documents[start : start + 50]
        if left_s() < end:
            return []
        ids = session.write_many([document["text"] for document in part])
        by_id |= dict(zip(ids, (document["id"] for document in part), strict=True))
    session.settle()
    session_of = {turn["id"]: f"S{turn['session']}" for turn in conversation["turns"]}
    scores = []
    for question in conversation["questions"][:questions]:
        if left_s() < end:
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
