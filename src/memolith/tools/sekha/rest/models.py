"""What Sekha's REST routes answer: the fields that its controller sends and its clients read."""

from typing import Annotated, NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.tools.lazy_text import A_TEXT, LazyText


class RestMessageBody(TypedDict):
    """One message of a conversation."""

    id: str
    role: str
    content: object
    timestamp: str | None
    metadata: dict[str, Json]


class ConversationCreated(TypedDict):
    """The answer to a new conversation."""

    id: str
    conversation_id: str
    label: str
    folder: object
    status: str
    importance_score: object
    message_count: int
    created_at: str
    updated_at: str
    redactions: NotRequired[dict[str, int]]


class ConversationBody(TypedDict):
    """A conversation with its messages."""

    id: str
    conversation_id: str
    label: str
    folder: object
    status: str
    archived: bool
    pinned: bool
    importance_score: object
    message_count: int
    messages: list[RestMessageBody]
    created_at: str
    updated_at: str
    metadata: object


class ConversationChanged(TypedDict):
    """The answer to a change of a conversation."""

    conversation_id: str
    label: str
    folder: object
    status: str
    importance_score: object


class ConversationDeleted(TypedDict):
    """The answer to a deletion."""

    conversation_id: str
    deleted: bool


class ConversationCount(TypedDict):
    """How many conversations there are."""

    count: int
    label: str | None
    folder: str | None


class RestHit(TypedDict):
    """A message that was found, or a conversation of a list."""

    id: str
    conversation_id: str
    message_id: str | None
    label: str
    folder: object
    content: str
    score: float
    similarity: float
    created_at: str
    timestamp: str
    metadata: dict[str, object]


class RestPage(TypedDict):
    """A page of hits."""

    query: str
    results: list[RestHit]
    total: int
    page: int
    page_size: int
    limit: int
    warnings: NotRequired[list[str]]


class ContextMessage(TypedDict):
    """A message for a prompt."""

    role: str
    content: str
    timestamp: str
    metadata: dict[str, object]


class ContextBody(TypedDict):
    """Messages for a prompt, within a budget."""

    messages: list[ContextMessage]
    token_count: int
    conversation_ids: list[str]
    labels: list[str]
    warnings: NotRequired[list[str]]


class Summary(TypedDict):
    """A summary, and who wrote it."""

    conversation_id: str
    level: str
    summary: str
    token_count: int
    message_count: int
    created_at: str
    generated_at: str
    generated_by: str
    warnings: NotRequired[list[str]]


class LabelSuggestion(TypedDict):
    """A label that fits a conversation."""

    label: str
    folder: object
    confidence: float
    reasoning: str
    reason: str
    is_existing: bool


class LabelSuggestions(TypedDict):
    """Labels that fit a conversation, the surest first, and who found them."""

    conversation_id: str
    suggestions: list[LabelSuggestion]
    top_suggestion: LabelSuggestion | None
    suggested_by: str
    warnings: NotRequired[list[str]]


class MessageScore(TypedDict):
    """How important a message is, what made it so, and who says it."""

    message_id: str
    importance_score: float
    factors: dict[str, float]
    reasoning: str
    scored_by: str


class RestPruneSuggestion(TypedDict):
    """A conversation that nobody has touched for long."""

    conversation_id: str
    label: str
    conversation_label: str
    last_accessed: str
    days_since_access: int
    age_days: int
    message_count: int
    token_estimate: int
    importance_score: float
    preview: str
    recommendation: str
    reason: str


class RestPruneReport(TypedDict):
    """What could be archived."""

    suggestions: list[RestPruneSuggestion]
    total: int
    total_reviewed: int
    recommended_archive: int
    recommended_keep: int


class Archived(TypedDict):
    """What was archived."""

    archived: int
    conversation_ids: list[str]


class ExportBody(TypedDict):
    """Conversations as one text."""

    content: Annotated[LazyText, A_TEXT]
    format: str
    conversation_count: int


class RebuildState(TypedDict):
    """How far the vectors are."""

    success: bool
    status: str
    message: str
    pending: int


class MemoryStats(TypedDict):
    """Figures of some conversations."""

    total_conversations: int
    total_messages: int
    total_tokens: int
    average_importance: float
    labels: dict[str, int]
    folders: dict[str, int]
    oldest_conversation: str | None
    newest_conversation: str | None


class Enveloped(TypedDict):
    """A result in the envelope of Sekha's tools."""

    success: bool
    data: dict[str, object]
    error: str | None


class ToolList(TypedDict):
    """The tools of the family."""

    tools: list[dict[str, object]]


class Version(TypedDict):
    """Who answers, and in which version."""

    name: str
    version: str


class ReplyMessage(TypedDict):
    """The message of a reply."""

    role: str
    content: str


class Choice(TypedDict):
    """The one reply that a model gave."""

    index: int
    message: ReplyMessage
    finish_reason: str


class TokenUse(TypedDict):
    """About how many tokens a chat has."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(TypedDict):
    """A reply in OpenAI's form; `model` says who wrote it."""

    id: str
    object: str
    created: int
    model: str
    choices: list[Choice]
    usage: TokenUse
    warnings: NotRequired[list[str]]


class EmbeddingBody(TypedDict):
    """A text as a vector."""

    embedding: list[float]
    model: str
    dimension: int
    tokens_used: int
    warnings: NotRequired[list[str]]
