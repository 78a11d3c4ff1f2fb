"""What the tools of the Knowledge family return."""

from typing import Annotated, Literal, NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.tools.result_schema import AN_OBJECT, Published
from memolith.tools.results import ConflictBody

NullableText = Annotated[str | None, Published({"anyOf": [{"type": "string"}, {"type": "null"}]})]
NullableJson = Annotated[Json, Published({"anyOf": [{"type": "string"}, {"type": "null"}]})]


class Pong(TypedDict):
    """The result of `ping`."""

    status: Annotated[Literal["ok"], Published({"const": "ok", "type": "string"})]
    message: str
    server_name: str
    timestamp: str


class ServerStats(TypedDict):
    """The result of `get_server_stats`."""

    success: bool
    event_store: dict[str, int]
    outbox: dict[str, int]
    status: Literal["healthy", "error"]


class ToolAvailability(TypedDict):
    """The result of `get_tool_availability`."""

    success: bool
    available: list[str]
    unavailable: list[str]
    total_tools: int
    service_status: dict[str, dict[str, bool]]


class ConceptWritten(TypedDict):
    """The result of a tool that writes a concept."""

    success: bool
    concept_id: str
    message: str
    redactions: NotRequired[dict[str, int]]
    conflicts: NotRequired[list[ConflictBody]]
    warnings: NotRequired[list[str]]


class ExplanationVersion(TypedDict):
    """An explanation that a concept has or had."""

    explanation: Json
    timestamp: str


class ConceptBody(TypedDict):
    """A concept in full."""

    concept_id: str
    name: str
    area: Json
    topic: Json
    subtopic: Json
    certainty_source: Json
    certainty_score: float
    created_at: str
    explanation: str
    last_modified: str
    explanation_history: NotRequired[list[ExplanationVersion]]


class ConceptFound(TypedDict):
    """The result of `get_concept`."""

    success: bool
    concept: Annotated[ConceptBody, AN_OBJECT]
    message: str


class ConceptRow(TypedDict, total=False):
    """A concept in a list; each tool fills in what it documents."""

    concept_id: str
    name: str
    similarity: float
    area: NullableJson
    topic: NullableJson
    subtopic: NullableJson
    certainty_score: float
    created_at: str
    updated_at: str
    superseded_at: str
    superseded_by: str
    relationship_type: str
    direction: str
    strength: float
    notes: NullableJson
    depth: int
    relationship_to_next: NullableText


class ConceptRows(TypedDict):
    """The result of a tool that lists concepts."""

    success: bool
    results: list[ConceptRow]
    total: int
    message: str
    warnings: NotRequired[list[str]]


class Prerequisites(TypedDict):
    """The result of `get_prerequisites`."""

    success: bool
    prerequisites: list[ConceptRow]
    total: int
    message: str
    warnings: NotRequired[list[str]]


class ConceptChain(TypedDict):
    """The result of `get_concept_chain`."""

    success: bool
    path: list[ConceptRow]
    length: int
    message: str


class RelationshipWritten(TypedDict):
    """The result of a tool that writes a relationship."""

    success: bool
    relationship_id: str
    message: str


class SubtopicCount(TypedDict):
    """How many concepts a subtopic holds."""

    name: str
    concept_count: int


class TopicCount(TypedDict):
    """How many concepts a topic holds."""

    name: str
    concept_count: int
    subtopics: list[SubtopicCount]


class AreaCount(TypedDict):
    """How many concepts an area holds."""

    name: str
    concept_count: int
    topics: list[TopicCount]


class Hierarchy(TypedDict):
    """The result of `list_hierarchy`."""

    success: bool
    areas: list[AreaCount]
    total_concepts: int
    message: str
