"""What the tools of the LanOnasis family return."""

from typing import Annotated, Literal, NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.tools.lanonasis.memory_types import MemoryStatus, MemoryType
from memolith.tools.result_schema import AN_OBJECT, ANYTHING, OBJECTS, Published, names_of
from memolith.tools.results import ConflictBody, Replaced

ServiceState = Literal["healthy", "unhealthy"]
ServerState = Literal["healthy", "degraded", "unhealthy"]
Trend = Literal["increasing", "stable", "decreasing"]
NullableText = Annotated[Json, Published({"type": ["string", "null"]})]
PublishedState = Annotated[ServiceState, names_of(ServiceState)]
PlainObject = Annotated[dict[str, Json], AN_OBJECT]


class MemoryBody(Replaced):
    """A memory."""

    id: str
    title: str
    content: str
    memory_type: Annotated[MemoryType, names_of(MemoryType)]
    tags: list[str]
    created_at: str
    updated_at: str
    status: Annotated[MemoryStatus, names_of(MemoryStatus)]
    summary: NotRequired[NullableText]
    topic_id: NotRequired[NullableText]
    project_ref: NotRequired[str | None]
    metadata: PlainObject
    user_id: str
    access_count: int
    last_accessed: NotRequired[str | None]
    redactions: NotRequired[Annotated[dict[str, int], Published({"type": ["object", "null"]})]]
    conflicts: NotRequired[list[ConflictBody]]


class ScoredMemory(MemoryBody):
    """A memory that a search found."""

    similarity_score: float


class MemoryDeleted(TypedDict):
    """The result of `delete_memory`."""

    success: bool
    message: str
    deleted_id: str


class Pagination(TypedDict):
    """Which page of how many."""

    page: int
    limit: int
    total: int
    pages: int


class MemoryPage(TypedDict):
    """The result of `list_memories`."""

    data: list[MemoryBody]
    pagination: Pagination


class MemorySearch(TypedDict):
    """The result of `search_memories`."""

    results: list[ScoredMemory]
    total_results: int
    search_time_ms: float
    warnings: NotRequired[list[str]]


class BulkDeletion(TypedDict):
    """The result of `bulk_delete_memories`."""

    deleted_count: int
    failed_ids: list[str]


class IntelligenceServices(TypedDict):
    """The state of the parts that analyse memories."""

    embedding: str
    analysis: str


class IntelligenceHealth(TypedDict):
    """The result of `intelligence_health_check`."""

    status: str
    services: IntelligenceServices
    latency_ms: float


class TagSuggestion(TypedDict):
    """A tag that would suit a memory, and why."""

    tag: str
    confidence: float
    reason: str


class TagSuggestions(TypedDict):
    """The result of `intelligence_suggest_tags`."""

    memory_id: str
    suggestions: list[TagSuggestion]
    existing_tags: list[str]
    method: str
    warnings: NotRequired[list[str]]


class RelatedMemories(TypedDict):
    """The result of `intelligence_find_related`."""

    source_memory_id: str
    related: list[ScoredMemory]
    method: str
    warnings: NotRequired[list[str]]


class DuplicatePair(TypedDict):
    """Two memories that say nearly the same."""

    memory_1: MemoryBody
    memory_2: MemoryBody
    similarity_score: float


class DuplicatePairs(TypedDict):
    """The result of `intelligence_detect_duplicates`."""

    duplicate_pairs: list[DuplicatePair]
    total_pairs: int
    threshold_used: float
    method: str
    warnings: NotRequired[list[str]]


class Insight(TypedDict):
    """Something that memories have in common, and the memories behind it."""

    category: str
    insight: str
    supporting_memories: list[str]
    confidence: float


class InsightReport(TypedDict):
    """The result of `intelligence_extract_insights`."""

    insights: list[Insight]
    summary: str
    topic: str
    memories_analyzed: int
    method: str
    warnings: NotRequired[list[str]]


