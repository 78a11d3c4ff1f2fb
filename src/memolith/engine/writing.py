"""The verbs of memory: every one makes events, and every event is durable when the verb returns."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import cast

from memolith.domain.attributes import NO_ATTRIBUTES, Attributes, Json, exact
from memolith.domain.blocks import block_data, join_blocks
from memolith.domain.callers import Audience, Caller
from memolith.domain.chunking import CHUNKER
from memolith.domain.clock import iso, shifted
from memolith.domain.events import Changes, Event
from memolith.domain.fold import Replay, fold
from memolith.domain.ids import new_id
from memolith.domain.items import Draft, Item, Patch, Written
from memolith.domain.links import Link
from memolith.domain.passages import Block
from memolith.engine.claims import appraise_again, completed, known, shaken
from memolith.engine.validation import Intake, Limits, identifier, plain, word
from memolith.errors import AlreadyExists, Conflict, Denied, InvalidInput, NotFound, VersionConflict
from memolith.ports.clock import Clock
from memolith.ports.store import Reader, Store, Writer

# The kinds whose title is a name that may stand only once, and the attributes that go with it.
UNIQUE = {
    "concept": ("area", "topic"),
    **dict.fromkeys(("project", "prompt", "template", "entity"), ()),
}


@dataclass(eq=False)
class Verbs:
    """Remembers, changes and forgets for a caller, within his scope."""

    store: Store
    clock: Clock
    limits: Limits = Limits()
    secrets: str = "redact"
    after_erase: Callable[[], None] = lambda: None
    before_erase: Callable[[Item], None] = lambda item: None

    def intake(self) -> Intake:
        return Intake(self.limits, self.secrets)

    def remember(
        self,
        caller: Caller,
        draft: Draft,
        key: str | None = None,
        check: Callable[[Reader], None] = lambda rows: None,
    ) -> Written:
        """Keep something new if the check lets it; with a key, a repeated call returns the first outcome."""
        intake = self.intake()
        intake.sign(key, "remember", draft := intake.draft(draft))
        with self.store.writing(caller.tenant) as rows:
            written = self._repeated(rows, caller, intake)
            if written is None:
                check(rows)
                written = self._remember(rows, caller, draft, intake)
        if len(draft.blocks) != 1:
            return written
        with self.store.reading(caller.tenant) as before:
            return written._replace(
                similar=known(before, caller, draft.kind, draft.blocks[0].text, written.item.id)
            )

    def remember_in(self, rows: Writer, caller: Caller, draft: Draft, intake: Intake) -> Written:
        """Keep something new as part of a larger write."""
        return self._remember(rows, caller, intake.draft(draft), intake)

    def learn(self, caller: Caller, drafts: Iterable[Draft]) -> None:
        """Remember all of these at once, unless the tenant has something already."""
        with self.store.reading(caller.tenant) as before:
            if before.last_seq(caller.tenant):
                return
        with self.store.writing(caller.tenant) as rows:
            for draft in drafts if not rows.last_seq(caller.tenant) else ():
                self.remember_in(rows, caller, draft, Intake(self.limits, "allow"))

    def _remember(self, rows: Writer, caller: Caller, draft: Draft, intake: Intake) -> Written:
        if draft.id and rows.events(caller.tenant, draft.id):
            raise AlreadyExists("There is an item with this id already.", field="id", id=draft.id)
        until: dict[str, Json] = (
            {"expires_at": shifted(self.clock.now(), draft.ttl_s)} if draft.ttl_s else {}
        )
        data: dict[str, Json] = {
            "kind": draft.kind,
            "title": draft.title,
            "status": draft.status,
            "owner": caller.user,
            "audience": draft.audience.value,
            "project": draft.project or None,
            "namespace": draft.namespace or None,
            "tags": list(draft.tags),
            "attributes": {**draft.attributes, **until},
            **_text(draft.blocks),
        }
        return self._change(rows, caller, draft.id or new_id(), "remembered", data, intake)

    def revise(
        self,
        caller: Caller,
        id: str,
        patch: Patch,
        expected: int | None = None,
        key: str | None = None,
    ) -> Written:
        """Change what the patch names; with an expected version, refuse if somebody was faster."""
        intake = self.intake().sign(key, "revise", id, patch, expected)
        with self.store.writing(caller.tenant) as rows:
            if first := self._repeated(rows, caller, intake):
                return first
            item = visible(rows, caller, id)
            if expected not in (None, item.version):
                raise VersionConflict(
                    f"The item is at version {item.version}, not {expected}; read it again and "
                    "repeat.",
                    field="expected_version",
                    id=id,
                    value=expected,
                )
            data = _difference(
                item, join_blocks(rows.passages(caller.tenant, id)), intake.patch(patch, item.kind)
            )
            return (
                self._change(rows, caller, item, "revised", data, intake)
                if data
                else Written(item, rows.last_seq(caller.tenant))
            )

    def tag(
        self, caller: Caller, id: str, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> Written:
        intake = self.intake()
        added, removed = intake.tags(add), {plain("tags", tag) for tag in remove}
        if both := removed & set(added):
            raise InvalidInput(
                f"{sorted(both)[0]!r} is both to be added and removed.", field="tags"
            )
        with self.store.writing(caller.tenant) as rows:
            item = visible(rows, caller, id)
            tags = intake.tags(tuple({*item.tags, *added} - removed))
            return (
                Written(item, rows.last_seq(caller.tenant))
                if tags == item.tags
                else self._change(rows, caller, item, "tagged", {"tags": list(tags)}, intake)
            )

    def append(
        self, caller: Caller, id: str, blocks: Sequence[Block], key: str | None = None
    ) -> Written:
        intake = self.intake()
        intake.sign(key, "append", id, clean := intake.blocks(blocks))
        if not any(block.text.strip() for block in clean):
            raise InvalidInput("There is nothing to append.", field="messages")
        with self.store.writing(caller.tenant) as rows:
            if first := self._repeated(rows, caller, intake):
                return first
            item = visible(rows, caller, id)
            intake.total(clean, rows.text_sizes(caller.tenant, [id])[id].bytes)
            return self._change(rows, caller, item, "appended", _text(clean), intake)

    def forget(self, caller: Caller, id: str, key: str | None = None) -> Written:
        """Take the item out of every read path; it can be restored."""
        intake = self.intake().sign(key, "forget", id)
        with self.store.writing(caller.tenant) as rows:
            return self._repeated(rows, caller, intake) or self._change(
                rows, caller, visible(rows, caller, id), "forgotten", {}, intake
            )

    def forget_all(self, caller: Caller, ids: Sequence[str], kind: str) -> list[str]:
        """Forget those of the items that are there and of the kind, all at once; returns which."""
        with self.store.writing(caller.tenant) as rows:
            return [
                self._change(rows, caller, item, "forgotten", {}, self.intake()).item.id
                for item in rows.items(caller.tenant, ids).values()
                if item.kind == kind and item.admits(caller) and not gone(item)
            ]

    def restore(self, caller: Caller, id: str, key: str | None = None) -> Written:
        intake = self.intake().sign(key, "restore", id)
        with self.store.writing(caller.tenant) as rows:
            if first := self._repeated(rows, caller, intake):
                return first
            item = visible(rows, caller, id, forgotten=True)
            if not gone(item):
                raise Conflict("This item is not forgotten, so there is nothing to restore.", id=id)
            ended: list[Json] = [name for name in ("expires_at",) if name in item.attributes]
            return self._change(
                rows, caller, item, "restored", {"dropped": ended} if ended else {}, intake
            )

    def erase(self, caller: Caller, *ids: str) -> bool:
        """Remove every byte of the items and their links for good; False if a reader still holds old pages."""
        with self.store.writing(caller.tenant) as rows:
            for id in ids:
                item = visible(rows, caller, id, forgotten=True)
                if item.owner != caller.user and not caller.admin:
                    raise Denied("Only its owner or an admin can erase an item.", id=id)
                for stream in rows.link_streams(caller.tenant, id):
                    self.tell(
                        rows, caller, stream, "erased", {}, rows.link_by_id(caller.tenant, stream)
                    )
                self._record(rows, rows.item(caller.tenant, id), id, "erased", {}, caller)
                # Before it is final: what is erased but for its file could not be named any more.
                self.before_erase(item)
        clean = self.store.shred()
        self.after_erase()
        return clean

    def link(
        self,
        caller: Caller,
        source: str,
        target: str,
        type: str,
        strength: float = 1.0,
        attributes: Attributes = NO_ATTRIBUTES,
        id: str | None = None,
        again: bool = False,
        within: Writer | None = None,
    ) -> Link:
        """Connect two items, also within a larger write; a second link of a type is refused, or replaces the first."""
        word("type", type)
        if (
            isinstance(strength, bool)
            or not isinstance(strength, int | float)
            or not 0 <= strength <= 1
        ):
            raise InvalidInput(
                "The strength must lie between 0 and 1.", field="strength", value=strength
            )
        strength, attributes = float(strength), self.intake().attributes(attributes)
        if source == target:
            raise InvalidInput("An item cannot be linked to itself.", field="target")
        with nullcontext(within) if within else self.store.writing(caller.tenant) as rows:
            for end in (source, target):
                visible(rows, caller, end)
            present = rows.link_between(caller.tenant, source, target, type)
            if present and not again:
                raise AlreadyExists("These two are linked this way already.", id=present.id)
            if present and exact((present.strength, present.attributes)) == exact(
                (strength, attributes)
            ):
                return present
            if id is not None and rows.events(caller.tenant, identifier(id)):
                raise AlreadyExists("There is something with this id already.", field="id", id=id)
            stream = present.id if present else id or f"rel-{new_id()}"
            return cast(
                Link,
                self._record(
                    rows,
                    present,
                    stream,
                    "relinked" if present else "linked",
                    {
                        "source": source,
                        "target": target,
                        "type": type,
                        "strength": strength,
                        "attributes": dict(attributes),
                    },
                    caller,
                )[1].link,
            )

    def unlink(self, caller: Caller, id: str) -> Link:
        """Cut a link; it can come back by undo."""
        with self.store.writing(caller.tenant) as rows:
            link = rows.link_by_id(caller.tenant, id)
            if link is None or not sees_both(rows, caller, link):
                raise NotFound("There is no such link.", id=id)
            self._record(rows, link, id, "unlinked", {}, caller)
        return link

    def tell(
        self,
        rows: Writer,
        caller: Caller,
        stream: str,
        type: str,
        data: dict[str, Json],
        before: Item | Link | None = None,
    ) -> Event:
        """Log one more event of a stream whatever has become of it, or of a record that is no item."""
        return self._record(
            rows, before, stream, type, data, caller, version=len(rows.events(rows.tenant, stream))
        )[0]

    def _record(
        self,
        rows: Writer,
        before: Item | Link | None,
        stream: str,
        type: str,
        data: dict[str, Json],
        caller: Caller,
        key: str | None = None,
        version: int | None = None,
    ) -> tuple[Event, Changes]:
        if version is None:
            version = before.version if before else 0
        now = self.clock.now()
        event = completed(
            rows, before, rows.next_event(stream, version + 1, type, data, caller.user, now, key)
        )
        changes = fold(before, event)
        refuse_unsound(rows, changes)
        moved = shaken(rows, before)
        rows.append(event, changes)
        appraise_again(rows, moved | shaken(rows, changes.item or changes.link), caller.user, now)
        return event, changes

    def _change(
        self,
        rows: Writer,
        caller: Caller,
        item: Item | str,
        type: str,
        data: dict[str, Json],
        intake: Intake,
    ) -> Written:
        """Record an event of an item, or of a new one that gets this id."""
        before, id = (None, item) if isinstance(item, str) else (item, item.id)
        noted: dict[str, Json] = {"redactions": dict(intake.redactions), "request": intake.request}
        data |= {name: value for name, value in noted.items() if value}
        event, changes = self._record(rows, before, id, type, data, caller, intake.key)
        return _written(event, changes.item)

    def _repeated(self, rows: Reader, caller: Caller, intake: Intake) -> Written | None:
        """The first outcome of a write that comes again under its key."""
        event = rows.event_by_key(caller.tenant, caller.user, intake.key) if intake.key else None
        if event is None:
            return None
        if event.data.get("request") != intake.request:
            raise Conflict(
                "This idempotency key was used for another write.", field="idempotency_key"
            )
        events = rows.events(caller.tenant, event.stream)
        return _written(
            event,
            Replay.of(past for past in events if past.version <= event.version).row,
            repeated=True,
        )


def _written(event: Event, row: Item | Link | None, repeated: bool = False) -> Written:
    assert isinstance(row, Item)
    return Written(
        row,
        event.seq,
        cast("dict[str, int]", event.data.get("redactions") or {}),
        repeated=repeated,
    )


def visible(rows: Reader, caller: Caller, id: str, forgotten: bool = False) -> Item:
    """The item, or the same answer for one that is not there and one that is not the caller's."""
    item = rows.item(caller.tenant, id)
    if item is None or not item.admits(caller) or (gone(item) and not forgotten):
        raise NotFound(f"There is no item {id[:100]!r}, or it was forgotten.", id=id)
    return item


