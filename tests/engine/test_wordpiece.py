"""Our token ids against those of the reference tokenizer, which wrote `wordpiece_table.json`.

Reference: the `tokenizers` package 0.23.3 with the model's tokenizer.json, truncation at 256. It
reads [CLS] and its kin inside a text as the special tokens, so we do.
"""

import json
import time
from pathlib import Path
from typing import TypedDict

import pytest

from memolith.retrieval.embedding.minilm import MODEL_FOLDER, VOCAB_FILE
from memolith.retrieval.embedding.wordpiece import (
    CACHED_WORDS,
    END,
    START,
    UNKNOWN,
    WordPiece,
    share,
)


class Row(TypedDict):
    """One text and what the reference makes of it."""

    kind: str
    text: str
    ids: list[int]


TABLE: list[Row] = json.loads(
    (Path(__file__).parent / "wordpiece_table.json").read_text(encoding="utf-8")
)
KINDS = sorted({row["kind"] for row in TABLE})


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    """The tokenizer of the shipped vocabulary."""
    return WordPiece(MODEL_FOLDER / VOCAB_FILE)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ids_are_those_of_the_reference(tokenizer: WordPiece, kind: str) -> None:
    rows = [row for row in TABLE if row["kind"] == kind]
    assert {row["text"]: tokenizer.ids(row["text"], 256) for row in rows} == {
        row["text"]: row["ids"] for row in rows
    }


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len({row["text"] for row in TABLE}) >= 120


def test_a_second_reading_from_the_cache_is_the_same(tokenizer: WordPiece) -> None:
    first = [tokenizer.ids(row["text"], 256) for row in TABLE]
    assert [tokenizer.ids(row["text"], 256) for row in TABLE] == first


def test_a_lower_limit_cuts_the_same_ids_shorter(tokenizer: WordPiece) -> None:
    for row in (row for row in TABLE if len(row["ids"]) > 10):
        assert tokenizer.ids(row["text"], 10) == [*row["ids"][:9], END]


def test_an_empty_text_is_only_its_marks(tokenizer: WordPiece) -> None:
    assert tokenizer.ids("", 256) == [START, END]


def test_lone_surrogates_are_dropped(tokenizer: WordPiece) -> None:
    assert tokenizer.ids("he\ud800llo", 256) == tokenizer.ids("hello", 256)


def test_more_words_than_the_cache_holds_change_no_ids(tokenizer: WordPiece) -> None:
    words = [f"w{number}" for number in range(CACHED_WORDS + 5)]
    tokenizer.ids(" ".join(words), 10 * len(words))
    fresh = WordPiece(MODEL_FOLDER / VOCAB_FILE)
    assert [tokenizer.ids(word, 256) for word in words[:100]] == [
        fresh.ids(word, 256) for word in words[:100]
    ]


def test_a_huge_text_is_read_only_as_far_as_needed(tokenizer: WordPiece) -> None:
    book = "some words in a very long book " * 1_000_000
    started = time.thread_time()
    tokenizer.ids(book, 256)
    assert time.thread_time() - started < 0.5


def test_the_unknown_share_counts_inner_tokens_only() -> None:
    assert share([START, UNKNOWN, 2000, 2001, 2002, END], {UNKNOWN}) == 0.25
    assert share([START, 2000, END], {UNKNOWN}) == 0.0


def test_where_there_is_nothing_to_understand_all_is_unknown() -> None:
    assert share([START, END], {UNKNOWN}) == 1.0


@pytest.mark.parametrize(
    "text", ["Привет, как дела сегодня?", "مرحبا بالعالم كيف حالك", "안녕하세요 오늘 회의는"]
)
def test_spelled_scripts_are_foreign_though_not_unknown(tokenizer: WordPiece, text: str) -> None:
    ids = tokenizer.ids(text, 256)
    assert share(ids, {UNKNOWN}) < 0.1
    assert share(ids, tokenizer.foreign) > 0.8


def test_accented_latin_is_not_foreign(tokenizer: WordPiece) -> None:
    assert (
        share(tokenizer.ids("Chúng tôi über İstanbul: Łódź, café", 256), tokenizer.foreign) == 0.0
    )
