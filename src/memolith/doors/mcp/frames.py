"""JSON-RPC frames, and what can be answered without the MCP SDK.

The stdio server imports this before its first answer, so it uses the standard library alone.
"""

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

MODERN_VERSION = "2026-07-28"
"""The version of the protocol without a handshake; its requests carry their version in `_meta`."""

IDEMPOTENCY_KEY = "memolith/idempotency-key"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
MAX_STALE_KEY = "memolith/max-stale-s"

SDK_META = frozenset((IDEMPOTENCY_KEY, MAX_STALE_KEY))
"""What a call with the SDK understands, and the quick way does not."""

INITIALIZE_PARAMS = frozenset(("protocolVersion", "capabilities", "clientInfo", "_meta"))
PLAIN_CALL_PARAMS = frozenset(("name", "arguments", "_meta"))


class PlainCall:
    """A call of a tool that asks for nothing which only the SDK can do."""

    def __init__(self, tool: Tool, arguments: Json, meta: Json) -> None:
        self.tool = tool
        self.arguments = arguments
        self.meta = meta

    @property
    def is_modern(self) -> bool:
        return VERSION_KEY in self.meta

    @property
    def wants_progress(self) -> bool:
        return "progressToken" in self.meta

    @property
    def program(self) -> str:
        """The name of the client, if this request tells it."""
        return client_name(self.meta.get(CLIENT_INFO_KEY))


def client_name(info: object) -> str:
    """The name in what a client tells about itself; empty if there is none."""
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


def parse_frame(line: bytes) -> Json | None:
    """The frame as an object; None for anything else, which is dropped, as the SDK does."""
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def encode_json(content: Json) -> bytes:
    """The object as JSON; half a surrogate pair goes out escaped, as it came in."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace")


def result_frame(request: Json, result: bytes) -> bytes:
    """The answer to a request, around a result that is already JSON."""
    request_id = json.dumps(request["id"]).encode()
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result)


def is_request(message: Json) -> bool:
    return type(message.get("id")) in (int, str) and message.get("jsonrpc") == "2.0"


def is_envelope(meta: Json) -> bool:
    """Whether the metadata of a modern request are such that the SDK would accept them."""
    if meta[VERSION_KEY] != MODERN_VERSION:
        return False
    if not are_plain_capabilities(meta.get(CLIENT_CAPABILITIES_KEY)):
        return False
    return CLIENT_INFO_KEY not in meta or is_client_info(meta[CLIENT_INFO_KEY])


def is_client_info(value: object) -> bool:
    if not isinstance(value, dict) or "name" not in value or "version" not in value:
        return False
    return all(isinstance(part, str) for part in value.values())


def are_plain_capabilities(value: object) -> bool:
    """Only plain ones: the SDK looks deeper, and what it refuses must not be accepted here."""
    return isinstance(value, dict) and all(is_plain_capability(part) for part in value.values())


def is_plain_capability(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    return all(isinstance(flag, bool | dict) for flag in value.values())


def find_start_answer(
    message: Json, session_version: str | None, answers: StartAnswers
) -> bytes | None:
    """The known result for a request that opens a session; None leaves the request to the SDK.

    `session_version` is the version that the client has shaken hands on, if it has.
    """
    method = message.get("method")
    params = message.get("params", {})
    if not is_request(message) or not isinstance(method, str) or not isinstance(params, dict):
        return None
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        return None
    if method == "initialize":
        version = version_of_handshake(params) if session_version is None else None
    else:
        version = version_of_request(params, meta, session_version)
    if version is None:
        return None
    return answers.get(version, {}).get(method)


def version_of_handshake(params: Json) -> str | None:
    """The version that an ordinary `initialize` asks for."""
    if params.keys() - INITIALIZE_PARAMS:
        return None
    if not are_plain_capabilities(params.get("capabilities")):
        return None
    if not is_client_info(params.get("clientInfo")):
        return None
    return str(params.get("protocolVersion"))


def version_of_request(params: Json, meta: Json, session_version: str | None) -> str | None:
    """The version that an ordinary request without arguments is made in."""
    if params.keys() - {"_meta"}:
        return None
    if VERSION_KEY not in meta:
        return session_version
    return MODERN_VERSION if is_envelope(meta) else None


def find_plain_call(registry: Registry, message: Json) -> PlainCall | None:
    """The call in a message; None for everything that should be left to the SDK."""
    if message.get("method") != "tools/call" or not is_request(message):
        return None
    params = message.get("params")
    if not isinstance(params, dict) or params.keys() - PLAIN_CALL_PARAMS:
        return None
    name = params.get("name")
    tool = registry.find(name) if isinstance(name, str) else None
    arguments = params.get("arguments", {})
    meta = params.get("_meta", {})
    if tool is None or not isinstance(arguments, dict) or not isinstance(meta, dict):
        return None
    if meta.keys() & SDK_META or (VERSION_KEY in meta and not is_envelope(meta)):
        return None
    return PlainCall(tool, arguments, meta)


def encode_outcome(outcome: Outcome, server_meta: Json | None) -> bytes:
    """The outcome of a call as the SDK would send it.

    `server_meta` says who the server is, which the modern protocol adds to every result.
    """
    result: Json = {
        "content": [{"text": outcome.text, "type": "text"}],
        "isError": not outcome.ok,
    }
    if outcome.ok:
        result["structuredContent"] = outcome.body
    if server_meta is not None:
        result["resultType"] = "complete"
        result["_meta"] = server_meta
    return encode_json(result)


def server_meta_of(answers: StartAnswers) -> Json:
    """Who the server says it is, in the metadata of its modern answers."""
    discovered = json.loads(answers[MODERN_VERSION]["server/discover"])
    meta: Json = discovered["_meta"]
    return meta
