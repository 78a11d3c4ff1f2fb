"""The same memory for programs that wait with `await`."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from memolith.doors.library.awaiting import Awaiting, awaited
from memolith.doors.library.families import AsyncFamilies, Families
from memolith.doors.library.memory import Memory


class AsyncMemory(Awaiting[Memory], AsyncFamilies):
    """A memory whose methods are awaited; else the same as `Memory`.

    `async with AsyncMemory("notes") as memory: await memory.remember("...")`
    """

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(Memory(*positional, **named))

    @property
    def families(self) -> Families:
        return self.blocking

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    close = awaited(Memory.close)
    call = awaited(Memory.call)
    remember = awaited(Memory.remember)
    recall = awaited(Memory.recall)
    context = awaited(Memory.context)
    get = awaited(Memory.get)
    list = awaited(Memory.list)
    revise = awaited(Memory.revise)
    forget = awaited(Memory.forget)
    restore = awaited(Memory.restore)
    erase = awaited(Memory.erase)
    history = awaited(Memory.history)
    undo = awaited(Memory.undo)
    link = awaited(Memory.link)
    explore = awaited(Memory.explore)
    overview = awaited(Memory.overview)
    ingest = awaited(Memory.ingest)
    export_to = awaited(Memory.export_to)
    import_from = awaited(Memory.import_from)
