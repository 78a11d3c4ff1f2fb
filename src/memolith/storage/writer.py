"""Writes inside one transaction, for any database. The ports say what each method does."""

import json
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import ClassVar, Self

from memolith.domain.clock import shifted
from memolith.domain.events import Changes, Data, Event
from memolith.domain.items import Item
from memolith.domain.passages import Passage, PassageRef, passage_ref
from memolith.errors import StoreCorrupt, TenantMoving
from memolith.ports.answers import KeptAnswer
from memolith.ports.client_keys import ClientKey
from memolith.ports.outbox import Job
from memolith.ports.usage import ClientCalls, ItemRead
from memolith.ports.vector_rows import NewVector, VectorPlace
from memolith.storage.job_queue import pause_s, share_of
from memolith.storage.reader import TERMS_RECORD, StoreReader
from memolith.storage.rows import (
    HEAD,
    Head,
    answer_columns,
    client_key_columns,
    event_columns,
    item_columns,
    link_columns,
    passage_columns,
)
from memolith.storage.statements import Statements
from memolith.storage.terms import (
    TERMS_VERSION,
    IndexedText,
    changes_index,
    first_terms,
    indexed,
    sketch,
)

NO_TENANT = Head(number=0, seq=0, passages=0, terms=0, at="")
REBUILT_TABLES = (
    "delete_all_items",
    "delete_all_tags",
    "delete_all_sketches",
    "delete_all_passages",
    "delete_all_links",
    "delete_all_superseded",
    "delete_all_duplicates",
    "delete_all_embed_jobs",
    "reset_heads",
)
"""The statements that empty what a rebuild fills again, in order, in every database."""

ANSWERS_PER_DELETE = 200
"""How many old answers are removed at once, so that nobody waits long for the lock."""

RENEWED_PER_PAGE = 500
"""How many passages are looked at together where the text index is brought up to date."""


