"""Random histories of two tenants and their users: whatever happened, the same truths hold."""

import os
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from memolith.bootstrap import App, open_app
from memolith.domain.attributes import Json
from memolith.domain.callers import Audience, Caller
from memolith.domain.events import LINK_EVENTS, Event
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.links import Link
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.engine.tenant_copy import changes_from
from memolith.errors import InvalidInput, MemolithError
from memolith.ports.store import Writer
from tests.conftest import ME, At
from tests.stores import dump_tenant, each_store

pytestmark = each_store
TENANTS = ("acme", "globex")
CALLERS = [
    Caller(tenant, user, project)
    for tenant in TENANTS
    for user in ("ann", "bob")
    for project in (None, "x")
]
VERBS = {
    "remember": 4,
    "revise": 4,
    "tag": 2,
    "append": 2,
    "forget": 1,
    "restore": 1,
    "erase": 1,
    "link": 4,
    "relink": 2,
    "unlink": 2,
    "undo": 4,
}
TEXTS = (
    "zebra",
    "Zebra and tea. ",
    "東京のzebra。",
    "zebra\r\n\tcafé ",
    "A tale of a zebra. " * 70,
    "Zebra" * 90,
)
VALUES: tuple[Json, ...] = (1, True, None, "text", [1, "a"], {"k": 1.5}, "")
LENGTH = 60
MEMORY = "/dev/shm"  # where there is one, a history costs no waiting for a disk
Rows = dict[str, list[dict[str, Any]]]


@contextmanager
def fresh(at: At) -> Iterator[App]:
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        app = open_app(at(Path(folder)))
        try:
            yield app
        finally:
            app.close()
            at.drop(Path(folder))


def dump(app: App, tenant: str) -> Rows:
    """The read models of a tenant."""
    return {
        name: rows
        for name, rows in dump_tenant(app.store, tenant).items()
        if name not in ("event", "access")
    }


def content(app: App, tenant: str) -> Rows:
    """The same without what every event changes: versions, times of change, sums, computed
    certainties.
    """
    rows = {
        name: [
            {field: value for field, value in row.items() if field not in ("version", "updated_at")}
            for row in rows
        ]
        for name, rows in dump(app, tenant).items()
        if name != "sums"
    }
    for row in rows["item"]:
        row["attributes"] = {
            name: value
            for name, value in row["attributes"].items()
            if not name.startswith("certainty_")
        }
    return rows


