"""Whether a newer text changes what an older one says about the same subject.

The rules read short English statements: what they speak of, which verb, which values. They look
for one clear difference and prefer to miss a change over finding one that is none. Events of the
past, and lists of different facts, do not change one another.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from memolith.engine.change_words import (
    ADDITIONS,
    ATTRIBUTES,
    BE_VERBS,
    CANCELLED,
    CHANGE_CUE,
    CHANGE_VERBS,
    FILLERS,
    LABELS,
    LEAVING,
    MONTHS,
    NUMBERS,
    OPPOSITES,
    ORDINALS,
    PAST_VERBS,
    PRONOUNS,
    STATE_VERBS,
    WEEKDAYS,
)
from memolith.engine.statements import NEGATIONS, same, sentences

MIN_COSINE = 0.35
"""Texts that are less alike by meaning do not speak of the same."""
MIN_COSINE_WITHOUT_SHARED_WORDS = 0.62
"""As alike must texts be whose predicates share no word."""
SHARED_WORD_WORTH = 0.05
"""What a shared word is worth beside the cosine, where a change is announced in free words."""
NEAREST_WORTH = 0.15
"""What it is worth that nothing older is nearer."""
MIN_LIKENESS_OF_ANNOUNCED_VALUE = 0.58
MIN_LIKENESS_OF_ANNOUNCED_STATE = 0.75
MIN_SHARED_WORDS_OF_ANNOUNCED = 2
MIN_SHARED_SHARE = 0.3
"""Of the shorter text, so many words must be in the other, too."""
MAX_SENTENCES = 4
"""Of a longer text, so many sentences at its beginning are compared."""
MAX_COMPARED_CHARACTERS = 800
"""A longer text is no statement."""
MAX_VALUE_WORDS = 3
MAX_WORDS_TO_VERB = 4
MAX_WORDS_AFTER_LEAVING = 5

_TOKEN = re.compile(r"[$€£]?[^\W_]+(?:['.,:/&-][^\W_]+)*%?|%|:(?=\s|$)")
_PREAMBLE = re.compile(r"^\s*(note|reminder|update|fyi|info|remember)\s*[:,-]\s*", re.I)
_CLOCK = re.compile(r"\d{1,2}([:.]\d\d)?(am|pm)|\d{1,2}:\d\d|noon|midnight")
_ISO_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")
_YEAR = re.compile(r"(19|20)\d\d")
_DAY = re.compile(r"\d{1,2}(st|nd|rd|th)?")
_NUMBER = re.compile(r"[$€£]?\d+([.,]\d+)*%?(k|m)?")
_SUFFIXES = ("ings", "ing", "ies", "ied", "ed", "es", "s", "e")
_MIN_STEM_LENGTH = 3

Kind = Literal["none", "same", "conflict"]
What = Literal["number", "date", "name", "state"]


class Verdict(NamedTuple):
    """What two texts are to one another and, if they conflict, what differs."""

    kind: Kind
    what: What | None = None
    old: str = ""
    new: str = ""

    @property
    def in_words(self) -> str:
        """What differs, for people."""
        if self.old and self.new:
            return f"{self.what}: {self.old} became {self.new}"
        if self.old:
            return f"{self.what}: no longer {self.old}"
        if self.new:
            return f"{self.what}: now {self.new}"
        return "the newer one announces a change"


NOTHING = Verdict("none")
SAME = Verdict("same")


class _Value(NamedTuple):
    """A number or a date, as it stands and as it is compared."""

    key: str
    """What it measures: the unit of a number, the kind of a date."""
    value: str
    text: str
    is_date: bool = False


class _Statement(NamedTuple):
    """One sentence, taken apart."""

    words: tuple[str, ...]
    """All words in lower case."""
    verb: str
    topic: str
    """What the verb speaks of; empty if there is none, `past` for an event."""
    subject: frozenset[str]
    """The stems of what stands before the verb."""
    pronoun: str
    """The pronoun before the verb; empty if there is none."""
    predicate: frozenset[str]
    """The stems of what stands after the verb, without its values."""
    names: tuple[str, ...]
    """The names after the verb."""
    numbers: tuple[_Value, ...]
    dates: tuple[_Value, ...]
    subject_values: frozenset[str]
    """The numbers and dates before the verb, which tell one thing from another."""
    values: tuple[_Value, ...]
    """All numbers and dates."""
    negated: bool

    @property
    def stems(self) -> frozenset[str]:
        """What it is about, without names and values."""
        return self.subject | self.predicate

    @property
    def said(self) -> frozenset[str]:
        """The stems of what stands after the verb, with its names."""
        return self.predicate | {_stem(name.lower()) for name in self.names}

    @property
    def changes(self) -> bool:
        """Whether its verb is one of change."""
        return self.verb in CHANGE_VERBS

    @property
    def topics(self) -> frozenset[str]:
        """All that the verb can speak of."""
        if self.changes:
            return frozenset(CHANGE_VERBS[self.verb].split())
        return frozenset((self.topic,))

    @property
    def units(self) -> frozenset[str]:
        return frozenset(number.key for number in self.numbers if number.key)


def compare(older: str, newer: str, cosine: float, is_nearest: bool = False) -> Verdict:
    """Whether two short texts say the same, or the newer one changes what the older one says.

    The cosine is that of their vectors, as search has it. `is_nearest` tells that nothing older is
    nearer to the newer text: what announces a change most likely means that one.
    """
    if same(older, newer):
        return SAME
    if cosine < MIN_COSINE or max(len(older), len(newer)) > MAX_COMPARED_CHARACTERS:
        return NOTHING
    may_be_meant = is_nearest and announces_change(newer)
    if not may_be_meant and not _may_speak_of_the_same(_words(older), _words(newer), cosine):
        return NOTHING
    ours = _statements(older)
    theirs = _statements(newer)
    if _tells_apart(_ordinals(ours), _ordinals(theirs)):
        return NOTHING
    if not _is_part_of(newer, older):
        verdict = _conflict(ours, theirs, newer, cosine, is_nearest)
        if verdict.kind == "conflict":
            return verdict
    if ours and len(ours) == len(theirs) and all(map(_say_the_same, ours, theirs)):
        return SAME
    return NOTHING


def _conflict(
    ours: list[_Statement],
    theirs: list[_Statement],
    newer: str,
    cosine: float,
    is_nearest: bool,
) -> Verdict:
    """What the newer statements change in the older ones, if anything."""
    for before in ours:
        for after in theirs:
            verdict = _compared(before, after, cosine)
            if verdict.kind == "conflict":
                return verdict
    return _announced(ours, theirs, newer, cosine, is_nearest)


def _is_part_of(newer: str, older: str) -> bool:
    """Whether a text says nothing that the older one does not: its words stand there in order."""
    words = iter(_TOKEN.findall(older.lower()))
    return all(word in words for word in _TOKEN.findall(newer.lower()))


def may_change_something(text: str) -> bool:
    """Whether a text announces a change, or states how something is; events do neither."""
    if announces_change(text):
        return True
    return any(statement.topic not in ("", "past") for statement in _statements(text))


def _may_speak_of_the_same(older: frozenset[str], newer: frozenset[str], cosine: float) -> bool:
    """A quick look, which most pairs of texts do not pass."""
    shared = len(older & newer)
    if shared >= MIN_SHARED_SHARE * min(len(older), len(newer)):
        return shared > 0 or cosine >= MIN_COSINE_WITHOUT_SHARED_WORDS
    return shared >= MIN_SHARED_WORDS_OF_ANNOUNCED and cosine >= MIN_COSINE


def statement(title: str, text: str) -> str:
    """What an item says as one text: its title is the subject where the text has no verb."""
    if not title or text.startswith(title.rstrip(".…")):
        return text
    parsed = _statements(text)
    if parsed and not parsed[0].verb:
        return f"{title}: {text}"
    return text


def _compared(older: _Statement, newer: _Statement, cosine: float) -> Verdict:
    if older.topic == "past" or ADDITIONS.intersection(newer.words):
        return NOTHING
    if _tells_apart(older.subject_values, newer.subject_values):
        return NOTHING
    for rule in _RULES:
        verdict = rule(older, newer, cosine)
        if verdict.kind == "conflict":
            return verdict
    return NOTHING


def _say_the_same(older: _Statement, newer: _Statement) -> bool:
    return (
        _content(older.words) == _content(newer.words)
        and set(older.numbers) == set(newer.numbers)
        and {date.value for date in older.dates} == {date.value for date in newer.dates}
        and older.negated == newer.negated
    )


# The rules


def _named_as_gone(older: _Statement, newer: _Statement, cosine: float) -> Verdict:
    """The newer text says of something in the older one that it is no longer so."""
    text = " ".join(newer.words)
    known = older.said
    for phrase in LEAVING:
        start = f" {text} ".find(f" {phrase} ")
        if start < 0 or (phrase == "left" and older.topic != "work"):
            continue
        rest = text[start + len(phrase) :].split()[:MAX_WORDS_AFTER_LEAVING]
        gone = [word for word in rest if _stem(word) in known]
        if gone and _may_share_subject(older, newer):
            return Verdict("conflict", _kind_of_gone(older), " ".join(gone), _arrival(newer, gone))
    gone_from = older.said & _words_after(newer, "from")
    if newer.changes and gone_from and _may_share_subject(older, newer):
        gone = [word for word in newer.words if _stem(word) in gone_from]
        return Verdict("conflict", "name", gone[0], _arrival(newer, gone))
    has_passed_on = "took over" in text and older.subject & _words_after(newer, "from")
    if has_passed_on and older.predicate & newer.predicate:
        return Verdict("conflict", "name", " ".join(sorted(older.subject)), _first_name(newer))
    return NOTHING


def _kind_of_gone(older: _Statement) -> What:
    return "name" if older.names else "state"


def _arrival(newer: _Statement, gone: list[str]) -> str:
    """The name of what took the place of what is gone."""
    for name in reversed(newer.names):
        if name.lower() not in gone:
            return name
    return ""


def _first_name(newer: _Statement) -> str:
    return newer.words[0].capitalize() if newer.words else ""


def _restated(older: _Statement, newer: _Statement, cosine: float) -> Verdict:
    """Both say it the same way, with another value."""
    if newer.topic in ("", "past") or newer.changes or older.changes:
        return NOTHING
    if not _same_subject(older, newer) or not _same_verb(older, newer):
        return NOTHING
    if older.negated or newer.negated:
        return NOTHING
    if not older.subject and not _shared_predicate(older, newer):
        return NOTHING
    only_old = older.predicate - newer.predicate
    only_new = newer.predicate - older.predicate
    if only_old and only_new:
        return _other_words(older, newer, only_old, only_new)
    names = _name_pair(older, newer)
    if names is None:
        is_list = older.verb == ":"
        return _other_number(older, newer) or _other_date(older, newer, is_list) or NOTHING
    if _differ(older.numbers, newer.numbers) or _differ(older.dates, newer.dates):
        # Two differences make two things: 4 spaces in Python, 2 spaces in YAML.
        return NOTHING
    return _other_name(older, newer) or NOTHING


def _changed(older: _Statement, newer: _Statement, cosine: float) -> Verdict:
    """The newer text has a verb of change, and a value of the same sort."""
    if not newer.changes or not _may_share_subject(older, newer):
        return NOTHING
    topics = older.topics & newer.topics
    if older.topic == "be" and older.numbers:
        topics |= newer.topics & {"amount"}
    if older.dates:
        topics |= newer.topics & {"time"}
    found = NOTHING
    if "amount" in topics:
        found = _other_number(older, newer) or NOTHING
    if found is NOTHING and "time" in topics:
        found = _other_date(older, newer, False) or NOTHING
    if found is NOTHING and topics & {"home", "use", "be", "work"}:
        found = _other_place(older, newer, topics, cosine)
    return found


def _opposite(older: _Statement, newer: _Statement, cosine: float) -> Verdict:
    """Both speak of the same thing, in states that exclude one another."""
    if not _same_subject(older, newer) or not older.subject:
        return NOTHING
    before = set(older.words)
    after = set(newer.words)
    for first, second in OPPOSITES:
        for yes, no in ((first, second), (second, first)):
            old = yes & before
            new = no & after
            if not old or not new or no & before or yes & after:
                continue
            only_old = older.predicate - newer.predicate - _stems(old)
            only_new = newer.predicate - older.predicate - _stems(new)
            if not (only_old and only_new) and older.negated == newer.negated:
                return Verdict("conflict", "state", min(old), min(new))
    return NOTHING


def _denied(older: _Statement, newer: _Statement, cosine: float) -> Verdict:
    """One says what the other denies."""
    if older.negated == newer.negated or newer.topic == "past":
        return NOTHING
    if older.subject != newer.subject or older.pronoun != newer.pronoun:
        return NOTHING
    only_old = older.predicate - newer.predicate
    only_new = newer.predicate - older.predicate
    shared = older.predicate & newer.predicate
    if (only_old and only_new) or not shared or _differ(older.dates, newer.dates):
        return NOTHING
    if _differ(older.numbers, newer.numbers) or _other_name(older, newer):
        return NOTHING
    telling = " ".join(word for word in older.words if _stem(word) in shared)
    if newer.negated:
        return Verdict("conflict", "state", old=telling)
    return Verdict("conflict", "state", new=telling)


def _cancelled(older: _Statement, newer: _Statement, cosine: float) -> Verdict:
    """The newer text calls off what the older one announces."""
    called_off = CANCELLED.intersection(newer.words)
    if not called_off and "called off" not in " ".join(newer.words):
        return NOTHING
    if not newer.subject or not newer.subject <= older.stems:
        return NOTHING
    if CANCELLED.intersection(older.words) or _differ(older.dates, newer.dates):
        return NOTHING
    return Verdict("conflict", "state", "planned", min(called_off, default="called off"))


_RULES: tuple[Callable[[_Statement, _Statement, float], Verdict], ...] = (
    _named_as_gone,
    _cancelled,
    _opposite,
    _denied,
    _restated,
    _changed,
)


def _announced(
    ours: Sequence[_Statement],
    theirs: Sequence[_Statement],
    newer: str,
    cosine: float,
    is_nearest: bool,
) -> Verdict:
    """The newer text says that something is new, and has another value of the same sort.

    How the sentences are built does not matter here, so the texts must be more alike.
    """
    if not announces_change(newer):
        return NOTHING
    if any(ADDITIONS.intersection(after.words) for after in theirs):
        return NOTHING
    if any(_tells_apart(ours[0].subject_values, after.subject_values) for after in theirs):
        return NOTHING
    shared = _all_content(ours) & _all_content(theirs)
    likeness = cosine + SHARED_WORD_WORTH * len(shared)
    if is_nearest:
        likeness += NEAREST_WORTH
    elif len(shared) < MIN_SHARED_WORDS_OF_ANNOUNCED:
        return NOTHING
    if not shared or likeness < MIN_LIKENESS_OF_ANNOUNCED_VALUE:
        return NOTHING
    for sort in (_all_dates, _all_numbers):
        old = sort(ours)
        new = sort(theirs)
        if _differ(old, new):
            keys = {value.key for value in old} & {value.key for value in new}
            first = next(value for value in old if value.key in keys)
            other = next(value for value in new if value.key == first.key)
            return Verdict(
                "conflict", "date" if first.is_date else "number", first.text, other.text
            )
    if likeness < MIN_LIKENESS_OF_ANNOUNCED_STATE:
        return NOTHING
    return Verdict("conflict", "state")


def _all_content(statements: Sequence[_Statement]) -> frozenset[str]:
    words = [word for statement in statements for word in statement.words]
    return _content(word for word in words if not word[0].isdigit() and word not in WEEKDAYS)


def _all_numbers(statements: Sequence[_Statement]) -> tuple[_Value, ...]:
    found: list[_Value] = []
    for statement in statements:
        found += [value for value in statement.values if not value.is_date]
    return tuple(found)


def _all_dates(statements: Sequence[_Statement]) -> tuple[_Value, ...]:
    found: list[_Value] = []
    for statement in statements:
        found += [value for value in statement.values if value.is_date]
    return tuple(found)


# What differs


def _other_number(older: _Statement, newer: _Statement) -> Verdict | None:
    """A number of the same unit that is another one."""
    for old in older.numbers:
        same_unit = [new for new in newer.numbers if new.key == old.key]
        if newer.changes and not same_unit:
            same_unit = [new for new in newer.numbers if not (new.key and old.key)]
        values = {new.value for new in same_unit}
        if not same_unit or (old.value in values and not newer.changes):
            continue
        others = [new for new in same_unit if new.value != old.value]
        if others and old.value not in {new.value for new in newer.numbers[-1:]}:
            return Verdict("conflict", "number", old.text, others[-1].text)
    return None


def _other_date(older: _Statement, newer: _Statement, is_list: bool) -> Verdict | None:
    """A date or time of the same kind that is another one."""
    for old in older.dates:
        if is_list and old.key in ("day", "iso"):
            # A list of appointments, one after the other.
            continue
        same_kind = [new for new in newer.dates if new.key == old.key]
        others = [new for new in same_kind if new.value != old.value]
        is_kept = any(new.value == old.value for new in same_kind)
        if others and (newer.changes or not is_kept):
            return Verdict("conflict", "date", old.text, others[-1].text)
    return None


def _other_name(older: _Statement, newer: _Statement) -> Verdict | None:
    """Another name, where a thing can have only one."""
    if older.topic not in ("home", "work", "prefer", "use", "role", "be"):
        return None
    if older.topic == "be" and not _has_one_only(older):
        return None
    is_loose = older.verb in ("use", "uses", "using", "chose")
    if is_loose and not older.predicate & newer.predicate:
        return None
    return _name_pair(older, newer)


def _name_pair(older: _Statement, newer: _Statement) -> Verdict | None:
    old = [name for name in older.names if name.lower() not in newer.words]
    new = [name for name in newer.names if name.lower() not in older.words]
    if old and new:
        return Verdict("conflict", "name", " ".join(old), " ".join(new))
    return None


def _other_place(
    older: _Statement, newer: _Statement, topics: frozenset[str], cosine: float
) -> Verdict:
    """Another home, tool or name after a verb of change."""
    if topics == {"use"}:
        is_shared = bool((older.subject | older.said) & (newer.subject | newer.said))
        if not is_shared and cosine < MIN_COSINE_WITHOUT_SHARED_WORDS:
            return NOTHING
    if "be" in topics and not _has_one_only(older):
        return NOTHING
    return _name_pair(older, newer) or NOTHING


def _other_words(
    older: _Statement,
    newer: _Statement,
    only_old: frozenset[str],
    only_new: frozenset[str],
) -> Verdict:
    """Other plain words, where a thing can have only one: a colour, a mode."""
    if max(len(only_old), len(only_new)) > MAX_VALUE_WORDS:
        return NOTHING
    shared = older.predicate & newer.predicate
    has_one_only = older.topic == "be" and _has_one_only(older)
    same_head = older.topic == "prefer" and shared and len(only_old) == len(only_new) == 1
    if not (has_one_only or same_head) or older.numbers or newer.numbers:
        return NOTHING
    return Verdict("conflict", "name", _as_written(older, only_old), _as_written(newer, only_new))


def _as_written(statement: _Statement, stems: frozenset[str]) -> str:
    return " ".join(word for word in statement.words if _stem(word) in stems)


def _has_one_only(statement: _Statement) -> bool:
    """Whether it speaks of something that a thing has only one of."""
    is_attribute = not statement.subject.isdisjoint(_ATTRIBUTE_STEMS)
    return is_attribute or "called" in statement.words or "named" in statement.words


def _differ(old: tuple[_Value, ...], new: tuple[_Value, ...]) -> bool:
    """Whether both have values of the same sort, and none in common."""
    keys = {value.key for value in old} & {value.key for value in new}
    ours = {value.value for value in old if value.key in keys}
    theirs = {value.value for value in new if value.key in keys}
    return bool(keys) and ours.isdisjoint(theirs)


# Whether they speak of the same


def _tells_apart(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether numbers or dates in the subjects make them two things: invoice 17 and 18."""
    return bool(ours) and bool(theirs) and ours != theirs


