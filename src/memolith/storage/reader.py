"""Reads inside one transaction, for any database. The ports say what each method answers."""

import json
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from memolith.domain.callers import Caller
from memolith.domain.chunking import embedded
from memolith.domain.clock import iso
from memolith.domain.events import Event, EventFilter, EventHead
from memolith.domain.items import Item, Page, Superseded
from memolith.domain.links import Direction, Link
from memolith.domain.passages import Passage, PassageRef, item_row_of, passage_ref
from memolith.domain.queries import Filter
from memolith.engine.validation import storable
from memolith.errors import InvalidInput, SchemaTooNew
from memolith.ports.answers import KeptAnswer
from memolith.ports.client_keys import ClientKey
from memolith.ports.event_log import NO_LIMIT, StreamPage, StreamsWanted
from memolith.ports.items import (
    ConceptCount,
    DuplicateMark,
    FolderCount,
    NoteRow,
    OpenPair,
    SupersededMark,
    TextSize,
)
from memolith.ports.links import NodeItem, Step
from memolith.ports.text_index import Candidate, Statistics
from memolith.ports.usage import (
    MAX_COUNTED_READS,
    ClientCalls,
    ItemRead,
    ReadPage,
    ReadsWanted,
)
from memolith.ports.vector_rows import EmbeddingInput, VectorPlace
from memolith.storage.filters import FilterPieces, FilterSql, filter_sql, sort_keys
from memolith.storage.index_check import ExpectedIndex, Mark
from memolith.storage.paging import page_window
from memolith.storage.rows import (
    ANSWER,
    CLIENT_CALLS,
    CLIENT_KEY,
    DUPLICATE_MARK,
    EVENT,
    EVENT_HEAD,
    HEAD,
    ITEM,
    ITEM_READ,
    LINK,
    LINK_COUNT,
    LINK_ENDS,
    MAX_SQL_INTEGER,
    NODE_ITEM,
    NUMBERED_ITEM,
    PASSAGE,
    PASSAGE_WITH_ITEM,
    STEP,
    STORED_PASSAGE,
    SUPERSEDED_MARK,
    TITLED_READ,
    Head,
    Parameter,
    Parameters,
    Row,
    RowShape,
    item_from,
)
from memolith.storage.sql_files import FILTERS_MARK
from memolith.storage.statements import Statements
from memolith.storage.tenant_facts import Fact, TenantFacts
from memolith.storage.terms import TERMS_VERSION, own, sketch, work_ahead
from memolith.storage.text_scope import (
    most_items_worth_narrowing,
    scope_groups,
    visibility_tokens,
)

Value = TypeVar("Value")


class Totals(NamedTuple):
    """How many passages there are, and how many terms they have in the mean."""

    passages: int
    mean_length: float


COUNTED_BY = ("kind", "status", "namespace", "project", "tag")
MAX_KNOWN_FREQUENCIES = 2000
"""How many term frequencies of a tenant are kept."""

SAMPLED_PASSAGES = 200
"""Over how many of the newest passages that a caller sees the mean length is taken."""

TERMS_RECORD = "terms"
"""The store-wide record that names the version of the terms in the text index."""
FIRST_TERMS_VERSION = 1
"""The version of stores that have no such record."""

ORDER_MARK = "i.seq desc /* order */"
DEFAULT_FOLDER = "/"
DEFAULT_IMPORTANCE = 5
LINK_STATEMENTS = {
    "outgoing": ("links_from",),
    "incoming": ("links_to",),
    "both": ("links_from", "links_to"),
}
END_STATEMENTS = {
    "outgoing": ("ends_from",),
    "incoming": ("ends_to",),
    "both": ("ends_from", "ends_to"),
}
STEP_STATEMENTS = {
    "outgoing": ("steps_forward",),
    "incoming": ("steps_back",),
    "both": ("steps_forward", "steps_back"),
}


class TextMatch(NamedTuple):
    """What a text search looks for, as the index terms of one tenant."""

    words: Sequence[str]
    phrases: Sequence[str]
    """The words of a phrase have a blank between them."""
    every: bool
    """Whether a passage must have every word, not just any."""
    scopes: Sequence[Sequence[str]]
    """A passage must have one token of each of these groups."""


