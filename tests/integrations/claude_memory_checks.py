"""What Claude's memory tool does on a memory, checked with the real package and its runner."""

from __future__ import annotations

import asyncio
import json
import tempfile
from typing import Any

from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

from memolith import Memory
from memolith.integrations.claude_memory import AsyncMemolithMemoryTool, MemolithMemoryTool
from tests.integrations.checking import refused, run_checks

MODEL = "claude-sonnet-5-5"
EVERY_COMMAND: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/tea.md", "file_text": "Maria: tea\nOmar: coffee\n"},
    {"command": "view", "path": "/memories/tea.md", "view_range": [2, 2]},
    {
        "command": "str_replace",
        "path": "/memories/tea.md",
        "old_str": "coffee",
        "new_str": "cocoa",
    },
    {
        "command": "insert",
        "path": "/memories/tea.md",
        "insert_line": 1,
        "insert_text": "Ann: milk\n",
    },
    {"command": "rename", "old_path": "/memories/tea.md", "new_path": "/memories/old/drinks.md"},
    {"command": "view", "path": "/memories/old/drinks.md"},
    {"command": "delete", "path": "/memories/old"},
    {"command": "view", "path": "/memories/old/drinks.md"},
    {"command": "create", "path": "/memories/../outside", "file_text": "x"},
    {"command": "shred", "path": "/memories"},
    {"command": "view"},
]
EVERY_ANSWER = [
    [
        False,
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden "
        "items and node_modules:\n0B\t/memories",
    ],
    [False, "File created successfully at: /memories/tea.md"],
    [False, "Here's the content of /memories/tea.md with line numbers:\n     2\tOmar: coffee"],
    [
        False,
        "The memory file has been edited.\n     1\tMaria: tea\n     2\tOmar: cocoa\n     3\t",
    ],
    [False, "The file /memories/tea.md has been edited."],
    [False, "Successfully renamed /memories/tea.md to /memories/old/drinks.md"],
    [
        False,
        "Here's the content of /memories/old/drinks.md with line numbers:\n"
        "     1\tMaria: tea\n     2\tAnn: milk\n     3\tOmar: cocoa\n     4\t",
    ],
    [False, "Successfully deleted /memories/old"],
    [True, "The path /memories/old/drinks.md does not exist. Please provide a valid path."],
    [
        True,
        "Error: Path /memories/../outside would escape /memories directory; leave out `.`, `..`, "
        "backslashes and encoded characters",
    ],
    [
        True,
        "Error: There is no `command` 'shred'; use one of view, create, str_replace, insert, "
        "delete, rename",
    ],
    [True, "Error: The command `view` needs `path`, a text"],
]


def asked(script: list[dict[str, Any]]) -> Any:
    return [{"role": "user", "content": json.dumps(script)}]


def check_the_runner_carries_out_every_command(memory: Memory) -> None:
    runner = Anthropic().beta.messages.tool_runner(
        model=MODEL,
        max_tokens=100,
        messages=asked(EVERY_COMMAND),
        tools=[MemolithMemoryTool(memory, space="runner")],
    )
    assert json.loads(runner.until_done().content[0].text) == EVERY_ANSWER


def check_the_runner_works_without_threads(memory: Memory) -> None:
    runner = Anthropic().beta.messages.tool_runner(
        model=MODEL,
        max_tokens=100,
        messages=asked(EVERY_COMMAND),
        tools=[MemolithMemoryTool(memory, space="without threads")],
        thread=False,
    )
    assert json.loads(runner.until_done().content[0].text) == EVERY_ANSWER


async def check_the_async_runner_carries_out_every_command(memory: Memory) -> None:
    async with AsyncAnthropic() as client:
        runner = client.beta.messages.tool_runner(
            model=MODEL,
            max_tokens=100,
            messages=asked(EVERY_COMMAND),
            tools=[AsyncMemolithMemoryTool(memory, space="async runner")],
        )
        message = await runner.until_done()
    assert json.loads(message.content[0].text) == EVERY_ANSWER


def check_the_streaming_runner_carries_out_every_command(memory: Memory) -> None:
    runner = Anthropic().beta.messages.tool_runner(
        model=MODEL,
        max_tokens=100,
        messages=asked(EVERY_COMMAND),
        tools=[MemolithMemoryTool(memory, space="streaming")],
        stream=True,
    )
    for stream in runner:
        message = stream.get_final_message()
    assert json.loads(message.content[0].text) == EVERY_ANSWER


