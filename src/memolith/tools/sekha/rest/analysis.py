"""What a reader of texts says about a conversation: a summary, labels, how much a message matters.

The built-in analyst answers, or the endpoint that the settings name; each answer says which.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.chunking import weigh
from memolith.domain.clock import DAY_S, shifted
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.errors import NotFound
from memolith.tools.call import Call
from memolith.tools.sekha.arguments import ConversationId
from memolith.tools.sekha.conversations import DEFAULT_FOLDER, read_conversation
from memolith.tools.sekha.rest.api import sekha_api
from memolith.tools.sekha.rest.models import (
    LabelSuggestion,
    LabelSuggestions,
    MessageScore,
    Summary,
)

DAYS_OF_LEVEL = {"daily": 1, "weekly": 7, "monthly": 30}
MAX_SUGGESTED_LABELS = 5
MAX_KNOWN_LABELS = 1000
BASE_SCORE = 5.0
LONG_MESSAGE_CHARS = 100
WEIGHTY_WORD = re.compile(r"\b(?:critical|important|urgent|decision|decided)\b", re.IGNORECASE)
MIN_SCORE = 1.0
MAX_SCORE = 10.0


@sekha_api.route("POST", "/api/v1/summarize", read_only=True)
def summarize(
    call: Call,
    *,
    conversation_id: ConversationId,
    level: Literal["daily", "weekly", "monthly"] = "daily",
) -> Summary:
    """Sum up the last day, week or month of a conversation, counted from its last message."""
    item, blocks = read_conversation(call, conversation_id)
    recent = _last_days(blocks, DAYS_OF_LEVEL[level])
    written = call.engine.consolidation.rewrite("summarize", [block.text for block in recent])
    now = call.engine.clock.now()
    return {
        "conversation_id": item.id,
        "level": level,
        "summary": written.text,
        "token_count": weigh(written.text),
        "message_count": len(recent),
        "created_at": now,
        "generated_at": now,
        "generated_by": written.method,
        "warnings": written.warnings,
    }


@sekha_api.route("POST", "/api/v1/labels/suggest", read_only=True)
def suggest_labels(call: Call, *, conversation_id: ConversationId) -> LabelSuggestions:
    """Labels that fit a conversation, the caller's own where they do."""
    item, blocks = read_conversation(call, conversation_id)
    known = _known_labels(call)
    text = "\n".join(block.text for block in blocks)
    answer = call.engine.insights.ask(
        lambda analyst: analyst.tags(text, known, MAX_SUGGESTED_LABELS)
    )
    folder = item.attributes.get("folder", DEFAULT_FOLDER)
    suggestions: list[LabelSuggestion] = [
        {
            "label": found.tag,
            "folder": folder,
            "confidence": found.confidence,
            "reasoning": found.reason,
            "reason": found.reason,
            "is_existing": found.tag in known,
        }
        for found in answer.value
    ]
    return {
        "conversation_id": item.id,
        "suggestions": suggestions,
        "top_suggestion": suggestions[0] if suggestions else None,
        "suggested_by": answer.method,
        "warnings": answer.warnings,
    }


@sekha_api.route("POST", "/api/v1/messages/score", read_only=True)
def score_message(
    call: Call,
    *,
    message_id: Annotated[str, Field(description="The id of a message, as a search gives it.")],
) -> MessageScore:
    """How important a message is, by rules about its text."""
    conversation_id, _, number = message_id.rpartition("#")
    blocks: list[Block] = []
    if conversation_id:
        _, blocks = read_conversation(call, conversation_id)
    numbers = {str(position): block for position, block in enumerate(blocks)}
    if number not in numbers:
        raise NotFound(f"There is no message {message_id[:100]!r}.", field="message_id")
    factors = _factors(numbers[number].text)
    score = min(MAX_SCORE, max(MIN_SCORE, sum(factors.values())))
    named = ", ".join(name for name in factors if name != "base") or "nothing special"
    return {
        "message_id": message_id,
        "importance_score": score,
        "factors": factors,
        "reasoning": f"By rules, without a model: {named}.",
        "scored_by": "built-in",
    }


def _last_days(blocks: Sequence[Block], days: int) -> list[Block]:
    """The messages of the last days of a conversation; those without a time always count."""
    times = [block.at for block in blocks if block.at]
    if not times:
        return list(blocks)
    since = shifted(max(times), -DAY_S * days)
    return [block for block in blocks if block.at is None or block.at > since]


def _known_labels(call: Call) -> list[str]:
    chosen = Filter(kinds=("conversation",))
    page = call.engine.reading.list_items(call.caller, chosen, "updated_at", True, MAX_KNOWN_LABELS)
    return list(dict.fromkeys(item.title for item in page.items))


def _factors(text: str) -> dict[str, float]:
    """What speaks for the importance of a message, with the weights of Sekha's own rules."""
    factors = {"base": BASE_SCORE}
    if len(text) > LONG_MESSAGE_CHARS:
        factors["long"] = 1.0
    if "```" in text:
        factors["code"] = 2.0
    if text.rstrip().endswith("?"):
        factors["question"] = 0.5
    weighty = len(WEIGHTY_WORD.findall(text))
    if weighty:
        factors["weighty words"] = float(weighty)
    return factors
