"""The promises of the `Store` port: every store's test module inherits them all."""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memolith.domain.attributes import Json
from memolith.domain.callers import Audience, Caller
from memolith.domain.clock import iso
from memolith.domain.events import Event, EventFilter
from memolith.domain.fold import fold
from memolith.domain.items import Draft, Item, Patch, Superseded
from memolith.domain.links import DISTINCT_FROM, Direction
from memolith.domain.passages import ORDINAL_BITS, Block, PassageRef, passage_ref
from memolith.domain.queries import Filter
from memolith.engine.engine import Engine
from memolith.engine.matching import checked
from memolith.engine.verification import differences
from memolith.errors import (
    AlreadyExists,
    InvalidInput,
    MemolithError,
    SchemaTooNew,
    StoreBusy,
    VersionConflict,
)
from memolith.ports.answers import KeptAnswer
from memolith.ports.client_keys import ClientKey
from memolith.ports.event_log import StreamsWanted
from memolith.ports.items import OpenPair
from memolith.ports.outbox import Job
from memolith.ports.store import Reader, Store, Writer
from memolith.ports.text_index import Statistics
from memolith.ports.usage import ClientCalls, ItemRead, ReadsWanted, TitledRead
from memolith.ports.vector_rows import NewVector
from memolith.ports.vectors import Vectors
from memolith.storage import statements, terms
from memolith.storage.client_keys import StoredKeys
from memolith.storage.reader import TERMS_RECORD
from tests.conftest import ME, note
from tests.contracts.choices import FILTERS, ITEMS, MODEL, PASSAGES, vector_of
from tests.stores import (
    dump,
    dump_tenant,
    engine_on,
    keys_on,
    numbers,
    open_store,
    row_on,
    tags_of,
    vectors_on,
)

APPENDER = Path(__file__).with_name("appender.py")
THEM = Caller("globex", "ann")
LATER = "2030-01-01T00:00:00.000000Z"
EVEN_LATER = "2031-01-01T00:00:00.000000Z"
# A store may refuse what the engine never does with an error of its driver.
HOSTILE = [
    "'",
    '"; drop table item; --',
    "%",
    "*",
    "_",
    "\\",
    "a b",
    "東京🦓",
    "é",
    "e\u0301",
    "A",
    "a",
    "$1",
    "{}",
    "../..",
    "null",
    "0",
    "t" * 5000,
    "\u202e",
    " leading",
    "a:b",
    "a\nb",
]
SYNTAX = [
    "'",
    '"',
    "\\",
    ":",
    "&",
    "|",
    "!",
    "<->",
    "( )",
    "zebra:*",
    "it's",
    "a & b",
    "!zebra",
    "zebra <-> okapi",
    "%",
    "*",
    "NEAR",
    "AND",
    "OR",
    "NOT",
    "^x",
    "{body}",
    "-x",
    "$1",
    "''",
    '""',
    "\\'",
    "a:b",
    "",
    " ",
    "'zebra':1A",
]
T0 = iso(1_800_000_000_000_000)
Fresh = Callable[[], Store]
Stage = Callable[..., Vectors]


def moment(seconds: float) -> str:
    return iso(1_900_000_000_000_000 + int(seconds * 1_000_000))


def data_of(text: str, **fields: object) -> dict[str, Any]:
    """The data of an event that remembers a text."""
    return {
        "kind": "memory",
        "title": "",
        "status": "active",
        "owner": "local",
        "audience": "user",
        "tags": [],
        "attributes": {},
        "blocks": [{"text": text}],
        "chunker": 1,
        **fields,
    }


def append(
    rows: Writer,
    stream: str,
    before: Item | None = None,
    type: str = "remembered",
    at: str = T0,
    key: str | None = None,
    **data: object,
) -> Event:
    """Write one event as the engine does."""
    version = before.version if before else 0
    event = rows.next_event(
        stream,
        version + 1,
        type,
        data or data_of(f"text {stream}"),  # type: ignore[arg-type]
        "local",
        at,
        key,
    )
    rows.append(event, fold(before, event))
    return event


def append_all(rows: Writer, *streams: str) -> None:
    for stream in streams:
        append(rows, stream)


@contextmanager
def taken_back(store: Store, tenant: str = "local") -> Iterator[Writer]:
    """Writes that fail in the end."""
    with suppress(ZeroDivisionError), store.writing(tenant) as rows:
        yield rows
        raise ZeroDivisionError


def search(
    store: Store,
    text: str,
    chosen: Filter = Filter(),
    caller: Caller = ME,
    phrases: Sequence[str] = (),
    every: bool = False,
    limit: int = 1000,
) -> list[str]:
    """The ids of the items whose passages are found, best first."""
    with store.reading(caller.tenant) as rows:
        found = rows.search_text(
            caller,
            checked(chosen),
            terms.query_terms(text),
            [terms.terms(phrase) for phrase in phrases],
            every,
            limit,
        )
        assert [one[1] for one in found] == sorted((one[1] for one in found), reverse=True)
        items = rows.passages_at([one[0] for one in found])
    return [items[one[0]][0].id for one in found]


def nearest(
    store: Store,
    stage: Vectors,
    query: bytes,
    chosen: Filter = Filter(),
    caller: Caller = ME,
    limit: int = 10,
) -> list[str]:
    """The ids of the items whose passages are nearest, best first."""
    with store.reading(caller.tenant) as rows:
        found = stage.nearest(rows, caller, checked(chosen), query, limit)
        items = rows.passages_at([one[0] for one in found])
    assert [one[1] for one in found] == sorted((one[1] for one in found), reverse=True)
    return [items[one[0]][0].id for one in found]


def listed(
    store: Store, chosen: Filter = Filter(), caller: Caller = ME, **how: object
) -> list[str]:
    with store.reading(caller.tenant) as rows:
        return [item.id for item in rows.list_items(caller, checked(chosen), **how).items]  # type: ignore[arg-type]


def embed(
    store: Store,
    id: str,
    vector: bytes,
    caller: Caller = ME,
    model: str = MODEL,
    digest: bytes = b"d" * 16,
) -> list[PassageRef]:
    """Give every passage of an item the same vector; the numbers of the passages."""
    with store.writing(caller.tenant) as rows:
        refs = [ref for ref, _, _ in rows.unembedded(caller.tenant, id, model)]
        for ref in refs:
            rows.put_vector(ref, model, digest, row_on(store, vector))
    return refs


def lease(
    store: Store, seconds: float, limit: int = 10, tenant: str | None = None, lease_s: int = 60
) -> list[Job]:
    with store.writing(tenant) as rows:
        return rows.lease_jobs("embed", moment(seconds), limit, lease_s, tenant)


def streams(jobs: Sequence[Job]) -> list[str]:
    return [job.stream for job in jobs]


def outbox(store: Store, tenant: str | None = "local") -> dict[str, int]:
    with store.reading(tenant) as rows:
        return {status: count for (_, status), count in rows.outbox_counts(tenant).items()}


