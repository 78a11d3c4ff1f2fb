"""How sizes and times look to people; `--json` keeps the exact values."""

import re
from datetime import UTC, datetime

KILOBYTE = 1000
SIZE_UNITS = ("kB", "MB", "GB", "TB")
MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
DAY_S = 24 * HOUR_S
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
"""A time in the form in which memolith keeps it."""
TIME_FOR_PEOPLE = "%Y-%m-%d %H:%M"


def human_size(size_bytes: int) -> str:
    """`512 bytes`, `1.5 kB`, `12 MB`."""
    if size_bytes < KILOBYTE:
        return f"{size_bytes} bytes"
    size = size_bytes / KILOBYTE
    units = list(SIZE_UNITS)
    while size >= KILOBYTE and len(units) > 1:
        size /= KILOBYTE
        del units[0]
    digits = 1 if size < 10 else 0
    return f"{size:,.{digits}f} {units[0]}"


def human_duration(duration_s: float) -> str:
    """`12 µs`, `4.5 ms`, `1.5 s`, `12 min`, `3 h 5 min`, `2 days 4 h`."""
    if duration_s < 0.001:
        return f"{duration_s * 1_000_000:.0f} µs"
    if duration_s < 1:
        return f"{duration_s * 1000:.1f} ms"
    if duration_s < MINUTE_S:
        return f"{duration_s:.1f} s"
    whole_s = int(duration_s)
    if whole_s < HOUR_S:
        return f"{whole_s // MINUTE_S} min"
    if whole_s < DAY_S:
        return f"{whole_s // HOUR_S} h {whole_s % HOUR_S // MINUTE_S} min"
    days = whole_s // DAY_S
    noun = "day" if days == 1 else "days"
    return f"{days} {noun} {whole_s % DAY_S // HOUR_S} h"


def is_time(text: str) -> bool:
    """Whether the text is nothing but a time in the form in which memolith keeps it."""
    return TIME.fullmatch(text) is not None


def human_time(text: str) -> str:
    """A kept time to the minute, in the time zone of this machine."""
    moment = datetime.fromisoformat(text)
    try:
        return moment.astimezone(UTC).astimezone().strftime(TIME_FOR_PEOPLE)
    except (OverflowError, OSError, ValueError):
        # Years that the clock of the system cannot express.
        return text[:16].replace("T", " ")
