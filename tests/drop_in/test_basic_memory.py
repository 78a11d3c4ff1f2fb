"""The real server of basic-memory, beside the family basic_memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.checked import answered
from tests.drop_in.basic_memory_package import basic_memory_program, quiet_environment

pytestmark = pytest.mark.full
Calls = list[tuple[str, dict[str, Any]]]
JSON = {"output_format": "json"}

NOT_OFFERED = {
    "basic_memory_diagnostics": "`memolith doctor` does this",
    "cat": "read_note does the same",
    "create_memory_project": "a project is there as soon as a note names it",
    "delete_project": "a project here has no folder and no record of its own",
    "fetch": "the family chatgpt has it",
    "find": "search_notes and list_directory do the same",
    "grep": "search_notes does the same",
    "list_workspaces": "belongs to basic-memory's cloud",
    "ls": "list_directory does the same",
    "man": "tells how to use the tools that are named like commands",
    "read_content": "files other than notes are documents here",
    "schema_diff": "memolith checks no schemas",
    "schema_infer": "memolith checks no schemas",
    "schema_validate": "memolith checks no schemas",
    "search": "the family chatgpt has it",
    "tail": "recent_activity does the same",
}
"""The tools of basic-memory that the family does not have, and why."""
EVERYWHERE_LEFT_OUT = {
    "project_id": "belongs to basic-memory's cloud",
    "workspace": "belongs to basic-memory's cloud",
}
LEFT_OUT = {
    ("build_context", "compact"): "answers are brief already",
    ("read_note", "page"): "pages of suggestions; there are five in the error",
    ("read_note", "page_size"): "pages of suggestions; there are five in the error",
    ("recent_activity", "depth"): "notes only, so there is nothing to follow",
    ("recent_activity", "type"): "observations and relations are parts of notes",
    ("search_notes", "categories"): "observations are lines of a note",
    ("search_notes", "compact"): "answers are brief already",
    ("search_notes", "entity_types"): "observations and relations are parts of notes",
    ("search_notes", "projects"): "one project, or all of them",
    ("search_notes", "search_all_projects"): "without a project all are searched",
    ("search_notes", "time_kind"): "observations have no dates of their own",
    ("search_notes", "valid_at"): "observations have no dates of their own",
    ("search_notes", "valid_overlaps"): "observations have no dates of their own",
}
"""Arguments of basic-memory that the family does not take, and why."""
OTHER_SCHEMA = {
    ("build_context", "depth"): "a number only, not a number in a text",
    ("build_context", "timeframe"): "all times are the default, not a week",
    ("edit_note", "expected_replacements"): "the default is told, not null",
    ("edit_note", "replace_subsections"): "the default is told, not null",
    ("search_notes", "search_type"): "the possible values and the default are told",
    ("write_note", "overwrite"): "the default is told, not null",
}
"""Arguments whose type or default is another one, and why."""
BOUNDS = ("minimum", "maximum", "minLength", "maxLength")

COFFEE = """# Coffee

Tea and coffee in Köln.

## Observations
- [method] Pour over gives clarity

## Relations
- pairs_with [[Chocolate]]

