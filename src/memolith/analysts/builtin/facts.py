"""Facts without a language model: the sentences of a talk that state something."""

import re
from collections.abc import Sequence

from memolith.engine.statements import sentences
from memolith.ports.analyst import ChatMessage

MIN_WORDS = 3
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
OPENERS = re.compile(
    r"^(?:(?:hi|hello|hey|thanks|thank you|ok|okay|sure|yes|no|great|well|so|please|and|but)\b"
    r"(?: there| again| so much| very much)?[\s,.!:;-]*)+",
    re.IGNORECASE,
)
"""What people say before they come to the point."""
QUESTION_WORDS = frozenset(
    "who what when where why which whose how can could would will should do does did is are".split()
)
"""A sentence that begins with one of these and has no full stop asks for something."""
REQUESTS = frozenset(("tell", "show", "explain", "help", "give", "write", "remind", "let"))
"""A sentence that begins with one of these wants something now."""


def stated_facts(messages: Sequence[ChatMessage]) -> list[str]:
    """The sentences that state something, each once, in their order."""
    facts: dict[str, None] = {}
    for message in messages:
        for sentence in sentences(message.content):
            fact = _without_opener(sentence.strip())
            if _states_something(fact):
                facts[fact] = None
    return list(facts)


def _without_opener(sentence: str) -> str:
    rest = OPENERS.sub("", sentence)
    if rest == sentence or not rest:
        return rest
    return rest[0].upper() + rest[1:]


def _states_something(sentence: str) -> bool:
    words = _WORD.findall(sentence.casefold())
    if len(words) < MIN_WORDS or sentence.endswith("?"):
        return False
    if words[0] in REQUESTS:
        return False
    return words[0] not in QUESTION_WORDS or sentence.endswith(".")
