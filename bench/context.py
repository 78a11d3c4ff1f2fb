"""How much of the evidence does `context` put into a budget of tokens?

Every question is asked of its own conversation. A turn of evidence is covered if its text stands
in the pack. The plain top list is the hits of one search, each with its source, the best first,
as many as fit. Below the pack stand packs without one of its means.

The first three conversations of locomo_dev were used to choose the means; the others were not.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.retrieval import ME, Memolith, data_folder, load_eval
from bench.worlds import load_worlds
from memolith.domain.chunking import chunk, weigh
from memolith.domain.queries import Found, Query
from memolith.engine import context, packing

BUDGETS = (500, 1000, 2000)
TUNED_ON = 3
"""How many conversations of locomo_dev the means were chosen by."""
CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open", "4": "single-hop", "5": "adversarial"}

WITHOUT: dict[str, tuple[object, str, float]] = {
    "no neighbours": (context, "MAX_WITH_NEIGHBOURS", 0),
    "no thrift": (packing, "THRIFT", 0.0),
    "no lower floor": (context, "LOWER_FLOOR", 1.0),
    "no joined parts": (packing, "MAX_STEP_IN_PART", 0),
}
"""The packs without one of the means, and the constant that takes it away."""


@dataclass(frozen=True)
class Asked:
    """A question, its category and the ids of the turns that are its evidence."""

    text: str
    evidence: frozenset[str]
    category: str


@dataclass(frozen=True)
class Talk:
    """A conversation: its turns as they are stored, and the questions about it."""

    group: str
    docs: list[dict[str, Any]]
    questions: list[Asked]


@dataclass
class Tally:
    """Shares of evidence and tokens, over questions."""

    shares: list[float] = field(default_factory=list)
    turns: int = 0
    tokens: int = 0

    def add(self, covered: int, wanted: int, tokens: int) -> None:
        """Count a question."""
        self.shares.append(covered / wanted)
        self.turns += covered
        self.tokens += tokens

    @property
    def share(self) -> float:
        """The mean share of the evidence that is covered, in per cent."""
        return 100 * sum(self.shares) / len(self.shares)


def from_locomo(numbers: Sequence[int] | None) -> Iterator[Talk]:
    """The conversations of locomo_dev, where they are at hand."""
    folder = data_folder()
    if folder is None:
        print("context: the data sets are not here; set MEMOLITH_BENCH_DATA")
        return
    module = load_eval(folder)
    data = json.loads((folder / "locomo_dev.json").read_text(encoding="utf-8"))
    for number, conversation in enumerate(data["conversations"]):
        if numbers is not None and number not in numbers:
            continue
        docs = []
        for turn in conversation["turns"]:
            at = module.iso(turn.get("date") or "")
            docs.append(
                _doc(turn["id"], turn["session"], turn["speaker"], turn["text"], f"{at}:00Z")
            )
        questions = [
            Asked(
                each["question"],
                frozenset(map(str, each["evidence"])),
                CATEGORIES[str(each["category"])],
            )
            for each in conversation["questions"]
            if each["evidence"]
        ]
        first = TUNED_ON - 1
        group = f"locomo 0-{first}" if number < TUNED_ON else f"locomo {TUNED_ON}-4"
        yield Talk(group, docs, questions)


def from_worlds() -> Iterator[Talk]:
    """The conversations that come with the project."""
    for world in load_worlds(kind="conversation"):
        docs = []
        for item in world.items:
            at = item.at.strftime("%Y-%m-%dT%H:%M:%SZ")
            docs.append(_doc(item.id, str(item.session), str(item.speaker), item.text, at))
        questions = [
            Asked(each.text, frozenset(each.right), each.category)
            for each in world.questions
            if each.answerable
        ]
        yield Talk("worlds", docs, questions)


def _doc(id: object, session: object, speaker: str, text: str, at: str) -> dict[str, Any]:
    meta = {"session": session, "speaker": speaker, "iso": at}
    return {"id": str(id), "text": f"{speaker}: {text}", "meta": meta}


class Asking:
    """A stored conversation; what was searched for one question is searched once."""

    def __init__(self, talk: Talk) -> None:
        self.store = Memolith()
        self.store.index(talk.docs)
        self.pieces = {doc["id"]: _pieces(doc) for doc in talk.docs}
        self._search = self.store.app.engine.recall.search
        self._found: dict[Query, Found] = {}
        self.store.app.engine.recall.search = self._search_once  # type: ignore[method-assign]

    def _search_once(self, caller: object, query: Query) -> Found:
        if query not in self._found:
            self._found[query] = self._search(ME, query)
        return self._found[query]

    def forget(self) -> None:
        """Go on to the next question."""
        self._found.clear()

    def plain(self, text: str, budget_tokens: int) -> str:
        """The top list."""
        return self._top_list(Query(text, limit=context.MAX_ITEMS, family="core"), budget_tokens)

    def full(self, text: str, budget_tokens: int) -> str:
        """The top list that goes on below the floor until the budget is full."""
        query = Query(text, limit=context.MAX_ITEMS, threshold=0.0, family="core")
        return self._top_list(query, budget_tokens)

    def _top_list(self, query: Query, budget_tokens: int) -> str:
        found = self._search_once(ME, query)
        parts: list[str] = []
        used = 0
        for hit in found.hits:
            part = packing.Part((packing.Candidate.of(hit),))
            shown = f"{part.head(len(parts) + 1)}\n{part.text}"
            if used + weigh(shown) <= budget_tokens:
                parts.append(shown)
                used += weigh(shown)
        return "\n\n".join(parts)

    def pack(self, text: str, budget_tokens: int) -> str:
        """What `context` returns."""
        return self.store.app.engine.context.pack(ME, text, budget_tokens).text

    def covered(self, shown: str, evidence: frozenset[str]) -> int:
        """How many turns of the evidence a text has."""
        return sum(any(piece in shown for piece in self.pieces[id]) for id in evidence)


def _pieces(doc: dict[str, Any]) -> list[str]:
    text = doc["text"].split(": ", 1)[1]
    return [piece.strip() for piece in chunk(text)]


@contextmanager
def changed(owner: object, name: str, value: float) -> Iterator[None]:
    """One constant of the pack at another value."""
    usual = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, usual)


def measure(talk: Talk, tallies: dict[tuple[str, ...], Tally], with_parts: bool) -> None:
    """Ask all questions of a conversation."""
    asking = Asking(talk)
    for question in talk.questions:
        for budget in BUDGETS:
            for method, shown in texts(asking, question.text, budget, with_parts):
                covered = asking.covered(shown, question.evidence)
                several = "several" if len(question.evidence) > 1 else "one"
                for part in ("all", several, question.category):
                    tally = tallies[talk.group, str(budget), method, part]
                    tally.add(covered, len(question.evidence), weigh(shown))
        asking.forget()
    asking.store.close()


def texts(
    asking: Asking, question: str, budget: int, with_parts: bool
) -> Iterator[tuple[str, str]]:
    """What each method shows."""
    ways: dict[str, Callable[[str, int], str]] = {
        "plain": asking.plain,
        "plain, no floor": asking.full,
        "context": asking.pack,
    }
    for method, way in ways.items():
        yield method, way(question, budget)
    if with_parts:
        for method, (owner, name, value) in WITHOUT.items():
            with changed(owner, name, value):
                yield method, asking.pack(question, budget)


def show(tallies: dict[tuple[str, ...], Tally]) -> None:
    """Print the shares by number of evidence turns, then by category."""
    methods = list(dict.fromkeys(key[2] for key in tallies))
    for group in dict.fromkeys(key[0] for key in tallies):
        print(f"\n{group}: share of the evidence in the pack, %")
        print(
            f"{'budget':>6} {'':16} {'all':>6} {'one':>6} {'several':>7} {'tokens':>7} {'turns/1k':>8}"
        )
        for budget in map(str, BUDGETS):
            for method in methods:
                one, several, every = (
                    tallies[group, budget, method, part] for part in ("one", "several", "all")
                )
                print(
                    f"{budget:>6} {method:16} {every.share:6.1f} {one.share:6.1f} "
                    f"{several.share:7.1f} {every.tokens / len(every.shares):7.0f} "
                    f"{1000 * every.turns / max(every.tokens, 1):8.2f}"
                )
        parts = sorted({key[3] for key in tallies if key[0] == group} - {"all", "one", "several"})
        print(f"{'':8}{'category':14} {'questions':>9} " + " ".join(f"{b:>13}" for b in BUDGETS))
        for part in parts:
            cells = []
            for budget in map(str, BUDGETS):
                plain = tallies[group, budget, "plain", part]
                packed = tallies[group, budget, "context", part]
                cells.append(f"{plain.share:5.1f} > {packed.share:5.1f}")
            count = len(tallies[group, "500", "plain", part].shares)
            print(f"{'':8}{part:14} {count:9} " + " ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, nargs="*", help="of locomo_dev; all of them")
    parser.add_argument("--no-worlds", action="store_true")
    parser.add_argument("--parts", action="store_true", help="also packs without one of the means")
    options = parser.parse_args()
    tallies: dict[tuple[str, ...], Tally] = defaultdict(Tally)
    talks = list(from_locomo(options.conversations))
    if not options.no_worlds:
        talks += from_worlds()
    for talk in talks:
        measure(talk, tallies, options.parts)
    show(tallies)


if __name__ == "__main__":
    main()
