"""What LanOnasis' routes below `/intelligence` answer, as its SDK declares it."""

from typing import NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.tools.lanonasis.memory_types import MemoryType
from memolith.tools.lanonasis.rest.models import TagCount


class QueriedMemory(TypedDict):
    """A memory in the words of the SDK."""

    id: str
    user_id: str
    organization_id: str
    topic_id: Json
    title: str
    content: str
    type: MemoryType
    memory_type: MemoryType
    tags: list[str]
    metadata: dict[str, Json]
    access_count: int
    last_accessed: str | None
    created_at: str
    updated_at: str


class QueriedMemories(TypedDict):
    """Memories that pass a filter."""

    memories: list[QueriedMemory]
    total: int


class Velocity(TypedDict):
    """How many memories are written a day, and whether that grows."""

    daily_average: float
    trend: str


class PatternAnalysis(TypedDict):
    """What was written in the last days, and when."""

    total_memories: int
    memories_by_type: dict[MemoryType, int]
    memories_by_day_of_week: dict[str, int]
    peak_creation_hours: list[int]
    average_content_length: int
    most_common_tags: list[TagCount]
    creation_velocity: Velocity
    insights: list[str]
    method: str


class ReasonedTag(TypedDict):
    """A tag that would suit a memory, and why."""

    tag: str
    confidence: float
    reasoning: str


class TagContext(TypedDict):
    """What the suggestions were made from."""

    memory_type: MemoryType
    related_memories_analyzed: int


class SuggestedTags(TypedDict):
    """Tags that would suit a memory, and who found them."""

    memory_id: str
    existing_tags: list[str]
    suggestions: list[ReasonedTag]
    context: TagContext
    method: str
    warnings: NotRequired[list[str]]


class SourceMemory(TypedDict):
    """The memory that others are compared with."""

    id: str
    title: str
    type: MemoryType


class RelatedMemory(TypedDict):
    """A memory that is about the same."""

    id: str
    title: str
    type: MemoryType
    similarity_score: float
    shared_tags: list[str]
    content_preview: str


class RelatedResult(TypedDict):
    """Memories that are about the same as another."""

    source_memory: SourceMemory
    related_memories: list[RelatedMemory]
    total_found: int
    method: str
    warnings: NotRequired[list[str]]


class DuplicateEntry(TypedDict):
    """A memory that says nearly the same as an older one."""

    id: str
    title: str
    similarity: float
    created_at: str


class DuplicateGroup(TypedDict):
    """Memories that say nearly the same; the oldest is the primary one."""

    primary_id: str
    primary_title: str
    duplicates: list[DuplicateEntry]
    similarity_score: float


class DuplicatesResult(TypedDict):
    """Groups of memories that say nearly the same."""

    duplicate_groups: list[DuplicateGroup]
    total_groups: int
    total_duplicates: int
    detection_method: str
    threshold_used: float
    memories_analyzed: int
    potential_storage_savings: str
    warnings: NotRequired[list[str]]


class TypedInsight(TypedDict):
    """Something that memories have in common."""

    type: str
    category: str
    content: str
    confidence: float
    related_memory_ids: list[str]


class InsightsResult(TypedDict):
    """What memories have in common, and who found it."""

    insights: list[TypedInsight]
    overall_summary: str
    memories_analyzed: int
    insight_types: list[str]
    topic_filter: str | None
    generated_at: str
    method: str
    warnings: NotRequired[list[str]]


class HealthBreakdown(TypedDict):
    """What a score of health is made of, each from 0 to 100."""

    organization: int
    tagging: int
    recency: int
    completeness: int
    diversity: int


class HealthScore(TypedDict):
    """How well memories are kept, from 0 to 100."""

    overall: int
    breakdown: HealthBreakdown


class HealthStatistics(TypedDict):
    """The counts behind a score."""

    total_memories: int
    active_memories: int
    archived_memories: int
    memories_with_tags: int
    unique_tags: int
    memory_types: int
    recent_memories_30d: int
    stale_memories_90d: int


class HealthIssue(TypedDict):
    """Something that could be better."""

    severity: str
    category: str
    description: str
    affected_count: int
    recommendation: str


class MemoryHealth(TypedDict):
    """How well memories are kept, and what to do."""

    health_score: HealthScore
    status: str
    statistics: HealthStatistics
    issues: list[HealthIssue]
    recommendations: list[str]
    generated_at: str


class ScoreBreakdown(TypedDict):
    """What a prediction is made of, each from 0 to 100."""

    semanticScore: int
    temporalScore: int
    frequencyScore: int
    serendipityScore: int
    combinedScore: int


class PredictedMemory(TypedDict):
    """A memory that is likely to be needed, and why."""

    id: str
    title: str
    type: MemoryType
    tags: list[str]
    contentPreview: str
    confidence: int
    reason: str
    reasonType: str
    scoreBreakdown: ScoreBreakdown
    daysSinceCreated: int
    daysSinceAccessed: NotRequired[int]
    suggestedAction: str


class ContextUsed(TypedDict):
    """Which parts of the context were there."""

    projectContext: bool
    topicsContext: bool
    filesContext: bool
    textContext: bool
    teamContext: bool


class ScoringWeights(TypedDict):
    """How much each part of a score counts."""

    semantic: float
    temporal: float
    frequency: float
    serendipity: float


class AlgorithmInfo(TypedDict):
    """Who made the predictions."""

    version: str
    embeddingModel: str
    timeWindowDays: int


class PredictiveResult(TypedDict):
    """The memories that are likely to be needed, the likeliest first."""

    predictions: list[PredictedMemory]
    totalPredictions: int
    memoriesAnalyzed: int
    contextUsed: ContextUsed
    scoringWeights: ScoringWeights
    algorithmInfo: AlgorithmInfo
    generatedAt: str
    warnings: NotRequired[list[str]]


class FeedbackKept(TypedDict):
    """The answer to feedback."""

    success: bool
    message: str
    memory_id: str


class PatternBody(TypedDict):
    """A way of working that was recorded."""

    id: str
    user_id: str
    trigger: str
    context: Json
    actions: Json
    final_outcome: Json
    confidence: Json
    use_count: int
    created_at: str
    updated_at: str


class PatternRecorded(TypedDict):
    """The answer to a new pattern."""

    data: PatternBody
    message: str
    redactions: NotRequired[dict[str, int]]


class RecalledPattern(TypedDict):
    """A pattern that fits a task, and why."""

    pattern: PatternBody
    similarity_score: float
    relevance_reason: str


class RecalledPatterns(TypedDict):
    """The patterns that fit a task, the nearest first."""

    patterns: list[RecalledPattern]
    total_found: int
    warnings: NotRequired[list[str]]


class ActionSuggestion(TypedDict):
    """What could be done next, and why."""

    action: str
    tool: str
    confidence: float
    based_on_patterns: list[str]
    reasoning: str


class ActionSuggestions(TypedDict):
    """What could be done next, the surest first."""

    suggestions: list[ActionSuggestion]
    method: str
    warnings: NotRequired[list[str]]


class PatternList(TypedDict):
    """The patterns of a user, the newest first."""

    patterns: list[PatternBody]
    total: int
