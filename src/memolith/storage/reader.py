"""Reading inside one transaction: one class for every SQL store, whose own file of statements says how."""

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

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
from memolith.ports.event_log import NO_LIMIT
from memolith.ports.items import ConceptCount, FolderCount, TextSize
from memolith.ports.links import Step
from memolith.ports.text_index import Candidate, Statistics
from memolith.ports.vector_rows import EmbeddingInput
from memolith.storage import queries
from memolith.storage.queries import Parameter, Parameters, Queries, Row, about_passages, filled
from memolith.storage.terms import indexed, own, scope_tokens, sketch

NARROW, MOST_KNOWN = 2000, 2000
OUT, IN = {"{here}": "source", "{there}": "target"}, {"{here}": "target", "{there}": "source"}
WAYS = {"outgoing": [OUT], "incoming": [IN], "both": [OUT, IN]}
COUNTED = ("kind", "status", "namespace", "project", "tag")

Value = TypeVar("Value")
Strings = Collection[str]
Known = dict[tuple[str, str], tuple[Row | None, list[Row]]]
"""What was found out about a tenant, and the head that it had then."""


class SqlReader:
    """What can be read; every answer comes from the same moment."""

    queries: Queries
    run: Callable[[str, Parameters], Iterator[Row]]
    match: Callable[[Strings, Strings, bool, Collection[Strings]], str]
    """A full-text expression: all phrases, any (or every) word, and one of each group of scope tokens."""
    stale: Callable[[dict[PassageRef, tuple[str, str, str]]], list[PassageRef]]
    """Which passages the text index has otherwise; negative for what it has too much."""

    def __init__(self, db: Any, tenant: str | None, known: Known | None = None) -> None:
        self.db, self.tenant, self.known = db, tenant or "", {} if known is None else known
        self.heads: dict[str, Row | None] = {}

    def rows(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        return self.run(self.queries[name], values)

    def row(self, name: str, /, **values: Parameter) -> Row | None:
        return next(self.rows(name, **values), None)

    def find(self, table: str, /, **key: str | int | None) -> Iterator[Row]:
        """The rows of a table that have these values; what no store can keep is in none."""
        possible = all(
            storable(value) if isinstance(value, str) else value is None or abs(value) < 2**63
            for value in key.values()
        )
        return (
            self.run(self.queries.about("find", table, key, key), {**key}) if possible else iter(())
        )

    def one(
        self, made: Callable[[Row], Value], table: str, /, **key: str | int | None
    ) -> Value | None:
        """The value that a row of a table stands for, if there is one."""
        return next(map(made, self.find(table, **key)), None)

    def filtered(
        self,
        name: str,
        caller: Caller,
        chosen: Filter,
        place: str = "item",
        fill: Mapping[str, str] | None = None,
        /,
        **values: Parameter,
    ) -> Iterator[Row]:
        """The rows of a named statement with the filter in it; some have another form to look at passages."""
        filters, bound = self.queries.where(caller, chosen, place)
        if chosen.forgotten is False and self.lasting("expiring", caller.tenant):
            filters += "\nand " + self.queries["filter_unexpired"]
            bound["now"] = iso(time.time_ns() // 1000)
        text = self.queries.get(f"{name}_passage") if about_passages(chosen) else None
        return self.run(
            filled(text or self.queries[name], {**(fill or {}), "{filters}": filters}),
            {"tenant": caller.tenant, **bound, **values},
        )

    def database(self) -> str:
        """A word that no other database has."""
        return str(self.one(itemgetter(2), "setting", tenant="", name="database") or "")

    def tenants(self) -> list[str]:
        """Every tenant there is, oldest first."""
        return [tenant for (tenant,) in self.rows("tenants")]

    def last_seq(self, tenant: str) -> int:
        """The number of the tenant's newest event, 0 if there is none."""
        return int((self.head(tenant) or (0, 0))[1])

    def item(self, tenant: str, id: str) -> Item | None:
        return self.one(queries.item_from, "item", tenant=tenant, id=id)

    def items(self, tenant: str, ids: Strings) -> dict[str, Item]:
        found = self.rows(
            "items", tenant=tenant, ids=json.dumps([id for id in ids if storable(id)])
        )
        return {item.id: item for item in map(queries.item_from, found)}

    def all_items(self, tenant: str) -> Iterator[Item]:
        return map(queries.item_from, self.rows("all_items", tenant=tenant))

    def passages(self, tenant: str, id: str) -> list[Passage]:
        return self.passages_of(tenant, [id]).get(id, [])

    def passages_of(self, tenant: str, ids: Strings) -> dict[str, list[Passage]]:
        found: dict[str, list[Passage]] = {id: [] for id in ids if storable(id)}
        for row in self.rows("passages_of_items", tenant=tenant, ids=json.dumps(list(found))):
            found[row[-1]].append(queries.passage_from(row, row[-1]))
        return found

    def index_differences(self, tenant: str) -> list[str]:
        """Where the text index or the sums are not what the passages say."""
        head = self.head(tenant)
        if head is None:
            return ["its head row is missing"]
        number, seq, passages, terms, _ = head
        problems, length = list[str](), 0
        if self.row("log_state", tenant=tenant) != (seq, min(seq, 1), seq):
            problems.append(f"the head says {seq} events; the log has others, or gaps")
        items = {row[0]: queries.item_from(row) for row in self.find("item", tenant=tenant)}
        marks: set[tuple[str, str | int, int]] = {
            ("tag", tag, row) for row, item in items.items() for tag in item.tags
        }
        expected = dict[PassageRef, tuple[str, str, str]]()
        for row in self.rows("passages_all", tenant=tenant):
            if (item := items.get(row[2])) is None:
                problems.append(f"passage {row[0]} belongs to no item")
                continue
            if row[3] == 0:
                marks |= {("sketch", mark, row[2]) for mark in sketch(row[5])}
            expected[row[0]] = indexed(number, item, queries.passage_from(row, item.id))
            length += sum(len(text.split()) for text in expected[row[0]][:2])
        found = {
            (table, *row[1:])
            for table in ("tag", "sketch")
            for row in self.find(table, tenant=tenant)
        }
        problems += sorted(
            {
                f"the {table} rows of {items[row].id} differ from the log"
                if row in items
                else f"a {table} row belongs to row {row}, which is no item"
                for table, _, row in marks ^ found
            }
        )
        problems += [
            f"text index of {items[item_row_of(ref)].id} differs from its text"
            if ref in expected
            else f"text index holds row {-ref}, which is no passage"
            for ref in self.stale(expected)
        ]
        if (len(expected), length) != (passages, terms):
            problems.append(
                f"sums say {passages} passages with {terms} terms; there are {len(expected)} with {length}"
            )
        return problems

    def items_like(self, caller: Caller, first: str, passages: int, chosen: Filter) -> set[str]:
        """Items of as many passages that begin with this one, and those that share most of its words with it."""
        same, *near = sketch(first)
        return {
            id
            for marks, count in (([same], passages), (near, 0))
            for (id,) in self.filtered(
                "alike", caller, chosen, marks=json.dumps(marks), passages=count
            )
        }

    def text_sizes(self, tenant: str, ids: Collection[str]) -> dict[str, TextSize]:
        """The first passage of each item, and how many characters and bytes of text it has."""
        found = self.rows(
            "text_sizes", tenant=tenant, ids=json.dumps([id for id in ids if storable(id)])
        )
        return {
            id: TextSize(PassageRef(first), int(length), int(size))
            for id, first, length, size in found
        }

    def link_by_id(self, tenant: str, id: str) -> Link | None:
        return self.one(queries.link_from, "link", tenant=tenant, id=id)

    def link_between(self, tenant: str, source: str, target: str, type: str) -> Link | None:
        return self.one(
            queries.link_from, "link", tenant=tenant, source=source, target=target, type=type
        )

    def link_streams(self, tenant: str, item: str) -> list[str]:
        """Every link that ever started or ended at the item, cut ones too."""
        return [stream for (stream,) in self.rows("link_streams", tenant=tenant, item=item)]

    def all_links(self, tenant: str) -> Iterator[Link]:
        return map(queries.link_from, self.rows("all_links", tenant=tenant))

    def neighbours(
        self, tenant: str, frontier: Strings, toward: Direction, types: Strings = ()
    ) -> list[Link]:
        """Every link that leaves the frontier in that direction."""
        ids = json.dumps(list(frontier))
        found = {
            row[1]: queries.link_from(row)
            for fill in WAYS[toward]
            for row in self.run(filled(self.queries["links"], fill), {"tenant": tenant, "ids": ids})
            if not types or row[4] in types
        }
        return sorted(found.values(), key=lambda link: link.seq)

    def steps(
        self,
        caller: Caller,
        chosen: Filter,
        frontier: Strings,
        toward: Direction,
        types: Strings = (),
    ) -> list[Step]:
        """Here, there, type and the title there of every link from the frontier to what passes the filter."""
        return [
            Step(start, end, type, title)
            for fill in WAYS[toward]
            for start, end, type, title in self.filtered(
                "steps",
                caller,
                chosen,
                "item",
                fill,
                frontier=json.dumps(list(frontier)),
                types=json.dumps(list(types)),
            )
        ]

    def events(self, tenant: str, stream: str) -> list[Event]:
        """The history of one item or link, oldest first."""
        found = self.rows("events_of", tenant=tenant, stream=stream) if storable(stream) else ()
        return list(map(queries.event_from, found))

    def event_by_seq(self, tenant: str, seq: int) -> Event | None:
        return self.one(queries.event_from, "event", tenant=tenant, seq=seq)

    def event_by_key(self, tenant: str, actor: str, key: str) -> Event | None:
        return self.one(queries.event_from, "event", tenant=tenant, actor=actor, key=key)

    def events_after(self, tenant: str, seq: int, limit: int = NO_LIMIT) -> Iterator[Event]:
        return map(
            queries.event_from, self.rows("events_after", tenant=tenant, seq=seq, limit=limit)
        )

    def streams(self, tenant: str, after: str = "") -> list[str]:
        """The streams of the log that have an event after that time."""
        return sorted(stream for (stream,) in self.rows("streams", tenant=tenant, after=after))

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
        """A page of the items that the caller sees and the filter keeps; the total of all where it is wanted."""
        sorts = {name[5:]: text for name, text in self.queries.items() if name.startswith("sort_")}
        if sort not in sorts:
            raise InvalidInput(
                f"Cannot sort by {sort!r}; use one of {', '.join(sorts)}.", field="sort"
            )
        total = next(iter(self.filtered("listing_count", caller, chosen)))[0] if counted else 0
        # What lies in the second half is nearer from the end.
        back = total // 2 < offset < total
        start, count = (
            (max(0, total - offset - limit), min(limit, total - offset))
            if back
            else (offset, limit)
        )
        way = "desc" if descending != back else "asc"
        # The same column twice would make SQLite sort what the index gives in order.
        keys = dict.fromkeys((sorts[sort], sorts["created_at"]))
        order = {
            "{order}": ", ".join(f"{key} {way}" for key in keys),
            "{way}": way,
            "{certainty}": self.queries["certainty"],
        }
        found = self.filtered("listing", caller, chosen, "item", order, limit=count, offset=start)
        items = tuple(map(queries.item_from, found))[:: -1 if back else 1]
        return Page(items, total if counted else len(items))

    def count_items_by(self, caller: Caller, chosen: Filter, by: str) -> dict[str, int]:
        if by not in COUNTED:
            raise InvalidInput(
                f"Cannot count by {by!r}; use one of {', '.join(COUNTED)}.", field="by"
            )
        return dict(
            self.filtered(
                "tag_counts" if by == "tag" else "counts", caller, chosen, "item", {"{column}": by}
            )
        )

    def concept_tree(self, caller: Caller) -> list[ConceptCount]:
        """Per area, topic and subtopic: how many live concepts the caller sees, and the events of all."""
        return [
            ConceptCount(area, topic, subtopic, int(count), int(events))
            for area, topic, subtopic, count, events in self.filtered(
                "concept_tree", caller, Filter(forgotten=None)
            )
        ]

    def folders(self, caller: Caller, chosen: Filter) -> list[FolderCount]:
        return [
            FolderCount(folder or "/", float(score or 5), n)
            for folder, score, n in self.filtered("folders", caller, chosen)
        ]

    def count_blocks(self, refs: Collection[PassageRef], but: Collection[tuple[int, int]]) -> int:
        """How many blocks passages belong to, without those given by the row of the item and their number."""
        # Where no block was cut, the number of a block is the ordinal of its passage.
        known = {passage_ref(item, block) for item, block in but}
        cut = {row for (row,) in self.lasting("cut_items", self.tenant)}
        torn = [ref for ref in refs if item_row_of(ref) in cut]
        # Elsewhere every block is one passage, whose number is that of the block.
        found = (
            next(self.rows("blocks_at", ids=json.dumps(torn), known=json.dumps([*known])))[0]
            if torn
            else 0
        )
        return int(found) + len({ref for ref in refs if item_row_of(ref) not in cut} - known)

    def items_titled(self, tenant: str, kind: str, title: str) -> list[Item]:
        return [
            queries.item_from(row)
            for row in self.rows("namesakes", tenant=tenant, kind=kind, title=title)
        ]

    def statistics(self, tenant: str, words: Strings) -> Statistics:
        """What BM25 needs to know of the tenant's passages and of these terms."""
        found = self.head(tenant)
        if found is None:
            return Statistics(0, 0.0, {})
        number, _, passages, total, _ = found
        marks = {own(number, [word]): word for word in words}
        # To count a common word takes a walk along its whole list, so counts are kept while nothing is written.
        at, kept = self.known.get(("frequencies", tenant), (None, []))
        counts: dict[str, int] = dict(kept) if at == found and len(kept) < MOST_KNOWN else {}
        if missing := list(marks.keys() - counts.keys()):
            rows = self.rows("frequencies", tenant=tenant, terms=json.dumps(missing))
            counts |= dict.fromkeys(missing, 0) | dict(rows)
            self.known["frequencies", tenant] = found, [*counts.items()]
        frequencies = {word: counts[mark] for mark, word in marks.items() if counts[mark]}
        return Statistics(passages, total / passages if passages else 0.0, frequencies)

    def search_text(
        self,
        caller: Caller,
        chosen: Filter,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        every: bool,
        limit: int,
    ) -> list[Candidate]:
        """The best passages that hold any (or every) term and all phrases, among those that pass the filter."""
        head = self.head(caller.tenant)
        if head is None or not (terms or phrases):
            return []
        number = head[0]
        scopes = [own(number, group).split() for group in self._narrow(head[2], caller, chosen)]
        words = [own(number, [term]) for term in terms]
        match = self.match(words, [own(number, phrase) for phrase in phrases], every, scopes)
        return list(
            self.best(
                "search_text", caller, chosen, {}, limit, match=match, words=json.dumps(words)
            )
        )

    def best(
        self,
        name: str,
        caller: Caller,
        chosen: Filter,
        fill: dict[str, str],
        limit: int,
        /,
        **values: Parameter,
    ) -> Iterator[Row]:
        # The text index orders everything it finds by itself, which is too much where a filter leaves little of it.
        fill = {"{rank}": "f.rank" if chosen == Filter() else "score desc", **fill}
        return self.filtered(name, caller, chosen, "passage", fill, limit=limit, **values)

    def head(self, tenant: str) -> Row | None:
        """What the tenant's log has come to, read once; a writer knows it."""
        if tenant not in self.heads:
            self.heads[tenant] = self.row("head", tenant=tenant)
        return self.heads[tenant]

    def lasting(self, name: str, tenant: str) -> list[Row]:
        """The rows of a named statement about a tenant, which stay the same until it has another event."""
        head, known = self.head(tenant), self.known.get((name, tenant))
        if known is None or known[0] != head:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            known = self.known[name, tenant] = head, list(self.rows(name, tenant=tenant))
        return known[1]

    def sees_all(self, caller: Caller) -> bool:
        """Whether nothing of the tenant is hidden from the caller, as far as a look tells."""
        return caller.admin or self.lasting("owners", caller.tenant) == [(caller.user, caller.user)]

    def _narrow(self, passages: int, caller: Caller, chosen: Filter) -> list[list[str]]:
        """The parts of the filter that shorten the posting lists; a wide part would only lengthen the work."""
        most = max(NARROW, passages // 50)
        groups: list[tuple[str, tuple[str, ...]]] = [("tag", (tag,)) for tag in chosen.tags_all]
        groups += [
            ("tag", chosen.tags_any),
            ("kind", chosen.kinds),
            ("project", chosen.projects),
            ("namespace", chosen.namespaces),
        ]
        made = []
        for name, values in groups:
            sql = filled(
                self.queries["wide"],
                {"{table}": "tag" if name == "tag" else "item", "{column}": name},
            )
            wide = (
                any(self.run(sql, {"tenant": caller.tenant, "value": value, "most": most}))
                for value in values
            )
            if values and not any(wide):
                made.append(scope_tokens(name, values))
        if not self.sees_all(caller):
            projects = (f"p{caller.project}",) if caller.project else ()
            made.append(scope_tokens("see", (f"u{caller.user}", "o", *projects)))
        return made

    def passages_at(self, refs: Collection[PassageRef]) -> dict[PassageRef, tuple[Item, Passage]]:
        """The passages with these numbers and their items, as far as there are any."""
        found = list(self.rows("passages_at", ids=json.dumps([*refs])))
        made = {
            number: queries.item_from(row)
            for number, row in {row[2]: row[10:] for row in found}.items()
        }
        return {row[0]: (made[row[2]], queries.passage_from(row, made[row[2]].id)) for row in found}

    def speakers(self, tenant: str) -> list[str]:
        """Who speaks in the tenant's conversations, as far as they are few."""
        return [name for (name,) in self.lasting("speakers", tenant)]

    def accesses(self, tenant: str, ids: Strings) -> dict[str, tuple[int, str]]:
        found = self.rows("access_of", tenant=tenant, ids=json.dumps(list(ids)))
        return {id: (count, last) for id, count, last in found}

    def records(self, tenant: str, folder: str = "") -> dict[str, str]:
        """What a tenant keeps beside its items, by the rest of its name in a folder like `vault/`."""
        return {
            name.removeprefix(folder): value
            for _, name, value in sorted(self.find("setting", tenant=tenant))
            if name.startswith(folder)
        }

    def outbox_counts(self, tenant: str | None = None) -> dict[tuple[str, str], int]:
        """How much derived work is pending, processed and failed, per consumer."""
        return {
            (consumer, status): int(n)
            for consumer, status, n in self.rows("outbox_counts", tenant=tenant)
        }

    def count_waiting(self, tenant: str | None, consumer: str, most: int = 1000) -> int:
        """How much work is not done yet, counted up to so much."""
        name = "waiting" if tenant else "waiting_any"
        return int((self.row(name, tenant=tenant, consumer=consumer, limit=most) or (0,))[0])

    def outbox_errors(self) -> list[str]:
        """What went wrong with work that was given up, newest first."""
        return [
            f"{tenant}/{stream}: {consumer} failed {attempts} times: {error}"
            for tenant, stream, consumer, attempts, error in self.rows("outbox_errors")
        ]

    def vector_by_digest(self, tenant: str, digest: bytes, model: str) -> str | bytes | None:
        """The vector that the same text got before."""
        found = self.row("vector_same", tenant=tenant, digest=digest, model=model)
        return found[0] if found else None

    def models(self) -> dict[str, int]:
        return dict(self.rows("models"))

    def unembedded(self, tenant: str, stream: str, model: str) -> list[EmbeddingInput]:
        """The passages of an item: number, what the embedder sees, digest of the text that its vector was made from."""
        item = next(self.find("item", tenant=tenant, id=stream), None)
        if item is None:
            return []
        digests: dict[int, bytes] = dict(
            self.rows("vector_digests", tenant=tenant, item=item[0], model=model)
        )
        found, block, before = list[EmbeddingInput](), -1, ""
        for row in self.rows("passages_of_items", tenant=tenant, ids=json.dumps([stream])):
            text = embedded(item[4], row[7], row[5], before if row[4] == block else "")
            found.append(EmbeddingInput(row[0], text, digests.get(row[0])))
            block, before = row[4], row[5]
        return found
