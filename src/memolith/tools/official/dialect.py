"""The family official: the tools of the reference memory server of MCP.

It is served at its own path only. Names, titles, schemas and annotations are those of
`@modelcontextprotocol/server-memory`, and so is what a model reads of an answer; the descriptions
are our own.
"""

import json
from typing import Any

from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.schema import Body, Schema

SCHEMA_VERSION = "http://json-schema.org/draft-07/schema#"


def text_of_body(body: Body) -> str:
    """A message as it is; else the list that the body holds, or the whole graph."""
    if "message" in body:
        return str(body["message"])
    shown: object = body
    if len(body) == 1:
        shown = next(iter(body.values()))
    return json.dumps(shown, ensure_ascii=False, indent=2)


def marked_schema(schema: Schema) -> Schema:
    return {**schema, "$schema": SCHEMA_VERSION}


def closed_schema(schema: Schema) -> Schema:
    """The schema of a result: every object in it has just the properties that it names."""
    closed: Schema = _closed(schema)
    return marked_schema(closed)


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    if closed.get("type") == "object":
        closed["additionalProperties"] = False
    return closed


def title_of(name: str) -> str:
    return name.replace("_", " ").title()


official = Family(
    "official",
    Dialect(
        schema=closed_schema,
        text=text_of_body,
        arguments=marked_schema,
        open_arguments=True,
        title=title_of,
        every_hint=True,
    ),
    modules=(
        "memolith.tools.official.entities",
        "memolith.tools.official.observations",
        "memolith.tools.official.relations",
        "memolith.tools.official.graph",
    ),
    order=(
        "create_entities",
        "create_relations",
        "add_observations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "read_graph",
        "search_nodes",
        "open_nodes",
    ),
    apart=True,
    purpose="a graph of entities, observations and relations",
    stands_for="@modelcontextprotocol/server-memory",
)
