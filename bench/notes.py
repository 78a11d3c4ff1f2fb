"""Does a question find the one note that answers it? Asked through the search tool of every family.

Each family writes the notes of a labelled set with its own tool into a store of its own, with their
dates. Then every question goes to its search tools with their defaults.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tests.checked import body_of

from bench.material import ME
from bench.note_sets import KINDS, Note, NoteSet, Question, load_set
from memolith.bootstrap import App, open_app
from memolith.domain.clock import shifted
from memolith.settings import Settings
from memolith.tools.call import Call

CONTEXT_TOKENS = 1000
FIRST_PLACES = 5
SURE_SCORE = 0.5
"""A question without an answer should have no hit with this score."""
MICROSECOND = 0.000_001
Arguments = dict[str, object]
Answer = Mapping[str, Any]


class NoteClock:
    """A clock that is set by hand; it goes on by a microsecond whenever it is read."""

    def __init__(self, at: str) -> None:
        self.at = at

    def now(self) -> str:
        self.at = shifted(self.at, MICROSECOND)
        return self.at


class Found(NamedTuple):
    """A note that a search found; without a strength if the tool does not show one."""

    note: str
    score: float
    strength: str | None


@dataclass(frozen=True)
class Writer:
    """The tool of a family that keeps a note: its arguments, and the id in its answer."""

    tool: str
    arguments: Callable[[Note], Arguments]
    id_of: Callable[[Answer], str]


@dataclass(frozen=True)
class Door:
    """A search tool: who wrote what it searches, its arguments, and the names in its answer."""

    tool: str
    writer: Writer
    hits: Callable[[Answer], Sequence[Answer]]
    id_field: str = "id"
    score_field: str = "score"
    arguments: Callable[[str], Arguments] = lambda question: {"query": question}


def core_note(note: Note) -> Arguments:
    return {"content": note.text, "title": note.title, "tags": list(note.tags)}


def lanonasis_note(note: Note) -> Arguments:
    return {"title": note.name, "content": note.text, "tags": list(note.tags)}


def sekha_note(note: Note) -> Arguments:
    """A conversation of one message."""
    message = {"role": "user", "content": note.text, "timestamp": note.at}
    return {"label": note.name, "messages": [message]}


def knowledge_note(note: Note) -> Arguments:
    area = note.tags[0] if note.tags else None
    return {"name": note.name, "explanation": note.text, "area": area}


def subcog_note(note: Note) -> Arguments:
    return {"content": note.text, "namespace": "context", "tags": list(note.tags)}


CORE = Writer("remember", core_note, lambda answer: str(answer["id"]))
LANONASIS = Writer("create_memory", lanonasis_note, lambda answer: str(answer["id"]))
SEKHA = Writer("memory_store", sekha_note, lambda answer: str(answer["data"]["id"]))
KNOWLEDGE = Writer("create_concept", knowledge_note, lambda answer: str(answer["concept_id"]))
SUBCOG = Writer("subcog_capture", subcog_note, lambda answer: str(answer["id"]))

DOORS = (
    Door("recall", CORE, lambda answer: answer["hits"]),
    Door(
        "context",
        CORE,
        lambda answer: answer["citations"],
        arguments=lambda question: {"query": question, "budget_tokens": CONTEXT_TOKENS},
    ),
    Door(
        "search_memories",
        LANONASIS,
        lambda answer: answer["results"],
        score_field="similarity_score",
    ),
    Door(
        "memory_search",
        SEKHA,
        lambda answer: answer["data"]["results"],
        id_field="conversation_id",
    ),
    Door(
        "search_concepts_semantic",
        KNOWLEDGE,
        lambda answer: answer["results"],
        id_field="concept_id",
        score_field="similarity",
    ),
    Door("subcog_recall", SUBCOG, lambda answer: answer["results"]),
)
TOOLS = tuple(door.tool for door in DOORS)


class Notebook:
    """A store with all notes of a set, written through one family."""

    def __init__(self, app: App, clock: NoteClock) -> None:
        self.app = app
        self.clock = clock
        self.note_ids: dict[str, str] = {}

    def write(self, notes: NoteSet, writer: Writer) -> None:
        """Keep every note at its time, and make all vectors."""
        for note in notes.notes:
            self.clock.at = note.at
            answer = self.run(writer.tool, writer.arguments(note))
            self.note_ids[writer.id_of(answer)] = note.id
        self.clock.at = notes.asked_at
        self.app.upkeep.run()

    def ask(self, door: Door, question: str) -> list[Found]:
        """What a search tool finds, in its order; a note counts once."""
        answer = self.run(door.tool, door.arguments(question))
        found: dict[str, Found] = {}
        for hit in door.hits(answer):
            note = self.note_ids[hit[door.id_field]]
            found.setdefault(note, Found(note, hit[door.score_field], hit.get("strength")))
        return list(found.values())

    def run(self, tool: str, arguments: Arguments) -> Answer:
        """The answer of a tool, which must be a good one."""
        outcome = self.app.registry.run(tool, arguments, Call(ME, self.app.engine))
        assert outcome.ok, outcome.body
        return body_of(outcome)


@contextmanager
def written(notes: NoteSet, writer: Writer) -> Iterator[Notebook]:
    """A notebook that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    clock = NoteClock(notes.notes[0].at)
    app = open_app(Settings(data=folder), clock=clock)
    try:
        notebook = Notebook(app, clock)
        notebook.write(notes, writer)
        yield notebook
    finally:
        app.close()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Result:
    """What one question found, and how long it took."""

    question: Question
    found: tuple[Found, ...]
    replaced: str | None
    ms: float

    @property
    def order(self) -> list[str]:
        """The ids of the notes found, the first first."""
        return [hit.note for hit in self.found]

    @property
    def is_first(self) -> bool:
        """Whether the right note came first."""
        return self.order[:1] == [self.question.right]

    @property
    def is_among_first(self) -> bool:
        """Whether the right note is one of the first five."""
        return self.question.right in self.order[:FIRST_PLACES]

    @property
    def is_before_replaced(self) -> bool:
        """Whether the right note was found, and before the one that is no longer true."""
        if self.question.right not in self.order:
            return False
        if self.replaced not in self.order:
            return True
        return self.order.index(self.question.right) < self.order.index(self.replaced)

    @property
    def is_strong(self) -> bool:
        """Whether a hit calls itself strong."""
        return any(hit.strength == "strong" for hit in self.found)

    @property
    def is_sure(self) -> bool:
        """Whether a hit has a high score."""
        return any(hit.score >= SURE_SCORE for hit in self.found)

    @property
    def is_out_of_order(self) -> bool:
        """Whether a hit has a higher score than one before it."""
        scores = [hit.score for hit in self.found]
        return scores != sorted(scores, reverse=True)


