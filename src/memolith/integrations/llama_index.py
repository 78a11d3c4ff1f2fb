"""LlamaIndex: a memory block for agents, and a retriever for query engines."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from memolith.doors.library.memory import Memory
from memolith.doors.library.results import Hit
from memolith.integrations.transcripts import Entry, Transcript

FRAMEWORK = "llama-index"
DEFAULT_SESSION = "default"


class MemolithBlock(BaseMemoryBlock[str]):
    """A block of long-term memory: what is remembered about the newest message.

    Messages that leave the short-term memory are kept, so that they can be recalled later.
    `Memory.from_defaults(memory_blocks=[MemolithBlock(memory=memory)])`
    """

    name: str = "memolith"
    memory: Memory = Field(exclude=True)
    budget_tokens: int = 1000

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        question = newest_text(messages or [])
        if not question:
            return ""
        context = await asyncio.to_thread(self.memory.context, question, self.budget_tokens)
        return context.text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            if message.content:
                await asyncio.to_thread(self._keep, message)

    def _keep(self, message: ChatMessage) -> None:
        session_id = str(message.additional_kwargs.get("session_id") or DEFAULT_SESSION)
        entry = Entry(str(message.content), message.model_dump(mode="json"))
        Transcript(self.memory, FRAMEWORK, session_id).add([entry])


class MemolithRetriever(BaseRetriever):
    """Retrieves what is remembered, with the score of `recall`."""

    def __init__(
        self, memory: Memory, *, limit: int = 10, tags: Sequence[str] = (), **options: Any
    ) -> None:
        self._memory = memory
        self._limit = limit
        self._tags = tags
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._memory.recall(query_bundle.query_str, limit=self._limit, tags=self._tags)
        return [node_of(hit) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def node_of(hit: Hit) -> NodeWithScore:
    """A hit as a node; `item_id` in its metadata is the item that the passage is from."""
    metadata = {"item_id": hit.id, "title": hit.title, "kind": hit.kind, "at": hit.at}
    return NodeWithScore(node=TextNode(text=hit.text, metadata=metadata), score=hit.score)


def newest_text(messages: Sequence[ChatMessage]) -> str:
    """The text of the newest message that has one."""
    for message in reversed(messages):
        if message.content:
            return str(message.content)
    return ""
