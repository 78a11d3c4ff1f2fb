"""Bringing in what other programs remembered: wholly or not at all, and never twice.

An imported item keeps the dates that it had elsewhere. The log and the attribute `imported_at` tell
when it came here.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import NamedTuple

from memolith.domain.attributes import Attributes, Json
from memolith.domain.blocks import block_data, join_blocks
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.links import IMPLIED
from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignLink, ForeignRecord, LeftOut
from memolith.engine.foreign_folders import (
    SOURCE_PLACE,
    SOURCE_PROJECT,
    Origin,
    id_of,
    origin_of,
)
from memolith.engine.notes import Notes, folded
from memolith.engine.progress import Progress, no_progress
from memolith.engine.relation_labels import LABEL, labelled_link, word_of
from memolith.engine.validation import (
    MAX_ID_CHARACTERS,
    InputRules,
    Intake,
    Limits,
    when,
)
from memolith.engine.work_ahead import WorkAhead
from memolith.engine.writing import Writing
from memolith.errors import AlreadyExists, InvalidInput, NotFound, TooLarge
from memolith.ports.clock import Clock
from memolith.ports.store import Store, Writer

MAX_METADATA_BYTES = 50_000
MAX_TITLE_CHARACTERS = 400
OWN_ATTRIBUTES = (
    "source",
    "source_id",
    "source_digest",
    SOURCE_PROJECT,
    SOURCE_PLACE,
    "imported_at",
    "author",
    "expires_at",
    "folder",
    "importance_score",
    "parent_topic_id",
)
"""Attributes that mean something to memolith; those of other programs get another name."""
FIRST_MILLISECONDS = 1e11
FIRST_MICROSECONDS = 1e14
"""Seconds since 1970 are smaller than this for three thousand years to come."""


class ForeignReport(NamedTuple):
    """What came, what was here already, and what did not come and why."""

    program: str
    taken: int
    updated: int
    """Items that were here and have changed in the other program."""
    merged: int
    """Entities that were here under the same name and have learned something."""
    known: int
    links: int
    known_links: int
    left_out: LeftOut
    redactions: dict[str, int]


class _Preview(Exception):
    """Rolls back an import that was made only to see its report."""


@dataclass(frozen=True)
class ForeignImport:
    """Keeps the records of other programs as items, and their connections as links."""

    store: Store
    clock: Clock
    writing: Writing
    notes: Notes
    input_rules: InputRules
    ahead: WorkAhead

    def bring_in(
        self,
        caller: Caller,
        data: ForeignData,
        *,
        again: bool = False,
        dry_run: bool = False,
        progress: Progress = no_progress,
    ) -> ForeignReport:
        """Keep everything in one write; with `again` also what is here already, as a new item."""
        run = _Run(
            caller, data, self.clock.now(), again, self.input_rules, self.writing, self.notes
        )
        try:
            with (
                self.ahead.on(caller.tenant, data.records),
                self.store.writing(caller.tenant) as rows,
            ):
                run.keep_all(rows, progress)
                if dry_run:
                    raise _Preview
        except _Preview:
            pass
        return run.report()


@dataclass
class _Run:
    """One import: what became of each record so far."""

    caller: Caller
    data: ForeignData
    now: str
    again: bool
    input_rules: InputRules
    writing: Writing
    notes: Notes
    item_ids: dict[str, str] = field(default_factory=dict)
    """The item that a record became, by its id in the other program."""
    counts: Counter[str] = field(default_factory=Counter)
    redactions: Counter[str] = field(default_factory=Counter)
    missing: dict[str, list[ForeignLink]] = field(default_factory=dict)
    """The links of notes that lead out of their folder, or nowhere, by the item."""
    origin: Origin | None = None
    """Which of the folders that were imported this one is; None where ids need no folder."""

    def __post_init__(self) -> None:
        self.left_out = self.data.left_out

    def keep_all(self, rows: Writer, progress: Progress) -> None:
        self.origin = self._origin(rows)
        total = len(self.data.records) + len(self.data.links)
        done = count(1)
        for record in self.data.records:
            self._keep_record(rows, record)
            progress(next(done), total)
        for link in self.data.links:
            self._keep_link(rows, link)
            progress(next(done), total)
        if self.data.folder is not None:
            self._resolve_missing()

    def _origin(self, rows: Writer) -> Origin | None:
        if self.data.folder is None or self.again:
            return None
        # What it finds wrong is told when the records are kept.
        trial = replace(self, data=replace(self.data, left_out=LeftOut()))
        return origin_of(rows, self.caller, self.data.program, self.data.folder, trial.digests)

    def digests(self) -> dict[str, str]:
        """What tells whether a record says what an item says, by its id."""
        found: dict[str, str] = {}
        for record in self.data.records:
            intake = self.input_rules.intake()
            with suppress(InvalidInput, TooLarge):
                clean = intake.draft(self._draft(record, intake.limits))
                found[record.source_id] = _digest(clean.title, clean.tags, clean.blocks)
        return found

    def report(self) -> ForeignReport:
        return ForeignReport(
            program=self.data.program,
            taken=self.counts["taken"],
            updated=self.counts["updated"],
            merged=self.counts["merged"],
            known=self.counts["known"],
            links=self.counts["links"],
            known_links=self.counts["known links"],
            left_out=self.left_out,
            redactions=dict(self.redactions),
        )

    def _keep_record(self, rows: Writer, record: ForeignRecord) -> None:
        name = record.title or record.source_id
        if record.source_id in self.item_ids and not self.again:
            self.left_out.add("the id comes twice in the source", name)
            return
        intake = self.input_rules.intake()
        try:
            with rows.savepoint():
                outcome = self._outcome(rows, record, intake)
        except (InvalidInput, TooLarge) as error:
            self.left_out.add(error.message, name)
        else:
            self.counts[outcome] += 1
            self.redactions.update(intake.redactions)
        self._claim(rows, record)

    def _outcome(self, rows: Writer, record: ForeignRecord, intake: Intake) -> str:
        draft = self._draft(record, intake.limits)
        if not self.again:
            draft = replace(draft, id=self._item_id(rows, record))
        present = rows.item(self.caller.tenant, draft.id) if draft.id else None
        namesake = None
        if present is None and record.kind == "entity" and not self.again:
            namesake = self._entity_called(rows, record)
        if namesake is not None and record.status == IMPLIED:
            self.item_ids[record.source_id] = namesake.id
            return "known"
        clean = intake.draft(draft)
        digest = _digest(clean.title, clean.tags, clean.blocks)
        attributes = {**clean.attributes, "source_digest": digest, **self._marks()}
        clean = replace(clean, attributes=attributes)
        if namesake is not None:
            self.item_ids[record.source_id] = namesake.id
            self.writing.revise(self.caller, namesake.id, _whole_patch(clean))
            return "merged"
        if present is not None:
            self.item_ids[record.source_id] = present.id
            return self._update(rows, present, clean, digest)
        try:
            written = self.writing.remember_checked(rows, self.caller, clean, intake)
        except AlreadyExists as error:
            if error.field == "title" and error.id and record.kind == "entity":
                return self._merge(rows, record, error.id, clean)
            if error.field == "title":
                raise InvalidInput(error.message, field="title") from error
            raise InvalidInput(
                "it was erased here, so it does not come back; use --again to take it as new",
                field="id",
            ) from error
        self.item_ids[record.source_id] = written.item.id
        return "taken"

    def _entity_called(self, rows: Writer, record: ForeignRecord) -> Item | None:
        """The entity here that a record means: of any type for a name that only relations have.

        A record that says more means the one that only relations named so far.
        """
        title = " ".join(record.title.split())
        for item in rows.items_titled(self.caller.tenant, "entity", title):
            if item.admits(self.caller) and IMPLIED in (record.status, item.status):
                return item
        return None

    def _update(self, rows: Writer, item: Item, draft: Draft, digest: str) -> str:
        """Bring an item up to date that has changed in the other program and not here."""
        known_digest = item.attributes.get("source_digest")
        if known_digest == digest:
            return "known"
        if item.forgotten:
            raise InvalidInput(
                "it was forgotten here; restore it, or use --again to take it as new"
            )
        blocks = join_blocks(rows.passages(self.caller.tenant, item.id))
        if _digest(item.title, item.tags, blocks) != known_digest:
            raise InvalidInput(
                "it changed both here and in the source, so it stays as it is here; use --again to "
                "take the other as new"
            )
        patch = _whole_patch(draft)
        if item.status != IMPLIED:
            # What was changed here stays.
            patch = replace(patch, status=None, namespace=None)
        self.writing.revise(self.caller, item.id, patch)
        return "updated"

    def _project(self) -> str:
        """The project of what names none."""
        folder = self.data.folder
        if folder is None or not folder.is_project:
            return self.data.project
        return folder.name if self.origin is None else self.origin.name

    def _marks(self) -> dict[str, Json]:
        """The attributes that tell of which folder an item is."""
        if self.origin is None or self.data.folder is None:
            return {}
        return {SOURCE_PROJECT: self.origin.name, SOURCE_PLACE: self.data.folder.place}

    def _claim(self, rows: Writer, record: ForeignRecord) -> None:
        """Note the folder of an item that came when folders were not told apart."""
        if self.origin is None or not self.origin.has_older:
            return
        item = rows.item(self.caller.tenant, self.item_ids.get(record.source_id, ""))
        if item is None or item.forgotten or SOURCE_PROJECT in item.attributes:
            return
        patch = Patch(
            attributes=self._marks(),
            project=item.project or self._project() or None,
            updated_at=item.updated_at,
        )
        self.writing.revise(self.caller, item.id, patch)

    def _merge(self, rows: Writer, record: ForeignRecord, id: str, draft: Draft) -> str:
        """Tell an entity that is here under the same name what it does not know yet."""
        self.item_ids[record.source_id] = id
        known = {block.text for block in join_blocks(rows.passages(self.caller.tenant, id))}
        blocks = [block for block in draft.blocks if block.text not in known]
        if not blocks:
            return "known"
        self.writing.append(self.caller, id, blocks)
        return "merged"

    def _draft(self, record: ForeignRecord, limits: Limits) -> Draft:
        blocks: list[Block] = []
        for block in record.blocks:
            blocks += _split_block(_storable_block(block), limits.text_bytes)
        title = " ".join(_storable(record.title).split())
        if len(title) > MAX_TITLE_CHARACTERS:
            title = title[: MAX_TITLE_CHARACTERS - 1] + "…"
        created_at = self._past_time(record.created_at, record)
        updated_at = self._past_time(record.updated_at, record)
        if created_at is None:
            created_at = updated_at
        if created_at and updated_at:
            updated_at = max(created_at, updated_at)
        return Draft(
            kind=record.kind,
            title=title,
            blocks=tuple(blocks),
            tags=self._tags(record, limits),
            attributes=self._attributes(record),
            status=word_of(_storable(record.status)) or "active",
            project=_storable(record.project or self._project())[: limits.name] or None,
            namespace=_storable(record.namespace)[: limits.name] or None,
            created_at=created_at,
            updated_at=updated_at,
        )

    def _item_id(self, rows: Writer, record: ForeignRecord) -> str:
        """The same for the same record, so that it is recognised when it comes again."""
        plain = id_of(self.caller.user, self.data.program, record.source_id)
        if self.origin is None or self._is_mine(rows, plain, self.origin):
            return plain
        return id_of(self.caller.user, self.data.program, self.origin.name, record.source_id)

    def _is_mine(self, rows: Writer, id: str, origin: Origin) -> bool:
        """Whether an id from the time when folders were not told apart is of this folder."""
        item = rows.item(self.caller.tenant, id)
        if item is not None:
            return origin.has(item)
        return origin.has_older and bool(rows.events(self.caller.tenant, id))

    def _tags(self, record: ForeignRecord, limits: Limits) -> tuple[str, ...]:
        tags = {_storable(tag).strip()[: limits.tag].strip() for tag in record.tags}
        kept = sorted(tags - {""})
        if len(kept) > limits.tags:
            self.left_out.add(
                f"more than {limits.tags} tags on one item (only the others came)",
                record.title or record.source_id,
            )
        return tuple(kept[: limits.tags])

    def _attributes(self, record: ForeignRecord) -> Attributes:
        attributes: dict[str, Json] = {}
        for name, value in record.attributes.items():
            if value is None or value == "" or value == [] or value == {}:
                continue
            own_name = f"source_{name}" if name in OWN_ATTRIBUTES else name
            attributes[own_name] = value
        if len(json.dumps(attributes, ensure_ascii=False).encode(errors="replace")) > (
            MAX_METADATA_BYTES
        ):
            self.left_out.add(
                f"metadata of more than {MAX_METADATA_BYTES:,} bytes (its item came)",
                record.title or record.source_id,
            )
            attributes = {}
        attributes["source"] = self.data.program
        attributes["source_id"] = _storable(record.source_id)[:MAX_ID_CHARACTERS]
        attributes["imported_at"] = self.now
        if record.author:
            attributes["author"] = _storable(record.author)
        return attributes

    def _past_time(self, value: Json, record: ForeignRecord) -> str | None:
        """A time in our form; what is no time, or lies ahead, is reported and not believed."""
        if value in (None, "", 0):
            return None
        at = moment(value)
        if at is not None and at <= self.now:
            return at
        why = "a date that is not in the past" if at else "a date that cannot be read"
        self.left_out.add(f"{why} (its item came)", f"{record.title or record.source_id}: {value}")
        return None

    def _keep_link(self, rows: Writer, link: ForeignLink) -> None:
        name = f"{link.source} {link.label} {link.target}"
        source = self.item_ids.get(link.source)
        target = self.item_ids.get(link.target)
        if source is not None and target is None and self.data.folder is not None:
            self.missing.setdefault(source, []).append(link)
            return
        if source is None or target is None:
            self.left_out.add("a link to something that is not there", name)
            return
        label = _storable(link.label)
        new = labelled_link(rows, self.caller.tenant, source, target, label)
        attributes: dict[str, Json] = {}
        for attribute, value in link.attributes.items():
            attributes[f"source_{attribute}" if attribute == LABEL else attribute] = value
        new = new._replace(attributes={**attributes, **new.attributes})
        try:
            with rows.savepoint():
                self.writing.link_in(rows, self.caller, new)
        except AlreadyExists:
            self.counts["known links"] += 1
        except NotFound:
            self.left_out.add("a link to something that was forgotten here", name)
        except (InvalidInput, TooLarge) as error:
            self.left_out.add(error.message, name)
        else:
            self.counts["links"] += 1

    def _resolve_missing(self) -> None:
        """Link notes to those that are here already; the others wait until theirs is written."""
        missing = {
            id: {folded(link.target) for link in links} for id, links in self.missing.items()
        }
        resolved = self.notes.resolve_all(self.caller, missing)
        self.counts["links"] += sum(waited.made for waited in resolved.values())
        for id, links in self.missing.items():
            found = resolved[id].found if id in resolved else frozenset()
            for link in links:
                if folded(link.target) not in found:
                    self.left_out.add(
                        "a link to something that is not there",
                        f"{link.source} {link.label} {link.target}",
                    )


def _whole_patch(draft: Draft) -> Patch:
    """Everything that a draft says, as a change of an item that is here."""
    return Patch(
        title=draft.title,
        blocks=draft.blocks,
        tags=draft.tags,
        attributes=draft.attributes,
        status=draft.status,
        namespace=draft.namespace,
    )


def moment(value: Json) -> str | None:
    """A time as other programs write it, in our form; None if it is none."""
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
            return when("date", value.strip().replace(" UTC", "+00:00"))
        seconds = float(str(value))
        if seconds >= FIRST_MICROSECONDS:
            seconds /= 1_000_000
        elif seconds >= FIRST_MILLISECONDS:
            seconds /= 1000
        return when("date", datetime.fromtimestamp(seconds, UTC).isoformat())
    except (InvalidInput, ValueError, OverflowError, OSError):
        return None


def _storable(text: str) -> str:
    """The text without what no store can keep."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _storable_block(block: Block) -> Block:
    return replace(block, text=_storable(block.text), at=moment(block.at))


def _split_block(block: Block, max_bytes: int) -> list[Block]:
    """A text that is too long as several, cut between lines where there are some."""
    if len(block.text.encode()) <= max_bytes:
        return [block]
    pieces: list[str] = []
    piece: list[str] = []
    size = 0
    for line in block.text.split("\n"):
        for part in _short_parts(line, max_bytes // 4):
            length = len(part.encode()) + 1
            if piece and size + length > max_bytes:
                pieces.append("\n".join(piece))
                piece = []
                size = 0
            piece.append(part)
            size += length
    pieces.append("\n".join(piece))
    return [replace(block, text=text) for text in pieces]


def _short_parts(line: str, characters: int) -> list[str]:
    """A line in parts that are short enough whatever their script."""
    if len(line) <= characters:
        return [line]
    return [line[start : start + characters] for start in range(0, len(line), characters)]


def _digest(title: str, tags: Sequence[str], blocks: Sequence[Block]) -> str:
    """Tells whether the title, the tags and the text of two items are the same."""
    texts = [_text_data(block) for block in blocks]
    whole = json.dumps([title, sorted(tags), texts], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def _text_data(block: Block) -> Mapping[str, Json]:
    """A block without its time, which passages give back even where none was given."""
    return block_data(replace(block, at=None))
