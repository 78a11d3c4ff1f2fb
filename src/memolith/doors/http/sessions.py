"""How many MCP sessions one key keeps open. One too many ends the oldest of the same key."""

import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable

from memolith.doors.shares import Share
from memolith.errors import RateLimited

KEYS_PER_TENANT = 10
"""A tenant has as many sessions as this many keys, however many keys it has."""

WINDOW_S = 5
MAX_OPENED_IN_WINDOW = 100
"""How many sessions a key may open in that time."""

DEFAULT_SESSIONS_PER_KEY = 100
EndSession = Callable[[], Awaitable[None]]


class SessionLimit:
    """Remembers the sessions of each key, the least recently used first, on all paths."""

    def __init__(self, per_key: int, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.per_key = per_key
        self.per_tenant = per_key * KEYS_PER_TENANT
        self._sessions: dict[Share, OrderedDict[str, EndSession]] = {}
        self._of_tenant = Counter[str]()
        self._window = 0
        self._opened_in_window = Counter[Share]()

    def check(self, share: Share) -> None:
        """Refuse a new session of a tenant that has too many, if none of the key could make room.

        Sessions of other keys are never ended for it. Nor may a key open them as fast as it can:
        the start of a session costs more than most calls.
        """
        window = int(self.now() / WINDOW_S)
        if window != self._window:
            self._window = window
            self._opened_in_window = Counter()
        self._opened_in_window[share] += 1
        if self._opened_in_window[share] > MAX_OPENED_IN_WINDOW:
            raise RateLimited(
                f"A key opens at most {MAX_OPENED_IN_WINDOW} sessions in {WINDOW_S} seconds; wait, "
                "or use one that is open.",
                retry_s=WINDOW_S,
            )
        if share not in self._sessions and self._of_tenant[share.tenant] >= self.per_tenant:
            raise RateLimited(
                f"The keys of this tenant have {self.per_tenant:,} sessions open; end some first."
            )

    def opened(self, share: Share, session: str, end: EndSession) -> EndSession | None:
        """Remember a session; returns what ends the one that has to make room for it."""
        sessions = self._sessions.setdefault(share, OrderedDict())
        sessions[session] = end
        self._of_tenant[share.tenant] += 1
        is_too_many = len(sessions) > self.per_key
        if not is_too_many and self._of_tenant[share.tenant] <= self.per_tenant:
            return None
        _, end_oldest = sessions.popitem(last=False)
        self._of_tenant[share.tenant] -= 1
        return end_oldest

    def used(self, share: Share, session: str) -> None:
        sessions = self._sessions.get(share)
        if sessions is not None and session in sessions:
            sessions.move_to_end(session)

    def ended(self, share: Share, session: str) -> None:
        sessions = self._sessions.get(share, OrderedDict())
        if session not in sessions:
            return
        del sessions[session]
        self._of_tenant[share.tenant] -= 1
        if not sessions:
            del self._sessions[share]
