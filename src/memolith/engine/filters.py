"""The filter language: `ns:decisions tag:a,b -tag:old since:7d source:src/*`, read into what the stores filter by."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from memolith.engine.intake import storable, when
from memolith.engine.model import Condition, Filter
from memolith.engine.times import seconds, shifted
from memolith.errors import InvalidInput

KEYS = {"ns": "ns", "namespace": "ns", "tag": "tag", "since": "since", "before": "before", "source": "source",
        "src": "source", "project": "project", "repo": "project", "branch": "branch", "path": "path", "file": "path",
        "status": "status", "entity": "entity"}
GLOBBED = {"source": "source", "path": "source", "branch": "branch"}
_HEAD = re.compile(r'(-?)([^\s:",]+):')
_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s,"]+)', re.S)
Words = Mapping[str, tuple[str, ...]]
Values = list[tuple[str, int]]


def parse(text: str, namespaces: Words, statuses: Words, now: str) -> Filter:
    """The memories that a filter means; words for namespaces and statuses stand for what is stored, none for gone."""
    terms: dict[str, list[Values]] = defaultdict(list)
    for key, values in read(text):
        terms[key].append(values)
    every = defaultdict(list, {key: [value for values in found for value in values] for key, found in terms.items()})
    since, before = ([_time(*value, now) for value in every[key]] for key in ("since", "before"))
    spaces = [_known(*value, namespaces) for value in every["ns"]]
    words = [_known(*value, statuses) for value in every["status"]]
    if len({not word for word in words}) > 1:
        raise fault(every["status"][0][1], "what was deleted cannot be asked for together with other statuses")
    tags = [tuple(tag for tag, _ in values) for values in terms["tag"]]
    some = [group for group in tags if len(group) > 1]
    globs = {key: [value.replace("[", "[[]") for value, _ in every[key]] for key in GLOBBED if every[key]}
    return Filter(
        kinds=("memory",), namespaces=tuple(sum(spaces, ())), statuses=tuple(sum(words, ())),
        forgotten=bool(words) and not words[0], projects=tuple(project for project, _ in every["project"]),
        tags_none=tuple(tag for tag, _ in every["-tag"]), tags_any=some[0] if some else (),
        tags_all=tuple(group[0] for group in tags if len(group) == 1), since=max(since, default=None),
        until=shifted(min(before), -1e-6) if before else None,
        where=(*(Condition("scope.tags", "tagged", [*group]) for group in some[1:]),
               *(Condition(GLOBBED[key], "glob", [*wanted]) for key, wanted in globs.items()),
               # A name is known in this spelling and in small letters.
               *(Condition("MentionedIn", "linked", [one for name, _ in values for one in (name, name.lower())])
                 for values in terms["entity"])))


def read(text: str) -> Iterator[tuple[str, Values]]:
    """The key and the values of each part, `-tag` for tags to exclude; what cannot be read is refused by its place."""
    for at, character in enumerate(text):
        if not storable(character):
            raise fault(at, "this character cannot be stored, so nothing has it")
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        head = _HEAD.match(text, at)
        key = KEYS.get(head[2].lower()) if head else None
        if head is None or key is None:
            raise fault(at, f"write key:value, with one of the keys {', '.join(KEYS)}")
        if head[1] and key != "tag":
            raise fault(at, "only tags can be excluded, as in -tag:old")
        values, at = _values(text, head.end())
        yield head[1] + key, values


def _values(text: str, at: int) -> tuple[Values, int]:
    """The values that begin there, separated by commas, with their places, and where they end."""
    found: Values = []
    while True:
        match = _VALUE.match(text, at)
        if match is None or not match[0].strip('"'):
            raise fault(at, "a value is missing here, or its quotes are not closed")
        found.append((match[2] or re.sub(r"\\(.)", r"\1", match[1], flags=re.S), at))
        at = match.end()
        if at == len(text) or text[at].isspace():
            return found, at
        if text[at] != ",":
            raise fault(at, "a blank or a comma must stand here; values with blanks are put in quotes as a whole")
        at += 1


def _known(word: str, at: int, words: Words) -> tuple[str, ...]:
    if word not in words:
        raise fault(at, f"there is no {word[:40]!r}; use one of {', '.join(words)}")
    return words[word]


def _time(text: str, at: int, now: str) -> str:
    """A time: so long ago, or a date."""
    length = seconds(text)
    try:
        moment = shifted(now, -length) if length is not None else when("filter", text)
        return shifted(shifted(moment, -1e-6), 1e-6)
    except (InvalidInput, OverflowError) as error:
        raise fault(at, "this is no time; write it like 7d, 24h, 2w or 2026-07-28") from error


def fault(at: int, what: str) -> InvalidInput:
    """An error that points at its place, counted from 1."""
    return InvalidInput(f"The filter cannot be read at position {at + 1}: {what}.", field="filter", value=at + 1)
