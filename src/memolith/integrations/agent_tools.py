"""The functions that a model is given as tools, the same for every framework."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memolith.doors.library.memory import Memory

MAX_HITS = 5
INSTRUCTIONS = (
    "You have a long-term memory. Recall before you answer from memory or start a task; remember "
    "decisions, preferences and facts worth keeping."
)


DEFAULT_KINDS = ("memory", "concept", "document")
"""What `recall` looks at: without conversations, because there the question itself is found."""


def agent_functions(
    memory: Memory, kinds: Sequence[str] = DEFAULT_KINDS
) -> list[Callable[..., Any]]:
    """Functions that remember, recall and forget, described for a model."""

    def remember(text: str, tags: list[str]) -> str:
        """Keep a fact, decision or preference for later sessions.

        Args:
            text: One or a few sentences that can be understood on their own.
            tags: Words to group it by; may be empty.
        """
        return memory.remember(text, tags=tags).id

    def recall(question: str) -> list[dict[str, Any]]:
        """Find what is remembered, by words or meaning. An empty list: nothing is known.

        Args:
            question: What you want to know.
        """
        return [
            {"id": hit.id, "text": hit.text, "score": hit.score, "at": hit.at}
            for hit in memory.recall(question, kinds=kinds, limit=MAX_HITS)
        ]

    def forget(id: str) -> str:
        """Hide something that is wrong or no longer wanted.

        Args:
            id: The id that `recall` or `remember` gave.
        """
        return memory.forget(id).id

    return [remember, recall, forget]
