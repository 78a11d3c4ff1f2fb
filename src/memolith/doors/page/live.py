"""A stream of what changes, so that open pages show it without a reload."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memolith.doors.http.auth.access import LIVE_PATH
from memolith.doors.http.limits import KEYS_PER_TENANT
from memolith.doors.page.site import PAGE_HEADERS, Site, whole_number
from memolith.doors.request_keys import CALLER_KEY, SHARE_KEY
from memolith.doors.shares import ShareCount
from memolith.errors import Denied, MemolithError, RateLimited

POLL_S = 1.0
KEEP_ALIVE_POLLS = 15
CHECK_POLLS = 5
"""How often a stream that has nothing to tell asks whether its browser is still let in."""
MAX_TOLD_EVENTS = 50
MAX_STREAM_S = 600
"""A browser opens a stream again when it ends, and is then asked for its session again."""
MAX_STREAMS_PER_KEY = 10
RETRY_AFTER_S = 30


class Reading(NamedTuple):
    """The number of a tenant's newest event, and when it was read."""

    seq: int
    at_s: float


class Pulse:
    """Tells the number of the newest event of a tenant: many streams ask, and one look answers."""

    def __init__(self, last_seq: Callable[[str], int]) -> None:
        self._last_seq = last_seq
        self._readings: dict[str, Reading] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def newest(self, tenant: str) -> int:
        """The number as it was within the last moment."""
        async with self._locks.setdefault(tenant, asyncio.Lock()):
            reading = self._readings.get(tenant)
            if reading is None or time.monotonic() - reading.at_s >= POLL_S / 2:
                seq = await anyio.to_thread.run_sync(self._last_seq, tenant)
                reading = Reading(seq, time.monotonic())
                self._readings[tenant] = reading
        return reading.seq


class Stream(StreamingResponse):
    """An answer that tells when it has ended, however it does."""

    def __init__(self, content: AsyncIterator[str], ended: Callable[[], None]) -> None:
        headers = {**PAGE_HEADERS, "x-accel-buffering": "no"}
        super().__init__(content, headers=headers, media_type="text/event-stream")
        self.ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.ended()


class LivePages:
    """The stream of changes."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.pulse = Pulse(lambda tenant: site.app.engine.maintenance.event_count(tenant))
        self.open = ShareCount(MAX_STREAMS_PER_KEY, KEYS_PER_TENANT * MAX_STREAMS_PER_KEY)

    def routes(self) -> list[Route]:
        return [Route(LIVE_PATH, self.site.guarded(self.stream))]

    async def stream(self, request: Request) -> Response:
        if not self.site.offers(request, "list_events"):
            raise Denied("This needs a key with the scope: read.")
        newest = await self._newest(request)
        share = request.scope[SHARE_KEY]
        if not self.open.has_room(share):
            raise RateLimited(
                "As many pages of this key are open as can be kept up to date; close some.",
                retry_s=RETRY_AFTER_S,
            )
        self.open.add(share)
        return Stream(self._changes(request, newest), lambda: self.open.remove(share))

    async def _changes(self, request: Request, newest: int) -> AsyncIterator[str]:
        tenant = request.scope[CALLER_KEY].tenant
        looked_at = 0
        yield "retry: 2000\n: connected\n\n"
        for poll in range(1, int(MAX_STREAM_S / POLL_S)):
            await asyncio.sleep(POLL_S)
            if await request.is_disconnected():
                return
            try:
                seq = await self.pulse.newest(tenant)
                has_moved = seq != looked_at
                looked_at = seq
                events = await self._events_after(request, newest) if has_moved else []
                # Asked after reading, so that nothing is told that came with or after the
                # end of the browser's access.
                if has_moved or poll % CHECK_POLLS == 0:
                    await self.site.check_browser(request)
            except MemolithError:
                # The database is away, or the key was revoked: the browser asks again.
                return
            if events:
                newest = events[0]["event"]
                told = {
                    "newest": newest,
                    "ids": changed_ids(events),
                    "types": [event["type"] for event in events],
                }
                yield f"id: {newest}\nevent: change\ndata: {json.dumps(told)}\n\n"
            elif poll % KEEP_ALIVE_POLLS == 0:
                yield ": still here\n\n"

    async def _events_after(self, request: Request, newest: int) -> list[dict[str, Any]]:
        found = await self.site.run(request, "list_events", after=newest, limit=MAX_TOLD_EVENTS)
        events: list[dict[str, Any]] = found["events"]
        return events

    async def _newest(self, request: Request) -> int:
        """The event that the browser was told last, or the newest there is."""
        told = whole_number(request.headers.get("last-event-id", ""))
        if told is not None:
            return told
        found = await self.site.run(request, "list_events", limit=1)
        return int(found["events"][0]["event"]) if found["events"] else 0


def changed_ids(events: list[dict[str, Any]]) -> list[str]:
    """The items that the events are about, links counting for both ends."""
    ids: set[str | None] = set()
    for event in events:
        ids.update((event["stream"], event["id"], event.get("target_id")))
    return sorted(id for id in ids if id)
