"""`memolith stdio --connect`: passes MCP frames on to a server over HTTP and its answers back."""

import json
import os
from collections.abc import Iterator
from typing import Any

from memolith.doors.mcp.frames import VERSION_KEY, parse_frame
from memolith.doors.mcp.stdio_front import Wire
from memolith.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from http.client import HTTPResponse

Frame = dict[str, Any]

MAX_CALLS_AT_ONCE = 16
ANSWER_TIMEOUT_S = 300
MAX_ERROR_BYTES = 500
SERVER_ERROR = -32000
"""The JSON-RPC code for an answer that did not come."""

EVENT_PREFIX = b"data:"


def connect(url: str, tools: str, read_only: bool) -> None:
    """Pass on frames until standard input ends."""
    # No other command speaks HTTP to a server.
    from concurrent.futures import ThreadPoolExecutor

    bridge = Bridge(server_address(url, tools, read_only), Wire.of_process())
    with (
        ThreadPoolExecutor(MAX_CALLS_AT_ONCE) as pool,
        os.fdopen(bridge.wire.inlet, "rb") as frames,
    ):
        for line in frames:
            if not line.strip():
                continue
            if may_overtake(line):
                pool.submit(bridge.send, line)
            else:
                bridge.send(line)


def server_address(url: str, tools: str, read_only: bool) -> str:
    """The address of the MCP endpoint that offers these tools."""
    url = url or os.environ.get("SEKHA_API_URL", "")
    if not url.startswith(("http://", "https://")) or read_only:
        raise InvalidInput(
            "--connect needs an address like https://memory.example.com, here or in "
            "SEKHA_API_URL; what may be written is up to the key.",
            field="connect",
        )
    url = url.rstrip("/")
    if "/mcp" not in url:
        url += "/mcp"
    if tools != "all":
        url += f"/{tools}"
    return url


def may_overtake(line: bytes) -> bool:
    """Whether others may be sent meanwhile: a call, but no handshake and no notification.

    What follows a handshake needs its session, and notifications keep their order.
    """
    return b'"id"' in line and b'"method"' in line and b'"initialize"' not in line


def key_of_environment() -> str:
    """The key for the server; clients that were set up for Sekha name it their way."""
    return os.environ.get("MEMOLITH_KEY") or os.environ.get("SEKHA_API_KEY", "")


class Bridge:
    """Sends frames to one server and writes what comes back to the wire."""

    def __init__(self, url: str, wire: Wire) -> None:
        self.url = url
        self.wire = wire
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {key_of_environment()}",
        }

    def send(self, line: bytes) -> None:
        # Imported here because no other command speaks HTTP to a server.
        from urllib.request import Request, urlopen

        message = parse_frame(line) or {}
        request = Request(self.url, line, self.headers | headers_of(message))
        try:
            with urlopen(request, timeout=ANSWER_TIMEOUT_S) as response:
                for frame in answered_frames(response):
                    if message.get("method") == "initialize":
                        self.keep_session(response, frame)
                    self.wire.write(frame)
        except (OSError, ValueError) as error:
            self.report(message, error)

    def keep_session(self, response: "HTTPResponse", frame: bytes) -> None:
        """Send what the handshake agreed on with every later frame."""
        result = (parse_frame(frame) or {}).get("result", {})
        agreed = {
            "Mcp-Session-Id": response.headers.get("mcp-session-id"),
            "Mcp-Protocol-Version": result.get("protocolVersion"),
        }
        for name, value in agreed.items():
            if value:
                self.headers[name] = value

    def report(self, message: Frame, error: Exception) -> None:
        """Answer a request that failed; nobody waits for an answer to anything else."""
        if "id" not in message or "method" not in message:
            return
        reason = f"{self.url}: {error}"
        if hasattr(error, "read"):
            reason += " " + error.read(MAX_ERROR_BYTES).decode(errors="replace")
        answer = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "error": {"code": SERVER_ERROR, "message": reason.strip()},
        }
        self.wire.write(json.dumps(answer).encode())


def headers_of(message: Frame) -> dict[str, str]:
    """The headers of a request without a session, which states its version in every frame."""
    params = message.get("params") or {}
    version = (params.get("_meta") or {}).get(VERSION_KEY)
    if not version:
        return {}
    return {
        "Mcp-Protocol-Version": version,
        "Mcp-Method": message.get("method", ""),
        "Mcp-Name": params.get("name") or params.get("uri") or "",
    }


def answered_frames(response: "HTTPResponse") -> Iterator[bytes]:
    """The frames of an answer, which is one JSON document or a stream of events."""
    if "event-stream" not in str(response.headers["content-type"]):
        frame = response.read().strip()
        if frame:
            yield frame
        return
    for line in response:
        if line.startswith(EVENT_PREFIX):
            frame = line.removeprefix(EVENT_PREFIX).strip()
            if frame:
                yield frame