@dataclass(frozen=True)
class Report:
    """All results of one search tool."""

    tool: str
    results: tuple[Result, ...]

    @property
    def answerable(self) -> list[Result]:
        return [result for result in self.results if result.question.right]

    @property
    def unanswerable(self) -> list[Result]:
        return [result for result in self.results if not result.question.right]

    @property
    def shows_strength(self) -> bool:
        return any(hit.strength for result in self.results for hit in result.found)

    def of_kind(self, kind: str) -> list[Result]:
        """The results of the questions of one kind."""
        return [result for result in self.results if result.question.kind == kind]


def ask_all(notebook: Notebook, door: Door, notes: NoteSet) -> Report:
    """Every question through one search tool."""
    results = []
    for question in notes.questions:
        started = time.perf_counter()
        found = tuple(notebook.ask(door, question.ask))
        ms = (time.perf_counter() - started) * 1000
        right = notes.by_id.get(question.right or "")
        results.append(Result(question, found, right.replaces if right else None, ms))
    return Report(door.tool, tuple(results))


def measure(notes: NoteSet, tools: Sequence[str] = TOOLS) -> list[Report]:
    """A report for each search tool; the tools of a family share a store."""
    doors = [door for door in DOORS if door.tool in tools]
    reports = []
    for writer in dict.fromkeys(door.writer for door in doors):
        with written(notes, writer) as notebook:
            reports += [ask_all(notebook, door, notes) for door in doors if door.writer is writer]
    return reports


def share(results: Sequence[Result], holds: Callable[[Result], bool]) -> str:
    """How many results have a property, of how many."""
    return f"{sum(map(holds, results))}/{len(results)}"


