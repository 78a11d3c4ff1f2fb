"""The routes of other memory systems, described for machines."""

import re
from typing import Any

from memolith.doors.http.foreign_routes import without_null
from memolith.doors.http.openapi_parts import IDEMPOTENCY_HEADER, error_responses
from memolith.tools.rest_api import RestApi, RestRoute
from memolith.tools.schema import NULL, Schema, object_schema

SIMPLE_TYPES = ("string", "integer", "number", "boolean")
METHODS_WITH_QUERY = ("GET", "DELETE")
PATH_ARGUMENT = re.compile(r"\{(\w+)(?::\w+)?\}")


def foreign_paths(api: RestApi, *, read_only: bool) -> dict[str, dict[str, Any]]:
    """The path items of one API; with `read_only`, those of the routes that write nothing."""
    paths: dict[str, dict[str, Any]] = {}
    for route in api.routes:
        if route.tool.read_only or not read_only:
            path = PATH_ARGUMENT.sub(r"{\1}", api.prefix + route.path)
            paths.setdefault(path, {})[route.method.lower()] = route_operation(api, route)
    return paths


def route_operation(api: RestApi, route: RestRoute) -> dict[str, Any]:
    """What a route takes, and where, and what it answers."""
    in_path = PATH_ARGUMENT.findall(route.path)
    arguments: Schema = route.tool.input_schema["properties"]
    others = {name: schema for name, schema in arguments.items() if name not in in_path}
    parameters = [path_parameter(name) for name in in_path]
    described: dict[str, Any] = {
        "operationId": f"{api.name}_{route.tool.name}",
        "summary": route.tool.description,
        "tags": [f"{api.name} REST"],
        "parameters": parameters,
        "responses": {str(route.status): good_answer(route), **error_responses()},
    }
    if is_query(route, others):
        required = route.tool.input_schema.get("required", [])
        parameters += [
            query_parameter(name, schema, required=name in required)
            for name, schema in others.items()
        ]
    else:
        schema = body_schema(route, others)
        described["requestBody"] = {
            "required": bool(schema.get("required")),
            "content": {"application/json": {"schema": schema}},
        }
    if route.tool.effect != "reads":
        parameters.append(IDEMPOTENCY_HEADER)
    return described


def is_query(route: RestRoute, arguments: Schema) -> bool:
    """Whether the arguments that are not in the path are described as a query.

    A query cannot say everything: objects go into the body, also of a DELETE.
    """
    return route.method in METHODS_WITH_QUERY and all(
        is_simple(schema) for schema in arguments.values()
    )


def is_simple(schema: Schema) -> bool:
    """Whether a query can say it: a plain value or a list of them."""
    plain = without_null(schema)
    if plain.get("type") == "array":
        return is_simple(plain.get("items", {}))
    return plain.get("type") in SIMPLE_TYPES


def path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1, "pattern": r"^[^/]+$"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def query_parameter(name: str, schema: Schema, *, required: bool) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": without_null(schema)}


def body_schema(route: RestRoute, arguments: Schema) -> Schema:
    """The arguments in the body: as the function takes them, without those of the path."""
    required = [name for name in route.tool.input_schema.get("required", []) if name in arguments]
    schema = {"additionalProperties": False, **object_schema(dict(arguments), required)}
    return with_null(schema)


def with_null(schema: Schema) -> Schema:
    """A schema in which every field that may be left out and has no default may also be null."""
    changed = dict(schema)
    if "properties" in schema:
        required = schema.get("required", [])
        changed["properties"] = {
            name: with_null(inner)
            if name in required or "default" in inner
            else {"anyOf": [with_null(inner), NULL]}
            for name, inner in schema["properties"].items()
        }
    if "items" in schema:
        changed["items"] = with_null(schema["items"])
    if "anyOf" in schema:
        changed["anyOf"] = [with_null(choice) for choice in schema["anyOf"]]
    return changed


def good_answer(route: RestRoute) -> dict[str, Any]:
    schema = route.tool.whole_output_schema
    if route.body_field is not None:
        schema = schema["properties"][route.body_field]
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if route.events is not None:
        content["text/event-stream"] = {"schema": {}}
    return {"description": "The result.", "content": content}