def gone(item: Item) -> bool:
    """Whether the item was forgotten, or has outlived its time."""
    return item.forgotten or str(item.attributes.get("expires_at") or "~") <= iso(
        time.time_ns() // 1000
    )


def sees_both(rows: Reader, caller: Caller, link: Link, forgotten: bool = True) -> bool:
    """Whether the caller may see both ends of a link, forgotten or not."""
    ends = rows.items(caller.tenant, (link.source, link.target)).values()
    return len(ends) == 2 and all(
        end.admits(caller) and (forgotten or not gone(end)) for end in ends
    )


def refuse_unsound(rows: Reader, changes: Changes) -> None:
    """Refuse a change that leaves an item without title and text, for no project, or with another's name."""
    item, before = changes.item, changes.before
    if item is None:
        return
    if not item.title and (before is None or before.title or changes.passages):
        passages = changes.passages or rows.passages(item.tenant, item.id)
        if not any(passage.text.strip() for passage in passages):
            raise InvalidInput("An item without text needs a title.", field="title")
    if item.audience is Audience.PROJECT and not item.project:
        raise InvalidInput("An item for a project needs to name the project.", field="project")
    named = item.kind in UNIQUE and item.title and not item.forgotten
    if named and (before is None or before.forgotten or _named(before) != _named(item)):
        for other in rows.items_titled(item.tenant, item.kind, item.title):
            if other.id != item.id and _named(other) == _named(item):
                raise AlreadyExists(
                    f"Another {item.kind} here is called {item.title!r}.",
                    field="title",
                    id=other.id,
                )


