"""What holds for every tool, derived from the tools themselves."""

import json
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema
import pytest
import uvicorn
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from scripts.snap import pages, schemas

from memolith.bootstrap import App, families
from memolith.doors.http.app import build
from memolith.doors.http.auth.keys import local_key
from memolith.doors.http.server import listen
from memolith.doors.main import main
from memolith.settings import Settings
from memolith.tools.call import Call
from memolith.tools.family import Tool
from memolith.tools.registry import Registry
from tests.checked import answered, body_of
from tests.conftest import ME, At
from tests.programs.children import TIMEOUT_S, cli
from tests.stores import each_store
from tests.tools.conftest import Copy
from tests.tools.stock import open_quick

pytestmark = each_store
TOOLS = [tool for family in families() for tool in family.tools]
NAMES = [f"{tool.family}.{tool.name}" for tool in TOOLS]
TELL_OF_THE_PROCESS = ("activity", "list_settings", "list_copies")
"""What they answer depends on the process, so no two doors give the same."""

SHARED = [tool for tool in Registry(families()).tools if tool.name not in TELL_OF_THE_PROCESS]
VOLATILE = (
    "id",
    "urn",
    "uri",
    "conversation_id",
    "message_id",
    "concept_id",
    "relationship_id",
    "event",
    "at",
    "created_at",
    "updated_at",
    "version",
    "health",
    "timestamp",
    "uptime",
    "uptime_s",
    "sizes",
    "search_time_ms",
    "latency_ms",
    "last_accessed",
    "last_rotated",
    "expires_at",
    "rotated_at",
    "revoked_at",
    "new_value",
    "recent_memories",
    "supporting_memories",
    "peak_usage_hours",
    "usage",
    "events",
    "duration_ms",
    "executor_id",
    "key",
    "disk",
    "client_keys",
)


def good(tool: Tool) -> dict[str, Any]:
    """The arguments of a good call; ids stand for the items that `filled` makes."""
    return dict(tool.example)


def environment(settings: Settings) -> dict[str, str]:
    """What a door in a process of its own is told of the settings."""
    return {
        "MEMOLITH_DATABASE": settings.database,
        "MEMOLITH_EMBEDDER": "none",
        # The folder of the data lies in no repository, which over HTTP does not count either.
        "MEMOLITH_REPO": str(settings.data),
        # Nothing is loaded ahead, because here runners only start.
        "MEMOLITH_RUNNER_PRELOAD": "json",
    }


