"""Pydantic AI: a toolset to remember and recall, and message histories kept in a memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from pydantic_ai import FunctionToolset, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from memolith.doors.library.memory import Memory
from memolith.errors import MemolithError
from memolith.integrations.agent_tools import DEFAULT_KINDS, INSTRUCTIONS, agent_functions
from memolith.integrations.transcripts import Entry, Transcript

FRAMEWORK = "pydantic-ai"


def memory_toolset(memory: Memory, kinds: Sequence[str] = DEFAULT_KINDS) -> FunctionToolset[Any]:
    """Tools by which an agent remembers, recalls and forgets, and when to use them.

    The agent recalls items of these kinds.

    `Agent(model, toolsets=[memory_toolset(memory)])`
    """
    tools = [telling_the_model(function) for function in agent_functions(memory, kinds)]
    return FunctionToolset(tools, instructions=INSTRUCTIONS, id="memolith")


def telling_the_model(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its errors told to the model, which may then do better."""

    @wraps(function)
    def run(*positional: Any, **named: Any) -> Any:
        try:
            return function(*positional, **named)
        except MemolithError as error:
            raise ModelRetry(error.message) from error

    return run


class MessageHistory:
    """The messages of one session: give them to a run, and keep what the run added.

    `run = agent.run_sync("...", message_history=history.messages())`, then
    `history.add(run.new_messages())`.
    """

    def __init__(self, session_id: str, memory: Memory) -> None:
        self.session_id = session_id
        self._transcript = Transcript(memory, FRAMEWORK, session_id)

    def messages(self, limit: int | None = None) -> list[ModelMessage]:
        """The newest messages, or all, the oldest first."""
        messages: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python(
            self._transcript.values(limit)
        )
        return messages

    def add(self, messages: Sequence[ModelMessage]) -> None:
        """Keep new messages at the end."""
        values = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        self._transcript.add([Entry(text_of(value["parts"]), value) for value in values])

    def clear(self) -> None:
        """Take every message out."""
        self._transcript.clear()


def text_of(parts: Iterable[dict[str, Any]]) -> str:
    """The text of a message by which it is found later."""
    texts = [part["content"] for part in parts if isinstance(part.get("content"), str)]
    return "\n".join(texts)