class StoreWriter(StoreReader):
    """Reads and writes of one tenant, or of none in particular.

    A subclass also inherits the reader of its database. It says how the database numbers items
    and writes to its text index.
    """

    rebuilt_tables: ClassVar[tuple[str, ...]]
    """The statements that empty what a rebuild fills again, in order."""

    def __init__(self, statements: Statements, tenant: str | None) -> None:
        super().__init__(statements, tenant)
        self._has_new_totals = False
        self._titled: dict[str, dict[str, list[Item]]] = defaultdict(dict)
        """In a batch: what `items_titled` has found, by kind and title."""
        self.begin(tenant)

    @abstractmethod
    def row_of(self, item: Item) -> int:
        """The row number of an item."""

    @abstractmethod
    def _new_row(self, item: Item) -> int:
        """The row number that a new item gets."""

    @abstractmethod
    def _write_posting(self, ref: PassageRef, text: IndexedText) -> None:
        """Add a passage to the text index."""

    @abstractmethod
    def _remove_posting(self, ref: PassageRef, text: IndexedText) -> None:
        """Remove a passage, which has this text there, from the text index."""

    def begin(self, tenant: str | None) -> Self:
        """Turn to a tenant, whose head row is made at its first write."""
        self.tenant = tenant or ""
        self._head = self._locked_head(tenant) if tenant else NO_TENANT
        self._heads = {self.tenant: self._head}
        return self

    def _locked_head(self, tenant: str) -> Head:
        head = self.statements.read_first("head_for_writing", HEAD, tenant=tenant)
        if head is None:
            self.statements.do("add_head", tenant=tenant)
            head = self.statements.read_first("head_for_writing", HEAD, tenant=tenant)
        if head is None:
            raise TenantMoving
        return head

    @contextmanager
    def batch(self) -> Iterator[None]:
        if self.statements.adds_together:
            yield
            return
        try:
            with self.statements.together(self._write_new_totals):
                yield
        finally:
            self._has_new_totals = False
            self._titled.clear()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        if self.statements.adds_together:
            raise RuntimeError("a savepoint inside of a batch")
        head = self._head
        self.statements.do("savepoint")
        try:
            yield
        except BaseException:
            self.statements.do("rollback_to_savepoint")
            self.statements.do("release_savepoint")
            self._head = head
            self._heads = {self.tenant: head}
            raise
        self.statements.do("release_savepoint")

    # Event log

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
        return Event(
            tenant=self.tenant,
            seq=self._head.seq + 1,
            stream=stream,
            version=version,
            type=type,
            data=data,
            actor=actor,
            at=max(at, self._head.at),
            key=key,
        )

    def append(self, event: Event, changes: Changes) -> None:
        if self.statements.adds_together:
            self._append(event, changes)
            return
        with self.batch():
            self._append(event, changes)

    def _append(self, event: Event, changes: Changes) -> None:
        self.statements.add_row("add_event", **event_columns(event))
        self._head = self._head._replace(seq=event.seq, at=event.at)
        if event.type == "erased":
            self.statements.do("scrub_events", tenant=self.tenant, stream=event.stream)
            self.statements.do("delete_jobs_of_stream", tenant=self.tenant, stream=event.stream)
            self.statements.do("delete_access", tenant=self.tenant, item=event.stream)
            self.statements.do("delete_item_reads", tenant=self.tenant, item=event.stream)
        self.apply(changes)
        if changes.embeds:
            self.queue("embed", event.stream, event.seq)
        self.write_totals()

    def apply(self, changes: Changes) -> None:
        if changes.link is not None:
            self.statements.add_row("put_link", **link_columns(self.tenant, changes.link))
        elif changes.gone is not None and changes.before is None:
            self.statements.do("delete_link", tenant=self.tenant, id=changes.gone)
        elif changes.gone is not None and changes.before is not None:
            self._delete_item(changes.before)
        elif changes.item is not None:
            self._put_item(changes, changes.item)

    def write_totals(self) -> None:
        self._heads = {self.tenant: self._head}
        self._has_new_totals = True
        if not self.statements.adds_together:
            self._write_new_totals()

    def _write_new_totals(self) -> None:
        """Write the totals, if they have changed."""
        if self._has_new_totals:
            # First, because in a batch the statements below call this again.
            self._has_new_totals = False
            self._write_totals()

    def _write_totals(self) -> None:
        head = self._head
        self.statements.do(
            "write_totals",
            tenant=self.tenant,
            seq=head.seq,
            passages=head.passages,
            terms=head.terms,
            at=head.at,
        )

    def empty_rebuilt_tables(self) -> None:
        """Empty what a rebuild fills again from the log, for all tenants."""
        for name in self.rebuilt_tables:
            self.statements.do(name)

    def copy_all_accesses_to_items(self) -> None:
        """Copy the counts of reads to the items that a rebuild has made anew."""
        self.statements.do("copy_all_accesses_to_items")

    # Items

    def _put_item(self, changes: Changes, item: Item) -> None:
        before = changes.before
        self._titled.pop(item.kind, None)
        if before is None:
            item_row = self._new_row(item)
            self.statements.add_row("add_item", row=item_row, **item_columns(item))
        else:
            self.statements.do("update_item", **item_columns(item))
            item_row = self.row_of(item)
        self._put_tags(item_row, before.tags if before else (), item.tags)
        if before is not None:
            keep = before.passages if changes.keep is None else changes.keep
            self._delete_passages(item_row, before, keep)
            if changes.embeds or keep < before.passages:
                # It is compared again when it has its vector.
                self._delete_comparisons(item.id)
            if changes_index(before, item):
                self._index_again(item_row, before, item)
        for passage in changes.passages:
            ref = passage_ref(item_row, passage.ordinal)
            self.statements.add_row(
                "add_passage", **passage_columns(self.tenant, item_row, ref, passage)
            )
            self._add_posting(ref, item, passage)
            if passage.ordinal == 0:
                for mark in sketch(passage.text):
                    self.statements.add_row(
                        "add_sketch", tenant=self.tenant, mark=mark, item=item_row
                    )

    def items_titled(self, tenant: str, kind: str, title: str) -> list[Item]:
        if not self.statements.adds_together:
            return super().items_titled(tenant, kind, title)
        # The project of many items in a row is looked up once, until one of its kind changes.
        known = self._titled[kind]
        if title not in known:
            known[title] = super().items_titled(tenant, kind, title)
        return known[title]

    def _delete_item(self, item: Item) -> None:
        self._titled.pop(item.kind, None)
        item_row = self.row_of(item)
        self._delete_passages(item_row, item, 0)
        self._put_tags(item_row, item.tags, ())
        self._delete_comparisons(item.id)
        self.statements.do("delete_item", tenant=self.tenant, id=item.id)

    def _delete_comparisons(self, id: str) -> None:
        """Drop what was found when the text of an item was compared with others."""
        self.statements.do("delete_superseded", tenant=self.tenant, item=id)
        self.statements.do("delete_duplicates", tenant=self.tenant, item=id)

    def _put_tags(self, item_row: int, before: Collection[str], tags: Collection[str]) -> None:
        for tag in set(before) - set(tags):
            self.statements.do("delete_tag", tenant=self.tenant, tag=tag, item=item_row)
        for tag in set(tags) - set(before):
            self.statements.add_row("add_tag", tenant=self.tenant, tag=tag, item=item_row)

    def _delete_passages(self, item_row: int, item: Item, keep: int) -> None:
        """Remove the passages of an item but the first so many."""
        if keep >= item.passages:
            return
        for passage in self.passages(self.tenant, item.id)[keep:]:
            ref = passage_ref(item_row, passage.ordinal)
            self._delete_posting(ref, item, passage)
            if passage.ordinal == 0:
                for mark in sketch(passage.text):
                    self.statements.do(
                        "delete_sketch", tenant=self.tenant, mark=mark, item=item_row
                    )
            self.statements.do("delete_passage", tenant=self.tenant, id=ref)
            self.statements.do("delete_vectors_of_passage", tenant=self.tenant, passage=ref)

    def _index_again(self, item_row: int, before: Item, item: Item) -> None:
        """Bring the text index up to date after a change that all passages share."""
        for passage in self.passages(self.tenant, item.id):
            ref = passage_ref(item_row, passage.ordinal)
            self._delete_posting(ref, before, passage)
            self._add_posting(ref, item, passage)
            if before.title != item.title:
                # The embedder sees the title with every passage.
                self.statements.do("delete_vectors_of_passage", tenant=self.tenant, passage=ref)

    def index_again(self, item: Item) -> None:
        self._index_again(self.row_of(item), item, item)

    def put_superseded(
        self,
        item: str,
        successor: str,
        at: str,
        similarity: float | None = None,
        reason: str | None = None,
    ) -> None:
        self.statements.do(
            "put_superseded",
            tenant=self.tenant,
            item=item,
            successor=successor,
            at=at,
            similarity=similarity,
            reason=reason,
        )

    def put_duplicate(self, item: str, original: str, similarity: float) -> None:
        self.statements.do(
            "put_duplicate",
            tenant=self.tenant,
            item=item,
            original=original,
            similarity=similarity,
        )

    def add_accesses(self, reads: Mapping[str, tuple[int, str]]) -> None:
        for item, (count, last) in reads.items():
            self.statements.do("add_access", tenant=self.tenant, item=item, count=count, last=last)
            self.statements.do("copy_access_to_item", tenant=self.tenant, item=item)

    def add_item_reads(self, reads: Iterable[ItemRead]) -> None:
        told = json.dumps([read._asdict() for read in reads])
        self.statements.do("add_item_reads", tenant=self.tenant, reads=told)

    def add_client_calls(self, calls: Iterable[ClientCalls]) -> None:
        for call in calls:
            self.statements.do("add_client_calls", tenant=self.tenant, **call._asdict())

    def delete_usage(self, before: str) -> None:
        self.statements.do("delete_old_item_reads", tenant=self.tenant, before=before)
        self.statements.do("delete_old_client_calls", tenant=self.tenant, before=before)

    # Text index

    def _add_posting(self, ref: PassageRef, item: Item, passage: Passage) -> None:
        text = indexed(self._head.number, item, passage)
        self._write_posting(ref, text)
        self._count_passage(text, 1)

    def _delete_posting(self, ref: PassageRef, item: Item, passage: Passage) -> None:
        text = indexed(self._head.number, item, passage)
        self._remove_posting(ref, text)
        self._count_passage(text, -1)

    def renew_text_index(self) -> None:
        """Bring the text index of all tenants up to the terms that this program makes."""
        if self.terms_version() < TERMS_VERSION:
            # A damaged store must be opened to be rebuilt.
            with suppress(StoreCorrupt):
                self._renew_postings()
        self.put_record("", TERMS_RECORD, str(TERMS_VERSION))

    def _renew_postings(self) -> None:
        """Replace the entries of the text index that have earlier terms."""
        for _ in self._each_tenant():
            for ref, item, passage in self._indexed_passages(self._refs_with_other_letters):
                before = indexed(self._head.number, item, passage, first_terms)
                if before != indexed(self._head.number, item, passage):
                    self._remove_posting(ref, before)
                    self._count_passage(before, -1)
                    self._add_posting(ref, item, passage)
            self.write_totals()

    def _each_tenant(self) -> Iterator[str]:
        """Turn to one tenant after the other."""
        for tenant in self.tenants():
            if self.head(tenant) is None:
                continue
            try:
                self.begin(tenant)
            except TenantMoving:
                # It gets its index in the other database.
                continue
            yield tenant

    def _indexed_passages(
        self, refs_after: Callable[[int], list[PassageRef]]
    ) -> Iterator[tuple[PassageRef, Item, Passage]]:
        """The passages of the present tenant that a function names, page by page."""
        refs = refs_after(-1)
        while refs:
            for ref, (item, passage) in self.passages_at(refs).items():
                yield ref, item, passage
            refs = refs_after(refs[-1])

    def _refs_with_other_letters(self, after: int) -> list[PassageRef]:
        """The next passages that may have other terms than before."""
        rows = self.statements.rows(
            "passages_with_other_letters",
            tenant=self.tenant,
            after=after,
            limit=RENEWED_PER_PAGE,
        )
        return [PassageRef(row.ref) for row in rows]

    def _count_passage(self, text: IndexedText, change: int) -> None:
        """Count one passage more (1) or fewer (-1)."""
        head = self._head
        self._head = head._replace(
            passages=head.passages + change, terms=head.terms + change * text.length
        )

    # Vectors

    def put_vector(self, ref: PassageRef, model: str, digest: bytes, v: str | bytes | None) -> None:
        self.statements.do("delete_vector", tenant=self.tenant, passage=ref, model=model)
        if v is None:
            return
        self.statements.do(
            "add_vector",
            tenant=self.tenant,
            passage=ref,
            model=model,
            digest=digest,
            v=v,
        )

    def put_new_vectors(self, model: str, vectors: Iterable[NewVector]) -> None:
        with self.batch():
            for vector in vectors:
                self._add_new_vector(model, vector)

    @abstractmethod
    def _add_new_vector(self, model: str, vector: NewVector) -> None:
        """Add the row of a vector, in a batch with others."""

    def queue_missing_vectors(self, ids: Collection[str], now: str) -> None:
        self.statements.do(
            "queue_missing_vectors", tenant=self.tenant, ids=json.dumps(list(ids)), now=now
        )

    def drop_vectors_of_other_models(self, model: str, places: Collection[VectorPlace]) -> None:
        self.statements.do(
            "delete_vectors_of_other_models", model=model, places=json.dumps(list(places))
        )

    # Outbox

    def queue(self, consumer: str, stream: str, seq: int) -> None:
        # Due at once, whatever the clocks say.
        self._put_job(Job(self.tenant, seq, consumer, stream, attempts=0), "pending", due="")

    def lease_jobs(
        self, consumer: str, now: str, limit: int, lease_s: int, tenant: str | None = None
    ) -> list[Job]:
        if tenant:
            tenants = [tenant]
        else:
            tenants = [
                row.tenant for row in self.statements.rows("outbox_tenants", consumer=consumer)
            ]
        jobs: list[Job] = []
        for turn, name in enumerate(tenants):
            share = share_of(limit - len(jobs), len(tenants) - turn)
            found = self.statements.rows(
                "due_jobs", tenant=name, consumer=consumer, now=now, limit=share
            )
            jobs += [Job(name, row.seq, consumer, row.stream, row.attempts + 1) for row in found]
            if len(jobs) >= limit:
                break
        due = shifted(now, lease_s)
        with self.batch():
            for job in jobs:
                self._put_job(job, "leased", due)
        return jobs

    def _put_job(self, job: Job, status: str, due: str) -> None:
        self.statements.add_row("put_job", **job._asdict(), status=status, due=due)

    def finish_job(self, job: Job) -> None:
        self.finish_jobs([job])

    def finish_jobs(self, jobs: Sequence[Job]) -> None:
        seqs: dict[tuple[str, str], list[int]] = defaultdict(list)
        for job in jobs:
            seqs[job.tenant, job.consumer].append(job.seq)
        for (tenant, consumer), done in seqs.items():
            self.statements.do(
                "delete_jobs", tenant=tenant, consumer=consumer, seqs=json.dumps(done)
            )
            self.statements.do("count_done_jobs", tenant=tenant, consumer=consumer, jobs=len(done))

    def release_job(self, job: Job) -> None:
        self.statements.do("release_job", tenant=job.tenant, seq=job.seq, consumer=job.consumer)

    def postpone_job(self, job: Job, now: str, error: str, tries: int) -> None:
        status = "failed" if job.attempts >= tries else "pending"
        self.statements.do(
            "postpone_job",
            tenant=job.tenant,
            seq=job.seq,
            consumer=job.consumer,
            status=status,
            due=shifted(now, pause_s(job.attempts)),
            error=error,
        )

    def retry_failed(self, consumer: str, now: str) -> None:
        self.statements.do("retry_failed_jobs", consumer=consumer, now=now)

    # Records and client keys

    def put_record(self, tenant: str, name: str, value: str) -> None:
        self.statements.do("put_record", tenant=tenant, name=name, value=value)

    def put_answer(self, tenant: str, answer: KeptAnswer) -> None:
        self.statements.do("put_answer", tenant=tenant, **answer_columns(answer))

    def delete_answers(self, before: str) -> None:
        self.statements.do("delete_answers", before=before, limit=ANSWERS_PER_DELETE)

    def add_client_key(self, key: ClientKey) -> None:
        self.statements.do("add_client_key", **client_key_columns(key))

    def revoke_client_key(self, id: str) -> None:
        self.statements.do("revoke_client_key", id=id)

    def pause_client_key(self, id: str, paused: bool) -> None:
        self.statements.do("pause_client_key", id=id, paused=int(paused))

    def delete_client_key(self, id: str) -> None:
        self.statements.do("delete_client_key", id=id)

    def note_client_key_use(self, id: str, at: str) -> None:
        self.statements.do("note_client_key_use", id=id, last_used=at)

    def end_ticket(self, tenant: str, nonce: str, ends_s: int) -> bool:
        row = self.statements.row("end_ticket", tenant=tenant, nonce=nonce, ends=ends_s)
        return row is not None

    def forget_old_tickets(self, now_s: int) -> None:
        self.statements.do("delete_old_tickets", now=now_s)
