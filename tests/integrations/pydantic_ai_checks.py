"""What the toolset and the histories of Pydantic AI do, checked with the real package."""

from __future__ import annotations

from pydantic_ai import Agent, ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memolith import Memory
from memolith.integrations.pydantic_ai import MessageHistory, memory_toolset
from tests.integrations.checking import run_checks


def recalling(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that recalls once, then says what it was given."""
    assert sorted(tool.name for tool in info.function_tools) == ["forget", "recall", "remember"]
    assert "long-term memory" in (info.instructions or "")
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(last.model_response_str())])
    return ModelResponse(parts=[ToolCallPart("recall", {"question": "what does Maria drink?"})])


def clumsy(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that forgets what is not there, and then repeats what it was told."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(str(last.content))])
    return ModelResponse(parts=[ToolCallPart("forget", {"id": "no-such-id"})])


def check_an_agent_recalls(memory: Memory) -> None:
    memory.remember("Maria drinks tea.")
    agent = Agent(FunctionModel(recalling), toolsets=[memory_toolset(memory)])
    assert "Maria drinks tea." in agent.run_sync("What does Maria drink?").output


def check_the_model_is_told_what_went_wrong(memory: Memory) -> None:
    agent = Agent(FunctionModel(clumsy), toolsets=[memory_toolset(memory)])
    assert "no item 'no-such-id'" in agent.run_sync("Forget it.").output


def check_a_history_comes_back_as_it_was(memory: Memory) -> None:
    agent = Agent(FunctionModel(recalling), toolsets=[memory_toolset(memory)])
    history = MessageHistory("maria", memory)
    assert history.messages() == []
    first = agent.run_sync("What does Maria drink?", message_history=history.messages())
    history.add(first.new_messages())
    assert MessageHistory("maria", memory).messages() == first.all_messages()
    second = agent.run_sync("And now?", message_history=history.messages())
    history.add(second.new_messages())
    assert history.messages() == second.all_messages()
    assert len(history.messages(1)) == 1
    assert MessageHistory("anna", memory).messages() == []
    history.clear()
    assert history.messages() == []


def check_what_was_said_is_recalled(memory: Memory) -> None:
    said = ModelRequest(parts=[UserPromptPart("My cat is called Mitzi.")])
    MessageHistory("facts", memory).add([said])
    assert memory.recall("cat Mitzi", kinds=["conversation"])[0].text == "My cat is called Mitzi."


if __name__ == "__main__":
    run_checks(globals())
