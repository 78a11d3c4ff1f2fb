"""Connections that ask for nothing: how many there may be, and for how long.

uvicorn closes a connection that is silent after a request. It waits for ever for one that has not
sent its first request, or only half of it, or that does not read its answers.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from memolith.doors.http.auth.access import LIVE_PATH


class IdleConnections:
    """The connections without a request in progress, the oldest first."""

    def __init__(self, max_count: int, max_s: float) -> None:
        self.max_count = max_count
        self.max_s = max_s
        self._idle_since: dict[GuardedProtocol, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: "GuardedProtocol") -> None:
        """Remember a connection that waits for a request; one too many closes the oldest."""
        # Taken out first, so that it comes to the end.
        self._idle_since.pop(connection, None)
        self._idle_since[connection] = connection.loop.time()
        if len(self._idle_since) > self.max_count:
            self._close_oldest()
        if self._timer is None:
            self._timer = connection.loop.call_later(self.max_s, self._close_overdue)

    def remove(self, connection: "GuardedProtocol") -> None:
        self._idle_since.pop(connection, None)

    def _close_oldest(self) -> None:
        oldest = next(iter(self._idle_since))
        del self._idle_since[oldest]
        oldest.hang_up(self.max_s)

    def _close_overdue(self) -> None:
        self._timer = None
        while self._idle_since:
            oldest, since = next(iter(self._idle_since.items()))
            left_s = since + self.max_s - oldest.loop.time()
            if left_s > 0:
                self._timer = oldest.loop.call_later(left_s, self._close_overdue)
                return
            self._close_oldest()


class GuardedProtocol(H11Protocol):
    """One connection: closed when the next request, or reading an answer, takes too long."""

    def __init__(self, idle: IdleConnections, max_pause_s: float, **given: Any) -> None:
        super().__init__(**given)
        self._idle = idle
        self._max_pause_s = max_pause_s
        self._pause_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle.remove(self)
        self._stop_pause_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._idle.remove(self)

    def on_response_complete(self) -> None:
        # Before the next request is looked for, which may be there already.
        self._idle.add(self)
        super().on_response_complete()

    def shutdown(self) -> None:
        """Let the running request finish as the server ends; a stream of changes never would."""
        super().shutdown()
        is_running = self.cycle is not None and not self.cycle.response_complete
        if is_running and self.cycle.scope["path"] == LIVE_PATH:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_pause_timer()
        self._pause_timer = self.loop.call_later(self._max_pause_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_pause_timer()
        super().resume_writing()

    def hang_up(self, max_s: float) -> None:
        """Close the connection; whoever does not take the rest of an answer in time loses it."""
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self.loop.call_later(max_s, self.transport.abort)

    def _stop_pause_timer(self) -> None:
        if self._pause_timer is not None:
            self._pause_timer.cancel()
            self._pause_timer = None
