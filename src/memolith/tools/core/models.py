"""What the tools of the core family return.

The published schemas are brief on purpose: the whole family must fit into 1,500 tokens of a
client's tool list.
"""

from typing import Annotated, NotRequired, TypedDict

from memolith.domain.attributes import Json
from memolith.tools.result_schema import A_LIST, AN_OBJECT, OBJECTS
from memolith.tools.results import ConflictBody, Dated, Replaced


class Remembered(TypedDict):
    """The result of `remember`."""

    id: str
    redactions: Annotated[dict[str, int], AN_OBJECT]
    similar: list[str]
    conflicts: Annotated[list[ConflictBody], A_LIST]


class RecallHit(Dated):
    """One hit of `recall`."""

    id: str
    kind: str
    title: str
    text: str
    score: float
    strength: str
    reasons: dict[str, float]
    cite: str
    project: NotRequired[str]


class Recalled(TypedDict):
    """The result of `recall`."""

    hits: Annotated[list[RecallHit], OBJECTS]
    total: int
    warnings: NotRequired[list[str]]


class Citation(Dated):
    """Where a passage of `context` comes from."""

    number: int
    id: str
    title: str
    cite: str
    score: float


class PackedContext(TypedDict):
    """The result of `context`."""

    text: str
    citations: Annotated[list[Citation], A_LIST]
    tokens: int
    warnings: NotRequired[list[str]]


class ItemBody(TypedDict):
    """An item without its text."""

    id: str
    kind: str
    title: str
    status: str
    tags: list[str]
    project: str | None
    version: int
    created_at: str
    updated_at: str
    metadata: NotRequired[dict[str, Json]]


class WholeItem(ItemBody, Replaced):
    """An item with its text."""

    content: str


class Fetched(TypedDict):
    """The result of `fetch`."""

    items: Annotated[list[WholeItem], OBJECTS]
    warnings: NotRequired[list[str]]


class LinkBody(TypedDict):
    """A link between two items."""

    id: str
    source: str
    target: str
    type: str
    strength: float


class Linked(TypedDict):
    """The result of `link`."""

    link: Annotated[LinkBody, AN_OBJECT]


class Neighbour(ItemBody):
    """An item that `explore` reached, and how many links away it is."""

    distance: int


class Explored(TypedDict):
    """The result of `explore`."""

    items: Annotated[list[Neighbour], OBJECTS]
    links: Annotated[list[LinkBody], A_LIST]
    warnings: NotRequired[list[str]]


class FieldChange(TypedDict):
    """One field that an event changed."""

    field: str
    old: Json
    new: Json


class EventBody(TypedDict):
    """One event in the history of an item."""

    event: int
    version: int
    type: str
    at: str
    by: str
    undoes: Json
    changes: list[FieldChange]


class ItemHistory(TypedDict):
    """The result of `history`."""

    events: Annotated[list[EventBody], OBJECTS]


class Overview(TypedDict):
    """The result of `overview`."""

    counts: Annotated[dict[str, int], AN_OBJECT]
    recent: Annotated[list[ItemBody], A_LIST]
    health: Annotated[dict[str, str], AN_OBJECT]
