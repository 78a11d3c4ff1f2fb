"""The REST routes of other systems: who is let in, which headers count, what a request means."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.datastructures import QueryParams

from memolith.doors.http.auth.keys import NewKey, make_key
from memolith.doors.http.foreign_routes import query_arguments
from memolith.doors.http.openapi import openapi
from memolith.engine.client_keys import KEY_FORMS
from memolith.errors import InvalidInput
from memolith.redaction.detector import redact
from memolith.tools.registry import Registry
from memolith.tools.rest_api import RestApi, RestRoute
from memolith.tools.rest_apis import REST_APIS
from tests.programs.served import Served, thread

ROUTES = [
    *((route.method, api.prefix + route.path) for api in REST_APIS for route in api.routes),
    *((route.method, route.path) for api in REST_APIS for route in api.root_routes),
    *(("GET", api.prefix + "/metrics") for api in REST_APIS),
]
WRONG_KEYS = [
    {},
    {"Authorization": "Bearer sk-sekha-" + "0" * 64},
    {"Authorization": "Token m0-" + "0" * 64},
    {"X_API_Key": "lano_" + "0" * 64},
]
NOT_OFFERED = ("There is no such path.", "This path takes another method.")
SCHEMA = {
    "properties": {
        "page": {"type": "integer"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "pinned": {"type": "boolean"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "label": {"type": "string"},
    }
}


ODD_VALUES: tuple[object, ...] = (
    *("", " ", "1#" + "9" * 5000, "0001-01-01", "9999-12-31T23:59:59-23:00", "/" * 5000),
    *("x\0y", "\ud800", "9" * 5000, 10**400, -1, 1e308, True, None, [], {}, [[]], [None]),
    *(["\ud800"], {"folders": ["/" * 5000]}, {"labels": ["\0"]}, {"start_date": "9999-12-31"}),
    *([{"role": "user", "content": []}], [{"role": "\0", "content": "x"}]),
)
ODD_QUERIES = ("", "%00", "%FF", "%ED%A0%80", "nan", "inf", "1e999", "9" * 5000, "1_0", "%D9%A1")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with thread(tmp_path_factory.mktemp("data"), calls_per_minute=1_000_000) as made:
        yield made


def filled(path: str) -> str:
    """A path with something in the place of each argument."""
    return re.sub(r"\{\w+\}", "nothing", path)


def key_like(served: Served, system: str) -> str:
    secret, _ = make_key(served.app.keys, served.app.clock.now(), NewKey("key", like=system))
    return secret


def conversation(served: Served) -> str:
    """The id of a conversation that the key of the machine can read."""
    body = {"label": "Gate", "messages": [{"role": "user", "content": "It opens at nine."}]}
    created = served.ask("POST", "/sekha/api/v1/conversations", served.admin, body)
    return str(created.json()["id"])


def arguments_for(route: RestRoute, id: str) -> dict[str, object]:
    """What a call of a route needs at least, so that an odd argument beside it is looked at."""
    known = {
        "messages": [{"role": "user", "content": "Hello."}],
        "conversation_ids": [id],
        "message_id": f"{id}#0",
    }
    in_path = re.findall(r"\{(\w+)\}", route.path)
    needed = [name for name in route.tool.input_schema.get("required", ()) if name not in in_path]
    return {name: known.get(name, id) for name in needed}


def test_no_two_routes_are_the_same() -> None:
    assert len(set(ROUTES)) == len(ROUTES)


def test_every_route_is_described_for_machines(served: Served) -> None:
    paths = served.ask("GET", "/openapi.json", served.admin).json()["paths"]
    for api in REST_APIS:
        for route in api.routes:
            described = paths[api.prefix + route.path][route.method.lower()]
            inside = described.get("requestBody", {}).get("content", {}).get("application/json", {})
            named = [parameter["name"] for parameter in described["parameters"]]
            named += inside.get("schema", {}).get("properties", {})
            arguments = set(route.tool.input_schema["properties"])
            assert arguments == set(named) - {"Idempotency-Key"}, route.path
            assert str(route.status) in described["responses"], route.path


def test_a_server_that_only_reads_describes_no_route_that_writes() -> None:
    document = openapi(Registry([]), REST_APIS, read_only=True)
    ids = [
        operation.get("operationId")
        for methods in document["paths"].values()
        for operation in methods.values()
    ]
    assert "sekha_list_conversations" in ids
    assert "sekha_create_conversation" not in ids


@pytest.mark.parametrize("path", ["/mem0/v1/batch/", "/lanonasis/api/v1/memory"])
def test_a_refused_method_is_told_all_methods_of_the_path(served: Served, path: str) -> None:
    allowed = {method for method, other in ROUTES if other == path}
    answer = served.ask("PATCH", path, served.admin)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == allowed
    assert len(allowed) == 2


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_refuses_a_wrong_key_in_the_words_of_its_system(
    served: Served, method: str, path: str
) -> None:
    for headers in WRONG_KEYS:
        answer = served.ask(method, filled(path), body={}, **headers)
        assert answer.status_code == 401
        assert answer.headers["x-error-type"] == "unauthenticated"
        assert "code" in answer.json() or "detail" in answer.json() or "error" in answer.json()


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_takes_a_key_from_every_header(served: Served, method: str, path: str) -> None:
    key = key_like(served, "sekha")
    for headers in (
        {"Authorization": f"Bearer {key}"},
        {"Authorization": f"Token {key}"},
        {"X_API_Key": key},
    ):
        answer = served.ask(
            method, filled(path), body={}, X_Project_Scope="lanonasis-maas", **headers
        )
        assert answer.status_code not in (401, 403, 405, 500)


@pytest.mark.parametrize("system", KEY_FORMS)
def test_a_key_of_every_form_lets_its_client_in(served: Served, system: str) -> None:
    key = key_like(served, system)
    assert key.startswith(KEY_FORMS[system])
    assert served.tool("overview", {}, key).status_code == 200


@pytest.mark.parametrize("system", KEY_FORMS)
def test_a_key_of_every_form_is_not_stored(served: Served, system: str) -> None:
    key = key_like(served, system)
    redacted, _ = redact(f"My key is {key} today.")
    assert key not in redacted


def test_a_key_of_an_unknown_form_is_refused(served: Served) -> None:
    with pytest.raises(InvalidInput, match="no form of keys 'acme'"):
        key_like(served, "acme")


@pytest.mark.parametrize(("scope", "is_project"), [("gates", True), ("lanonasis-maas", False)])
def test_the_scope_of_a_foreign_client_is_its_project_unless_all_send_it(
    served: Served, scope: str, is_project: bool
) -> None:
    captured = served.tool(
        "subcog_capture",
        {"content": f"The gate of {scope}.", "namespace": "decisions"},
        X_Project_Scope=scope,
    )
    assert captured.json()["urn"].startswith("subcog://project/") is is_project


def test_an_unknown_path_of_a_system_is_refused_in_its_words(served: Served) -> None:
    answer = served.ask("GET", "/sekha/api/v1/nothing", served.admin)
    assert answer.status_code == 404
    assert answer.json() == {
        "success": False,
        "data": None,
        "error": "There is no such path.",
        "code": 404,
    }


@pytest.mark.parametrize("api", REST_APIS, ids=lambda api: api.name)
def test_a_key_reaches_only_the_routes_of_its_scopes(served: Served, api: RestApi) -> None:
    for scope in ("read", "write"):
        key = served.key("scoped", "local", scope)
        for route in api.routes:
            allowed = any(needed <= {scope} for needed in route.tool.signature.scope_choices)
            answer = served.ask(route.method, filled(api.prefix + route.path), key, {})
            assert (answer.status_code != 403) is allowed, (scope, route.method, route.path)


@pytest.mark.parametrize("api", REST_APIS, ids=lambda api: api.name)
def test_a_key_that_may_only_write_is_told_nothing_that_was_stored(
    served: Served, api: RestApi
) -> None:
    message = {"role": "user", "content": "A zebra of mine."}
    body = {"label": "zebra label", "folder": "/zebra", "messages": [message]}
    created = served.ask("POST", "/sekha/api/v1/conversations", served.admin, body)
    id = created.json()["id"]
    key = served.key("local", "local", "write")
    for route in api.routes:
        path = re.sub(r"\{\w+\}", id, api.prefix + route.path)
        answer = served.ask(route.method, path, key, arguments_for(route, id))
        assert "zebra" not in answer.text, (route.method, route.path)


def test_a_repeated_write_with_the_same_idempotency_key_happens_once(served: Served) -> None:
    body = {"label": "Once", "messages": [{"role": "user", "content": "Only once."}]}
    first, second = [
        served.ask(
            "POST", "/sekha/api/v1/conversations", served.admin, body, Idempotency_Key="once"
        )
        for _ in range(2)
    ]
    assert (first.status_code, first.json()) == (second.status_code, second.json())
    counted = served.ask("GET", "/api/v1/conversations/count?label=Once", served.admin)
    assert counted.json()["count"] == 1


@pytest.mark.full
@pytest.mark.parametrize("api", REST_APIS, ids=lambda api: api.name)
def test_odd_arguments_are_answered_or_refused_but_never_a_fault_of_the_server(
    served: Served, api: RestApi
) -> None:
    id = conversation(served)
    for route in api.routes:
        path = re.sub(r"\{\w+\}", id, api.prefix + route.path)
        needed = arguments_for(route, id)
        for name in route.tool.input_schema.get("properties", {}):
            values = [*ODD_VALUES, f"{id}#{'9' * 5000}"]
            calls = [(path, {**needed, name: value}) for value in values]
            rest = {other: value for other, value in needed.items() if other != name}
            calls += [(f"{path}?{name}={query}", rest) for query in ODD_QUERIES]
            for address, body in calls:
                answer = served.ask(route.method, address, served.admin, body)
                # 503: there is no embedding model in these tests.
                assert answer.status_code < 500 or answer.status_code == 503, (address, body)


def test_an_idempotency_key_of_a_tool_is_not_taken_by_a_route_of_the_same_name(
    served: Served,
) -> None:
    body = {"label": "Twin", "messages": [{"role": "user", "content": "Hello."}]}
    stored = served.tool("memory_store", body, Idempotency_Key="twin")
    refused = served.ask(
        "POST", "/sekha/mcp/tools/memory_store", served.admin, body, Idempotency_Key="twin"
    )
    assert (stored.status_code, refused.status_code) == (200, 409)


def test_the_health_of_a_system_needs_no_key(served: Served) -> None:
    for api in REST_APIS:
        assert served.ask("GET", api.health_path).json()["status"] == "healthy"


def test_a_server_that_only_reads_has_no_route_that_writes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with thread(tmp_path_factory.mktemp("data"), read_only=True) as served:
        for api in REST_APIS:
            for route in api.routes:
                path = filled(api.prefix + route.path)
                answer = served.ask(route.method, path, served.admin, {})
                refused = any(sentence in answer.text for sentence in NOT_OFFERED)
                assert refused is not route.tool.read_only, (route.method, path)


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("page=2", {"page": 2}),
        ("share=0.5", {"share": 0.5}),
        ("pinned=True", {"pinned": True}),
        ("pinned=false", {"pinned": False}),
        ("labels=a&labels=b", {"labels": ["a", "b"]}),
        ("label=7", {"label": "7"}),
        ("page=two", {"page": "two"}),
        ("unknown=1", {"unknown": "1"}),
    ],
)
def test_a_query_becomes_typed_arguments(query: str, arguments: dict[str, object]) -> None:
    assert query_arguments(QueryParams(query), SCHEMA) == arguments


def test_an_argument_that_is_given_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="`label` is given 2 times"):
        query_arguments(QueryParams("label=a&label=b"), SCHEMA)


def test_a_body_that_contradicts_the_path_is_refused(served: Served) -> None:
    answer = served.ask(
        "PUT",
        "/sekha/api/v1/conversations/one/folder",
        served.admin,
        {"conversation_id": "two", "folder": "/"},
    )
    assert answer.status_code == 400
    assert "`conversation_id` is given twice" in answer.json()["error"]