def _named(item: Item) -> tuple[object, ...]:
    among = {"user": item.owner, "project": item.project}.get(item.audience)
    type = item.namespace if item.kind == "entity" else None
    return (
        item.title,
        item.audience,
        among,
        type,
        *(item.attributes.get(name) for name in UNIQUE[item.kind]),
    )


def _text(blocks: Sequence[Block]) -> dict[str, Json]:
    return {"blocks": [block_data(block) for block in blocks], "chunker": CHUNKER}


def _difference(item: Item, blocks: list[Block], patch: Patch) -> dict[str, Json]:
    """The part of a patch that changes something, as the data of an event."""
    texts = {
        "title": (patch.title, item.title),
        "status": (patch.status, item.status),
        "audience": (patch.audience, item.audience),
        "project": (patch.project, item.project or ""),
        "namespace": (patch.namespace, item.namespace or ""),
    }
    data: dict[str, Json] = {
        name: new or ("" if name == "title" else None)
        for name, (new, old) in texts.items()
        if new is not None and new != old
    }
    if patch.tags is not None and patch.tags != item.tags:
        data["tags"] = list(patch.tags)
    if changed := {
        name: value
        for name, value in (patch.attributes or {}).items()
        if name not in item.attributes or exact(item.attributes[name]) != exact(value)
    }:
        data["attributes"] = changed
    if dropped := [name for name in patch.dropped if name in item.attributes]:
        data["dropped"] = list(dropped)
    if patch.blocks is not None:
        # A block without a time of its own keeps the one it has.
        timed = [
            replace(new, at=new.at or old.at)
            for new, old in zip(patch.blocks, blocks, strict=False)
        ]
        if len(patch.blocks) != len(blocks) or exact(timed) != exact(blocks):
            data |= _text(patch.blocks)
    return data