class TopicFrequency(TypedDict):
    """How often a topic was written about."""

    topic: str
    count: int


class UsagePatterns(TypedDict):
    """What a user wrote about, and when."""

    top_topics: list[TopicFrequency]
    activity_trend: Annotated[str, names_of(Trend)]
    peak_usage_hours: list[int]
    type_distribution: Annotated[dict[MemoryType, int], AN_OBJECT]


class PatternReport(TypedDict):
    """The result of `intelligence_analyze_patterns`."""

    time_range_days: int
    method: str
    patterns: UsagePatterns


class ServiceStates(TypedDict):
    """The state of the parts of the server."""

    database: PublishedState
    cache: PublishedState
    embeddings: PublishedState


class HealthReport(TypedDict):
    """The result of `health_check`."""

    status: Annotated[ServerState, names_of(ServerState)]
    timestamp: str
    version: str
    uptime: float
    services: ServiceStates


class TypeCounts(TypedDict):
    """How many memories there are of each type."""

    context: int
    project: int
    knowledge: int
    reference: int
    personal: int
    workflow: int


class UserStats(TypedDict):
    """The result of `get_stats`."""

    total_memories: int
    memories_by_type: TypeCounts
    total_topics: int
    most_accessed_memory: NotRequired[str | None]
    recent_memories: list[str]


class Topic(TypedDict):
    """A topic under which memories are kept."""

    id: str
    name: str
    description: NotRequired[NullableText]
    color: NotRequired[NullableText]
    icon: NotRequired[NullableText]
    parent_topic_id: NotRequired[NullableText]
    created_at: str
    updated_at: str


class Topics(TypedDict):
    """The result of `list_topics`."""

    topics: list[Topic]


class SettingChange(TypedDict):
    """A value that a setting had, and who set it when."""

    value: Json
    at: str
    by: str


class SettingValue(TypedDict):
    """The result of `get_config`."""

    key: str
    value: Annotated[int | float | str, ANYTHING]
    type: str
    description: str
    history: Annotated[list[SettingChange], OBJECTS]


class SettingChanged(TypedDict):
    """The result of `set_config`."""

    key: str
    value: Annotated[Json, ANYTHING]
    previous_value: Annotated[Json, ANYTHING]
    updated_at: str


class Project(TypedDict):
    """A project."""

    id: str
    name: str
    description: NotRequired[NullableText]
    organization_id: str
    status: str
    created_at: str
    updated_at: str


class Projects(TypedDict):
    """The result of `list_projects`."""

    projects: list[Project]


class OrganizationInfo(TypedDict):
    """The result of `get_organization_info`."""

    id: str
    name: str
    plan: str
    settings: PlainObject
    limits: PlainObject
    usage: Annotated[dict[str, int], AN_OBJECT]


class ApiKey(TypedDict):
    """A key in the vault, without its value."""

    id: str
    name: str
    type: str
    environment: str
    project_id: str
    created_at: str
    last_rotated: NotRequired[str | None]
    expires_at: str
    rotation_frequency: int
    is_active: bool
    metadata: PlainObject


class ApiKeys(TypedDict):
    """The result of `list_api_keys`."""

    keys: list[ApiKey]


class KeyRotated(TypedDict):
    """The result of `rotate_api_key`."""

    key_id: str
    rotated_at: Annotated[str | None, Published({"type": "string"})]
    new_value: str


class KeyRevoked(TypedDict):
    """The result of `revoke_api_key`."""

    id: str
    is_active: bool
    revoked_at: Annotated[str | None, Published({"type": "string"})]


class DocumentationHit(TypedDict):
    """A place in the documentation."""

    title: str
    section: Annotated[str | None, Published({"type": "string"})]
    path: str
    excerpt: str
    score: float


class DocumentationHits(TypedDict):
    """The result of `search_lanonasis_docs`."""

    query: str
    total: int
    results: list[DocumentationHit]
    warnings: NotRequired[list[str]]
