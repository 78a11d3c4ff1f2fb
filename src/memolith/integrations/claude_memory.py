"""Claude's memory tool: what Claude writes below `/memories` is kept in a memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaFunctionToolResultType,
    ToolError,
)
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from anyio.to_thread import run_sync

from memolith.doors.library.memory import Memory
from memolith.errors import MemolithError
from memolith.integrations.memory_files import (
    DEFAULT_SPACE,
    CommandRefused,
    MemoryFiles,
    check_command,
)

Result = TypeVar("Result")


class MemolithMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `client.beta.messages.tool_runner(tools=[MemolithMemoryTool(memory)])`.

    Every file is an item of the memory, with its history. Tools with different `space` have
    different files.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        space: str = DEFAULT_SPACE,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.files = MemoryFiles(memory, space)

    def call(self, input: object) -> BetaFunctionToolResultType:
        """Carry out a command as the model sent it."""
        told(partial(check_command, input))
        return super().call(input)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """The lines of a file, or what lies in a directory."""
        return told(partial(self.files.view, command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        return told(partial(self.files.create, command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands once in a file."""
        return told(
            partial(self.files.str_replace, command.path, command.old_str, command.new_str or "")
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put a text below a line of a file."""
        return told(
            partial(self.files.insert, command.path, command.insert_line, command.insert_text)
        )

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file, or every file of a directory."""
        return told(partial(self.files.delete, command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Give a file or a directory another path."""
        return told(partial(self.files.rename, command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Forget every file."""
        return told(self.files.clear)


class AsyncMemolithMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `AsyncAnthropic`; the memory is used in a thread."""

    def __init__(
        self,
        memory: Memory,
        *,
        space: str = DEFAULT_SPACE,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = MemolithMemoryTool(memory, space=space)
        self.files = self._tool.files

    async def call(self, input: object) -> BetaFunctionToolResultType:
        """Carry out a command as the model sent it."""
        told(partial(check_command, input))
        return await super().call(input)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """The lines of a file, or what lies in a directory."""
        return await run_sync(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a new file."""
        return await run_sync(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that stands once in a file."""
        return await run_sync(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Put a text below a line of a file."""
        return await run_sync(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file, or every file of a directory."""
        return await run_sync(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Give a file or a directory another path."""
        return await run_sync(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        """Forget every file."""
        return await run_sync(self._tool.clear_all_memory)


def told(run: Callable[[], Result]) -> Result:
    """What a command answers. What is refused is told to the model, which may then do better."""
    try:
        return run()
    except CommandRefused as error:
        raise ToolError(error.message) from error
    except MemolithError as error:
        raise ToolError(f"Error: {error.message}") from error
