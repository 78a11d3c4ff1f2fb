"""The routes of other memory systems: arguments out of a request, and the answer back."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, compile_path

from memolith.doors.http.rest import RestTools, json_body
from memolith.errors import InvalidInput
from memolith.tools.lazy_text import LazyText
from memolith.tools.rest_api import RestApi, RestRoute
from memolith.tools.schema import NULL, Body, Schema

END_OF_EVENTS = "data: [DONE]\n\n"
NUMBERS = ("integer", "number")
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class ForeignRoutes:
    """The routes of one API."""

    def __init__(self, api: RestApi, rest: RestTools, *, read_only: bool) -> None:
        """`rest` runs the tools of this API alone."""
        self.api = api
        self.rest = rest
        self.shown = [route for route in api.routes if route.tool.read_only or not read_only]

    def routes(self) -> list[Route]:
        """All of them with the prefix, and some of them without it, too."""
        at_root = [route for route in self.api.root_routes if route in self.shown]
        found = [self._route(self.api.prefix, routes) for routes in by_path(self.shown)]
        return found + [self._route("", routes) for routes in by_path(at_root)]

    def _route(self, prefix: str, routes: Sequence[RestRoute]) -> Route:
        """One for all methods of a path, so that a refused method is told all others."""
        methods = {route.method: route for route in routes}

        async def answer(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            return await self.answer(request, methods[method])

        return Route(prefix + routes[0].path, answer, methods=list(methods))

    async def answer(self, request: Request, route: RestRoute) -> Response:
        """Run the function of a route."""
        arguments = await route_arguments(request, route.tool.input_schema)
        answer = await self.rest.run_tool(request, route.tool, arguments)
        if answer.outcome.error is not None:
            return answer.response()
        body = answer.outcome.body
        if route.events is not None and arguments.get("stream") is True:
            return StreamingResponse(
                event_stream(route.events(body)),
                route.status,
                answer.headers,
                "text/event-stream",
            )
        if any(isinstance(value, LazyText) for value in body.values()):
            return StreamingResponse(
                object_in_pieces(body), route.status, answer.headers, "application/json"
            )
        content = body if route.body_field is None else body[route.body_field]
        return Response(encoded(content), route.status, answer.headers, "application/json")


class ForeignPaths:
    """Tells which API a path belongs to."""

    def __init__(self, apis: Iterable[RestApi]) -> None:
        self.apis = tuple(apis)
        self._at_root = [
            (compile_path(route.path)[0], api) for api in self.apis for route in api.root_routes
        ]

    def api_of(self, path: str) -> RestApi | None:
        """The API that a path belongs to, by its prefix or because it is one of its own paths."""
        for api in self.apis:
            if path.startswith(api.prefix + "/"):
                return api
        return next((api for pattern, api in self._at_root if pattern.match(path)), None)

    @property
    def open_paths(self) -> frozenset[str]:
        """The paths that need no key."""
        return frozenset(api.health_path for api in self.apis)


def by_path(routes: Iterable[RestRoute]) -> list[list[RestRoute]]:
    """The routes of each path, in the order in which paths first come."""
    found: dict[str, list[RestRoute]] = {}
    for route in routes:
        found.setdefault(route.path, []).append(route)
    return list(found.values())


async def route_arguments(request: Request, schema: Schema) -> dict[str, Any]:
    """The arguments of a call, out of the path, the query and the body."""
    arguments = dict(request.path_params)
    parts = (query_arguments(request.query_params, schema), await json_body(request))
    for part in parts:
        for name, value in part.items():
            if name in arguments and arguments[name] != value:
                raise InvalidInput(
                    f"`{name}` is given twice with different values; give it once.", field=name
                )
            arguments[name] = value
    return arguments


def query_arguments(query: QueryParams, schema: Schema) -> dict[str, Any]:
    """The arguments in a query, as the types that the schema names.

    What does not fit its type stays a text, which the check of the arguments then refuses.
    """
    properties: Mapping[str, Schema] = schema.get("properties", {})
    arguments: dict[str, Any] = {}
    for name in query:
        values = query.getlist(name)
        wanted = without_null(properties.get(name, {}))
        if wanted.get("type") == "array":
            entry = wanted.get("items", {})
            arguments[name] = [typed_value(value, entry) for value in values]
        elif len(values) > 1:
            raise InvalidInput(f"`{name}` is given {len(values)} times; give it once.", field=name)
        else:
            arguments[name] = typed_value(values[0], wanted)
    return arguments


def without_null(schema: Schema) -> Schema:
    """The schema of a value that is not null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != NULL]
    return choices[0] if len(choices) == 1 else schema


def typed_value(text: str, schema: Schema) -> object:
    """A text of a query as the type that a schema names, or as it is."""
    kind = schema.get("type")
    if kind == "boolean":
        return BOOLEANS.get(text.lower(), text)
    if kind in NUMBERS:
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            return text
    return text


def object_in_pieces(body: Body) -> Iterator[str]:
    """A JSON object whose long texts are made while they are sent."""
    between = "{"
    for name, value in body.items():
        yield f"{between}{encoded(name)}:"
        between = ","
        if isinstance(value, LazyText):
            yield '"'
            # Each character is escaped by itself, so the pieces make up the escaped whole.
            yield from (encoded(piece)[1:-1] for piece in value.pieces())
            yield '"'
        else:
            yield encoded(value)
    yield "}"


def event_stream(events: Iterable[Body]) -> Iterator[str]:
    """The events as OpenAI and those who follow it send them."""
    for event in events:
        yield f"data: {encoded(event)}\n\n"
    yield END_OF_EVENTS


def encoded(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
