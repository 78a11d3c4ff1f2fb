"""Days, months and years that a question names."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, timedelta

Days = list[tuple[date, date]]
_MONTHS = {name: n + 1 for n, name in enumerate(
    "january february march april may june july august september october november december".split())}
_NUMBERS = _MONTHS | {name[:3]: n for name, n in _MONTHS.items()} | {"sept": 9}
_NAME = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_DAYS = [re.compile(pattern) for pattern in (
    r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b",
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_NAME})\b\.?,?(?: (?P<year>\d{{4}}))?",
    rf"\b(?P<month>{_NAME})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d),?(?: (?P<year>\d{{4}}))?")]
_MONTH = re.compile(rf"\b({_NAME})\b,?(?: (?:of )?(\d{{4}}))?")
_MAY = re.compile(r"\b(in|of|during|since|until|early|mid|late|by) may\b")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_TIME_WORDS = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|last|next|ago|week|weekend|month|year|morning|evening|night|recently|since|"
    rf"(?:mon|tues|wednes|thurs|fri|satur|sun)day|{'|'.join(_MONTHS)}|20\d\d|\d+ (?:days|weeks|months|years))\b", re.I)


def tells_time(text: str) -> bool:
    """Whether the text says when something happens."""
    return bool(_TIME_WORDS.search(text))


def named_days(question: str, years: list[int]) -> Days:
    """The stretches of days that a question names; without a year, that day of each of the years."""
    text = question.lower()
    found: Days = []
    for match in (match for pattern in _DAYS for match in pattern.finditer(text)):
        for year in [int(match["year"])] if match["year"] else years:
            with suppress(ValueError):
                day = date(year, _NUMBERS.get(match["month"]) or int(match["month"]), int(match["day"]))
                found.append((day, day))
    return found or _months(text, years) or [(date(int(y), 1, 1), date(int(y), 12, 31)) for y in _YEAR.findall(text)]


def _months(text: str, years: list[int]) -> Days:
    found: Days = []
    for match in _MONTH.finditer(text):
        if match[1] == "may" and not match[2] and not _MAY.search(text):
            continue
        for year in [int(match[2])] if match[2] else years:
            if 1 <= year < 9999:
                first = date(year, _NUMBERS[match[1]], 1)
                found.append((first, (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)))
    return found


def days_off(at: str, days: Days) -> int:
    """How many days a time is away from the nearest of the stretches."""
    day = date.fromisoformat(at[:10])
    return min(0 if first <= day <= last else min(abs((day - first).days), abs((day - last).days))
               for first, last in days)