def steady(value: Any) -> Any:
    """A body without what differs between two runs: new ids, times, numbers of events."""
    if isinstance(value, dict):
        return {name: "…" if name in VOLATILE else steady(entry) for name, entry in value.items()}
    if isinstance(value, str):
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "…", value)
    return [steady(entry) for entry in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_a_tool_is_described_and_its_schemas_are_strict(tool: Any) -> None:
    assert tool.description.endswith((".", "…"))
    # What has the schemas of another program is as strict as that program.
    if not tool.dialect.open_arguments:
        assert tool.input_schema["additionalProperties"] is False
    assert "title" not in tool.input_schema
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    jsonschema.Draft202012Validator.check_schema(tool.output_schema)


def test_schemas_and_pages_equal_what_is_committed() -> None:
    for path, text in (schemas() | pages()).items():
        assert path.is_file(), f"{path.name} is missing: run `make snap`"
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale: run `make snap`"


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_a_tool_that_reads_or_runs_leaves_the_log_as_long_as_it_was_and_a_writing_tool_adds_to_it(
    request: pytest.FixtureRequest, tool: Any
) -> None:
    app = request.getfixturevalue("stocked" if tool.effect == "writes" else "shared")
    with app.store.reading(None) as rows:
        before = rows.last_seq(ME.tenant)
    registry = Registry(
        [family for family in families() if family.name == tool.family],
        [one for one in TOOLS if one.family == tool.family],
    )
    arguments = good(tool)
    if "executor_id" in arguments:
        arguments |= {"executor_id": app.sandbox.create((ME.tenant, ME.user))}
    outcome = registry.run(tool.name, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    jsonschema.Draft202012Validator(tool.output_schema).validate(outcome.body)
    with app.store.reading(None) as rows:
        after = rows.last_seq(ME.tenant)
    assert (after > before) if tool.effect == "writes" else (after == before)


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_bad_arguments_are_refused_by_name_and_nothing_is_written(shared: App, tool: Any) -> None:
    registry = Registry(families(), [one for one in TOOLS if one.family == tool.family])
    with shared.store.reading(None) as rows:
        before = rows.last_seq(ME.tenant)
    bad: list[tuple[str, dict[str, Any]]] = []
    if not tool.dialect.open_arguments:
        bad.append(("surprise", good(tool) | {"surprise": 1}))
    bad += [
        (name, {key: value for key, value in good(tool).items() if key != name})
        for name in tool.input_schema.get("required", [])
    ]
    bad += [
        (name, good(tool) | {name: {"a": ["wrong"]}})
        for name in tool.input_schema["properties"]
        if tool.input_schema["properties"][name].get("type") != "object"
    ]
    for name, arguments in bad:
        outcome = registry.run(tool.name, arguments, Call(ME, shared.engine))
        assert not outcome.ok
        told = body_of(outcome)
        body = told.get("data") or told.get("details") or told
        assert (
            body["field"].split(".")[0] == name if "field" in body else f"`{name}" in body["error"]
        )
    with shared.store.reading(None) as rows:
        assert rows.last_seq(ME.tenant) == before


# The same through every door


@contextmanager
def server_on(settings: Settings) -> Iterator[tuple[str, str]]:
    """A real HTTP server on a folder: its address and a key."""
    app = open_quick(settings)
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(build(app), log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield (
            f"http://127.0.0.1:{listener.getsockname()[1]}",
            local_key(settings.data, app.keys, app.clock.now()),
        )
    finally:
        server.should_exit = True
        thread.join(TIMEOUT_S)
        listener.close()
        app.close()


@pytest.fixture(scope="module")
def served(
    at: At, stock: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """One server for all tests that only read."""
    with server_on(at.copy(stock, tmp_path_factory.mktemp("served"))) as place:
        yield place


def over_mcp(
    opened: AbstractAsyncContextManager[Client], calls: list[tuple[str, dict[str, Any]]]
) -> list[tuple[bool, Any]]:
    async def main() -> list[tuple[bool, Any]]:
        found = []
        async with opened as client:
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                text = json.loads(answered(result))
                assert result.is_error or result.structured_content == text
                found.append((not result.is_error, text))
        return found

    return anyio.run(main)


def over_rest(
    url: str, key: str, calls: list[tuple[str, dict[str, Any]]]
) -> list[tuple[bool, Any]]:
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=TIMEOUT_S, verify=False) as http:
        answers = [http.post(f"/mcp/tools/{name}", json=arguments) for name, arguments in calls]
    bodies = [answer.json() for answer in answers]
    for answer, body in zip(answers, bodies, strict=True):
        if "request_id" in body:
            # Other doors have no header that it could be compared with.
            assert body.pop("request_id") == answer.headers["x-request-id"]
    return [(answer.status_code == 200, body) for answer, body in zip(answers, bodies, strict=True)]


def over_cli(
    settings: Settings, name: str, arguments: dict[str, Any], process: bool
) -> tuple[bool, Any]:
    words = ["call", name, "--arguments", json.dumps(arguments)]
    if process:
        ran = cli(settings.data, *words, **environment(settings))
        return ran.returncode == 0, json.loads(ran.stdout or ran.stderr)
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            code: object = main([*words, "--data", str(settings.data)])
        except SystemExit as ended:
            code = ended.code
    return code == 0, json.loads(out.getvalue() or err.getvalue())


def test_every_tool_gives_the_same_answer_and_the_same_error_through_every_door(
    copy: Copy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every tool comes twice: once well, once with an argument that is refused; each door has a
    # folder of its own.
    calls = [
        (tool.name, good(tool) | extra) for extra in ({}, {"surprise": True}) for tool in SHARED
    ]
    listed = [call for call in calls if Registry(families()).choose("all").find(call[0])]
    wanted = [steady(answer) for answer in in_process(copy(tmp_path / "process"), calls)]
    # What is not listed over MCP changes nothing there, so the listed calls have a reference of
    # their own.
    wanted_listed = [steady(answer) for answer in in_process(copy(tmp_path / "listed"), listed)]
    parameters = StdioServerParameters(
        command=sys.executable,
        env={**os.environ, **environment(copy(tmp_path / "stdio"))},
        args=["-m", "memolith.doors.main", "stdio", "--data", str(tmp_path / "stdio")],
    )
    assert [
        steady(answer) for answer in over_mcp(Client(stdio_client(parameters)), listed)
    ] == wanted_listed
    with server_on(copy(tmp_path / "mcp")) as (url, key):
        assert [
            steady(answer) for answer in over_mcp(connected(url + "/mcp", key), listed)
        ] == wanted_listed
    with server_on(copy(tmp_path / "rest")) as (url, key):
        assert [steady(answer) for answer in over_rest(url, key, calls)] == wanted
    # The command line does not know the store, and a process for each call takes its time: every
    # tool comes once well,
    # the last of each family in a process of its own, and there also refused.
    if not (shell := copy(tmp_path / "shell")).database:
        for name, value in environment(shell).items():
            monkeypatch.setenv(name, value)
        last = {tool.family: n for n, tool in enumerate(SHARED)}.values()
        tried = [
            *((n, n in last) for n in range(len(SHARED))),
            *((len(SHARED) + n, True) for n in last),
        ]
        assert [steady(over_cli(shell, *calls[n], process)) for n, process in tried] == [
            wanted[n] for n, _ in tried
        ]


def in_process(
    settings: Settings, calls: list[tuple[str, dict[str, Any]]]
) -> list[tuple[bool, Any]]:
    app = open_quick(settings)
    outcomes = [
        app.registry.run(name, arguments, Call(ME, app.engine)) for name, arguments in calls
    ]
    app.close()
    return [(outcome.ok, json.loads(outcome.text)) for outcome in outcomes]


@asynccontextmanager
async def connected(url: str, key: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S, verify=False) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("path", "tool"),
    [
        ("/mcp", "recall"),
        ("/mcp/core", "recall"),
        ("/mcp/chatgpt", "search"),
        ("/mcp/official", "search_nodes"),
        ("/mcp/openmemory", "search_memory"),
        ("/mcp/basic_memory", "search_notes"),
    ],
)
def test_the_mcp_paths_serve_their_profiles_to_a_client_with_a_key(
    served: tuple[str, str], path: str, tool: str
) -> None:
    url, key = served

    async def main() -> list[str]:
        async with connected(url + path, key) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool(tool, {"query": "zebra"})
            assert not result.is_error
            return names

    profile = path.removeprefix("/mcp").strip("/") or "all"
    assert anyio.run(main) == [tool.name for tool in Registry(families()).choose(profile).tools]


def test_the_core_family_costs_at_most_1500_tokens_as_listed(served: tuple[str, str]) -> None:
    url, key = served

    async def main() -> int:
        async with connected(url + "/mcp/core", key) as client:
            listed = (await client.list_tools()).tools
            return sum(
                len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in listed
            )

    assert anyio.run(main) / 4 <= 1500


def test_all_tools_cost_at_most_12000_tokens_as_a_model_reads_them(served: tuple[str, str]) -> None:
    """Clients show models the name, the description and the arguments, not the output schema."""
    url, key = served

    async def main() -> int:
        async with connected(url + "/mcp", key) as client:
            listed = (await client.list_tools()).tools
            return sum(
                len(
                    tool.model_dump_json(
                        by_alias=True, include={"name", "description", "input_schema"}
                    )
                )
                for tool in listed
            )

    assert anyio.run(main) / 4 <= 12_000
