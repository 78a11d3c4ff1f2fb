"""Whether a newer text changes what an older one says: labelled pairs, and what differs in them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from memolith.engine.change import compare

HERE = Path(__file__).parent


def pairs(name: str) -> list[dict[str, Any]]:
    with (HERE / name).open("rb") as file:
        return list(tomllib.load(file)["pairs"])


def words_of(pair: dict[str, Any]) -> str:
    return f"{pair['older']} {pair['newer']}"


@pytest.mark.parametrize("pair", pairs("change_pairs.toml"), ids=words_of)
def test_pairs_are_judged_as_people_judge_them(pair: dict[str, Any]) -> None:
    verdict = compare(pair["older"], pair["newer"], pair["cosine"])
    assert (verdict.kind, verdict.what) == (pair["verdict"], pair.get("what"))


def test_pairs_that_the_rules_were_not_made_for_are_judged_rightly_too() -> None:
    wrong = []
    for pair in pairs("change_pairs_unseen.toml"):
        verdict = compare(pair["older"], pair["newer"], pair["cosine"])
        if verdict.kind != pair["verdict"]:
            wrong.append((pair["verdict"], verdict.kind))
    assert len(wrong) <= 2
    assert all(given != "conflict" for _, given in wrong), "no conflict is made up"


def test_pairs_without_a_conflict_have_none_in_the_other_order() -> None:
    for pair in pairs("change_pairs.toml"):
        if pair["verdict"] == "none":
            assert compare(pair["newer"], pair["older"], pair["cosine"]).kind == "none", pair


def test_what_differs_is_told_in_words() -> None:
    verdict = compare(
        "The API allows 600 requests per minute.", "The API allows 900 requests per minute.", 0.98
    )
    assert verdict.in_words == "number: 600 requests became 900 requests"


def test_what_is_gone_is_told_in_words() -> None:
    verdict = compare("Ben eats meat.", "Ben no longer eats meat.", 0.88)
    assert verdict.in_words == "state: no longer meat"


def test_a_shorter_text_that_says_nothing_new_replaces_nothing() -> None:
    older = "Maria prefers tea to coffee and never has meetings before ten."
    assert compare(older, "Maria prefers tea.", 0.9, is_nearest=True).kind == "none"
    assert compare(older, "Maria prefers coffee to tea.", 0.9).kind == "conflict"


def test_texts_that_are_far_apart_by_meaning_have_no_conflict() -> None:
    assert compare("Anna lives in Porto.", "Anna moved to Lisbon.", 0.2).kind == "none"


def test_long_texts_are_no_statements() -> None:
    long = "The API allows 600 requests per minute. " * 50
    assert compare(long, "The API allows 900 requests per minute.", 0.9).kind == "none"


def test_texts_without_words_are_compared() -> None:
    assert compare("", "!", 1.0).kind == "none"
    assert compare("?", "!", 1.0).kind == "none"


def test_what_announces_a_change_means_the_nearest_older_text() -> None:
    older = "Fibre contract with Kabelstern, 300 megabits, 49 a month."
    newer = "Switched to Fibera: 500 megabits for 39."
    assert compare(older, newer, 0.5).kind == "none"
    assert compare(older, newer, 0.5, is_nearest=True).kind == "conflict"


def test_the_nearest_older_text_is_no_conflict_where_nothing_is_announced() -> None:
    for pair in pairs("change_pairs.toml"):
        if pair["verdict"] == "none":
            verdict = compare(pair["older"], pair["newer"], pair["cosine"], is_nearest=True)
            assert verdict.kind == "none", pair
