"""How often one key may call, and how many bytes one request may have."""

from collections import Counter
from contextlib import suppress
from typing import NamedTuple

import anyio
from starlette.types import Message, Receive

from memolith.errors import MemolithError, RateLimited, TooLarge
from memolith.ports.client_keys import Allowance

PORTIONS_PER_MINUTE = 20
"""In how many portions a server takes its calls from the allowance that all servers share."""


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
                value=wait_s,
            )


class CallLimit:
    """Counts the calls of each key by the minute."""

    def __init__(self, calls_per_minute: int, allowance: Allowance | None = None) -> None:
        """With an allowance, several servers share the limit."""
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
                total = await anyio.to_thread.run_sync(self.allowance, key_id, minute, self.portion)
                self.used_elsewhere[key_id] = max(0, total - used_before - self.portion)
        used = self.used_here[key_id] + self.used_elsewhere[key_id]
        return CallCount(self.calls_per_minute, used, reset_at=(minute + 1) * 60)


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
