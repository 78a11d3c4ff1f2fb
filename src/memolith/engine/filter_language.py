"""The filter language: `ns:decisions tag:a,b -tag:old since:7d source:src/*`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.clock import shifted
from memolith.domain.queries import Condition, Filter
from memolith.engine.validation import UNITS_S, seconds, storable, when
from memolith.errors import InvalidInput, MemolithError

KEYS = {
    "ns": "ns",
    "namespace": "ns",
    "tag": "tag",
    "since": "since",
    "before": "before",
    "source": "source",
    "src": "source",
    "project": "project",
    "repo": "project",
    "branch": "branch",
    "path": "path",
    "file": "path",
    "status": "status",
    "entity": "entity",
}
"""The keys of the language, and what each stands for."""
EXCLUDED_TAG = "-tag"
GLOB_ATTRIBUTES = {"source": "source", "path": "source", "branch": "branch"}
"""The keys that take patterns, and the attributes that these are compared with.

`path` is another word for `source`: both are the file that a memory came from.
"""
MICROSECOND_S = 1e-6
MAX_SHOWN_LENGTH = 40
"""How much of what cannot be read an error shows."""
MAX_FILTER_CHARACTERS = 10_000
"""As long as a query may be. Each value becomes a parameter of a statement."""
_KEY = re.compile(r'(-?)([^\s:",]+):')
_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s,"]+)', re.S)
_BLANKS = re.compile(r"\s*")

StoredWords = Mapping[str, tuple[str, ...]]
"""The words of the language, and what is stored for each."""


class FilterValue(NamedTuple):
    """A value, and where it stands in the filter."""

    text: str
    position: int


class FilterTerm(NamedTuple):
    """A key with its values, of which any may match; `-tag` has the tags to leave out."""

    key: str
    values: list[FilterValue]


def parse(text: str, namespaces: StoredWords, statuses: StoredWords, now: str) -> Filter:
    """The memories that a filter means.

    A status for which nothing is stored stands for what was deleted.
    """
    terms = list(read(text))
    since = [_time(value, now) for value in _values(terms, "since")]
    before = [_time(value, now) for value in _values(terms, "before")]
    status_values = _values(terms, "status")
    stored_statuses = [_stored(value, statuses) for value in status_values]
    asks_for_deleted = [not words for words in stored_statuses]
    if any(asks_for_deleted) and not all(asks_for_deleted):
        raise fault(
            status_values[0].position,
            "what was deleted cannot be asked for together with other statuses",
        )
    tag_groups = [_texts(term.values) for term in terms if term.key == "tag"]
    stored_namespaces: tuple[str, ...] = ()
    for value in _values(terms, "ns"):
        stored_namespaces += _stored(value, namespaces)
    return Filter(
        kinds=("memory",),
        statuses=tuple(status for words in stored_statuses for status in words),
        forgotten=any(asks_for_deleted),
        namespaces=stored_namespaces,
        projects=tuple(_texts(_values(terms, "project"))),
        tags_all=tuple(group[0] for group in tag_groups if len(group) == 1),
        tags_none=tuple(_texts(_values(terms, EXCLUDED_TAG))),
        since=max(since, default=None),
        until=shifted(min(before), -MICROSECOND_S) if before else None,
        where=tuple(_conditions(terms, tag_groups)),
    )


def _conditions(
    terms: Sequence[FilterTerm], tag_groups: Sequence[list[str]]
) -> Iterator[Condition]:
    for group in tag_groups:
        if len(group) > 1:
            tags: list[Json] = list(group)
            yield Condition("scope.tags", "tagged", tags)
    for key, attribute in GLOB_ATTRIBUTES.items():
        # Only * and ? are patterns here.
        globs: list[Json] = [text.replace("[", "[[]") for text in _texts(_values(terms, key))]
        if globs:
            yield Condition(attribute, "glob", globs)
    for term in terms:
        if term.key == "entity":
            names: list[Json] = []
            for name in _texts(term.values):
                # A name is known in this spelling and in small letters.
                names += [name, name.lower()]
            yield Condition("MentionedIn", "linked", names)


def _values(terms: Sequence[FilterTerm], key: str) -> list[FilterValue]:
    return [value for term in terms if term.key == key for value in term.values]


def _texts(values: Sequence[FilterValue]) -> list[str]:
    return [value.text for value in values]


def read(text: str) -> Iterator[FilterTerm]:
    """The terms of a filter; an error names the place that cannot be read."""
    if len(text) > MAX_FILTER_CHARACTERS:
        raise InvalidInput(
            f"The filter has {len(text):,} characters; at most {MAX_FILTER_CHARACTERS:,} are "
            "allowed.",
            field="filter",
        )
    for position, character in enumerate(text):
        if not storable(character):
            raise fault(position, "this character cannot be stored, so nothing has it")
    position = _skip_blanks(text, 0)
    while position < len(text):
        key = _KEY.match(text, position)
        name = key[2].lower() if key else ""
        if key is None or name not in KEYS or (key[1] and name != "tag"):
            raise _unknown_key(text, position, key[0] if key else "")
        values, position = _read_values(text, key.end())
        if text[position : position + 1].strip():
            raise fault(
                position,
                "a blank or a comma must stand here; a value with blanks is quoted as a whole",
            )
        position = _skip_blanks(text, position)
        yield FilterTerm(key[1] + KEYS[name], values)


def _read_values(text: str, position: int) -> tuple[list[FilterValue], int]:
    """The values from a position on, with commas between them, and the position behind them."""
    values = []
    while True:
        match = _VALUE.match(text, position)
        if match is None or not match[0].strip('"'):
            raise fault(position, "a value is missing here, or its quotes are not closed")
        value = match[2] or re.sub(r"\\(.)", r"\1", match[1], flags=re.S)
        values.append(FilterValue(value, position))
        if text[match.end() : match.end() + 1] != ",":
            return values, match.end()
        position = match.end() + 1


def _skip_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position


def _stored(value: FilterValue, words: StoredWords) -> tuple[str, ...]:
    if value.text not in words:
        raise fault(
            value.position,
            f"there is no {value.text[:MAX_SHOWN_LENGTH]!r}; use one of {', '.join(words)}",
        )
    return words[value.text]


def _time(value: FilterValue, now: str) -> str:
    """A time, or one that lies so long before now."""
    try:
        if value.text[-1] in UNITS_S:
            moment = shifted(now, -seconds("filter", value.text))
        else:
            moment = when("filter", value.text)
        # A time at the edge of the calendar cannot be searched from.
        return shifted(shifted(moment, -MICROSECOND_S), MICROSECOND_S)
    except (InvalidInput, OverflowError) as error:
        raise fault(
            value.position,
            f"{_shown(value.text)} is no time; write it like 7d, 24h, 2w or 2026-07-28",
        ) from error


def _unknown_key(text: str, position: int, key: str) -> MemolithError:
    """The error about a word that begins no term, or begins one with a key that there is not."""
    word = key.removesuffix(":") or text[position : position + MAX_SHOWN_LENGTH].split()[0]
    keys = ", ".join(KEYS)
    return fault(
        position,
        f"{_shown(word)} is no key; write key:value, with one of the keys -tag, {keys}",
    )


def _shown(text: str) -> str:
    """The offending word as an error quotes it."""
    return repr(text[:MAX_SHOWN_LENGTH])


def fault(position: int, problem: str) -> MemolithError:
    """An error that points at its place, counted from 1."""
    return InvalidInput(
        f"The filter cannot be read at position {position + 1}: {problem}.",
        field="filter",
        value=position + 1,
    )
