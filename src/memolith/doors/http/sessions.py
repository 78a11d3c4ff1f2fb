"""How many MCP sessions one key keeps open. One too many ends the oldest of the same key."""

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable

from memolith.doors.shares import Share
from memolith.errors import RateLimited

KEYS_PER_TENANT = 10
"""A tenant has as many sessions as this many keys, however many keys it has."""

DEFAULT_SESSIONS_PER_KEY = 100
EndSession = Callable[[], Awaitable[None]]


class SessionLimit:
    """Remembers the sessions of each key, the least recently used first, on all paths."""

    def __init__(self, per_key: int) -> None:
        self.per_key = per_key
        self.per_tenant = per_key * KEYS_PER_TENANT
        self._sessions: dict[Share, OrderedDict[str, EndSession]] = {}
        self._of_tenant = Counter[str]()

    def check(self, share: Share) -> None:
        """Refuse a new session of a tenant that has too many, if none of the key could make room.

        Sessions of other keys are never ended for it.
        """
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
