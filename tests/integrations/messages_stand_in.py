"""Stands in for Claude behind the Messages API, whole and streamed, over a socket.

A user message that is a list in JSON is a script: each entry is the input of one use of the memory
tool, and the last answer tells what they gave. Any other message is kept in a file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

PLAIN_SCRIPT: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/notes.md"},
]


class MessagesServer(ThreadingHTTPServer):
    """Keeps the threads: a client that continues one sends only what is new."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MessagesHandler)
        self.threads: dict[str, dict[str, Any]] = {}
        """What was said up to a message, by the id of the message."""

    def whole_request(self, sent: dict[str, Any]) -> dict[str, Any]:
        thread = sent.get("thread", {})
        if thread.get("type") != "continue":
            return sent
        before = self.threads[thread["previous_message_id"]]
        return {**before, **sent, "messages": [*before["messages"], *sent["messages"]]}

    def keep(self, request: dict[str, Any], message: dict[str, Any]) -> None:
        if "thread" in request:
            said = {"role": "assistant", "content": message["content"]}
            self.threads[message["id"]] = {**request, "messages": [*request["messages"], said]}


class MessagesHandler(BaseHTTPRequestHandler):
    """Answers `POST /v1/messages` as the Messages API does."""

    server: MessagesServer

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
        request = self.server.whole_request(sent)
        problem = problem_of(request)
        if problem:
            error = {"type": "invalid_request_error", "message": problem}
            self._answer(400, "application/json", json.dumps({"type": "error", "error": error}))
            return
        message = next_message(request)
        self.server.keep(request, message)
        if request.get("stream"):
            events = "".join(
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                for event in events_of(message)
            )
            self._answer(200, "text/event-stream", events)
        else:
            self._answer(200, "application/json", json.dumps(message))

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def problem_of(request: dict[str, Any]) -> str:
    """What the Messages API would refuse in a request."""
    tools = [{name: tool[name] for name in ("type", "name")} for tool in request["tools"]]
    if tools != [{"type": "memory_20250818", "name": "memory"}]:
        return f"not the memory tool: {tools}"
    for asked, answered in zip(request["messages"], request["messages"][1:], strict=False):
        if asked["role"] == answered["role"]:
            return "two messages of one side in a row"
        uses = [part["id"] for part in parts_of(asked) if part["type"] == "tool_use"]
        results = [part for part in parts_of(answered) if part["type"] == "tool_result"]
        if uses != [result["tool_use_id"] for result in results]:
            return "a use of a tool without its result"
    return ""


def parts_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def next_message(request: dict[str, Any]) -> dict[str, Any]:
    """The next use of the tool, or what all of them gave."""
    messages = request["messages"]
    asked = parts_of(messages[0])[0]["text"]
    script = json.loads(asked) if asked.startswith("[") else plain_script(asked)
    results = [
        [bool(part.get("is_error")), result_text(part)]
        for message in messages
        for part in parts_of(message)
        if part["type"] == "tool_result"
    ]
    if len(results) < len(script):
        content: dict[str, Any] = {
            "type": "tool_use",
            "id": f"toolu_{len(results)}",
            "name": "memory",
            "input": script[len(results)],
        }
        reason = "tool_use"
    else:
        text = json.dumps(results) if asked.startswith("[") else "I will remember that."
        content = {"type": "text", "text": text}
        reason = "end_turn"
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [content],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def plain_script(text: str) -> list[dict[str, Any]]:
    look, keep = PLAIN_SCRIPT
    return [look, {**keep, "file_text": text.removeprefix("Remember: ")}]


def result_text(part: dict[str, Any]) -> str:
    content = part["content"]
    return content if isinstance(content, str) else "".join(piece["text"] for piece in content)


def events_of(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A message as the events of a stream."""
    [content] = message["content"]
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None},
    }
    if content["type"] == "tool_use":
        start = {**content, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
    else:
        start = {**content, "text": ""}
        delta = {"type": "text_delta", "text": content["text"]}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": 1},
    }
    yield {"type": "message_stop"}


@contextmanager
def messages_stand_in() -> Iterator[dict[str, str]]:
    """The environment in which the Anthropic SDK asks the stand-in."""
    server = MessagesServer()
    running = threading.Thread(target=server.serve_forever, daemon=True)
    running.start()
    try:
        yield {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
            "ANTHROPIC_API_KEY": "stand-in",
        }
    finally:
        server.shutdown()
        running.join()
        server.server_close()
