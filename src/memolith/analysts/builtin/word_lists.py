"""The word lists in data/*.toml, read at the first use."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

from memolith.domain.links import EntityType, RelationType

DATA_FOLDER = Path(__file__).parents[1] / "data"

CAPITALISED_NAME = (
    r"(?<![\w.-]) ( (?!(?i:{not_a_name})s?\b) [A-Z][\w-]+ (?:[ ][A-Z][\w-]+)? ) (?![\w-])"
)
"""What `{name}` stands for in name_patterns.toml."""

FILLED_PHRASE = (
    r"[\s,]*(?:(?:and|who|which|that|now|also|still|has|have|had|is|are|was|were|been|\w+ly) )*{}"
    r"(?: (?!(?:by|from|to|with)\b)[\w-]+){{0,3}}\s*"
)
"""A phrase of a relation with the words that may stand before and after it."""


class ListedName(NamedTuple):
    """A name of entity_names.toml."""

    type: str
    spelling: str
    is_ordinary_word: bool


class NamePattern(NamedTuple):
    """A pattern of name_patterns.toml; its group is the name."""

    type: str
    confidence: float
    regex: re.Pattern[str]


class RelationPhrase(NamedTuple):
    """A phrase of relation_phrases.toml, with the words that may stand around it."""

    type: str
    is_reversed: bool
    """Whether the name after the phrase is the source: "was created by"."""
    regex: re.Pattern[str]


@cache
def plain_words() -> frozenset[str]:
    """Words that say nothing about the subject of a text."""
    return frozenset(_read("plain_words")["words"])


@cache
def listed_names() -> dict[str, ListedName]:
    """The names of entity_names.toml by their folded spelling.

    A name that is listed for several types gets the one that `EntityType` has first.
    """
    tables = _read("entity_names")
    names: dict[str, ListedName] = {}
    for type in reversed(get_args(EntityType)):
        table = tables.get(type, {"names": [], "ordinary_words": []})
        for name in table["names"]:
            names[name.casefold()] = ListedName(type, name, is_ordinary_word=False)
        for name in table["ordinary_words"]:
            names[name.casefold()] = ListedName(type, name, is_ordinary_word=True)
    return names


@cache
def name_patterns() -> list[NamePattern]:
    """The patterns of name_patterns.toml, compiled."""
    document = _read("name_patterns")
    names = _read("entity_names")
    # {name} first, because it contains {not_a_name}.
    placeholders = {
        "{name}": CAPITALISED_NAME,
        "{not_a_name}": _any_of(document["not_names"]),
        "{a_person}": _any_of(_all_names(names["Person"])),
        "{a_technology}": _any_of(_all_names(names["Technology"])),
    }
    patterns = []
    for table in document["patterns"]:
        pattern = table["pattern"]
        for placeholder, replacement in placeholders.items():
            pattern = pattern.replace(placeholder, replacement)
        regex = re.compile(pattern, re.VERBOSE)
        patterns.append(NamePattern(table["type"], table["confidence"], regex))
    return patterns


@cache
def relation_phrases() -> list[RelationPhrase]:
    """The phrases of relation_phrases.toml, the longest first: "is part of" goes before "of"."""
    tables = _read("relation_phrases")
    phrases = []
    for type in get_args(RelationType):
        table = tables.get(type, {})
        for phrase in table.get("phrases", []):
            phrases.append((phrase, type, False))
        for phrase in table.get("reversed", []):
            phrases.append((phrase, type, True))
    phrases.sort(key=lambda entry: -len(entry[0]))
    return [
        RelationPhrase(type, is_reversed, re.compile(FILLED_PHRASE.format(phrase)))
        for phrase, type, is_reversed in phrases
    ]


@cache
def _read(name: str) -> dict[str, Any]:
    """The document of a TOML file, which has no type before it is looked at."""
    return tomllib.loads((DATA_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _all_names(table: dict[str, list[str]]) -> list[str]:
    return [*table["names"], *table["ordinary_words"]]


def _any_of(words: list[str]) -> str:
    """A pattern that matches any of the words."""
    return "|".join(re.escape(word) for word in words)