## End
Done."""
WRITING: Calls = [
    ("write_note", {"title": "Chocolate", "content": "# Chocolate\nSweet.", "directory": "food"}),
    (
        "write_note",
        {
            "title": "Coffee",
            "content": COFFEE,
            "directory": "drinks",
            "tags": ["hot"],
            "metadata": {"status": "draft", "rating": 4},
        },
    ),
    ("write_note", {"title": "Coffee", "content": "Other.", "directory": "drinks"}),
    ("write_note", {"title": "Top", "content": "Text.", "directory": "/", "note_type": "guide"}),
    ("write_note", {"title": "Lost", "content": "Text.", "directory": "../x"}),
    ("edit_note", {"identifier": "food/chocolate", "operation": "append", "content": "Dark."}),
    ("edit_note", {"identifier": "Chocolate", "operation": "prepend", "content": "Before."}),
    (
        "edit_note",
        {
            "identifier": "food/chocolate",
            "operation": "find_replace",
            "find_text": "Sweet",
            "content": "Bitter",
        },
    ),
    (
        "edit_note",
        {
            "identifier": "food/chocolate",
            "operation": "find_replace",
            "find_text": "nowhere",
            "content": "x",
        },
    ),
    (
        "edit_note",
        {
            "identifier": "drinks/coffee",
            "operation": "replace_section",
            "section": "## Observations",
            "content": "- [method] Press",
        },
    ),
    (
        "edit_note",
        {
            "identifier": "drinks/coffee",
            "operation": "insert_before_section",
            "section": "## End",
            "content": "Between.",
        },
    ),
    ("edit_note", {"identifier": "food/new", "operation": "append", "content": "Made."}),
    (
        "edit_note",
        {"identifier": "food/no", "operation": "find_replace", "find_text": "a", "content": "b"},
    ),
    (
        "edit_note",
        {
            "identifier": "drinks/coffee",
            "operation": "append",
            "content": "z",
            "expected_checksum": "0" * 64,
        },
    ),
]
READING: Calls = [
    ("read_note", {"identifier": "drinks/coffee"}),
    ("read_note", {"identifier": "memory://food/chocolate"}),
    ("read_note", {"identifier": "Coffee", "include_content": False}),
    ("read_note", {"identifier": "food/New.md"}),
    ("list_directory", {}),
    ("list_directory", {"depth": 3}),
    ("list_directory", {"dir_name": "food", "file_name_glob": "C*"}),
    ("list_directory", {"dir_name": "/food", "sort": "title_desc", "page_size": 1}),
    ("search_notes", {"query": "Coffee", "search_type": "title"}),
    ("search_notes", {"query": "food/chocolate", "search_type": "permalink"}),
    ("search_notes", {"query": "bitter", "search_type": "text"}),
    ("search_notes", {"query": "qqqzzz", "search_type": "text"}),
    ("search_notes", {"tags": ["hot"]}),
    ("search_notes", {"note_types": ["guide"]}),
    ("search_notes", {"metadata_filters": {"rating": {"$gte": 4}}}),
    ("search_notes", {"status": "draft"}),
    ("recent_activity", {}),
    ("build_context", {"url": "memory://drinks/coffee"}),
]
MOVING: Calls = [
    ("move_note", {"identifier": "food/chocolate", "destination_path": "sweets/Chocolate.md"}),
    ("read_note", {"identifier": "food/chocolate"}),
    ("read_note", {"identifier": "sweets/chocolate"}),
    ("move_note", {"identifier": "drinks/coffee", "destination_folder": "hot"}),
    ("move_note", {"identifier": "Top", "destination_path": "hot/Coffee.md"}),
    ("move_note", {"identifier": "hot", "destination_path": "warm", "is_directory": True}),
    ("move_note", {"identifier": "no/thing", "destination_path": "a/b.md"}),
    (
        "write_note",
        {
            "title": "Coffee",
            "content": "# Coffee\nNew.",
            "directory": "warm",
            "metadata": {"rating": 5},
            "overwrite": True,
        },
    ),
    ("read_note", {"identifier": "warm/Coffee.md"}),
    ("delete_note", {"identifier": "Chocolate"}),
    ("delete_note", {"identifier": "warm", "is_directory": True}),
    ("list_directory", {"depth": 3}),
]
NOT_COMPARED = {
    "checksum": "that of the note with its fields here, that of the file there",
    "created_at": "two servers, two clocks",
    "updated_at": "two servers, two clocks",
    "score": "a probability here, a measure of SQLite there",
    "metadata": "the fields of a note here, its type alone there; and what a context is about",
    "source": "the path here, the identifier that was given there",
    "observations": "compared by category and content",
    "related_results": "compared by what is related",
}
"""Fields of answers that both have, with values that differ, and why."""


class Answer(NamedTuple):
    """What a client gets of a call."""

    is_error: bool
    result: Any


@pytest.fixture(scope="module")
def program() -> Path:
    return basic_memory_program()


def real_server(program: Path, home: Path) -> StdioServerParameters:
    home.mkdir()
    return StdioServerParameters(
        command=str(program), args=["mcp"], env=quiet_environment(home), cwd=str(home)
    )


def memolith(folder: Path) -> StdioServerParameters:
    arguments = ["-m", "memolith.doors.main", "stdio", "--tools", "basic_memory"]
    environment = {**os.environ, "MEMOLITH_EMBEDDER": "none"}
    return StdioServerParameters(
        command=sys.executable, args=[*arguments, "--data", str(folder)], env=environment
    )


def listed_tools(server: StdioServerParameters) -> dict[str, dict[str, Any]]:
    async def main() -> dict[str, dict[str, Any]]:
        async with Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
            return {tool.name: tool.model_dump(by_alias=True) for tool in tools}

    return anyio.run(main)


def answers(server: StdioServerParameters, calls: Calls) -> list[Answer]:
    async def main() -> list[Answer]:
        found = []
        async with Client(stdio_client(server)) as client:
            for name, arguments in calls:
                result = await client.call_tool(name, {**arguments, **JSON})
                structured = result.structured_content or {}
                body = structured.get("result", answered(result))
                found.append(Answer(result.is_error, body))
        return found

    return anyio.run(main)


def plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The type and the default of an argument. That null is the default is told in two ways;
    bounds are told here and checked there."""
    wanted = {key: value for key, value in schema.items() if key not in ("description", "title")}
    choices = [choice for choice in wanted.pop("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        wanted |= choices[0]
    elif choices:
        wanted["anyOf"] = choices
    if wanted.get("default", "") is None:
        del wanted["default"]
    if "enum" in wanted:
        wanted["enum"] = sorted(wanted["enum"])
    return {key: value for key, value in wanted.items() if key not in BOUNDS}


def test_the_lists_of_tools_differ_only_as_explained(program: Path, tmp_path: Path) -> None:
    real = listed_tools(real_server(program, tmp_path / "home"))
    ours = listed_tools(memolith(tmp_path / "data"))
    assert set(ours) <= set(real)
    assert set(real) - set(ours) == set(NOT_OFFERED)
    left_out, other = set(), set()
    for name, tool in ours.items():
        arguments = tool["inputSchema"]["properties"]
        real_arguments = real[name]["inputSchema"]["properties"]
        assert set(arguments) <= set(real_arguments), name
        required = tool["inputSchema"].get("required", [])
        assert required == real[name]["inputSchema"].get("required", []), name
        missing = set(real_arguments) - set(arguments) - set(EVERYWHERE_LEFT_OUT)
        left_out |= {(name, argument) for argument in missing}
        other |= {
            (name, argument)
            for argument, schema in arguments.items()
            if plain_schema(schema) != plain_schema(real_arguments[argument])
        }
        hints = [server[name]["annotations"]["readOnlyHint"] or False for server in (ours, real)]
        assert hints[0] == hints[1], name
    assert left_out == set(LEFT_OUT)
    assert other == set(OTHER_SCHEMA)


def compare(real: Any, ours: Any, call: object) -> int:
    """Check that what both answers have is equal; how many values that were."""
    if isinstance(real, list) and isinstance(ours, list):
        assert len(real) == len(ours), (call, real, ours)
        pairs = zip(real, ours, strict=True)
        return sum(compare(theirs, own, call) for theirs, own in pairs)
    if isinstance(real, dict) and isinstance(ours, dict):
        shared = [key for key in real if key in ours and key not in NOT_COMPARED]
        return sum(compare(real[key], ours[key], (call, key)) for key in shared)
    if isinstance(real, str) and isinstance(ours, str):
        # Texts begin with an empty line there, and a section that is replaced loses the one
        # behind it.
        real, ours = without_empty_lines(real), without_empty_lines(ours)
    assert ours == real, call
    return 1


def without_empty_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


def test_calls_are_answered_alike(program: Path, tmp_path: Path) -> None:
    calls = [*WRITING, *READING, *MOVING]
    real = answers(real_server(program, tmp_path / "home"), calls)
    ours = answers(memolith(tmp_path / "data"), calls)
    for call, theirs, own in zip(calls, real, ours, strict=True):
        assert own.is_error == theirs.is_error, (call, theirs, own)
        if own.is_error:
            continue  # The words of an error are our own.
        compared = compare(theirs.result, own.result, call)
        assert compared or call[0] == "search_notes", call


CONTEXT: Calls = [WRITING[0], WRITING[1], ("build_context", {"url": "memory://drinks/coffee"})]


def test_a_context_has_the_same_observations_and_relations(program: Path, tmp_path: Path) -> None:
    def told(server: StdioServerParameters) -> Any:
        [context] = answers(server, CONTEXT)[-1].result["results"]
        facts = [(fact["category"], fact["content"]) for fact in context["observations"]]
        related = {
            (other["relation_type"], other["from_entity"], other["to_entity"])
            if other["type"] == "relation"
            else (other["title"], other["permalink"], other["file_path"])
            for other in context["related_results"]
        }
        return facts, related

    real = told(real_server(program, tmp_path / "home"))
    assert told(memolith(tmp_path / "data")) == real
    assert real[1] == {
        ("pairs_with", "Coffee", "Chocolate"),
        ("Chocolate", "food/chocolate", "food/Chocolate.md"),
    }


ANSWERED_OTHERWISE: list[tuple[str, dict[str, Any], str]] = [
    ("read_note", {"identifier": "no/thing"}, "an error here, an object with `error` there"),
    ("delete_note", {"identifier": "no/thing"}, "an error here, `deleted: false` there"),
    ("list_directory", {"dir_name": "none"}, "an error here, an empty list there"),
]


def test_what_is_not_there_is_an_error_here_only(program: Path, tmp_path: Path) -> None:
    calls = [WRITING[0], *((name, arguments) for name, arguments, _ in ANSWERED_OTHERWISE)]
    real = answers(real_server(program, tmp_path / "home"), calls)
    ours = answers(memolith(tmp_path / "data"), calls)
    assert [answer.is_error for answer in real] == [False] * len(calls)
    assert [answer.is_error for answer in ours] == [False] + [True] * len(ANSWERED_OTHERWISE)
