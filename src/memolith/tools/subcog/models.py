"""What the tools of the Subcog family return."""

from typing import Annotated, Literal, NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.tools.result_schema import AN_OBJECT, Published, names_of, result_schema
from memolith.tools.results import ConflictBody, Replaced

NullableText = Annotated[Json, Published({"type": ["string", "null"]})]


class Captured(TypedDict):
    """The result of `subcog_capture`."""

    id: str
    urn: str
    redactions: NotRequired[dict[str, int]]
    conflicts: NotRequired[list[ConflictBody]]
    warnings: NotRequired[list[str]]


class MemoryRow(Replaced):
    """A memory in a list; how much it shows depends on the detail asked for."""

    id: str
    urn: str
    uri: str
    namespace: str
    tags: list[str]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    content: NotRequired[str | None]
    score: NotRequired[float | None]


class WholeMemory(Replaced):
    """One whole memory."""

    id: str
    urn: str
    uri: str
    namespace: str
    tags: list[str]
    content: str
    source: NotRequired[NullableText]
    domain: str
    project: NotRequired[str | None]
    branch: NotRequired[NullableText]
    status: str
    context: NotRequired[NullableText]
    expires_at: NotRequired[NullableText]
    created_at: str
    updated_at: str


class ScoredMemory(WholeMemory):
    """One whole memory that a search found."""

    score: float


ROW_SCHEMA = Published(result_schema(MemoryRow))


class RecalledMemories(TypedDict):
    """The result of `subcog_recall`."""

    results: list[Annotated[MemoryRow | WholeMemory | ScoredMemory, ROW_SCHEMA]]
    total: int
    warnings: NotRequired[list[str]]


class MemoryUpdated(TypedDict):
    """The result of `subcog_update`."""

    id: str
    urn: str
    updated: list[str]
    tags: list[str]
    updated_at: str
    redactions: NotRequired[dict[str, int]]


DeletedStatus = Literal["tombstoned", "erased"]


class MemoryDeleted(TypedDict):
    """The result of `subcog_delete`."""

    id: str
    urn: str
    status: Annotated[DeletedStatus, names_of(DeletedStatus)]


class NamespaceBody(TypedDict):
    """A namespace, and words that hint at it."""

    name: str
    description: str
    signal_words: list[str]


class Namespaces(TypedDict):
    """The result of `subcog_namespaces`."""

    namespaces: list[NamespaceBody]


class RepositoryStatus(TypedDict):
    """The repository around the server."""

    path: NotRequired[str | None]
    project_id: NotRequired[str | None]
    branch: NotRequired[str | None]


class StorageStatus(TypedDict):
    """How memories are kept."""

    persistence: str
    index: str
    vector: str


class TagCount(TypedDict):
    """How many memories have a tag."""

    tag: str
    count: int


class MemoryStatistics(TypedDict):
    """What the memories are about."""

    total_count: int
    namespace_counts: dict[str, int]
    recent_topics: list[str]
    top_tags: list[TagCount]


class ServerStatus(TypedDict):
    """The result of `subcog_status`."""

    repository: RepositoryStatus
    storage: StorageStatus
    statistics: MemoryStatistics


class CleanedUp(TypedDict):
    """The result of `subcog_gc`."""

    stale_branches: list[str]
    memories_affected: int
    purged: int
    dry_run: bool
    status: str


class Reindexed(TypedDict):
    """The result of `subcog_reindex`."""

    indexed: int
    duration_ms: float
    status: str


class CandidateMerge(TypedDict):
    """Memories that say the same, and the text that would stand for them."""

    memories: list[str]
    similarity: float
    proposed_content: str


class Consolidated(TypedDict):
    """The result of `subcog_consolidate`."""

    groups_found: int
    candidate_merges: list[CandidateMerge]
    dry_run: bool
    results: list[str]
    events: list[int]
    warnings: NotRequired[list[str]]


class EnrichedChanges(TypedDict):
    """What was added to a memory."""

    tags_added: list[str]
    structure_improved: bool
    context_added: NotRequired[str | None]


class EnrichedMemory(TypedDict):
    """The result of `subcog_enrich`."""

    memory_id: str
    changes: EnrichedChanges
    redactions: NotRequired[dict[str, int]]
    warnings: NotRequired[list[str]]


class SyncDeprecated(TypedDict):
    """The result of `subcog_sync`."""

    message: str
    status: Annotated[Literal["deprecated"], Published({"enum": ["deprecated"]})]


