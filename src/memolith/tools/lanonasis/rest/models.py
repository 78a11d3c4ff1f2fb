"""What LanOnasis' REST routes answer: the fields that its server sends and its clients read."""

from typing import NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.tools.lanonasis.memory_types import MemoryType
from memolith.tools.lanonasis.models import MemoryBody, ScoredMemory, Topic


class RestMemory(MemoryBody):
    """A memory, and what the client should know about its wishes."""

    warnings: NotRequired[list[str]]


class MatchingChunk(TypedDict):
    """The piece of a memory that matched best."""

    index: int
    content: str
    similarity: float


class RestHit(ScoredMemory):
    """A memory that a search found."""

    combined_score: float
    matching_chunks: NotRequired[list[MatchingChunk]]


class RestSearch(TypedDict):
    """The result of a search, in the words of both methods that ask for one."""

    results: list[RestHit]
    total_results: int
    search_time_ms: float
    total: int
    query: str
    search_mode: str
    threshold: float
    execution_time_ms: float
    warnings: NotRequired[list[str]]


class RestTopic(Topic):
    """A topic, and whose it is."""

    user_id: str
    is_system: bool
    metadata: dict[str, Json]


class TopicNode(RestTopic):
    """A topic with those below it."""

    children: list[object]
    memory_count: int


class TopicList(TypedDict):
    """Topics; the list alone is sent."""

    topics: list[object]


class TopicDeleted(TypedDict):
    """The answer to a deletion."""

    success: bool
    deleted_id: str


class Subtopic(TypedDict):
    """A topic below another."""

    id: str
    name: str
    memory_count: int


class TopicMemories(TypedDict):
    """A topic with a page of its memories."""

    topic: RestTopic
    memories: list[MemoryBody]
    total_memories: int
    subtopics: list[Subtopic]


class AccessTypes(TypedDict):
    """How often memories were read, changed and deleted."""

    read: int
    update: int
    delete: int


class AccessMethods(TypedDict):
    """By what memories were read."""

    api: int
    search: int
    direct: int


class AccessedMemory(TypedDict):
    """How often a memory was read."""

    memory_id: str
    title: str
    access_count: int
    last_accessed: str


class HourlyAccess(TypedDict):
    """How many memories were last read in an hour of the day."""

    hour: int
    count: int


class AccessPatterns(TypedDict):
    """How memories were used."""

    total_accesses: int
    by_type: AccessTypes
    by_method: AccessMethods
    most_accessed: list[AccessedMemory]
    access_by_hour: list[HourlyAccess]
    warnings: NotRequired[list[str]]


class ProjectCount(TypedDict):
    """How many memories a project has."""

    project_id: str
    project_name: str
    count: int


class StorageUse(TypedDict):
    """How large the texts are."""

    total_size_mb: float
    avg_memory_size_kb: float
    total_chunks: int


class ActivityToday(TypedDict):
    """What happened today."""

    created_today: int
    updated_today: int
    searched_today: int


class TagCount(TypedDict):
    """How often a tag is used."""

    tag: str
    count: int


class ExtendedStats(TypedDict):
    """Figures of the memories of a user."""

    total_memories: int
    by_type: dict[MemoryType, int]
    by_project: list[ProjectCount]
    storage: StorageUse
    activity: ActivityToday
    top_tags: list[TagCount]


class SearchAnalytics(TypedDict):
    """Figures of searches, which memolith does not keep."""

    total_searches: int
