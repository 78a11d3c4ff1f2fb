"""The MCP Inspector, the reference client: every profile, over both transports, in every era."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scripts.conformance import install

from memolith.bootstrap import families, open_app
from memolith.settings import Settings
from memolith.tools.registry import Registry
from tests.conftest import ME, note
from tests.programs.children import CLI, SRC, Child, environment

PACKAGE, VERSION = "@modelcontextprotocol/inspector", "2.12.0"
LAUNCHER = "clients/launcher/build/index.js"
RUN_S = 180
WAYS = [
    ("stdio", "legacy"),
    ("http", "auto"),
    ("stdio", "modern"),
    ("http", "legacy"),
    ("stdio", "auto"),
    ("http", "modern"),
]
NEXT = len(WAYS) - 1
"""How far the second way of a name lies behind its first: another door and another era."""
FAMILIES = [family.name for family in families() if family.listed_over_mcp]
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "core": ("remember", {"content": "Otters hold hands 🦦 while they sleep."}),
    "lanonasis": ("create_memory", {"title": "Otters 🦦", "content": "Otters hold hands."}),
    "sekha": (
        "memory_store",
        {"label": "Otters 🦦", "messages": [{"role": "user", "content": "Otters hold hands?"}]},
    ),
    "memorylake": ("get_memorylake_metadata", {}),
    "knowledge": (
        "create_concept",
        {"name": "Sleep", "explanation": "Otters hold hands 🦦 while they sleep."},
    ),
    "subcog": (
        "subcog_capture",
        {"content": "Beavers 🦫 build at night.", "namespace": "patterns"},
    ),
    "chatgpt": ("search", {"query": "zebra"}),
    "official": (
        "create_entities",
        {"entities": [{"name": "Otter 🦦", "entityType": "animal", "observations": ["Swims."]}]},
    ),
    "openmemory": ("add_memories", {"text": "Otters hold hands 🦦 while they sleep."}),
    "basic_memory": (
        "write_note",
        {"title": "Otters 🦦", "content": "Otters hold hands.", "directory": "animals"},
    ),
}
FAILING: dict[str, tuple[str, dict[str, Any]]] = {
    "core": ("fetch", {"ids": ["nope"]}),
    "lanonasis": ("get_memory", {"memory_id": "nope"}),
    "sekha": ("memory_export", {"conversation_id": "nope"}),
    "memorylake": ("fetch_memory", {"memory_ids": ["ds-nope"]}),
    "knowledge": ("get_concept", {"concept_id": "nope"}),
    "subcog": ("subcog_get", {"memory_id": "nope"}),
    "chatgpt": ("fetch", {"id": "nope"}),
    "official": (
        "add_observations",
        {"observations": [{"entityName": "nope", "contents": ["Swims."]}]},
    ),
    "openmemory": ("delete_memories", {"memory_ids": ["nope"]}),
    "basic_memory": ("delete_note", {"identifier": "nope"}),
}
TELLS_IN_TEXT = {
    "official": "nope",
    "openmemory": "No accessible memories",
    "basic_memory": "There is no note",
}
"""Families whose answers are a text of their own, with what they say of something unknown."""
ONCE = ("name", "title")
"""Arguments whose value may stand only once in a store."""
# The exit code of the Inspector when a tool answers with isError.
IS_ERROR = 5
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


@dataclass(frozen=True)
class Ran:
    """How a run of the Inspector ended, and the result that it printed."""

    code: int
    result: dict[str, Any]
    complaints: str


Inspect = Callable[..., Ran]


def ways(names: Iterable[str]) -> list[Any]:
    """The first name in every way, every other one through both doors and in two eras.

    A family decides what an answer says, and a way how it is sent; neither knows of the other, so
    not every pair is tried.
    """
    return [
        pytest.param(
            name,
            *WAYS[place],
            id=f"{name}-{'-'.join(WAYS[place])}",
            marks=[pytest.mark.full],
        )
        for number, name in enumerate(names)
        for place in places(number)
    ]


def places(number: int) -> Iterable[int]:
    """Which of the ways a name takes."""
    if number == 0:
        return range(len(WAYS))
    return (number % len(WAYS), (number + NEXT) % len(WAYS))


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    try:
        node, folder = install(PACKAGE, VERSION)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"{PACKAGE}@{VERSION} cannot be had from npm: {error}")
    return [node, str(folder / LAUNCHER), "--cli"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    app = open_app(Settings(data=folder, embedder="none"))
    app.engine.writing.remember(ME, note("The zebra is striped.", id="one", title="Zebras"))
    app.close()
    return folder


@pytest.fixture(scope="module")
def inspect(
    inspector: list[str], data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Inspect]:
    """Runs the Inspector against a profile; every server works on the same folder."""
    home = tmp_path_factory.mktemp("home")
    with Child(*CLI[1:], "serve", "--port", "0", "--json", "--data", data) as server:
        told = json.loads(server.line())
        key = Path(told["key_file"]).read_text(encoding="utf-8").strip()

        def target(profile: str, door: str) -> list[str]:
            if door == "stdio":
                return [
                    "-e",
                    f"PYTHONPATH={SRC}",
                    "-e",
                    "MEMOLITH_EMBEDDER=none",
                    *CLI,
                    "stdio",
                    "--tools",
                    profile,
                    "--data",
                    str(data),
                ]
            path = "/mcp" if profile == "all" else f"/mcp/{profile}"
            return [
                told["url"] + path,
                "--transport",
                "http",
                "--header",
                f"Authorization: Bearer {key}",
            ]

        def run(profile: str, door: str, era: str, *arguments: str) -> Ran:
            ran = subprocess.run(
                [
                    *inspector,
                    *target(profile, door),
                    "--protocol-era",
                    era,
                    "--format",
                    "json",
                    *arguments,
                ],
                capture_output=True,
                timeout=RUN_S,
                env=environment(HOME=str(home)),
            )
            complaints = ran.stderr.decode()
            assert ran.stdout, complaints
            return Ran(ran.returncode, json.loads(ran.stdout)["result"], complaints)

        yield run


def call(
    inspect: Inspect, family: str, door: str, era: str, tool: str, arguments: dict[str, Any]
) -> Ran:
    ran = inspect(
        family,
        door,
        era,
        "--method",
        "tools/call",
        "--tool-name",
        tool,
        "--tool-args-json",
        json.dumps(arguments),
    )
    assert (SERVER_INFO in ran.result.get("_meta", {})) == (era != "legacy"), (
        "this is not the era that was asked for"
    )
    return ran


def test_every_listed_family_has_its_calls_here() -> None:
    assert list(CALLS) == list(FAILING) == FAMILIES


@pytest.mark.parametrize("number", range(1, len(FAMILIES) + 1))
def test_every_name_goes_through_both_doors_and_two_eras(number: int) -> None:
    doors, eras = zip(*(WAYS[place] for place in places(number)), strict=True)
    assert set(doors) == {"stdio", "http"}
    assert len(set(eras)) == 2


@pytest.mark.parametrize("profile,door,era", ways(["all", *FAMILIES]))
def test_the_list_of_a_profile_is_portable(
    inspect: Inspect, profile: Any, door: Any, era: Any
) -> None:
    ran = inspect(profile, door, era, "--method", "tools/list", "--strict")
    assert ran.code == 0, ran.complaints
    assert [tool["name"] for tool in ran.result["tools"]] == [
        tool.name for tool in Registry(families()).choose(profile).tools
    ]


@pytest.mark.parametrize("family,door,era", ways(CALLS))
def test_a_call_succeeds(inspect: Inspect, family: Any, door: Any, era: Any) -> None:
    name, given = CALLS[family]
    # Names stand once, and all ways lead to one server.
    own = f"Sleep, {door}, {era}"
    given = {key: own if key in ONCE else value for key, value in given.items()}
    ran = call(inspect, family, door, era, name, given)
    assert ran.code == 0, ran.complaints
    text = ran.result["content"][0]["text"]
    if family in TELLS_IN_TEXT:
        assert text
    else:
        assert json.loads(text) == ran.result["structuredContent"]


@pytest.mark.parametrize("family,door,era", ways(FAILING))
def test_a_call_that_fails_is_seen_as_an_error(
    inspect: Inspect, family: Any, door: Any, era: Any
) -> None:
    if family in ("lanonasis", "subcog") and door == "http":
        # On its own path such a family sends JSON-RPC errors, which the Inspector only prints.
        with pytest.raises(AssertionError, match="There is no"):
            call(inspect, family, door, era, *FAILING[family])
        return
    ran = call(inspect, family, door, era, *FAILING[family])
    assert ran.code == IS_ERROR, ran.complaints
    text = ran.result["content"][0]["text"]
    if family in TELLS_IN_TEXT:
        assert TELLS_IN_TEXT[family] in text
        return
    body = json.loads(text)
    assert (
        body.get("code") in (-32004, -32604)
        or "There is no" in body["error"]
        or body["error"].endswith("not_found")
    )
