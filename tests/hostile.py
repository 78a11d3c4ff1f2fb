"""Every text that a tool takes, filled with text that is hard on patterns and parsers.

The texts repeat one short piece. What costs more than linear time on some text does so on a
repetition: a pattern that can begin at every place and goes on to the end, a scan that starts again
for every line, a comparison of every sentence with every other.
"""

import json
import math
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from memolith.bootstrap import App, families, open_app
from memolith.domain.callers import Caller
from memolith.errors import InvalidInput, NotFound, TooLarge
from memolith.settings import Settings
from memolith.tools.call import Call
from memolith.tools.family import Tool
from memolith.tools.registry import Outcome, Registry
from memolith.tools.schema import Schema
from memolith.tools.signature import Actions

HARMLESS = "The okapi of the zoo was shy when Maria came to see it at noon today.\n"
"""What hostile text is compared with: short sentences, one to a line."""

CLOCK_STEP_S = 0.015
"""Less CPU time than this is not measured well."""

ENDS = "xyz"
"""Stands before and after a repetition."""

PIECES = (
    "#",
    " ",
    "\n",
    "\r",
    "\t",
    "a",
    "a ",
    "a.",
    "a. ",
    "a\n",
    "aaa aaa ",
    "A ",
    "Aa ",
    "Aa Bb, ",
    "a-",
    "a/",
    "a:",
    "a: ",
    "a,",
    "a=",
    "a@",
    "a'",
    "a\u3000",
    "and ",
    "Ann and ",
    "not ",
    "is a ",
    "uses Kafka ",
    "Kafka, ",
    "Kafka, uses ",
    "NameDB ",
    "Name%dDB ",
    "word%d word ",
    "tag%d:a,",
    "A sentence %d of the same words as all. ",
    "user: ",
    "user:\n",
    "tag:a ",
    "-tag:a,",
    "0",
    "0.",
    "0-",
    "1. ",
    "2026-01-01 ",
    "may ",
    ".",
    ". ",
    "!",
    "?",
    "-",
    "_",
    ",",
    ":",
    "=",
    "*",
    "**",
    "*a*",
    "|",
    "|-",
    "/",
    "\\",
    '"',
    '"a" ',
    "'",
    "`",
    "```\n",
    "```a\n",
    "````\n```\n",
    "~~~\n",
    "```\n~~~\n",
    "(",
    "[",
    "{",
    "{{",
    "}}",
    "{{a}}",
    "{{a.b}}",
    "{{#if a}}",
    "{{#each a}}",
    "<",
    "<a ",
    "<!--",
    "&",
    "@",
    "http://a.",
    "\\{\\{",
    "# a\n",
    "#\n",
    "## user\n",
    "**user** ",
    "\u3000",
    "\u00a0",
    "\u0301",
    "\u0315\u0300",
    "\u200b",
    "\u4e2d",
    "\u4e2d\u3002",
    "\u00df",
    "\u0130",
    "\ufb03",
)
"""The pieces of hostile texts."""

FEW_PIECES = ("#", " ", "a-", "```a\n", "may ")
"""Those that find most, for a test that must be quick."""

USUAL_LIMITS = (100_000, 10_000, 480, 90)
"""What fields take that do not take everything."""

MAX_HARMLESS_S = 60.0

MAX_MEASUREMENTS = 6
"""How often what seems too slow is measured, next to harmless text again: other programs come and
go, and what is slow is slow each time."""

REFUSED_TEXT_S = 0.04
"""What a field is compared with that refuses harmless text: this at the first sign, hostile text
perhaps at the last one."""

REFUSALS = (InvalidInput, NotFound, TooLarge)
"""Errors of calls that have changed nothing."""


MORE_CALLS: dict[str, tuple[dict[str, Any], ...]] = {
    "import_conversations": ({"name": "chat.md"}, {"name": "chat.jsonl"}),
    "memory_search": ({"mode": "text"},),
    "subcog_recall": ({"query": "zebra", "mode": "text"},),
}
"""What is added to the example of a tool where another way through it reads the same text."""


class TextField(NamedTuple):
    """One place for a text in the arguments of one tool."""

    tool: Tool
    arguments: Mapping[str, Any]
    """Arguments of a good call."""
    path: tuple[str | int, ...]
    """Where the text goes."""

    @property
    def name(self) -> str:
        action = f"({self.arguments['action']})" if "action" in self.arguments else ""
        place = ".".join(str(step) for step in self.path)
        return f"{self.tool.family}.{self.tool.name}{action} {place}"

    def filled(self, text: str) -> dict[str, Any]:
        """The arguments with this text in its place."""
        return self.with_value(self.path, text)

    def with_value(self, path: tuple[str | int, ...], value: object) -> dict[str, Any]:
        """The arguments with this value at a path."""
        changed: dict[str, Any] = _with_value(self.arguments, path, value)
        return changed