class GraphRow(TypedDict, total=False):
    """An entity or a relationship as the flat documented schema has it."""

    id: str
    urn: str
    name: str
    entity_type: str
    confidence: float
    aliases: list[str]
    properties: Annotated[dict[str, Json], AN_OBJECT]
    from_entity: str
    to_entity: str
    relationship_type: str
    valid_from: str
    valid_to: str
    evidence: str
    memory_id: str
    created_at: str
    updated_at: str


GRAPH_ROW = Published({**result_schema(GraphRow), "required": []})


class StoredEntity(TypedDict):
    """An entity that is stored, or a memory that mentions entities."""

    id: str
    urn: str
    name: str
    entity_type: str
    created_at: str
    updated_at: str
    confidence: Json
    aliases: Json
    properties: Json


class ExtractedEntity(TypedDict):
    """An entity that a text names; its id if it was stored."""

    id: NotRequired[str]
    name: str
    entity_type: str
    confidence: float


class StoredRelationship(TypedDict):
    """A relationship that is stored."""

    id: str
    from_entity: str
    to_entity: str
    relationship_type: str
    created_at: str
    updated_at: str
    properties: Json
    confidence: float
    valid_from: NotRequired[Json]
    valid_to: NotRequired[Json]
    evidence: NotRequired[Json]
    memory_id: NotRequired[Json]


class ExtractedRelationship(TypedDict):
    """What a sentence says about two entities."""

    from_entity: str
    relationship_type: str
    to_entity: str
    confidence: float
    evidence: str
    memory_id: NotRequired[str]


EntityRow = Annotated[StoredEntity | ExtractedEntity, GRAPH_ROW]
RelationshipRow = Annotated[StoredRelationship | ExtractedRelationship, GRAPH_ROW]
EntityResult = Annotated[StoredEntity, GRAPH_ROW]
RelationshipResult = Annotated[StoredRelationship, GRAPH_ROW]


class GraphPart(TypedDict):
    """Entities and the relationships between them."""

    entities: list[EntityRow]
    relationships: list[RelationshipRow]
    entity_count: int
    relationship_count: int
    warnings: NotRequired[list[str]]


class ExtractedGraph(GraphPart):
    """Entities and relationships that were found in texts, by whom, and whether they are stored."""

    method: str
    stored: bool


EXTRACTED_GRAPH = Published(result_schema(GraphPart))
ExtractedResult = Annotated[ExtractedGraph, EXTRACTED_GRAPH]


class EntityPage(TypedDict):
    """The entities of a list."""

    entities: list[EntityResult]
    entity_count: int


class GraphDeletion(TypedDict):
    """What a deletion removed."""

    id: str
    deleted: bool
    relationships_removed: int


class EntitiesMerged(TypedDict):
    """The entity that several became."""

    entity: EntityResult
    merged: list[str]
    relationships: list[RelationshipResult]
    dry_run: bool


class RelationshipPage(TypedDict):
    """The relationships of a list."""

    relationships: list[RelationshipResult]
    relationship_count: int
    warnings: NotRequired[list[str]]


class GraphStats(TypedDict):
    """How many entities and relationships there are."""

    entity_count: int
    relationship_count: int
    mention_count: int
    warnings: NotRequired[list[str]]
    entities_by_type: dict[str, int]
    relationships_by_type: dict[str, int]


class GraphDrawing(TypedDict):
    """A drawing of the graph."""

    format: str
    content: str
    entity_count: int
    relationship_count: int
    warnings: NotRequired[list[str]]


class StoredPrompt(TypedDict):
    """A prompt or a template."""

    id: str
    name: str
    domain: str
    content: str
    description: Annotated[Json, Published({"type": "string"})]
    tags: list[str]
    variables: list[str]
    variables_def: Annotated[Json, Published({"items": {"type": "object"}, "type": "array"})]
    version: int
    usage_count: int
    updated_at: str
    redactions: NotRequired[dict[str, int]]


class PromptPage(TypedDict):
    """The prompts of a list."""

    prompts: list[StoredPrompt]
    total: int


class TemplatePage(TypedDict):
    """The templates of a list."""

    templates: list[StoredPrompt]
    total: int


class PromptDeleted(TypedDict):
    """A prompt or template that was deleted."""

    name: str
    domain: str
    deleted: bool


class Rendered(TypedDict):
    """A prompt or template with values in it."""

    name: str
    domain: str
    rendered: str
    version: NotRequired[int | None]
    format: NotRequired[str | None]
    total_count: NotRequired[int | None]
    warnings: NotRequired[list[str]]
