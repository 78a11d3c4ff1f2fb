"""All of memory behind one value: the verbs, the past, the search and the upkeep."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from memolith.domain.blocks import join_blocks, text_of
from memolith.domain.callers import Caller
from memolith.domain.items import Item, Page, Similar
from memolith.domain.links import Direction
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.engine.claims import contradicts, same
from memolith.engine.configuration import Configuration
from memolith.engine.documents import Documents, Shelf
from memolith.engine.graph import DEEPEST, MOST, NOW, Moment, Neighbourhood, seen, standing, walk
from memolith.engine.history import Past
from memolith.engine.insights import Insights
from memolith.engine.maintenance import Upkeep
from memolith.engine.matching import checked
from memolith.engine.recall import Recall
from memolith.engine.vault import Vault
from memolith.engine.writing import Verbs, gone, visible
from memolith.errors import DiskFull, InvalidInput, Unavailable
from memolith.ports.analyst import Analyst
from memolith.ports.cipher import Cipher
from memolith.ports.items import MOST_LISTED
from memolith.ports.repository import Checkout

FLUSH_WAIT_S = 0.5


@dataclass(eq=False, kw_only=True)
class Engine(Verbs):
    """What the surfaces call: beside the verbs, all that reads."""

    search: Recall
    cipher: Callable[[], Cipher]
    analysts: Sequence[Analyst]
    manual: Callable[[], Caller]
    """Whose memory the documentation is; it is learned when first asked for, and anew when it changes."""
    repository: Callable[[str], Checkout | None]
    """The repository around a folder; an empty path stands for where this server works."""
    shelf: Callable[[], Shelf]

    def __post_init__(self) -> None:
        self.past, self.upkeep, self.configuration = Past(self), Upkeep(self), Configuration(self)
        self.vault, self.documents = (
            Vault(self, self.cipher),
            Documents(self, self.shelf, self.cipher),
        )
        self.insights, self.before_erase = (
            Insights(self, self.search, self.analysts),
            self.documents.drop,
        )
        self.started, self.recall = time.monotonic(), self.search.recall
        self._reads = deque[tuple[str, str, str]]()
        """Tenant, item and time of each access that is not written yet."""
        self._flushing = threading.Lock()

    def read(self, caller: Caller, id: str, forgotten: bool = False) -> tuple[Item, list[Block]]:
        """The item and its blocks, if the caller may see it; forgotten ones only where asked for."""
        with self.store.reading(caller.tenant) as rows:
            return visible(rows, caller, id, forgotten), join_blocks(
                rows.passages(caller.tenant, id)
            )

    def read_many(
        self, caller: Caller, ids: Sequence[str], forgotten: bool = False
    ) -> list[tuple[Item, list[Block]]]:
        """Those of the items that the caller may see, in the order asked for."""
        with self.store.reading(caller.tenant) as rows:
            found = rows.items(caller.tenant, ids)
            items = [
                item
                for id in ids
                if (item := found.get(id)) and item.admits(caller) and (forgotten or not gone(item))
            ]
            texts = rows.passages_of(caller.tenant, [item.id for item in items])
        return [(item, join_blocks(texts[item.id])) for item in items]

    def listing(
        self,
        caller: Caller,
        chosen: Filter = Filter(),
        sort: str = "created_at",
        descending: bool = True,
        limit: int = 20,
        offset: int = 0,
    ) -> Page:
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput(f"The limit must lie between 1 and {MOST_LISTED:,}.", field="limit")
        if not 0 <= offset < 2**62:
            raise InvalidInput("The offset cannot be negative or astronomic.", field="offset")
        with self.store.reading(caller.tenant) as rows:
            return rows.list_items(caller, checked(chosen), sort, descending, limit, offset)

    def counts(self, caller: Caller, by: str, chosen: Filter = Filter()) -> dict[str, int]:
        with self.store.reading(caller.tenant) as rows:
            return rows.count_items_by(caller, checked(chosen), by)

    def explore(
        self,
        caller: Caller,
        id: str,
        depth: int = 1,
        types: Collection[str] = (),
        toward: Direction = "both",
        chosen: Filter = Filter(),
        most: int = MOST,
        moment: Moment = NOW,
    ) -> Neighbourhood:
        if not 0 <= depth <= DEEPEST:
            raise InvalidInput(
                f"The depth must lie between 0 and {DEEPEST}.", field="depth", value=depth
            )
        with self.store.reading(caller.tenant) as rows:
            distance, _, cut = walk(rows, caller, id, depth, types, toward, chosen, most, moment)
            found = seen(rows, caller, distance, Filter(forgotten=None), moment)
            links = standing(
                rows,
                caller.tenant,
                [one for one in distance if distance[one] < depth],
                toward,
                types,
                moment,
            )
        return Neighbourhood(
            tuple(found[one] for one in distance if one in found),
            tuple(link for link in links if {link.source, link.target} <= distance.keys()),
            distance,
            cut,
        )

    def similar(
        self,
        caller: Caller,
        text: str,
        threshold: float = 0.9,
        chosen: Filter = Filter(),
        limit: int = 10,
    ) -> list[Similar]:
        """Items that say nearly the same as the text, without those that contradict it."""
        hits = self.recall(
            caller,
            Query(
                text[:4000],
                chosen,
                mode="vector",
                limit=5 * limit,
                threshold=threshold,
                by_similarity=True,
                per_item=True,
                verbatim=True,
            ),
        ).hits
        with self.store.reading(caller.tenant) as rows:
            passages = rows.passages_of(caller.tenant, [hit.item.id for hit in hits])
        return [
            Similar(hit.item.id, hit.item.title, hit.score, same(text, other))
            for hit in hits
            if not contradicts(text, other := text_of(passages[hit.item.id]))
        ][:limit]

    def health(self) -> dict[str, str]:
        """How the parts are; asking starts to load the model."""
        with self.store.reading(None) as rows:
            waiting = rows.outbox_counts()
        return {
            "store": "healthy",
            "embeddings": self.search.state()[0],
            **{state: str(waiting.get(("embed", state), 0)) for state in ("pending", "failed")},
        }

    def note_read(self, caller: Caller, id: str) -> None:
        """Count an access; not an event, and written with the next flush."""
        self._reads.append((caller.tenant, id, self.clock.now()))

    def accesses(self, caller: Caller, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
        """How often and when last the items were read, those counted and not yet written included."""
        # Not in the middle of a flush, which would hide what it is writing.
        with self._flushing, self.store.reading(caller.tenant) as rows:
            found, waiting = (
                rows.accesses(caller.tenant, ids),
                _counted(self._reads.copy(), caller.tenant),
            )
        return found | {
            id: (found.get(id, (0, ""))[0] + count, last)
            for id, (count, last) in waiting.items()
            if id in ids
        }

    def flush_reads(self) -> None:
        with self._flushing:
            reads = [self._reads.popleft() for _ in range(len(self._reads))]
            for tenant in {read[0] for read in reads}:
                try:
                    with self.store.writing(tenant, FLUSH_WAIT_S) as rows:
                        rows.add_accesses(_counted(reads, tenant))
                except (DiskFull, Unavailable):
                    # Not now; they are written with the next flush.
                    self._reads.extend(read for read in reads if read[0] == tenant)


def _counted(reads: Iterable[tuple[str, str, str]], tenant: str) -> dict[str, tuple[int, str]]:
    """How often and when last each item of a tenant is among the reads."""
    counts = Counter(id for its, id, _ in reads if its == tenant)
    return {id: (counts[id], at) for its, id, at in sorted(reads) if its == tenant}