class World:
    """Plays a history; a refusal is part of life, any other exception a fault."""

    def __init__(self, app: App, seed: int) -> None:
        self.app = app
        self.chance = random.Random(seed)
        self.items: list[tuple[str, str]] = []
        self.links: list[tuple[str, str]] = []
        self.faults: list[str] = []

    def play(self, steps: int = LENGTH) -> "World":
        for _ in range(steps):
            self.step()
        return self

    def step(self) -> tuple[str, Caller, int | None]:
        """A verb, who did it, and the number of the event that it made, if it made exactly one."""
        caller, (verb,) = (
            self.chance.choice(CALLERS),
            self.chance.choices(list(VERBS), list(VERBS.values())),
        )
        before = self.length(caller.tenant)
        try:
            getattr(self, verb)(caller)
        except MemolithError:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, one of the tests below says so
            self.faults.append(f"{verb}: {error!r}")
        return verb, caller, before + 1 if self.length(caller.tenant) == before + 1 else None

    def length(self, tenant: str) -> int:
        with self.app.store.reading(None) as rows:
            return rows.last_seq(tenant)

    def pick(self, caller: Caller, among: str = "items") -> str:
        """Mostly one of the caller's tenant, now and then one of another."""
        known: list[tuple[str, str]] = getattr(self, among)
        own = [id for tenant, id in known if tenant == caller.tenant or self.chance.random() < 0.05]
        return self.chance.choice(own[-6:]) if own else "nothing"

    def remember(self, caller: Caller) -> None:
        audience = self.chance.choice(list(Audience))
        kind = self.chance.choice(("memory", "conversation", "entity", "concept"))
        blocks = tuple(
            self.block() for _ in range(self.chance.randint(0 if kind == "entity" else 1, 3))
        )
        draft = Draft(
            kind,
            "A zebra" if kind == "entity" else self.chance.choice(("", "title")),
            blocks,
            self.tags(),
            self.attributes(),
            "active",
            audience,
            "x" if audience is Audience.PROJECT else None,
        )
        self.items.append((caller.tenant, self.app.engine.writing.remember(caller, draft).item.id))

    def block(self) -> Block:
        choice = self.chance.choice
        return Block(
            choice(TEXTS),
            choice((None, "Ann")),
            choice((None, "2026-01-02")),
            choice((None, "p. 1")),
            self.attributes() if self.chance.random() < 0.3 else {},
        )

    def tags(self) -> tuple[str, ...]:
        return tuple(tag for tag in ("a", "b", "ü") if self.chance.random() < 0.4)

    def attributes(self) -> dict[str, Json]:
        return {
            name: self.chance.choice(VALUES) for name in ("m", "n") if self.chance.random() < 0.5
        }

    def revise(self, caller: Caller) -> None:
        whole = Patch(
            "new zebra",
            tuple(self.block() for _ in range(self.chance.randint(0, 2))),
            self.tags(),
            self.attributes(),
            ("m",),
            "done",
            self.chance.choice(list(Audience)),
            "x",
            "space",
        )
        named = {
            name: getattr(whole, name) for name in Patch.__slots__ if self.chance.random() < 0.3
        }
        self.app.engine.writing.revise(caller, self.pick(caller), Patch(**named))

    def tag(self, caller: Caller) -> None:
        add = self.tags()
        self.app.engine.writing.tag(
            caller, self.pick(caller), add, [tag for tag in self.tags() if tag not in add]
        )

    def append(self, caller: Caller) -> None:
        self.app.engine.writing.append(
            caller, self.pick(caller), [self.block() for _ in range(self.chance.randint(1, 2))]
        )

    def forget(self, caller: Caller) -> None:
        self.app.engine.writing.forget(caller, self.pick(caller))

    def restore(self, caller: Caller) -> None:
        self.app.engine.writing.restore(caller, self.pick(caller))

    def erase(self, caller: Caller) -> None:
        self.app.engine.writing.erase(caller, self.pick(caller))

    def link(self, caller: Caller, again: bool = False) -> None:
        made = self.app.engine.writing.link(
            caller,
            self.pick(caller),
            self.pick(caller),
            self.chance.choice(("about", "not")),
            self.chance.random(),
            self.attributes(),
            again=again,
        )
        self.links.append((caller.tenant, made.id))

    def relink(self, caller: Caller) -> None:
        self.link(caller, again=True)

    def unlink(self, caller: Caller) -> None:
        self.app.engine.writing.unlink(caller, self.pick(caller, "links"))

    def undo(self, caller: Caller) -> None:
        self.app.engine.history.undo(caller, self.length(caller.tenant) - self.chance.randint(0, 6))


# What must hold


def check_typed_errors(at: At, seed: int) -> None:
    with fresh(at) as app:
        assert World(app, seed).play().faults == []


def check_models(at: At, seed: int) -> None:
    with fresh(at) as app:
        World(app, seed).play()
        assert app.engine.maintenance.verify() == []
        before = {tenant: dump(app, tenant) for tenant in TENANTS}
        app.engine.maintenance.rebuild()
        assert {tenant: dump(app, tenant) for tenant in TENANTS} == before
        assert app.engine.maintenance.verify() == []


def check_copies(at: At, seed: int) -> None:
    with fresh(at) as app, fresh(at) as other:
        World(app, seed).play()
        for tenant in TENANTS:
            for name in (tenant, f"copy of {tenant}"):
                other.engine.maintenance.import_(
                    Caller(name), list(app.engine.maintenance.export(tenant))
                )
                assert dump(other, name) == dump(app, tenant)
                assert [
                    line.partition('"event"')[2] for line in other.engine.maintenance.export(name)
                ] == [
                    line.partition('"event"')[2] for line in app.engine.maintenance.export(tenant)
                ]
        assert other.engine.maintenance.verify() == []


