"""Rows of links."""

from collections.abc import Collection, Iterator
from typing import Protocol

from memolith.domain.callers import Caller
from memolith.domain.links import Direction, Link
from memolith.domain.queries import Filter


class LinkRows(Protocol):
    """Reads links and walks along them."""

    def link(self, tenant: str, **key: str) -> Link | None: ...
    def link_streams(self, tenant: str, item: str) -> list[str]: ...
    def all_links(self, tenant: str) -> Iterator[Link]: ...
    def neighbours(
        self, tenant: str, frontier: Collection[str], toward: Direction, types: Collection[str] = ()
    ) -> list[Link]: ...
    def steps(
        self,
        caller: Caller,
        chosen: Filter,
        frontier: Collection[str],
        toward: Direction,
        types: Collection[str] = (),
    ) -> list[tuple[str, str, str, str]]: ...
