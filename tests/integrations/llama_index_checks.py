"""What the memory block and the retriever of LlamaIndex do, checked with the real package."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory as ChatMemory

from memolith import Memory
from memolith.integrations.llama_index import MemolithBlock, MemolithRetriever
from tests.integrations.checking import run_checks


def check_the_retriever_gives_hits_with_their_scores(memory: Memory) -> None:
    kept = memory.remember("Maria prefers tea.", title="Drinks", tags=["people"])
    memory.remember("Tea grows in Assam.", tags=["plants"])
    [node] = MemolithRetriever(memory, tags=["people"]).retrieve("Who prefers tea?")
    assert node.get_content() == "Maria prefers tea."
    assert node.metadata["item_id"] == kept.id
    assert node.metadata["title"] == "Drinks"
    assert node.score is not None
    assert 0 < node.score <= 1
    assert len(MemolithRetriever(memory, limit=1).retrieve("tea")) == 1


async def check_the_retriever_can_be_awaited(memory: Memory) -> None:
    memory.remember("Bert prefers milk.")
    nodes = await MemolithRetriever(memory).aretrieve("Who prefers milk?")
    assert nodes[0].get_content() == "Bert prefers milk."


async def check_the_block_tells_what_is_known_about_the_newest_message(memory: Memory) -> None:
    memory.remember("The harbour master is called Ole.")
    chat = ChatMemory.from_defaults(
        session_id="block", token_limit=400, memory_blocks=[MemolithBlock(memory=memory)]
    )
    await chat.aput(ChatMessage(role="user", content="Who is the harbour master?"))
    messages = await chat.aget()
    assert "The harbour master is called Ole." in str(messages[0].content)
    assert messages[-1].content == "Who is the harbour master?"


async def check_messages_that_leave_the_chat_are_kept_and_recalled(memory: Memory) -> None:
    chat = ChatMemory.from_defaults(
        session_id="flush",
        token_limit=60,
        token_flush_size=20,
        chat_history_token_ratio=0.5,
        memory_blocks=[MemolithBlock(memory=memory)],
    )
    await chat.aput(ChatMessage(role="user", content="My parrot is called Jago."))
    for number in range(12):
        role = "assistant" if number % 2 == 0 else "user"
        await chat.aput(ChatMessage(role=role, content=f"Let us talk about the number {number}."))
    hits = memory.recall("parrot Jago", kinds=["conversation"])
    assert hits[0].text == "My parrot is called Jago."
    assert memory.get(hits[0].id).title == "flush"


async def check_without_a_question_the_block_is_empty(memory: Memory) -> None:
    block = MemolithBlock(memory=memory)
    assert await block.aget([]) == ""
    assert await block.aget([ChatMessage(role="user", content="")]) == ""


if __name__ == "__main__":
    run_checks(globals())