class StoreReader(ABC):
    """Reads of one tenant, or of all of them, that all see the same moment.

    The statements have the same names and columns in every database. A subclass says how a
    database searches its text index and checks it.
    """

    filter_pieces: ClassVar[FilterPieces]
    """How filters are written for this database."""

    def __init__(
        self, statements: Statements, tenant: str | None, facts: TenantFacts | None = None
    ) -> None:
        self.statements = statements
        self.tenant = tenant or ""
        self.facts = facts or TenantFacts()
        self._heads: dict[str, Head | None] = {}

    @abstractmethod
    def _matching_passages(
        self, caller: Caller, chosen: Filter, match: TextMatch, limit: int
    ) -> list[Candidate]:
        """The passages with the best text scores, best first."""

    @abstractmethod
    def _visible_totals(self, caller: Caller, scope: Sequence[str]) -> Totals:
        """The totals of the passages with one of the scope tokens, which the caller sees."""

    @abstractmethod
    def _visible_frequencies(
        self, tenant: str, terms: Sequence[str], scope: Sequence[str]
    ) -> dict[str, int]:
        """How many passages with one of the scope tokens contain each of the terms."""

    @abstractmethod
    def _compare_text_index(self, tenant: str, expected: ExpectedIndex) -> None:
        """Note where the text index differs from what is expected."""

    # Event log

    def database(self) -> str:
        row = self.statements.row("database_id")
        return row.value if row else ""

    def tenants(self) -> list[str]:
        return [row.tenant for row in self.statements.rows("tenants")]

    def head(self, tenant: str) -> Head | None:
        """Where the log of a tenant stands, read once per transaction."""
        if tenant not in self._heads:
            self._heads[tenant] = self.statements.read_first("head", HEAD, tenant=tenant)
        return self._heads[tenant]

    def work_ahead(self, tenant: str, texts: Iterable[str]) -> None:
        head = self.head(tenant)
        work_ahead(head.number if head else None, texts)

    def last_seq(self, tenant: str) -> int:
        head = self.head(tenant)
        return head.seq if head else 0

    def event_by_seq(self, tenant: str, seq: int) -> Event | None:
        if abs(seq) >= MAX_SQL_INTEGER or not storable(tenant):
            return None
        return self.statements.read_first("event_by_seq", EVENT, tenant=tenant, seq=seq)

    def event_by_key(self, tenant: str, actor: str, key: str) -> Event | None:
        if not _storable(tenant, actor, key):
            return None
        return self.statements.read_first(
            "event_by_key", EVENT, tenant=tenant, actor=actor, key=key
        )

    def events(self, tenant: str, stream: str) -> list[Event]:
        if not storable(stream):
            return []
        return list(self.statements.read("events_of_stream", EVENT, tenant=tenant, stream=stream))

    def events_after(self, tenant: str, seq: int, limit: int = NO_LIMIT) -> Iterator[Event]:
        return self.statements.stream("events_after", EVENT, tenant=tenant, seq=seq, limit=limit)

    def list_events(self, caller: Caller, chosen: EventFilter, limit: int) -> list[EventHead]:
        found = self.read_filtered(
            "list_events",
            EVENT_HEAD,
            caller,
            Filter(kinds=chosen.kinds, forgotten=None),
            after=chosen.after,
            before=NO_LIMIT if chosen.before is None else chosen.before,
            actor=chosen.actor,
            types=json.dumps(list(chosen.types)),
            links=0 if chosen.kinds else 1,
            lost=_shown_lost(caller, chosen),
            user=caller.user,
            limit=limit,
        )
        return list(found)

    def last_seq_at(self, tenant: str, at: str) -> int:
        # Numbers have no gaps and times never go back, so the place is found by halving.
        earlier = 0
        later = self.last_seq(tenant) + 1
        while later - earlier > 1:
            middle = (earlier + later) // 2
            row = self.statements.row("event_time", tenant=tenant, seq=middle)
            if row is not None and row.at <= at:
                earlier = middle
            else:
                later = middle
        return earlier

    def count_events_by_actor(self, caller: Caller, after: int) -> dict[str, int]:
        def count() -> dict[str, int]:
            found = self.filtered(
                "count_events_by_actor",
                caller,
                Filter(forgotten=None),
                after=after,
                all=1 if caller.admin and not caller.bound_to else 0,
            )
            return {row.name: row.events for row in found}

        # A day may have very many events, and a page asks for them again and again.
        return dict(self._lasting(f"events after {after} for {caller}", caller.tenant, count))

    def newest_versions(self, tenant: str, streams: Collection[str]) -> dict[str, int]:
        found = self.statements.rows(
            "newest_versions", tenant=tenant, streams=_storable_ids(streams)
        )
        return {row.stream: row.version for row in found}

    def present_streams(self, tenant: str, streams: Collection[str]) -> set[str]:
        found = self.statements.rows(
            "present_streams", tenant=tenant, streams=_storable_ids(streams)
        )
        return {row.stream for row in found}

    def list_streams(
        self, tenant: str, wanted: StreamsWanted, limit: int, offset: int
    ) -> StreamPage:
        # The character after the slash ends the names that begin with the folder.
        values: Parameters = {
            "tenant": tenant,
            "first": wanted.folder,
            "end": wanted.folder[:-1] + "0",
            "after": wanted.after,
            "before": wanted.before,
            "actor": wanted.actor,
            "projects": json.dumps(list(wanted.projects)) if wanted.projects else None,
        }
        found = self.statements.rows("list_streams", limit=limit, offset=offset, **values)
        row = self.statements.row("count_streams", **values)
        return StreamPage([stream.stream for stream in found], row.streams if row else 0)

    def streams(self, tenant: str, after: str = "") -> list[str]:
        found = self.statements.rows("streams_after", tenant=tenant, after=after)
        return sorted(row.stream for row in found)

    # Items

    def item(self, tenant: str, id: str) -> Item | None:
        if not _storable(tenant, id):
            return None
        return self.statements.read_first("item", ITEM, tenant=tenant, id=id)

    def items(self, tenant: str, ids: Collection[str]) -> dict[str, Item]:
        found = self.statements.read("items", ITEM, tenant=tenant, ids=_storable_ids(ids))
        return {item.id: item for item in found}

    def all_items(self, tenant: str) -> Iterator[Item]:
        return (item for _, item in self._numbered_items(tenant))

    def _numbered_items(self, tenant: str) -> Iterator[tuple[int, Item]]:
        return self.statements.stream("all_items", NUMBERED_ITEM, tenant=tenant)

    def item_ids_from(self, tenant: str, start: str, limit: int) -> list[str]:
        if not _storable(start):
            return []
        found = self.statements.rows("item_ids_from", tenant=tenant, start=start, limit=limit)
        return [row.id for row in found]

    def item_id_before(self, tenant: str, id: str) -> str | None:
        found = self.statements.rows("item_id_before", tenant=tenant, id=id)
        return next((row.id for row in found), None)

    def items_titled(self, tenant: str, kind: str, title: str) -> list[Item]:
        return list(
            self.statements.read("items_titled", ITEM, tenant=tenant, kind=kind, title=title)
        )

    def items_like(self, caller: Caller, first: str, passages: int, chosen: Filter) -> set[str]:
        # The first mark is that of the whole text; similar texts share one of the others.
        same, *similar = sketch(first)
        found: set[str] = set()
        for marks, count in (([same], passages), (similar, 0)):
            rows = self.filtered(
                "items_like", caller, chosen, marks=json.dumps(marks), passages=count
            )
            found.update(row.id for row in rows)
        return found

    def list_items(
        self,
        caller: Caller,
        chosen: Filter,
        sort: str = "created_at",
        descending: bool = True,
        limit: int = 20,
        offset: int = 0,
        counted: bool = True,
    ) -> Page:
        sorts = self.filter_pieces.sorts
        if sort not in sorts:
            raise InvalidInput(
                f"Cannot sort by {sort!r}; use one of {', '.join(sorts)}.", field="sort"
            )
        total = 0
        if counted:
            total = next(self.filtered("count_items", caller, chosen)).items
        window = page_window(total, offset, limit)
        way = "desc" if descending != window.from_end else "asc"
        order = ", ".join(f"{key} {way}" for key in sort_keys(sorts[sort]))
        where = self.filter_sql(caller, chosen)
        found = self.statements.read_adapted(
            "list_items",
            ITEM,
            {ORDER_MARK: order, FILTERS_MARK: where.text},
            {
                **where.values,
                "tenant": caller.tenant,
                "limit": window.limit,
                "offset": window.start,
            },
        )
        items = tuple(found)
        if window.from_end:
            items = items[::-1]
        return Page(items, total if counted else len(items))

    def count_items_by(self, caller: Caller, chosen: Filter, by: str) -> dict[str, int]:
        if by not in COUNTED_BY:
            raise InvalidInput(
                f"Cannot count by {by!r}; use one of {', '.join(COUNTED_BY)}.", field="by"
            )
        found = self.filtered(f"count_items_by_{by}", caller, chosen)
        return {row.name: row.items for row in found}

    def count_items_by_day(self, caller: Caller, chosen: Filter, after: int) -> dict[str, int]:
        def count() -> dict[str, int]:
            found = self.filtered("count_items_by_day", caller, chosen, after=after)
            return {row.name: row.items for row in found}

        if self._anything_expires(caller.tenant):
            return count()
        name = f"items by day after {after} of {chosen} for {caller}"
        return dict(self._lasting(name, caller.tenant, count))

    def concept_tree(self, caller: Caller) -> list[ConceptCount]:
        found = self.filtered("concept_tree", caller, Filter(forgotten=None))
        return [
            ConceptCount(row.area, row.topic, row.subtopic, int(row.live), int(row.events))
            for row in found
        ]

    def folders(self, caller: Caller, chosen: Filter) -> list[FolderCount]:
        return [
            FolderCount(
                folder=row.folder or DEFAULT_FOLDER,
                importance=float(row.importance or DEFAULT_IMPORTANCE),
                conversations=row.conversations,
            )
            for row in self.filtered("folders", caller, chosen)
        ]

    def note_rows(self, caller: Caller, chosen: Filter) -> list[NoteRow]:
        return [
            NoteRow(row.id, row.title, row.project, row.path, row.permalink, row.waiting)
            for row in self.filtered("note_rows", caller, chosen)
        ]

    def all_superseded(self, tenant: str) -> list[SupersededMark]:
        return list(self.statements.read("all_superseded", SUPERSEDED_MARK, tenant=tenant))

    def all_duplicates(self, tenant: str) -> list[DuplicateMark]:
        return list(self.statements.read("all_duplicates", DUPLICATE_MARK, tenant=tenant))

    def superseded(self, tenant: str, ids: Collection[str]) -> dict[str, Superseded]:
        found = self.statements.rows(
            "superseded", tenant=tenant, ids=_storable_ids(ids), now=iso(time.time_ns() // 1000)
        )
        return {row.item: Superseded(row.successor, row.at) for row in found}

    def superseding(self, tenant: str, id: str) -> list[str]:
        if not storable(id):
            return []
        return [row.item for row in self.statements.rows("superseding", tenant=tenant, id=id)]

    def open_pairs(self, caller: Caller, kind: str, limit: int, offset: int) -> list[OpenPair]:
        found = self.filtered(
            "open_pairs",
            caller,
            Filter(),
            kind=kind,
            limit=limit,
            offset=offset,
            now=iso(time.time_ns() // 1000),
        )
        return [
            OpenPair(row.kind, row.first, row.second, row.similarity, row.reason) for row in found
        ]

    def count_open_pairs(self, caller: Caller, kind: str, most: int) -> int:
        now = iso(time.time_ns() // 1000)
        found = self.filtered("count_open_pairs", caller, Filter(), kind=kind, limit=most, now=now)
        return int(next(found).pairs)

    def accesses(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[int, str]]:
        found = self.statements.rows("accesses", tenant=tenant, ids=json.dumps(list(ids)))
        return {row.item: (row.count, row.last) for row in found}

    # Passages

    def passages(self, tenant: str, id: str) -> list[Passage]:
        return self.passages_of(tenant, [id]).get(id, [])

    def passages_of(self, tenant: str, ids: Collection[str]) -> dict[str, list[Passage]]:
        found: dict[str, list[Passage]] = {id: [] for id in ids if storable(id)}
        ids_text = json.dumps(list(found))
        for _, passage in self.statements.read(
            "passages_of_items", PASSAGE, tenant=tenant, ids=ids_text
        ):
            found[passage.item].append(passage)
        return found

    def passages_at(self, refs: Collection[PassageRef]) -> dict[PassageRef, tuple[Item, Passage]]:
        found = self.statements.read(
            "passages_at", PASSAGE_WITH_ITEM, tenant=self.tenant, refs=json.dumps(list(refs))
        )
        items: dict[str, Item] = {}
        passages: dict[PassageRef, tuple[Item, Passage]] = {}
        for ref, passage, item_columns in found:
            item = items.get(passage.item)
            if item is None:
                item = item_from(item_columns)
                items[item.id] = item
            passages[ref] = (item, passage)
        return passages

    def text_sizes(self, tenant: str, ids: Collection[str]) -> dict[str, TextSize]:
        found = self.statements.rows("text_sizes", tenant=tenant, ids=_storable_ids(ids))
        return {
            row.id: TextSize(PassageRef(row.first), int(row.characters), int(row.bytes))
            for row in found
        }

    def beginnings(self, tenant: str, ids: Collection[str], characters: int) -> dict[str, str]:
        found = self.statements.rows(
            "beginnings", tenant=tenant, ids=_storable_ids(ids), characters=characters
        )
        return {row.id: row.text for row in found}

    def count_blocks(self, refs: Collection[PassageRef], but: Collection[tuple[int, int]]) -> int:
        cut = self._lasting("cut_items", self.tenant, self._cut_items)
        in_cut_items = [ref for ref in refs if item_row_of(ref) in cut]
        # Elsewhere every block is one passage, whose ordinal is the number of the block.
        known = {passage_ref(item_row, block) for item_row, block in but}
        whole = {ref for ref in refs if item_row_of(ref) not in cut} - known
        if not in_cut_items:
            return len(whole)
        row = self.statements.row(
            "count_blocks",
            tenant=self.tenant,
            refs=json.dumps(in_cut_items),
            known=json.dumps(list(known)),
        )
        return len(whole) + (row.blocks if row else 0)

    def _cut_items(self) -> set[int]:
        return {row.row for row in self.statements.rows("cut_items", tenant=self.tenant)}

    def speakers(self, tenant: str) -> list[str]:
        return self._lasting(
            "speakers",
            tenant,
            lambda: [row.name for row in self.statements.rows("speakers", tenant=tenant)],
        )

    def visible_speakers(self, caller: Caller, names: Sequence[str]) -> list[str]:
        if self.sees_all(caller):
            return list(names)
        found = self.filtered(
            "visible_speakers", caller, Filter(forgotten=None), names=json.dumps(list(names))
        )
        seen = {row.name for row in found}
        return [name for name in names if name in seen]

    # Links

    def link_by_id(self, tenant: str, id: str) -> Link | None:
        if not _storable(tenant, id):
            return None
        return self.statements.read_first("link_by_id", LINK, tenant=tenant, id=id)

    def link_between(self, tenant: str, source: str, target: str, type: str) -> Link | None:
        if not _storable(tenant, source, target, type):
            return None
        return self.statements.read_first(
            "link_between", LINK, tenant=tenant, source=source, target=target, type=type
        )

    def link_streams(self, tenant: str, item: str) -> list[str]:
        return [
            row.stream for row in self.statements.rows("link_streams", tenant=tenant, item=item)
        ]

    def all_links(self, tenant: str) -> Iterator[Link]:
        return self.statements.stream("all_links", LINK, tenant=tenant)

    def link_ends(
        self, tenant: str, ids: Collection[str], toward: Direction
    ) -> set[tuple[str, str, str]]:
        found: set[tuple[str, str, str]] = set()
        for name in END_STATEMENTS[toward]:
            found.update(
                self.statements.read(name, LINK_ENDS, tenant=tenant, ids=json.dumps(list(ids)))
            )
        return found

    def count_links(self, tenant: str, types: Collection[str] = ()) -> dict[str, int]:
        chosen = json.dumps(list(types))
        started = self.statements.read("count_links_from", LINK_COUNT, tenant=tenant, types=chosen)
        counts = dict(started)
        ended = self.statements.read("count_links_to", LINK_COUNT, tenant=tenant, types=chosen)
        for id, links in ended:
            counts[id] = counts.get(id, 0) + links
        return counts

    def count_link_types(self, tenant: str) -> dict[str, int]:
        return {
            row.type: row.links for row in self.statements.rows("count_link_types", tenant=tenant)
        }

    def nodes(self, caller: Caller, chosen: Filter) -> list[NodeItem]:
        return list(self.read_filtered("nodes", NODE_ITEM, caller, chosen))

    def neighbours(
        self, tenant: str, frontier: Collection[str], toward: Direction, types: Collection[str] = ()
    ) -> list[Link]:
        ids = json.dumps(list(frontier))
        found: dict[str, Link] = {}
        for name in LINK_STATEMENTS[toward]:
            for link in self.statements.read(name, LINK, tenant=tenant, ids=ids):
                if not types or link.type in types:
                    found[link.id] = link
        return sorted(found.values(), key=lambda link: link.seq)

    def steps(
        self,
        caller: Caller,
        chosen: Filter,
        frontier: Collection[str],
        toward: Direction,
        types: Collection[str] = (),
    ) -> list[Step]:
        steps: list[Step] = []
        for name in STEP_STATEMENTS[toward]:
            steps += self.read_filtered(
                name,
                STEP,
                caller,
                chosen,
                frontier=json.dumps(list(frontier)),
                types=json.dumps(list(types)),
            )
        return steps

    # Text index

    def search_text(
        self,
        caller: Caller,
        chosen: Filter,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        every: bool,
        limit: int,
    ) -> list[Candidate]:
        head = self.head(caller.tenant)
        if head is None or not (terms or phrases):
            return []
        match = TextMatch(
            words=[own(head.number, [term]) for term in terms],
            phrases=[own(head.number, phrase) for phrase in phrases],
            every=every,
            scopes=[own(head.number, group).split() for group in self._scopes(caller, chosen)],
        )
        return self._matching_passages(caller, chosen, match, limit)

    def _scopes(self, caller: Caller, chosen: Filter) -> list[list[str]]:
        """Groups of scope tokens that narrow a text search; a passage has one token of each."""
        head = self.head(caller.tenant)
        most = most_items_worth_narrowing(head.passages if head else 0)
        scopes = []
        for group in scope_groups(chosen):
            statement = f"more_items_with_{group.field}"
            is_common = any(
                self.statements.row(statement, tenant=caller.tenant, value=value, most=most)
                is not None
                for value in group.values
            )
            if not is_common:
                scopes.append(group.tokens)
        if not self.sees_all(caller):
            scopes.append(visibility_tokens(caller))
        return scopes

    def statistics(self, tenant: str, words: Collection[str]) -> Statistics:
        head = self.head(tenant)
        if head is None:
            return Statistics(0, 0.0, {})
        mean_length = head.terms / head.passages if head.passages else 0.0

        def count(terms: list[str]) -> dict[str, int]:
            found = self.statements.rows("term_frequencies", tenant=tenant, terms=json.dumps(terms))
            return {row.term: row.passages for row in found}

        frequencies = self._frequencies("frequencies", tenant, head, words, count)
        return Statistics(head.passages, mean_length, frequencies)

    def statistics_for(self, caller: Caller, words: Collection[str]) -> Statistics:
        tenant = caller.tenant
        head = self.head(tenant)
        if head is None or self.sees_all(caller):
            return self.statistics(tenant, words)
        scope = own(head.number, visibility_tokens(caller)).split()
        circle = " ".join(scope)
        totals = self._lasting(
            f"totals of {circle}", tenant, lambda: self._visible_totals(caller, scope)
        )
        frequencies = self._frequencies(
            f"frequencies of {circle}",
            tenant,
            head,
            words,
            lambda terms: self._visible_frequencies(tenant, terms, scope),
        )
        return Statistics(totals.passages, totals.mean_length, frequencies)

    def _frequencies(
        self,
        name: str,
        tenant: str,
        head: Head,
        words: Collection[str],
        count: Callable[[list[str]], dict[str, int]],
    ) -> dict[str, int]:
        """How many passages contain each word, without those that none contains."""
        terms = {own(head.number, [word]): word for word in words}
        # Counting a common word takes a walk along its whole list, so counts are kept.
        counts: dict[str, int] = self.facts.get(name, tenant, head, dict)
        missing = [term for term in terms if term not in counts]
        if missing:
            if len(counts) >= MAX_KNOWN_FREQUENCIES:
                counts = {}
                missing = list(terms)
            counts = counts | dict.fromkeys(missing, 0) | count(missing)
            self.facts.put(name, tenant, head, counts)
        return {word: counts[term] for term, word in terms.items() if counts[term]}

    def terms_version(self) -> int:
        """The version of the terms in the text index; a newer one than ours is refused."""
        version = int(self.records("").get(TERMS_RECORD, FIRST_TERMS_VERSION))
        if version > TERMS_VERSION:
            raise SchemaTooNew(
                f"The text index has terms of version {version}, this memolith knows "
                f"{TERMS_VERSION}; update the program."
            )
        return version

    def index_differences(self, tenant: str) -> list[str]:
        head = self.head(tenant)
        if head is None:
            return ["its head row is missing"]
        items = dict(self._numbered_items(tenant))
        passages = self.statements.stream("all_passages", STORED_PASSAGE, tenant=tenant)
        expected = ExpectedIndex(head, items, passages)
        log = self.statements.row("log_bounds", tenant=tenant)
        assert log is not None, "an aggregate has one row"
        expected.compare_log(log.events, log.first, log.last)
        tags = {
            Mark("tag", row.tag, row.item)
            for row in self.statements.rows("all_tags", tenant=tenant)
        }
        sketches = {
            Mark("sketch", row.mark, row.item)
            for row in self.statements.rows("all_sketches", tenant=tenant)
        }
        expected.compare_marks(tags | sketches)
        self._compare_text_index(tenant, expected)
        expected.compare_totals()
        return expected.problems

    # Vectors

    def vector_by_digest(self, tenant: str, digest: bytes, model: str) -> str | bytes | None:
        row = self.statements.row("vector_by_digest", tenant=tenant, digest=digest, model=model)
        return row.v if row else None

    def vectors_by_digest(
        self, tenant: str, digests: Collection[bytes], model: str
    ) -> dict[bytes, str | bytes]:
        found = self.statements.rows(
            "vectors_by_digest",
            tenant=tenant,
            digests=json.dumps([digest.hex() for digest in digests]),
            model=model,
        )
        return {bytes(row.digest): row.v for row in found if row.v is not None}

    def unembedded(self, tenant: str, stream: str, model: str) -> list[EmbeddingInput]:
        return self.unembedded_of(tenant, [stream], model).get(stream, [])

    def unembedded_of(
        self, tenant: str, streams: Collection[str], model: str
    ) -> dict[str, list[EmbeddingInput]]:
        items = self.items(tenant, streams)
        if not items:
            return {}
        ids = json.dumps(list(items))
        passages = list(self.statements.read("passages_of_items", PASSAGE, tenant=tenant, ids=ids))
        refs = json.dumps([ref for ref, _ in passages])
        found = self.statements.rows("vector_digests", tenant=tenant, refs=refs, model=model)
        digests = {row.ref: row.digest for row in found}
        inputs: dict[str, list[EmbeddingInput]] = defaultdict(list)
        block_before = ("", -1)
        text_before = ""
        for ref, passage in passages:
            block = (passage.item, passage.block)
            before = text_before if block == block_before else ""
            text = embedded(items[passage.item].title, passage.speaker, passage.text, before)
            inputs[passage.item].append(EmbeddingInput(ref, text, digests.get(ref)))
            block_before = block
            text_before = passage.text
        return dict(inputs)

    def models(self) -> dict[str, int]:
        return {row.model: row.vectors for row in self.statements.rows("count_vectors_by_model")}

    def items_without_vectors(self, tenant: str, model: str, after: str, limit: int) -> list[str]:
        found = self.statements.rows(
            "items_without_vectors", tenant=tenant, model=model, after=after, limit=limit
        )
        return [row.id for row in found]

    def vectors_of_other_models(self, model: str, limit: int) -> list[VectorPlace]:
        found = self.statements.rows("vectors_of_other_models", model=model, limit=limit)
        return [VectorPlace(row.tenant, PassageRef(row.passage)) for row in found]

    # Outbox

    def outbox_counts(self, tenant: str | None = None) -> dict[tuple[str, str], int]:
        found = self.statements.rows("outbox_counts", tenant=tenant)
        return {(row.consumer, row.status): int(row.jobs) for row in found}

    def count_waiting(self, tenant: str | None, consumer: str, most: int = 1000) -> int:
        if tenant:
            row = self.statements.row("count_waiting", tenant=tenant, consumer=consumer, limit=most)
        else:
            row = self.statements.row("count_waiting_of_all", consumer=consumer, limit=most)
        return row.jobs if row else 0

    def count_due(self, consumer: str, now: str, most: int) -> int:
        row = self.statements.row("count_due_of_all", consumer=consumer, now=now, limit=most)
        return row.jobs if row else 0

    def count_leased(self, tenant: str, consumer: str, now: str) -> int:
        row = self.statements.row("count_leased", tenant=tenant, consumer=consumer, now=now)
        return row.jobs if row else 0

    def outbox_errors(self) -> list[str]:
        return [
            f"{row.tenant}/{row.stream}: {row.consumer} failed {row.attempts} times: {row.error}"
            for row in self.statements.rows("outbox_errors")
        ]

    # Records and client keys

    def records(self, tenant: str, folder: str = "") -> dict[str, str]:
        return {
            row.name.removeprefix(folder): row.value
            for row in self.statements.rows("records", tenant=tenant)
            if row.name.startswith(folder)
        }

    def answer(self, tenant: str, actor: str, key: str) -> KeptAnswer | None:
        return self.statements.read_first("answer", ANSWER, tenant=tenant, actor=actor, key=key)

    def answers(self, tenant: str) -> list[KeptAnswer]:
        return list(self.statements.read("answers", ANSWER, tenant=tenant))

    def has_answers(self, before: str) -> bool:
        row = self.statements.row("count_old_answers", before=before, limit=1)
        return row is not None and row.answers > 0

    def client_keys(self) -> list[ClientKey]:
        return list(self.statements.read("client_keys", CLIENT_KEY))

    def client_key_by_digest(self, digest: str) -> ClientKey | None:
        return self.statements.read_first("client_key_by_digest", CLIENT_KEY, digest=digest)

    def client_key_by_id(self, id: str) -> ClientKey | None:
        return self.statements.read_first("client_key_by_id", CLIENT_KEY, id=id)

    def is_ticket_ended(self, tenant: str, nonce: str) -> bool:
        return self.statements.row("ended_ticket", tenant=tenant, nonce=nonce) is not None

    # Who has read and called

    def item_reads(
        self, caller: Caller, wanted: ReadsWanted, limit: int, offset: int = 0
    ) -> ReadPage:
        where = self.filter_sql(caller, Filter(forgotten=None))
        values: Parameters = {
            **where.values,
            "tenant": caller.tenant,
            "reader": wanted.reader or "",
            "since": wanted.since or "",
            "of_everybody": int(wanted.of_everybody),
        }
        listing = "item_reads"
        counting = "count_item_reads"
        if wanted.item is not None:
            values["item"] = wanted.item
            listing = "reads_of_item"
            counting = "count_reads_of_item"
        pieces = {FILTERS_MARK: where.text}
        page: Parameters = {**values, "limit": limit, "offset": offset}
        reads = tuple(self.statements.read_adapted(listing, TITLED_READ, pieces, page))
        counted: Parameters = {**values, "limit": MAX_COUNTED_READS}
        total = next(self.statements.adapted_rows(counting, pieces, counted)).reads
        return ReadPage(reads, total)

    def all_item_reads(self, tenant: str) -> list[ItemRead]:
        return list(self.statements.read("all_item_reads", ITEM_READ, tenant=tenant))

    def client_calls(self, tenant: str) -> list[ClientCalls]:
        return list(self.statements.read("client_calls", CLIENT_CALLS, tenant=tenant))

    def tenants_with_old_usage(self, before: str) -> list[str]:
        return [row.tenant for row in self.statements.rows("tenants_with_old_usage", before=before)]

    # Filters and facts

    def filtered(
        self,
        name: str,
        caller: Caller,
        chosen: Filter,
        on_passages: bool = False,
        /,
        **values: Parameter,
    ) -> Iterator[Row]:
        """The rows of a statement, of what the caller may see and the filter keeps."""
        where = self.filter_sql(caller, chosen, on_passages)
        return self.statements.adapted_rows(
            name,
            {FILTERS_MARK: where.text},
            {**where.values, "tenant": caller.tenant, **values},
        )

    def read_filtered(
        self,
        name: str,
        shape: RowShape[Value],
        caller: Caller,
        chosen: Filter,
        on_passages: bool = False,
        /,
        **values: Parameter,
    ) -> Iterator[Value]:
        """The same, as values of the engine."""
        where = self.filter_sql(caller, chosen, on_passages)
        return self.statements.read_adapted(
            name,
            shape,
            {FILTERS_MARK: where.text},
            {**where.values, "tenant": caller.tenant, **values},
        )

    def filter_sql(self, caller: Caller, chosen: Filter, on_passages: bool = False) -> FilterSql:
        """The conditions of what the caller may see and the filter keeps."""
        now = None
        if chosen.forgotten is False and self._anything_expires(caller.tenant):
            now = iso(time.time_ns() // 1000)
        return filter_sql(self.filter_pieces, caller, chosen, on_passages, now)

    def _anything_expires(self, tenant: str) -> bool:
        return self._lasting(
            "any_expiring_item",
            tenant,
            lambda: self.statements.row("any_expiring_item", tenant=tenant) is not None,
        )

    def sees_all(self, caller: Caller) -> bool:
        """Whether nothing of the tenant is hidden from the caller, as far as a quick look tells."""
        if caller.bound_to:
            return False
        if caller.admin:
            return True
        owners = self._lasting(
            "owner_bounds",
            caller.tenant,
            lambda: self.statements.row("owner_bounds", tenant=caller.tenant),
        )
        return owners is not None and owners.first == owners.last == caller.user

    def _lasting(self, name: str, tenant: str, read: Callable[[], Fact]) -> Fact:
        """A fact about a tenant that stays true until its next event."""
        return self.facts.get(name, tenant, self.head(tenant), read)


LOST_HIDDEN = 0
LOST_OF_THE_CALLER = 1
LOST_OF_ALL = 2
"""Whose events of things without a row a list shows; see the statement `list_events`."""


def _shown_lost(caller: Caller, chosen: EventFilter) -> int:
    """Which events of things without a row the caller may see: nobody knows their project."""
    if caller.bound_to or chosen.kinds:
        return LOST_HIDDEN
    return LOST_OF_ALL if caller.admin else LOST_OF_THE_CALLER


def _storable(*texts: str) -> bool:
    """Whether the database could hold all these texts; one that it cannot hold is in no row."""
    return all(storable(text) for text in texts)


def _storable_ids(ids: Iterable[str]) -> str:
    return json.dumps([id for id in ids if storable(id)])
