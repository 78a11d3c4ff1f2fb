"""Malformed input made from the schemas of the tools: wrong types and sizes, broken frames."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from memolith.tools.family import Tool
from memolith.tools.registry import Registry

NUMBERS: list[Any] = [
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**30,
    1e308,
    -0.0,
    0.5,
    float("nan"),
    float("inf"),
]
TEXTS: list[Any] = [
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\udc00x",
    "\u202e",
    "\ufeff",
    "'; DROP TABLE items; --",
    "../../etc/passwd",
    "%00",
    "{{7*7}}",
    "${jndi:x}",
    "<script>",
    "x" * 2_000,
    "𝕏" * 500,
    "\r\n\r\n",
    '"',
    "\\",
    "NEAR(",
    '"unbalanced',
    "* OR *",
    "a:b:c",
    "-",
    "9999-99-99T99:99:99Z",
    "0000-00-00",
    "-1 day",
    "2026-01-01T00:00:00+99:99",
    "memolith://item/",
    "None",
]
OTHERS: list[Any] = [
    None,
    True,
    False,
    [],
    {},
    [[]],
    [None],
    {"": ""},
    {"a": {"b": []}},
    [1, "a", None],
    {"$ref": "#"},
]
METHODS = [
    "",
    "tools/call",
    "tools/list",
    "initialize",
    "ping",
    "resources/read",
    "resources/list",
    "prompts/get",
    "prompts/list",
    "completion/complete",
    "logging/setLevel",
    "resources/subscribe",
    "server/discover",
    "rpc.x",
    "subscriptions/listen",
    "notifications/cancelled",
    "notifications/initialized",
    "tools/call\n",
    "\ud800",
    7,
]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Fuzzer:
    """An endless source of bad calls and frames, the same for the same seed."""

    def __init__(self, registry: Registry, seed: int) -> None:
        self.tools = list(registry.tools)
        self.chance = random.Random(seed)

    def any(self) -> Any:
        return self.chance.choice(self.chance.choice((NUMBERS, TEXTS, OTHERS)))

    def fitting(self, schema: dict[str, Any]) -> Any:
        """Something near what the schema wants, on or over its edges."""
        pick = self.chance.choice
        if "enum" in schema:
            return pick([*schema["enum"], "no such", ""])
        kind = schema.get("type")
        if kind in ("integer", "number"):
            edges = [schema.get("minimum", 0), schema.get("maximum", 100)]
            return pick([*edges, edges[0] - 1, edges[1] + 1, *NUMBERS])
        if kind == "array":
            return [self.fitting(schema.get("items", {})) for _ in range(pick([0, 1, 2, 60]))]
        if kind == "object" and "properties" in schema:
            return {
                name: self.fitting(part)
                for name, part in schema["properties"].items()
                if pick((0, 1, 1))
            }
        if kind == "object":
            return pick([{}, {"a": self.any()}, nested(pick([3, 63, 64, 65, 300]))])
        return pick(TEXTS)

    def arguments(self, tool: Tool) -> Any:
        """Arguments of which hardly any are good."""
        chance = self.chance
        given = {
            name: self.fitting(schema)
            for name, schema in tool.input_schema["properties"].items()
            if name in tool.input_schema.get("required", ()) or chance.random() < 0.4
        }
        for _ in range(chance.choice((0, 1, 1, 2))):
            names = [
                *given,
                chance.choice(["surprise", "", "__class__", "\ud800", "id", "x" * 300]),
            ]
            given[chance.choice(names)] = self.any()
        if given and chance.random() < 0.1:
            del given[chance.choice(list(given))]
        return given if chance.random() < 0.95 else self.any()

    def frame(self) -> dict[str, Any]:
        """A JSON-RPC message with something wrong in it."""
        chance = self.chance
        tool = chance.choice(self.tools)
        params: Any = {"name": tool.name, "arguments": self.arguments(tool)}
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": chance.randrange(10**6),
            "method": "tools/call",
        }
        if chance.random() < 0.3:
            message["method"] = chance.choice(METHODS)
            params = {
                chance.choice(
                    ["uri", "name", "cursor", "ref", "argument", "requestId", "level"]
                ): self.any()
                for _ in range(3)
            }
        if chance.random() < 0.2:
            params["_meta"] = chance.choice(
                [
                    MODERN,
                    {**MODERN, chance.choice(list(MODERN)): self.any()},
                    self.any(),
                    {"progressToken": self.any(), "memolith/idempotency-key": self.any()},
                ]
            )
        message["params"] = params if chance.random() < 0.9 else self.any()
        if chance.random() < 0.15:
            message[chance.choice(["jsonrpc", "id", "method", "result", "error"])] = self.any()
        if chance.random() < 0.05:
            del message[chance.choice(list(message))]
        return message

    def text(self, value: Any) -> bytes:
        """The value as JSON, now and then with broken bytes in it."""
        chance = self.chance
        data = json.dumps(value, ensure_ascii=chance.random() < 0.7).encode(
            "utf-8", "surrogatepass"
        )
        if chance.random() < 0.15:
            place = chance.randrange(len(data))
            data = chance.choice(
                (
                    data[:place],
                    data[place:],
                    data[:place] + b"\xff\xfe" + data[place:],
                    data[:place] + b"\0" + data[place + 1 :],
                    data + data,
                    data.replace(b'"', b"'"),
                    data[:place] + b"[" * 3000,
                    b"\xef\xbb\xbf" + data,
                    data.replace(b":", b"", 1),
                )
            )
        return data

    def frames(self, count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield self.text(self.frame()).replace(b"\n", b" ")

    def calls(self, count: int) -> Iterator[tuple[str, bytes]]:
        """Tools with bodies, as REST takes them."""
        for _ in range(count):
            tool = self.chance.choice(self.tools)
            yield tool.name, self.text(self.arguments(tool))


def nested(depth: int) -> Any:
    """A box in a box in a box."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if depth % 2 else [value]
    return {"a": value}
