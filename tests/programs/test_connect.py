"""`memolith stdio --connect`: a client without data of its own for a server elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.programs.children import CLI, cli, environment
from tests.programs.pipes import INITIALIZED, initialize, request, silent_port, tool
from tests.programs.served import Served, thread


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with thread(tmp_path_factory.mktemp("served")) as server:
        yield server


def talk(
    arguments: list[str], frames: list[dict[str, Any]], **env: str
) -> dict[Any, dict[str, Any]]:
    """What a client process answers to these frames, by id."""
    ran = cli(
        None,
        "stdio",
        *arguments,
        stdin="".join(json.dumps(frame) + "\n" for frame in frames),
        **env,
    )
    return {
        answer["id"]: answer
        for answer in map(json.loads, ran.stdout.splitlines())
        if "id" in answer
    }


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
@pytest.mark.parametrize("named", [True, False], ids=["argument", "environment"])
def test_every_frame_is_answered_by_the_server(served: Served, modern: bool, named: bool) -> None:
    arguments = ["--connect", served.url] if named else ["--connect"]
    env = {"MEMOLITH_KEY": served.admin}
    if not named:
        env = {"SEKHA_API_KEY": served.admin, "SEKHA_API_URL": served.url}
    frames = [] if modern else [initialize(1), INITIALIZED]
    frames += [
        request(2, "tools/list", modern),
        tool(
            3,
            "memory_store",
            modern,
            label="Far",
            messages=[{"role": "user", "content": "a zebra far away"}],
        ),
    ]
    answers = talk(arguments, frames, **env)
    assert "memory_store" in {one["name"] for one in answers[2]["result"]["tools"]}
    made = answers[3]["result"]["structuredContent"]["data"]["id"]
    assert (
        served.tool("memory_get_context", {"conversation_id": made}).json()["data"]["label"]
        == "Far"
    )


def test_an_official_client_works_through_it_with_one_family_only(served: Served) -> None:
    parameters = StdioServerParameters(
        command=CLI[0],
        env=environment(SEKHA_API_KEY=served.admin),
        args=[*CLI[1:], "stdio", "--connect", served.url, "--tools", "sekha"],
    )

    async def main() -> tuple[list[str], bool]:
        async with Client(stdio_client(parameters)) as client:
            names = [one.name for one in (await client.list_tools()).tools]
            return names, (await client.call_tool("memory_stats", {})).is_error

    names, failed = anyio.run(main)
    assert len(names) == 7
    assert all(name.startswith("memory_") for name in names)
    assert not failed


def test_a_wrong_key_and_a_server_that_is_away_are_told_and_nobody_waits(served: Served) -> None:
    wrong = talk(["--connect", served.url], [initialize(1)], SEKHA_API_KEY="wrong")
    assert "401" in wrong[1]["error"]["message"]
    away = talk(
        ["--connect", f"http://127.0.0.1:{silent_port()}"],
        [request(1, "tools/list", True)],
        SEKHA_API_KEY="x",
    )
    assert "refused" in away[1]["error"]["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--connect"],
        ["--connect", "memory.example.com"],
        ["--connect", "http://127.0.0.1:1", "--read-only"],
    ],
)
def test_what_cannot_be_connected_to_is_refused(arguments: list[Any]) -> None:
    ran = cli(None, "stdio", *arguments)
    assert ran.returncode == 2
    assert "connect" in ran.stderr


def test_no_data_folder_is_made_or_opened(served: Served, tmp_path: Path) -> None:
    talk(
        ["--connect", served.url],
        [request(1, "tools/list", True)],
        SEKHA_API_KEY=served.admin,
        MEMOLITH_DATA=str(tmp_path / "data"),
    )
    assert not (tmp_path / "data").exists()
