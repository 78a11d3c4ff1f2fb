"""A cluster of three nodes loses its primary again and again, and no acknowledged write.

The set-up is that of deploy/failover: etcd, Patroni and PostgreSQL on three nodes, HAProxy and
PgBouncer before them. Servers use PgBouncer, workers go straight to HAProxy. The test prints what
happened, and leaves it in .cache/failover.log.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest

from tests.failover.nodes import OWNER_PASSWORD, SERVER_PASSWORD, Site, a_site
from tests.postgres import prepare
from tests.programs.children import wait_for
from tests.programs.team import Account, Member, Team, Voice, drained, settle, under_load

ROOT = Path(__file__).parents[2]
LOG = ROOT / ".cache" / "failover.log"
TENANTS = {"big": 5, "small": 1}
LIGHTHOUSE = "The lighthouse keeper has a parrot."
STALE_S = 60
PAUSE_S = 0.2
LONG_S = 10.0
"""When a primary is gone, there are no writes for longer than this."""
KILLS = 2
ETCD_PAUSE_S = 25.0
"""Longer than the `ttl` of the cluster, so that the primary has to do without its lock."""
ATTEMPTS = 3
GOES_ON_S = 180.0
WITHOUT_ETCD_S = 30.0
CALL_LIMIT_S = 60.0
"""A call waits at most `busy_s` for a connection and `statement_s` for each statement, and is
repeated for ten seconds; twice their sum is for a machine with more to do than it can."""
LIMITS = {"MEMOLITH_BUSY_S": "5", "MEMOLITH_STATEMENT_S": "5"}


class StaleReader(threading.Thread):
    """Searches for the same text all the time, and permits that the answer is a minute old."""

    def __init__(self, team: Team, key: str) -> None:
        super().__init__(daemon=True)
        self.team = team
        self.voice = Voice(key)
        self.made = self.voice.ask(team.servers[0].url, "remember", {"content": LIGHTHOUSE})
        self.voice.http.headers["Cache-Control"] = f"max-stale={STALE_S}"
        self.found_at: list[float] = []
        """When a replica gave the right answer."""
        self.oldest_s = 0
        self.longest_s = 0.0
        self.refused: Counter[int] = Counter()
        self.errors: list[str] = []
        self.ending = threading.Event()
        wait_for(self.finds_it, GOES_ON_S)

    def run(self) -> None:
        while not self.ending.wait(PAUSE_S):
            self.finds_it()

    def finds_it(self) -> bool:
        """Whether a replica has the text; a wrong answer is an error."""
        started = time.monotonic()
        url = random.choice(self.team.servers).url
        try:
            answer = self.voice.http.post(
                f"{url}/mcp/tools/recall", json={"query": "lighthouse", "mode": "text"}
            )
        except httpx2.TransportError:
            self.refused[0] += 1
            return False
        self.longest_s = max(self.longest_s, time.monotonic() - started)
        if answer.status_code != 200:
            self.refused[answer.status_code] += 1
            return False
        ids = [hit["id"] for hit in answer.json()["hits"]]
        if "age" not in answer.headers:
            # The primary has answered, because no replica was fit for it.
            return False
        if ids != [self.made["id"]]:
            # Before it has begun, the replicas may not have the text yet.
            if self.found_at:
                self.errors.append(f"found {ids} with age {answer.headers['age']}")
            return False
        self.oldest_s = max(self.oldest_s, int(answer.headers["age"]))
        self.found_at.append(time.monotonic())
        return True


class Diary:
    """What happened, with seconds since the start."""

    def __init__(self, account: Account, reader: StaleReader) -> None:
        self.account = account
        self.reader = reader
        self.lines: list[str] = []
        self.searches_without_primary: list[int] = []
        """For each time without a primary, how many searches replicas have answered."""
        self._started = time.monotonic()

    def note(self, text: str) -> None:
        line = f"{time.monotonic() - self._started:6.1f} s  {text}"
        self.lines.append(line)
        print(line, flush=True)

    def note_gap(self, what: str, since: float, *, without_primary: bool = True) -> None:
        """Note how long no write was acknowledged after something had happened."""
        moments = [since, *(at for at in list(self.account.kept_at) if at > since)]
        pauses = [(later - sooner, sooner, later) for sooner, later in pairwise(moments)]
        length_s, began, ended = max(pauses)
        found = sum(began < at < ended for at in list(self.reader.found_at))
        self.note(
            f"{what}: {length_s:.1f} s without writes, {found} searches by replicas meanwhile"
        )
        if without_primary and length_s > LONG_S:
            self.searches_without_primary.append(found)


class ClusterTeam(Team):
    """Servers behind PgBouncer, workers at the primary itself, as the page recommends."""

    def __init__(self, stack: ExitStack, site: Site, folder: Path) -> None:
        self.site = site
        owner = site.url("5000", "memolith_owner", OWNER_PASSWORD)
        super().__init__(stack, owner, folder, servers=4, workers=2, **LIMITS)

    def start(self, command: str) -> Member:
        folder = self.folder / f"{command}{next(self._numbers)}"
        if command == "worker":
            member = Member(command, self.database, folder, MEMOLITH_EMBEDDER="minilm", **self.env)
        else:
            pooled = self.site.url("6432", "memolith_server", SERVER_PASSWORD)
            member = Member(
                command,
                pooled,
                folder,
                MEMOLITH_DATABASE_POOLER="true",
                MEMOLITH_DATABASE_REPLICAS=self.site.url(
                    "5001", "memolith_server", SERVER_PASSWORD
                ),
                **self.env,
            )
        return self._stack.enter_context(member)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with a_site() as made:
        made.set_up()
        prepare(made.url("5000", "memolith_owner", OWNER_PASSWORD))
        yield made


def goes_on(account: Account, limit_s: float = GOES_ON_S) -> None:
    """Wait until writes are acknowledged again."""
    before = len(account.kept)
    wait_for(lambda: len(account.kept) > before + 5, limit_s)


def kill_the_primary(site: Site, diary: Diary) -> None:
    """Kill the primary and its Patroni; it returns when another has taken over."""
    victim = site.wait_until_whole()
    diary.note(f"killed node{victim}, the primary, and its Patroni with -9")
    since = time.monotonic()
    site.kill(victim)
    wait_for(site.primary, GOES_ON_S)
    goes_on(diary.account)
    diary.note_gap(f"node{site.primary()} took over", since)
    site.start_node(victim)
    site.wait_until_whole()
    diary.note(f"node{victim} returned as a replica")


def freeze_the_primary(site: Site, diary: Diary) -> None:
    """Cut a node off: its connections stay open, and nothing answers. Then it wakes up."""
    victim = site.wait_until_whole()
    diary.note(f"froze all of node{victim}, the primary, with SIGSTOP")
    since = time.monotonic()
    site.freeze(victim)
    try:
        wait_for(lambda: site.primary() not in (None, victim), GOES_ON_S)
        goes_on(diary.account)
        diary.note_gap(f"node{site.primary()} took over", since)
    finally:
        site.thaw(victim)
    diary.note(f"node{victim} woke up, and believed that it was the primary")
    goes_on(diary.account)
    site.wait_until_whole()
    diary.note(f"node{victim} is a replica")


def freeze_the_confirming_replica(site: Site, diary: Diary) -> None:
    """Freeze the replica that every commit waits for; another one must take its place."""
    site.wait_until_whole()
    victim = wait_for(site.confirming, GOES_ON_S)
    diary.note(f"froze all of node{victim}, the replica that confirms commits, with SIGSTOP")
    since = time.monotonic()
    site.freeze(victim)
    try:
        goes_on(diary.account)
        diary.note_gap("another replica confirms", since, without_primary=False)
    finally:
        site.thaw(victim)
    site.wait_until_whole()
    diary.note(f"node{victim} woke up and follows")


def pause_etcd(site: Site, diary: Diary) -> bool:
    """Stop etcd for longer than the primary's lock is valid; whether writes went on."""
    primary = site.wait_until_whole()
    diary.note("stopped etcd on all nodes with SIGSTOP")
    since = time.monotonic()
    for number in (1, 2, 3):
        site.stop_etcd(number)
    try:
        threading.Event().wait(ETCD_PAUSE_S)
        try:
            goes_on(diary.account, WITHOUT_ETCD_S)
            went_on = True
            what = f"after {ETCD_PAUSE_S:.0f} s node{primary} still writes"
            diary.note_gap(what, since, without_primary=False)
        except AssertionError:
            # On a machine that is too busy, the nodes may not have reached each other in time.
            went_on = False
            diary.note(f"node{primary} stepped down without etcd")
    finally:
        for number in (1, 2, 3):
            site.continue_etcd(number)
    goes_on(diary.account)
    return went_on


