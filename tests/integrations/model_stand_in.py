"""Stands in for the model behind the OpenAI API: it recalls, then says the best hit.

With a remote MCP server as its tool it does a deep research.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.integrations.research_stand_in import research


class ResponsesHandler(BaseHTTPRequestHandler):
    """Answers `POST /v1/responses`."""

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        request = json.loads(self.rfile.read(length))
        servers = [tool for tool in request["tools"] if tool["type"] == "mcp"]
        if servers:
            output = research(request["input"], servers[0])
        else:
            output = [next_output(request["input"])]
        body = json.dumps(response_with(output)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def next_output(items: list[dict[str, Any]]) -> dict[str, Any]:
    """A call of `recall` with what the user said, or the best of what it gave."""
    last = items[-1]
    if last.get("type") != "function_call_output":
        return {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "recall",
            "arguments": json.dumps({"question": last["content"]}),
            "status": "completed",
        }
    hits = json.loads(last["output"])
    text = hits[0]["text"] if hits else "I do not know."
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def response_with(output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "stand-in",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "completed",
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


@contextmanager
def model_stand_in() -> Iterator[dict[str, str]]:
    """The environment in which the OpenAI SDK asks the stand-in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ResponsesHandler)
    running = threading.Thread(target=server.serve_forever, daemon=True)
    running.start()
    try:
        yield {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1",
            "OPENAI_API_KEY": "stand-in",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }
    finally:
        server.shutdown()
        running.join()
        server.server_close()
