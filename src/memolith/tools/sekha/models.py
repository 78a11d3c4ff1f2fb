"""What the tools of the Sekha family return, inside the documented envelope."""

from typing import Annotated, Literal, NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.tools.result_schema import AN_OBJECT, Published

FolderName = Annotated[Json, Published({"type": "string"})]
ImportanceScore = Annotated[Json, Published({"type": "number"})]


class ConversationStored(TypedDict):
    """The result of `memory_store`."""

    conversation_id: str
    id: str
    label: str
    folder: FolderName
    redactions: NotRequired[Annotated[dict[str, int], Published({"type": ["object", "null"]})]]


class NeighbourMessage(TypedDict):
    """The message before or after a hit."""

    message_id: str
    role: str
    content: str
    timestamp: str | None


class SearchResult(TypedDict):
    """One message that a search found."""

    conversation_id: str
    message_id: str
    score: float
    content: str
    label: str
    folder: FolderName
    timestamp: str
    metadata: Annotated[dict[str, object], AN_OBJECT]


class SearchResults(TypedDict):
    """The result of `memory_search`."""

    query: str
    total_results: int
    limit: int
    results: list[SearchResult]
    warnings: NotRequired[list[str]]


class ConversationUpdated(TypedDict):
    """The result of `memory_update`."""

    conversation_id: str
    updated_fields: list[str]
    message: str


class PruneSuggestion(TypedDict):
    """A conversation that can be archived or deleted."""

    conversation_id: str
    conversation_label: str
    last_accessed: str
    preview: str
    message_count: int
    token_estimate: int
    importance_score: float
    recommendation: Annotated[
        Literal["archive", "delete"], Published({"enum": ["archive", "delete"]})
    ]


class PruneSuggestions(TypedDict):
    """The result of `memory_prune`."""

    threshold_days: int
    importance_threshold: float
    total_suggestions: int
    estimated_token_savings: int
    suggestions: list[PruneSuggestion]
    warnings: NotRequired[list[str]]


class ConversationDetails(TypedDict):
    """All that is known of a conversation beside its messages."""

    label: str
    status: str
    folder: FolderName
    importance_score: ImportanceScore
    word_count: int
    session_count: int
    created_at: str
    updated_at: str


class ConversationContext(ConversationDetails):
    """The result of `memory_get_context`."""

    conversation_id: str


class ExportedConversation(ConversationDetails):
    """The conversation in an export."""

    id: str


class ExportedMessage(TypedDict):
    """One message in an export."""

    role: str
    content: str
    timestamp: Annotated[str | None, Published({"type": "string"})]
    metadata: NotRequired[Annotated[dict[str, Json], Published({"type": ["object", "null"]})]]


class ConversationExport(TypedDict):
    """The result of `memory_export`."""

    conversation: NotRequired[ExportedConversation]
    messages: list[ExportedMessage]
    format: str
    include_metadata: bool
    markdown: NotRequired[str | None]


class ConversationStats(TypedDict):
    """The result of `memory_stats`."""

    total_conversations: int
    average_importance: float
    folders: NotRequired[list[str]]
    labels: NotRequired[list[str]]
