"""Reading items by id, listing and counting them, and counting how often they are read."""

import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memolith.domain.blocks import join_blocks
from memolith.domain.callers import Caller
from memolith.domain.items import Item, Page, Similar, Superseded
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.matching import checked
from memolith.engine.statements import near_copies
from memolith.engine.visibility import is_gone, visible
from memolith.errors import DiskFull, InvalidInput, NotFound, Unavailable
from memolith.ports.clock import Clock
from memolith.ports.event_log import NO_LIMIT
from memolith.ports.items import MOST_LISTED
from memolith.ports.store import Store

FLUSH_WAIT_S = 0.5
MAX_OFFSET = 2**62


class Access(NamedTuple):
    """One read of an item, which is not written yet."""

    tenant: str
    id: str
    at: str


class Reading:
    """Reads what a caller may see."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self._accesses: deque[Access] = deque()
        self._flushing = threading.Lock()

    def read(self, caller: Caller, id: str, forgotten: bool = False) -> tuple[Item, list[Block]]:
        """The item and its blocks, if the caller may see it; forgotten ones only if asked for."""
        with self.store.reading(caller.tenant) as rows:
            item = visible(rows, caller, id, forgotten)
            return item, join_blocks(rows.passages(caller.tenant, id))

    def read_many(
        self, caller: Caller, ids: Sequence[str], forgotten: bool = False
    ) -> list[tuple[Item, list[Block]]]:
        """Those of the items that the caller may see, in the order asked for."""
        with self.store.reading(caller.tenant) as rows:
            found = rows.items(caller.tenant, ids)
            items = []
            for id in ids:
                item = found.get(id)
                if item and item.admits(caller) and (forgotten or not is_gone(item)):
                    items.append(item)
            texts = rows.passages_of(caller.tenant, [item.id for item in items])
        return [(item, join_blocks(texts[item.id])) for item in items]

    def find(
        self,
        caller: Caller,
        kind: str,
        id: str,
        *,
        namespace: str | None = None,
        forgotten: bool = False,
    ) -> Item | None:
        """The item with that id, if the caller may see it and it is of the kind and namespace."""
        with self.store.reading(caller.tenant) as rows:
            try:
                item = visible(rows, caller, id, forgotten)
            except NotFound:
                return None
        if item.kind != kind or namespace not in (None, item.namespace):
            return None
        return item

    def list_items(
        self,
        caller: Caller,
        chosen: Filter = Filter(),
        sort: str = "created_at",
        descending: bool = True,
        limit: int = 20,
        offset: int = 0,
    ) -> Page:
        """One page of the items that pass the filter."""
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput(f"The limit must lie between 1 and {MOST_LISTED:,}.", field="limit")
        if not 0 <= offset < MAX_OFFSET:
            raise InvalidInput("The offset cannot be negative or astronomic.", field="offset")
        with self.store.reading(caller.tenant) as rows:
            return rows.list_items(caller, checked(chosen), sort, descending, limit, offset)

    def beginnings(self, caller: Caller, ids: Sequence[str], characters: int) -> dict[str, str]:
        """How the texts of items begin that the caller has listed."""
        with self.store.reading(caller.tenant) as rows:
            return rows.beginnings(caller.tenant, ids, characters)

    def list_all(self, caller: Caller, chosen: Filter) -> tuple[Item, ...]:
        """Every item that passes the filter, the newest first."""
        with self.store.reading(caller.tenant) as rows:
            return rows.list_items(caller, checked(chosen), limit=NO_LIMIT, counted=False).items

    def count_by(self, caller: Caller, by: str, chosen: Filter = Filter()) -> dict[str, int]:
        """How many items pass the filter, by kind, namespace, tag or the like."""
        with self.store.reading(caller.tenant) as rows:
            return rows.count_items_by(caller, checked(chosen), by)

    def near_copies(self, caller: Caller, kind: str, text: str) -> tuple[Similar, ...]:
        """Items of the kind with nearly the same words as the text, the nearest first."""
        with self.store.reading(caller.tenant) as rows:
            return near_copies(rows, caller, kind, text)

    def superseded(self, caller: Caller, ids: Sequence[str]) -> Mapping[str, Superseded]:
        """Which of the items that the caller has read were replaced by a newer one, and when."""
        if not ids:
            return {}
        with self.store.reading(caller.tenant) as rows:
            return rows.superseded(caller.tenant, ids)

    def note_access(self, caller: Caller, id: str) -> None:
        """Count a read of an item. This is no event, and is written with the next flush."""
        self._accesses.append(Access(caller.tenant, id, self.clock.now()))

    def accesses(self, caller: Caller, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
        """How often, and when last, items were read, with the reads that are not written yet."""
        # Not in the middle of a flush, which would hide what it is writing.
        with self._flushing, self.store.reading(caller.tenant) as rows:
            found = rows.accesses(caller.tenant, ids)
            waiting = _counted(self._accesses.copy(), caller.tenant)
        for id, (count, last) in waiting.items():
            if id in ids:
                written, _ = found.get(id, (0, ""))
                found[id] = (written + count, last)
        return found

    def most_accessed(self, caller: Caller, chosen: Filter) -> Item | None:
        """The item that was read most often, or None if none was."""
        self.flush_accesses()
        with self.store.reading(caller.tenant) as rows:
            page = rows.list_items(caller, checked(chosen), "access_count", limit=1, counted=False)
            for item in page.items:
                if rows.accesses(caller.tenant, [item.id]):
                    return item
        return None

    def flush_accesses(self) -> None:
        """Write the reads that were counted since the last flush."""
        with self._flushing:
            waiting = list(self._take_accesses())
            for tenant in {access.tenant for access in waiting}:
                try:
                    with self.store.writing(tenant, FLUSH_WAIT_S) as rows:
                        rows.add_accesses(_counted(waiting, tenant))
                except (DiskFull, Unavailable):
                    # Not now; they are written with the next flush.
                    self._accesses.extend(access for access in waiting if access.tenant == tenant)

    def _take_accesses(self) -> Iterator[Access]:
        for _ in range(len(self._accesses)):
            yield self._accesses.popleft()


def _counted(accesses: Iterable[Access], tenant: str) -> dict[str, tuple[int, str]]:
    """How often, and when last, each item of a tenant was read."""
    own = sorted(access for access in accesses if access.tenant == tenant)
    counts = Counter(access.id for access in own)
    return {access.id: (counts[access.id], access.at) for access in own}
