"""The analyst that is always there: counts words and knows a few turns of phrase; the same text, the same answer.

Entities it finds by lists, by shape and by the words around them; what a sentence says of two, by the words between.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple, get_args

from memolith.domain.links import EntityType, RelationType
from memolith.engine.claims import NEAR, overlap
from memolith.engine.graph import sentences
from memolith.ports.analyst import Finding

_WORD = re.compile(r"[^\W\d_][\w+#-]*[\w+#]")
_CUES = {
    "decision": re.compile(
        r"\b(decided|decision|chose|chosen|agreed|settled on|going with|will use)\b", re.I
    ),
    "open question": re.compile(
        r"\?\s*$|\b(todo|tbd|open question|unclear|not sure|to be decided)\b", re.I
    ),
}
_PLAIN = frozenset(Path(__file__).with_name("plain_words.txt").read_text(encoding="utf-8").split())
# How often each way was right on the first half of the labelled sentences: `python -m bench.entities` counts.
KNOWN, LISTED, SMALL, WORD, FIRST_WORD, STATED = 0.97, 0.98, 0.89, 0.8, 0.5, 0.9
EACH, LONGEST = 10, 4
NAME = r"(?<![\w.-])((?!(?i:{no names})s?\b)[A-Z][\w-]+(?: [A-Z][\w-]+)?)(?![\w-])"
FILLED = (
    r"[\s,]*(?:(?:and|who|which|that|now|also|still|has|have|had|is|are|was|were|been|\w+ly) )*{}"
    r"(?: (?!(?:by|from|to|with)\b)[\w-]+){{0,3}}\s*"
)
FITTING = {
    "WorksAt": ("Person", "Organization"),
    "Uses": ("", "Technology Concept File"),
    "Created": ("Person Organization", "Organization Technology Concept File"),
}
_TOKEN = re.compile(r"\.?[^\W_](?:[\w.+#/&-]*[\w+#])?")
_AND = re.compile(r"\s*(?:,|,? and|,? or|&)(?: the)?\s*")
_NOT = re.compile(r"\b(?:not|never|no longer|without|instead)\b|n't\b", re.I)


class BuiltinAnalyst:
    """Finds tags and themes by the words that stand out."""

    name = "built-in"

    def tags(self, text: str, known: Sequence[str], most: int) -> list[Finding]:
        """Words the user tags with and the text names, then what the text itself speaks of most."""
        words = {word.lower() for word in _WORD.findall(text)}
        found = [
            Finding(tag, "You use this tag, and the text names it.", 0.9)
            for tag in known
            if set(_WORD.findall(tag.lower())) <= words and _WORD.search(tag)
        ]
        taken = {one.label.casefold() for one in found}
        found += [
            Finding(
                tag, f"The text speaks of “{phrase}”.", round(0.4 + 0.4 * weight / (weight + 3), 3)
            )
            for phrase, weight in _phrases(text).most_common(most + len(taken))
            if (tag := phrase.replace(" ", "-")) not in taken
        ]
        return sorted(found, key=lambda one: -one.confidence)[:most]

    def insights(
        self, groups: Sequence[Sequence[tuple[str, str]]], topic: str
    ) -> tuple[list[Finding], str]:
        """A theme for each group, a gap for what stands alone, decisions and open questions word for word."""
        everywhere = Counter(
            phrase for group in groups for _, text in group for phrase in set(_phrases(text))
        )
        found: list[Finding] = []
        for group in groups:
            weights = sum((_phrases(text) for _, text in group), Counter[str]())
            telling = sorted(
                weights, key=lambda phrase: (-weights[phrase] / everywhere[phrase] ** 0.5, phrase)
            )[:3]
            names, ids = ", ".join(telling), tuple(id for id, _ in group)
            if len(group) > 1:
                best = max(
                    (one for _, text in group for one in _sentences(text)),
                    key=lambda one: (
                        sum(weights[phrase] for phrase in set(_phrases(one))) / (len(one) + 40)
                    ),
                )
                found.append(
                    Finding(
                        "theme",
                        f"{len(group)} memories are about {names}: {best}",
                        round(1 - 1 / (len(group) + 1), 3),
                        ids,
                    )
                )
            elif names:
                found.append(Finding("gap", f"Only one memory is about {names}.", 0.3, ids))
        found += [
            Finding(label, sentence, 0.6, (id,))
            for label, cue in _CUES.items()
            for group in groups
            for id, text in group
            for sentence in _sentences(text)
            if cue.search(sentence)
        ]
        counts = Counter(one.label for one in found)
        told = (
            ", ".join(f"{count} {label}{'s' * (count > 1)}" for label, count in counts.items())
            or "nothing"
        )
        kept = [
            one for label in counts for one in [one for one in found if one.label == label][:EACH]
        ]
        return (
            kept,
            f"{sum(map(len, groups))} memories{f' about {topic}' if topic else ''}: {told}.",
        )

    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        """What the texts say, each thing once; a structure is a list, a summary has the most telling sentences."""
        if task == "structure":
            lead, *rest = re.split(r"(?<=[.!?])\s+", texts[0].strip())
            plain = len(rest) < 2 or "\n" in texts[0].strip()
            return texts[0] if plain else "\n".join([lead, "", *(f"- {one}" for one in rest)])
        first, *others = texts[1:] if task == "context" else sorted(texts, key=len, reverse=True)
        said: list[str] = []
        for one in (sentence for text in others for sentence in _sentences(text)):
            if all(overlap(one, other) < NEAR / 2 for other in (*_sentences(first), *said)):
                said.append(one)
        if task != "summarize":
            return "\n".join([first, *said])
        weights = sum((_phrases(text) for text in texts), Counter[str]())
        telling = sorted(
            (*_sentences(first), *said),
            key=lambda one: -sum(weights[it] for it in set(_phrases(one))),
        )
        return "\n".join(telling[:3])

    def entities(self, text: str, known: Mapping[str, str]) -> list[Finding]:
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


def _phrases(text: str) -> Counter[str]:
    """Words that mean something, names counted double, and pairs of such words that come again or are a name."""
    found: Counter[str] = Counter()
    for one, two in pairwise([*_WORD.findall(text), ""]):
        if one.lower() not in _PLAIN and len(one) > 2:
            found[one.lower()] += 1 + one[0].isupper()
            if (
                two
                and two.lower() not in _PLAIN
                and (text.count(f"{one} {two}") > 1 or (one[0].isupper() and two[0].isupper()))
            ):
                found[f"{one} {two}".lower()] += 2
    return found


def _sentences(text: str) -> list[str]:
    return [one for one in map(str.strip, sentences(text)) if len(one) > 10] or [text[:200]]


class Mention(NamedTuple):
    """A name at a place of a sentence, and how sure that is."""

    start: int
    end: int
    type: str
    name: str
    sure: float


@cache
def lists() -> tuple[
    dict[str, tuple[str, str, bool]],
    list[tuple[str, float, re.Pattern[str]]],
    list[tuple[str, bool, re.Pattern[str]]],
]:
    """Type, spelling and whether it is an ordinary word too, by name; patterns of names; phrases of relations."""
    *parts, patterns = re.split(
        r"\n\[(.+)\]\n", Path(__file__).with_name("names.txt").read_text(encoding="utf-8")
    )
    words = {
        title: re.split(r",\s+", text.strip())
        for title, text in zip(parts[1::2], parts[2::2], strict=False)
    }
    names = {
        name.rstrip("*").casefold(): (type, name.rstrip("*"), name.endswith("*"))
        for type in reversed(get_args(EntityType))
        for name in words.get(type, ())
    }
    either = {
        title: "|".join(re.escape(name.rstrip("*")) for name in found)
        for title, found in words.items()
    }
    rules = (line.replace("NAME", NAME).split(" ", 2) for line in patterns.strip().splitlines())
    phrases = ((type, phrase) for type in get_args(RelationType) for phrase in words.get(type, ()))
    return (
        names,
        [
            (
                type,
                float(sure),
                re.compile(re.sub(r"{([a-zA-Z ]+)}", lambda one: either[one[1]], text)),
            )
            for type, sure, text in rules
        ],
        [
            (type, phrase.startswith("<"), re.compile(FILLED.format(phrase.lstrip("< "))))
            for type, phrase in sorted(phrases, key=lambda pair: -len(pair[1]))
        ],
    )


def mentions(sentence: str, familiar: Mapping[str, tuple[str, str]]) -> list[Mention]:
    """The names in a sentence, in order; where several overlap, the longest, and of these the surest."""
    words, (names, patterns, _) = list(_TOKEN.finditer(sentence)), lists()
    found = [
        Mention(*match.span(1), type, match[1], sure)
        for type, sure, pattern in patterns
        for match in pattern.finditer(sentence)
    ]
    for at, size in product(range(len(words)), range(1, LONGEST + 1)):
        start, end = words[at].start(), words[at : at + size][-1].end()
        span, small = sentence[start:end], sentence[start:end].casefold()
        type, name, common = (
            names.get(small) or names.get(small.removesuffix("s")) or ("", "", False)
        )
        exact = span.removesuffix("s") == name.removesuffix("s")
        if small in familiar:
            found.append(Mention(start, end, *familiar[small], KNOWN))
        elif type and (
            exact or not (common or type in ("Person", "Organization") or name.isupper())
        ):
            sure = (WORD if at else FIRST_WORD) if common else LISTED if exact else SMALL
            found.append(Mention(start, end, type, span if type == "Concept" else name, sure))
    kept, taken = list[Mention](), set[int]()
    for one in sorted(found, key=lambda one: (one.start - one.end, -one.sure)):
        if taken.isdisjoint(place := range(one.start, one.end)):
            kept.append(one)
            taken.update(place)
    return sorted(kept)


def _relations(sentence: str, found: Sequence[Mention]) -> list[Finding]:
    """What the words between names say: of every name of a row before them and every one of the row after them."""
    rows = [[one] for one in found[:1]]
    for one, two in pairwise(found):
        if one.type == two.type and _AND.fullmatch(sentence[one.end : two.start]):
            rows[-1].append(two)
        else:
            rows.append([two])
    said, subject, last = list[Finding](), list[Mention](), ""
    for left, right in pairwise(rows):
        between = sentence[left[-1].end : right[0].start]
        # Who works somewhere stays the one who acts, and so does the one before an `and`.
        subject = (
            subject if last == "WorksAt" or (last and between.lstrip().startswith("and ")) else left
        )
        last, back, _ = next(
            (one for one in lists()[2] if one[2].fullmatch(between)), ("", False, _AND)
        )
        for pair in product(subject, right) if last and not _NOT.search(between) else ():
            a, b = reversed(pair) if back else pair
            wanted = FITTING.get(last, ("", ""))
            if all(
                not types or one.type in types for types, one in zip(wanted, (a, b), strict=True)
            ):
                said.append(
                    Finding(
                        last, sentence, round(STATED * min(a.sure, b.sure), 3), (a.name, b.name)
                    )
                )
    return said
