"""Dates that a question names, and words of time in a passage."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from itertools import islice
from typing import NamedTuple

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
MONTH_NUMBERS = {
    **{name: number for number, name in enumerate(MONTHS, 1)},
    **{name[:3]: number for number, name in enumerate(MONTHS, 1)},
    "sept": 9,
}
"""The numbers of months by their names and short names."""

MAX_PERIODS = 100
"""How many of the periods that a question names count."""

_MONTH_NAME = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
_ISO_DATE = re.compile(r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b")
_DAY_AND_MONTH = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH_NAME})\b\.?,?"
    r"(?: (?P<year>\d{4}))?",
    re.I,
)
_MONTH_AND_DAY = re.compile(
    rf"\b(?P<month>{_MONTH_NAME})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d),?"
    r"(?: (?P<year>\d{4}))?",
    re.I,
)
_MONTH = re.compile(rf"\b(?P<month>{_MONTH_NAME})\b,?(?: (?:of )?(?P<year>\d{{4}}))?")
_MONTH_OF_MAY = re.compile(r"\b(in|of|during|since|until|early|mid|late|by) may\b")
_OTHER_MONTHS = re.compile(
    rf"\b(?:in|of|during|since|until|by|early|mid|late) (?:{_MONTH_NAME})\b\.?"
    r"(?:,? \d{4})?",
    re.I,
)
_WITH_PREPOSITION = tuple(
    re.compile(rf"(?:\b(?:on|in|of|at|by|since|until)(?: the)? )?{pattern.pattern}", re.I)
    for pattern in (_ISO_DATE, _DAY_AND_MONTH, _MONTH_AND_DAY, _OTHER_MONTHS)
)
_SPACE_BEFORE_MARK = re.compile(r" (?=[?.!,;])")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_ASKS_WHEN = re.compile(
    r"\s*(when|how long|since when|what (year|month|date|day)|which (year|month|week|day)"
    r"|in which)",
    re.I,
)
_TIME_WORDS = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|last|next|ago|week|weekend|month|year|morning|evening|night"
    r"|recently|since|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    rf"|{'|'.join(MONTHS)}|20\d\d|\d+ (?:days|weeks|months|years))\b",
    re.I,
)


class Period(NamedTuple):
    """A stretch of days."""

    first: date
    last: date

    def days_from(self, day: date) -> int:
        """Return how many days a day is outside of the period; 0 inside."""
        if self.first <= day <= self.last:
            return 0
        return min(abs((day - self.first).days), abs((day - self.last).days))

    def holds(self, other: "Period") -> bool:
        """Whether another period lies inside this one."""
        return self.first <= other.first and other.last <= self.last


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return _ASKS_WHEN.match(question) is not None


def has_time_words(text: str) -> bool:
    """Whether a text has words of time."""
    return _TIME_WORDS.search(text) is not None


def named_periods(question: str, years: Sequence[int]) -> list[Period]:
    """Return the days that a question names, or else the months, or else the years.

    A day or month without a year is that of each of the given years.
    """
    text = question.lower()
    for find in (_days, _months, _years):
        # Each once: every candidate is compared with every period.
        periods = list(islice(dict.fromkeys(find(text, years)), MAX_PERIODS))
        if periods:
            return periods
    return []


def without_dates(question: str) -> str:
    """Return a question without the days or months that it names.

    A year stays, and so does "may", which is mostly a verb.
    """
    for pattern in _WITH_PREPOSITION:
        question = pattern.sub(" ", question)
    return _SPACE_BEFORE_MARK.sub("", " ".join(question.split()))


def _days(text: str, years: Sequence[int]) -> Iterator[Period]:
    for pattern in (_ISO_DATE, _DAY_AND_MONTH, _MONTH_AND_DAY):
        for match in pattern.finditer(text):
            month = MONTH_NUMBERS.get(match["month"]) or int(match["month"])
            for year in _years_of(match, years):
                # There may be no such day, as the 30th of February.
                with suppress(ValueError):
                    day = date(year, month, int(match["day"]))
                    yield Period(day, day)


def _months(text: str, years: Sequence[int]) -> Iterator[Period]:
    # "may" is mostly a verb.
    may_is_a_month = _MONTH_OF_MAY.search(text) is not None
    for match in _MONTH.finditer(text):
        is_may_alone = match["month"] == "may" and not match["year"]
        if is_may_alone and not may_is_a_month:
            continue
        for year in _years_of(match, years):
            # The day after the last one must be a date, too.
            if date.min.year <= year < date.max.year:
                first = date(year, MONTH_NUMBERS[match["month"]], 1)
                first_of_next = (first + timedelta(days=32)).replace(day=1)
                yield Period(first, first_of_next - timedelta(days=1))


def _years(text: str, years: Sequence[int]) -> Iterator[Period]:
    for year in _YEAR.findall(text):
        yield Period(date(int(year), 1, 1), date(int(year), 12, 31))


def _years_of(match: re.Match[str], years: Sequence[int]) -> Sequence[int]:
    if match["year"]:
        return [int(match["year"])]
    return years
