"""The threads in which calls run: a pool for each kind of work, and how much of it a key gets."""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from typing import TypeVar

from memolith.doors.shares import Share, ShareCount
from memolith.errors import RateLimited
from memolith.tools.family import Tool

Answer = TypeVar("Answer")

THREADS = 40
"""How many threads a pool has at most. They are started when they are needed."""

THREADS_PER_TENANT = THREADS // 2
"""So that no tenant can take them all, however many keys it has."""

DEFAULT_CALLS_PER_KEY = 4
DEFAULT_FILES_PER_KEY = 4
DEFAULT_RUNNERS_PER_KEY = 4
MAX_WAITING_CALLS = 1000
"""The access layer refuses requests long before that; see the setting `requests_per_key`."""

HEAVY_CPU_S = 0.3
"""From how many CPU seconds, halved every second, a key has to run its calls one by one.

Threads of Python compute in turns. Several that compute gain nothing, and everybody else waits for
each of them at every step.
"""

RECHECK_S = 1.0
MAX_WAITING_FILES = 16
MAX_WAITING_RUNS = 16


class CpuUse:
    """How much each key has computed lately, in CPU seconds that are halved every second."""

    def __init__(self) -> None:
        self._used: dict[Share, tuple[float, float]] = {}

    def add(self, share: Share, cpu_s: float) -> None:
        now = time.monotonic()
        used_s = self.of(share) + cpu_s
        if used_s < HEAVY_CPU_S / 10:
            # Most keys, most of the time: there is nothing to remember.
            self._used.pop(share, None)
        else:
            self._used[share] = (used_s, now)

    def of(self, share: Share) -> float:
        used_s, at = self._used.get(share, (0.0, 0.0))
        if not used_s:
            return 0.0
        return used_s * math.pow(0.5, time.monotonic() - at)


class WorkerPool:
    """Threads for one kind of work.

    A key that has its share running waits in a queue of its own, and is refused when that is full.
    Queues take turns.
    """

    def __init__(self, noun: str, per_key: int, max_waiting: int) -> None:
        """`noun` is the plural that an error calls the work by."""
        self.noun = noun
        self.max_waiting = max_waiting
        self._running = ShareCount(per_key, max(per_key, THREADS_PER_TENANT))
        self._cpu_use = CpuUse()
        self._queues: dict[Share, deque[asyncio.Future[None]]] = {}
        self._recheck: asyncio.TimerHandle | None = None
        # Not anyio's worker threads, which take twice as long to hand a call over and back.
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=f"memolith {noun}")

    async def run(self, share: Share | None, function: Callable[[], Answer]) -> Answer:
        """Run a function in a thread; without a share, it counts against nobody.

        If the request is cancelled, the function goes on, and so does its place in the count.
        """
        if share is None:
            return await self._in_thread(function)
        await self._enter(share)
        loop = asyncio.get_running_loop()
        cpu_s = 0.0

        def measured() -> Answer:
            nonlocal cpu_s
            began_s = time.thread_time()
            try:
                return function()
            finally:
                cpu_s = time.thread_time() - began_s

        def ended(_: object) -> None:
            # A loop that was closed meanwhile has nobody waiting.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._leave, share, cpu_s)

        try:
            running = self._threads.submit(copy_context().run, measured)
        except RuntimeError:
            self._leave(share)
            raise

        was_cancelled = False
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            # The thread tells when it is done, for nobody here waits for it any more.
            was_cancelled = True
            running.add_done_callback(ended)
            raise
        finally:
            if not was_cancelled:
                self._leave(share, cpu_s)

    @asynccontextmanager
    async def place(self, share: Share) -> AsyncIterator[None]:
        """A place in the count for work that needs a thread only in part."""
        await self._enter(share)
        try:
            yield
        finally:
            self._leave(share)

    def close(self) -> None:
        """Start nothing more; what runs is finished."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, function: Callable[[], Answer]) -> Answer:
        return await asyncio.wrap_future(self._threads.submit(copy_context().run, function))

    async def _enter(self, share: Share) -> None:
        queue = self._queues.get(share)
        if queue is None and self._has_room(share):
            self._running.add(share)
            return
        if queue is None:
            queue = self._queues[share] = deque()
        if len(queue) >= self.max_waiting:
            raise RateLimited(
                f"This key has {self._running.held(share)} {self.noun} running and {len(queue)} "
                "waiting already; repeat the call when some of them have ended."
            )
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        if self._recheck is None:
            self._recheck = turn.get_loop().call_later(RECHECK_S, self._check_again)
        try:
            await turn
        except asyncio.CancelledError:
            # A cancelled turn is passed over in its queue; one that had come is given back.
            if not turn.cancelled():
                self._leave(share)
            raise

    def _has_room(self, share: Share) -> bool:
        is_idle = not self._running.held(share)
        return self._running.has_room(share) and (is_idle or self._cpu_use.of(share) < HEAVY_CPU_S)

    def _leave(self, share: Share, cpu_s: float = 0.0) -> None:
        self._running.remove(share)
        self._cpu_use.add(share, cpu_s)
        self._start_waiting()

    def _check_again(self) -> None:
        """A key that computed much may have more places again, though none of its calls ended."""
        self._recheck = None
        if self._queues:
            self._recheck = asyncio.get_running_loop().call_later(RECHECK_S, self._check_again)
            self._start_waiting()

    def _start_waiting(self) -> None:
        """Give the places that are free to the queues that may have them, by turns."""
        while self._start_next():
            pass

    def _start_next(self) -> bool:
        for share, queue in list(self._queues.items()):
            drop_cancelled(queue)
            if queue and not self._has_room(share):
                continue
            del self._queues[share]
            if not queue:
                continue
            turn = queue.popleft()
            if queue:
                # At the end, so that the others have their turn first.
                self._queues[share] = queue
            self._running.add(share)
            turn.set_result(None)
            return True
        return False


def drop_cancelled(queue: deque[asyncio.Future[None]]) -> None:
    """Remove the turns at the front whose requests were cancelled."""
    while queue and queue[0].cancelled():
        queue.popleft()


class WorkerPools:
    """A pool for each kind of work, so that what takes long holds up nothing else."""

    def __init__(
        self,
        calls_per_key: int = DEFAULT_CALLS_PER_KEY,
        files_per_key: int = DEFAULT_FILES_PER_KEY,
        runners_per_key: int = DEFAULT_RUNNERS_PER_KEY,
    ) -> None:
        self.calls = WorkerPool("calls", calls_per_key, MAX_WAITING_CALLS)
        self.files = WorkerPool("files", files_per_key, MAX_WAITING_FILES)
        self.runners = WorkerPool("runner calls", runners_per_key, MAX_WAITING_RUNS)

    def of(self, tool: Tool) -> WorkerPool:
        """The pool in which a tool runs."""
        if tool.effect == "runs":
            return self.runners
        if tool.reads_files:
            return self.files
        return self.calls

    def close(self) -> None:
        for pool in (self.calls, self.files, self.runners):
            pool.close()