def started(address: str, tenant: str, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(APPENDER), address, tenant, name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


def whole(store: Store, tenant: str, count: int) -> list[Event]:
    """The log of a tenant, which has so many events without a gap."""
    with store.reading(tenant) as rows:
        events = list(rows.events_after(tenant, 0))
        assert rows.last_seq(tenant) == count
    assert [event.seq for event in events] == list(range(1, count + 1))
    assert [event.at for event in events] == sorted(event.at for event in events)
    return events


def _remember_marked(store: Store) -> Engine:
    """Two items, of which the new one replaces the old one."""
    engine = engine_on(store)
    engine.writing.remember(ME, note("the old text", id="old"))
    engine.writing.remember(ME, note("the new text", id="new"))
    with store.writing("local") as rows:
        rows.put_superseded("old", "new", LATER)
    return engine


class StoreContract:
    """What every store keeps to."""

    # The log

    def test_an_empty_store_answers_everything_with_nothing(self, store: Store) -> None:
        with store.reading(None) as rows:
            assert (rows.tenants(), rows.outbox_errors(), rows.models()) == ([], [], {})
        with store.reading("local") as rows:
            assert (rows.last_seq("local"), rows.item("local", "a"), rows.events("local", "a")) == (
                0,
                None,
                [],
            )
            assert (rows.event_by_seq("local", 1), rows.event_by_key("local", "local", "k")) == (
                None,
                None,
            )
            assert (
                rows.items("local", ["a"]),
                rows.items("local", []),
                rows.passages("local", "a"),
            ) == ({}, {}, [])
            assert (list(rows.all_items("local")), list(rows.all_links("local"))) == ([], [])
            assert (rows.statistics("local", ["x"]), rows.speakers("local")) == (
                Statistics(0, 0.0, {}),
                [],
            )
            assert (
                rows.list_items(ME, Filter()).total,
                rows.count_items_by(ME, Filter(), "kind"),
            ) == (0, {})
            assert (rows.outbox_counts("local"), rows.count_waiting("local", "embed")) == ({}, 0)
        assert (search(store, "zebra"), store.check(), dump(store)) == ([], [], {})

    def test_an_event_is_read_back_as_it_was_written_by_every_way_there_is(
        self, store: Store, reopen: Fresh
    ) -> None:
        odd = data_of(
            "é🦓\r\n\t 'q' \\",
            attributes={"n": [1, 2.5, None, True, {"k": "v"}], "big": 2**70, "x": 1e300},
        )
        with store.writing("local") as rows:
            first = append(rows, "a", key="k", **odd)
            item = rows.item("local", "a")
            second = append(rows, "a", item, "tagged", added=["t"])
        for opened in (store, reopen()):
            with opened.reading("local") as rows:
                assert (
                    rows.events("local", "a")
                    == list(rows.events_after("local", 0))
                    == [first, second]
                )
                assert json.dumps(
                    dict(rows.events("local", "a")[0].data), sort_keys=True
                ) == json.dumps(odd, sort_keys=True)
                assert (rows.event_by_seq("local", 1), rows.event_by_seq("local", 2)) == (
                    first,
                    second,
                )
                assert (
                    list(rows.events_after("local", 1))
                    == list(rows.events_after("local", 1, 1))
                    == [second]
                )
                assert list(rows.events_after("local", 0, 1)) == [first]
                assert rows.event_by_key("local", "local", "k") == first
                assert [rows.event_by_seq("local", seq) for seq in (0, -1, 3, 2**63, 10**30)] == [
                    None
                ] * 5
                assert (
                    rows.streams("local"),
                    rows.tenants() if opened is store else ["local"],
                ) == (["a"], ["local"])

    def test_what_fails_in_the_middle_leaves_nothing(self, store: Store, engine: Engine) -> None:
        engine.writing.remember(ME, note("kept", id="kept"))
        before = dump(store)
        with taken_back(store) as rows:
            append(rows, "a")
            rows.queue("embed", "a", 2)
            rows.add_accesses({"kept": (1, T0)})
        assert (dump(store), outbox(store)) == (before, {"pending": 1})

    def test_events_are_listed_newest_first_for_those_who_see_the_item(
        self, store: Store, engine: Engine
    ) -> None:
        ann = Caller(user="ann")
        engine.writing.remember(ME, note("Otters hold hands.", id="otters"))
        engine.writing.remember(ME, note("Kelp grows.", id="kelp", audience=Audience.ORG))
        engine.writing.link(ME, "otters", "kelp", "eats")
        engine.writing.remember(ann, note("A diary.", id="diary"))
        engine.writing.erase(ann, "diary")
        with store.reading(ME.tenant) as rows:

            def numbers(caller: Caller, chosen: EventFilter = EventFilter()) -> list[int]:
                return [head.seq for head in rows.list_events(caller, chosen, 10)]

            assert numbers(ME) == [3, 2, 1]
            assert numbers(ann) == [5, 4, 2]
            assert numbers(replace(ME, admin=True)) == [5, 4, 3, 2, 1]
            assert numbers(replace(ME, bound_to=("zoo",), admin=True)) == [3, 2, 1]
            assert numbers(ME, EventFilter(after=1, before=3)) == [2]
            assert numbers(ME, EventFilter(types=("linked",))) == [3]
            assert numbers(ME, EventFilter(actor="ann")) == []
            assert numbers(ME, EventFilter(kinds=("memory",))) == [2, 1]
            assert rows.list_events(ME, EventFilter(), 1)[0].type == "linked"
            assert rows.newest_versions(ME.tenant, ["otters", "diary"]) == {"otters": 1, "diary": 2}

    def test_the_last_event_up_to_a_time_is_found(self, store: Store, engine: Engine) -> None:
        for number in range(5):
            engine.writing.remember(ME, note(f"Fact {number}.", id=f"fact{number}"))
        with store.reading(ME.tenant) as rows:
            times = [event.at for event in rows.events_after(ME.tenant, 0)]
            assert [rows.last_seq_at(ME.tenant, at) for at in times] == [1, 2, 3, 4, 5]
            assert rows.last_seq_at(ME.tenant, "2020") == 0
            assert rows.last_seq_at(ME.tenant, LATER) == 5
            assert rows.last_seq_at("nobody", LATER) == 0

    def test_what_was_written_is_counted_by_day_and_by_actor(
        self, store: Store, engine: Engine
    ) -> None:
        ann = Caller(user="ann")
        engine.writing.remember(ME, note("Otters hold hands.", id="otters"))
        engine.writing.remember(ME, note("Kelp grows.", id="kelp", audience=Audience.ORG))
        engine.writing.link(ME, "otters", "kelp", "eats")
        engine.writing.remember(ann, note("A diary.", id="diary"))
        with store.reading(ME.tenant) as rows:
            day = next(rows.events_after(ME.tenant, 0)).at[:10]
            assert rows.count_items_by_day(ME, Filter(), 0) == {day: 2}
            assert rows.count_items_by_day(ME, Filter(), 1) == {day: 1}
            assert rows.count_items_by_day(ann, Filter(), 0) == {day: 2}
            assert rows.count_events_by_actor(ME, 0) == {"local": 3}
            assert rows.count_events_by_actor(ann, 0) == {"local": 1, "ann": 1}
            admin = replace(ME, admin=True)
            assert rows.count_events_by_actor(admin, 0) == {"local": 3, "ann": 1}
            assert rows.count_events_by_actor(admin, 2) == {"local": 1, "ann": 1}
        engine.writing.forget(ME, "otters")
        with store.reading(ME.tenant) as rows:
            assert rows.count_items_by_day(ME, Filter(), 0) == {day: 1}

    def test_an_item_names_those_that_it_replaced(self, store: Store, engine: Engine) -> None:
        for id in ("old", "older", "new"):
            engine.writing.remember(ME, note(f"Otters weigh {id}.", id=id))
        with store.writing(ME.tenant) as rows:
            rows.put_superseded("older", "new", LATER)
            rows.put_superseded("old", "new", EVEN_LATER)
        with store.reading(ME.tenant) as rows:
            assert rows.superseding(ME.tenant, "new") == ["old", "older"]
            assert rows.superseding(ME.tenant, "old") == []

    def test_what_names_notes_is_read_without_them(self, store: Store, engine: Engine) -> None:
        named = {"path": "drinks/Tea.md", "permalink": "tea", "unresolved_links": ["Cups"]}
        odd = {"path": 5, "permalink": ["x"], "unresolved_links": "x"}
        engine.writing.remember(ME, note("Tea.", id="tea", title="Tea", attributes=named))
        engine.writing.remember(ME, note("Odd.", id="odd", project="p", attributes=odd))
        engine.writing.remember(ME, note("Bare.", id="bare"))
        engine.writing.remember(ME, Draft("entity", "Kelp", id="kelp"))
        with store.reading(ME.tenant) as rows:
            found = {row.id: row for row in rows.note_rows(ME, Filter(kinds=("memory",)))}
            others = rows.note_rows(Caller(ME.tenant, "bob"), Filter(kinds=("memory",)))
        assert others == []
        assert set(found) == {"tea", "odd", "bare"}
        waiting = found["tea"].waiting
        assert waiting is not None
        assert json.loads(waiting) == ["Cups"]
        assert found["tea"][:5] == ("tea", "Tea", None, "drinks/Tea.md", "tea")
        assert found["odd"] == ("odd", "", "p", None, None, '"x"')
        assert found["bare"] == ("bare", "", None, None, None, None)

    def test_the_beginnings_of_texts_are_read(self, store: Store, engine: Engine) -> None:
        engine.writing.remember(ME, note("Otters hold hands.", id="otters"))
        engine.writing.remember(ME, Draft("entity", "Kelp", id="kelp"))
        with store.reading(ME.tenant) as rows:
            found = rows.beginnings(ME.tenant, ["otters", "kelp", "none"], 6)
        assert {id: text for id, text in found.items() if text} == {"otters": "Otters"}

    def test_a_version_is_written_once(self, store: Store) -> None:
        with store.writing("local") as rows:
            append(rows, "a")
        before = dump(store)
        with pytest.raises(VersionConflict), store.writing("local") as rows:
            append_all(rows, "b", "a")
        assert dump(store) == before
        with store.writing("other") as rows:
            assert append(rows, "a").seq == 1

    def test_an_idempotency_key_is_used_once_per_actor_and_tenant(self, store: Store) -> None:
        with store.writing("local") as rows:
            append(rows, "a", key="k")
        with pytest.raises(AlreadyExists), store.writing("local") as rows:
            append(rows, "b", key="k")
        with store.writing("other") as rows:
            append(rows, "b", key="k")
        with store.reading("local") as rows:
            assert rows.event_by_key("local", "local", "k").stream == "a"  # type: ignore[union-attr]
            assert rows.event_by_key("local", "ann", "k") is None

    def test_a_row_that_another_constraint_refuses_is_no_conflict_of_versions(
        self, store: Store
    ) -> None:
        with pytest.raises(MemolithError) as caught, store.writing("local") as rows:
            rows.put_record("local", "broken", None)  # type: ignore[arg-type]
        assert type(caught.value) is MemolithError
        assert "refuses a row" in caught.value.message

    def test_a_part_that_fails_is_taken_back_alone(self, store: Store) -> None:
        with store.writing("local") as rows:
            append(rows, "a")
            with suppress(InvalidInput), rows.savepoint():
                append(rows, "b")
                raise InvalidInput
            append(rows, "c")
        with store.reading("local") as rows:
            assert [event.stream for event in rows.events_after("local", 0)] == ["a", "c"]
            assert rows.last_seq("local") == 2
        assert differences(store, "local") == []

    def test_what_a_batch_has_written_is_read_at_once(self, store: Store, engine: Engine) -> None:
        with store.writing(ME.tenant) as rows, rows.batch():
            for number in range(3):
                event = rows.next_event(
                    f"s{number}", 1, "remembered", data_of("zebra"), "ann", moment(number)
                )
                rows.append(event, fold(None, event))
                item = rows.item(ME.tenant, f"s{number}")
                assert item is not None
                assert item.seq == number + 1
                assert len(list(rows.events_after(ME.tenant, 0))) == number + 1
                assert rows.statistics(ME.tenant, ("zebra",)).passages == number + 1
            assert rows.present_streams(ME.tenant, ["s0", "s2", "s9"]) == {"s0", "s2"}
        assert differences(store, ME.tenant) == []

    def test_a_project_that_changes_in_a_batch_is_read_anew(self, store: Store) -> None:
        with store.writing(ME.tenant) as rows, rows.batch():
            assert rows.items_titled(ME.tenant, "project", "Zoo") == []
            data = data_of("zebra", kind="project", title="Zoo")
            event = rows.next_event("p", 1, "remembered", data, "ann", moment(1))
            rows.append(event, fold(None, event))
            (item,) = rows.items_titled(ME.tenant, "project", "Zoo")
            gone = rows.next_event("p", 2, "erased", {}, "ann", moment(2))
            rows.append(gone, fold(item, gone))
            assert rows.items_titled(ME.tenant, "project", "Zoo") == []

    def test_a_batch_that_fails_leaves_nothing(self, store: Store) -> None:
        with store.writing(ME.tenant) as rows:
            with suppress(ZeroDivisionError), rows.savepoint(), rows.batch():
                event = rows.next_event("a", 1, "remembered", data_of("zebra"), "ann", moment(1))
                rows.append(event, fold(None, event))
                raise ZeroDivisionError
            assert rows.present_streams(ME.tenant, ["a"]) == set()
            again = rows.next_event("b", 1, "remembered", data_of("okapi"), "ann", moment(1))
            rows.append(again, fold(None, again))
        with store.reading(ME.tenant) as rows:
            assert [event.stream for event in rows.events_after(ME.tenant, 0)] == ["b"]
        assert differences(store, ME.tenant) == []

    @pytest.mark.parametrize("waiting_rows", [5000, 10, 2])
    @pytest.mark.parametrize("type", ["configured", "remembered"])
    def test_a_second_event_of_a_version_in_a_batch_is_refused(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, type: str, waiting_rows: int
    ) -> None:
        monkeypatch.setattr(statements, "MAX_WAITING_ROWS", waiting_rows)
        data = {"name": "x"} if type == "configured" else data_of("zebra")

        def write_twice() -> None:
            with store.writing(ME.tenant) as rows, rows.batch():
                for number, stream in enumerate(("first", "a", "a", "last")):
                    event = rows.next_event(stream, 1, type, data, "ann", moment(number))
                    rows.append(event, fold(None, event))

        for _ in range(5):
            with pytest.raises(VersionConflict):
                write_twice()
        with store.reading(ME.tenant) as rows:
            assert rows.last_seq(ME.tenant) == 0

    def test_writes_go_on_after_many_that_were_refused(self, store: Store, engine: Engine) -> None:
        def write_twice() -> None:
            with store.writing(ME.tenant) as rows:
                for number in range(2):
                    event = rows.next_event(
                        "a", 1, "remembered", data_of("zebra"), "ann", moment(number)
                    )
                    rows.append(event, fold(None, event))

        # A driver may think that it has prepared what the server has passed over.
        for _ in range(8):
            with pytest.raises(VersionConflict):
                write_twice()
            engine.writing.remember(ME, note("okapi"))
        assert differences(store, ME.tenant) == []

    def test_an_error_of_the_program_is_told_even_if_a_row_was_refused(self, store: Store) -> None:
        def write_twice_and_fail() -> None:
            with store.writing(ME.tenant) as rows, rows.savepoint(), rows.batch():
                for number in range(2):
                    event = rows.next_event(
                        "a", 1, "configured", {"name": "x"}, "ann", moment(number)
                    )
                    rows.append(event, fold(None, event))
                raise ZeroDivisionError

        for _ in range(5):
            with pytest.raises(ZeroDivisionError):
                write_twice_and_fail()
        with store.reading(ME.tenant) as rows:
            assert rows.last_seq(ME.tenant) == 0

    def test_an_answer_is_kept_per_actor_and_key_and_replaced(self, store: Store) -> None:
        first = KeptAnswer("ann", "k", "r", "first", False, T0)
        with store.writing("local") as rows:
            rows.put_answer("local", first)
            rows.put_answer("local", first._replace(actor="bob", body="of bob", sealed=True))
            rows.put_answer("local", first._replace(body="second"))
        with store.reading("local") as rows:
            assert rows.answer("local", "ann", "k") == first._replace(body="second")
            assert [answer.body for answer in rows.answers("local")] == ["second", "of bob"]
            assert rows.answer("local", "ann", "other") is None
        with store.reading("other") as rows:
            assert rows.answer("other", "ann", "k") is None

    def test_a_mark_tells_which_item_replaced_another_and_when(self, store: Store) -> None:
        _remember_marked(store)
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old", "new", "none"]) == {
                "old": Superseded("new", LATER)
            }
            assert rows.superseded("local", []) == {}
        with store.reading("globex") as rows:
            assert rows.superseded("globex", ["old"]) == {}

    def test_of_several_marks_the_newest_is_told(self, store: Store) -> None:
        engine = _remember_marked(store)
        engine.writing.remember(ME, note("newest", id="newest"))
        with store.writing("local") as rows:
            rows.put_superseded("old", "newest", EVEN_LATER)
            rows.put_superseded("old", "newest", EVEN_LATER)
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"]) == {"old": Superseded("newest", EVEN_LATER)}

    @pytest.mark.parametrize("id", ["old", "new"])
    def test_a_mark_goes_with_the_text_of_either_item(self, store: Store, id: str) -> None:
        engine = _remember_marked(store)
        engine.writing.revise(ME, id, Patch(tags=("kept",)))
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"]), "a tag is no text"
        engine.writing.revise(ME, id, Patch(blocks=(Block("other words"),)))
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"]) == {}

    @pytest.mark.parametrize("id", ["old", "new"])
    def test_a_mark_goes_with_a_new_title(self, store: Store, id: str) -> None:
        engine = _remember_marked(store)
        engine.writing.revise(ME, id, Patch(title="New title"))
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"]) == {}

    @pytest.mark.parametrize("id", ["old", "new"])
    def test_a_mark_goes_with_the_erasure_of_either_item(self, store: Store, id: str) -> None:
        engine = _remember_marked(store)
        engine.writing.erase(ME, id)
        engine.writing.remember(ME, note("again", id=f"{id}er"))
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old", "older"]) == {}

    def test_a_forgotten_item_replaces_nothing_until_it_is_restored(self, store: Store) -> None:
        engine = _remember_marked(store)
        engine.writing.forget(ME, "new")
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"]) == {}
        engine.writing.restore(ME, "new")
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"])

    def test_a_mark_tells_nothing_of_an_item_that_others_see(self, store: Store) -> None:
        engine = _remember_marked(store)
        engine.writing.revise(ME, "old", Patch(audience=Audience.ORG))
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"]) == {}

    def test_an_expired_item_replaces_nothing(self, store: Store) -> None:
        engine = _remember_marked(store)
        engine.writing.revise(ME, "new", Patch(attributes={"expires_at": "2000-01-01T00:00:00Z"}))
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"]) == {}

    def test_a_rebuild_drops_marks_and_queues_the_items_to_be_compared(self, store: Store) -> None:
        engine = _remember_marked(store)
        engine.maintenance.rebuild()
        with store.reading("local") as rows:
            assert rows.superseded("local", ["old"]) == {}
            assert rows.count_waiting("local", "embed") == 2

    def test_pairs_wait_until_they_are_decided_the_newest_first(self, store: Store) -> None:
        engine = _remember_marked(store)
        engine.writing.remember(ME, note("the copy", id="copy"))
        with store.writing("local") as rows:
            rows.put_superseded("old", "new", LATER, 0.75, "what differs")
            rows.put_duplicate("copy", "new", 0.5)
            rows.put_duplicate("copy", "new", 0.9)
            rows.put_duplicate("new", "old", 1.0)
        changed = OpenPair("contradiction", "old", "new", 0.75, "what differs")
        same = OpenPair("duplicate", "new", "copy", 0.9, None)
        with store.reading("local") as rows:
            assert rows.open_pairs(ME, "", 10, 0) == [same, changed]
            assert rows.open_pairs(ME, "", 1, 0) == [same]
            assert rows.open_pairs(ME, "", 10, 1) == [changed]
            assert rows.open_pairs(ME, "duplicate", 10, 0) == [same]
            assert rows.open_pairs(ME, "contradiction", 10, 0) == [changed]
            assert rows.open_pairs(replace(ME, user="bob"), "", 10, 0) == []
            assert rows.count_open_pairs(ME, "", 10) == 2
            assert rows.count_open_pairs(ME, "", 1) == 1
            assert rows.count_open_pairs(ME, "duplicate", 10) == 1
        with store.reading("globex") as rows:
            assert rows.count_open_pairs(replace(ME, tenant="globex"), "", 10) == 0

    @pytest.mark.parametrize(("source", "target"), [("old", "new"), ("new", "old")])
    def test_a_link_says_that_two_items_are_two_things(
        self, store: Store, source: str, target: str
    ) -> None:
        engine = _remember_marked(store)
        link = engine.writing.link(ME, source, target, DISTINCT_FROM)
        with store.reading("local") as rows:
            assert rows.open_pairs(ME, "", 10, 0) == []
            assert rows.superseded("local", ["old"]) == {}
        engine.writing.unlink(ME, link.id)
        with store.reading("local") as rows:
            assert rows.count_open_pairs(ME, "", 10) == 1
            assert rows.superseded("local", ["old"])

    @pytest.mark.parametrize("id", ["old", "new"])
    @pytest.mark.parametrize("change", ["forget", "erase", "revise", "expire", "rebuild"])
    def test_a_pair_does_not_wait_without_both_texts(
        self, store: Store, id: str, change: str
    ) -> None:
        engine = engine_on(store)
        for name in ("old", "new"):
            engine.writing.remember(ME, note(f"the {name} text", id=name))
        with store.writing("local") as rows:
            rows.put_duplicate("new", "old", 1.0)
        with store.reading("local") as rows:
            assert rows.count_open_pairs(ME, "", 10) == 1
        if change == "forget":
            engine.writing.forget(ME, id)
        elif change == "erase":
            engine.writing.erase(ME, id)
        elif change == "revise":
            engine.writing.revise(ME, id, Patch(blocks=(Block("other words"),)))
        elif change == "expire":
            past = Patch(attributes={"expires_at": "2000-01-01T00:00:00Z"})
            engine.writing.revise(ME, id, past)
        else:
            engine.maintenance.rebuild()
        with store.reading("local") as rows:
            assert rows.count_open_pairs(ME, "", 10) == 0
            assert rows.open_pairs(ME, "", 10, 0) == []

    def test_answers_are_removed_by_age(self, store: Store) -> None:
        with store.writing("local") as rows:
            for key, at in (("a", "2020"), ("b", "2022")):
                rows.put_answer("local", KeptAnswer("ann", key, "r", "{}", False, at))
        with store.writing(None) as rows:
            assert rows.has_answers("2021")
            rows.delete_answers("2021")
            assert not rows.has_answers("2021")
        with store.reading("local") as rows:
            assert [answer.key for answer in rows.answers("local")] == ["b"]

    def test_numbers_are_gapless_per_tenant_also_after_a_failure(self, store: Store) -> None:
        for n in range(3):
            with store.writing("local") as rows:
                append(rows, f"a{n}")
                append(rows, f"b{n}")
            with taken_back(store) as rows:
                append(rows, f"c{n}")
            with store.writing("other") as rows:
                append(rows, f"a{n}")
        whole(store, "local", 6)
        whole(store, "other", 3)

    def test_time_never_goes_back_within_a_tenant(self, store: Store, reopen: Fresh) -> None:
        with store.writing("local") as rows:
            append(rows, "a", at=moment(5))
            assert append(rows, "b", at=moment(3)).at == moment(5)
        with reopen().writing("local") as rows:
            assert append(rows, "c", at=moment(4)).at == moment(5)
            assert append(rows, "d", at=moment(6)).at == moment(6)
        with store.writing("other") as rows:
            assert append(rows, "a", at=T0).at == T0
        with store.reading("local") as rows:
            assert rows.streams("local", moment(5)) == ["d"]
            assert rows.streams("local", moment(4)) == ["a", "b", "c", "d"]

    def test_a_writer_reads_what_it_has_written_and_others_only_when_it_is_done(
        self, store: Store
    ) -> None:
        with store.writing("local") as rows:
            append(rows, "a")
            assert (rows.last_seq("local"), rows.item("local", "a") is not None) == (1, True)
            with store.reading("local") as others:
                assert (others.last_seq("local"), others.item("local", "a")) == (0, None)
        with store.reading("local") as others:
            assert others.last_seq("local") == 1

    def test_a_writer_waits_for_another_no_longer_than_he_is_told(
        self, store: Store, reopen: Fresh
    ) -> None:
        other = reopen()
        with store.writing("local") as rows:
            append(rows, "a")
            with pytest.raises(StoreBusy), other.writing("local", 0.05) as late:
                append(late, "b")
        with other.writing("local", 0.05) as late:
            assert append(late, "b").seq == 2

    def test_a_reader_stays_at_its_moment(self, store: Store, engine: Engine) -> None:
        engine.writing.remember(ME, note("zebra", id="a"))
        with store.reading("local") as rows:
            assert rows.last_seq("local") == 1
            engine.writing.remember(ME, note("zebra", id="b"))
            assert (rows.last_seq("local"), rows.list_items(ME, Filter()).total) == (1, 1)
            assert len(rows.search_text(ME, Filter(), ["zebra"], [], False, 10)) == 1
        assert listed(store) == ["b", "a"]

    # Rows

    def test_every_change_is_folded_into_the_rows(
        self, store: Store, engine: Engine, reopen: Fresh
    ) -> None:
        talk = Draft(
            "conversation",
            "T",
            (Block("hi", "ann", "2026-01-02", "p. 1", {"n": [1]}), Block("bye")),
            ("b", "a"),
            {"x": {"y": None}},
            "draft",
            Audience.PROJECT,
            "p",
            "n",
            "t",
        )
        engine.writing.remember(ME, talk)
        engine.writing.append(ME, "t", [Block("more " * 300)])
        engine.writing.revise(
            ME,
            "t",
            Patch(
                "U",
                tags=("c",),
                attributes={"z": 1},
                dropped=("x",),
                status="done",
                audience=Audience.ORG,
                project="q",
                namespace="m",
            ),
        )
        engine.writing.tag(ME, "t", add=["ü"])
        engine.history.undo(ME, 2)
        engine.writing.remember(ME, Draft("entity", "bare", id="e"))
        engine.writing.forget(ME, "e")
        for opened in (store, reopen()):
            with opened.reading("local") as rows:
                item, passages = rows.item("local", "t"), rows.passages("local", "t")
                assert item is not None
                assert (item.title, item.status, item.tags) == ("U", "done", ("c", "ü"))
                assert dict(item.attributes) == {"z": 1, "folder": "/", "importance_score": 5}
                assert (item.audience, item.project, item.namespace) == (Audience.ORG, "q", "m")
                assert (item.version, item.seq, item.blocks, item.passages, item.forgotten) == (
                    5,
                    1,
                    2,
                    2,
                    False,
                )
                assert [
                    (one.text, one.speaker, one.locator, dict(one.attributes)) for one in passages
                ] == [("hi", "ann", "p. 1", {"n": [1]}), ("bye", None, None, {})]
                assert [one.at for one in passages] == [
                    "2026-01-02T00:00:00.000000Z",
                    item.created_at,
                ]
                assert rows.items("local", ["t", "e", "no"]).keys() == {"t", "e"}
                assert rows.passages_of("local", ["t", "no"]) == {"t": passages, "no": []}
                assert (tags_of(rows, "local", "t"), rows.text_sizes("local", ["t"])["t"][1:]) == (
                    ("c", "ü"),
                    (5, 5),
                )
                assert rows.item("local", "e").forgotten  # type: ignore[union-attr]
                assert [item.id for item in rows.all_items("local")] == ["e", "t"]
                assert rows.speakers("local") == ["ann"]
        assert engine.maintenance.verify() == []

    def test_an_id_that_no_store_could_hold_is_simply_not_there(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("x", id="a"))
        with store.reading("local") as rows:
            for id in ("a\0", "\ud800", "'", "%", "a" * 10_000):
                assert (
                    rows.item("local", id),
                    rows.link_by_id("local", id),
                    rows.events("local", id),
                ) == (None, None, [])
                assert (set(rows.items("local", [id, "a"])), rows.text_sizes("local", [id])) == (
                    {"a"},
                    {},
                )

    @pytest.mark.parametrize(
        "text", ["The zebra drinks tea at five.", "the  ZEBRA drinks\ttea at five."]
    )
    def test_the_same_text_is_found_but_for_case_and_white_space(
        self, store: Store, engine: Engine, text: str
    ) -> None:
        engine.writing.remember(ME, note("The zebra drinks tea at five.", id="a", kind="concept"))
        engine.writing.remember(THEM, note("The zebra drinks tea at five.", id="b"))
        engine.writing.remember(ME, note("Yes.", id="word"))
        with store.reading("local") as rows:
            assert (
                rows.items_like(ME, text, 1, Filter())
                == rows.items_like(ME, text, 2, Filter())
                == {"a"}
            )
            assert rows.items_like(ME, text, 1, Filter(kinds=("memory",))) == set()
            assert rows.items_like(Caller(user="bob"), text, 1, Filter()) == set()
            assert rows.items_like(ME, text + " Always alone.", 1, Filter()) == {"a"}
            assert rows.items_like(ME, "Quite another matter is told here.", 1, Filter()) == set()
            assert rows.items_like(ME, " yes.", 1, Filter()) == {"word"}
            assert (
                rows.items_like(ME, "yes.", 2, Filter())
                == rows.items_like(ME, "yes!", 1, Filter())
                == set()
            )

    # Filters, sorts, pages

    @pytest.mark.parametrize("name", FILTERS)
    def test_a_filter_keeps_the_same_in_a_listing_a_count_and_both_searches(
        self, zoo: Store, name: str
    ) -> None:
        chosen, wanted = FILTERS[name]
        assert sorted(listed(zoo, chosen)) == list(wanted)
        assert set(search(zoo, "zebra", chosen)) == set(wanted)
        assert set(nearest(zoo, vectors_on(zoo, MODEL, 8), vector_of("a"), chosen)) == set(wanted)
        with zoo.reading("local") as rows:
            assert (
                rows.list_items(ME, chosen).total
                == sum(rows.count_items_by(ME, chosen, "kind").values())
                == len(wanted)
            )

    @pytest.mark.parametrize("name", PASSAGES)
    def test_times_and_speakers_choose_passages_in_both_searches(
        self, zoo: Store, name: str
    ) -> None:
        chosen, wanted = PASSAGES[name]
        assert set(search(zoo, "zebra", chosen)) == set(wanted)
        assert set(nearest(zoo, vectors_on(zoo, MODEL, 8), vector_of("a"), chosen)) == set(wanted)

    def test_a_listing_takes_its_times_from_the_items_and_its_speakers_from_their_passages(
        self, store: Store, engine: Engine
    ) -> None:
        for id, speaker in (("a", "Ann"), ("b", "Bob")):
            engine.writing.remember(ME, Draft(blocks=(Block("x", speaker, "2020-01-01"),), id=id))
        with store.reading("local") as rows:
            made = {item.id: item.created_at for item in rows.all_items("local")}
        assert listed(store, Filter(speakers=("Ann",))) == ["a"]
        assert listed(store, Filter(since=made["b"])) == ["b"]
        assert listed(store, Filter(until=made["a"])) == ["a"]
        assert listed(store, Filter(until="2021-01-01")) == []

    def test_counts_are_told_per_kind_status_namespace_project_and_tag(self, zoo: Store) -> None:
        wanted = {
            "kind": {"memory": 3, "concept": 1, "entity": 1, "conversation": 1},
            "tag": {"red": 2, "round": 1, "blue": 1},
            "status": {"active": 5, "draft": 1},
            "namespace": {"context": 2, None: 2, "n1": 1, "n2": 1},
            "project": {None: 4, "p1": 1, "p2": 1},
        }
        with zoo.reading("local") as rows:
            assert {by: rows.count_items_by(ME, Filter(), by) for by in wanted} == wanted
            assert next(iter(rows.count_items_by(ME, Filter(), "kind"))) == "memory"
            assert rows.count_items_by(ME, Filter(tags_any=("red",)), "tag") == {
                "red": 2,
                "round": 1,
            }
            with pytest.raises(InvalidInput) as caught:
                rows.count_items_by(ME, Filter(), "owner; --")
        assert caught.value.field == "by"

    @pytest.mark.parametrize("descending", [True, False])
    @pytest.mark.parametrize(
        "sort", ["created_at", "updated_at", "title", "access_count", "last_accessed"]
    )
    def test_pages_neither_overlap_nor_skip_and_equals_follow_creation(
        self, store: Store, engine: Engine, sort: str, descending: bool
    ) -> None:
        made = [
            engine.writing.remember(ME, note("x", title="Bb" if n % 2 else "aA")).item.id
            for n in range(25)
        ]
        engine.writing.tag(ME, made[0], add=["late"])
        with store.writing("local") as rows:
            rows.add_accesses(
                {id: (count, moment(count)) for id, count in zip(made[3:6], (7, 9, 8), strict=True)}
            )
        read = made[0:3] + made[6:] + [made[3], made[5], made[4]]
        wanted = {
            "created_at": made,
            "updated_at": made[1:] + made[:1],
            "title": made[0::2] + made[1::2],
            "access_count": read,
            "last_accessed": read,
        }[sort]
        with store.reading("local") as rows:
            pages = [
                rows.list_items(ME, Filter(), sort, descending, 10, offset)
                for offset in range(0, 40, 10)
            ]
        assert [item.id for page in pages for item in page.items] == (
            wanted[::-1] if descending else wanted
        )
        assert {page.total for page in pages} == {25}

    def test_an_unknown_sort_is_refused_by_name(self, store: Store) -> None:
        with store.reading("local") as rows, pytest.raises(InvalidInput) as caught:
            rows.list_items(ME, Filter(), "title; drop table item")
        assert caught.value.field == "sort"

    @pytest.mark.parametrize("audience", list(Audience))
    def test_only_the_audience_lists_finds_and_counts_an_item(
        self, store: Store, engine: Engine, vectors: Stage, audience: Audience
    ) -> None:
        ann = Caller("local", "ann")
        engine.writing.remember(ann, note("zebra", id="a", audience=audience, project="x"))
        embed(store, "a", vector_of("a"))
        callers = {
            "owner": ann,
            "other": Caller("local", "bob"),
            "colleague": Caller("local", "bob", "x"),
            "admin": Caller("local", "bob", admin=True),
            "stranger": replace(ann, tenant="globex", admin=True),
        }
        sees = {"owner", "admin"} | {
            Audience.USER: set(),
            Audience.PROJECT: {"colleague"},
            Audience.ORG: {"colleague", "other"},
        }[audience]
        stage = vectors()
        for name, caller in callers.items():
            wanted = ["a"] if name in sees else []
            assert (
                listed(store, caller=caller) == search(store, "zebra", caller=caller) == wanted
            ), name
            assert nearest(store, stage, vector_of("a"), caller=caller) == wanted, name
            with store.reading(caller.tenant) as rows:
                assert sum(rows.count_items_by(caller, Filter(), "kind").values()) == len(wanted)

    # Text

    def test_any_word_or_every_word_and_all_phrases(self, store: Store, engine: Engine) -> None:
        for id, text in {"a": "quick brown fox", "b": "brown quick dog", "c": "slow fox"}.items():
            engine.writing.remember(ME, note(text, id=id))
        assert set(search(store, "quick fox")) == {"a", "b", "c"}
        assert search(store, "quick fox")[0] == "a"
        assert search(store, "quick fox", every=True) == ["a"]
        assert set(search(store, "quick brown", every=True)) == {"a", "b"}
        assert search(store, "", phrases=["quick brown"]) == ["a"]
        assert (
            search(store, "fox", phrases=["quick brown"])
            == search(store, "", phrases=["quick", "fox"])
            == ["a"]
        )
        assert search(store, "dog", phrases=["quick brown"]) == search(store, "") == []
        assert len(search(store, "quick fox", limit=2)) == 2

    def test_a_phrase_does_not_reach_from_the_text_into_the_title(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("ends with quick", id="a", title="brown begins"))
        assert (
            search(store, "", phrases=["quick brown"])
            == search(store, "", phrases=["begins ends"])
            == []
        )
        assert search(store, "", phrases=["brown begins"]) == ["a"]

    @pytest.mark.parametrize(
        "text, query",
        [
            ("東京都に住んでいます", "東京"),
            ("我们选择了数据库", "数据"),
            ("서울에서 만나요", "서울"),
            ("人々の声", "人々"),
            ("テストケース", "ケース"),
            ("Meeting 会議 tomorrow", "会議"),
            ("Café crème", "cafe creme"),
            ("cafe creme", "CAFÉ"),
            ("re\u0301sume\u0301", "résumé"),
            ("Straße", "straße"),
            ("ИВАН Грозный", "иван"),
            ("running quickly", "runs"),
            ("don't panic", "don't"),
            ("हिन्दी भाषा", "भाषा"),
            ("error_code_42", "error_code_42"),
            ("x" * 500, "x" * 500),
            ("İstanbul", "istanbul"),
        ],
        ids=ascii,
    )
    def test_a_word_is_found_in_its_language(
        self, store: Store, engine: Engine, text: str, query: str
    ) -> None:
        engine.writing.remember(ME, note(text, id="a"))
        engine.writing.remember(ME, note("something else entirely", id="b"))
        assert search(store, query, every=True) == search(store, "", phrases=[query]) == ["a"]

    @pytest.mark.parametrize("query", SYNTAX)
    def test_syntax_in_a_word_does_no_harm(self, zoo: Store, query: str) -> None:
        with zoo.reading("local") as rows:
            for words, phrases in (
                ([query], []),
                ([], [[query]]),
                (["zebra", query], []),
                (["zebra"], [[query, "x"]]),
            ):
                rows.search_text(ME, Filter(), words, phrases, False, 10)
            assert rows.statistics("local", [query]).passages == 7
        assert set(search(zoo, f"{query} zebra")) == set(ITEMS)

    def test_changed_text_title_and_tags_are_found_as_they_are_now(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("zebra", id="a", title="okapi", tags=("old",)))
        engine.writing.revise(
            ME, "a", Patch(title="giraffe", blocks=(Block("otter"),), tags=("new",))
        )
        found = {word: search(store, word) for word in ("zebra", "okapi", "giraffe", "otter")}
        assert found == {"zebra": [], "okapi": [], "giraffe": ["a"], "otter": ["a"]}
        assert search(store, "otter", Filter(tags_all=("old",))) == []
        assert search(store, "otter", Filter(tags_all=("new",))) == ["a"]
        engine.writing.forget(ME, "a")
        assert search(store, "otter") == []
        assert search(store, "otter", Filter(forgotten=True)) == ["a"]

    def test_statistics_count_a_tenants_own_passages_and_words(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("zebra zebra", id="a"))
        engine.writing.remember(ME, note("zebra okapi lion", id="b", title="otter"))
        engine.writing.remember(THEM, note("zebra padding padding padding", id="c"))
        words = ["zebra", "okapi", "otter", "none"]
        with store.reading("local") as rows:
            assert rows.statistics("local", words) == Statistics(
                2, 3.0, {"zebra": 2, "okapi": 1, "otter": 1}
            )
        engine.writing.revise(ME, "a", Patch(blocks=(Block("okapi"),)))
        with store.reading("local") as rows:
            assert rows.statistics("local", words) == Statistics(
                2, 2.5, {"zebra": 1, "okapi": 2, "otter": 1}
            )
        engine.writing.erase(ME, "b")
        with store.reading("local") as rows:
            assert rows.statistics("local", words) == Statistics(1, 1.0, {"okapi": 1})

    def test_places_lead_to_their_passages_and_items(self, zoo: Store) -> None:
        with zoo.reading("local") as rows:
            found = rows.search_text(ME, Filter(kinds=("conversation",)), ["zebra"], [], False, 10)
            assert {one[0] & 2**ORDINAL_BITS - 1 for one in found} == {0, 1}
            there = rows.passages_at([one[0] for one in found] + [passage_ref(2**40, 3)])
            assert {
                place: (item.id, passage.item, passage.ordinal)
                for place, (item, passage) in there.items()
            } == {one[0]: ("e", "e", one[0] & 2**ORDINAL_BITS - 1) for one in found}

    # Vectors

    def test_vectors_of_several_items_are_put_and_read_together(
        self, store: Store, engine: Engine, vectors: Stage
    ) -> None:
        for letter in "abc":
            engine.writing.remember(ME, note(f"zebra {letter}", id=letter))
        embed(store, "a", vector_of("a"), digest=b"a" * 16)
        with store.writing("local") as rows:
            found = rows.unembedded_of("local", ["a", "b", "c", "z"], MODEL)
            assert {
                stream: [(text, digest) for _, text, digest in passages]
                for stream, passages in found.items()
            } == {
                "a": [("zebra a", b"a" * 16)],
                "b": [("zebra b", None)],
                "c": [("zebra c", None)],
            }
            rows.put_new_vectors(
                MODEL,
                [
                    NewVector(found["b"][0].ref, b"b" * 16, row_on(store, vector_of("b"))),
                    NewVector(found["c"][0].ref, b"b" * 16, row_on(store, vector_of("b"))),
                    # What is gone meanwhile gets none.
                    NewVector(passage_ref(2**40, 0), b"x" * 16, row_on(store, vector_of("b"))),
                ],
            )
        with store.reading("local") as rows:
            assert rows.models() == {MODEL: 3}
            wanted = [b"a" * 16, b"b" * 16, b"x" * 16]
            kept = rows.vectors_by_digest("local", wanted, MODEL)
            assert sorted(kept) == [b"a" * 16, b"b" * 16]
            expected = pytest.approx(numbers(row_on(store, vector_of("b"))), rel=1e-3)
            assert numbers(kept[b"b" * 16]) == expected
            assert rows.vectors_by_digest("local", wanted, "other") == {}
            assert rows.unembedded_of("local", ["c"], MODEL)["c"][0].digest == b"b" * 16
            ref = found["c"][0].ref
            assert round(vectors().cosines(rows, vector_of("b"), [ref])[ref], 2) == 1.0

    def test_a_vector_is_put_read_replaced_and_taken_back(
        self, store: Store, engine: Engine, vectors: Stage
    ) -> None:
        engine.writing.remember(ME, note("zebra", id="a"))
        with store.reading("local") as rows:
            ((number, text, digest),) = rows.unembedded("local", "a", MODEL)
            assert (text, digest) == ("zebra", None)
        stage = vectors()
        for letter in "ab":
            (ref,) = embed(store, "a", vector_of(letter), digest=letter.encode() * 16)
            with store.reading("local") as rows:
                cosines = stage.cosines(rows, vector_of(letter), [number, passage_ref(2**40, 0)])
                assert (list(cosines), round(cosines[number], 2)) == ([number], 1.0)
                assert rows.unembedded("local", "a", MODEL)[0][2] == letter.encode() * 16
                assert rows.unembedded("local", "a", "other")[0][2] is None
                kept = numbers(rows.vector_by_digest("local", letter.encode() * 16, MODEL))
                assert kept == pytest.approx(numbers(row_on(store, vector_of(letter))), rel=1e-3)
                assert rows.vector_by_digest("local", b"z" * 16, MODEL) is None
                assert rows.vector_by_digest("local", letter.encode() * 16, "other") is None
            with store.reading(None) as rows:
                assert rows.models() == {MODEL: 1}
        with store.writing("local") as rows:
            rows.put_vector(ref, MODEL, b"c" * 16, None)
        with store.reading("local") as rows:
            assert (
                stage.cosines(rows, vector_of("a"), [number]),
                nearest(store, stage, vector_of("a")),
            ) == ({}, [])
            assert rows.unembedded("local", "a", MODEL)[0][2] is None

    @pytest.mark.parametrize(
        "patch, left",
        [
            (Patch(blocks=(Block("other"),)), []),
            (Patch(title="new"), []),
            (Patch(tags=("t",)), ["a"]),
            (Patch(status="done"), ["a"]),
        ],
    )
    def test_a_vector_goes_with_the_text_it_was_made_from(
        self, store: Store, engine: Engine, vectors: Stage, patch: Patch, left: list[str]
    ) -> None:
        engine.writing.remember(ME, note("zebra", id="a", title="t"))
        embed(store, "a", vector_of("a"))
        stage = vectors()
        assert nearest(store, stage, vector_of("a")) == ["a"]
        engine.writing.revise(ME, "a", patch)
        assert (
            nearest(store, stage, vector_of("a"))
            == nearest(store, vectors(), vector_of("a"))
            == left
        )
        embed(store, "a", vector_of("b"))
        assert nearest(store, stage, vector_of("b")) == ["a"]

    def test_a_vector_for_a_passage_that_is_gone_is_not_kept(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("zebra", id="a"))
        (ref,) = embed(store, "a", vector_of("a"))
        engine.writing.erase(ME, "a")
        with store.writing("local") as rows:
            rows.put_vector(ref, MODEL, b"d" * 16, row_on(store, vector_of("a")))
        with store.reading(None) as rows:
            assert rows.models() == {}

    def test_the_nearest_come_first_and_their_cosines_are_right(self, zoo: Store) -> None:
        stage = vectors_on(zoo, MODEL, 8)
        assert nearest(
            zoo, stage, vector_of("a"), Filter(kinds=("memory", "concept", "entity"))
        ) == list("abcdf")
        assert nearest(zoo, stage, vector_of("f"), limit=1) == ["f"]
        with zoo.reading("local") as rows:
            found = stage.nearest(rows, ME, Filter(), vector_of("a"), 10)
            cosines = stage.cosines(
                rows, vector_of("a"), [one[0] for one in found] + [passage_ref(2**40, 0)]
            )
        assert len(found) == 7
        assert all(abs(cosines[one[0]] - one[1]) < 0.01 for one in found)
        assert abs(found[0][1] - 1) < 0.01

    def test_what_has_expired_is_neither_listed_nor_found_by_words_or_meaning(
        self, store: Store, engine: Engine, vectors: Stage
    ) -> None:
        past = {"expires_at": "2026-01-01T00:00:00.000000Z"}
        engine.writing.remember(ME, note("zebra", id="gone", attributes=past))
        engine.writing.remember(ME, note("zebra", id="here"))
        for id in ("gone", "here"):
            embed(store, id, vector_of("a"))
        assert listed(store) == ["here"]
        assert search(store, "zebra") == ["here"]
        assert nearest(store, vectors(), vector_of("a")) == ["here"]

    def test_an_item_that_changes_moves_between_the_filters_of_a_vector_search(
        self, store: Store, engine: Engine, vectors: Stage
    ) -> None:
        engine.writing.remember(ME, note("zebra", id="a", project="p1", namespace="n1"))
        embed(store, "a", vector_of("a"))
        stage = vectors()
        assert nearest(store, stage, vector_of("a"), Filter(projects=("p1",))) == ["a"]
        engine.writing.revise(
            ME, "a", Patch(project="p2", namespace="n2", status="done", audience=Audience.ORG)
        )
        for name, old, new in (
            ("projects", "p1", "p2"),
            ("namespaces", "n1", "n2"),
            ("statuses", "active", "done"),
        ):
            was: dict[str, Any] = {name: (old,)}
            now: dict[str, Any] = {name: (new,)}
            assert nearest(store, stage, vector_of("a"), Filter(**was)) == []
            assert nearest(store, stage, vector_of("a"), Filter(**now)) == ["a"]
        assert nearest(store, stage, vector_of("a"), caller=Caller(user="bob")) == ["a"]
        engine.writing.forget(ME, "a")
        assert nearest(store, stage, vector_of("a")) == []
        assert nearest(store, stage, vector_of("a"), Filter(forgotten=True)) == ["a"]
        engine.writing.restore(ME, "a")
        engine.writing.erase(ME, "a")
        assert nearest(store, stage, vector_of("a"), Filter(forgotten=None)) == []

    def test_models_do_not_see_each_others_vectors_and_old_ones_can_be_dropped(
        self, store: Store, engine: Engine, vectors: Stage
    ) -> None:
        for id in "ab":
            engine.writing.remember(ME, note(f"text {id}", id=id))
        embed(store, "a", vector_of("a"), model="old")
        embed(store, "b", vector_of("a"))
        assert nearest(store, vectors("old"), vector_of("a")) == ["a"]
        assert nearest(store, vectors(), vector_of("a")) == ["b"]
        with store.reading(None) as rows:
            assert rows.models() == {MODEL: 1, "old": 1}
        with store.writing(None) as rows:
            places = rows.vectors_of_other_models(MODEL, 10)
            assert [place.tenant for place in places] == ["local"]
            rows.drop_vectors_of_other_models(MODEL, places)
        with store.reading(None) as rows:
            assert rows.models() == {MODEL: 1}

    def test_work_is_queued_for_every_item_without_a_vector_of_the_model(
        self, store: Store, engine: Engine
    ) -> None:
        for caller in (ME, THEM):
            for id in "ab":
                engine.writing.remember(caller, note(f"text {id}", id=id))
            embed(store, "a", vector_of("a"), caller)
        for job in lease(store, 0):
            with store.writing(job.tenant) as rows:
                rows.finish_job(job)
        for tenant in ("local", "globex"):
            with store.writing(tenant) as rows:
                assert rows.items_without_vectors(tenant, MODEL, "", 10) == ["b"]
                assert rows.items_without_vectors(tenant, MODEL, "b", 10) == []
                rows.queue_missing_vectors(["b"], moment(1))
        assert sorted((job.tenant, job.stream) for job in lease(store, 2)) == [
            ("globex", "b"),
            ("local", "b"),
        ]

    # Links

    def test_links_are_followed_both_ways_and_by_type(
        self, store: Store, engine: Engine, reopen: Fresh
    ) -> None:
        for caller in (ME, THEM):
            for id in "abcd":
                engine.writing.remember(caller, note(id, id=id))
            for ends, kind in {"ab": "about", "bc": "about", "ca": "not", "da": "is-not"}.items():
                engine.writing.link(caller, ends[0], ends[1], kind, 0.5, {"n": [1]}, id=ends)
        for opened in (store, reopen()):
            with opened.reading("local") as rows:

                def along(
                    frontier: str, toward: Direction, *types: str, rows: Reader = rows
                ) -> list[str]:
                    return [
                        link.id for link in rows.neighbours("local", list(frontier), toward, types)
                    ]

                assert (along("a", "outgoing"), along("a", "incoming")) == (["ab"], ["ca", "da"])
                assert along("a", "both") == ["ab", "ca", "da"]
                assert along("ab", "both") == ["ab", "bc", "ca", "da"]
                assert along("a", "both", "not", "is-not") == ["ca", "da"]
                assert (
                    along("", "both")
                    == along("x", "outgoing")
                    == along("a", "outgoing", "no")
                    == []
                )
                assert [link.id for link in rows.neighbours("local", ["b"], "both")] == ["ab", "bc"]
                assert [link.id for link in rows.all_links("local")] == ["ab", "bc", "ca", "da"]
                link = rows.link_by_id("local", "ab")
                assert link == rows.link_between("local", "a", "b", "about")
                assert link is not None
                assert (link.strength, dict(link.attributes)) == (0.5, {"n": [1]})
                assert rows.link_between("local", "b", "a", "about") is None

    def test_a_link_that_was_cut_is_gone_but_its_stream_is_remembered(
        self, store: Store, engine: Engine
    ) -> None:
        for id in "ab":
            engine.writing.remember(ME, note(id, id=id))
        engine.writing.link(ME, "a", "b", "about", 0.5, id="one")
        engine.writing.link(ME, "a", "b", "about", 0.75, again=True)
        with store.reading("local") as rows:
            assert rows.link_by_id("local", "one").strength == 0.75  # type: ignore[union-attr]
        engine.writing.unlink(ME, "one")
        with store.reading("local") as rows:
            assert (rows.link_by_id("local", "one"), rows.neighbours("local", ["a"], "both")) == (
                None,
                [],
            )
            assert rows.link_streams("local", "a") == rows.link_streams("local", "b") == ["one"]
            assert rows.link_streams("local", "c") == []

    def test_links_are_counted_and_their_ends_read(self, store: Store, engine: Engine) -> None:
        for id in "abcd":
            engine.writing.remember(ME, note(f"text {id}", id=id, title=id.upper(), kind="concept"))
        engine.writing.remember(ME, note("for all", id="e", audience=Audience.ORG))
        engine.writing.remember(THEM, note("theirs", id="a"))
        engine.writing.remember(THEM, note("theirs", id="z"))
        engine.writing.link(THEM, "a", "z", "about")
        engine.writing.link(ME, "a", "b", "about")
        engine.writing.link(ME, "b", "a", "not")
        engine.writing.link(ME, "c", "e", "about")
        engine.writing.forget(ME, "b")
        with store.reading("local") as rows:
            assert rows.link_ends("local", ["a"], "outgoing") == {("a", "b", "about")}
            assert rows.link_ends("local", ["a", "e"], "incoming") == {
                ("b", "a", "not"),
                ("c", "e", "about"),
            }
            assert rows.link_ends("local", ["a", "b"], "both") == {
                ("a", "b", "about"),
                ("b", "a", "not"),
            }
            assert rows.link_ends("local", [], "both") == set()
            assert rows.count_links("local") == {"a": 2, "b": 2, "c": 1, "e": 1}
            assert rows.count_links("local", ["not"]) == {"a": 1, "b": 1}
            assert rows.count_link_types("local") == {"about": 2, "not": 1}
            mine = sorted(rows.nodes(ME, Filter()))
            assert [item[:4] for item in mine] == [
                ("a", "concept", "A", None),
                ("c", "concept", "C", None),
                ("d", "concept", "D", None),
                ("e", "memory", "", "context"),
            ]
            forgotten = rows.nodes(ME, Filter(forgotten=True))
            assert [item.id for item in forgotten] == ["b"]
            others = rows.nodes(Caller("local", "ann"), Filter())
            assert [item.id for item in others] == ["e"]

    def test_streams_of_a_folder_are_listed_the_newest_first(self, store: Store) -> None:
        def tell(
            tenant: str, stream: str, version: int, actor: str, project: str | None = None
        ) -> None:
            data: dict[str, Json] = {"items": [], "project": project}
            with store.writing(tenant) as rows:
                event = rows.next_event(stream, version, "injected", data, actor, T0)
                rows.append(event, fold(None, event))

        tell("local", "session/a", 1, "local", "zoo")
        tell("local", "session/b", 1, "local")
        tell("local", "session/a", 2, "local", "zoo")
        tell("local", "session/c", 1, "ann")
        tell("local", "session0", 1, "local")
        tell("local", "sessions", 1, "local")
        tell("globex", "session/z", 1, "local")
        with store.reading("local") as rows:

            def listed(limit: int = 10, offset: int = 0, **wanted: Any) -> tuple[list[str], int]:
                return rows.list_streams(
                    "local", StreamsWanted("session/", **wanted), limit, offset
                )

            assert listed() == (["session/c", "session/a", "session/b"], 3)
            assert listed(1, 1) == (["session/a"], 3)
            assert listed(actor="local") == (["session/a", "session/b"], 2)
            assert listed(after=2) == (["session/c", "session/a"], 2)
            assert listed(before=3) == (["session/b", "session/a"], 2)
            assert listed(projects=("farm",)) == (["session/c", "session/b"], 2)
            assert listed(projects=("farm", "zoo"))[1] == 3

    # Outbox

    def test_work_is_leased_newest_first_and_comes_back_when_the_lease_ends(
        self, store: Store, engine: Engine, reopen: Fresh
    ) -> None:
        for id in "abc":
            engine.writing.remember(ME, note(f"text {id}", id=id))
        engine.writing.remember(THEM, note("theirs", id="d"))
        assert outbox(store) == {"pending": 3}
        assert streams(lease(store, 0, 2, "local")) == ["c", "b"]
        assert streams(lease(reopen(), 59, tenant="local")) == ["a"]
        assert lease(store, 59, tenant="local") == []
        back = lease(store, 61, tenant="local")
        assert ([job.stream for job in back], {job.attempts for job in back}) == (["c", "b"], {2})
        assert streams(lease(store, 61, tenant="globex")) == ["d"]
        with store.reading("local") as rows:
            assert (
                rows.count_waiting("local", "embed"),
                rows.count_waiting("local", "embed", 2),
            ) == (3, 2)
            assert rows.count_waiting("local", "mirror") == 0
        with store.reading(None) as rows:
            assert rows.count_waiting(None, "embed") == 4
        engine.writing.erase(ME, "a")
        assert streams(lease(store, 900, tenant="local")) == ["c", "b"]

    def test_finished_work_does_not_come_back_and_is_counted(
        self, store: Store, engine: Engine
    ) -> None:
        for caller in (ME, THEM):
            engine.writing.remember(caller, note("text"))
        (job,) = lease(store, 0, tenant="local")
        with store.writing("local") as rows:
            rows.finish_job(job)
        assert (outbox(store), outbox(store, "globex")) == ({"processed": 1}, {"pending": 1})
        assert outbox(store, None) == {"processed": 1, "pending": 1}
        assert lease(store, 3600, tenant="local") == []

    def test_several_jobs_are_finished_together(self, store: Store, engine: Engine) -> None:
        for letter in "abc":
            engine.writing.remember(ME, note("text", id=letter))
        jobs = lease(store, 0, limit=2, tenant="local")
        with store.writing("local") as rows:
            rows.finish_jobs(jobs)
            rows.finish_jobs([])
        assert outbox(store) == {"pending": 1, "processed": 2}

    def test_released_work_is_due_at_once_and_was_no_try(
        self, store: Store, engine: Engine
    ) -> None:
        for id in "ab":
            engine.writing.remember(ME, note("text", id=id))
        newest, oldest = lease(store, 0, tenant="local")
        with store.reading("local") as rows:
            assert rows.count_leased("local", "embed", moment(59)) == 2
            assert rows.count_leased("local", "embed", moment(60)) == 0
            assert rows.count_leased("globex", "embed", moment(59)) == 0
        with store.writing("local") as rows:
            rows.release_job(newest)
        with store.reading("local") as rows:
            assert rows.count_leased("local", "embed", moment(59)) == 1
        assert lease(store, 0, tenant="local") == [newest]
        assert (newest.stream, oldest.stream) == ("b", "a")

    def test_work_is_due_unless_it_is_leased_postponed_or_given_up(
        self, store: Store, engine: Engine
    ) -> None:
        for id in "abcd":
            engine.writing.remember(ME, note(f"text {id}", id=id))
        engine.writing.remember(THEM, note("theirs"))

        def due(seconds: float, most: int = 10, consumer: str = "embed") -> int:
            with store.reading(None) as rows:
                return rows.count_due(consumer, moment(seconds), most)

        assert (due(0), due(0, 2)) == (5, 2)
        failing, postponed, _ = lease(store, 0, 3, "local")
        assert (due(59), due(60)) == (2, 5)
        with store.writing("local") as rows:
            rows.postpone_job(failing, moment(0), "out of luck", 1)
            rows.postpone_job(postponed, moment(0), "out of luck", 3)
        assert (due(0), due(59), due(60)) == (2, 3, 4)
        assert due(60, consumer="mirror") == 0

    def test_failing_work_waits_longer_each_time_then_is_given_up_until_retried(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("text", id="a"))
        now, pauses = 0, []
        for attempt in range(1, 4):
            (job,) = lease(store, now, tenant="local")
            assert job.attempts == attempt
            with store.writing("local") as rows:
                rows.postpone_job(job, moment(now), "out of luck", 3)
            if attempt < 3:
                assert outbox(store) == {"pending": 1}
                pauses.append(self._pause(store, now))
                now += pauses[-1]
        assert pauses == sorted(set(pauses))
        assert (outbox(store), lease(store, 80_000)) == ({"failed": 1}, [])
        with store.reading(None) as rows:
            (told,) = rows.outbox_errors()
        assert "a" in told
        assert "out of luck" in told
        with store.writing(None) as rows:
            rows.retry_failed("mirror", moment(now))
        assert outbox(store) == {"failed": 1}
        with store.writing(None) as rows:
            rows.retry_failed("embed", moment(now))
        (job,) = lease(store, now)
        assert (job.attempts, outbox(store)) == (1, {"pending": 1})

    def _pause(self, store: Store, now: int) -> int:
        """After how many seconds work is due again, tried without keeping the lease."""
        for seconds in range(1, 4000):
            with taken_back(store) as rows:
                due = rows.lease_jobs("embed", moment(now + seconds), 1, 60, "local")
            if due:
                return seconds
        raise AssertionError("the work never comes back")

    def test_workers_at_the_same_time_never_lease_the_same(
        self, store: Store, engine: Engine, reopen: Fresh
    ) -> None:
        for n in range(40):
            engine.writing.remember((ME, THEM)[n % 2], note(f"text {n}", id=str(n)))
        start, opened = threading.Barrier(4), [store, reopen(), reopen(), store]

        def work(which: Store) -> list[str]:
            start.wait()
            return [stream for _ in range(15) for stream in streams(lease(which, 0, 2))]

        with ThreadPoolExecutor(4) as pool:
            leased = Counter(stream for part in pool.map(work, opened) for stream in part)
        assert leased == Counter(str(n) for n in range(40))

    def test_a_tenant_with_little_work_does_not_wait_for_one_with_much(self, store: Store) -> None:
        for tenant, count in (("large", 1000), ("small", 3)):
            with store.writing(tenant) as rows:
                for n in range(count):
                    append(rows, f"{tenant}{n}")
        leased = Counter(job.tenant for _ in range(4) for job in lease(store, 0, 16))
        assert leased["small"] == 3
        assert 32 <= leased["large"] <= 61

    def test_a_tenant_has_its_turn_also_among_more_busy_ones_than_fit_into_a_lease(
        self, store: Store
    ) -> None:
        counts = {"a": 200, "b": 200, "c": 200, "d": 200, "m": 1, "z": 1}
        for tenant, count in counts.items():
            with store.writing(tenant) as rows:
                append_all(rows, *(f"{tenant}{n}" for n in range(count)))
        leased = Counter(job.tenant for _ in range(40) for job in lease(store, 0, 4))
        assert leased.keys() == counts.keys()

    # Erase

    def test_nothing_of_an_erased_item_is_left_in_any_row(
        self, store: Store, engine: Engine, vectors: Stage
    ) -> None:
        words = ["quixotic", "zymurgy", "flibber", "sphinxian", "gobbledy", "hrothgar"]
        draft = Draft(
            "conversation",
            words[0],
            (Block(words[1], words[2]),),
            (words[3],),
            {"k": words[4]},
            id="a",
        )
        engine.writing.remember(ME, draft)
        engine.writing.remember(ME, note("plain", id="b"))
        engine.writing.link(ME, "a", "b", "about", attributes={"k": words[5]}, id="cut")
        engine.writing.unlink(ME, "cut")
        engine.writing.link(ME, "b", "a", "about", attributes={"k": words[5]}, id="kept")
        (ref,) = embed(store, "a", vector_of("a"), digest=b"e" * 16)
        with store.writing("local") as rows:
            rows.add_accesses({"a": (1, T0)})
        engine.writing.revise(ME, "a", Patch(status="done"))
        engine.writing.erase(ME, "a")
        assert [word for word in words if word in json.dumps(dump(store)).lower()] == []
        assert [search(store, word, Filter(forgotten=None)) for word in words] == [[]] * 6
        assert nearest(store, vectors(), vector_of("a"), Filter(forgotten=None)) == []
        with store.reading("local") as rows:
            assert {event.type for event in rows.events("local", "a")} == {
                "remembered",
                "revised",
                "erased",
            }
            assert all(not event.data and event.key is None for event in rows.events("local", "a"))
            assert (
                rows.item("local", "a"),
                rows.passages("local", "a"),
                rows.accesses("local", ["a"]),
            ) == (None, [], {})
            assert (rows.neighbours("local", ["b"], "both"), rows.link_streams("local", "b")) == (
                [],
                [],
            )
            assert (rows.passages_at([ref]), rows.speakers("local")) == ({}, [])
            assert vectors().cosines(rows, vector_of("a"), [ref]) == {}
            assert rows.vector_by_digest("local", b"e" * 16, MODEL) is None
            assert rows.statistics("local", words).frequencies == {}
        assert "a" not in streams(lease(store, 9000))
        assert engine.maintenance.verify() == []

    def test_a_read_counted_after_the_erase_leaves_no_trace(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("x", id="a"))
        engine.writing.erase(ME, "a")
        with store.writing("local") as rows:
            rows.add_accesses({"a": (1, T0), "never": (2, T0)})
        with store.reading("local") as rows:
            assert rows.accesses("local", ["a", "never"]) == {}

    # Verify, rebuild, carry

    def _history(self, engine: Engine, caller: Caller) -> None:
        engine.writing.remember(
            caller,
            note("zebra one. " * 60, id="a", title="A", tags=("x", "y"), attributes={"n": 1}),
        )
        engine.writing.remember(
            caller,
            Draft(
                "conversation",
                "",
                (Block("hi zebra", "ann", "2026-01-01", "l", {"m": True}), Block("bye", "bot")),
                ("x",),
                id="b",
            ),
        )
        engine.writing.remember(caller, Draft("entity", "Zebra", id="c"))
        engine.writing.link(caller, "a", "b", "about", 0.5, {"k": 1}, id="rel-1")
        engine.writing.revise(caller, "b", Patch(title="B"))
        engine.writing.append(caller, "b", [Block("later")])
        engine.writing.forget(caller, "c")
        engine.writing.remember(caller, note("to go", id="d"))
        engine.writing.erase(caller, "d")
        engine.history.undo(caller, 5)
        engine.reading.note_access(caller, "a")
        engine.reading.flush_accesses()

    def test_rows_equal_a_replay_before_and_after_a_rebuild(
        self, store: Store, engine: Engine, reopen: Fresh
    ) -> None:
        for caller in (ME, THEM, Caller("東'京")):
            self._history(engine, caller)
        before, found = dump(store), search(store, "zebra")
        assert engine.maintenance.verify() == []
        assert engine.maintenance.rebuild() == sum(
            len(tenant["event"]) for tenant in before.values()
        )
        assert (dump(store), dump(reopen()), engine.maintenance.verify()) == (before, before, [])
        assert set(search(store, "zebra")) == set(found)
        assert (
            engine.writing.remember(ME, note("life goes on")).seq
            == len(before["local"]["event"]) + 1
        )

    def test_vectors_are_asked_for_again_after_a_rebuild(
        self, store: Store, engine: Engine, vectors: Stage
    ) -> None:
        engine.writing.remember(ME, note("zebra", id="a"))
        embed(store, "a", vector_of("a"), digest=b"a" * 16)
        engine.maintenance.rebuild()
        assert streams(lease(store, 0)) == ["a"]
        with store.reading("local") as rows:
            assert rows.vector_by_digest("local", b"a" * 16, MODEL), (
                "so that no model need run again"
            )
        embed(store, "a", vector_of("a"), digest=b"a" * 16)
        assert nearest(store, vectors(), vector_of("a")) == ["a"]
        with store.reading(None) as rows:
            assert rows.models() == {MODEL: 1}

    def test_a_rebuild_that_fails_leaves_everything_as_it_was(
        self, store: Store, engine: Engine
    ) -> None:
        self._history(engine, ME)
        before = dump(store)
        with pytest.raises(ZeroDivisionError), store.rebuilding():
            raise ZeroDivisionError
        assert (dump(store), engine.maintenance.verify()) == (before, [])

    def test_a_text_index_with_earlier_terms_is_brought_up_to_date_at_open(
        self, store: Store, engine: Engine, reopen: Fresh, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        earlier = partial(terms.indexed, terms_of=terms.first_terms)
        monkeypatch.setattr("memolith.storage.writer.indexed", earlier)
        for caller in (ME, THEM):
            engine.writing.remember(caller, note("zebra", id="plain", title="Яблони"))
            engine.writing.remember(caller, note("Мы посадили три яблони", id="trees"))
            engine.writing.remember(caller, note("a café in the town", id="town"))
        monkeypatch.undo()
        with store.writing(None) as rows:
            rows.put_record("", TERMS_RECORD, "1")
        assert engine.maintenance.verify() != []
        opened = reopen()
        assert engine_on(opened).maintenance.verify() == []
        assert set(search(opened, "яблоня")) == {"plain", "trees"}
        assert search(opened, "cafe") == ["town"]
        engine.writing.erase(ME, "trees")
        assert search(opened, "яблоня") == ["plain"]
        assert engine.maintenance.verify() == []

    def test_a_text_index_with_terms_of_a_newer_program_is_refused(
        self, store: Store, reopen: Fresh
    ) -> None:
        with store.writing(None) as rows:
            rows.put_record("", TERMS_RECORD, str(terms.TERMS_VERSION + 1))
        with pytest.raises(SchemaTooNew, match="update the program"):
            reopen()

    def test_plain_lines_are_imported_once_from_each_source(
        self, store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(statements, "MAX_WAITING_ROWS", 20)
        lines = [
            json.dumps({"content": f"zebra number {number}", "tags": ["stripes"]})
            for number in range(8)
        ]
        # Two lines that are the same are two items.
        lines.append(lines[0])
        import_ = engine.maintenance.import_
        assert import_(ME, lines, source="zoo").items == 9
        again = import_(ME, [*lines, json.dumps({"content": "okapi"})], source="zoo")
        assert (again.items, again.known) == (1, 9)
        assert import_(ME, lines[:2], source="circus").items == 2
        assert len(search(store, "zebra")) == 11
        assert search(store, "okapi")
        assert engine.maintenance.verify() == []

    def test_an_export_imported_elsewhere_gives_equal_rows(
        self, store: Store, engine: Engine, new_address: Callable[[], str]
    ) -> None:
        self._history(engine, ME)
        other = open_store(new_address())
        target = engine_on(other)
        for name in ("local", 'copy\'s "name" %'):
            target.maintenance.import_(Caller(name), list(engine.maintenance.export("local")))
            copy, original = dump_tenant(other, name), dump_tenant(store, "local")
            assert copy | {"access": []} == original | {"access": []}
        assert target.maintenance.verify() == []
        other.close()

    # Tenants

    def test_tenants_share_nothing(self, store: Store, engine: Engine, vectors: Stage) -> None:
        for caller in (ME, THEM):
            for id in "ab":
                engine.writing.remember(
                    caller, note(f"zebra {caller.tenant}", id=id, audience=Audience.ORG)
                )
                embed(store, id, vector_of("a"), caller)
            engine.writing.link(caller, "a", "b", "about", id="l")
        before, stage = dump_tenant(store, "globex"), vectors()
        engine.writing.revise(ME, "a", Patch(title="mine", blocks=(Block("okapi"),)))
        engine.writing.unlink(ME, "l")
        engine.writing.erase(ME, "b")
        with store.writing("local") as rows:
            rows.add_accesses({"a": (5, T0)})
        assert dump_tenant(store, "globex") == before
        assert search(store, "zebra okapi") == ["a"]
        assert search(store, "okapi", caller=THEM) == []
        assert set(nearest(store, stage, vector_of("a"), caller=THEM)) == {"a", "b"}
        assert nearest(store, stage, vector_of("a")) == []
        with store.reading("globex") as rows:
            assert rows.statistics("globex", ["okapi", "zebra"]).frequencies == {"zebra": 2}
            assert rows.accesses("globex", ["a"]) == {}
            assert [job.tenant for job in lease(store, 0, 100, "globex")] == ["globex"] * 2

    @pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:20]))
    def test_a_tenant_may_have_any_name(
        self, store: Store, engine: Engine, vectors: Stage, name: str
    ) -> None:
        caller = Caller(name, "o'brien %")
        engine.writing.remember(ME, note("zebra", id="a"))
        engine.writing.remember(
            caller, note("zebra okapi", id="a", tags=(name.strip()[:50] or "t",))
        )
        engine.writing.remember(caller, note("lion", id="b"))
        engine.writing.link(caller, "a", "b", "about")
        embed(store, "a", vector_of("a"), caller)
        with store.reading(None) as rows:
            assert rows.tenants() == ["local", name]
        assert listed(store, caller=caller) == ["b", "a"]
        assert search(store, "zebra", caller=caller) == ["a"]
        assert nearest(store, vectors(), vector_of("a"), caller=caller) == ["a"]
        assert streams(lease(store, 0, tenant=name)) == ["b", "a"]
        assert (listed(store), search(store, "okapi")) == (["a"], [])
        assert engine.maintenance.verify() == []

    # Access counts and client keys

    def test_access_counts_add_up_and_keep_the_latest_time(
        self, store: Store, engine: Engine, reopen: Fresh
    ) -> None:
        engine.writing.remember(ME, note("x", id="a"))
        for which, count, at in ((store, 2, 5), (reopen(), 3, 4)):
            with which.writing("local") as rows:
                rows.add_accesses({"a": (count, moment(at))})
        with store.reading("local") as rows:
            assert rows.accesses("local", ["a", "b"]) == {"a": (5, moment(5))}
            assert rows.last_seq("local") == 1

    def test_client_keys_are_added_found_used_and_revoked(
        self, keys: StoredKeys, reopen: Fresh
    ) -> None:
        first = ClientKey(
            "k1",
            "d1",
            "it's a name",
            "acme",
            "ann",
            ("read", "write"),
            T0,
            moment(5),
            projects=("github.com/acme/atlas", "project:odd"),
        )
        second = ClientKey("k2", "d2", "", "globex", "bob", (), moment(1))
        for key in (second, first):
            keys.add(key)
        again = keys_on(reopen())
        assert keys.all() == again.all() == [first, second]
        assert (again.by_digest("d1"), again.by_digest("none")) == (first, None)
        keys.used("k1", moment(2))
        assert (keys.revoke("k2"), keys.revoke("none")) == (True, False)
        wanted = [first._replace(last_used=moment(2)), second._replace(revoked=True)]
        assert keys.all() == keys_on(reopen()).all() == wanted
        assert keys.by_digest("d2") == wanted[1]

    def test_a_client_key_is_paused_resumed_and_removed(
        self, keys: StoredKeys, reopen: Fresh
    ) -> None:
        key = ClientKey("k1", "d1", "laptop", "acme", "ann", ("read",), T0)
        keys.add(key)
        assert (keys.pause("k1", True), keys.pause("none", True)) == (True, False)
        assert keys_on(reopen()).by_id("k1") == key._replace(paused=True)
        assert keys.pause("k1", False)
        assert keys_on(reopen()).by_digest("d1") == key
        keys.remove("k1")
        assert keys_on(reopen()).all() == []

    def test_a_ticket_ends_once_for_every_server_until_it_would_end_anyway(
        self, keys: StoredKeys, reopen: Fresh
    ) -> None:
        key = ClientKey("k1", "d1", "laptop", "acme", "ann", ("read",), T0)
        other = key._replace(id="k2", digest="d2", tenant="globex")
        assert not keys.is_ticket_ended(key, "n1")
        assert keys.end_ticket(key, "n1", 2000, 1000)
        later = keys_on(reopen())
        assert later.is_ticket_ended(key, "n1")
        assert not later.is_ticket_ended(other, "n1")
        assert not later.end_ticket(key, "n1", 2000, 1000)
        assert later.end_ticket(key, "n2", 4000, 3000)
        assert not later.is_ticket_ended(key, "n1")

    # Who has read and called

    def test_reads_add_up_by_item_user_and_tool(
        self, store: Store, engine: Engine, reopen: Fresh
    ) -> None:
        engine.writing.remember(ME, note("x", id="a", title="A"))
        with store.writing("local") as rows:
            rows.add_item_reads([ItemRead("a", "ann", "core.fetch", 2, moment(5))])
        with reopen().writing("local") as rows:
            rows.add_item_reads(
                [
                    ItemRead("a", "ann", "core.fetch", 3, moment(4)),
                    ItemRead("a", "bob", "core.recall", 1, moment(6)),
                    ItemRead("gone", "ann", "core.fetch", 1, moment(5)),
                ]
            )
        with store.reading("local") as rows:
            assert rows.all_item_reads("local") == [
                ItemRead("a", "ann", "core.fetch", 5, moment(5)),
                ItemRead("a", "bob", "core.recall", 1, moment(6)),
            ]
            page = rows.item_reads(ME, ReadsWanted(), 10)
        assert page.total == 2
        assert [read.reader for read in page.reads] == ["bob", "ann"]
        assert page.reads[1] == TitledRead("a", "A", "ann", "core.fetch", 5, moment(5))

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (ReadsWanted(), ["mine by ann", "theirs by local"]),
            (ReadsWanted(of_everybody=True), ["mine by ann", "theirs by local", "theirs by ann"]),
            (ReadsWanted(item="mine"), ["mine by ann"]),
            (ReadsWanted(item="theirs", of_everybody=True), ["theirs by local", "theirs by ann"]),
            (ReadsWanted(reader="ann", of_everybody=True), ["mine by ann", "theirs by ann"]),
            (ReadsWanted(since=moment(3)), ["mine by ann"]),
            (ReadsWanted(item="secret", of_everybody=True), []),
        ],
    )
    def test_reads_are_listed_as_far_as_the_caller_may_see_them(
        self, store: Store, engine: Engine, wanted: ReadsWanted, found: list[str]
    ) -> None:
        engine.writing.remember(ME, note("x", id="mine", audience=Audience.ORG))
        ann = Caller("local", "ann")
        engine.writing.remember(ann, note("y", id="theirs", audience=Audience.ORG))
        engine.writing.remember(ann, note("z", id="secret"))
        with store.writing("local") as rows:
            rows.add_item_reads(
                [
                    ItemRead("mine", "ann", "core.fetch", 1, moment(3)),
                    ItemRead("theirs", "local", "core.fetch", 1, moment(2)),
                    ItemRead("theirs", "ann", "core.fetch", 1, moment(1)),
                    ItemRead("secret", "ann", "core.fetch", 1, moment(4)),
                ]
            )
        with store.reading("local") as rows:
            page = rows.item_reads(ME, wanted, 10)
            assert [f"{read.item} by {read.reader}" for read in page.reads] == found
            assert page.total == len(found)
            second = rows.item_reads(ME, wanted, 1, 1)
        assert [f"{read.item} by {read.reader}" for read in second.reads] == found[1:2]
        assert second.total == len(found)

    def test_reads_and_calls_of_one_tenant_are_not_seen_by_another(
        self, store: Store, engine: Engine
    ) -> None:
        for caller in (ME, THEM):
            engine.writing.remember(caller, note("x", id="a", audience=Audience.ORG))
        calls = ClientCalls("k1", "claude-code", "ann", 2, 1, moment(1), moment(2), "not_found")
        with store.writing("local") as rows:
            rows.add_item_reads([ItemRead("a", "ann", "core.fetch", 1, T0)])
            rows.add_client_calls([calls])
        with store.reading("globex") as rows:
            assert rows.item_reads(THEM, ReadsWanted(of_everybody=True), 10).reads == ()
            assert rows.client_calls("globex") == []
        with store.reading("local") as rows:
            assert rows.client_calls("local") == [calls]

    def test_who_read_an_erased_item_is_forgotten(self, store: Store, engine: Engine) -> None:
        engine.writing.remember(ME, note("x", id="a"))
        with store.writing("local") as rows:
            rows.add_item_reads([ItemRead("a", "ann", "core.fetch", 1, T0)])
        engine.writing.erase(ME, "a")
        with store.reading("local") as rows:
            assert rows.all_item_reads("local") == []

    def test_calls_of_a_program_add_up_and_keep_the_last_error(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("x"))
        first = ClientCalls("k1", "cursor", "ann", 2, 1, moment(1), moment(2), "not_found")
        later = ClientCalls("k1", "cursor", "ann", 3, 0, moment(3), moment(4), "")
        other = ClientCalls("", "cline", "ann", 1, 0, moment(9), moment(9), "")
        with store.writing("local") as rows:
            rows.add_client_calls([first, later, other])
        with store.reading("local") as rows:
            assert rows.client_calls("local") == [
                other,
                ClientCalls("k1", "cursor", "ann", 5, 1, moment(1), moment(4), "not_found"),
            ]

    def test_old_reads_and_calls_are_forgotten(self, store: Store, engine: Engine) -> None:
        engine.writing.remember(ME, note("x", id="a"))
        with store.writing("local") as rows:
            rows.add_item_reads(
                [ItemRead("a", "ann", "core.fetch", 1, moment(1)), ItemRead("a", "b", "t", 1, T0)]
            )
            rows.add_client_calls([ClientCalls("k", "old", "ann", 1, 0, T0, T0, "")])
        with store.reading(None) as rows:
            assert rows.tenants_with_old_usage(moment(1)) == ["local"]
            assert rows.tenants_with_old_usage(T0) == []
        with store.writing("local") as rows:
            rows.delete_usage(moment(1))
        with store.reading("local") as rows:
            assert [read.reader for read in rows.all_item_reads("local")] == ["ann"]
            assert rows.client_calls("local") == []

    # Many at once, and kills

    @pytest.mark.parametrize(
        "tenants", [["local"], ["t1", "t2", "t3", "t4"]], ids=["one tenant", "several"]
    )
    def test_threads_that_write_at_once_lose_nothing(
        self, store: Store, engine: Engine, reopen: Fresh, tenants: list[str]
    ) -> None:
        opened = [store, reopen(), store, reopen()]

        def work(n: int) -> None:
            mine = engine_on(opened[n])
            for k in range(20):
                mine.writing.remember(
                    Caller(tenants[n % len(tenants)]), note(f"text {n} {k}", id=f"{n}-{k}")
                )

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        events = [
            event.stream for tenant in tenants for event in whole(store, tenant, 80 // len(tenants))
        ]
        assert sorted(events) == sorted(f"{n}-{k}" for n in range(4) for k in range(20))
        assert engine.maintenance.verify() == []

    def test_of_those_who_change_an_item_at_once_each_version_has_one(
        self, store: Store, engine: Engine
    ) -> None:
        engine.writing.remember(ME, note("x", id="a"))

        def work(n: int) -> list[int]:
            return [engine.writing.tag(ME, "a", add=[f"{n}-{k}"]).item.version for k in range(10)]

        with ThreadPoolExecutor(4) as pool:
            versions = [version for part in pool.map(work, range(4)) for version in part]
        assert sorted(versions) == list(range(2, 42))
        with store.reading("local") as rows:
            assert len(tags_of(rows, "local", "a")) == 40

    def test_processes_that_write_at_once_lose_nothing(
        self, store: Store, engine: Engine, address: str
    ) -> None:
        children = [
            started(address, tenant, f"{tenant}{n}", 15) for n, tenant in enumerate(("x", "x", "y"))
        ]
        said = [child.communicate(timeout=300)[0].split() for child in children]
        assert [child.returncode for child in children] == [0, 0, 0]
        for tenant, count, parts in (("x", 30, said[:2]), ("y", 15, said[2:])):
            acknowledged = {
                (int(seq), id)
                for part in parts
                for seq, id in zip(part[::2], part[1::2], strict=True)
            }
            assert {
                (event.seq, event.stream) for event in whole(store, tenant, count)
            } == acknowledged
        assert engine.maintenance.verify() == []

    def test_what_was_acknowledged_before_a_kill_is_there(
        self, store: Store, engine: Engine, address: str
    ) -> None:
        found: list[str] = []
        for round in range(3):
            with started(address, "local", f"r{round}", 100_000) as child:
                assert child.stdout is not None
                for _ in range(5 + 7 * round):
                    found.append(child.stdout.readline().split()[1])
                child.kill()
                found += [line.split()[1] for line in child.stdout if line.endswith("\n")]
        with store.reading("local") as rows:
            count = rows.last_seq("local")
        assert len(found) <= count <= len(found) + 3
        assert set(found) <= {event.stream for event in whole(store, "local", count)}
        assert set(found) <= set(listed(store, limit=10_000))
        assert engine.maintenance.verify() == []
