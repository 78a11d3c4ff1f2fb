"""What the methods of `Memory` return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from memolith.doors.library.records import Record

__all__ = [
    "Change",
    "Citation",
    "Conflict",
    "Context",
    "Event",
    "Explored",
    "FieldChange",
    "Hit",
    "Hits",
    "Imported",
    "IngestedFile",
    "Item",
    "Items",
    "Link",
    "ListedItem",
    "Neighbour",
    "Overview",
    "Remembered",
    "Undone",
]


class Conflict(Record):
    """An item that the new one contradicts."""

    id: str
    title: str
    score: float
    differs: str


class Remembered(Record):
    """A new memory."""

    id: str
    redactions: dict[str, int]
    """How many secrets of which kind were taken out of the text."""
    similar: list[str]
    """The ids of items that say nearly the same."""
    conflicts: list[Conflict]


class Hit(Record):
    """A passage that answers a question."""

    id: str
    """The id of the item that the passage is from."""
    kind: str
    title: str
    text: str
    score: float
    """The probability that the passage answers the question."""
    strength: str
    """`strong`, `likely` or `weak`."""
    reasons: dict[str, float]
    cite: str
    at: str
    """When the passage was said or written."""
    updated_at: str
    superseded_by: str | None
    """The id of a newer item that says otherwise."""
    superseded_at: str | None

    @property
    def created_at(self) -> str:
        """When the passage was said or written; the same as `at`."""
        return self.at


class Hits(Sequence[Hit]):
    """The hits of a search, the best first."""

    def __init__(self, hits: list[Hit], total: int, warnings: list[str]) -> None:
        self._hits = hits
        self.total = total
        """How many hits there are, also beyond this list."""
        self.warnings = warnings

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __repr__(self) -> str:
        return f"Hits({self._hits!r}, total={self.total})"


class Citation(Record):
    """Where a passage of a context comes from."""

    number: int
    id: str
    title: str
    cite: str
    score: float
    at: str
    updated_at: str


class Context(Record):
    """The best passages on a question as one text; `str(context)` is that text."""

    text: str
    citations: list[Citation]
    tokens: int
    warnings: list[str] | None

    def __str__(self) -> str:
        return self.text


class Item(Record):
    """A whole item."""

    id: str
    kind: str
    title: str
    content: str
    status: str
    tags: list[str]
    project: str | None
    version: int
    created_at: str
    updated_at: str
    metadata: dict[str, Any] | None
    superseded_by: str | None
    superseded_at: str | None


class ListedItem(Record):
    """An item of a list, with the beginning of its text."""

    id: str
    kind: str
    title: str
    excerpt: str
    status: str
    tags: list[str]
    project: str | None
    version: int
    created_at: str
    updated_at: str
    forgotten: bool


class Items(Sequence[ListedItem]):
    """A page of a list of items, the newest first."""

    def __init__(self, items: list[ListedItem], total: int) -> None:
        self._items = items
        self.total = total
        """How many items there are, also beyond this page."""

    @overload
    def __getitem__(self, index: int) -> ListedItem: ...
    @overload
    def __getitem__(self, index: slice) -> list[ListedItem]: ...
    def __getitem__(self, index: int | slice) -> ListedItem | list[ListedItem]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ListedItem]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"Items({self._items!r}, total={self.total})"


class Change(Record):
    """A change of an item; `memory.undo(change.event)` takes it back."""

    id: str
    version: int
    event: int
    redactions: dict[str, int] | None


class FieldChange(Record):
    """One field that an event changed."""

    field: str
    old: Any
    new: Any


class Event(Record):
    """One event in the history of an item."""

    event: int
    version: int
    type: str
    at: str
    by: str
    undoes: int | None
    changes: list[FieldChange]


class Undone(Record):
    """The event that was undone, and the one that undid it."""

    undone: int
    event: int
    type: str
    id: str


class Link(Record):
    """A link between two items."""

    id: str
    source: str
    target: str
    type: str
    strength: float


class Neighbour(Record):
    """An item that is linked to another, and how many links away it is."""

    id: str
    kind: str
    title: str
    tags: list[str]
    project: str | None
    distance: int


class Explored(Record):
    """What is around an item."""

    items: list[Neighbour]
    links: list[Link]
    warnings: list[str] | None


class Overview(Record):
    """What is remembered, and how the server is."""

    counts: dict[str, int]
    recent: list[ListedItem]
    health: dict[str, str]


class IngestedFile(Record):
    """A file that was taken in; `known` if it was there before."""

    id: str
    name: str
    type: str
    known: bool
    summary: str | None
    warnings: list[str] | None


class Imported(Record):
    """What an import brought."""

    events: int
    items: int
    redactions: dict[str, int]
