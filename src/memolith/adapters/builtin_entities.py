"""Entities by lists, by shape and by the words around them, and what a sentence says of two of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple, get_args

from memolith.engine.entities import sentences
from memolith.engine.model import EntityType, RelationType
from memolith.engine.ports import Finding

# How often each way was right on the first half of the labelled sentences: `python -m bench.entities` counts.
KNOWN, LISTED, SMALL, WORD, FIRST_WORD, STATED = 0.97, 0.98, 0.89, 0.8, 0.5, 0.9
LONGEST = 4
NAME = r"(?<![\w.-])((?!(?i:{no names})s?\b)[A-Z][\w-]+(?: [A-Z][\w-]+)?)(?![\w-])"
FILLED = (r"[\s,]*(?:(?:and|who|which|that|now|also|still|has|have|had|is|are|was|were|been|\w+ly) )*{}"
          r"(?: (?!(?:by|from|to|with)\b)[\w-]+){{0,3}}\s*")
FITTING = {"WorksAt": ("Person", "Organization"), "Uses": ("", "Technology Concept File"),
           "Created": ("Person Organization", "Organization Technology Concept File")}
_TOKEN = re.compile(r"\.?[^\W_](?:[\w.+#/&-]*[\w+#])?")
_AND = re.compile(r"\s*(?:,|,? and|,? or|&)(?: the)?\s*")
_NOT = re.compile(r"\b(?:not|never|no longer|without|instead)\b|n't\b", re.I)


class Mention(NamedTuple):
    """A name at a place of a sentence, and how sure that is."""

    start: int
    end: int
    type: str
    name: str
    sure: float


class Lists(NamedTuple):
    """Type, spelling and whether it is an ordinary word too, by name; patterns of names; phrases of relations."""

    names: dict[str, tuple[str, str, bool]]
    patterns: list[tuple[str, float, re.Pattern[str]]]
    phrases: list[tuple[str, bool, re.Pattern[str]]]


@cache
def lists() -> Lists:
    """What is known beforehand, read when first needed."""
    *parts, patterns = re.split(r"\n\[(.+)\]\n", Path(__file__).with_name("names.txt").read_text(encoding="utf-8"))
    words = {title: re.split(r",\s+", text.strip()) for title, text in zip(parts[1::2], parts[2::2], strict=False)}
    names = {name.rstrip("*").casefold(): (type, name.rstrip("*"), name.endswith("*"))
             for type in reversed(get_args(EntityType)) for name in words.get(type, ())}
    either = {title: "|".join(re.escape(name.rstrip("*")) for name in found) for title, found in words.items()}
    rules = (line.replace("NAME", NAME).split(" ", 2) for line in patterns.strip().splitlines())
    phrases = ((type, phrase) for type in get_args(RelationType) for phrase in words.get(type, ()))
    return Lists(names, [(type, float(sure), re.compile(re.sub(r"{([a-zA-Z ]+)}", lambda one: either[one[1]], text)))
                         for type, sure, text in rules],
                 [(type, phrase.startswith("<"), re.compile(FILLED.format(phrase.lstrip("< "))))
                  for type, phrase in sorted(phrases, key=lambda pair: -len(pair[1]))])


def find(text: str, known: Mapping[str, str]) -> list[Finding]:
    """Entities as type and name, the surest first, then what is said of two: type, sentence and both names."""
    doubt, said = defaultdict[tuple[str, str], float](lambda: 1.0), list[Finding]()
    familiar = {name.casefold(): (type, name) for name, type in known.items()}
    for sentence in sentences(text):
        found = mentions(sentence, familiar)
        for one in found:
            doubt[one.type, one.name] *= 1 - one.sure
        said += _relations(sentence, found)
    entities = [Finding(type, name, round(1 - left, 3)) for (type, name), left in doubt.items()]
    return sorted(entities, key=lambda one: -one.confidence) + said


def mentions(sentence: str, familiar: Mapping[str, tuple[str, str]]) -> list[Mention]:
    """The names in a sentence, in order; where several overlap, the longest, and of these the surest."""
    words = list(_TOKEN.finditer(sentence))
    found = [Mention(*match.span(1), type, match[1], sure) for type, sure, pattern in lists().patterns
             for match in pattern.finditer(sentence)]
    for at, size in product(range(len(words)), range(1, LONGEST + 1)):
        own = words[at:at + size]
        span = sentence[own[0].start():own[-1].end()]
        if judged := _listed(span, not at, familiar):
            found.append(Mention(own[0].start(), own[-1].end(), *judged))
    kept, taken = list[Mention](), set[int]()
    for one in sorted(found, key=lambda one: (one.start - one.end, -one.sure)):
        if taken.isdisjoint(place := range(one.start, one.end)):
            kept.append(one)
            taken.update(place)
    return sorted(kept)


def _listed(span: str, first: bool, familiar: Mapping[str, tuple[str, str]]) -> tuple[str, str, float] | None:
    """The type and name of words that are in a list, and how sure that is."""
    if span.casefold() in familiar:
        return (*familiar[span.casefold()], KNOWN)
    names = lists().names
    type, name, common = names.get(span.casefold()) or names.get(span.casefold().removesuffix("s")) or ("", "", False)
    exact = span.removesuffix("s") == name.removesuffix("s")
    if not type or (not exact and (common or type in ("Person", "Organization") or name.isupper())):
        return None
    return type, span if type == "Concept" else name, (FIRST_WORD if first else WORD) if common else (
        LISTED if exact else SMALL)


def _relations(sentence: str, found: Sequence[Mention]) -> list[Finding]:
    """What the words between names say: of every name of a row before them and every one of the row after them."""
    rows = [[one] for one in found[:1]]
    for one, two in pairwise(found):
        if one.type == two.type and _AND.fullmatch(sentence[one.end:two.start]):
            rows[-1].append(two)
        else:
            rows.append([two])
    said, subject, last = list[Finding](), list[Mention](), ""
    for left, right in pairwise(rows):
        between = sentence[left[-1].end:right[0].start]
        # Who works somewhere stays the one who acts, and so does the one before an `and`.
        subject = subject if last == "WorksAt" or (last and between.split()[0] == "and") else left
        last, back, _ = next((one for one in lists().phrases if one[2].fullmatch(between)), ("", False, _AND))
        for pair in product(subject, right) if last and not _NOT.search(between) else ():
            a, b = reversed(pair) if back else pair
            wanted = FITTING.get(last, ("", ""))
            if all(not types or one.type in types for types, one in zip(wanted, (a, b), strict=True)):
                said.append(Finding(last, sentence, round(STATED * min(a.sure, b.sure), 3), (a.name, b.name)))
    return said
