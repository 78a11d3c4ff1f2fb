"""Reading inside one transaction: one class for every SQL store, whose own file of statements says how."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from memolith.engine.events import Event
from memolith.engine.intake import storable
from memolith.engine.model import Caller, Direction, Filter, Item, Link, Page, Passage
from memolith.engine.ports import Candidate, Place, Statistics, Unembedded
from memolith.errors import InvalidInput
from memolith.storage import rows
from memolith.storage.queries import Parameter, Parameters, Queries, about_passages
from memolith.storage.rows import Row
from memolith.storage.terms import indexed, own, scope_tokens_of, seen_by, sketch

NARROW = 2000
COUNTED = ("kind", "status", "namespace", "project", "tag")


class SqlReader:
    """What can be read; every answer comes from the same moment."""

    queries: Queries

    def __init__(self) -> None:
        self.heads: dict[str, Row | None] = {}
        self.owners: dict[str, Row | None] = {}

    def run(self, sql: str, values: Parameters) -> Iterator[Row]:
        """The rows of a statement."""
        raise NotImplementedError

    def match(self, words: Sequence[str], phrases: Sequence[str], every: bool,
              scopes: Sequence[Sequence[str]]) -> str:
        """A full-text expression: all phrases, any (or every) word, and one of each group of scope tokens."""
        raise NotImplementedError

    def stale(self, expected: dict[int, tuple[str, str, str]]) -> list[int]:
        """Which passages the text index has otherwise; negative for what it has too much."""
        raise NotImplementedError

    def rows(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a named statement."""
        return self.run(self.queries[name], values)

    def row(self, name: str, /, **values: Parameter) -> Row | None:
        """The first row of a named statement."""
        return next(iter(self.rows(name, **values)), None)

    def filtered(self, name: str, caller: Caller, chosen: Filter, place: str = "item",
                 fill: dict[str, str] | None = None, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a named statement with the filter in it."""
        filters, bound = self.queries.where(caller, chosen, place)
        sql = self.queries[name]
        for mark, text in {**(fill or {}), "{filters}": filters}.items():
            sql = sql.replace(mark, text)
        return self.run(sql, {"tenant": caller.tenant, **bound, **values})

    def database(self) -> str:
        """A word that no other database has."""
        return str((self.row("setting", tenant="", name="database") or ("",))[0])

    def tenants(self) -> list[str]:
        """Every tenant there is, oldest first."""
        return [tenant for (tenant,) in self.rows("tenants")]

    def last_seq(self, tenant: str) -> int:
        """The number of the tenant's newest event, 0 if there is none."""
        found = self.row("head", tenant=tenant)
        return found[1] if found else 0

    def item(self, tenant: str, id: str) -> Item | None:
        """The item with that id, forgotten or not."""
        found = self.row("item", tenant=tenant, id=id) if storable(id) else None
        return rows.item_from(found) if found else None

    def items(self, tenant: str, ids: Collection[str]) -> dict[str, Item]:
        """Those of the items that exist, by id."""
        found = self.rows("items", tenant=tenant, ids=json.dumps([id for id in ids if storable(id)]))
        return {item.id: item for item in map(rows.item_from, found)}

    def all_items(self, tenant: str) -> Iterator[Item]:
        """Every item of a tenant, by id."""
        return map(rows.item_from, self.rows("all_items", tenant=tenant))

    def passages(self, tenant: str, id: str) -> list[Passage]:
        """The passages of an item in order."""
        return [rows.passage_from(row, id) for row in self.rows("passages", tenant=tenant, id=id)]

    def passages_of(self, tenant: str, ids: Collection[str]) -> dict[str, list[Passage]]:
        """The passages of several items, in order, by item."""
        found: dict[str, list[Passage]] = {id: [] for id in ids if storable(id)}
        for row in self.rows("passages_of_items", tenant=tenant, ids=json.dumps(list(found))):
            found[row[-1]].append(rows.passage_from(row, row[-1]))
        return found

    def tags_of(self, tenant: str, id: str) -> tuple[str, ...]:
        """The tags of an item as the filters see them."""
        return tuple(tag for (tag,) in self.rows("tags_of", tenant=tenant, id=id))

    def index_differences(self, tenant: str) -> list[str]:
        """Where the text index or the sums are not what the passages say."""
        head = self.row("head", tenant=tenant)
        if head is None:
            return ["its head row is missing"]
        number, seq, passages, terms, _ = head
        problems = [f"{name} belongs to no item" for (name,) in self.rows("orphans", tenant=tenant)]
        if self.row("log_state", tenant=tenant) != (seq, min(seq, 1), seq):
            problems.append(f"the head says {seq} events; the log has others, or gaps")
        marks: dict[int, set[int]] = defaultdict(set)
        for number_of_item, mark in self.rows("sketches", tenant=tenant):
            marks[number_of_item].add(mark)
        items = {item.id: item for item in self.all_items(tenant)}
        expected: dict[int, tuple[str, str, str]] = {}
        names: dict[int, str] = {}
        length = 0
        for row in self.rows("passages_all", tenant=tenant):
            item = items[row[-1]]
            if row[10] != rows.text_digest(row[5]):
                problems.append(f"the digest of passage {row[3]} of {item.id} is not that of its text")
            if row[3] == 0 and marks.pop(row[2], set()) != set(sketch(row[5])):
                problems.append(f"the sketch of {item.id} is not that of its text")
            body, extra, scope, size = indexed(number, item, rows.passage_from(row, item.id))
            expected[row[0]], names[row[0]] = (body, extra, scope), f"{item.id}, passage {row[3]}"
            length += size
        problems += [f"text index of {names[ref]}, differs from its text" if ref in names else
                     f"text index holds row {-ref}, which is no passage" for ref in self.stale(expected)]
        problems += [f"a sketch belongs to row {row}, which is no item" for row in marks]
        if (len(expected), length) != (passages, terms):
            problems.append(f"sums say {passages} passages with {terms} terms; there are {len(expected)} with {length}")
        return problems

    def same_text(self, caller: Caller, first: str, passages: int, chosen: Filter) -> list[str]:
        """Items of as many passages whose first passage is that text but for case and white space."""
        found = self.filtered("passage_same", caller, chosen, digest=rows.text_digest(first), passages=passages)
        return [id for (id,) in found]

    def alike(self, caller: Caller, first: str, chosen: Filter) -> list[str]:
        """Items whose first passage shares most of its words with a text, as far as their sketches tell."""
        return [id for (id,) in self.filtered("alike", caller, chosen, marks=json.dumps(sketch(first)))]

    def text_sizes(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[Place, int, int]]:
        """The first place of each item, and how many characters and bytes of text it has."""
        found = self.rows("text_sizes", tenant=tenant, ids=json.dumps([id for id in ids if storable(id)]))
        return {id: (Place.of(first), int(length), int(size)) for id, first, length, size in found}

    def link(self, tenant: str, id: str) -> Link | None:
        """The link with that id."""
        found = self.row("link", tenant=tenant, id=id) if storable(id) else None
        return rows.link_from(found) if found else None

    def link_between(self, tenant: str, source: str, target: str, type: str) -> Link | None:
        """The link of that type from one item to the other."""
        found = self.row("link_between", tenant=tenant, source=source, target=target, type=type)
        return rows.link_from(found) if found else None

    def links_of(self, tenant: str, item: str) -> list[Link]:
        """Every link that starts or ends at the item, oldest first."""
        return [rows.link_from(row) for row in self.rows("links_of", tenant=tenant, item=item)]

    def link_streams(self, tenant: str, item: str) -> list[str]:
        """Every link that ever started or ended at the item, cut ones too."""
        return [stream for (stream,) in self.rows("link_streams", tenant=tenant, item=item)]

    def all_links(self, tenant: str) -> Iterator[Link]:
        """Every link of a tenant, by id."""
        return map(rows.link_from, self.rows("all_links", tenant=tenant))

    def neighbours(self, tenant: str, frontier: Collection[str], toward: Direction,
                   types: Collection[str] = ()) -> list[Link]:
        """Every link that leaves the frontier in that direction."""
        ids = json.dumps(list(frontier))
        found: dict[str, Link] = {}
        for name in {"out": ("links_out",), "in": ("links_in",), "both": ("links_out", "links_in")}[toward.value]:
            for row in self.rows(name, tenant=tenant, ids=ids):
                if not types or row[4] in types:
                    found[row[1]] = rows.link_from(row)
        return sorted(found.values(), key=lambda link: link.seq)

    def steps(self, caller: Caller, chosen: Filter, frontier: Collection[str], toward: Direction,
              types: Collection[str] = ()) -> list[tuple[str, str, str, str]]:
        """Here, there, type and the title there of every link from the frontier to what passes the filter."""
        values: Parameters = {"frontier": json.dumps(list(frontier)), "types": json.dumps(list(types))}
        ways = {"out": ("source", "target"), "in": ("target", "source")}
        return [(start, end, type, title) for way, (here, there) in ways.items() if toward in (way, Direction.BOTH)
                for start, end, type, title in self.filtered("steps", caller, chosen, "item", {
                    "{here}": here, "{there}": there, "{way}": way}, **values)]

    def events(self, tenant: str, stream: str) -> list[Event]:
        """The history of one item or link, oldest first."""
        if not storable(stream):
            return []
        return [rows.event_from(row) for row in self.rows("events_of", tenant=tenant, stream=stream)]

    def event(self, tenant: str, seq: int) -> Event | None:
        """The event with that number."""
        found = self.row("event_at", tenant=tenant, seq=seq) if 0 < seq < 2**63 else None
        return rows.event_from(found) if found else None

    def event_by_key(self, tenant: str, actor: str, key: str) -> Event | None:
        """The event that the actor wrote under that idempotency key."""
        found = self.row("event_by_key", tenant=tenant, actor=actor, key=key)
        return rows.event_from(found) if found else None

    def events_after(self, tenant: str, seq: int, limit: int = -1) -> Iterator[Event]:
        """The log from there on."""
        return map(rows.event_from, self.rows("events_after", tenant=tenant, seq=seq, limit=limit))

    def streams(self, tenant: str) -> list[str]:
        """Every stream of the log."""
        return [stream for (stream,) in self.rows("streams", tenant=tenant)]

    def changed_since(self, tenant: str, at: str) -> set[str]:
        """The streams that have an event after that time."""
        return {stream for (stream,) in self.rows("streams_since", tenant=tenant, at=at)}

    def listing(self, caller: Caller, chosen: Filter, sort: str = "created_at", descending: bool = True,
                limit: int = 20, offset: int = 0, counted: bool = True) -> Page:
        """A page of the items that the caller sees and the filter keeps; the total of all where it is wanted."""
        sorts = [name.removeprefix("sort_") for name in self.queries if name.startswith("sort_")]
        if sort not in sorts:
            raise InvalidInput(f"Cannot sort by {sort!r}; use one of {', '.join(sorts)}.", field="sort")
        way = "desc" if descending else "asc"
        # The same column twice would make SQLite sort what the index gives in order.
        keys = dict.fromkeys((self.queries["sort_" + sort], self.queries["sort_created_at"]))
        order = {"{order}": ", ".join(f"{key} {way}" for key in keys), "{way}": way,
                 "{certainty}": self.queries["certainty"]}
        found = self.filtered("listing", caller, chosen, "item", order, limit=limit, offset=offset)
        items = tuple(map(rows.item_from, found))
        return Page(items, next(iter(self.filtered("listing_count", caller, chosen)))[0] if counted else len(items))

    def counts(self, caller: Caller, chosen: Filter, by: str) -> dict[str, int]:
        """How many items there are per kind, status, namespace, project or tag."""
        if by not in COUNTED:
            raise InvalidInput(f"Cannot count by {by!r}; use one of {', '.join(COUNTED)}.", field="by")
        name = "tag_counts" if by == "tag" else "counts"
        return dict(self.filtered(name, caller, chosen, "item", {"{column}": by}))

    def concept_tree(self, caller: Caller) -> list[tuple[str | None, str | None, str | None, int, int]]:
        """Per area, topic and subtopic: how many live concepts the caller sees, and the events of all."""
        return [(area, topic, subtopic, int(count), int(events)) for area, topic, subtopic, count, events in
                self.filtered("concept_tree", caller, Filter(forgotten=None))]

    def folders(self, caller: Caller, chosen: Filter) -> list[tuple[str, float, int]]:
        """Per folder and importance: how many items there are."""
        return [(folder or "/", float(score or 5), n) for folder, score, n in self.filtered("folders", caller, chosen)]

    def blocks_at(self, tenant: str, refs: Collection[int]) -> set[tuple[int, int]]:
        """The blocks that passages belong to: the row of the item, and the number of the block."""
        return {(item, block) for item, block in self.rows("blocks_at", tenant=tenant, ids=json.dumps(list(refs)))}

    def namesakes(self, tenant: str, kind: str, title: str) -> list[Item]:
        """Live items of a kind with exactly that title."""
        return [rows.item_from(row) for row in self.rows("namesakes", tenant=tenant, kind=kind, title=title)]

    def statistics(self, tenant: str, words: Collection[str]) -> Statistics:
        """What BM25 needs to know of the tenant's passages and of these terms."""
        found = self.head(tenant)
        if found is None:
            return Statistics(0, 0.0, {})
        number, _, passages, total, _ = found
        marks = {own(number, [word]): word for word in words}
        counts = self.rows("frequencies", tenant=tenant, terms=json.dumps(list(marks)))
        frequencies = {marks[mark]: count for mark, count in counts}
        return Statistics(passages, total / passages if passages else 0.0, frequencies)

    def search_text(self, caller: Caller, chosen: Filter, terms: Sequence[str], phrases: Sequence[Sequence[str]],
                    every: bool, limit: int) -> list[Candidate]:
        """The best passages that hold any (or every) term and all phrases, among those that pass the filter."""
        head = self.head(caller.tenant)
        if head is None or not (terms or phrases):
            return []
        number = head[0]
        scopes = [own(number, group).split() for group in self._narrow(head[2], caller, chosen)]
        words = [own(number, [term]) for term in terms]
        match = self.match(words, [own(number, phrase) for phrase in phrases], every, scopes)
        found = self.best("search_text", caller, chosen, {}, limit, match=match, words=json.dumps(words))
        return list(map(Candidate._make, found))

    def best(self, name: str, caller: Caller, chosen: Filter, fill: dict[str, str], limit: int, /,
             **values: Parameter) -> Iterator[Row]:
        """The best passages by a named statement, among those that pass the filter."""
        return self.filtered(f"{name}_passage" if about_passages(chosen) else name, caller, chosen, "passage", fill,
                             limit=limit, **values)

    def head(self, tenant: str) -> Row | None:
        """The head row of a tenant, read once; a writer forgets it with every event."""
        if tenant not in self.heads:
            self.heads[tenant] = self.row("head", tenant=tenant)
        return self.heads[tenant]

    def sees_all(self, caller: Caller) -> bool:
        """Whether nothing of the tenant is hidden from the caller, as far as a look tells."""
        if caller.tenant not in self.owners:
            self.owners[caller.tenant] = self.row("owners", tenant=caller.tenant)
        return caller.admin or self.owners[caller.tenant] == (caller.user, caller.user)

    def _narrow(self, passages: int, caller: Caller, chosen: Filter) -> list[list[str]]:
        """The parts of the filter that shorten the posting lists; a wide part would only lengthen the work."""
        most = max(NARROW, passages // 50)
        groups: list[tuple[str, tuple[str, ...]]] = [("tag", (tag,)) for tag in chosen.tags_all]
        groups += [("tag", chosen.tags_any), ("kind", chosen.kinds), ("project", chosen.projects),
                   ("namespace", chosen.namespaces)]
        made = [scope_tokens_of(name, values) for name, values in groups if values and not any(
            self._is_wide(caller.tenant, name, value, most) for value in values)]
        if not self.sees_all(caller):
            made.append(scope_tokens_of("see", seen_by(caller)))
        return made

    def _is_wide(self, tenant: str, name: str, value: str, most: int) -> bool:
        sql = self.queries["wide_tag" if name == "tag" else "wide"].replace("{column}", name)
        return any(True for _ in self.run(sql, {"tenant": tenant, "value": value, "most": most}))

    def places(self, places: Collection[Place]) -> dict[Place, Passage]:
        """The passages at these places, as far as there are any."""
        found = self.rows("passages_at", ids=json.dumps([place.ref for place in places]))
        return {Place.of(row[0]): rows.passage_from(row, row[-1]) for row in found}

    def speakers(self, tenant: str, limit: int) -> list[str]:
        """Who speaks in the tenant's conversations, at most so many."""
        return [name for (name,) in self.rows("speakers", tenant=tenant, limit=limit)]

    def items_at(self, numbers: Collection[int]) -> dict[int, Item]:
        """Items by their row number."""
        found = self.rows("items_by_row", rows=json.dumps(list(numbers)))
        return {row[0]: rows.item_from(row) for row in found}

    def access(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[int, str]]:
        """How often and when last the items were read."""
        found = self.rows("access_of", tenant=tenant, ids=json.dumps(list(ids)))
        return {id: (count, last) for id, count, last in found}

    def beginnings(self, caller: Caller, chosen: Filter, model: str) -> list[tuple[Place, bytes]]:
        """The vectors of the first passages of items that pass the filter, as the store keeps them."""
        return [(Place.of(ref), vector) for ref, vector in self.filtered("beginnings", caller, chosen, model=model)]

    def most_read(self, caller: Caller, chosen: Filter) -> str | None:
        """The item that was read most often, the latest of several."""
        return next((id for (id,) in self.filtered("access_most", caller, chosen)), None)

    def records(self, tenant: str, folder: str = "") -> dict[str, str]:
        """What a tenant keeps beside its items, by the rest of its name in a folder like `vault/`."""
        return {name.removeprefix(folder): value for name, value in self.rows("settings", tenant=tenant)
                if name.startswith(folder)}

    def outbox_counts(self, tenant: str | None = None) -> dict[tuple[str, str], int]:
        """How much derived work is pending, processed and failed, per consumer."""
        return {(consumer, status): int(count) for name in ("outbox_counts", "outbox_counts_done")
                for consumer, status, count in self.rows(name, tenant=tenant)}

    def waiting(self, tenant: str | None, consumer: str, most: int = 1000) -> int:
        """How much work is not done yet, counted up to so much."""
        name = "outbox_waiting" if tenant else "outbox_waiting_any"
        values: Parameters = {"tenant": tenant} if tenant else {}
        return int((self.row(name, consumer=consumer, limit=most, **values) or (0,))[0])

    def outbox_errors(self) -> list[str]:
        """What went wrong with work that was given up, newest first."""
        return [f"{tenant}/{stream}: {consumer} failed {attempts} times: {error}"
                for tenant, stream, consumer, attempts, error in self.rows("outbox_errors")]

    def vector_by_digest(self, tenant: str, digest: bytes, model: str) -> bytes | None:
        """The vector that the same text got before."""
        found = self.row("vector_same", tenant=tenant, digest=digest, model=model)
        return found[0] if found else None

    def models(self) -> dict[str, int]:
        """How many passages have a vector of each model."""
        return dict(self.rows("models"))

    def unembedded(self, tenant: str, stream: str, model: str) -> list[Unembedded]:
        """The passages of an item with what their vectors were made from."""
        item = self.row("item", tenant=tenant, id=stream)
        if item is None:
            return []
        digests: dict[int, bytes] = dict(self.rows("vector_digests", tenant=tenant, item=item[0], model=model))
        found: list[Unembedded] = []
        block, before = -1, ""
        for row in self.rows("passages_from", tenant=tenant, item=item[0], ordinal=0):
            found.append(Unembedded(ref=row[0], title=item[4], speaker=row[7], text=row[5],
                                    before=before if row[4] == block else "", digest=digests.get(row[0])))
            block, before = row[4], row[5]
        return found
