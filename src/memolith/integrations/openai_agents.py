"""OpenAI Agents SDK: sessions that are kept in a memory, and tools to remember and recall."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from agents import FunctionTool, function_tool
from agents.items import TResponseInputItem
from agents.memory import SessionSettings

from memolith.doors.library.memory import Memory
from memolith.errors import InvalidInput
from memolith.integrations.agent_tools import DEFAULT_KINDS, agent_functions
from memolith.integrations.transcripts import Entry, Transcript

FRAMEWORK = "openai-agents"


class MemolithSession:
    """A session of the Agents SDK, whose messages are items of a memory.

    `Runner.run(agent, "...", session=MemolithSession("maria", memory))`
    """

    def __init__(
        self, session_id: str, memory: Memory, *, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._transcript = Transcript(memory, FRAMEWORK, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest items, or all, the oldest first."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit < 0:
            raise InvalidInput("The limit is a number of items, 0 or more.", field="limit")
        items: list[TResponseInputItem] = await asyncio.to_thread(self._transcript.values, limit)
        return items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep the items at the end of the session."""
        entries = [Entry(text_of(item), dict(item)) for item in items]
        await asyncio.to_thread(self._transcript.add, entries)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item out; None if there is none."""
        item: TResponseInputItem | None = await asyncio.to_thread(self._transcript.pop)
        return item

    async def clear_session(self) -> None:
        """Take every item out."""
        await asyncio.to_thread(self._transcript.clear)


def memory_tools(memory: Memory, kinds: Sequence[str] = DEFAULT_KINDS) -> list[FunctionTool]:
    """Tools by which an agent remembers, recalls and forgets; it recalls items of these kinds.

    `Agent(name="...", tools=memory_tools(memory))`
    """
    functions = agent_functions(memory, kinds)
    return [function_tool(answering_json(function)) for function in functions]


def answering_json(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its lists as JSON, because the SDK would give models Python's notation."""

    @wraps(function)
    def run(*positional: Any, **named: Any) -> str:
        result = function(*positional, **named)
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

    return run


def text_of(item: Mapping[str, Any]) -> str:
    """The text of an item by which it is found later."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(str(part["text"]) for part in content if part.get("text"))
    if item.get("type") == "function_call":
        return f"{item.get('name')}({item.get('arguments')})"
    output = item.get("output")
    return output if isinstance(output, str) else str(item.get("type", ""))
