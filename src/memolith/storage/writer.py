"""Writing inside one transaction: events, and the row changes that they mean, for every SQL store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from memolith.engine.events import Changes, Data, Event
from memolith.engine.model import Item, Passage
from memolith.engine.ports import Job, Place
from memolith.storage import rows
from memolith.storage.queries import Parameter
from memolith.storage.reader import SqlReader
from memolith.storage.terms import indexed, sketch

BACK_OFF_S = (1, 5, 30, 120, 600, 3600)
KEPT = ("kind", "owner", "seq", "created_at")


class SqlWriter(SqlReader):
    """Reads and writes of one tenant under its write lock; of no tenant in particular where it is empty."""

    tenant: str

    def begin(self, tenant: str | None) -> None:
        """Take the tenant's head row as it is now."""
        self.tenant = tenant or ""
        self._number, self._seq, self._passages, self._terms, self._at = (
            (self.row("head_locked", tenant=tenant) if tenant else None) or (0, 0, 0, 0, ""))

    def stamp(self, stream: str, version: int, type: str, data: Data, actor: str, at: str,
              key: str | None = None) -> Event:
        """An event with the next sequence number, not yet written; its time is never before the last one's."""
        return Event(self.tenant, self._seq + 1, stream, version, type, data, actor, max(at, self._at), key)

    def append(self, event: Event, changes: Changes) -> None:
        """Write the event, fold it into the rows, and queue what follows from it."""
        if not self._number:
            self.do("head_new", tenant=self.tenant)
            self._number = (self.row("head", tenant=self.tenant) or (0,))[0]
        self.do("event_add", tenant=self.tenant, seq=event.seq, stream=event.stream, version=event.version,
                type=event.type, data=rows.to_json(event.data), actor=event.actor, at=event.at, key=event.key)
        self._seq, self._at = event.seq, event.at
        if event.type == "erased":
            for name in ("scrub", "outbox_drop", "access_drop"):
                self.do(name, tenant=self.tenant, stream=event.stream)
        self.apply(changes)
        if changes.embeds:
            self.queue("embed", event.stream, event.seq)
        self.finish()

    def apply(self, changes: Changes) -> None:
        """Bring the read models to where the event leaves them."""
        if changes.link is not None:
            self.do("link_put", **rows.link_values(self.tenant, changes.link))
        elif changes.gone is not None:
            self._drop(changes)
        elif changes.item is not None:
            self._put(changes, changes.item)

    def finish(self) -> None:
        """Write the sums; to be called after `apply` without `append`."""
        self.heads.clear()
        self.owners.clear()
        self.do("head_set", tenant=self.tenant, seq=self._seq, passages=self._passages, terms=self._terms, at=self._at)

    def queue(self, consumer: str, stream: str, seq: int) -> None:
        """Ask for derived work on a stream, due at once whatever the clocks say."""
        self.do("outbox_add", tenant=self.tenant, seq=seq, consumer=consumer, stream=stream, due="")

    def columns(self, item: Item, passage: Passage, sign: int) -> dict[str, Parameter]:
        """What the text index holds of a passage, which from now on counts or counts no longer."""
        body, extra, scope, length = indexed(self._number, item, passage)
        self._passages += sign
        self._terms += sign * length
        return {"body": body, "extra": extra, "scope": scope}

    def _drop(self, changes: Changes) -> None:
        if changes.before is None:
            self.do("link_drop", tenant=self.tenant, id=changes.gone)
            return
        number = self.row_of(changes.before)
        self._drop_passages(number, changes.before, 0)
        self.do("tags_drop", tenant=self.tenant, item=number)
        self.do("item_drop", tenant=self.tenant, id=changes.before.id)

    def _put(self, changes: Changes, item: Item) -> None:
        before, values = changes.before, rows.item_values(item)
        if before is None:
            self.do("item_new", **values)
        else:
            self.do("item_set", **{name: value for name, value in values.items() if name not in KEPT})
        number = self.row_of(item)
        if before is None or before.tags != item.tags:
            self.do("tags_drop", tenant=self.tenant, item=number)
            self.do("tags_add", tenant=self.tenant, item=number, tags=json.dumps(item.tags))
        if before is not None:
            if _slot_basis(before) != _slot_basis(item):
                self.do("item_moved", tenant=self.tenant, item=number)
            self._drop_passages(number, before, before.passages if changes.keep is None else changes.keep)
            if _search_basis(before) != _search_basis(item):
                self._index_again(number, before, item)
        for passage in changes.passages:
            self._add_passage(number, item, passage)

    def _add_passage(self, number: int, item: Item, passage: Passage) -> None:
        self.do("passage_add", id=Place(number, passage.ordinal).ref, tenant=self.tenant, item=number,
                **rows.passage_values(passage), **self.columns(item, passage, 1))
        if passage.ordinal == 0 and (marks := sketch(passage.text)):
            self.do("sketch_add", tenant=self.tenant, marks=json.dumps(marks), item=number)

    def _drop_passages(self, number: int, item: Item, first: int) -> None:
        if first >= item.passages:
            return
        for row in list(self.rows("passages_from", tenant=self.tenant, item=number, ordinal=first)):
            columns = self.columns(item, rows.passage_from(row, item.id), -1)
            if row[3] == 0 and (marks := sketch(row[5])):
                self.do("sketch_drop", tenant=self.tenant, marks=json.dumps(marks), item=number)
            self.do("passage_drop", tenant=self.tenant, id=row[0], **columns)
            self.do("vectors_drop", tenant=self.tenant, passage=row[0])

    def _index_again(self, number: int, before: Item, item: Item) -> None:
        for row in list(self.rows("passages_from", tenant=self.tenant, item=number, ordinal=0)):
            passage = rows.passage_from(row, item.id)
            old = {f"old_{name}": value for name, value in self.columns(before, passage, -1).items()}
            self.do("passage_index", tenant=self.tenant, id=row[0], **old, **self.columns(item, passage, 1))
            if before.title != item.title:
                self.do("vectors_drop", tenant=self.tenant, passage=row[0])

    def row_of(self, item: Item) -> int:
        """The row that an item has in its table."""
        found = self.row("item_row", tenant=self.tenant, id=item.id)
        assert found is not None
        return int(found[0])

    def do(self, name: str, /, **values: Parameter) -> None:
        """Run a named statement for what it does."""
        for _ in self.rows(name, **values):
            pass

    def touch(self, reads: Mapping[str, tuple[int, str]]) -> None:
        """Add to the counts of how often items were read."""
        for item, (count, last) in reads.items():
            self.do("access_put", tenant=self.tenant, item=item, count=count, last=last)

    def put_record(self, tenant: str, name: str, value: str) -> None:
        """Keep something beside the items, in the place of what has that name."""
        self.do("setting_put", tenant=tenant, name=name, value=value)

    def lease(self, consumer: str, now: str, limit: int, lease_s: int, tenant: str | None = None) -> list[Job]:
        """Take work that is due, newest first and in turns between tenants; it comes back if it is not finished."""
        tenants = [tenant] if tenant else [name for (name,) in self.rows("outbox_tenants", consumer=consumer)]
        jobs: list[Job] = []
        for n, name in enumerate(tenants):
            share = max(1, (limit - len(jobs)) // (len(tenants) - n))
            jobs += [Job(name, seq, consumer, stream, attempts + 1) for seq, stream, attempts in
                     self.rows("outbox_due", tenant=name, consumer=consumer, now=now, limit=share)]
            if len(jobs) >= limit:
                break
        until = later(now, lease_s)
        for job in jobs:
            self.do("outbox_lease", tenant=job.tenant, seq=job.seq, consumer=consumer, until=until)
        return jobs

    def done(self, job: Job) -> None:
        """Mark work as finished."""
        self.do("outbox_done", tenant=job.tenant, seq=job.seq, consumer=job.consumer)
        self.do("outbox_count_done", tenant=job.tenant, consumer=job.consumer)

    def postpone(self, job: Job, now: str, error: str, tries: int) -> None:
        """Put failed work back with growing pauses, or give it up after so many tries."""
        pause = BACK_OFF_S[min(job.attempts, len(BACK_OFF_S)) - 1]
        self.do("outbox_later", tenant=job.tenant, seq=job.seq, consumer=job.consumer, error=error,
                status="failed" if job.attempts >= tries else "pending", due=later(now, pause))

    def put_vector(self, ref: int, model: str, digest: bytes, row: bytes | None) -> None:
        """Give a passage its vector, or none if the model understands too little of it."""
        self.do("vector_drop", tenant=self.tenant, passage=ref, model=model)
        if row is not None:
            self.do("vector_put", tenant=self.tenant, passage=ref, model=model, digest=digest, row=row)

    def queue_missing(self, model: str, now: str) -> None:
        """Ask for vectors of every item that has none of this model, in all tenants."""
        self.do("queue_missing", model=model, now=now)

    def drop_other_vectors(self, model: str) -> None:
        """Remove the vectors of models that are no longer used."""
        self.do("vectors_of_others", model=model)

    def retry(self, consumer: str, now: str) -> None:
        """Give work that was given up another chance."""
        self.do("outbox_retry", consumer=consumer, now=now)


def later(at: str, seconds: float) -> str:
    """The time so many seconds after."""
    moment = datetime.fromisoformat(at) + timedelta(seconds=seconds)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _search_basis(item: Item) -> tuple[object, ...]:
    return (item.title, item.tags, item.scope)


def _slot_basis(item: Item) -> tuple[object, ...]:
    return (item.scope, item.status, item.forgotten)
