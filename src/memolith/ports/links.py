"""Rows of links."""

from collections.abc import Collection, Iterator
from typing import NamedTuple, Protocol

from memolith.domain.callers import Caller
from memolith.domain.links import Direction, Link
from memolith.domain.queries import Filter


class Step(NamedTuple):
    """One step along a link, from an item to its neighbour."""

    start: str
    end: str
    link_type: str
    end_title: str


class NodeItem(NamedTuple):
    """An item, as far as a picture of the graph shows it."""

    id: str
    kind: str
    title: str
    namespace: str | None
    seq: int


class LinkRows(Protocol):
    """Reads links and walks along them."""

    def link_by_id(self, tenant: str, id: str) -> Link | None:
        """The link with this id."""
        ...

    def link_between(self, tenant: str, source: str, target: str, type: str) -> Link | None:
        """The link of this type from one item to another."""
        ...

    def link_streams(self, tenant: str, item: str) -> list[str]:
        """The ids of every link that ever started or ended at the item, removed ones included."""
        ...

    def all_links(self, tenant: str) -> Iterator[Link]:
        """Every link of the tenant, by id."""
        ...

    def link_ends(
        self, tenant: str, ids: Collection[str], toward: Direction
    ) -> set[tuple[str, str, str]]:
        """The source, the target and the type of the links that leave these items this way."""
        ...

    def count_links(self, tenant: str, types: Collection[str] = ()) -> dict[str, int]:
        """How many links each item has, of the types if any are named."""
        ...

    def count_link_types(self, tenant: str) -> dict[str, int]:
        """How many links there are of each type."""
        ...

    def nodes(self, caller: Caller, chosen: Filter) -> list[NodeItem]:
        """All items that the caller sees and the filter keeps, with or without links."""
        ...

    def neighbours(
        self, tenant: str, frontier: Collection[str], toward: Direction, types: Collection[str] = ()
    ) -> list[Link]:
        """The links that leave these items in this direction, oldest first."""
        ...

    def steps(
        self,
        caller: Caller,
        chosen: Filter,
        frontier: Collection[str],
        toward: Direction,
        types: Collection[str] = (),
    ) -> list[Step]:
        """The steps from these items to items that the caller sees and the filter keeps."""
        ...