def check_a_later_conversation_sees_what_an_earlier_one_kept(memory: Memory) -> None:
    answers = []
    for script in (
        [{"command": "create", "path": "/memories/a", "file_text": "kept"}],
        [{"command": "view", "path": "/memories/a"}],
    ):
        runner = Anthropic().beta.messages.tool_runner(
            model=MODEL,
            max_tokens=100,
            messages=asked(script),
            tools=[MemolithMemoryTool(memory, space="later")],
        )
        answers += json.loads(runner.until_done().content[0].text)
    assert answers[1][1].endswith("     1\tkept")


def check_what_claude_kept_is_recalled_and_undone(memory: Memory) -> None:
    tool = MemolithMemoryTool(memory, space="recalled")
    tool.call({"command": "create", "path": "/memories/zoo.md", "file_text": "Okapis are shy."})
    tool.call(
        {
            "command": "str_replace",
            "path": "/memories/zoo.md",
            "old_str": "shy",
            "new_str": "bold",
        }
    )
    hit = memory.recall("okapis")[0]
    assert hit.text == "Okapis are bold."
    memory.undo(memory.history(hit.id)[-1].event)
    assert "Okapis are shy." in tool.call({"command": "view", "path": "/memories/zoo.md"})


def check_an_error_of_the_memory_is_told_to_the_model(memory: Memory) -> None:
    tool = MemolithMemoryTool(memory)
    large = {"command": "create", "path": "/memories/large", "file_text": "a" * 1_100_000}
    error = refused(ToolError, lambda: tool.call(large))
    assert "1,100,000 bytes" in str(error.content)


def check_the_cache_control_is_passed_on(memory: Memory) -> None:
    for kind in (MemolithMemoryTool, AsyncMemolithMemoryTool):
        tool = kind(memory, cache_control={"type": "ephemeral"})
        assert tool.to_dict()["cache_control"] == {"type": "ephemeral"}


def check_all_memory_is_cleared(memory: Memory) -> None:
    tool = AsyncMemolithMemoryTool(memory, space="cleared")
    command = {"command": "create", "path": "/memories/a", "file_text": "text"}
    asyncio.run(tool.call(command))
    assert asyncio.run(tool.clear_all_memory()) == "All memory cleared"
    assert asyncio.run(tool.call({"command": "view", "path": "/memories"})).endswith(
        "0B\t/memories"
    )


def check_files_are_the_same_as_those_of_the_tool_on_a_disk(memory: Memory) -> None:
    paths = ["/memories/a", "/memories/b/c", "/memories/b/d/e", "/memories/b", "/memories/x/y"]
    commands: list[dict[str, Any]] = []
    for path in paths:
        commands += [
            {"command": "create", "path": path, "file_text": f"one\ntwo {path}\nthree\n"},
            {"command": "insert", "path": path, "insert_line": 3, "insert_text": "four\n"},
            {"command": "insert", "path": path, "insert_line": 9, "insert_text": "nine\n"},
            {"command": "str_replace", "path": path, "old_str": "one", "new_str": "1\n1"},
            {"command": "str_replace", "path": path, "old_str": "o", "new_str": "0"},
            {"command": "view", "path": path, "view_range": [2, 3]},
        ]
    commands += [
        {"command": "rename", "old_path": "/memories/b", "new_path": "/memories/n/b"},
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/n"},
        {"command": "rename", "old_path": "/memories/none", "new_path": "/memories/m"},
        {"command": "delete", "path": "/memories/x"},
        {"command": "delete", "path": "/memories/x"},
        {"command": "delete", "path": "/memories"},
    ]
    commands += [{"command": "view", "path": path} for path in [*paths, "/memories/n/b/c"]]
    with tempfile.TemporaryDirectory() as folder:
        on_disk = BetaLocalFilesystemMemoryTool(folder)
        in_memory = MemolithMemoryTool(memory, space="disk")
        for command in commands:
            assert outcome(in_memory, command) == outcome(on_disk, command), command


def outcome(tool: Any, command: dict[str, Any]) -> object:
    """Whether a command was carried out, and the lines of a file that it showed."""
    try:
        answer = tool.call(command)
    except ToolError:
        return "refused"
    is_file = command["command"] == "view" and answer.startswith("Here's")
    return answer if is_file else "done"


if __name__ == "__main__":
    run_checks(globals())
