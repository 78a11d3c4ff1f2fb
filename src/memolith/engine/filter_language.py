"""The filter language: `ns:decisions tag:a,b -tag:old since:7d source:src/*`, read into what the stores filter by."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from memolith.domain.clock import shifted
from memolith.domain.queries import Condition, Filter
from memolith.engine.validation import UNITS_S, seconds, storable, when
from memolith.errors import InvalidInput, MemolithError

KEYS = {
    name: names.split()[0]
    for names in (
        "ns namespace",
        "tag",
        "since",
        "before",
        "source src",
        "project repo",
        "branch",
        "path file",
        "status",
        "entity",
    )
    for name in names.split()
}
_HEAD = re.compile(r'(-?)([^\s:",]+):')
_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s,"]+)', re.S)
Words = Mapping[str, tuple[str, ...]]
Values = list[tuple[str, int]]


def parse(text: str, namespaces: Words, statuses: Words, now: str) -> Filter:
    """The memories that a filter means; words for namespaces and statuses stand for what is stored, none for gone."""
    terms: dict[str, list[Values]] = defaultdict(list)
    for key, values in read(text):
        terms[key].append(values)
    every = defaultdict(
        list, {key: [value for values in found for value in values] for key, found in terms.items()}
    )
    named = {key: tuple(name for name, _ in values) for key, values in every.items()}
    since, before = ([_time(*value, now) for value in every[key]] for key in ("since", "before"))
    words = [_known(*value, statuses) for value in every["status"]]
    if len({not word for word in words}) > 1:
        raise fault(
            every["status"][0][1],
            "what was deleted cannot be asked for together with other statuses",
        )
    tags = [[tag for tag, _ in values] for values in terms["tag"]]
    return Filter(
        kinds=("memory",),
        statuses=sum(words, ()),
        forgotten=bool(words) and not words[0],
        namespaces=sum((_known(*value, namespaces) for value in every["ns"]), ()),
        projects=named.get("project", ()),
        tags_all=tuple(group[0] for group in tags if len(group) == 1),
        tags_none=named.get("-tag", ()),
        since=max(since, default=None),
        until=shifted(min(before), -1e-6) if before else None,
        where=(
            *(Condition("scope.tags", "tagged", [*group]) for group in tags if len(group) > 1),
            *(
                Condition(name, "glob", [glob.replace("[", "[[]") for glob in named[key]])
                for key, name in (("source", "source"), ("path", "source"), ("branch", "branch"))
                if key in named
            ),
            # A name is known in this spelling and in small letters.
            *(
                Condition(
                    "MentionedIn",
                    "linked",
                    [one for name, _ in values for one in (name, name.lower())],
                )
                for values in terms["entity"]
            ),
        ),
    )


def read(text: str) -> Iterator[tuple[str, Values]]:
    """The key and the values of each part, `-tag` for tags to exclude; what cannot be read is refused by its place."""
    at = next((at for at, character in enumerate(text) if not storable(character)), None)
    if at is not None:
        raise fault(at, "this character cannot be stored, so nothing has it")
    at = len(text) - len(text.lstrip())
    while at < len(text):
        head = _HEAD.match(text, at)
        if head is None or head[2].lower() not in KEYS or (head[1] and head[2].lower() != "tag"):
            raise fault(at, f"write key:value, with one of the keys -tag, {', '.join(KEYS)}")
        values, at = Values(), head.end() - 1
        while not values or text[at : at + 1] == ",":
            match = _VALUE.match(text, at + 1)
            if match is None or not match[0].strip('"'):
                raise fault(at + 1, "a value is missing here, or its quotes are not closed")
            values.append((match[2] or re.sub(r"\\(.)", r"\1", match[1], flags=re.S), at + 1))
            at = match.end()
        if text[at : at + 1].strip():
            raise fault(
                at, "a blank or a comma must stand here; a value with blanks is quoted as a whole"
            )
        at = len(text) - len(text[at:].lstrip())
        yield head[1] + KEYS[head[2].lower()], values


def _known(word: str, at: int, words: Words) -> tuple[str, ...]:
    if word not in words:
        raise fault(at, f"there is no {word[:40]!r}; use one of {', '.join(words)}")
    return words[word]


def _time(text: str, at: int, now: str) -> str:
    try:
        moment = (
            shifted(now, -seconds("filter", text)) if text[-1] in UNITS_S else when("filter", text)
        )
        return shifted(shifted(moment, -1e-6), 1e-6)
    except (InvalidInput, OverflowError) as error:
        raise fault(at, "this is no time; write it like 7d, 24h, 2w or 2026-07-28") from error


def fault(at: int, what: str) -> MemolithError:
    """An error that points at its place, counted from 1."""
    return InvalidInput(
        f"The filter cannot be read at position {at + 1}: {what}.", field="filter", value=at + 1
    )
