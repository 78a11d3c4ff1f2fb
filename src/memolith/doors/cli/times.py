"""Times that people type: `2026-07-28`, or how long ago, like `7d`."""

import re

from memolith.domain.clock import SystemClock, shifted
from memolith.engine.validation import seconds, when
from memolith.errors import InvalidInput

PAST_TIMES = ("since", "until", "as_of")
"""The arguments, of whatever command or tool, that take a time in the past."""
TIME_FORMS = "like 2026-07-28 or 2026-07-28T12:00Z, or how long ago: 90s, 15m, 24h, 7d, 2w"
DURATION = re.compile(r"\d+[a-z]")


def time_ago(name: str, text: str) -> str:
    """The time that was typed; a duration is counted back from now."""
    if DURATION.fullmatch(text):
        return shifted(SystemClock().now(), -seconds(name, text))
    try:
        return when(name, text)
    except InvalidInput as error:
        raise InvalidInput(
            f"{text[:40]!r} is not a time; write one {TIME_FORMS}.", field=name, value=text
        ) from error


def time_ahead(name: str, text: str) -> str:
    """The time that was typed; a duration is counted from now on."""
    if DURATION.fullmatch(text):
        return shifted(SystemClock().now(), seconds(name, text))
    return when(name, text)
