"""What the routes of mem0 take and answer."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.tools.arguments import JsonObject
from memolith.tools.signature import Argument

Scope = Literal["user_id", "agent_id", "app_id", "run_id"]
ScopeType = Literal["user", "agent", "app", "run"]
ScopeName = Annotated[str | None, Field(min_length=1, max_length=500)]
ExpirationDate = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]


class GivenMessage(Argument):
    """One message of a talk."""

    role: str
    content: str


class BatchUpdate(Argument):
    """A memory to change, and what of it."""

    memory_id: str
    text: str | None = None
    metadata: JsonObject | None = None


class BatchDelete(Argument):
    """A memory to delete."""

    memory_id: str


class MemoryBody(TypedDict):
    """A memory as mem0 shows it; `fields` may have left some out."""

    id: str
    memory: NotRequired[str]
    hash: NotRequired[str]
    user_id: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    app_id: NotRequired[str | None]
    run_id: NotRequired[str | None]
    session_id: NotRequired[str | None]
    metadata: NotRequired[dict[str, Json]]
    categories: NotRequired[list[str]]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    expiration_date: NotRequired[str | None]
    score: NotRequired[float]


class AddedData(TypedDict):
    """What was added, once more, where version 3 of the API has it."""

    memory: str


class AddedMemory(TypedDict):
    """One memory that was added."""

    id: str
    memory: str
    data: AddedData
    event: str


class AddResult(TypedDict):
    """What came of a talk."""

    status: str
    message: str
    results: list[AddedMemory]
    method: str
    warnings: NotRequired[list[str]]


class MemoryPage(TypedDict):
    """One page of memories."""

    count: int
    next: str | None
    previous: str | None
    results: list[MemoryBody]


class SearchResult(TypedDict):
    """What a search found."""

    results: list[MemoryBody]
    warnings: NotRequired[list[str]]


class Message(TypedDict):
    """That something was done."""

    message: str


class HistoryEntry(TypedDict):
    """One change of a memory."""

    id: str
    memory_id: str
    event: str
    old_memory: str | None
    new_memory: str | None
    user_id: str | None
    created_at: str
    updated_at: str


class HistoryResult(TypedDict):
    """The changes of a memory, the oldest first."""

    history: list[HistoryEntry]


class ScopeBody(TypedDict):
    """A user, agent, app or run for which there are memories."""

    id: str
    name: str
    type: str
    total_memories: int
    created_at: str
    updated_at: str


class ScopePage(TypedDict):
    """All of them."""

    count: int
    next: str | None
    previous: str | None
    results: list[ScopeBody]


class Ping(TypedDict):
    """That the key is good, and whose it is."""

    status: str
    user_email: str
    org_id: str
    project_id: str


class FeedbackResult(TypedDict):
    """What somebody thinks of a memory."""

    id: str
    memory_id: str
    feedback: str | None
    feedback_reason: str | None
