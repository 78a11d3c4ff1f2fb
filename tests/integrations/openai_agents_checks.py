"""What sessions and tools of the OpenAI Agents SDK do, checked with the real package."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Session, Usage
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from agents.memory import OpenAIResponsesCompactionSession, SessionSettings
from agents.tool_context import ToolContext
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from memolith import Memory
from memolith.errors import InvalidInput, TooLarge
from memolith.integrations.openai_agents import MemolithSession, memory_tools
from tests.integrations.checking import refused, run_checks


def said(role: str, text: str) -> Any:
    return {"role": role, "content": text}


class ScriptedModel(Model):
    """A model that recalls once, or calls another tool, then says what it was given."""

    def __init__(
        self,
        tool: str = "recall",
        arguments: str = '{"question": "what does Maria drink?"}',
    ) -> None:
        self.tool = tool
        self.arguments = arguments
        self.inputs: list[list[Any]] = []

    async def get_response(self, *positional: Any, **named: Any) -> ModelResponse:
        given = positional[1] if len(positional) > 1 else named["input"]
        items = [given] if isinstance(given, str) else list(given)
        self.inputs.append(items)
        last = items[-1]
        output: list[Any]
        if isinstance(last, dict) and last.get("type") == "function_call_output":
            content = ResponseOutputText(
                text=str(last["output"]), type="output_text", annotations=[]
            )
            output = [
                ResponseOutputMessage(
                    id=f"msg_{len(self.inputs)}",
                    content=[content],
                    role="assistant",
                    status="completed",
                    type="message",
                )
            ]
        else:
            output = [
                ResponseFunctionToolCall(
                    arguments=self.arguments,
                    call_id=f"call_{len(self.inputs)}",
                    name=self.tool,
                    type="function_call",
                )
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *positional: Any, **named: Any) -> Any:
        raise NotImplementedError


def check_a_session_is_what_the_sdk_expects(memory: Memory) -> None:
    assert isinstance(MemolithSession("s", memory), Session)


async def check_items_come_back_as_they_were_in_order(memory: Memory) -> None:
    session = MemolithSession("order", memory)
    items: list[Any] = [
        said("user", "Hello, what is 1 + 1?"),
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "add",
            "arguments": '{"a": 1, "b": 1}',
            "id": "fc_68af0c1e9b8881a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "2"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABoq" * 40},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Zwei. 二", "annotations": []}],
        },
    ]
    await session.add_items(items)
    assert await session.get_items() == items
    assert await session.get_items(2) == items[-2:]
    assert await session.get_items(0) == []


def check_a_negative_limit_is_refused(memory: Memory) -> None:
    session = MemolithSession("limit", memory)
    error = refused(InvalidInput, lambda: asyncio.run(session.get_items(-1)))
    assert error.field == "limit"


async def check_long_sessions_are_read_to_the_end(memory: Memory) -> None:
    session = MemolithSession("long", memory, session_settings=SessionSettings(limit=3))
    items = [said("user", f"number {number}") for number in range(120)]
    await session.add_items(items)
    assert await session.get_items(1000) == items
    assert await session.get_items() == items[-3:]


def check_of_items_that_are_too_large_none_stays(memory: Memory) -> None:
    session = MemolithSession("large", memory)
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 200_000}
    items = [said("user", "Look at this."), {"role": "user", "content": [picture]}]
    refused(TooLarge, lambda: asyncio.run(session.add_items(items)))
    assert asyncio.run(session.get_items()) == []


async def check_pop_and_clear(memory: Memory) -> None:
    session = MemolithSession("pop", memory)
    other = MemolithSession("pop, another", memory)
    await session.add_items([said("user", "one"), said("assistant", "two")])
    await other.add_items([said("user", "three")])
    assert await session.pop_item() == said("assistant", "two")
    assert await session.get_items() == [said("user", "one")]
    await session.add_items([said("user", "four")])
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    assert await other.get_items() == [said("user", "three")]


async def check_a_session_that_compacts_can_be_around_it(memory: Memory) -> None:
    session = MemolithSession("compacted", memory)
    around = OpenAIResponsesCompactionSession("compacted", underlying_session=session)
    await around.add_items([said("user", "one")])
    assert await around.get_items() == [said("user", "one")]
    await around.clear_session()
    assert await session.get_items() == []


async def check_what_was_said_is_recalled(memory: Memory) -> None:
    await MemolithSession("facts", memory).add_items([said("user", "My cat is called Mitzi.")])
    assert memory.recall("cat Mitzi", kinds=["conversation"])[0].text == "My cat is called Mitzi."


async def check_a_run_uses_the_session_and_the_tools(memory: Memory) -> None:
    memory.remember("Maria drinks tea.")
    model = ScriptedModel()
    agent = Agent(name="helper", model=model, tools=[*memory_tools(memory)])
    session = MemolithSession("run", memory)
    first = await Runner.run(agent, "What does Maria drink?", session=session)
    assert "Maria drinks tea." in first.final_output
    await Runner.run(agent, "And again?", session=MemolithSession("run", memory))
    assert said("user", "What does Maria drink?") in model.inputs[-1]
    kept = await session.get_items()
    assert [item["content"] for item in kept if item.get("role") == "user"] == [
        "What does Maria drink?",
        "And again?",
    ]


async def check_the_tools_find_what_was_said_if_they_are_told_to(memory: Memory) -> None:
    await MemolithSession("said", memory).add_items([said("user", "The ferry leaves at nine.")])
    arguments = '{"question": "When does the ferry leave?"}'
    context = ToolContext(None, tool_name="recall", tool_call_id="1", tool_arguments=arguments)
    found = []
    for tools in (memory_tools(memory), memory_tools(memory, kinds=["conversation"])):
        [recall] = [tool for tool in tools if tool.name == "recall"]
        found.append(json.loads(await recall.on_invoke_tool(context, arguments)))
    assert found[0] == []
    assert found[1][0]["text"] == "The ferry leaves at nine."


async def check_tools_remember_and_forget_and_tell_errors(memory: Memory) -> None:
    tools = {tool.name: tool for tool in memory_tools(memory)}
    assert sorted(tools) == ["forget", "recall", "remember"]

    async def call(name: str, arguments: str) -> Any:
        context = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=arguments)
        return await tools[name].on_invoke_tool(context, arguments)

    id = await call("remember", '{"text": "Okapis are shy.", "tags": ["zoo"]}')
    assert memory.get(id).tags == ["zoo"]
    assert await call("forget", f'{{"id": "{id}"}}') == id
    assert "error" in str(await call("forget", '{"id": "no-such-id"}')).lower()


async def check_an_agent_searches_over_mcp(memory: Memory) -> None:
    id = memory.remember("Wombats dig long burrows.").id
    model = ScriptedModel("search", '{"query": "wombats burrows"}')
    async with mcp_server() as server:
        agent = Agent(name="helper", model=model, mcp_servers=[server])
        result = await Runner.run(agent, "What do wombats do?")
    assert id in result.final_output


def mcp_server() -> Any:
    """The family `chatgpt` as the SDK reaches it: at a server, or as a program on the folder."""
    if "CHECK_URL" in os.environ:
        headers = {"Authorization": f"Bearer {os.environ['CHECK_KEY']}"}
        url = os.environ["CHECK_URL"] + "/mcp/chatgpt"
        return MCPServerStreamableHttp(params={"url": url, "headers": headers})
    program = ["-m", "memolith", "stdio", "--tools", "chatgpt"]
    folder = ["--data", os.environ["CHECK_FOLDER"]]
    return MCPServerStdio(
        params={
            "command": sys.executable,
            "args": [*program, *folder],
            "env": {**os.environ, "MEMOLITH_EMBEDDER": "none"},
        },
        client_session_timeout_seconds=60,
    )


if __name__ == "__main__":
    run_checks(globals())
