"""What every SQL store has in common: writing inside one transaction, the store itself, and the keys of clients."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Self

from memolith.domain.clock import shifted
from memolith.domain.events import Changes, Data, Event
from memolith.domain.items import Item
from memolith.domain.passages import Passage, PassageRef, passage_ref
from memolith.errors import TenantMoving
from memolith.ports.client_keys import ClientKey
from memolith.ports.outbox import Job
from memolith.storage.queries import Parameter, Parameters, columns, key_from
from memolith.storage.reader import Known, SqlReader
from memolith.storage.terms import indexed, sketch

POSTED = ("title", "tags", "owner", "audience", "project", "namespace")
"""What of an item the text index holds with each of its passages."""
BACK_OFF_S = (1, 5, 30, 120, 600, 3600)


class SqlWriter(SqlReader):
    """Reads and writes of one tenant under its write lock; of no tenant in particular where it is empty."""

    row_is_seq = False
    """Whether the row of an item is the number of its first event, and not one that the database gives it."""

    def __init__(self, db: Any, tenant: str | None) -> None:
        super().__init__(db, tenant)
        self.begin(tenant)

    def begin(self, tenant: str | None) -> Self:
        """Take the tenant's head row, made at his first write, and keep it from others."""
        self.tenant = tenant or ""
        head = self.row("head_locked", tenant=tenant) if tenant else (0, 0, 0, 0, "")
        if head is None:
            self.do("head_new", tenant=tenant)
            head = self.row("head_locked", tenant=tenant)
        if head is None:
            raise TenantMoving
        self.heads = {self.tenant: head}
        self._number, self._seq, self._passages, self._terms, self._at = head
        return self

    def next_event(
        self,
        stream: str,
        version: int,
        type: str,
        data: Data,
        actor: str,
        at: str,
        key: str | None = None,
    ) -> Event:
        """An event with the next sequence number, not yet written; its time is never before the last one's."""
        return Event(
            self.tenant, self._seq + 1, stream, version, type, data, actor, max(at, self._at), key
        )

    def append(self, event: Event, changes: Changes) -> None:
        """Write the event, fold it into the rows, and queue what follows from it."""
        self.put("event", columns(event))
        self._seq, self._at = event.seq, event.at
        if event.type == "erased":
            self.do("scrub", tenant=self.tenant, stream=event.stream)
            self.drop("outbox", stream=event.stream)
            self.drop("access", item=event.stream)
        self.apply(changes)
        if changes.embeds:
            self.queue("embed", event.stream, event.seq)
        self.write_totals()

    def apply(self, changes: Changes) -> None:
        """Bring the read models to where the event leaves them."""
        if changes.link is not None:
            self.put("link", columns(changes.link) | {"tenant": self.tenant}, ("tenant", "id"))
        elif changes.gone is not None and changes.before is None:
            self.drop("link", id=changes.gone)
        elif changes.gone is not None and changes.before is not None:
            number = self.row_of(changes.before)
            self._drop_passages(number, changes.before, 0)
            self._put_tags(number, changes.before.tags, ())
            self.drop("item", id=changes.before.id)
        elif changes.item is not None:
            self._put(changes, changes.item)

    def write_totals(self) -> None:
        """Write the sums; to be called after `apply` without `append`."""
        self.heads = {self.tenant: (self._number, self._seq, self._passages, self._terms, self._at)}
        self.change(
            "head",
            ("tenant",),
            {
                "tenant": self.tenant,
                "seq": self._seq,
                "passages": self._passages,
                "terms": self._terms,
                "at": self._at,
            },
        )

    def queue(self, consumer: str, stream: str, seq: int) -> None:
        """Ask for derived work on a stream, due at once whatever the clocks say."""
        self._put_job(Job(self.tenant, seq, consumer, stream, 0), "pending", "")

    def posting(self, body: str, extra: str, scope: str, sign: int) -> Parameters:
        """What the text index holds of a passage, which from now on counts or counts no longer."""
        self._passages += sign
        self._terms += sign * (len(body.split()) + len(extra.split()))
        return {"body": body, "extra": extra, "scope": scope}

    def _put(self, changes: Changes, item: Item) -> None:
        before = changes.before
        self.put(
            "item", columns(item) | ({"row": item.seq} if self.row_is_seq else {}), ("tenant", "id")
        )
        number = self.row_of(item)
        self._put_tags(number, before.tags if before else (), item.tags)
        if before is not None:
            self._drop_passages(
                number, before, before.passages if changes.keep is None else changes.keep
            )
            altered = any(getattr(before, name) != getattr(item, name) for name in POSTED)
            for passage in self.passages(self.tenant, item.id) if altered else ():
                ref = passage_ref(number, passage.ordinal)
                self._index("posting_drop", ref, before, passage)
                self._index("posting_add", ref, item, passage)
                if before.title != item.title:
                    self.drop("embedding", passage=ref)
        for passage in changes.passages:
            ref = passage_ref(number, passage.ordinal)
            made = columns(passage) | {"tenant": self.tenant, "id": ref, "item": number}
            # Empty attributes take no room.
            self.put("passage", made if passage.attributes else made | {"attributes": None})
            self._index("posting_add", ref, item, passage)
            for mark in sketch(passage.text) if passage.ordinal == 0 else ():
                self.put("sketch", {"tenant": self.tenant, "mark": mark, "item": number})

    def _put_tags(self, number: int, before: Collection[str], tags: Collection[str]) -> None:
        for tag in set(before) - set(tags):
            self.drop("tag", tag=tag, item=number)
        for tag in set(tags) - set(before):
            self.put("tag", {"tenant": self.tenant, "tag": tag, "item": number})

    def _drop_passages(self, number: int, item: Item, first: int) -> None:
        for passage in self.passages(self.tenant, item.id)[first:] if first < item.passages else ():
            ref = passage_ref(number, passage.ordinal)
            self._index("posting_drop", ref, item, passage)
            for mark in sketch(passage.text) if passage.ordinal == 0 else ():
                self.drop("sketch", mark=mark, item=number)
            self.drop("passage", id=ref)
            self.drop("embedding", passage=ref)

    def _index(self, name: str, ref: PassageRef, item: Item, passage: Passage) -> None:
        made = self.posting(
            *indexed(self._number, item, passage), 1 if name == "posting_add" else -1
        )
        self.do(name, tenant=self.tenant, id=ref, **made)

    def row_of(self, item: Item) -> int:
        return (
            item.seq
            if self.row_is_seq
            else int(next(self.find("item", tenant=self.tenant, id=item.id))[0])
        )

    def do(self, name: str, /, **values: Parameter) -> None:
        self.execute(self.queries[name], values)

    def execute(self, sql: str, values: Parameters) -> None:
        for _ in self.run(sql, values):
            pass

    def put(self, table: str, values: Parameters, key: Collection[str] = ()) -> None:
        """Put a row into a table: a new one, or in the place of the one with that key."""
        self.execute(self.queries.about("put" if key else "add", table, values, key), values)

    def change(self, table: str, key: Collection[str], values: Parameters) -> None:
        """Give the rows with that key the other values."""
        self.execute(self.queries.about("change", table, values, key), values)

    def drop(self, table: str, /, **key: Parameter) -> None:
        """Remove the rows of the tenant that have these values."""
        values: Parameters = {"tenant": self.tenant, **key}
        self.execute(self.queries.about("drop", table, values, values), values)

    def add_accesses(self, reads: Mapping[str, tuple[int, str]]) -> None:
        """Add to the counts of how often items were read."""
        for item, (count, last) in reads.items():
            self.do("access_put", tenant=self.tenant, item=item, count=count, last=last)

    def put_record(self, tenant: str, name: str, value: str) -> None:
        """Keep something beside the items, in the place of what has that name."""
        self.put("setting", {"tenant": tenant, "name": name, "value": value}, ("tenant", "name"))

    def lease_jobs(
        self, consumer: str, now: str, limit: int, lease_s: int, tenant: str | None = None
    ) -> list[Job]:
        """Take work that is due, newest first and in turns between tenants; it comes back if it is not finished."""
        tenants = (
            [tenant]
            if tenant
            else [name for (name,) in self.rows("outbox_tenants", consumer=consumer)]
        )
        jobs: list[Job] = []
        for n, name in enumerate(tenants):
            share = max(1, (limit - len(jobs)) // (len(tenants) - n))
            jobs += [
                Job(name, seq, consumer, stream, attempts + 1)
                for seq, stream, attempts in self.rows(
                    "outbox_due", tenant=name, consumer=consumer, now=now, limit=share
                )
            ]
            if len(jobs) >= limit:
                break
        for job in jobs:
            self._put_job(job, "leased", shifted(now, lease_s))
        return jobs

    def _put_job(self, job: Job, status: str, due: str) -> None:
        self.put(
            "outbox",
            columns(job) | {"status": status, "due": due, "error": None},
            ("tenant", "seq", "consumer"),
        )

    def finish_job(self, job: Job) -> None:
        self.drop("outbox", tenant=job.tenant, seq=job.seq, consumer=job.consumer)
        self.do("outbox_count_done", tenant=job.tenant, consumer=job.consumer)

    def postpone_job(self, job: Job, now: str, error: str, tries: int) -> None:
        """Put failed work back with growing pauses, or give it up after so many tries."""
        pause = BACK_OFF_S[min(job.attempts, len(BACK_OFF_S)) - 1]
        self.change(
            "outbox",
            ("tenant", "seq", "consumer"),
            {
                "tenant": job.tenant,
                "seq": job.seq,
                "consumer": job.consumer,
                "error": error,
                "status": "failed" if job.attempts >= tries else "pending",
                "due": shifted(now, pause),
            },
        )

    def put_vector(self, ref: PassageRef, model: str, digest: bytes, v: str | bytes | None) -> None:
        """Give a passage its vector, or none if the model understands too little of it."""
        self.drop("embedding", passage=ref, model=model)
        if v is not None:
            self.do("vector_put", tenant=self.tenant, passage=ref, model=model, digest=digest, v=v)

    def queue_missing_vectors(self, model: str, now: str) -> None:
        self.do("queue_missing", model=model, now=now)

    def drop_vectors_of_other_models(self, model: str) -> None:
        self.do("vectors_of_others", model=model)

    def retry_failed(self, consumer: str, now: str) -> None:
        self.do("outbox_retry", consumer=consumer, now=now)


class SqlStore:
    """A database and the connections to it that are idle."""

    reader: type[SqlReader]
    writer: type[SqlWriter]
    transaction: Callable[[str | None, bool, float], AbstractContextManager[Any]]
    """A connection in a transaction of its own, for a tenant, to write or not, which waits so long for locks."""

    def __init__(self, busy_s: float) -> None:
        self._busy_s, self._closed = busy_s, False
        self._idle: list[Any] = []
        self._known: Known = {}

    @contextmanager
    def reading(self, tenant: str | None) -> Iterator[SqlReader]:
        """Reads of one tenant that all see the same moment; None reads across tenants."""
        with self.transaction(tenant, False, self._busy_s) as db:
            yield self.reader(db, tenant, self._known)

    @contextmanager
    def writing(self, tenant: str | None, wait_s: float | None = None) -> Iterator[SqlWriter]:
        """Reads and writes that happen wholly or not at all; durable when this ends."""
        wait = self._busy_s if wait_s is None else min(wait_s, self._busy_s)
        with self.transaction(tenant, True, wait) as db:
            yield self.writer(db, tenant)

    @contextmanager
    def rebuilding(self) -> Iterator[Callable[[str], SqlWriter]]:
        """Empty read models, to be filled anew from the log in one transaction."""
        with self.writing(None) as rows:
            for name in ("empty_models", "empty_index"):
                rows.do(name)
            yield rows.begin
            rows.do("access_again")

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()


class StoredKeys(NamedTuple):
    """The keys of HTTP clients in one store; only their hashes."""

    store: SqlStore

    def add(self, key: ClientKey) -> None:
        with self.store.writing(None) as rows:
            rows.put("client_key", columns(key))

    def by_digest(self, digest: str) -> ClientKey | None:
        with self.store.reading(None) as rows:
            return rows.one(key_from, "client_key", digest=digest)

    def all(self) -> list[ClientKey]:
        with self.store.reading(None) as rows:
            return sorted(
                map(key_from, rows.find("client_key")), key=lambda key: (key.created_at, key.id)
            )

    def revoke(self, id: str) -> bool:
        """Shut a client out; False if there is no such key."""
        with self.store.writing(None) as rows:
            rows.change("client_key", ("id",), {"id": id, "revoked": 1})
            return any(rows.find("client_key", id=id))

    def used(self, id: str, at: str) -> None:
        with self.store.writing(None, 0.2) as rows:
            rows.change("client_key", ("id",), {"id": id, "last_used": at})
