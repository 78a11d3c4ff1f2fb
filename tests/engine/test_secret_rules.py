"""Every rule of rules.toml finds its examples and leaves its counter-examples alone."""

import re
import time
from collections.abc import Callable
from functools import partial

import pytest

from memolith.redaction.assignments import SecretMatch
from memolith.redaction.checks import CHECKS
from memolith.redaction.detector import find
from memolith.redaction.rules import Rule, load_rules
from memolith.redaction.rules_file import (
    COMPILED_FILE,
    RuleTable,
    compiled_module,
    read_rules,
)
from tests.hostile import is_linear
from tests.secret_text import filled

FILE = read_rules()
TABLES = [*FILE["tokens"], *FILE["contexts"]]
LOADED = [*load_rules().tokens, *load_rules().contexts]
EXAMPLES = [
    (rule, example)
    for rule, table in zip(LOADED, TABLES, strict=True)
    for example in table["examples"]
]
HOSTILE_CHARS = 50_000
HOSTILE_ROUNDS = 60
COUNTER_EXAMPLES = [text for table in TABLES for text in table["counter_examples"]]


def rule_id(value: object) -> str | None:
    if isinstance(value, Rule):
        return value.name
    return None


def table_id(value: RuleTable) -> str:
    return value["name"]


def test_the_module_that_the_program_loads_is_made_from_the_file() -> None:
    assert COMPILED_FILE.read_text(encoding="utf-8") == compiled_module(FILE), "run `make snap`"


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_every_rule_has_an_example_a_counter_example_and_a_hint(table: RuleTable) -> None:
    assert table["examples"]
    assert table["counter_examples"]
    assert table["hints"]
    assert table["finds"]
    assert table.get("check", "random") in CHECKS


@pytest.mark.parametrize("table", FILE["contexts"], ids=table_id)
def test_the_hints_of_contexts_are_in_small_letters(table: RuleTable) -> None:
    assert all(hint == hint.lower() for hint in table["hints"])


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=rule_id)
def test_a_rule_finds_the_marked_part_of_its_example(rule: Rule, example: str) -> None:
    before, secret, after = re.split("[«»]", filled(example))
    text = before + secret + after
    start = len(before)
    end = start + len(secret)
    assert (start, end) in list(rule.spans(text))
    assert find(text) == [SecretMatch(rule.name, start, end)]


@pytest.mark.parametrize("text", COUNTER_EXAMPLES)
def test_nothing_is_found_in_a_counter_example(text: str) -> None:
    assert find(filled(text)) == []


def hostile_texts(hint: str) -> list[str]:
    """What makes a careless pattern read the same characters again and again."""
    return [
        hint * (HOSTILE_CHARS // len(hint)),
        hint + "a" * HOSTILE_CHARS,
        hint + "aA1" * (HOSTILE_CHARS // 3),
        f"{hint}aA1-" * (HOSTILE_CHARS // (len(hint) + 4)),
        f"{hint}0_" * (HOSTILE_CHARS // (len(hint) + 2)),
        f"{hint}eyJ." * (HOSTILE_CHARS // (len(hint) + 4)),
        f"{hint} " * (HOSTILE_CHARS // (len(hint) + 1)),
        hint + ("1 " * (HOSTILE_CHARS // 2)),
        hint + "=" * HOSTILE_CHARS,
        hint + "." * HOSTILE_CHARS,
    ]


def cpu_seconds(run: Callable[[], object]) -> float:
    started = time.thread_time()
    run()
    return time.thread_time() - started


def seconds_of_harmless_texts() -> float:
    """How long a simple pattern takes for a few dozen harmless texts of this size."""
    harmless = "the quick brown fox jumps over the lazy dog " * (HOSTILE_CHARS // 44)
    plain = re.compile(r"[a-z]{3,9} [a-z]{3,9} [A-Z]")
    return cpu_seconds(lambda: [plain.search(harmless) for _ in range(HOSTILE_ROUNDS)])


@pytest.fixture(scope="module")
def usual_s() -> float:
    return seconds_of_harmless_texts()


@pytest.mark.parametrize(("rule", "table"), list(zip(LOADED, TABLES, strict=True)), ids=rule_id)
def test_a_rule_reads_a_hostile_text_about_as_quickly_as_a_harmless_one(
    rule: Rule, table: RuleTable, usual_s: float
) -> None:
    # The regex engine needs a few nanoseconds for a character, and a rule may look at each of them
    # a few dozen times. A rule with a quadratic pattern takes hundreds of times as long.
    rule.regex.search("compiled")
    for hint in dict.fromkeys([table["hints"][0], table["hints"][-1]]):
        for text in hostile_texts(hint):
            hostile_s = partial(cpu_seconds, partial(all_matches, rule, text))
            assert hostile_s() < usual_s or is_linear(
                hostile_s, seconds_of_harmless_texts, margin=1
            ), text[:40]


def all_matches(rule: Rule, text: str) -> list[object]:
    return list(rule.matches(text))