def check_batches(at: At, seed: int) -> None:
    """Events that are written together give the rows that they give one after the other."""
    with fresh(at) as app:
        World(app, seed).play()
        for tenant in TENANTS:
            with app.store.reading(tenant) as rows:
                events = list(rows.events_after(tenant, 0))
            with app.store.writing(f"{tenant} singly") as rows:
                append_all(rows, events)
            with app.store.writing(f"{tenant} together") as rows, rows.batch():
                append_all(rows, events)
            singly = dump_tenant(app.store, f"{tenant} singly")
            assert dump_tenant(app.store, f"{tenant} together") == singly
        assert app.engine.maintenance.verify() == []


def append_all(rows: Writer, events: Sequence[Event]) -> None:
    """Append events to a tenant without reading any row."""
    state: dict[str, Item | Link | None] = {}
    for event in events:
        own = event._replace(tenant=rows.tenant)
        changes = changes_from(state.get(event.stream), own)
        rows.append(own, changes)
        state[event.stream] = changes.item or changes.link


def check_undo(at: At, seed: int) -> None:
    with fresh(at) as app:
        world = World(app, seed)
        for _ in range(LENGTH):
            before = {tenant: content(app, tenant) for tenant in TENANTS}
            verb, caller, seq = world.step()
            if seq is None or verb in ("remember", "erase") or world.chance.random() < 0.5:
                continue
            admin, after = replace(caller, admin=True), content(app, caller.tenant)
            app.engine.history.undo(admin, seq)
            assert content(app, caller.tenant) == before[caller.tenant]
            app.engine.history.undo(admin, seq + 1)
            assert content(app, caller.tenant) == after
        assert app.engine.maintenance.verify() == []


def sees(caller: Caller, tenant: str, row: dict[str, Any]) -> bool:
    owner, audience, project = (row[name] for name in ("owner", "audience", "project"))
    return caller.tenant == tenant and (
        owner == caller.user
        or audience == "org"
        or (audience == "project" and project is not None and project == caller.project)
    )


def check_present(at: At, seed: int) -> None:
    with fresh(at) as app:
        world = World(app, seed).play()
        rows = {tenant: dump(app, tenant) for tenant in TENANTS}
        for caller in CALLERS:
            shown = {
                row["id"]
                for tenant in TENANTS
                for row in rows[tenant]["item"]
                if sees(caller, tenant, row) and not row["forgotten"]
            }
            assert {id for _, id in world.items if readable(app, caller, id)} == shown
            page = app.engine.reading.list_items(caller, limit=100)
            assert ({item.id for item in page.items}, page.total) == (shown, len(shown))
            for mode in ("text", "hybrid"):
                found = app.engine.recall.search(
                    caller, Query("zebra title", mode=mode, limit=1000)
                )
                assert {hit.item.id for hit in found.hits} <= shown
                assert {hit.passage.item for hit in found.hits} == {
                    hit.item.id for hit in found.hits
                }
            worded = {
                row["item"]
                for row in rows[caller.tenant]["passage"]
                if "zebra" in row["text"].lower().split()
            }
            assert worded & shown <= {hit.item.id for hit in found.hits}
            for id in shown:
                ends = {
                    row["id"]: {row["source"], row["target"]} for row in rows[caller.tenant]["link"]
                }
                assert {link.id for link in app.engine.graph.explore(caller, id).links} == {
                    link for link, both in ends.items() if id in both and both <= shown
                }


def readable(app: App, caller: Caller, id: str) -> bool:
    many = app.engine.reading.read_many(caller, [id])
    try:
        assert app.engine.reading.read(caller, id) == many[0]
    except MemolithError:
        assert many == []
        return False
    return True


