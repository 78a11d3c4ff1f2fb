"""Who was let in."""

from typing import NamedTuple

from memolith.domain.callers import Caller


class Admission(NamedTuple):
    """A caller who was let in, what they may do, and the id that their calls are counted under."""

    caller: Caller
    scopes: frozenset[str]
    key_id: str
