"""Records how the real server answers the opening of a session, for the start cache."""

import json
from typing import Any, NoReturn

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from memolith.doors.mcp.frames import CLIENT_CAPABILITIES_KEY, VERSION_KEY
from memolith.doors.mcp.server import MemolithServer
from memolith.doors.mcp.start_cache import StartAnswers
from memolith.tools.registry import Registry


def record_start_answers(registry: Registry) -> StartAnswers:
    """Ask the real server everything that a client may ask at the start of a session."""
    return anyio.run(ask_in_every_version, registry)


async def ask_in_every_version(registry: Registry) -> StartAnswers:
    server = MemolithServer(registry, no_engine)
    versions = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
    return {version: await ask(server, version) for version in versions}


async def ask(server: MemolithServer, version: str) -> dict[str, bytes]:
    """The server's results in a session of that version, by method, as they stand on the wire."""
    to_server, server_inbox = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    server_outbox, from_server = anyio.create_memory_object_stream[SessionMessage](8)
    results: dict[str, bytes] = {}
    async with (
        to_server,
        server_inbox,
        server_outbox,
        from_server,
        anyio.create_task_group() as group,
    ):
        options = server.create_initialization_options()
        group.start_soon(server.run, server_inbox, server_outbox, options)
        for number, (method, params) in enumerate(opening_requests(version).items()):
            request = types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
            await to_server.send(SessionMessage(request))
            answer = (await from_server.receive()).message
            assert isinstance(answer, types.JSONRPCResponse), answer
            results[method] = wire_result(answer)
        to_server.close()
    return results


def opening_requests(version: str) -> dict[str, dict[str, Any] | None]:
    """The requests that can be answered before anything else is known, in order."""
    if version in MODERN_PROTOCOL_VERSIONS:
        params = {"_meta": {VERSION_KEY: version, CLIENT_CAPABILITIES_KEY: {}}}
        return {"server/discover": params, "tools/list": params}
    handshake = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "", "version": ""},
    }
    return {"initialize": handshake, "ping": None, "tools/list": None}


def wire_result(answer: types.JSONRPCResponse) -> bytes:
    message = json.loads(answer.model_dump_json(by_alias=True, exclude_unset=True))
    return json.dumps(message["result"], ensure_ascii=False, separators=(",", ":")).encode()


def no_engine() -> NoReturn:
    raise RuntimeError("the answers that open a session must not need the engine")
