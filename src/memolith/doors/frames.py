"""Frames of the stdio door as the quick front sees them, with the standard library alone."""

from __future__ import annotations

import json

# Not from `typing`, whose import takes a seventh of the whole start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

MODERN = "2026-07-28"
IDEMPOTENCY_KEY = "memolith/idempotency-key"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
INFO_KEY = "io.modelcontextprotocol/clientInfo"


def parsed(line: bytes) -> Json | None:
    """The frame as an object; what is none is dropped without an answer, as the SDK does."""
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def is_request(message: Json) -> bool:
    return type(message.get("id")) in (int, str) and message.get("jsonrpc") == "2.0"


def is_envelope(meta: Json) -> bool:
    return (meta[VERSION_KEY] == MODERN and are_capabilities(meta.get(CAPABILITIES_KEY))
            and (INFO_KEY not in meta or is_info(meta[INFO_KEY])))


def is_info(value: object) -> bool:
    return (isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("version"), str)
            and all(isinstance(part, str) for part in value.values()))


def are_capabilities(value: object) -> bool:
    """Only plain ones: the SDK looks deeper, and what it would refuse must not be accepted here."""
    return isinstance(value, dict) and all(
        isinstance(part, dict) and all(isinstance(flag, bool | dict) for flag in part.values())
        for part in value.values())