def _ordinals(statements: Sequence[_Statement]) -> frozenset[str]:
    """What counts things through: the first, the second, Q3."""
    words = [word for statement in statements for word in statement.words]
    return frozenset(ORDINALS[word] for word in words if word in ORDINALS)


def _same_subject(older: _Statement, newer: _Statement) -> bool:
    """Whether one subject has nothing that the other lacks, or merely adds to it."""
    if not older.subject and not newer.subject:
        return older.pronoun == newer.pronoun
    if not older.subject & newer.subject:
        return False
    return older.subject <= newer.subject or newer.subject <= older.subject


def _may_share_subject(older: _Statement, newer: _Statement) -> bool:
    """The same, where the newer text may have turned the sentence round."""
    if not older.subject:
        return older.pronoun in ("", newer.pronoun)
    if older.subject & newer.subject:
        return older.subject <= newer.subject or newer.subject <= older.subject
    if newer.subject and newer.subject <= older.said:
        return True
    return older.subject <= newer.said


def _same_verb(older: _Statement, newer: _Statement) -> bool:
    if _stem(older.verb) == _stem(newer.verb):
        return True
    if older.topic == newer.topic == "be":
        return True
    return older.topic == newer.topic and older.topic in ("home", "use", "work")


def _shared_predicate(older: _Statement, newer: _Statement) -> bool:
    return bool(older.predicate & newer.predicate or older.units & newer.units)


