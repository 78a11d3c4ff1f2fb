"""Every rule of rules.toml finds its examples and leaves its counter-examples alone."""

import random
import re
import string

import pytest

from memolith.redaction.assignments import SecretMatch
from memolith.redaction.detector import find
from memolith.redaction.rules import Rule, load_rules

ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "hex": "0123456789abcdef",
    "upper": string.ascii_uppercase + "234567",
    "base64": string.ascii_letters + string.digits + "+/",
    "urlsafe": string.ascii_letters + string.digits + "_-",
}
MADE_UP = re.compile(r"\{(alnum|hex|upper|base64|urlsafe):(\d+)\}")
RULES = [*load_rules().tokens, *load_rules().contexts]
EXAMPLES = [(rule, example) for rule in RULES for example in rule.examples]
COUNTER_EXAMPLES = [text for rule in RULES for text in rule.counter_examples]


def rule_id(value: object) -> str | None:
    if isinstance(value, Rule):
        return value.name
    return None


def made_up(placeholder: re.Match[str]) -> str:
    """Characters that look random, with a capital, a digit and a small letter where they may."""
    alphabet = ALPHABETS[placeholder[1]]
    length = int(placeholder[2])
    chance = random.Random(f"{placeholder[0]} {placeholder.start()}")
    must_have = [
        chance.choice([letter for letter in group if letter in alphabet] or alphabet)
        for group in (string.ascii_uppercase, string.digits, string.ascii_lowercase)
    ]
    rest = [chance.choice(alphabet) for _ in range(length - len(must_have))]
    return "".join([*rest, *must_have])


def filled(example: str) -> str:
    return MADE_UP.sub(made_up, example)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_every_rule_has_an_example_and_a_hint(rule: Rule) -> None:
    assert rule.examples
    assert rule.hints


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
