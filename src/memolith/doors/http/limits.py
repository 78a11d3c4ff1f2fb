"""How often one key may call, how much it may have in progress, and how large a request may be."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

import anyio
from starlette.types import Message, Receive

from memolith.doors.shares import Share, ShareCount
from memolith.errors import InvalidInput, MemolithError, RateLimited, TooLarge
from memolith.ports.client_keys import Allowance

PORTIONS_PER_MINUTE = 20
"""In how many portions a server takes its calls from the allowance that all servers share."""

KEYS_PER_TENANT = 4
"""A tenant has as much in progress as this many keys, however many keys it has."""

BODIES_PER_KEY = 8
"""How many of the largest bodies the requests of one key may hold in memory together."""

COUNTING_THREADS = 4


class CallCount(NamedTuple):
    """How much of its limit a key has used in this minute."""

    limit: int
    used: int
    reset_at: int
    """When the minute is over, in seconds since 1970."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-reset", b"%d" % self.reset_at),
            (b"x-ratelimit-remaining", b"%d" % max(0, self.limit - self.used)),
        ]

    def check(self, now_s: int) -> None:
        if self.used > self.limit:
            wait_s = self.reset_at - now_s
            raise RateLimited(
                f"At most {self.limit} calls a minute; try again in {wait_s} seconds.",
                retry_s=wait_s,
            )


class CallLimit:
    """Counts the calls of each key by the minute."""

    def __init__(self, calls_per_minute: int, allowance: Allowance | None = None) -> None:
        """With an allowance, several servers share the limit."""
        # Threads of its own, so that no call has to wait for others to be counted.
        self.counting = anyio.CapacityLimiter(COUNTING_THREADS)
        self.calls_per_minute = calls_per_minute
        self.allowance = allowance
        self.portion = max(1, calls_per_minute // PORTIONS_PER_MINUTE)
        self.minute = 0
        self.used_here = Counter[str]()
        self.used_elsewhere = Counter[str]()
        """What other servers had taken when this one last took a portion."""

    async def count(self, key_id: str, now_s: int) -> CallCount:
        """Count one call of a key."""
        minute = now_s // 60
        if minute != self.minute:
            self.minute = minute
            self.used_here = Counter()
            self.used_elsewhere = Counter()
        used_before = self.used_here[key_id]
        self.used_here[key_id] += 1
        if self.allowance is not None and used_before % self.portion == 0:
            # While the database is away each server counts for itself.
            with suppress(MemolithError):
                total = await anyio.to_thread.run_sync(
                    self.allowance, key_id, minute, self.portion, limiter=self.counting
                )
                self.used_elsewhere[key_id] = max(0, total - used_before - self.portion)
        used = self.used_here[key_id] + self.used_elsewhere[key_id]
        return CallCount(self.calls_per_minute, used, reset_at=(minute + 1) * 60)


class RequestLimit:
    """Counts the requests and the open streams of each key, and the bytes of their bodies."""

    def __init__(self, max_requests: int, max_streams: int, max_body_bytes: int) -> None:
        """Each of them is for one key."""
        body_bytes = BODIES_PER_KEY * max_body_bytes
        self._requests = ShareCount(max_requests, KEYS_PER_TENANT * max_requests)
        self._streams = ShareCount(max_streams, KEYS_PER_TENANT * max_streams)
        self._body_bytes = ShareCount(body_bytes, KEYS_PER_TENANT * body_bytes)

    @contextmanager
    def in_progress(self, share: Share, body_bytes: int, *, is_stream: bool) -> Iterator[None]:
        """Count a request while it is served, or refuse it."""
        count = self._streams if is_stream else self._requests
        if not count.has_room(share):
            noun = "streams" if is_stream else "requests"
            raise RateLimited(
                f"This key has {count.held(share)} {noun} open, as many as it or its tenant may "
                "have; repeat the request when one of them has ended."
            )
        if not self._body_bytes.has_room(share, body_bytes):
            raise RateLimited(
                f"The requests in progress of this key have {self._body_bytes.held(share):,} bytes "
                f"already; send {body_bytes:,} more when one of them has ended."
            )
        count.add(share)
        self._body_bytes.add(share, body_bytes)
        try:
            yield
        finally:
            count.remove(share)
            self._body_bytes.remove(share, body_bytes)


def too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"A request has at most {max_bytes:,} bytes.")


def limited(receive: Receive, max_bytes: int) -> Receive:
    """Receive a body whose length is not known, and stop at the limit."""
    left_bytes = max_bytes

    async def receive_within_limit() -> Message:
        nonlocal left_bytes
        message = await receive()
        left_bytes -= len(message.get("body", b""))
        if left_bytes < 0:
            raise too_large(max_bytes)
        return message

    return receive_within_limit


def unstalled(receive: Receive, max_pause_s: float) -> Receive:
    """Receive a body, and give up when nothing more of it comes for a while."""
    is_whole = False

    async def receive_in_time() -> Message:
        nonlocal is_whole
        if is_whole:
            # What comes next is that the client has gone, which may take for ever.
            return await receive()
        try:
            async with asyncio.timeout(max_pause_s):
                message = await receive()
        except TimeoutError:
            raise InvalidInput(
                f"Nothing more of the request came for {max_pause_s:g} seconds.", field="body"
            ) from None
        is_whole = not message.get("more_body", False)
        return message

    return receive_in_time