def hostile_text(piece: str, size: int) -> str:
    """A text of about so many bytes that repeats the piece between two harmless words.

    `%d` in the piece is the number of the repetition, so that no two are the same.
    """
    if not piece:
        repeated = ""
    elif "%d" in piece:
        count = size // len((piece % size).encode())
        repeated = "".join(piece % number for number in range(count))
    else:
        repeated = piece * (size // len(piece.encode()))
    # Some patterns look at the beginning of a line; a row of blanks must not begin with a line's end.
    start = ENDS if piece.isspace() else f"{ENDS}\n"
    return f"{start}{repeated}{ENDS}"


def harmless_text(size: int) -> str:
    return (HARMLESS * (size // len(HARMLESS) + 1))[:size]


def text_fields(tools: list[Tool]) -> Iterator[TextField]:
    """Every place in the arguments of these tools that takes a text."""
    for tool in tools:
        for arguments, schema in _good_calls(tool):
            for path in _text_paths(schema):
                yield TextField(tool, arguments, path)


def good_calls(tools: list[Tool]) -> Iterator[tuple[Tool, dict[str, Any]]]:
    """Arguments of a good call of each tool, or of each of its actions."""
    for tool in tools:
        for arguments, _ in _good_calls(tool):
            yield tool, arguments


def all_tools() -> list[Tool]:
    return [tool for family in families() for tool in family.tools]


def _good_calls(tool: Tool) -> Iterator[tuple[dict[str, Any], Schema]]:
    """Arguments of a good call, and their schema; one for each action."""
    if not isinstance(tool.signature, Actions):
        for more in ({}, *MORE_CALLS.get(tool.name, ())):
            yield {**tool.example, **more}, tool.input_schema
        return
    key = tool.signature.key
    for name, signature in tool.signature.actions.items():
        schema = signature.input_schema
        if tool.example.get(key) == name:
            yield dict(tool.example), schema
            continue
        arguments = {key: name}
        for required in schema.get("required", ()):
            arguments[required] = tool.example.get(
                required, _sample(schema["properties"][required])
            )
        yield arguments, schema


def _sample(schema: Schema) -> Any:
    """Some value that fits."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _sample(schema["anyOf"][0])
    samples = {"integer": 1, "number": 1.0, "boolean": True, "array": ["zebra"], "object": {}}
    return samples.get(schema.get("type", ""), "zebra")


def _text_paths(schema: Schema) -> Iterator[tuple[str | int, ...]]:
    """The places below a schema that take any text."""
    for choice in schema.get("anyOf", ()):
        yield from _text_paths(choice)
    if schema.get("type") == "string" and "enum" not in schema and "const" not in schema:
        yield ()
    if schema.get("type") == "array":
        for path in _text_paths(schema.get("items", {})):
            yield (0, *path)
    for name, below in schema.get("properties", {}).items():
        for path in _text_paths(below):
            yield (name, *path)
    if schema.get("additionalProperties") and schema.get("type") == "object":
        yield ("zebra",)


def _with_value(value: Any, path: tuple[str | int, ...], new: object) -> Any:
    """A copy of a JSON value with a new one at the path; what is missing above it is added."""
    if not path:
        return new
    step = path[0]
    if isinstance(step, int):
        entries = list(value) if isinstance(value, list) and value else [None]
        entries[0] = _with_value(entries[0], path[1:], new)
        return entries
    fields = dict(value) if isinstance(value, Mapping) else {}
    fields[step] = _with_value(fields.get(step), path[1:], new)
    return fields


class TooSlow(BaseException):
    """A call ran past its limit. No `Exception`, so that no handler in the product catches it."""


class Cost(NamedTuple):
    """What a call cost."""

    cpu_s: float
    ok: bool
    """Whether it was accepted."""
    refused: bool = False
    """Whether its arguments were refused before anything was done."""


class Worst(NamedTuple):
    """The hostile text that cost most, next to harmless text of the same size."""

    piece: str
    cost: Cost
    harmless: Cost
    size: int

    @property
    def ratio(self) -> float:
        # What takes less than the clock can tell is not compared.
        return self.cost.cpu_s / max(self.harmless.cpu_s, CLOCK_STEP_S)


@dataclass
class Bench:
    """Runs calls on copies of one filled folder, and measures the CPU time of each."""

    template: Path
    work: Path
    settings: Settings
    caller: Caller
    limit_s: float = 20.0
    """A call is stopped after this much CPU time."""

    _reading: App | None = None
    """Open on the template, for calls that change nothing."""

    _writing: App | None = None
    """Open on a copy that no call has changed yet."""

    def cost(self, tool: Tool, arguments: Mapping[str, Any]) -> Cost:
        """What one call of a tool costs, on a folder that no other call has changed."""
        if tool.effect == "reads":
            if self._reading is None:
                self._reading = open_app(self.settings.model_copy(update={"data": self.template}))
            return self._cost_in(self._reading, tool, arguments)
        if self._writing is None:
            shutil.rmtree(self.work, ignore_errors=True)
            shutil.copytree(self.template, self.work)
            self._writing = open_app(self.settings.model_copy(update={"data": self.work}))
        cost = self._cost_in(self._writing, tool, arguments)
        # What is refused leaves nothing behind, so the copy serves the next call, too.
        if not cost.refused:
            self._writing.close()
            self._writing = None
        return cost

    def _cost_in(self, app: App, tool: Tool, arguments: Mapping[str, Any]) -> Cost:
        registry = Registry([f for f in families() if f.name == tool.family], [tool])
        call = Call(self.caller, app.engine)
        # As a request comes in, so that no two calls share a text.
        sent = json.loads(json.dumps(arguments))
        outcomes: list[Outcome] = []
        cpu_s = cpu_time_of(
            lambda: outcomes.append(registry.run(tool.name, sent, call)), self.limit_s
        )
        refused = bool(outcomes) and isinstance(outcomes[0].error, REFUSALS)
        return Cost(cpu_s, bool(outcomes) and outcomes[0].ok, refused)

    def close(self) -> None:
        for app in (self._reading, self._writing):
            if app is not None:
                app.close()


def worst_cost(
    bench: Bench, field: TextField, pieces: Sequence[str], size: int, margin: float
) -> Worst:
    """The costliest of the pieces, repeated to the size or to what the field takes.

    A field that takes no harmless text of any size gets the pieces at the whole size: what decides
    about them may be slow, too. A call that is beyond the margin is stopped.
    """
    for taken in (size, *(limit for limit in USUAL_LIMITS if limit < size)):
        harmless = harmless_cost(bench, field, taken)
        if harmless.ok:
            break
    else:
        taken = size
    worst = Worst("", Cost(0.0, False), harmless, taken)
    for piece in pieces:
        text = hostile_text(piece, taken - len(hostile_text("", 0)))
        measured = Worst(piece, hostile_cost(bench, field, text, harmless, margin), harmless, taken)
        for _ in range(MAX_MEASUREMENTS - 1):
            if measured.ratio <= margin:
                break
            harmless = costlier(harmless, harmless_cost(bench, field, taken))
            again = hostile_cost(bench, field, text, harmless, margin)
            measured = measured._replace(cost=cheaper(measured.cost, again), harmless=harmless)
        if measured.ratio > worst.ratio:
            worst = measured
    return worst


def harmless_cost(bench: Bench, field: TextField, size: int) -> Cost:
    """What harmless text of a size costs in a field."""
    bench.limit_s = MAX_HARMLESS_S
    cost = bench.cost(field.tool, field.filled(harmless_text(size)))
    return cost if cost.ok else cost._replace(cpu_s=max(cost.cpu_s, REFUSED_TEXT_S))


def hostile_cost(bench: Bench, field: TextField, text: str, harmless: Cost, margin: float) -> Cost:
    """What a text costs in a field; it is stopped where that is far beyond the margin."""
    bench.limit_s = 1.5 * margin * max(harmless.cpu_s, CLOCK_STEP_S)
    return bench.cost(field.tool, field.filled(text))


def cheaper(first: Cost, second: Cost) -> Cost:
    return min(first, second, key=lambda cost: cost.cpu_s)


def costlier(first: Cost, second: Cost) -> Cost:
    return max(first, second, key=lambda cost: cost.cpu_s)


def is_linear(
    hostile_s: Callable[[], float], harmless_s: Callable[[], float], margin: float
) -> bool:
    """Whether hostile text takes no more than so many times as long as harmless text."""
    least_s = math.inf
    most_s = CLOCK_STEP_S
    for _ in range(MAX_MEASUREMENTS):
        most_s = max(most_s, harmless_s())
        least_s = min(least_s, hostile_s())
        if least_s <= margin * most_s:
            return True
    return False


def cpu_time_of(action: Callable[[], object], limit_s: float = 20.0) -> float:
    """How much CPU time an action takes; it is stopped at the limit."""
    started = time.process_time()
    with suppress(TooSlow), stopped_after(limit_s):
        action()
    return time.process_time() - started


@contextmanager
def stopped_after(limit_s: float) -> Iterator[None]:
    """Raise `TooSlow` in the main thread when this much CPU time is used; patterns listen, too."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
