"""Reads from SQLite inside one transaction. The ports say what each method answers."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import apsw

from memolith.domain.callers import Caller
from memolith.domain.chunking import embedded
from memolith.domain.clock import iso
from memolith.domain.events import Event
from memolith.domain.items import Item, Page
from memolith.domain.links import Direction, Link
from memolith.domain.passages import Passage, PassageRef, item_row_of, passage_ref
from memolith.domain.queries import Filter
from memolith.engine.validation import storable
from memolith.errors import InvalidInput
from memolith.ports.client_keys import ClientKey
from memolith.ports.event_log import NO_LIMIT
from memolith.ports.items import ConceptCount, FolderCount, TextSize
from memolith.ports.links import Step
from memolith.ports.text_index import Candidate, Statistics
from memolith.ports.vector_rows import EmbeddingInput
from memolith.storage.index_check import ExpectedIndex, Mark
from memolith.storage.paging import page_window
from memolith.storage.rows import (
    MAX_SQL_INTEGER,
    Head,
    Parameter,
    Row,
    client_key_from_row,
    event_from_row,
    head_from_row,
    item_from_row,
    link_from_row,
    passage_from_row,
)
from memolith.storage.sql_files import FILTERS_MARK
from memolith.storage.sqlite.filters import SORTS, FilterSql, filter_sql, sort_keys
from memolith.storage.sqlite.statements import QUERIES, Statements, named_rows
from memolith.storage.tenant_facts import Fact, TenantFacts
from memolith.storage.terms import IndexedText, own, sketch
from memolith.storage.text_scope import (
    most_items_worth_narrowing,
    scope_groups,
    visibility_tokens,
)

COUNTED_BY = ("kind", "status", "namespace", "project", "tag")
MAX_KNOWN_FREQUENCIES = 2000
"""How many term frequencies of a tenant are kept."""

ORDER_MARK = "i.seq desc /* order */"
DEFAULT_FOLDER = "/"
DEFAULT_IMPORTANCE = 5
LINK_STATEMENTS = {
    "outgoing": ("links_from",),
    "incoming": ("links_to",),
    "both": ("links_from", "links_to"),
}
STEP_STATEMENTS = {
    "outgoing": ("steps_forward",),
    "incoming": ("steps_back",),
    "both": ("steps_forward", "steps_back"),
}


class SqliteReader(Statements):
    """Reads of one tenant, or of all of them, that all see the same moment."""

    def __init__(
        self, db: apsw.Connection, tenant: str | None, facts: TenantFacts | None = None
    ) -> None:
        super().__init__(db)
        self.tenant = tenant or ""
        self.facts = facts or TenantFacts()
        self._heads: dict[str, Head | None] = {}

    # Event log

    def database(self) -> str:
        row = self.row("database_id")
        return row.value if row else ""

    def tenants(self) -> list[str]:
        return [row.tenant for row in self.rows("tenants")]

    def head(self, tenant: str) -> Head | None:
        """Where the log of a tenant stands, read once per transaction."""
        if tenant not in self._heads:
            row = self.row("head", tenant=tenant)
            self._heads[tenant] = head_from_row(row) if row else None
        return self._heads[tenant]

    def last_seq(self, tenant: str) -> int:
        head = self.head(tenant)
        return head.seq if head else 0

    def event_by_seq(self, tenant: str, seq: int) -> Event | None:
        if abs(seq) >= MAX_SQL_INTEGER or not storable(tenant):
            return None
        row = self.row("event_by_seq", tenant=tenant, seq=seq)
        return event_from_row(row) if row else None

    def event_by_key(self, tenant: str, actor: str, key: str) -> Event | None:
        if not _storable(tenant, actor, key):
            return None
        row = self.row("event_by_key", tenant=tenant, actor=actor, key=key)
        return event_from_row(row) if row else None

    def events(self, tenant: str, stream: str) -> list[Event]:
        if not storable(stream):
            return []
        return [
            event_from_row(row)
            for row in self.rows("events_of_stream", tenant=tenant, stream=stream)
        ]

    def events_after(self, tenant: str, seq: int, limit: int = NO_LIMIT) -> Iterator[Event]:
        return map(event_from_row, self.rows("events_after", tenant=tenant, seq=seq, limit=limit))

    def streams(self, tenant: str, after: str = "") -> list[str]:
        found = self.rows("streams_after", tenant=tenant, after=after)
        return sorted(row.stream for row in found)

    # Items

    def item(self, tenant: str, id: str) -> Item | None:
        row = self._item_row(tenant, id)
        return item_from_row(row) if row else None

    def _item_row(self, tenant: str, id: str) -> Row | None:
        if not _storable(tenant, id):
            return None
        return self.row("item", tenant=tenant, id=id)

    def items(self, tenant: str, ids: Collection[str]) -> dict[str, Item]:
        found = self.rows("items", tenant=tenant, ids=_storable_ids(ids))
        return {row.id: item_from_row(row) for row in found}

    def all_items(self, tenant: str) -> Iterator[Item]:
        return map(item_from_row, self.rows("all_items", tenant=tenant))

    def items_titled(self, tenant: str, kind: str, title: str) -> list[Item]:
        found = self.rows("items_titled", tenant=tenant, kind=kind, title=title)
        return [item_from_row(row) for row in found]

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
        if sort not in SORTS:
            raise InvalidInput(
                f"Cannot sort by {sort!r}; use one of {', '.join(SORTS)}.", field="sort"
            )
        total = 0
        if counted:
            total = next(self.filtered("count_items", caller, chosen)).items
        window = page_window(total, offset, limit)
        way = "desc" if descending != window.from_end else "asc"
        order = ", ".join(f"{key} {way}" for key in sort_keys(sort))
        where = self._filter(caller, chosen)
        statement = QUERIES["list_items"].replace(ORDER_MARK, order)
        found = self._run(
            statement.replace(FILTERS_MARK, where.text),
            {
                **where.values,
                "tenant": caller.tenant,
                "limit": window.limit,
                "offset": window.start,
            },
        )
        items = tuple(map(item_from_row, found))
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

    def accesses(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[int, str]]:
        found = self.rows("accesses", tenant=tenant, ids=json.dumps(list(ids)))
        return {row.item: (row.count, row.last) for row in found}

    # Passages

    def passages(self, tenant: str, id: str) -> list[Passage]:
        return self.passages_of(tenant, [id]).get(id, [])

    def passages_of(self, tenant: str, ids: Collection[str]) -> dict[str, list[Passage]]:
        found: dict[str, list[Passage]] = {id: [] for id in ids if storable(id)}
        rows = self.rows("passages_of_items", tenant=tenant, ids=json.dumps(list(found)))
        for row in rows:
            found[row.item_id].append(passage_from_row(row, row.item_id))
        return found

    def passages_at(self, refs: Collection[PassageRef]) -> dict[PassageRef, tuple[Item, Passage]]:
        found = self.rows("passages_at", tenant=self.tenant, refs=json.dumps(list(refs)))
        items: dict[str, Item] = {}
        passages: dict[PassageRef, tuple[Item, Passage]] = {}
        for row in found:
            item = items.get(row.id)
            if item is None:
                item = items[row.id] = item_from_row(row)
            passages[row.ref] = (item, passage_from_row(row, item.id))
        return passages

    def text_sizes(self, tenant: str, ids: Collection[str]) -> dict[str, TextSize]:
        found = self.rows("text_sizes", tenant=tenant, ids=_storable_ids(ids))
        return {
            row.id: TextSize(PassageRef(row.first), int(row.characters), int(row.bytes))
            for row in found
        }

    def count_blocks(self, refs: Collection[PassageRef], but: Collection[tuple[int, int]]) -> int:
        cut = self._lasting("cut_items", self.tenant, self._cut_items)
        in_cut_items = [ref for ref in refs if item_row_of(ref) in cut]
        # Elsewhere every block is one passage, whose ordinal is the number of the block.
        known = {passage_ref(item_row, block) for item_row, block in but}
        whole = {ref for ref in refs if item_row_of(ref) not in cut} - known
        if not in_cut_items:
            return len(whole)
        row = self.row(
            "count_blocks",
            tenant=self.tenant,
            refs=json.dumps(in_cut_items),
            known=json.dumps(list(known)),
        )
        return len(whole) + (row.blocks if row else 0)

    def _cut_items(self) -> set[int]:
        return {row.row for row in self.rows("cut_items", tenant=self.tenant)}

    def speakers(self, tenant: str) -> list[str]:
        return self._lasting(
            "speakers", tenant, lambda: [row.name for row in self.rows("speakers", tenant=tenant)]
        )

    # Links

    def link_by_id(self, tenant: str, id: str) -> Link | None:
        if not _storable(tenant, id):
            return None
        row = self.row("link_by_id", tenant=tenant, id=id)
        return link_from_row(row) if row else None

    def link_between(self, tenant: str, source: str, target: str, type: str) -> Link | None:
        if not _storable(tenant, source, target, type):
            return None
        row = self.row("link_between", tenant=tenant, source=source, target=target, type=type)
        return link_from_row(row) if row else None

    def link_streams(self, tenant: str, item: str) -> list[str]:
        return [row.stream for row in self.rows("link_streams", tenant=tenant, item=item)]

    def all_links(self, tenant: str) -> Iterator[Link]:
        return map(link_from_row, self.rows("all_links", tenant=tenant))

    def neighbours(
        self, tenant: str, frontier: Collection[str], toward: Direction, types: Collection[str] = ()
    ) -> list[Link]:
        ids = json.dumps(list(frontier))
        found: dict[str, Link] = {}
        for name in LINK_STATEMENTS[toward]:
            for row in self.rows(name, tenant=tenant, ids=ids):
                if not types or row.type in types:
                    found[row.id] = link_from_row(row)
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
            found = self.filtered(
                name,
                caller,
                chosen,
                frontier=json.dumps(list(frontier)),
                types=json.dumps(list(types)),
            )
            steps += [Step(row.start, row.end, row.link_type, row.end_title) for row in found]
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
        match = match_expression(
            words=[own(head.number, [term]) for term in terms],
            phrases=[own(head.number, phrase) for phrase in phrases],
            every=every,
            scopes=[own(head.number, group).split() for group in self._scopes(caller, chosen)],
        )
        if chosen.looks_at_passages:
            name = "search_text_passages"
        elif chosen == Filter():
            name = "search_text"
        else:
            name = "search_text_filtered"
        where = self._filter(caller, chosen, on_passages=True)
        values = {**where.values, "tenant": caller.tenant, "match": match, "limit": limit}
        # Pairs of reference and score, which stay plain tuples: there can be thousands.
        return list(self.db.execute(QUERIES[name].replace(FILTERS_MARK, where.text), values))

    def _scopes(self, caller: Caller, chosen: Filter) -> list[list[str]]:
        """Groups of scope tokens that narrow a text search; a passage has one token of each."""
        head = self.head(caller.tenant)
        most = most_items_worth_narrowing(head.passages if head else 0)
        scopes = []
        for group in scope_groups(chosen):
            statement = f"more_items_with_{group.field}"
            is_common = any(
                self.row(statement, tenant=caller.tenant, value=value, most=most) is not None
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
        terms = {own(head.number, [word]): word for word in words}
        # Counting a common word takes a walk along its whole list, so counts are kept.
        counts: dict[str, int] = self.facts.get("frequencies", tenant, head, dict)
        missing = [term for term in terms if term not in counts]
        if missing:
            if len(counts) >= MAX_KNOWN_FREQUENCIES:
                counts = {}
                missing = list(terms)
            found = self.rows("term_frequencies", terms=json.dumps(missing))
            counts = counts | dict.fromkeys(missing, 0) | {row.term: row.passages for row in found}
            self.facts.put("frequencies", tenant, head, counts)
        frequencies = {word: counts[term] for term, word in terms.items() if counts[term]}
        mean_length = head.terms / head.passages if head.passages else 0.0
        return Statistics(head.passages, mean_length, frequencies)

    def index_differences(self, tenant: str) -> list[str]:
        head = self.head(tenant)
        if head is None:
            return ["its head row is missing"]
        items = {row.row: item_from_row(row) for row in self.rows("all_items", tenant=tenant)}
        expected = ExpectedIndex(head, items, self.rows("all_passages", tenant=tenant))
        log = self.row("log_bounds", tenant=tenant)
        assert log is not None, "an aggregate has one row"
        expected.compare_log(log.events, log.first, log.last)
        tags = {Mark("tag", row.tag, row.item) for row in self.rows("all_tags", tenant=tenant)}
        sketches = {
            Mark("sketch", row.mark, row.item) for row in self.rows("all_sketches", tenant=tenant)
        }
        expected.compare_marks(tags | sketches)
        found = self._text_index_hashes()
        stale = [ref for ref, text in expected.texts.items() if found.pop(ref, 0) != _hash(text)]
        of_all_tenants = {row.ref for row in self.rows("passage_refs")}
        expected.compare_text_index(stale, unknown=found.keys() - of_all_tenants)
        expected.compare_totals()
        return expected.problems

    def _text_index_hashes(self) -> dict[PassageRef, int]:
        """One number for all that the text index holds of each passage."""
        self.do("create_instance_table")
        found: dict[PassageRef, int] = defaultdict(int)
        for row in self.rows("text_index_instances"):
            found[row.doc] += hash((row.term, row.col, row.offset))
        return found

    # Vectors

    def vector_by_digest(self, tenant: str, digest: bytes, model: str) -> str | bytes | None:
        row = self.row("vector_by_digest", tenant=tenant, digest=digest, model=model)
        return row.v if row else None

    def unembedded(self, tenant: str, stream: str, model: str) -> list[EmbeddingInput]:
        item = self._item_row(tenant, stream)
        if item is None:
            return []
        found = self.rows("vector_digests", tenant=tenant, item=item.row, model=model)
        digests = {row.ref: row.digest for row in found}
        inputs: list[EmbeddingInput] = []
        block = -1
        text_before = ""
        for row in self.rows("passages_of_items", tenant=tenant, ids=json.dumps([stream])):
            before = text_before if row.block == block else ""
            text = embedded(item.title, row.speaker, row.text, before)
            inputs.append(EmbeddingInput(row.ref, text, digests.get(row.ref)))
            block = row.block
            text_before = row.text
        return inputs

    def models(self) -> dict[str, int]:
        return {row.model: row.vectors for row in self.rows("count_vectors_by_model")}

    # Outbox

    def outbox_counts(self, tenant: str | None = None) -> dict[tuple[str, str], int]:
        found = self.rows("outbox_counts", tenant=tenant)
        return {(row.consumer, row.status): int(row.jobs) for row in found}

    def count_waiting(self, tenant: str | None, consumer: str, most: int = 1000) -> int:
        if tenant:
            row = self.row("count_waiting", tenant=tenant, consumer=consumer, limit=most)
        else:
            row = self.row("count_waiting_of_all", consumer=consumer, limit=most)
        return row.jobs if row else 0

    def outbox_errors(self) -> list[str]:
        return [
            f"{row.tenant}/{row.stream}: {row.consumer} failed {row.attempts} times: {row.error}"
            for row in self.rows("outbox_errors")
        ]

    # Records and client keys

    def records(self, tenant: str, folder: str = "") -> dict[str, str]:
        return {
            row.name.removeprefix(folder): row.value
            for row in self.rows("records", tenant=tenant)
            if row.name.startswith(folder)
        }

    def client_keys(self) -> list[ClientKey]:
        return [client_key_from_row(row) for row in self.rows("client_keys")]

    def client_key_by_digest(self, digest: str) -> ClientKey | None:
        row = self.row("client_key_by_digest", digest=digest)
        return client_key_from_row(row) if row else None

    def client_key_by_id(self, id: str) -> ClientKey | None:
        row = self.row("client_key_by_id", id=id)
        return client_key_from_row(row) if row else None

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
        where = self._filter(caller, chosen, on_passages)
        return self._run(
            QUERIES[name].replace(FILTERS_MARK, where.text),
            {**where.values, "tenant": caller.tenant, **values},
        )

    def _run(self, statement: str, values: dict[str, Parameter]) -> Iterator[Row]:
        return named_rows(self.db.execute(statement, values))

    def _filter(self, caller: Caller, chosen: Filter, on_passages: bool = False) -> FilterSql:
        now = None
        if chosen.forgotten is False and self._anything_expires(caller.tenant):
            now = iso(time.time_ns() // 1000)
        return filter_sql(caller, chosen, on_passages, now)

    def _anything_expires(self, tenant: str) -> bool:
        return self._lasting(
            "any_expiring_item",
            tenant,
            lambda: self.row("any_expiring_item", tenant=tenant) is not None,
        )

    def sees_all(self, caller: Caller) -> bool:
        """Whether nothing of the tenant is hidden from the caller, as far as a quick look tells."""
        if caller.admin:
            return True
        owners = self._lasting(
            "owner_bounds",
            caller.tenant,
            lambda: self.row("owner_bounds", tenant=caller.tenant),
        )
        return owners is not None and owners.first == owners.last == caller.user

    def _lasting(self, name: str, tenant: str, read: Callable[[], Fact]) -> Fact:
        """A fact about a tenant that stays true until its next event."""
        return self.facts.get(name, tenant, self.head(tenant), read)


def match_expression(
    words: Collection[str], phrases: Collection[str], every: bool, scopes: Iterable[Collection[str]]
) -> str:
    """An FTS5 expression: all phrases, any word (or every word), and one token of each scope."""
    groups = [f'"{phrase}"' for phrase in phrases]
    if words:
        operator = " AND " if every else " OR "
        groups.append("(" + operator.join(f'"{word}"' for word in words) + ")")
    parts = ["{body extra} : (" + " AND ".join(groups) + ")"]
    parts += [f"scope : ({' OR '.join(scope)})" for scope in scopes]
    return " AND ".join(parts)


def _hash(text: IndexedText) -> int:
    return sum(
        hash((term, column, offset))
        for column, terms in text._asdict().items()
        for offset, term in enumerate(terms.split())
    )


def _storable(*texts: str) -> bool:
    """Whether the database could hold all these texts; one that it cannot hold is in no row."""
    return all(storable(text) for text in texts)


def _storable_ids(ids: Iterable[str]) -> str:
    return json.dumps([id for id in ids if storable(id)])
