"""The stdio server behind its quick front: one SDK server, run once for each era of the protocol.

The SDK fixes the era of a connection with its first request. Here each frame is routed by its own
envelope, so that a client may ask in the modern way first and then fall back to the handshake on
the same pipe.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from memolith.doors.mcp.frames import VERSION_KEY, encode_json, parse_frame
from memolith.doors.mcp.server import MemolithServer
from memolith.doors.mcp.start_recorder import record_start_answers

if TYPE_CHECKING:
    from memolith.bootstrap import App
    from memolith.doors.mcp.frames import Json
    from memolith.doors.mcp.start_cache import StartCache
    from memolith.doors.mcp.stdio_front import Front
    from memolith.tools.registry import Registry

Era = Literal["handshake", "envelope"]
DRAIN_S = 1.0
"""How long running calls may still answer after the client has closed its end."""
DRAIN_POLL_S = 0.01


class Lanes:
    """One run of the server for each era. Routes frames to them and counts open requests."""

    def __init__(self, front: Front, server: Server[Any], group: TaskGroup) -> None:
        self.front = front
        self.server = server
        self.group = group
        self.inboxes: dict[Era, MemoryObjectSendStream[SessionMessage | Exception]] = {}
        self.unanswered: set[tuple[Era, types.RequestId | None]] = set()

    def open(self, era: Era) -> None:
        inbox, server_inlet = anyio.create_memory_object_stream[SessionMessage | Exception](
            float("inf")
        )
        server_outlet, outbox = anyio.create_memory_object_stream[SessionMessage](float("inf"))

        async def pump() -> None:
            async with outbox:
                async for message in outbox:
                    await self.send(era, message.message)

        self.inboxes[era] = inbox
        options = self.server.create_initialization_options()
        self.group.start_soon(self.server.run, server_inlet, server_outlet, options)
        self.group.start_soon(pump)

    def route(self, line: bytes) -> None:
        content = parse_frame(line) or {}
        try:
            message = types.jsonrpc_message_adapter.validate_python(content, by_name=False)
        except ValueError:
            self.refuse(content)
            return
        era = era_of(message)
        # A request to listen stays open for as long as the client is there.
        if isinstance(message, types.JSONRPCRequest) and message.method != "subscriptions/listen":
            self.unanswered.add((era, message.id))
        for target in self.eras_for(message, era):
            if target not in self.inboxes:
                self.open(target)
            self.inboxes[target].send_nowait(SessionMessage(message))

    def eras_for(self, message: types.JSONRPCMessage, era: Era) -> list[Era]:
        if (
            isinstance(message, types.JSONRPCNotification)
            and message.method == "notifications/cancelled"
        ):
            # It names a request of either era, and carries no envelope.
            return list(self.inboxes)
        return [era]

    def refuse(self, content: Json) -> None:
        """Answer what has an id but is no message, so that nobody waits for ever."""
        request_id = content.get("id")
        if type(request_id) not in (int, str):
            return
        fault = types.ErrorData(
            code=types.INVALID_REQUEST, message="This is not a valid JSON-RPC message."
        )
        answer = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=fault)
        self.group.start_soon(self.write, answer)

    async def send(self, era: Era, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification):
            await self.write(message)
            return
        if era == "handshake" and message.id is not None and message.id == self.front.handshake_id:
            # The front has answered it.
            self.front.handshake_id = None
        else:
            await self.write(message)
        self.unanswered.discard((era, message.id))
        if not self.unanswered:
            self.front.settled.set()

    async def write(self, message: types.JSONRPCMessage) -> None:
        frame = encode_json(message.model_dump(by_alias=True, exclude_unset=True))
        try:
            await anyio.to_thread.run_sync(self.front.wire.write, frame)
        except OSError:
            self.front.end()


def era_of(message: types.JSONRPCMessage) -> Era:
    """Modern requests say so themselves; everything without an envelope is of the handshake era."""
    if not isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification):
        return "handshake"
    meta = (message.params or {}).get("_meta")
    if message.method != "initialize" and isinstance(meta, dict) and VERSION_KEY in meta:
        return "envelope"
    return "handshake"


async def run(front: Front, server: Server[Any]) -> None:
    loop = asyncio.get_running_loop()
    lines = asyncio.Queue[bytes | None]()

    def feed(line: bytes | None) -> None:
        # The loop may be gone when the last frame of a client that left comes in.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lines.put_nowait, line)

    async with anyio.create_task_group() as group:
        lanes = Lanes(front, server, group)
        front.take_over(feed)
        while (line := await lines.get()) is not None:
            lanes.route(line)
        with anyio.move_on_after(DRAIN_S):
            while lanes.unanswered:
                await anyio.sleep(DRAIN_POLL_S)
        for inbox in lanes.inboxes.values():
            inbox.close()


def serve(front: Front, app: App, registry: Registry, notice: str | None) -> None:
    """Serve until the client leaves."""
    anyio.run(run, front, MemolithServer(registry, lambda: app.engine, notice=notice))


def fill_cache(front: Front, registry: Registry, cache: StartCache) -> None:
    """Keep what this start had to work out, once its client waits for nothing."""
    front.settled.wait()
    if cache.can_write():
        cache.write(record_start_answers(registry))
