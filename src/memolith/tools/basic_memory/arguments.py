"""Types of arguments that several tools of basic_memory share, and times as clients write them."""

import re
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.clock import DAY_S, shifted
from memolith.engine.validation import UNITS_S, when
from memolith.errors import InvalidInput

OutputFormat = Annotated[
    Literal["text", "json"], Field(description="A text to read, or an object for a program.")
]
Identifier = Annotated[str, Field(description="The permalink, title or path of a note.")]
Project = Annotated[str | None, Field(description="The project; all if left out.")]
Page = Annotated[int, Field(ge=1, le=100_000)]
PageSize = Annotated[int, Field(ge=1, le=100)]
DAYS = {"today": 1, "yesterday": 2, "last week": 7, "this week": 7, "last month": 31}
"""How many days back a word reaches."""
UNIT_DAYS = {"hour": 1 / 24, "day": 1, "week": 7, "month": 31, "year": 366}
_SHORT = re.compile(r"(\d{1,6})\s*([smhdw])")
_LONG = re.compile(r"(\d{1,6})\s+(hour|day|week|month|year)s?(?:\s+ago)?")


def since(timeframe: str, now: str, field: str = "timeframe") -> str:
    """When a timeframe such as `7d`, `2 weeks ago`, `yesterday` or `2026-11-01` begins."""
    text = timeframe.strip().lower()
    if text in DAYS:
        midnight = datetime.fromisoformat(now).astimezone(UTC).strftime("%Y-%m-%dT00:00:00Z")
        return shifted(midnight, -(DAYS[text] - 1) * DAY_S)
    short = _SHORT.fullmatch(text)
    if short:
        return _before(now, int(short[1]) * UNITS_S[short[2]], field)
    long = _LONG.fullmatch(text)
    if long:
        return _before(now, int(long[1]) * UNIT_DAYS[long[2]] * DAY_S, field)
    try:
        return when(field, timeframe.strip())
    except InvalidInput as error:
        raise InvalidInput(
            f"{timeframe[:50]!r} is no timeframe; write `7d`, `2 weeks ago`, `yesterday` or a "
            "date.",
            field=field,
            value=timeframe,
        ) from error


def _before(now: str, seconds: float, field: str) -> str:
    try:
        return shifted(now, -seconds)
    except (OverflowError, ValueError) as error:
        raise InvalidInput("The timeframe reaches too far back.", field=field) from error
