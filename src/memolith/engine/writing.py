"""Writing: remember, change and forget.

Each method records events, and these are durable when it returns.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from memolith.domain.attributes import NO_ATTRIBUTES, Attributes, Json, exact
from memolith.domain.blocks import block_data, join_blocks
from memolith.domain.callers import Caller
from memolith.domain.chunking import CHUNKER
from memolith.domain.clock import shifted
from memolith.domain.ids import new_id, short_id
from memolith.domain.items import Draft, Item, Patch, Similar, Written
from memolith.domain.links import Link
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.duplicates import record_duplicates
from memolith.engine.kept_answers import blank_answers_about
from memolith.engine.recording import NewEvent, Recorder
from memolith.engine.statements import near_copies
from memolith.engine.transactions import Transactions
from memolith.engine.validation import InputRules, Intake, checked_text, checked_word, identifier
from memolith.engine.visibility import is_gone, sees_both_ends, visible
from memolith.errors import AlreadyExists, Conflict, Denied, InvalidInput, NotFound, VersionConflict
from memolith.ports.clock import Clock
from memolith.ports.store import Reader, Writer


def _ignore(clean: bool) -> None:
    """Stands in where nobody asks whether an erase left nothing behind."""


class Quota(NamedTuple):
    """How many items that pass the filter a caller may have, and what they are told beyond that."""

    limit: int
    counted: Filter
    message: str


class NewLink(NamedTuple):
    """A link that a caller wants made; without an id it gets a new one."""

    source: str
    target: str
    type: str
    strength: float = 1.0
    attributes: Attributes = NO_ATTRIBUTES
    id: str | None = None


class Writing:
    """Remembers, changes and forgets what a caller may see."""

    def __init__(
        self,
        store: Transactions,
        clock: Clock,
        input_rules: InputRules,
        recorder: Recorder,
        before_erase: Callable[[Item], None],
        after_erase: Callable[[], None],
    ) -> None:
        self.store = store
        self.clock = clock
        self.input_rules = input_rules
        self.recorder = recorder
        self.before_erase = before_erase
        """Removes what belongs to an item and lies outside of the store."""
        self.after_erase = after_erase
        """Drops what was derived from the store and may still hold what was erased."""

    def remember(self, caller: Caller, draft: Draft, quota: Quota | None = None) -> Written:
        """Keep something new within the quota, and tell what is nearly the same."""
        intake = self.input_rules.intake()
        draft = intake.draft(draft)
        # Before the write: comparing takes time, and nobody should wait for a lock meanwhile.
        copies: tuple[Similar, ...] = ()
        if len(draft.blocks) == 1:
            with self.store.reading(caller.tenant) as rows:
                copies = near_copies(rows, caller, draft.kind, draft.blocks[0].text)
        with self.store.writing(caller.tenant) as rows:
            _check_quota(rows, caller, quota)
            written = self._remember(rows, caller, draft, intake)
            record_duplicates(rows, written.item.id, [copy.id for copy in copies])
        return written._replace(similar=copies)

    def remember_in(self, rows: Writer, caller: Caller, draft: Draft, intake: Intake) -> Written:
        """Keep something new as part of a larger write."""
        return self._remember(rows, caller, intake.draft(draft), intake)

    def remember_checked(
        self, rows: Writer, caller: Caller, draft: Draft, intake: Intake
    ) -> Written:
        """Keep a draft that the intake has checked already, as part of a larger write."""
        return self._remember(rows, caller, draft, intake)

    def remember_new(self, rows: Writer, caller: Caller, draft: Draft, intake: Intake) -> Written:
        """Like `remember_in`, where the caller has looked up that nothing has the id."""
        return self._remember(rows, caller, intake.draft(draft), intake, is_new=True)

    def learn(self, caller: Caller, drafts: Iterable[Draft]) -> None:
        """Remember all of these at once, unless the tenant has something already."""
        with self.store.reading(caller.tenant) as rows:
            if rows.last_seq(caller.tenant):
                return
        intake = Intake(self.input_rules.limits, "allow")
        with self.store.writing(caller.tenant) as rows:
            if rows.last_seq(caller.tenant):
                return
            for draft in drafts:
                self.remember_in(rows, caller, draft, intake)

    def revise(self, caller: Caller, id: str, patch: Patch, expected: int | None = None) -> Written:
        """Change what the patch names; refuse if the item is not at the expected version."""
        intake = self.input_rules.intake()
        with self.store.writing(caller.tenant) as rows:
            item = visible(rows, caller, id)
            if expected not in (None, item.version):
                raise VersionConflict(
                    f"The item is at version {item.version}, not {expected}; read it again and "
                    "repeat.",
                    field="expected_version",
                    id=id,
                    value=expected,
                )
            blocks = join_blocks(rows.passages(caller.tenant, id))
            data = _difference(item, blocks, intake.patch(patch, item.kind))
            if not data:
                return Written(item, rows.last_seq(caller.tenant))
            if patch.updated_at is not None:
                data["updated_at"] = patch.updated_at
            return self._change(rows, caller, item, "revised", data, intake)

    def tag(
        self, caller: Caller, id: str, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> Written:
        intake = self.input_rules.intake()
        added = intake.tags(add)
        removed = {checked_text("tags", tag) for tag in remove}
        both = removed & set(added)
        if both:
            raise InvalidInput(
                f"{sorted(both)[0]!r} is both to be added and removed.", field="tags"
            )
        with self.store.writing(caller.tenant) as rows:
            item = visible(rows, caller, id)
            tags = intake.tags(tuple({*item.tags, *added} - removed))
            if tags == item.tags:
                return Written(item, rows.last_seq(caller.tenant))
            return self._change(rows, caller, item, "tagged", {"tags": list(tags)}, intake)

    def append(self, caller: Caller, id: str, blocks: Sequence[Block]) -> Written:
        """Add blocks to the end of an item."""
        intake = self.input_rules.intake()
        blocks = intake.blocks(blocks)
        if not any(block.text.strip() for block in blocks):
            raise InvalidInput("There is nothing to append.", field="messages")
        with self.store.writing(caller.tenant) as rows:
            item = visible(rows, caller, id)
            intake.total(blocks, rows.text_sizes(caller.tenant, [id])[id].bytes)
            return self._change(rows, caller, item, "appended", _text(blocks), intake)

    def forget(self, caller: Caller, id: str) -> Written:
        """Take the item out of every list and search; it can be restored."""
        with self.store.writing(caller.tenant) as rows:
            item = visible(rows, caller, id)
            intake = self.input_rules.intake()
            return self._change(rows, caller, item, "forgotten", {}, intake)

    def forget_all(self, caller: Caller, ids: Sequence[str], kind: str) -> list[str]:
        """Forget the items that exist and are of the kind, all at once; returns their ids."""
        intake = self.input_rules.intake()
        forgotten = []
        with self.store.writing(caller.tenant) as rows:
            for item in rows.items(caller.tenant, ids).values():
                if item.kind == kind and item.admits(caller) and not is_gone(item):
                    self._change(rows, caller, item, "forgotten", {}, intake)
                    forgotten.append(item.id)
        return forgotten

    def restore(self, caller: Caller, id: str) -> Written:
        """Bring back an item that was forgotten or has expired."""
        with self.store.writing(caller.tenant) as rows:
            item = visible(rows, caller, id, forgotten=True)
            if not is_gone(item):
                raise Conflict("This item is not forgotten, so there is nothing to restore.", id=id)
            data: dict[str, Json] = {}
            if "expires_at" in item.attributes:
                data["dropped"] = ["expires_at"]
            intake = self.input_rules.intake()
            return self._change(rows, caller, item, "restored", data, intake)

    def erase(self, caller: Caller, *ids: str, tell: Callable[[bool], None] = _ignore) -> None:
        """Remove every byte of the items and their links for good.

        When that is durable, `tell` hears whether every byte is overwritten, or another reader
        still holds pages with the old content.
        """
        with self.store.writing(caller.tenant) as rows:
            for id in ids:
                self._erase(rows, caller, id)

        def overwrite() -> None:
            clean = self.store.shred()
            self.after_erase()
            tell(clean)

        self.store.after_commit(overwrite)

    def _erase(self, rows: Writer, caller: Caller, id: str) -> None:
        item = visible(rows, caller, id, forgotten=True)
        if item.owner != caller.user and not caller.admin:
            raise Denied("Only its owner or an admin can erase an item.", id=id)
        for stream in rows.link_streams(caller.tenant, id):
            link = rows.link_by_id(caller.tenant, stream)
            self.recorder.tell(rows, caller, stream, "erased", {}, link)
        blank_answers_about(rows, caller.tenant, rows.events(caller.tenant, id))
        # Erasing links may have changed the item, whose certainty depends on them.
        item_now = rows.item(caller.tenant, id)
        self.recorder.record(rows, caller, NewEvent(id, "erased", {}, item_now))
        # Inside the transaction: once the item is erased, nothing names its file any more.
        self.before_erase(item)

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
    ) -> Link:
        """Connect two items.

        A second link of the same type is refused or, with `again`, replaces the first.
        """
        link = NewLink(source, target, type, strength, attributes, id)
        with self.store.writing(caller.tenant) as rows:
            return self.link_in(rows, caller, link, again)

    def link_in(self, rows: Writer, caller: Caller, link: NewLink, again: bool = False) -> Link:
        """Connect two items as part of a larger write."""
        link = self._checked_link(link)
        for end in (link.source, link.target):
            visible(rows, caller, end)
        present = rows.link_between(caller.tenant, link.source, link.target, link.type)
        if present and not again:
            raise AlreadyExists("These two are linked this way already.", id=present.id)
        if present and _same_link(present, link):
            return present
        if link.id is not None and rows.events(caller.tenant, identifier(link.id)):
            raise AlreadyExists("There is something with this id already.", field="id", id=link.id)
        data: dict[str, Json] = {
            "source": link.source,
            "target": link.target,
            "type": link.type,
            "strength": link.strength,
            "attributes": dict(link.attributes),
        }
        if present:
            new = NewEvent(present.id, "relinked", data, present)
        else:
            new = NewEvent(link.id or _unused_link_id(rows, caller.tenant), "linked", data)
        recorded = self.recorder.record(rows, caller, new)
        return cast(Link, recorded.changes.link)

    def _checked_link(self, link: NewLink) -> NewLink:
        checked_word("type", link.type)
        strength = link.strength
        is_number = isinstance(strength, int | float) and not isinstance(strength, bool)
        if not is_number or not 0 <= strength <= 1:
            raise InvalidInput(
                "The strength must lie between 0 and 1.", field="strength", value=strength
            )
        attributes = self.input_rules.intake().attributes(link.attributes)
        if link.source == link.target:
            raise InvalidInput("An item cannot be linked to itself.", field="target")
        return link._replace(strength=float(strength), attributes=attributes)

    def unlink(self, caller: Caller, id: str) -> Link:
        """Cut a link; undo can bring it back."""
        with self.store.writing(caller.tenant) as rows:
            link = rows.link_by_id(caller.tenant, id)
            if link is None or not sees_both_ends(rows, caller, link):
                raise NotFound("There is no such link.", id=id)
            self.recorder.record(rows, caller, NewEvent(id, "unlinked", {}, link))
        return link

    def _remember(
        self,
        rows: Writer,
        caller: Caller,
        draft: Draft,
        intake: Intake,
        is_new: bool = False,
    ) -> Written:
        if draft.id and not is_new and rows.events(caller.tenant, draft.id):
            raise AlreadyExists("There is an item with this id already.", field="id", id=draft.id)
        attributes = dict(draft.attributes)
        if draft.ttl_s:
            attributes["expires_at"] = shifted(self.clock.now(), draft.ttl_s)
        data: dict[str, Json] = {
            "kind": draft.kind,
            "title": draft.title,
            "status": draft.status,
            "owner": caller.user,
            "audience": draft.audience.value,
            "project": draft.project or None,
            "namespace": draft.namespace or None,
            "tags": list(draft.tags),
            "attributes": attributes,
            **_text(draft.blocks),
        }
        if draft.created_at:
            data["created_at"] = draft.created_at
            data["updated_at"] = draft.updated_at or draft.created_at
        id = draft.id or new_id()
        return self._change(rows, caller, id, "remembered", data, intake)

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
        if intake.redactions:
            data["redactions"] = dict(intake.redactions)
        new = NewEvent(
            stream=item if isinstance(item, str) else item.id,
            type=type,
            data=data,
            before=None if isinstance(item, str) else item,
        )
        recorded = self.recorder.record(rows, caller, new)
        assert recorded.changes.item is not None
        return Written(recorded.changes.item, recorded.event.seq, dict(intake.redactions))


def _check_quota(rows: Reader, caller: Caller, quota: Quota | None) -> None:
    """Refuse one item more than the quota allows."""
    if quota is None or rows.last_seq(caller.tenant) < quota.limit:
        # A tenant with fewer events cannot have so many items, and counting them takes longer.
        return
    if rows.list_items(caller, quota.counted, limit=1).total >= quota.limit:
        raise Conflict(quota.message)


def _unused_link_id(rows: Reader, tenant: str) -> str:
    """An id of the documented form, which is short enough to be taken already."""
    while True:
        id = f"rel-{short_id()}"
        if not rows.events(tenant, id):
            return id


def _same_link(present: Link, link: NewLink) -> bool:
    known = (present.strength, present.attributes)
    return exact(known) == exact((link.strength, link.attributes))


def _text(blocks: Sequence[Block]) -> dict[str, Json]:
    return {"blocks": [block_data(block) for block in blocks], "chunker": CHUNKER}


def _difference(item: Item, blocks: list[Block], patch: Patch) -> dict[str, Json]:
    """The part of a patch that changes something, as the data of an event."""
    data: dict[str, Json] = {}
    if patch.title is not None and patch.title != item.title:
        data["title"] = patch.title
    if patch.status is not None and patch.status != item.status:
        data["status"] = patch.status or None
    if patch.audience is not None and patch.audience != item.audience:
        data["audience"] = patch.audience
    if patch.project is not None and patch.project != (item.project or ""):
        data["project"] = patch.project or None
    if patch.namespace is not None and patch.namespace != (item.namespace or ""):
        data["namespace"] = patch.namespace or None
    if patch.tags is not None and patch.tags != item.tags:
        data["tags"] = list(patch.tags)
    changed = {
        name: value
        for name, value in (patch.attributes or {}).items()
        if name not in item.attributes or exact(item.attributes[name]) != exact(value)
    }
    if changed:
        data["attributes"] = changed
    dropped = [name for name in patch.dropped if name in item.attributes]
    if dropped:
        data["dropped"] = list(dropped)
    if patch.blocks is not None and _text_differs(blocks, patch.blocks):
        data |= _text(patch.blocks)
    return data


def _text_differs(old_blocks: Sequence[Block], new_blocks: Sequence[Block]) -> bool:
    if len(old_blocks) != len(new_blocks):
        return True
    # A new block without a time of its own keeps the time of the old one.
    timed = [
        replace(new, at=new.at or old.at) for new, old in zip(new_blocks, old_blocks, strict=True)
    ]
    return exact(timed) != exact(list(old_blocks))
