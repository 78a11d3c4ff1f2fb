"""Writing to SQLite: events, and the row changes that they mean, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import apsw

from memolith.engine.events import Changes, Data, Event
from memolith.engine.model import Item, Passage
from memolith.engine.ports import Job, Place
from memolith.storage import rows
from memolith.storage.sqlite_read import SqliteReader
from memolith.storage.terms import indexed, sketch

BACK_OFF_S = (1, 5, 30, 120, 600, 3600)


class SqliteWriter(SqliteReader):
    """Reads and writes of one tenant under the write lock."""

    def __init__(self, db: apsw.Connection, tenant: str) -> None:
        super().__init__(db)
        self.tenant = tenant
        self._number, self._seq, self._passages, self._terms, self._at = (
            self.row("head", tenant=tenant) or (0, 0, 0, 0, ""))

    def stamp(self, stream: str, version: int, type: str, data: Data, actor: str, at: str,
              key: str | None = None) -> Event:
        """An event with the next sequence number, not yet written; its time is never before the last one's."""
        return Event(self.tenant, self._seq + 1, stream, version, type, data, actor, max(at, self._at), key)

    def append(self, event: Event, changes: Changes) -> None:
        """Write the event, fold it into the rows, and queue what follows from it."""
        if not self._number:
            self._do("head_new", tenant=self.tenant)
            self._number = (self.row("head", tenant=self.tenant) or (0,))[0]
        self._do("event_add", tenant=self.tenant, seq=event.seq, stream=event.stream, version=event.version,
                 type=event.type, data=rows.to_json(event.data), actor=event.actor, at=event.at, key=event.key)
        self._seq, self._at = event.seq, event.at
        if event.type == "erased":
            self._do("scrub", tenant=self.tenant, stream=event.stream)
            self._do("outbox_drop", tenant=self.tenant, stream=event.stream)
            self._do("access_drop", tenant=self.tenant, item=event.stream)
        self.apply(changes)
        if changes.embeds:
            self.queue("embed", event.stream, event.seq)
        self._save_head()

    def apply(self, changes: Changes) -> None:
        """Bring the read models to where the event leaves them."""
        if changes.link is not None:
            self._do("link_put", **rows.link_values(self.tenant, changes.link))
        elif changes.gone is not None:
            self._drop(changes)
        elif changes.item is not None:
            self._put(changes, changes.item)

    def finish(self) -> None:
        """Write the sums; to be called after `apply` without `append`."""
        self._save_head()

    def queue(self, consumer: str, stream: str, seq: int) -> None:
        """Ask for derived work on a stream, due at once whatever the clocks say."""
        self._do("outbox_add", tenant=self.tenant, seq=seq, consumer=consumer, stream=stream, due="")

    def _drop(self, changes: Changes) -> None:
        if changes.before is None:
            self._do("link_drop", tenant=self.tenant, id=changes.gone)
            return
        number = self._row_of(changes.before)
        self._drop_passages(number, changes.before, 0)
        self._do("tags_drop", item=number)
        self._do("item_drop", tenant=self.tenant, id=changes.before.id)

    def _put(self, changes: Changes, item: Item) -> None:
        before = changes.before
        self._do("item_set" if before else "item_new", **_fitting(item, new=before is None))
        number = self.db.last_insert_rowid() if before is None else self._row_of(item)
        if before is None or before.tags != item.tags:
            self._set_tags(number, item)
        if before is not None:
            if _slot_basis(before) != _slot_basis(item):
                self._do("slot_change", vector=None, item=number)
            self._drop_passages(number, before, before.passages if changes.keep is None else changes.keep)
            if _search_basis(before) != _search_basis(item):
                self._index_again(number, before, item)
        for passage in changes.passages:
            self._add_passage(number, item, passage)

    def _set_tags(self, number: int, item: Item) -> None:
        self._do("tags_drop", item=number)
        for tag in item.tags:
            self._do("tag_add", tenant=self.tenant, tag=tag, item=number)

    def _add_passage(self, number: int, item: Item, passage: Passage) -> None:
        body, extra, scope, length = indexed(self._number, item, passage)
        ref = Place(number, passage.ordinal).ref
        self._do("passage_add", id=ref, tenant=self.tenant, item=number, **rows.passage_values(passage))
        for mark in sketch(passage.text) if passage.ordinal == 0 else ():
            self._do("sketch_add", tenant=self.tenant, mark=mark, item=number)
        self._do("fts_add", id=ref, body=body, extra=extra, scope=scope)
        self._passages += 1
        self._terms += length

    def _drop_passages(self, number: int, item: Item, first: int) -> None:
        if first >= item.passages:
            return
        for row in list(self.rows("passages_from", item=number, ordinal=first)):
            body, extra, scope, length = indexed(self._number, item, rows.passage_from(row, item.id))
            self._do("fts_drop", id=row[0], body=body, extra=extra, scope=scope)
            self._drop_vectors(row[0])
            for mark in sketch(row[5]) if row[3] == 0 else ():
                self._do("sketch_drop", tenant=self.tenant, mark=mark, item=number)
            self._do("passage_drop", id=row[0])
            self._passages -= 1
            self._terms -= length

    def _index_again(self, number: int, before: Item, item: Item) -> None:
        for row in list(self.rows("passages_from", item=number, ordinal=0)):
            passage = rows.passage_from(row, item.id)
            old, new = indexed(self._number, before, passage), indexed(self._number, item, passage)
            for name, (body, extra, scope, _) in (("fts_drop", old), ("fts_add", new)):
                self._do(name, id=row[0], body=body, extra=extra, scope=scope)
            self._terms += new[3] - old[3]
            if before.title != item.title:
                self._drop_vectors(row[0])

    def _drop_vectors(self, passage: int) -> None:
        for (vector,) in list(self.rows("vectors_drop", passage=passage)):
            self._do("slot_change", vector=vector, item=None)

    def _row_of(self, item: Item) -> int:
        found = self.row("item_row", tenant=self.tenant, id=item.id)
        assert found is not None
        return int(found[0])

    def _save_head(self) -> None:
        self._do("head_set", tenant=self.tenant, seq=self._seq, passages=self._passages, terms=self._terms, at=self._at)

    def _do(self, name: str, /, **values: str | int | float | bytes | None) -> None:
        for _ in self.rows(name, **values):
            pass

    def touch(self, reads: Mapping[str, tuple[int, str]]) -> None:
        """Add to the counts of how often items were read."""
        for item, (count, last) in reads.items():
            self._do("access_put", tenant=self.tenant, item=item, count=count, last=last)

    def put_record(self, table: str, tenant: str, name: str, value: str) -> None:
        """Set what a tenant has under a name in the table `setting` or `vault`."""
        self._do(f"{table}_put", tenant=tenant, name=name, value=value)

    def lease(self, consumer: str, now: str, limit: int, lease_s: int, tenant: str | None = None) -> list[Job]:
        """Take work that is due, newest first; it comes back by itself if it is not finished in time."""
        found = list(self.rows("outbox_due", consumer=consumer, now=now, limit=limit, tenant=tenant))
        jobs = [Job(tenant=t, seq=seq, consumer=consumer, stream=stream, attempts=attempts + 1)
                for t, seq, stream, attempts in found]
        until = later(now, lease_s)
        for job in jobs:
            self._do("outbox_lease", tenant=job.tenant, seq=job.seq, consumer=consumer, until=until)
        return jobs

    def done(self, job: Job) -> None:
        """Mark work as finished."""
        self._do("outbox_done", tenant=job.tenant, seq=job.seq, consumer=job.consumer)
        self._do("outbox_count_done", tenant=job.tenant, consumer=job.consumer)

    def postpone(self, job: Job, now: str, error: str, tries: int) -> None:
        """Put failed work back with growing pauses, or give it up after so many tries."""
        pause = BACK_OFF_S[min(job.attempts, len(BACK_OFF_S)) - 1]
        self._do("outbox_later", tenant=job.tenant, seq=job.seq, consumer=job.consumer, error=error,
                 status="failed" if job.attempts >= tries else "pending", due=later(now, pause))

    def put_vector(self, ref: int, model: str, digest: bytes, row: bytes | None) -> None:
        """Give a passage its vector, or none if the model understands too little of it."""
        for (vector,) in list(self.rows("vector_drop", passage=ref, model=model)):
            self._do("slot_change", vector=vector, item=None)
        if row is not None:
            self._do("vector_put", tenant=self.tenant, passage=ref, model=model, digest=digest, row=row)

    def queue_missing(self, model: str, now: str) -> None:
        """Ask for vectors of every item that has none of this model, in all tenants."""
        self._do("queue_missing", model=model, now=now)

    def drop_other_vectors(self, model: str) -> None:
        """Remove the vectors of models that are no longer used."""
        self._do("vectors_of_others", model=model)

    def prune_changes(self, seq: int) -> None:
        """Drop the part of the feed that every snapshot covers, and vectors without a passage."""
        self._do("slot_changes_prune", seq=seq)
        self._do("vectors_orphaned")

    def retry(self, consumer: str, now: str) -> None:
        """Give work that was given up another chance."""
        self._do("outbox_retry", consumer=consumer, now=now)


def later(at: str, seconds: float) -> str:
    """The time so many seconds after."""
    moment = datetime.fromisoformat(at) + timedelta(seconds=seconds)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _search_basis(item: Item) -> tuple[object, ...]:
    return (item.title, item.tags, item.scope)


def _slot_basis(item: Item) -> tuple[object, ...]:
    return (item.scope, item.status, item.forgotten)


def _fitting(item: Item, new: bool) -> dict[str, str | int | None]:
    values = rows.item_values(item)
    return values if new else {name: value for name, value in values.items()
                               if name not in ("kind", "owner", "seq", "created_at")}


