"""Who reads which item, and which programs call. None of it is an event.

Counts are collected in memory and written together every few seconds, so that no call that only
reads has to wait for a writer.
"""

import threading
from collections.abc import Iterable
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.clock import DAY_S, shifted
from memolith.engine.activity import TITLE_CHARACTERS
from memolith.engine.validation import storable, when
from memolith.errors import DiskFull, Unavailable
from memolith.ports.clock import Clock
from memolith.ports.store import Store
from memolith.ports.usage import ClientCalls, ItemRead, ReadPage, ReadsWanted

FLUSH_WAIT_S = 0.5
DAYS_KEPT = 90
"""How long it is known who read an item, and that a program has called."""

MAX_WAITING = 20_000
"""How many different reads wait at most to be written. More are not recorded."""

MAX_PROGRAMS = 200
"""How many different programs wait at most. More are counted under one name."""

MAX_PROGRAM_LENGTH = 60
OTHER_PROGRAMS = "other programs"


class Client(NamedTuple):
    """With what a call came: the id of a key, and the program as it names itself."""

    key: str = ""
    """Empty for whoever sits at this machine and needs no key."""
    program: str = ""
    counted: bool = True
    """Whether its calls are counted. Those of the web page are not: it asks every second."""


class _Read(NamedTuple):
    """What the counts of reads are kept by."""

    tenant: str
    item: str
    reader: str
    tool: str


class _Calls(NamedTuple):
    """What the counts of calls are kept by."""

    tenant: str
    key: str
    program: str
    caller: str


class Usage:
    """Counts reads and calls, and tells about them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._reads: dict[_Read, ItemRead] = {}
        self._calls: dict[_Calls, ClientCalls] = {}

    def note_reads(self, caller: Caller, ids: Iterable[str], tool: str) -> None:
        """Count that a caller was shown these items. It is written with the next flush."""
        now = self.clock.now()
        with self._lock:
            for id in ids:
                key = _Read(caller.tenant, id, caller.user, tool)
                before = self._reads.get(key)
                if before is not None:
                    self._reads[key] = before._replace(times=before.times + 1, last=now)
                elif len(self._reads) < MAX_WAITING:
                    self._reads[key] = ItemRead(id, caller.user, tool, 1, now)

    def note_call(self, caller: Caller, client: Client, error: str = "") -> None:
        """Count a call of a program; `error` is the type of the error that it ended with."""
        now = self.clock.now()
        program = program_name(client.program)
        with self._lock:
            key = _Calls(caller.tenant, client.key, program, caller.user)
            if key not in self._calls and len(self._calls) >= MAX_PROGRAMS:
                key = key._replace(program=OTHER_PROGRAMS)
            calls = ClientCalls(
                key.key, key.program, caller.user, 1, int(bool(error)), now, now, error
            )
            before = self._calls.get(key)
            self._calls[key] = calls if before is None else _sum(before, calls)

    def reads(
        self, caller: Caller, wanted: ReadsWanted, limit: int = 20, offset: int = 0
    ) -> ReadPage:
        """Who read items that the caller may see, the last one first.

        An item without a title is called by how its text begins. Unless `wanted.of_everybody`,
        these are the caller's own reads, and reads of items that the caller owns.
        """
        if wanted.since is not None:
            wanted = wanted._replace(since=when("since", wanted.since))
        if not all(storable(text) for text in (wanted.item, wanted.reader) if text is not None):
            return ReadPage((), 0)
        self.flush()
        with self.store.reading(caller.tenant) as rows:
            page = rows.item_reads(caller, wanted, limit, offset)
            untitled = {read.item for read in page.reads if not read.title}
            beginnings = rows.beginnings(caller.tenant, untitled, TITLE_CHARACTERS)
            reads = tuple(
                read._replace(title=read.title or beginnings.get(read.item, ""))
                for read in page.reads
            )
            return ReadPage(reads, page.total)

    def calls(self, tenant: str) -> list[ClientCalls]:
        """Which programs of a tenant have called, the last one first."""
        self.flush()
        with self.store.reading(tenant) as rows:
            return rows.client_calls(tenant)

    def flush(self) -> None:
        """Write what was counted since the last flush; what cannot be written waits."""
        with self._flushing:
            with self._lock:
                reads = self._reads
                calls = self._calls
                self._reads = {}
                self._calls = {}
            for tenant in {key.tenant for key in reads} | {key.tenant for key in calls}:
                own_reads = [read for key, read in reads.items() if key.tenant == tenant]
                own_calls = [call for key, call in calls.items() if key.tenant == tenant]
                try:
                    with self.store.writing(tenant, FLUSH_WAIT_S) as rows:
                        if own_reads:
                            rows.add_item_reads(own_reads)
                        rows.add_client_calls(own_calls)
                except (DiskFull, Unavailable):
                    self._wait_again(tenant, own_reads, own_calls)

    def _wait_again(self, tenant: str, reads: list[ItemRead], calls: list[ClientCalls]) -> None:
        """Put back what could not be written, under what was counted since."""
        with self._lock:
            for read in reads:
                key = _Read(tenant, read.item, read.reader, read.tool)
                newer = self._reads.get(key)
                if newer is not None:
                    self._reads[key] = newer._replace(times=newer.times + read.times)
                elif len(self._reads) < MAX_WAITING:
                    self._reads[key] = read
            for call in calls:
                name = _Calls(tenant, call.key, call.program, call.caller)
                later = self._calls.get(name)
                self._calls[name] = call if later is None else _sum(call, later)

    def forget_old(self) -> None:
        """Remove what is older than it has to be known."""
        oldest_kept = shifted(self.clock.now(), -DAYS_KEPT * DAY_S)
        with self.store.reading(None) as rows:
            tenants = rows.tenants_with_old_usage(oldest_kept)
        for tenant in tenants:
            with self.store.writing(tenant) as writer:
                writer.delete_usage(oldest_kept)


def _sum(before: ClientCalls, after: ClientCalls) -> ClientCalls:
    return after._replace(
        calls=before.calls + after.calls,
        errors=before.errors + after.errors,
        first=before.first,
        last_error=after.last_error or before.last_error,
    )


def program_of(user_agent: str) -> str:
    """The name at the beginning of a user agent, without its version."""
    return user_agent.partition("/")[0].strip()


def program_name(told: str) -> str:
    """How a program is listed: the name that it tells, without what no database can keep."""
    name = " ".join(told.split())[:MAX_PROGRAM_LENGTH]
    return name if storable(name) else ascii(name)
