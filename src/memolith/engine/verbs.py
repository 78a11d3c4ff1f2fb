"""The verbs of memory: every one makes events, and every event is durable when the verb returns."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from memolith.engine import chunks
from memolith.engine.certainty import appraise_again, completed, shaken
from memolith.engine.events import Changes, Event, Replay, block_data, fold, join_blocks
from memolith.engine.intake import POLICIES, Intake, Limits, identifier, plain, word
from memolith.engine.intake import strength as checked_strength
from memolith.engine.matching import checked
from memolith.engine.model import (
    NO_ATTRIBUTES,
    Attributes,
    Block,
    Caller,
    Draft,
    Filter,
    Item,
    Json,
    Link,
    Page,
    Passage,
    Patch,
    Similar,
    Written,
)
from memolith.engine.ports import Clock, Reader, Store, Writer
from memolith.engine.receipts import digested, notes, redactions_of, request_digest
from memolith.engine.times import new_id
from memolith.engine.unique import refuse_namesakes
from memolith.errors import (
    AlreadyExists,
    Conflict,
    Denied,
    DiskFull,
    InvalidInput,
    NotFound,
    Unavailable,
    VersionConflict,
)

MOST_LISTED = 10_000
FLUSH_WAIT_S = 0.5


class Verbs:
    """Remembers, changes and forgets for a caller, within his scope."""

    def __init__(self, store: Store, clock: Clock, limits: Limits = Limits(), secrets: str = "redact") -> None:
        if secrets not in POLICIES:
            raise InvalidInput(f"Secrets can be one of {', '.join(POLICIES)}.", field="secrets")
        self.store = store
        self.clock = clock
        self.limits = limits
        self.secrets = secrets
        self._reads: dict[str, dict[str, tuple[int, str]]] = {}
        self._reads_lock = threading.Lock()

    def get(self, caller: Caller, id: str, forgotten: bool = False) -> Item:
        """The item, if the caller may see it; forgotten ones only where asked for."""
        with self.store.reading(caller.tenant) as rows:
            return visible(rows, caller, id, forgotten)

    def read(self, caller: Caller, id: str, forgotten: bool = False) -> tuple[Item, list[Block]]:
        """The item and its blocks."""
        with self.store.reading(caller.tenant) as rows:
            item = visible(rows, caller, id, forgotten)
            return item, join_blocks(rows.passages(caller.tenant, id))

    def read_many(self, caller: Caller, ids: Sequence[str], forgotten: bool = False) -> list[tuple[Item, list[Block]]]:
        """Those of the items that the caller may see, in the order asked for."""
        with self.store.reading(caller.tenant) as rows:
            found = rows.items(caller.tenant, ids)
            items = [found[id] for id in ids if id in found and found[id].scope.admits(caller)
                     and (forgotten or not found[id].forgotten)]
            texts = rows.passages_of(caller.tenant, [item.id for item in items])
        return [(item, join_blocks(texts[item.id])) for item in items]

    def listing(self, caller: Caller, chosen: Filter = Filter(), sort: str = "created_at", descending: bool = True,
                limit: int = 20, offset: int = 0) -> Page:
        """A page of the items that the caller sees and the filter keeps."""
        chosen = checked(chosen)
        if not 1 <= limit <= MOST_LISTED:
            raise InvalidInput(f"The limit must lie between 1 and {MOST_LISTED:,}.", field="limit")
        if not 0 <= offset < 2**62:
            raise InvalidInput("The offset cannot be negative or astronomic.", field="offset")
        with self.store.reading(caller.tenant) as rows:
            return rows.listing(caller, chosen, sort, descending, limit, offset)

    def links(self, caller: Caller, id: str) -> list[Link]:
        """The links of an item to others that the caller sees."""
        with self.store.reading(caller.tenant) as rows:
            visible(rows, caller, id)
            links = rows.links_of(caller.tenant, id)
            ends = rows.items(caller.tenant, {end for link in links for end in (link.source, link.target)})
        seen = {end.id for end in ends.values() if end.scope.admits(caller) and not end.forgotten}
        return [link for link in links if link.source in seen and link.target in seen]

    def note_read(self, caller: Caller, id: str) -> None:
        """Count an access; not an event, and written with the next flush."""
        with self._reads_lock:
            reads = self._reads.setdefault(caller.tenant, {})
            reads[id] = (reads.get(id, (0, ""))[0] + 1, self.clock.now())

    def flush_reads(self) -> None:
        """Write the access counts of this process."""
        with self._reads_lock:
            waiting, self._reads = self._reads, {}
        for tenant, reads in waiting.items():
            try:
                with self.store.writing(tenant, FLUSH_WAIT_S) as rows:
                    rows.touch(reads)
            except (DiskFull, Unavailable):
                # Not now; they are written with the next flush.
                with self._reads_lock:
                    later = self._reads.setdefault(tenant, {})
                    for item, (count, last) in reads.items():
                        later[item] = (later.get(item, (0, ""))[0] + count, max(last, later.get(item, (0, ""))[1]))

    def remember(self, caller: Caller, draft: Draft, key: str | None = None,
                 check: Callable[[Reader], None] | None = None) -> Written:
        """Keep something new if the check lets it; with a key, a repeated call returns the first outcome."""
        intake, key = Intake(self.limits, self.secrets), digested(key)
        draft = intake.draft(draft)
        with self.store.writing(caller.tenant) as rows:
            if first := self._repeated(rows, caller, key, request_digest(key, "remember", draft)):
                return first
            if check:
                check(rows)
            return self._remember(rows, caller, draft, intake, key)

    def remember_in(self, rows: Writer, caller: Caller, draft: Draft, intake: Intake) -> Written:
        """Keep something new as part of a larger write."""
        return self._remember(rows, caller, intake.draft(draft), intake)

    def _remember(self, rows: Writer, caller: Caller, draft: Draft, intake: Intake, key: str | None = None) -> Written:
        data: dict[str, Json] = {
            "kind": draft.kind, "title": draft.title, "status": draft.status, "owner": caller.user,
            "audience": draft.audience.value, "project": draft.project or None, "namespace": draft.namespace or None,
            "tags": list(draft.tags), "attributes": dict(draft.attributes), "blocks": _blocks(draft.blocks),
            "chunker": chunks.VERSION}
        id = draft.id or new_id()
        if draft.id and rows.events(caller.tenant, id):
            raise AlreadyExists("There is an item with this id already.", field="id", id=id)
        data |= notes(intake, request_digest(key, "remember", draft))
        event, changes = self._record(rows, None, id, "remembered", data, caller, key)
        assert changes.item is not None
        similar = _same(rows, caller, changes.item, changes.passages)
        return Written(changes.item, event.seq, redactions_of(event), similar)

    def revise(self, caller: Caller, id: str, patch: Patch, expected: int | None = None,
               key: str | None = None) -> Written:
        """Change what the patch names; with an expected version, refuse if somebody was faster."""
        intake, key = Intake(self.limits, self.secrets), digested(key)
        request = request_digest(key, "revise", id, patch, expected)
        with self.store.writing(caller.tenant) as rows:
            if first := self._repeated(rows, caller, key, request):
                return first
            item = self._live(rows, caller, id, expected)
            blocks = join_blocks(rows.passages(caller.tenant, id))
            data = _difference(item, blocks, intake.patch(patch, item.kind))
            if not data:
                return self._unchanged(rows, item)
            return self._change(rows, caller, item, "revised", data | notes(intake, request), key)

    def tag(self, caller: Caller, id: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Written:
        """Add and remove tags."""
        intake = Intake(self.limits, self.secrets)
        added, removed = intake.tags(add), {plain("tags", tag) for tag in remove}
        if both := removed & set(added):
            raise InvalidInput(f"{sorted(both)[0]!r} is both to be added and removed.", field="tags")
        with self.store.writing(caller.tenant) as rows:
            item = self._live(rows, caller, id)
            intake.tags(tuple(set(item.tags) | set(added)))
            data: dict[str, Json] = {"added": [tag for tag in added if tag not in item.tags],
                                     "removed": [tag for tag in item.tags if tag in removed]}
            if not any(data.values()):
                return self._unchanged(rows, item)
            return self._change(rows, caller, item, "tagged", data | notes(intake))

    def append(self, caller: Caller, id: str, blocks: Sequence[Block], key: str | None = None) -> Written:
        """Add messages or other blocks at the end."""
        intake, key = Intake(self.limits, self.secrets), digested(key)
        clean = intake.blocks(blocks)
        if not any(block.text.strip() for block in clean):
            raise InvalidInput("There is nothing to append.", field="messages")
        data: dict[str, Json] = {"blocks": _blocks(clean), "chunker": chunks.VERSION}
        request = request_digest(key, "append", id, clean)
        with self.store.writing(caller.tenant) as rows:
            if first := self._repeated(rows, caller, key, request):
                return first
            item = self._live(rows, caller, id)
            intake.total(clean, rows.text_sizes(caller.tenant, [id])[id][2])
            return self._change(rows, caller, item, "appended", data | notes(intake, request), key)

    def forget(self, caller: Caller, id: str, expected: int | None = None, key: str | None = None) -> Written:
        """Take the item out of every read path; it can be restored."""
        key = digested(key)
        request = request_digest(key, "forget", id)
        with self.store.writing(caller.tenant) as rows:
            if first := self._repeated(rows, caller, key, request):
                return first
            item = self._live(rows, caller, id, expected)
            return self._change(rows, caller, item, "forgotten", {"request": request} if request else {}, key)

    def restore(self, caller: Caller, id: str, key: str | None = None) -> Written:
        """Bring a forgotten item back as it was."""
        key = digested(key)
        request = request_digest(key, "restore", id)
        with self.store.writing(caller.tenant) as rows:
            if first := self._repeated(rows, caller, key, request):
                return first
            item = visible(rows, caller, id, forgotten=True)
            if not item.forgotten:
                raise Conflict("This item is not forgotten, so there is nothing to restore.", id=id)
            return self._change(rows, caller, item, "restored", {"request": request} if request else {}, key)

    def erase(self, caller: Caller, id: str) -> bool:
        """Remove every byte of the item and its links for good; False if a reader still holds old pages."""
        with self.store.writing(caller.tenant) as rows:
            item = visible(rows, caller, id, forgotten=True)
            if item.scope.owner != caller.user and not caller.admin:
                raise Denied("Only its owner or an admin can erase an item.", id=id)
            for stream in rows.link_streams(caller.tenant, id):
                link = rows.link(caller.tenant, stream)
                version = rows.events(caller.tenant, stream)[-1].version
                self._record(rows, link, stream, "erased", {}, caller, None, version)
            self._record(rows, rows.item(caller.tenant, id), id, "erased", {}, caller)
        return self.store.shred()

    def link(self, caller: Caller, source: str, target: str, type: str, strength: float = 1.0,
             attributes: Attributes = NO_ATTRIBUTES, id: str | None = None, again: bool = False) -> Link:
        """Connect two items; a second link of the type is refused, or replaces the first where asked."""
        word("type", type)
        strength, attributes = checked_strength(strength), Intake(self.limits, self.secrets).attributes(attributes)
        if source == target:
            raise InvalidInput("An item cannot be linked to itself.", field="target")
        with self.store.writing(caller.tenant) as rows:
            for end in (source, target):
                visible(rows, caller, end)
            present = rows.link_between(caller.tenant, source, target, type)
            if present and not again:
                raise AlreadyExists("These two are linked this way already.", id=present.id)
            if present and (present.strength, _json(present.attributes)) == (strength, _json(attributes)):
                return present
            if id is not None and rows.events(caller.tenant, identifier(id)):
                raise AlreadyExists("There is something with this id already.", field="id", id=id)
            data: dict[str, Json] = {"strength": strength, "attributes": dict(attributes)}
            if present:
                _, changes = self._record(rows, present, present.id, "relinked", data, caller)
            else:
                data |= {"source": source, "target": target, "type": type}
                _, changes = self._record(rows, None, id or f"rel-{new_id()}", "linked", data, caller)
        assert changes.link is not None
        return changes.link

    def unlink(self, caller: Caller, id: str) -> Link:
        """Cut a link; it can come back by undo."""
        with self.store.writing(caller.tenant) as rows:
            link = rows.link(caller.tenant, id)
            if link is None or not sees_both(rows, caller, link):
                raise NotFound("There is no such link.", id=id)
            self._record(rows, link, id, "unlinked", {}, caller)
        return link

    def write(self, caller: Caller, stream: str, type: str, data: dict[str, Json],
              row: Callable[[Reader], Item | Link | None], version: int) -> tuple[Event, Changes]:
        """Record one event on what `row` finds, if the stream is still at that version; the way in for undo."""
        with self.store.writing(caller.tenant) as rows:
            if rows.events(caller.tenant, stream)[-1].version != version:
                raise VersionConflict(id=stream)
            return self._record(rows, row(rows), stream, type, data, caller, None, version)

    def tell(self, rows: Writer, caller: Caller, stream: str, type: str, data: dict[str, Json]) -> Event:
        """Log what was done to a record that is no item."""
        version = len(rows.events(caller.tenant, stream))
        return self._record(rows, None, stream, type, data, caller, None, version)[0]

    def _record(self, rows: Writer, before: Item | Link | None, stream: str, type: str, data: dict[str, Json],
                caller: Caller, key: str | None = None, version: int | None = None) -> tuple[Event, Changes]:
        if version is None:
            version = before.version if before else 0
        now = self.clock.now()
        event = completed(rows, before, rows.stamp(stream, version + 1, type, data, caller.user, now, key))
        changes = fold(before, event)
        refuse_namesakes(rows, changes)
        moved = shaken(rows, before)
        rows.append(event, changes)
        appraise_again(rows, moved | shaken(rows, changes.item or changes.link), caller.user, now)
        return event, changes

    def _change(self, rows: Writer, caller: Caller, item: Item, type: str, data: dict[str, Json],
                key: str | None = None) -> Written:
        event, changes = self._record(rows, item, item.id, type, data, caller, key)
        assert changes.item is not None
        return Written(changes.item, event.seq, redactions_of(event))

    def _unchanged(self, rows: Reader, item: Item) -> Written:
        return Written(item, rows.last_seq(item.scope.tenant))

    def _live(self, rows: Reader, caller: Caller, id: str, expected: int | None = None) -> Item:
        item = visible(rows, caller, id)
        if expected is not None and expected != item.version:
            raise VersionConflict(f"The item is at version {item.version}, not {expected}; read it again and repeat.",
                                  field="expected_version", id=id, value=expected)
        return item

    def _repeated(self, rows: Reader, caller: Caller, key: str | None, request: str) -> Written | None:
        """The first outcome of a write that comes again under its key."""
        event = rows.event_by_key(caller.tenant, caller.user, key) if key else None
        if event is None:
            return None
        if event.data.get("request") != request:
            raise Conflict("This idempotency key was used for another write.", field="idempotency_key")
        events = rows.events(caller.tenant, event.stream)
        state = Replay.of(past for past in events if past.version <= event.version)
        assert isinstance(state.row, Item)
        similar = _same(rows, caller, state.row, state.passages) if event.type == "remembered" else ()
        return Written(state.row, event.seq, redactions_of(event), similar, repeated=True)


def visible(rows: Reader, caller: Caller, id: str, forgotten: bool = False) -> Item:
    """The item, or the same answer for one that is not there and one that is not the caller's."""
    item = rows.item(caller.tenant, id)
    if item is None or not item.scope.admits(caller) or (item.forgotten and not forgotten):
        raise NotFound(f"There is no item {id[:100]!r}, or it was forgotten.", id=id)
    return item