COLUMNS: tuple[tuple[str, Callable[[Report], str]], ...] = (
    ("first", lambda report: share(report.answerable, lambda result: result.is_first)),
    ("in five", lambda report: share(report.answerable, lambda result: result.is_among_first)),
    ("new first", lambda report: share(report.of_kind("changed"), lambda result: result.is_first)),
    (
        "new<old",
        lambda report: share(report.of_kind("changed"), lambda result: result.is_before_replaced),
    ),
    ("any", lambda report: share(report.unanswerable, lambda result: bool(result.found))),
    (
        "strong",
        lambda report: (
            share(report.unanswerable, lambda result: result.is_strong)
            if report.shows_strength
            else "-"
        ),
    ),
    (f">={SURE_SCORE}", lambda report: share(report.unanswerable, lambda result: result.is_sure)),
    ("disorder", lambda report: share(report.results, lambda result: result.is_out_of_order)),
    ("ms", lambda report: f"{median(result.ms for result in report.results):.1f}"),
)
LEGEND = """\
first, in five   answerable questions whose right note came first, or among the first five
new first        of those about a fact that changed, the newest note came first of all
new<old          the newest note was found, and before the one that it replaces
any, strong, >=  questions without an answer that got a hit, a strong hit, a hit with a high score
disorder         lists in which a later hit has the higher score"""


def print_reports(notes: NoteSet, reports: Sequence[Report]) -> None:
    """The table, then how often the right note came first for each kind of question."""
    print(f"\n{notes.name}: {len(notes.notes)} notes, {len(notes.questions)} questions")
    print(f"{'tool':26}" + "".join(f"{title:>10}" for title, _ in COLUMNS))
    for report in reports:
        print(f"{report.tool:26}" + "".join(f"{cell(report):>10}" for _, cell in COLUMNS))
    kinds = [kind for kind in KINDS if kind != "none"]
    print(f"\n{'right first, by kind':26}" + "".join(f"{kind:>10}" for kind in kinds))
    for report in reports:
        cells = [share(report.of_kind(kind), lambda result: result.is_first) for kind in kinds]
        print(f"{report.tool:26}" + "".join(f"{cell:>10}" for cell in cells))


def print_misses(notes: NoteSet, report: Report) -> None:
    """What came first where it should not have."""
    print(f"\n{notes.name}, {report.tool}: what came first instead")
    for result in report.results:
        question = result.question
        if result.is_first or (question.right is None and not result.found):
            continue
        place = "not found"
        if question.right in result.order:
            place = f"number {result.order.index(question.right) + 1}"
        print(f"- {question.kind}: {question.ask}")
        if question.right:
            print(f"    right, {place}: {notes.by_id[question.right].text}")
        for hit in result.found[:1]:
            strength = f" {hit.strength}" if hit.strength else ""
            print(f"    {hit.score:.2f}{strength} {hit.note}: {notes.by_id[hit.note].text}")


def print_bands(notes: NoteSet, report: Report) -> None:
    """What a score and a strength promise: of the hits in a band, how many are the right note."""
    print(f"\n{notes.name}, {report.tool}: hits that are the right note, by score and by strength")
    bands: dict[str, list[bool]] = defaultdict(list)
    for result in report.results:
        for hit in result.found:
            is_right = hit.note == result.question.right
            lower = min(int(hit.score * 10), 9) / 10
            bands[f"{lower:.1f}-{lower + 0.1:.1f}"].append(is_right)
            if hit.strength:
                bands[hit.strength].append(is_right)
    for band, rights in sorted(bands.items()):
        print(f"{band:10}{sum(rights):5} of {len(rights):4}{sum(rights) / len(rights):8.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", nargs="*", default=TOOLS, choices=TOOLS)
    parser.add_argument(
        "--set", nargs="*", default=["week"], help="names in bench/notes, or paths of files"
    )
    parser.add_argument("--misses", action="store_true", help="show what came first instead")
    parser.add_argument(
        "--bands", action="store_true", help="show how many hits are right, by their score"
    )
    options = parser.parse_args()
    for name in options.set:
        notes = load_set(name)
        reports = measure(notes, options.tools)
        print_reports(notes, reports)
        for report in reports:
            if options.bands:
                print_bands(notes, report)
            if options.misses:
                print_misses(notes, report)
    print(f"\n{LEGEND}")


if __name__ == "__main__":
    main()
