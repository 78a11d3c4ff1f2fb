"""Who reads texts and says what they are about."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class FoundTag(NamedTuple):
    """A tag that fits a text, and why."""

    tag: str
    reason: str
    confidence: float


class FoundInsight(NamedTuple):
    """Something that several memories say together, and the memories behind it."""

    category: str
    text: str
    confidence: float
    memories: tuple[str, ...]


class InsightReport(NamedTuple):
    """What was found in some memories, and a summary."""

    insights: list[FoundInsight]
    summary: str


class FoundEntity(NamedTuple):
    """An entity that a text names."""

    name: str
    type: str
    confidence: float


class FoundRelation(NamedTuple):
    """What a sentence says about two entities.

    The ends are names where a text was read, and ids where memories were.
    """

    type: str
    source: str
    target: str
    sentence: str
    confidence: float
    memory: str | None = None
    """The memory with the sentence, where it is known."""


class EntityReport(NamedTuple):
    """The entities that a text names, the surest first, and what it says about pairs of them."""

    entities: list[FoundEntity]
    relations: list[FoundRelation]


class ChatMessage(NamedTuple):
    """One message of a chat with a model."""

    role: str
    content: str


class ReplyOptions(NamedTuple):
    """How a reply is to be made; None leaves it to whoever replies."""

    temperature: float | None = None
    max_tokens: int | None = None


class Memory(NamedTuple):
    """A memory as an analyst sees it."""

    id: str
    text: str


class Analyst(Protocol):
    """Reads texts and says what they are about."""

    name: str

    def tags(self, text: str, own_tags: Sequence[str], limit: int) -> list[FoundTag]:
        """Suggest tags for a text, the surest first; the user's own tags where they fit."""
        ...

    def insights(self, groups: Sequence[Sequence[Memory]], topic: str) -> InsightReport:
        """Say what memories have in common.

        Each group has memories that are similar. The topic is empty if there is none.
        """
        ...

    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        """Make one text of several.

        The task is `merge`, `summarize`, `structure`, or `context`: what the other texts tell about
        the first one.
        """
        ...

    def reply(self, messages: Sequence[ChatMessage], options: ReplyOptions) -> str:
        """Answer the last message of a chat from what the others say."""
        ...

    def facts(self, messages: Sequence[ChatMessage]) -> list[str]:
        """What is worth remembering of a talk, each fact as a sentence that stands alone."""
        ...

    def entities(self, text: str, familiar_types: Mapping[str, str]) -> EntityReport:
        """Read entities and relations out of a text.

        `familiar_types` has the types of the entities that the user already has, by name.
        """
        ...