@pytest.mark.full
def test_no_acknowledged_write_is_lost_or_doubled_when_primaries_fail(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        team = ClusterTeam(stack, site, tmp_path)
        reader = StaleReader(team, team.key("reader"))
        with under_load(team, TENANTS, patient=True, pause_s=PAUSE_S) as account:
            reader.start()
            diary = Diary(account, reader)
            goes_on(account)
            diary.note("four servers and two workers write and search")
            for _ in range(KILLS):
                kill_the_primary(site, diary)
            freeze_the_primary(site, diary)
            freeze_the_confirming_replica(site, diary)
            assert any(pause_etcd(site, diary) for _ in range(ATTEMPTS))
            reader.ending.set()
            reader.join(GOES_ON_S)
        diary.note(f"refused in between: {dict(account.refused)}")
        diary.note(
            f"slowest call: {account.longest_s:.1f} s; slowest search that may be old: "
            f"{reader.longest_s:.1f} s"
        )
        diary.note(
            f"searches by replicas: {len(reader.found_at)}, the oldest answer {reader.oldest_s} s "
            f"old, refused {reader.refused.total()}"
        )
        problems = settle(account, team.database)
        lost = [problem for problem in problems if problem.endswith("is lost")]
        diary.note(f"acknowledged {len(account.kept)}, found {len(account.kept) - len(lost)}")
        LOG.parent.mkdir(exist_ok=True)
        LOG.write_text("\n".join(diary.lines) + "\n", encoding="utf-8")
        with capsys.disabled():
            print("\n" + "\n".join(diary.lines))
        assert problems == []
        assert reader.errors == []
        assert max(account.longest_s, reader.longest_s) < CALL_LIMIT_S
        assert diary.searches_without_primary
        assert all(diary.searches_without_primary)
        # The workers have outlived it all, and make vectors.
        drained(team.database, *TENANTS)
        assert all(member.alive for member in (*team.servers, *team.workers))
        assert "Traceback" not in team.complaints()
