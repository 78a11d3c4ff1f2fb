"""Frames, and what can be answered without the SDK, with the standard library alone."""

from __future__ import annotations

import json

# Not from `typing`, whose import takes a seventh of the whole start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memolith.doors.mcp.start_cache import StartAnswers
    from memolith.tools.family import Tool
    from memolith.tools.registry import Outcome, Registry

    Json = dict[str, Any]

MODERN = "2026-07-28"
IDEMPOTENCY_KEY = "memolith/idempotency-key"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
INFO_KEY = "io.modelcontextprotocol/clientInfo"
HANDSHAKE_PARAMS = {"protocolVersion", "capabilities", "clientInfo", "_meta"}


def parsed(line: bytes) -> Json | None:
    """The frame as an object; what is none is dropped without an answer, as the SDK does."""
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def encoded(content: Json) -> bytes:
    """The object as JSON; half a surrogate pair that came in goes out as it came, escaped."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(
        errors="backslashreplace"
    )


def is_request(message: Json) -> bool:
    return type(message.get("id")) in (int, str) and message.get("jsonrpc") == "2.0"


def is_envelope(meta: Json) -> bool:
    return (
        meta[VERSION_KEY] == MODERN
        and are_capabilities(meta.get(CAPABILITIES_KEY))
        and (INFO_KEY not in meta or is_info(meta[INFO_KEY]))
    )


def is_info(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("version"), str)
        and all(isinstance(part, str) for part in value.values())
    )


def are_capabilities(value: object) -> bool:
    """Only plain ones: the SDK looks deeper, and what it would refuse must not be accepted here."""
    return isinstance(value, dict) and all(
        isinstance(part, dict) and all(isinstance(flag, bool | dict) for flag in part.values())
        for part in value.values()
    )


def framed(message: Json, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(message["id"]).encode(), result)


def answer_to(message: Json, version: str | None, prepared: StartAnswers) -> bytes | None:
    """The prepared result for a request in a session of that version, or None when it must be left to the SDK."""
    method, params = message.get("method"), message.get("params", {})
    meta = params.get("_meta", {}) if isinstance(params, dict) else None
    if not is_request(message) or not isinstance(method, str) or not isinstance(meta, dict):
        return None
    if method == "initialize":
        if version is not None or params.keys() - HANDSHAKE_PARAMS:
            return None
        fits = are_capabilities(params.get("capabilities")) and is_info(params.get("clientInfo"))
        version = str(params.get("protocolVersion")) if fits else None
    elif params.keys() - {"_meta"}:
        return None
    elif VERSION_KEY in meta:
        version = MODERN if is_envelope(meta) else None
    return prepared.get(version or "", {}).get(method)


def plain_call(registry: Registry, message: Json) -> tuple[Tool, Json, Json] | None:
    """The tool, the arguments and the metadata of a call without anything unusual; None for any other message."""
    params = message.get("params")
    if (
        message.get("method") != "tools/call"
        or not is_request(message)
        or not isinstance(params, dict)
    ):
        return None
    name, arguments, meta = params.get("name"), params.get("arguments", {}), params.get("_meta", {})
    tool = registry.find(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict) or not isinstance(meta, dict):
        return None
    unusual = params.keys() - {"name", "arguments", "_meta"} or IDEMPOTENCY_KEY in meta
    return (
        None
        if unusual or (VERSION_KEY in meta and not is_envelope(meta))
        else (tool, arguments, meta)
    )


def worded(outcome: Outcome, described: Json) -> bytes:
    """The outcome as the SDK would send it; the newer protocol adds who the server is."""
    result = {
        "content": [{"text": outcome.text, "type": "text"}],
        "isError": not outcome.ok,
        **({"structuredContent": outcome.body} if outcome.ok else {}),
        **({"resultType": "complete", "_meta": described} if described else {}),
    }
    return encoded(result)


def description(prepared: StartAnswers) -> Json:
    """Who the server says it is, from its prepared answers."""
    return dict(json.loads(prepared.get(MODERN, {}).get("server/discover", "{}")).get("_meta", {}))
