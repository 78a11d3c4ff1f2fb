"""Types of arguments of the Sekha family: messages, folders, filters."""

from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter
from memolith.engine.validation import folder_path, when
from memolith.tools.arguments import JsonObject, bare_id
from memolith.tools.signature import Argument

END_OF_DAY = "T23:59:59.999999"
DATE_LENGTH = len("2026-01-31")

ConversationId = Annotated[str, Field(description="The id of the conversation.")]
Label = Annotated[
    str, Field(min_length=1, max_length=500, pattern=r"\S", description="What it is called.")
]
Folder = Annotated[str, Field(description="A path like /projects/api.")]
FolderFilter = Annotated[str | None, Field(description="This folder and those below it.")]
LabelFilter = Annotated[str | None, Field(description="Exactly this label.")]
Importance = Annotated[
    int, Field(ge=1, le=10, description="From 1 to 10; 10 is never suggested for pruning.")
]
ImportanceBound = Annotated[float | None, Field(ge=0, le=10)]
Offset = Annotated[int, Field(ge=0, le=10**9)]
ConversationStatus = Literal["active", "archived"]


class Message(Argument):
    """One message."""

    role: Annotated[
        str, Field(min_length=1, max_length=100, pattern=r"\S", description="Who speaks.")
    ]
    content: Annotated[str, Field(min_length=1, pattern=r"\S", description="What is said.")]
    timestamp: Annotated[str | None, Field(description="When, as ISO 8601; else now.")] = None
    metadata: JsonObject | None = None

    def block(self) -> Block:
        """The message as the engine keeps it."""
        at = when("messages.timestamp", self.timestamp) if self.timestamp else None
        return Block(self.content, speaker=self.role, at=at, attributes=self.metadata or {})


class Filters(Argument):
    """What a search is limited to."""

    folder: FolderFilter = None
    label: LabelFilter = None
    status: ConversationStatus | None = None
    role: Annotated[str | None, Field(description="Who speaks.")] = None
    importance_min: ImportanceBound = None
    importance_max: ImportanceBound = None
    date_from: Annotated[
        str | None, Field(min_length=1, description="Messages from this day or time on.")
    ] = None
    date_to: Annotated[
        str | None, Field(min_length=1, description="Messages up to this time or whole day.")
    ] = None
    conversation_id: Annotated[str | None, Field(description="Only this conversation.")] = None

    def to_filter(self) -> Filter:
        """The filter that the engine understands."""
        return Filter(
            kinds=("conversation",),
            statuses=(self.status,) if self.status is not None else (),
            speakers=(self.role,) if self.role is not None else (),
            titles=(self.label,) if self.label is not None else (),
            since=when("filters.date_from", self.date_from) if self.date_from else None,
            until=self._until(),
            ids=(bare_id(self.conversation_id),) if self.conversation_id is not None else (),
            where=tuple(self._conditions()),
        )

    def _until(self) -> str | None:
        """The end of the time range; a date alone means the whole day."""
        if not self.date_to:
            return None
        is_date = len(self.date_to) <= DATE_LENGTH
        return when("filters.date_to", self.date_to + END_OF_DAY if is_date else self.date_to)

    def _conditions(self) -> list[Condition]:
        conditions = []
        path = folder_path(self.folder or "")
        if path != "/":
            conditions.append(Condition("folder", "under", path))
        if self.importance_min is not None:
            conditions.append(Condition("importance_score", "ge", self.importance_min))
        if self.importance_max is not None:
            conditions.append(Condition("importance_score", "le", self.importance_max))
        return conditions
