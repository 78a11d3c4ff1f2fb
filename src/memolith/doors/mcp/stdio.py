"""The stdio door behind its quick front: one SDK server, run twice, once for each era of the protocol.

The SDK fixes the era of a connection with the first request. Here each frame is routed by its own envelope, so that a
client may ask in the new way first and then fall back to the handshake on the same pipe.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from memolith.doors.mcp.frames import VERSION_KEY, encoded, parsed
from memolith.doors.mcp.server import MemolithServer
from memolith.doors.mcp.start_answers import make_start_answers

if TYPE_CHECKING:
    from memolith.bootstrap import App
    from memolith.doors.mcp.start_cache import StartCache
    from memolith.doors.mcp.stdio_front import Front
    from memolith.tools.registry import Registry

DRAIN_S = 1.0
KEEP_START_ANSWERS_S = 5.0
"""How long the first start may stay, after its client has left, to finish what the next one needs."""


class Lanes:
    """One run of the server for each era: routes frames to them, and knows which requests are still unanswered."""

    def __init__(self, front: Front, server: Server[Any], group: TaskGroup) -> None:
        self.front, self.server, self.group = front, server, group
        self.inboxes: dict[str, MemoryObjectSendStream[SessionMessage | Exception]] = {}
        self.unanswered: set[tuple[str, types.RequestId | None]] = set()

    def open(self, era: str) -> None:
        self.inboxes[era], inlet = anyio.create_memory_object_stream[SessionMessage | Exception](
            float("inf")
        )
        outlet, outbox = anyio.create_memory_object_stream[SessionMessage](float("inf"))

        async def pump() -> None:
            async for message in outbox:
                await self.send(era, message.message)

        self.group.start_soon(
            self.server.run, inlet, outlet, self.server.create_initialization_options()
        )
        self.group.start_soon(pump)

    def route(self, line: bytes) -> None:
        content = parsed(line) or {}
        try:
            message = types.jsonrpc_message_adapter.validate_python(content, by_name=False)
        except ValueError:
            # What is no message but has an id is answered, so that nobody waits for ever; the SDK drops the rest too.
            if type(request := content.get("id")) in (int, str):
                fault = types.ErrorData(
                    code=types.INVALID_REQUEST, message="This is not a valid JSON-RPC message."
                )
                self.group.start_soon(
                    self.send, "none", types.JSONRPCError(jsonrpc="2.0", id=request, error=fault)
                )
            return
        # Requests of the new era say so themselves; answers and notifications without an envelope are of the old one.
        method, meta = (
            getattr(message, "method", ""),
            (getattr(message, "params", None) or {}).get("_meta"),
        )
        is_new = method != "initialize" and isinstance(meta, dict) and VERSION_KEY in meta
        eras = ["envelope" if is_new else "handshake"]
        if isinstance(message, types.JSONRPCNotification) and method == "notifications/cancelled":
            # It names a request of either era, and carries no envelope.
            eras = list(self.inboxes)
        # A request to listen stays open for as long as the client is there.
        if isinstance(message, types.JSONRPCRequest) and method != "subscriptions/listen":
            self.unanswered.add((eras[0], message.id))
        for era in eras:
            if era not in self.inboxes:
                self.open(era)
            self.inboxes[era].send_nowait(SessionMessage(message))

    async def send(self, era: str, message: types.JSONRPCMessage) -> None:
        answered = (
            None
            if isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification)
            else message.id
        )
        if answered is not None and era == "handshake" and answered == self.front.handshake:
            self.front.handshake = None
        else:
            frame = encoded(message.model_dump(by_alias=True, exclude_unset=True))
            try:
                await anyio.to_thread.run_sync(self.front.wire.write, frame)
            except OSError:
                self.front.end()
        self.unanswered.discard((era, answered))
        if answered is not None and not self.unanswered:
            self.front.settled.set()


async def run(front: Front, server: Server[Any]) -> None:
    loop, frames = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()

    def feed(line: bytes | None) -> None:
        # The loop may be gone when the last frame of a client that left comes in.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(frames.put_nowait, line)

    async with anyio.create_task_group() as group:
        lanes = Lanes(front, server, group)
        front.take_over(feed)
        while (line := await frames.get()) is not None:
            lanes.route(line)
        # Running calls may still answer, for a while.
        with anyio.move_on_after(DRAIN_S):
            while lanes.unanswered:
                await anyio.sleep(0.01)
        for inbox in lanes.inboxes.values():
            inbox.close()


def keep_start_answers(front: Front, cache: StartCache, registry: Registry) -> None:
    """Keep for the next start what this one had to work out, once its client does not wait."""
    front.settled.wait()
    if cache.can_write():
        cache.write(make_start_answers(registry))


def serve(front: Front, app: App, registry: Registry) -> None:
    anyio.run(run, front, MemolithServer(registry, lambda: app.engine))
