"""A thin client of a remote memolith: frames from standard input go out over HTTP, and what comes back is passed on."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

from memolith.doors.frames import VERSION_KEY, parsed
from memolith.doors.stdio_front import Wire
from memolith.errors import InvalidInput


def connect(url: str, tools: str, read_only: bool) -> None:
    """Serve a client on standard input and output with what the server at the address offers, until it leaves."""
    url = url or os.environ.get("SEKHA_API_URL", "")
    if not url.startswith(("http://", "https://")) or read_only:
        raise InvalidInput("--connect needs an address like https://memory.example.com, here or in SEKHA_API_URL; what "
                           "may be written is up to the key.", field="connect")
    url = url.rstrip("/") + "/mcp" * ("/mcp" not in url) + f"/{tools}" * (tools != "all")
    wire, headers = Wire.of_process(), {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {os.environ.get('SEKHA_API_KEY', '')}"}

    def send(line: bytes) -> None:
        message = parsed(line) or {}
        params = message.get("params") or {}
        version = (params.get("_meta") or {}).get(VERSION_KEY)
        named = {"Mcp-Protocol-Version": version, "Mcp-Method": message.get("method"),
                 "Mcp-Name": params.get("name") or params.get("uri") or ""} if version else {}
        try:
            with urlopen(Request(url, line, headers | named), timeout=300) as back:
                for text in back if "event-stream" in str(back.headers["content-type"]) else [b"data:" + back.read()]:
                    if text.startswith(b"data:") and (frame := text[5:].strip()):
                        if message.get("method") == "initialize":
                            agreed = {"Mcp-Session-Id": back.headers.get("mcp-session-id"), "Mcp-Protocol-Version":
                                      (parsed(frame) or {}).get("result", {}).get("protocolVersion")}
                            headers.update({name: value for name, value in agreed.items() if value})
                        wire.write(frame)
        except (OSError, ValueError) as error:
            told = error.read(500).decode(errors="replace") if hasattr(error, "read") else ""
            if "id" in message and "method" in message:
                wire.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {
                    "code": -32000, "message": f"{url}: {error} {told}".strip()}}).encode())

    with ThreadPoolExecutor(16) as pool, os.fdopen(wire.inlet, "rb") as frames:
        for line in filter(bytes.strip, frames):
            # What follows a handshake needs its session, and notifications keep their order.
            calls = b'"id"' in line and b'"method"' in line and b'"initialize"' not in line
            pool.submit(send, line) if calls else send(line)
