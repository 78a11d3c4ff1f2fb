"""What is a score worth? The share of right hits per band, and who gets a strong hit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Protocol

from bench.material import ME
from memolith.bootstrap import App
from memolith.domain.queries import Query

BANDS = 10
STRENGTHS = ("strong", "likely", "weak")


class Indexed(Protocol):
    """A conversation in a memory of its own."""

    app: App
    ids: dict[tuple[str, int], str]

    def index(self, docs: list[dict[str, Any]]) -> None: ...
    def close(self) -> None: ...


class Asked:
    """What the questions of one kind found."""

    def __init__(self) -> None:
        self.questions = 0
        self.with_hit = 0
        self.with_strong = 0
        self.bands: dict[int, list[bool]] = defaultdict(list)
        self.strengths: dict[str, list[bool]] = defaultdict(list)

    def ask(self, memory: Indexed, text: str, right: Sequence[str]) -> None:
        """Ask a question and count its hits."""
        found = memory.app.engine.recall.search(ME, Query(text, limit=100))
        self.questions += 1
        self.with_hit += bool(found.hits)
        self.with_strong += any(hit.strength == "strong" for hit in found.hits)
        for hit in found.hits:
            is_right = memory.ids[hit.item.id, hit.passage.block] in right
            self.bands[min(int(BANDS * hit.score), BANDS - 1)].append(is_right)
            self.strengths[hit.strength].append(is_right)


def renamed(text: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    """A question of others, with the names of the people here in it."""
    for their, our in zip(theirs, ours, strict=False):
        text = re.sub(rf"\b{re.escape(their)}\b", our, text)
    return text


def calibrate(
    make: Callable[[], Indexed], module: ModuleType, data: dict[str, Any], limit: int | None
) -> None:
    """Print the bands of the score, and how many own and foreign questions get a strong hit."""
    talks = data["conversations"]
    own, foreign, foreign_renamed = Asked(), Asked(), Asked()
    for number, talk in enumerate(talks):
        memory = make()
        memory.index(module.make_docs(talk, "turn"))
        other = talks[(number + 1) % len(talks)]
        for question in talk["questions"][:limit]:
            own.ask(memory, question["question"], [str(id) for id in question["evidence"]])
        for question in other["questions"][:limit]:
            foreign.ask(memory, question["question"], ())
            with_our_names = renamed(question["question"], other["speakers"], talk["speakers"])
            foreign_renamed.ask(memory, with_our_names, ())
        memory.close()
    print("score          hits    right")
    for band in sorted(own.bands):
        hits = own.bands[band]
        print(
            f"{band / BANDS:.1f} to {(band + 1) / BANDS:.1f}  {len(hits):6,}   {_share(hits):6.1%}"
        )
    for strength in STRENGTHS:
        hits = own.strengths[strength]
        print(f"{strength:10}  {len(hits):6,}   {_share(hits):6.1%}")
    print("questions                       asked    any hit   strong hit")
    for name, asked in (
        ("of this conversation", own),
        ("of another one", foreign),
        ("of another one, names replaced", foreign_renamed),
    ):
        print(
            f"{name:30} {asked.questions:6,}   {asked.with_hit / asked.questions:8.1%} "
            f"{asked.with_strong / asked.questions:12.1%}"
        )


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 0.0
