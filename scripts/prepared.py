"""Makes the prepared file of the stdio front: asks the real server, per profile and version, and keeps its words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version as installed_version
from typing import Any, NoReturn

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from memolith import __version__
from memolith.doors.mcp.frames import CAPABILITIES_KEY, VERSION_KEY, entry_name
from memolith.doors.mcp.server import MemolithServer
from memolith.tools.family import Family
from memolith.tools.registry import Registry

PACKAGES = ("mcp", "mcp-types", "pydantic", "pydantic_core")
Json = dict[str, Any]


def requests(version: str) -> list[Json]:
    """What the front may answer in a session of that version, in order."""
    if version in MODERN_PROTOCOL_VERSIONS:
        params = {"_meta": {VERSION_KEY: version, CAPABILITIES_KEY: {}}}
        return [
            {"method": method, "params": params} for method in ("server/discover", "tools/list")
        ]
    client = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "", "version": ""},
    }
    return [
        {"method": "initialize", "params": client},
        {"method": "ping"},
        {"method": "tools/list"},
    ]


def no_engine() -> NoReturn:
    raise RuntimeError("listing tools must not need the engine")


async def answers(registry: Registry, version: str) -> dict[str, bytes]:
    """The real server's results, by method, as they stand on the wire."""
    send, inlet = anyio.create_memory_object_stream[SessionMessage | Exception](8)
    outlet, receive = anyio.create_memory_object_stream[SessionMessage](8)
    server = MemolithServer(registry, no_engine)
    found: dict[str, bytes] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(server.run, inlet, outlet, server.create_initialization_options())
        for number, request in enumerate(requests(version)):
            frame = types.JSONRPCRequest(jsonrpc="2.0", id=number, **request)
            await send.send(SessionMessage(frame))
            answer = (await receive.receive()).message
            assert isinstance(answer, types.JSONRPCResponse), answer
            wire = json.loads(answer.model_dump_json(by_alias=True, exclude_unset=True))
            found[request["method"]] = json.dumps(
                wire["result"], ensure_ascii=False, separators=(",", ":")
            ).encode()
        send.close()
    return found


async def all_answers(families: Iterable[Family]) -> dict[str, dict[str, dict[str, bytes]]]:
    """Profile, version, method: for all tools and for each family, each also without what writes."""
    registry = Registry(families)
    names = ["all", *(family.name for family in registry.families if family.listed_over_mcp)]
    found: dict[str, dict[str, dict[str, bytes]]] = {}
    for name in names:
        for read_only in (False, True):
            chosen = registry.choose(name, read_only=read_only)
            versions = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
            found[entry_name(name, read_only)] = {
                version: await answers(chosen, version) for version in versions
            }
    return found


def render(families: list[Family]) -> bytes:
    """The whole file: a line that says which line each answer is, then each different answer once."""
    found = anyio.run(all_answers, families)
    texts = sorted(
        {
            text
            for versions in found.values()
            for methods in versions.values()
            for text in methods.values()
        }
    )
    numbers = {text: number for number, text in enumerate(texts)}
    profiles = {
        profile: {
            version: {method: numbers[text] for method, text in methods.items()}
            for version, methods in versions.items()
        }
        for profile, versions in found.items()
    }
    packages = {package: installed_version(package) for package in PACKAGES}
    head = {"product": __version__, "packages": packages, "profiles": profiles}
    return b"".join(
        line + b"\n" for line in (json.dumps(head, separators=(",", ":")).encode(), *texts)
    )
