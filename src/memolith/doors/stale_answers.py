"""How a client permits answers that are a little old, and how it is told their age.

Over HTTP these are the standard headers, `Cache-Control: max-stale=30` and `Age: 2`. In MCP they
are `memolith/max-stale-s` in the `_meta` of a call and `memolith/age-s` in the one of its result.
"""

import math
from collections.abc import Mapping

from memolith.doors.mcp.frames import MAX_STALE_KEY
from memolith.engine.stale_reads import StaleReads
from memolith.errors import InvalidInput

HEADER = "cache-control"
DIRECTIVE = "max-stale"
AGE_HEADER = b"age"
AGE_KEY = "memolith/age-s"


def stale_reads_of_header(cache_control: str) -> StaleReads | None:
    """What the header `Cache-Control` permits; None if it does not speak of old answers."""
    for directive in cache_control.split(","):
        name, _, value = directive.strip().partition("=")
        if name.strip().lower() != DIRECTIVE:
            continue
        if not value:
            # The standard says: of any age.
            return StaleReads(math.inf)
        if not value.strip().isdecimal():
            raise InvalidInput(
                f"`{DIRECTIVE}` in {HEADER} is a number of seconds.", field=HEADER, value=value
            )
        return StaleReads(float(value))
    return None


def stale_reads_of_meta(meta: Mapping[str, object]) -> StaleReads | None:
    """What the `_meta` of an MCP request permits; None if it does not speak of old answers."""
    if MAX_STALE_KEY not in meta:
        return None
    value = meta[MAX_STALE_KEY]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not float(str(value)) >= 0:
        raise InvalidInput(
            f"`{MAX_STALE_KEY}` is a number of seconds.", field=MAX_STALE_KEY, value=value
        )
    return StaleReads(float(str(value)))


def age_headers(stale: StaleReads | None) -> list[tuple[bytes, bytes]]:
    """Tells how old the data behind an answer is, in whole seconds, rounded up."""
    if stale is None or stale.age_s is None:
        return []
    return [(AGE_HEADER, b"%d" % math.ceil(stale.age_s))]


def age_meta(stale: StaleReads | None) -> dict[str, float] | None:
    """The same for the `_meta` of an MCP result."""
    if stale is None or stale.age_s is None:
        return None
    return {AGE_KEY: round(stale.age_s, 1)}
