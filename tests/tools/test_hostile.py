"""No argument of any tool costs much more than harmless text of its size, in time or in memory."""

import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import memolith
from memolith.analysts.builtin.word_lists import name_patterns, relation_phrases
from memolith.bootstrap import open_app
from memolith.domain.items import Patch
from memolith.domain.passages import Block
from memolith.settings import Settings
from memolith.tools.argument_checks import MAX_NAMES
from memolith.tools.call import Call
from memolith.tools.signature import Actions
from tests.conftest import ME, note
from tests.hostile import (
    CLOCK_STEP_S,
    FEW_PIECES,
    MAX_MEASUREMENTS,
    PIECES,
    Bench,
    TextField,
    all_tools,
    cheaper,
    costlier,
    cpu_time_of,
    good_calls,
    harmless_text,
    hostile_text,
    is_linear,
    text_fields,
    worst_cost,
)
from tests.tools.stock import fill

QUICK_BYTES = 40_000
FULL_BYTES = 200_000
MARGIN = 15
"""Linear work on hostile text is up to ten times as much: a text of signs has more words."""
FIELDS = list(text_fields(all_tools()))
EXAMPLE_ITEMS = ("one", "two", "talk", "herd", "foal", "four", "first", "second")
"""Items that the examples of tools name."""
FEW_STORED_PIECES = ("Kafka, uses ",)
NOT_FROM_USERS = (
    "memolith.doors.install",
    "memolith.integrations",
    "memolith.redaction",
    "memolith.storage.sql_files",
)
"""Settings of the machine's owner, files of the package, rules that have a test of their own, and
adapters that cannot be imported without their frameworks and have no patterns."""
ANCHORED = {
    "memolith.adapters.git._HOST_AND_PATH",
    "memolith.analysts.builtin.mentions.CONJUNCTION",
    "memolith.engine.chat_formats.markdown._TURN_START",
    "memolith.engine.filter_language._KEY",
    "memolith.readers.html._START_OF_PAGE",
    "memolith.retrieval.ranking.dates._ASKS_WHEN",
    "relation phrase",
}
"""Patterns that are only tried at one place of a text, not searched for in it."""
PATTERN_BYTES = 12_000
CONCEPTS = 12
CONCEPT_SENTENCES = 5_000
MAX_ERRORS = 5
"""One for each type that an argument may have."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("hostile")
    settings = Settings(data=folder / "template", embedder="none", runner_preload=())
    settings.data.mkdir()
    fill(settings)
    made = Bench(settings.data, folder / "work", settings, ME)
    yield made
    made.close()


def check(bench: Bench, field: TextField, pieces: Sequence[str], size: int) -> None:
    worst = worst_cost(bench, field, pieces, size, MARGIN)
    assert worst.ratio <= MARGIN, (
        f"{field.name} takes {worst.cost.cpu_s:.2f} s of CPU time for {worst.piece!r} repeated to "
        f"{worst.size:,} bytes, and {worst.harmless.cpu_s:.2f} s for harmless text"
    )


def test_hostile_text_in_any_field_takes_about_as_long_as_harmless_text(bench: Bench) -> None:
    # One piece for each field, in turn; the full run tries all of them in every field.
    for number, field in enumerate(FIELDS):
        check(bench, field, [FEW_PIECES[number % len(FEW_PIECES)]], QUICK_BYTES)


@pytest.mark.full
@pytest.mark.parametrize("field", FIELDS, ids=[field.name for field in FIELDS])
def test_each_hostile_text_at_the_limit_takes_about_as_long_as_harmless_text(
    bench: Bench, field: TextField
) -> None:
    check(bench, field, PIECES, FULL_BYTES)


def stored(folder: Path, text: str) -> Bench:
    """A folder in which the items of the examples have this text."""
    settings = Settings(data=folder / "template", embedder="none", runner_preload=())
    settings.data.mkdir(parents=True)
    fill(settings)
    app = open_app(settings)
    for id in EXAMPLE_ITEMS:
        app.engine.writing.revise(ME, id, Patch(blocks=(Block(text),)))
    app.close()
    return Bench(settings.data, folder / "work", settings, ME)


CALLS = list(good_calls(all_tools()))


class Bounds:
    """What every call costs where the stored texts are harmless."""

    def __init__(self, folder: Path, size: int) -> None:
        self.bench = stored(folder, harmless_text(size))
        self.costs = [self.bench.cost(tool, arguments) for tool, arguments in CALLS]

    def limit_s(self, number: int) -> float:
        """How long the call of this number may take on hostile texts."""
        return MARGIN * max(self.costs[number].cpu_s, CLOCK_STEP_S)

    def measure_again(self, number: int) -> None:
        """The machine may have become slower since."""
        self.costs[number] = costlier(self.costs[number], self.bench.cost(*CALLS[number]))

    def close(self) -> None:
        self.bench.close()


def check_stored(folder: Path, piece: str, size: int, bounds: Bounds) -> None:
    """Compare every call on items with hostile text to the same call on harmless ones."""
    hostile = stored(folder, hostile_text(piece, size))
    for number, (tool, arguments) in enumerate(CALLS):
        hostile.limit_s = 1.5 * bounds.limit_s(number)
        cost = hostile.cost(tool, arguments)
        for _ in range(MAX_MEASUREMENTS - 1):
            if cost.cpu_s <= bounds.limit_s(number):
                break
            bounds.measure_again(number)
            cost = cheaper(cost, hostile.cost(tool, arguments))
        assert cost.cpu_s <= bounds.limit_s(number), (
            f"{tool.family}.{tool.name} takes {cost.cpu_s:.2f} s of CPU time where items are "
            f"{piece!r} repeated, and {bounds.costs[number].cpu_s:.2f} s where they are harmless"
        )
    hostile.close()


def test_a_tool_takes_about_as_long_where_stored_text_is_hostile(tmp_path: Path) -> None:
    with closing(Bounds(tmp_path / "harmless", QUICK_BYTES)) as bounds:
        for number, piece in enumerate(FEW_STORED_PIECES):
            check_stored(tmp_path / str(number), piece, QUICK_BYTES, bounds)


@pytest.fixture(scope="module")
def bounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bounds]:
    """What every call costs on harmless texts at the limit."""
    with closing(Bounds(tmp_path_factory.mktemp("harmless"), FULL_BYTES)) as made:
        yield made


@pytest.mark.full
@pytest.mark.parametrize("piece", PIECES, ids=ascii)
def test_a_tool_takes_about_as_long_where_any_stored_text_is_hostile(
    tmp_path: Path, bounds: Bounds, piece: str
) -> None:
    check_stored(tmp_path, piece, FULL_BYTES, bounds)


def patterns() -> dict[str, re.Pattern[Any]]:
    """Every compiled pattern of the package that user text meets, by where it stands."""
    found: dict[str, re.Pattern[Any]] = {}
    for module in pkgutil.walk_packages(memolith.__path__, "memolith."):
        if module.name.startswith(NOT_FROM_USERS) or module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern) and value not in found.values():
                found[f"{module.name}.{name}"] = value
    for number, pattern in enumerate(name_patterns()):
        found[f"name pattern {number} ({pattern.type})"] = pattern.regex
    found["relation phrase"] = relation_phrases()[0].regex
    return found


def test_every_pattern_over_user_text_takes_linear_time() -> None:
    check_patterns([*FEW_PIECES, "#\n", "0.", '"', "[", "\n"])


@pytest.mark.full
def test_every_pattern_takes_linear_time_for_each_hostile_text() -> None:
    check_patterns(PIECES)


def check_patterns(pieces: Sequence[str]) -> None:
    harmless = harmless_text(PATTERN_BYTES)
    for name, pattern in patterns().items():
        use = pattern.match if name in ANCHORED else pattern.findall
        limit_s = MARGIN * max(scan_time(use, pattern, harmless), CLOCK_STEP_S)
        for piece in pieces:
            hostile = hostile_text(piece, PATTERN_BYTES)
            took_s = scan_time(use, pattern, hostile)
            assert took_s <= limit_s or is_linear(
                partial(scan_time, use, pattern, hostile),
                partial(scan_time, use, pattern, harmless),
                MARGIN,
            ), f"{name} takes {took_s:.2f} s for {piece!r} repeated"


def scan_time(use: Callable[[Any], object], pattern: re.Pattern[Any], text: str) -> float:
    """How much CPU time a pattern takes for a text."""
    given = text.encode() if isinstance(pattern.pattern, bytes) else text
    return cpu_time_of(lambda: use(given))


def test_what_is_measured_again_must_be_quick_once_and_not_each_time_slow() -> None:
    assert is_linear(lambda: 1.0, lambda: 0.1, MARGIN)
    assert not is_linear(lambda: 2.0, lambda: 0.1, MARGIN)
    disturbed = iter([2.0, 2.0, 1.0])
    assert is_linear(lambda: next(disturbed), lambda: 0.1, MARGIN)
    slower_machine = iter([0.1, 0.2])
    assert is_linear(lambda: 2.0, lambda: next(slower_machine), MARGIN)


def test_the_check_of_a_list_stops_at_its_first_wrong_entry() -> None:
    lists = {field.path[: field.path.index(0)]: field for field in FIELDS if 0 in field.path}
    assert len(lists) > 10
    for place, field in lists.items():
        arguments = field.with_value(place, [["wrong"]] * 1000)
        signature = field.tool.signature
        if isinstance(signature, Actions):
            signature = signature.actions[arguments.pop(signature.key)]
        with pytest.raises(ValidationError) as caught:
            signature.model.model_validate_json(json.dumps(arguments))
        assert caught.value.error_count() <= MAX_ERRORS, field.name


def test_an_object_with_very_many_names_is_refused(bench: Bench) -> None:
    app = open_app(bench.settings)
    names = {f"a{number}": 1 for number in range(MAX_NAMES + 1)}
    for arguments in (names, {"content": "A zebra.", "metadata": names}):
        outcome = app.registry.run("remember", arguments, Call(ME, app.engine))
        assert outcome.error is not None
        assert "20,001 names" in outcome.error.message
    app.close()


def test_the_patterns_that_are_treated_apart_exist() -> None:
    """What is left out above must exist, or the list has outlived its reasons."""
    names = {module.name for module in pkgutil.walk_packages(memolith.__path__, "memolith.")}
    assert set(NOT_FROM_USERS) <= names
    assert set(ANCHORED) <= patterns().keys()


def test_near_identical_large_concepts_are_written_about_as_fast_as_others(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def cost_of_last(word: str) -> float:
        app = open_app(Settings(data=tmp_path_factory.mktemp("concepts"), embedder="none"))
        for number in range(CONCEPTS):
            own = word if word else f"w{number}"
            text = " ".join(f"{own}{place} is {place}." for place in range(CONCEPT_SENTENCES))
            draft = note(f"{text} {number}", kind="concept", title=f"Concept {number}")
            took_s = cpu_time_of(partial(app.engine.writing.remember, ME, draft))
        app.close()
        return took_s

    assert is_linear(partial(cost_of_last, "same"), partial(cost_of_last, ""), MARGIN)
