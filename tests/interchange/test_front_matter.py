"""The fields of a note are read as YAML reads them, and written so that YAML reads them back."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from memolith.domain.attributes import Json
from memolith.engine.front_matter import (
    NO_END,
    NO_FIELD,
    Note,
    faults_of,
    read_note,
    write_note,
)
from memolith.engine.validation import MAX_NESTING

NOTES = [
    "title: Coffee\ntags:\n- a\n- b c\n",
    "title: 'it''s'\naliases: [Mary, \"M. Müller\", 'x, y']\n",
    'quoted: "a\\nb: c # d"\nplain: a # a comment\n',
    "number: 4\nshare: 1.5\non time: true\nlate: false\nnone: null\nempty:\n",
    "text: |\n  first\n  second\n\nafter: 1\n",
    "folded: >-\n  first\n  second\n",
    "nested:\n  inner: 1\n  list:\n    - x\n",
    "long: one\n  two\n",
    "# a comment\nkey with spaces: value\n",
    'json: {"a": [1, 2]}\n',
    "url: https://example.org/a?b=c\n",
]


@pytest.mark.parametrize("fields", NOTES)
def test_notes_are_read_as_yaml_reads_them(fields: str) -> None:
    note = read_note(f"---\n{fields}---\nBody\n---\n")
    assert note.fields == yaml.safe_load(fields)
    assert note.body == "Body\n---\n"


@pytest.mark.parametrize("text", ["", "no fields", "---\nnever closed", "\n---\na: 1\n---\n"])
def test_a_note_without_fields_is_all_text(text: str) -> None:
    assert read_note(text) == Note({}, text)


@pytest.mark.parametrize(
    "value", ["yes", "No", "on", "2024-05-06", "12:30", "0x1f", "1_000", "007"]
)
def test_texts_that_yaml_takes_for_something_else_are_quoted(value: str) -> None:
    lines = write_note(Note({"field": value}, "")).splitlines()
    assert yaml.safe_load(lines[1]) == {"field": value}


numbers = some.integers(-(10**15), 10**15) | some.floats(allow_nan=False, allow_infinity=False)
# Characters that no store keeps are left out, and those that YAML does not allow in a file.
characters = some.characters(
    exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\ufffe\uffff\x85\u2028\u2029"
)
texts = some.text(characters, max_size=20)
values: Any = some.recursive(
    some.none() | some.booleans() | numbers | texts,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(some.dictionaries(texts, values, max_size=4), texts)
def test_what_is_written_is_read_again(fields: dict[str, Json], body: str) -> None:
    assert read_note(write_note(Note(fields, body))) == Note(fields, body)


@given(some.dictionaries(texts, texts | some.lists(texts, max_size=3), max_size=4))
def test_other_programs_read_what_is_written(fields: dict[str, Json]) -> None:
    lines = write_note(Note(fields, "")).splitlines()
    assert yaml.safe_load("\n".join(lines[1:-1])) == (fields or None)


HOSTILE_FIELDS = {
    "lists in lists": "a: " + "[" * 3000 + "x" + "]" * 3000,
    "fields in fields": "\n".join(" " * depth + "k:" for depth in range(1500)),
    "json in json": "a: " + "[" * 900 + "]" * 900,
    "a bracket that never ends": "a: " + "[" * 100_000,
    "spaces": "a" + " " * 1_000_000,
    "quotes": "a: [b" + '"' * 50_000 + "]",
}


@pytest.mark.parametrize("fields", HOSTILE_FIELDS.values(), ids=HOSTILE_FIELDS)
def test_hostile_fields_are_read_to_their_end(fields: str) -> None:
    assert read_note(f"---\n{fields}\n---\nBody\n").body == "Body\n"


def test_fields_as_deep_as_metadata_may_be_are_read_back() -> None:
    deep: Json = "x"
    for _ in range(MAX_NESTING):
        deep = {"k": deep}
    written = Note({"a": deep}, "Body\n")
    assert read_note(write_note(written)) == written


def test_a_key_in_quotes_ends_before_its_spaces() -> None:
    assert read_note('---\n"a b" : 1\nc  : 2\n---\n').fields == {"a b": 1, "c": 2}


@pytest.mark.parametrize("fields", NOTES)
def test_good_front_matter_has_no_faults(fields: str) -> None:
    assert faults_of(f"---\n{fields}---\nBody: x\nmore\n") == []


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("Body", []),
        ("---\nA line across the page", []),
        ("---\r\ntitle: Tea\r\n---\r\nBody", []),
        ("---\ntitle: Tea\nBody", [(NO_END, "title: Tea")]),
        ("---\ntitle Tea\ntags: [a]\n---\nBody", [(NO_FIELD, "title Tea")]),
        ("---\n{{template}}\n# comment\n---\nBody", [(NO_FIELD, "{{template}}")]),
    ],
)
def test_broken_front_matter_is_told(text: str, faults: list[tuple[str, str]]) -> None:
    assert faults_of(text) == faults
