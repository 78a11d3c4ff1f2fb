"""The routes of Sekha's bridge to language models: replies, also streamed, and vectors."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, cast

from pydantic import Field

from memolith.domain.chunking import weigh
from memolith.domain.ids import new_id
from memolith.ports.analyst import ChatMessage, ReplyOptions
from memolith.tools.call import Call
from memolith.tools.schema import Body
from memolith.tools.sekha.rest.api import sekha_api
from memolith.tools.sekha.rest.arguments import ContentPart
from memolith.tools.sekha.rest.models import Completion, EmbeddingBody
from memolith.tools.signature import Argument

MAX_MESSAGES = 1000


class PromptMessage(Argument):
    """A message that a model reads."""

    role: Annotated[str, Field(min_length=1, max_length=100)]
    content: str | list[ContentPart]

    def chat_message(self) -> ChatMessage:
        if isinstance(self.content, str):
            return ChatMessage(self.role, self.content)
        texts = [part.text for part in self.content if part.text]
        return ChatMessage(self.role, " ".join(texts))


def completion_events(completion: Body) -> Iterator[Body]:
    """A finished reply in the chunks of OpenAI's stream, a line or a word at a time."""
    head = {
        "id": completion["id"],
        "object": "chat.completion.chunk",
        "created": completion["created"],
        "model": completion["model"],
    }
    content = cast(Completion, completion)["choices"][0]["message"]["content"]
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    deltas += [{"content": word + " "} for word in content.split(" ")[:-1]]
    deltas.append({"content": content.rsplit(" ", 1)[-1]})
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last: Body = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    if "warnings" in completion:
        last["warnings"] = completion["warnings"]
    yield last


# It writes nothing, but it sends any text to a model that somebody pays for. A key that may only
# read memory is not enough for that.
@sekha_api.route(
    "POST", "/v1/chat/completions", read_only=True, scope="write", events=completion_events
)
def complete(
    call: Call,
    *,
    messages: Annotated[list[PromptMessage], Field(min_length=1, max_length=MAX_MESSAGES)],
    model: str | None = None,
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None,
    max_tokens: Annotated[int | None, Field(ge=1, le=1_000_000)] = None,
    stream: Annotated[bool, Field(description="Send it in chunks, once it is complete.")] = False,
) -> Completion:
    """Answer the last message; `model` of the reply says who did."""
    chat = [message.chat_message() for message in messages]
    options = ReplyOptions(temperature, max_tokens)
    answer = call.engine.insights.ask(lambda analyst: analyst.reply(chat, options))
    prompt_tokens = sum(weigh(message.content) for message in chat)
    reply_tokens = weigh(answer.value)
    return {
        "id": f"chatcmpl-{new_id()}",
        "object": "chat.completion",
        "created": int(datetime.fromisoformat(call.engine.clock.now()).timestamp()),
        "model": answer.method,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer.value},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": reply_tokens,
            "total_tokens": prompt_tokens + reply_tokens,
        },
        "warnings": [*answer.warnings, *_about_model(model, answer.method)],
    }


@sekha_api.route("POST", "/embed", read_only=True)
def embed(
    call: Call,
    *,
    text: Annotated[str, Field(min_length=1, max_length=100_000, pattern=r"\S")],
    model: str | None = None,
) -> EmbeddingBody:
    """A text as a vector of the model that searches use."""
    made = call.engine.recall.embed(text)
    return {
        "embedding": list(made.vector),
        "model": made.model,
        "dimension": len(made.vector),
        "tokens_used": weigh(text),
        "warnings": _about_model(model, made.model),
    }


def _about_model(asked_for: str | None, used: str) -> list[str]:
    """What to tell a client that asked for a model which is not the one that answered."""
    if asked_for is None or asked_for in (used, used.removeprefix("http/")):
        return []
    return [f"The model {asked_for[:100]!r} is not set up here; answered by {used}."]