def sees_both(rows: Reader, caller: Caller, link: Link) -> bool:
    """Whether the caller may see both ends of a link, forgotten or not."""
    ends = rows.items(caller.tenant, (link.source, link.target))
    return len(ends) == 2 and all(end.scope.admits(caller) for end in ends.values())


def _blocks(blocks: Sequence[Block]) -> list[Json]:
    return [block_data(block) for block in blocks]


def _same(rows: Reader, caller: Caller, item: Item, passages: Sequence[Passage]) -> tuple[Similar, ...]:
    """Items with the same text, but for case and white space."""
    if item.blocks != 1:
        return ()
    same = rows.same_text(caller, passages[0].text, len(passages), Filter(kinds=(item.kind,)))
    ids = [id for id in same if id != item.id]
    if not ids:
        return ()
    found, texts = rows.items(caller.tenant, ids), rows.passages_of(caller.tenant, ids)
    text = _folded(passages)
    return tuple(Similar(id, found[id].title, 1.0, exact=True) for id in ids if _folded(texts[id]) == text)


def _folded(passages: Sequence[Passage]) -> str:
    return " ".join("".join(passage.text for passage in passages).casefold().split())


def _json(value: object) -> str:
    """Equal for equal JSON only: 1 and true differ here."""
    return json.dumps(value, sort_keys=True, default=dict)


