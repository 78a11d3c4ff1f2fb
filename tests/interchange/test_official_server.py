"""The reference memory server of MCP itself, beside the family official.

The server comes from npm, so these tests run in the full run alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from scripts.conformance import install

from memolith.bootstrap import App
from memolith.doors.cli.export_formats import export_notes
from memolith.doors.cli.parser import parse
from memolith.tools.call import Call
from tests.checked import answered, body_of
from tests.conftest import ME
from tests.interchange.test_importers import imported
from tests.stores import each_store

pytestmark = pytest.mark.full
PACKAGE = "@modelcontextprotocol/server-memory"
VERSION = "2026.8.31"
Calls = list[tuple[str, dict[str, Any]]]
MARIA = {
    "name": "Maria Müller",
    "entityType": "person",
    "observations": ["Prefers tea.", "Lives in\nKöln"],
}
ACME = {"name": "Acme", "entityType": "organization", "observations": []}
WORKS_AT = {"from": "Maria Müller", "to": "Acme", "relationType": "works at"}
BEGINNING: Calls = [
    ("create_entities", {"entities": [MARIA, ACME]}),
    ("create_relations", {"relations": [WORKS_AT, {**WORKS_AT, "relationType": "works_at"}]}),
    ("create_relations", {"relations": [{**WORKS_AT, "to": "Bob", "relationType": "knows → 漢"}]}),
]
ANSWERED_ALIKE: Calls = [
    *BEGINNING,
    ("create_entities", {"entities": [MARIA]}),
    ("create_entities", {"entities": [{**ACME, "name": "Bob"}]}),
    ("create_entities", {"entities": [{**ACME, "name": "Zoo", "more": 1}], "more": 2}),
    ("create_relations", {"relations": [WORKS_AT]}),
    (
        "add_observations",
        {"observations": [{"entityName": "Acme", "contents": ["Is old.", "Is big.", "Is big."]}]},
    ),
    ("add_observations", {"observations": [{"entityName": "Acme", "contents": ["Is old."]}]}),
    ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["Is old."]}]}),
    ("open_nodes", {"names": ["Acme", "Nobody"]}),
    ("open_nodes", {"names": []}),
    ("search_nodes", {"query": "Prefers tea"}),
    ("search_nodes", {"query": ""}),
    ("read_graph", {}),
    ("delete_observations", {"deletions": [{"entityName": "Acme", "observations": ["Is big."]}]}),
    ("delete_observations", {"deletions": [{"entityName": "No", "observations": ["Is big."]}]}),
    ("delete_relations", {"relations": [WORKS_AT, {**WORKS_AT, "to": "Nobody"}]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["Acme", "Nobody"]}),
    ("read_graph", {}),
]


class Answer(NamedTuple):
    """What a client gets of a call."""

    text: str
    structured: dict[str, Any] | None
    is_error: bool


@pytest.fixture(scope="session")
def command() -> list[str]:
    """How the real server is started."""
    try:
        node, folder = install(PACKAGE, VERSION)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{PACKAGE}@{VERSION} cannot be had from npm: {error}")
    return [node, str(folder / "dist" / "index.js")]


def real_server(command: list[str], file: Path) -> StdioServerParameters:
    environment = {**os.environ, "MEMORY_FILE_PATH": str(file)}
    return StdioServerParameters(command=command[0], args=command[1:], env=environment)


def memolith(folder: Path) -> StdioServerParameters:
    arguments = ["-m", "memolith.doors.main", "stdio", "--tools", "official"]
    environment = {**os.environ, "MEMOLITH_EMBEDDER": "none"}
    return StdioServerParameters(
        command=sys.executable, args=[*arguments, "--data", str(folder)], env=environment
    )


def answers(server: StdioServerParameters, calls: Calls) -> list[Answer]:
    async def main() -> list[Answer]:
        found = []
        async with Client(stdio_client(server)) as client:
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                found.append(Answer(answered(result), result.structured_content, result.is_error))
        return found

    return anyio.run(main)


def listed_tools(server: StdioServerParameters) -> list[dict[str, Any]]:
    async def main() -> list[dict[str, Any]]:
        async with Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
            return [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools]

    return anyio.run(main)


def without_descriptions(node: Any) -> Any:
    """A list of tools without what is said of them, which is our own."""
    if isinstance(node, list):
        return [without_descriptions(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    return {
        key: without_descriptions(value)
        for key, value in node.items()
        if key != "description" or not isinstance(value, str)
    }


def test_the_lists_of_tools_are_equal_but_for_the_descriptions(
    command: list[str], tmp_path: Path
) -> None:
    real = without_descriptions(listed_tools(real_server(command, tmp_path / "memory.jsonl")))
    for tool in real:
        # Says that no tool can be run as a task, which is what holds where nothing is said.
        assert tool.pop("execution", {"taskSupport": "forbidden"}) == {"taskSupport": "forbidden"}
    assert without_descriptions(listed_tools(memolith(tmp_path / "data"))) == real


def test_every_call_is_answered_alike(command: list[str], tmp_path: Path) -> None:
    real = answers(real_server(command, tmp_path / "memory.jsonl"), ANSWERED_ALIKE)
    ours = answers(memolith(tmp_path / "data"), ANSWERED_ALIKE)
    for call, expected, answer in zip(ANSWERED_ALIKE, real, ours, strict=True):
        assert answer == expected, call


def test_the_resource_is_equal(command: list[str], tmp_path: Path) -> None:
    async def read(server: StdioServerParameters) -> tuple[Any, Any]:
        async with Client(stdio_client(server)) as client:
            for name, arguments in BEGINNING:
                await client.call_tool(name, arguments)
            (listed,) = (await client.list_resources()).resources
            (contents,) = (await client.read_resource(str(listed.uri))).contents
            shown = listed.model_dump(by_alias=True, exclude_none=True, mode="json")
            return without_descriptions(shown), json.loads(contents.model_dump()["text"])

    real = anyio.run(read, real_server(command, tmp_path / "memory.jsonl"))
    assert anyio.run(read, memolith(tmp_path / "data")) == real


@each_store
def test_a_graph_goes_through_memolith_and_back(
    app: App, command: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "memory.jsonl"
    answers(real_server(command, file), BEGINNING)
    original = file.read_bytes()

    imported(app, file)
    assert exported(app, tmp_path / "same.jsonl").read_bytes() == original

    change_in_both_dialects(app)
    back = exported(app, tmp_path / "back.jsonl")
    (read,) = answers(real_server(command, back), [("read_graph", {})])
    registry = app.registry.choose("official")
    ours = registry.run("read_graph", {}, Call(ME, app.engine))
    assert read.structured == body_of(ours)
    assert read.structured == {
        "entities": [
            {**MARIA, "observations": ["Prefers tea.", "Lives in\nKöln", "Sings."]},
            # It stands where a relation named it first.
            {"name": "Bob", "entityType": "person", "observations": ["Is shy."]},
            {"name": "Rust", "entityType": "Technology", "observations": []},
        ],
        "relations": [
            {**WORKS_AT, "to": "Bob", "relationType": "knows → 漢"},
            {**WORKS_AT, "to": "Rust", "relationType": "Uses"},
        ],
    }


def change_in_both_dialects(app: App) -> None:
    """Add, change and delete through the family official and through Subcog."""
    official = app.registry.choose("official")

    def ask(tool: str, **arguments: Any) -> None:
        outcome = official.run(tool, arguments, Call(ME, app.engine))
        assert outcome.ok, outcome.body

    def subcog(tool: str, **arguments: Any) -> None:
        outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
        assert outcome.ok, outcome.body

    ask(
        "add_observations",
        observations=[{"entityName": "Maria Müller", "contents": ["Sings."]}],
    )
    subcog("subcog_entities", action="create", name="Rust", entity_type="Technology")
    subcog(
        "subcog_relationships",
        action="create",
        from_entity="Maria Müller",
        to_entity="Rust",
        relationship_type="Uses",
    )
    subcog("subcog_entities", action="delete", entity_id="Acme")
    bob = {"name": "Bob", "entityType": "person", "observations": ["Is shy."]}
    ask("create_entities", entities=[bob])


def exported(app: App, file: Path) -> Path:
    export_notes(app, parse(["export", str(file), "--format", "official"]))
    return file