# Taking a sentence apart


@lru_cache(2)
def announces_change(text: str) -> bool:
    """Whether a text says by itself that something has changed."""
    return CHANGE_CUE.search(text) is not None


def has_other_value(older: str, newer: str) -> bool:
    """Whether both have a number of the same unit, or a date of the same kind, and not the same."""
    old_values = _values_by_key(older)
    new_values = _values_by_key(newer)
    shared_keys = old_values.keys() & new_values.keys()
    return any(old_values[key].isdisjoint(new_values[key]) for key in shared_keys)


def _values_by_key(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for statement in _statements(text):
        for value in statement.values:
            if value.key:
                found[value.key].add(value.value)
    return found


@lru_cache(2)
def _words(text: str) -> frozenset[str]:
    return _content(_TOKEN.findall(text.lower()))


# A newer text is compared with several older ones, one after the other.
@lru_cache(2)
def _statements(text: str) -> list[_Statement]:
    text = _PREAMBLE.sub("", text.replace("’", "'"))
    found = []
    for sentence in sentences(text)[:MAX_SENTENCES]:
        tokens = _TOKEN.findall(sentence)
        if tokens:
            found.append(_statement(tokens))
    return found


def _statement(tokens: list[str]) -> _Statement:
    words = [token.lower() for token in tokens]
    first, main = _find_verb(words)
    before = words[: max(first, 0)]
    values_before = list(_values(before))
    told_apart_by = _parts(value for value in values_before if value.is_date) | {
        word for word in before if _NUMBER.fullmatch(word)
    }
    start = first + 1 if first >= 0 else len(words)
    after = words[start:]
    values = list(_values(after))
    if first < 0:
        values_before = list(_values(words))
    spoken_for = _parts(values)
    verb = words[main] if main >= 0 else ""
    named = _names(tokens[start:], spoken_for)
    negated = any(word in NEGATIONS or word.endswith("n't") for word in words)
    return _Statement(
        words=tuple(words),
        verb=verb,
        topic=_topic(words, first, main, bool(named)),
        subject=_content(word for word in before if word not in told_apart_by),
        pronoun=next((word for word in before if word in PRONOUNS), ""),
        predicate=_content(word for word in after if word not in spoken_for)
        - {_stem(name.lower()) for name in named},
        names=tuple(named),
        numbers=tuple(value for value in values if not value.is_date),
        dates=tuple(value for value in values if value.is_date),
        subject_values=frozenset(value.value for value in values_before if first >= 0),
        values=(*values_before, *values),
        negated=negated,
    )


def _parts(values: Iterable[_Value]) -> set[str]:
    """The words that values are made of."""
    return {part for value in values for part in value.text.split()}


def _find_verb(words: list[str]) -> tuple[int, int]:
    """Where the first verb stands, and the one that matters: `moved` in `was moved`; -1 for none.

    A colon counts as one.
    """
    for place, word in enumerate(words):
        if word == ":":
            return place, place
        if not _is_verb(words, place):
            continue
        if word in BE_VERBS or word in ("has", "have", "had", "do", "does", "did", "got"):
            for later in range(place + 1, min(place + MAX_WORDS_TO_VERB, len(words))):
                if words[later] in CHANGE_VERBS or words[later] in STATE_VERBS:
                    return place, later
        return place, place
    return -1, -1


def _is_verb(words: list[str], place: int) -> bool:
    word = words[place]
    if word in BE_VERBS:
        return True
    if place and words[place - 1] in ("the", "a", "an", "our", "my", "your", "their", "his", "her"):
        return False
    if place == 0 and word not in ("use", "deploy", "run", "keep", "store"):
        return word in PAST_VERBS or word.endswith("ed")
    if word in STATE_VERBS or word in CHANGE_VERBS or word in PAST_VERBS:
        return True
    return word in ("do", "does", "got", "don't", "doesn't") or word.endswith("ed")


def _topic(words: list[str], first: int, main: int, has_names: bool) -> str:
    """What a verb speaks of."""
    if main < 0:
        return ""
    verb = words[main]
    if verb in CHANGE_VERBS:
        return "change"
    if verb in STATE_VERBS:
        return STATE_VERBS[verb]
    if verb == ":" or verb in BE_VERBS:
        follows = [word for word in words[first + 1 : first + 3] if word != "now"]
        is_place = has_names and follows[:1] in (["in"], ["at"])
        return "home" if is_place else "be"
    if verb in ("do", "does", "got", "don't", "doesn't"):
        return "other"
    return "past"


def _names(tokens: list[str], spoken_for: set[str]) -> list[str]:
    """The words that begin with a capital letter."""
    return [
        token.removesuffix("'s")
        for token in tokens
        if token[0].isupper() and token.lower() not in spoken_for and not _is_no_name(token)
    ]


def _is_no_name(token: str) -> bool:
    return token == "I" or token.lower() in MONTHS or token.lower() in WEEKDAYS


def _values(words: list[str]) -> Iterator[_Value]:
    """The numbers and dates among words."""
    used = -1
    for place, word in enumerate(words):
        if place <= used:
            continue
        following = words[place + 1] if place + 1 < len(words) else ""
        date = _date(word, following)
        if date is not None:
            used = place + len(date.text.split()) - 1
            yield date
        elif _NUMBER.fullmatch(word) or word in NUMBERS:
            yield _number(words, place)


def _date(word: str, following: str) -> _Value | None:
    if word in WEEKDAYS:
        return _Value("weekday", word.rstrip("s"), word, True)
    if _CLOCK.fullmatch(word):
        return _Value("clock", word, word, True)
    if following in ("am", "pm") and _DAY.fullmatch(word):
        return _Value("clock", word + following, f"{word} {following}", True)
    if _ISO_DATE.fullmatch(word):
        return _Value("iso", word, word, True)
    if _DAY.fullmatch(word) and following in MONTHS:
        return _Value(
            "day", f"{int(re.sub('[a-z]', '', word))} {following[:3]}", f"{word} {following}", True
        )
    if word in MONTHS and _DAY.fullmatch(following):
        return _Value(
            "day", f"{int(re.sub('[a-z]', '', following))} {word[:3]}", f"{word} {following}", True
        )
    if _YEAR.fullmatch(word):
        return _Value("year", word, word, True)
    return None


def _number(words: list[str], place: int) -> _Value:
    """A number with its unit: the word after it or, for a label such as `port 80`, before it."""
    word = words[place]
    value = NUMBERS.get(word, word.replace(",", "").strip("$€£%"))
    symbol = re.sub(r"[\d.,km]", "", word) if word not in NUMBERS else ""
    if symbol:
        return _Value(symbol, value, word)
    following = words[place + 1] if place + 1 < len(words) else ""
    if following and following not in FILLERS and not _NUMBER.fullmatch(following):
        return _Value(_stem(following), value, f"{word} {following}")
    before = words[place - 1] if place else ""
    if before in LABELS:
        return _Value(_stem(before), value, f"{before} {word}")
    return _Value("", value, word)


def _content(words: Iterable[str]) -> frozenset[str]:
    """The stems of the words that say something."""
    return frozenset(
        _stem(word)
        for word in words
        if word not in FILLERS and word not in PRONOUNS and word not in NEGATIONS and word != ":"
    )


def _stems(words: set[str] | frozenset[str]) -> frozenset[str]:
    return frozenset(_stem(word) for word in words)


def _words_after(statement: _Statement, word: str) -> frozenset[str]:
    """The stems of what stands after a word."""
    if word not in statement.words:
        return frozenset()
    return _content(list(statement.words[statement.words.index(word) + 1 :]))


@lru_cache(2048)
def _stem(word: str) -> str:
    """A word without its ending, as far as it takes to know it again."""
    word = word.removesuffix("'s")
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM_LENGTH:
            return word[: -len(suffix)]
    return word


_ATTRIBUTE_STEMS = frozenset(_stem(word) for word in ATTRIBUTES)
