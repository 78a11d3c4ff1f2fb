"""Secrets in many places are found, and harmless texts that look like them stay."""

from collections import Counter

import pytest

from memolith.redaction.checks import card_number
from memolith.redaction.detector import MARK, find, redact
from tests.secret_samples import CONTEXTS, SECRETS, harmless_samples, secret_samples

SAMPLES = list(secret_samples())
HARMLESS = list(harmless_samples())


@pytest.mark.parametrize("group", [*SECRETS, "every rule"])
def test_every_secret_of_a_group_is_found_wherever_it_stands(group: str) -> None:
    left = [
        sample
        for sample in SAMPLES
        if sample.group == group and sample.secret in redact(sample.text)[0].replace("\u200b", "")
    ]
    assert left == []


def test_the_sets_are_large_enough_to_tell_something() -> None:
    counts = Counter(sample.group for sample in SAMPLES)
    assert sum(len(templates) for templates in SECRETS.values()) >= 180
    assert counts["every rule"] >= 200 * len(CONTEXTS)
    assert len(HARMLESS) >= 300


@pytest.mark.parametrize("group", dict.fromkeys(group for group, _ in HARMLESS))
def test_a_harmless_text_stays(group: str) -> None:
    touched = [(text[:200], find(text)) for name, text in HARMLESS if name == group and find(text)]
    assert touched == []


@pytest.mark.parametrize(
    "number",
    [
        "4539578763621486",
        "4539 5787 6362 1486",
        "4539-5787-6362-1486",
        "5425233430109903",
        "2223000048410010",
        "378282246310005",
        "3782 822463 10005",
        "6011000990139424",
        "3530111333300000",
        "30569309025904",
        "6200000000000005",
    ],
)
def test_a_card_number_is_found_with_its_check_digit_and_not_without(number: str) -> None:
    assert redact(f"paid with {number} today") == (f"paid with {MARK} today", {"card-number": 1})
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert find(f"paid with {wrong} today") == []


@pytest.mark.parametrize(
    "text",
    [
        "4539 57876362 1486",
        "4539 5787-6362 1486",
        "0000 0000 0000 0000",
        "4444444444444444444",
        "9539578763621486",
    ],
)
def test_digits_in_another_form_are_no_card_number(text: str) -> None:
    assert not card_number(text, 0, len(text))


@pytest.mark.parametrize("label", ["order ", "id: ", "tracking no. ", '"id":', "ISBN "])
def test_a_label_can_say_that_a_number_is_no_card(label: str) -> None:
    assert find(f"{label}4539578763621486") == []


def test_invisible_characters_do_not_hide_a_secret_and_go_with_it() -> None:
    token = "ghp_" + "aB3d" * 9
    hidden = token[:6] + "\u200b" + token[6:20] + "\u2060" + token[20:]
    assert redact(f"a\u200bb {hidden} c\u200dd") == (
        f"a\u200bb {MARK} c\u200dd",
        {"github-token": 1},
    )


def test_a_token_is_not_looked_for_inside_a_long_random_word() -> None:
    token = "ghp_" + "aB3d" * 9
    assert find("x" * 20 + token) != []
    assert find("xY7" * 20 + token) == []