def check_past(at: At, seed: int) -> None:
    with fresh(at) as app:
        world = World(app, seed).play(LENGTH // 2)
        middle = app.clock.now()
        world.play(LENGTH // 2)
        rows = {tenant: dump(app, tenant)["item"] for tenant in TENANTS}
        for caller in CALLERS:
            shown = {
                row["id"] for tenant in TENANTS for row in rows[tenant] if sees(caller, tenant, row)
            }
            found = app.engine.recall.search(
                caller, Query("zebra title", mode="text", limit=1000, as_of=middle)
            )
            assert {hit.item.id for hit in found.hits} <= shown
            for id in shown:
                for event in (step.event for step in app.engine.history.history(caller, id)):
                    ends = (
                        {event.data["source"], event.data["target"]}
                        if event.type == "linked"
                        else set()
                    )
                    assert event.type in LINK_EVENTS or event.stream == id
                    assert ends <= shown


def histories(check: Callable[[At, int], None], examples: int) -> Callable[[], None]:
    def test(at: At, seed: int) -> None:
        # One history in five is enough where each of them takes many times as long.
        if not at.remote or seed % 5 == 0:
            check(at, seed)

    # A history is made from its seed, so there is nothing to shrink.
    chosen = settings(
        max_examples=examples,
        deadline=None,
        derandomize=examples < 100,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    return chosen(given(seed=st.integers(0, 2**32))(test))


MANY = 200
"""How many histories the full run plays; they are others each time, so the runs add up."""

test_no_history_meets_an_error_without_a_type = histories(check_typed_errors, 30)
test_read_models_equal_replay_and_rebuild = histories(check_models, 15)
test_an_export_gives_equal_read_models_under_any_name = histories(check_copies, 10)
test_a_batch_gives_the_rows_of_single_events = histories(check_batches, 15)
test_undo_restores_the_state_byte_for_byte = histories(check_undo, 12)
test_nothing_outside_ones_audience_is_seen = histories(check_present, 12)
test_nothing_outside_ones_audience_is_seen_in_the_past = histories(check_past, 15)
test_no_history_meets_an_error_without_a_type_at_length = pytest.mark.full(
    histories(check_typed_errors, MANY)
)
test_read_models_equal_replay_and_rebuild_at_length = pytest.mark.full(
    histories(check_models, MANY)
)
test_an_export_gives_equal_read_models_under_any_name_at_length = pytest.mark.full(
    histories(check_copies, MANY)
)
test_a_batch_gives_the_rows_of_single_events_at_length = pytest.mark.full(
    histories(check_batches, MANY)
)
test_undo_restores_the_state_byte_for_byte_at_length = pytest.mark.full(histories(check_undo, MANY))
test_nothing_outside_ones_audience_is_seen_at_length = pytest.mark.full(
    histories(check_present, MANY)
)
test_nothing_outside_ones_audience_is_seen_in_the_past_at_length = pytest.mark.full(
    histories(check_past, MANY)
)


# Any text at all

ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=400)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(texts=st.lists(ANY, min_size=1, max_size=4), title=ANY, tag=ANY, speaker=ANY)
def test_any_text_comes_back_as_it_was_and_its_index_is_right(
    at: At, texts: list[str], title: str, tag: str, speaker: str
) -> None:
    with fresh(at) as app:
        blocks = tuple(Block(text, speaker) for text in texts)
        try:
            written = app.engine.writing.remember(ME, Draft("conversation", title, blocks, (tag,)))
        except InvalidInput:
            assume(False)
        item, read = app.engine.reading.read(ME, written.item.id)
        if not written.redactions:
            assert [block.text for block in read] == texts
            assert (item.title, item.tags) == (" ".join(title.split()), (tag.strip(),))
        for words in (re.findall(r"(?<!\S)[a-z]{3,}(?!\S)", text) for text in texts):
            if words:
                found = app.engine.recall.search(ME, Query(f'"{words[0]}"', mode="text"))
                assert found.total or written.redactions
        app.engine.writing.revise(
            ME, item.id, Patch(title="other", blocks=(Block("plain"),), tags=())
        )
        assert app.engine.maintenance.verify() == []