def _difference(item: Item, blocks: list[Block], patch: Patch) -> dict[str, Json]:
    """The part of a patch that changes something, as the data of an event."""
    data: dict[str, Json] = {}
    for name, old in (("title", item.title), ("status", item.status)):
        if (new := getattr(patch, name)) is not None and new != old:
            data[name] = new
    for name in ("project", "namespace"):
        if (new := getattr(patch, name)) is not None and (new or None) != getattr(item.scope, name):
            data[name] = new or None
    if patch.audience is not None and patch.audience is not item.scope.audience:
        data["audience"] = patch.audience.value
    if patch.tags is not None and patch.tags != item.tags:
        data["tags"] = list(patch.tags)
    changed = {name: value for name, value in (patch.attributes or {}).items()
               if name not in item.attributes or _json(item.attributes[name]) != _json(value)}
    if changed:
        data["attributes"] = changed
    if dropped := [name for name in patch.dropped if name in item.attributes]:
        data["dropped"] = list(dropped)
    if patch.blocks is not None and not _same_blocks(patch.blocks, blocks):
        data |= {"blocks": _blocks(patch.blocks), "chunker": chunks.VERSION}
    left = blocks if patch.blocks is None else patch.blocks
    if not data.get("title", item.title) and not any(block.text.strip() for block in left):
        raise InvalidInput("An item without text needs a title.", field="title")
    if data.get("audience", item.scope.audience) == "project" and not data.get("project", item.scope.project):
        raise InvalidInput("An item for a project needs to name the project.", field="project")
    return data


def _same_blocks(new: Sequence[Block], old: Sequence[Block]) -> bool:
    """Whether nothing is new; a block without a time of its own keeps the one it has."""
    return len(new) == len(old) and all(_json(block_data(replace(a, at=a.at or b.at))) == _json(block_data(b))
                                         for a, b in zip(new, old, strict=True))
