"""A cluster of three nodes loses its primary again and again, and no acknowledged write.

The set-up is that of deploy/failover: etcd, Patroni and PostgreSQL on three nodes, HAProxy and
PgBouncer before them. Servers use PgBouncer, workers go straight to HAProxy. The test prints what
happened, and leaves it in .cache/failover.log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from tests.failover.nodes import OWNER_PASSWORD, SERVER_PASSWORD, Site, a_site
from tests.postgres import prepare
from tests.programs.children import wait_for
from tests.programs.team import Account, Member, Team, drained, settle, under_load

ROOT = Path(__file__).parents[2]
LOG = ROOT / ".cache" / "failover.log"
TENANTS = {"big": 5, "small": 1}
PAUSE_S = 0.2
KILLS = 2
ETCD_PAUSE_S = 25.0
"""Longer than the `ttl` of the cluster, so that the primary has to do without its lock."""
ATTEMPTS = 3
GOES_ON_S = 180.0
CALL_LIMIT_S = 60.0
"""A call waits at most `busy_s` for a connection and `statement_s` for each statement, and is
repeated for ten seconds; twice their sum is for a machine with more to do than it can."""
LIMITS = {"MEMOLITH_BUSY_S": "5", "MEMOLITH_STATEMENT_S": "5"}


class Diary:
    """What happened, with seconds since the start."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.lines: list[str] = []
        self._started = time.monotonic()

    def note(self, text: str) -> None:
        line = f"{time.monotonic() - self._started:6.1f} s  {text}"
        self.lines.append(line)
        print(line, flush=True)

    def note_gap(self, what: str, since: float) -> None:
        """Note how long no write was acknowledged after something had happened."""
        moments = [since, *(at for at in list(self.account.kept_at) if at > since)]
        pauses = [later - sooner for sooner, later in pairwise(moments)]
        self.note(f"{what}: {max(pauses):.1f} s without writes")


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
            member = Member(command, pooled, folder, MEMOLITH_DATABASE_POOLER="true", **self.env)
        return self._stack.enter_context(member)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with a_site() as made:
        made.set_up()
        prepare(made.url("5000", "memolith_owner", OWNER_PASSWORD))
        yield made


def goes_on(account: Account) -> None:
    """Wait until writes are acknowledged again."""
    before = len(account.kept)
    wait_for(lambda: len(account.kept) > before + 5, GOES_ON_S)


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


def pause_etcd(site: Site, diary: Diary) -> bool:
    """Stop etcd for longer than the primary's lock is valid; whether writes went on."""
    primary = site.wait_until_whole()
    diary.note("stopped etcd on all nodes with SIGSTOP")
    since = time.monotonic()
    for number in (1, 2, 3):
        site.stop_etcd(number)
    try:
        threading.Event().wait(ETCD_PAUSE_S)
        went_on = site.primary() == primary
        if went_on:
            goes_on(diary.account)
            diary.note_gap(f"after {ETCD_PAUSE_S:.0f} s node{primary} still writes", since)
        else:
            # On a machine that is too busy, the nodes may not have reached each other in time.
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
        with under_load(team, TENANTS, patient=True, pause_s=PAUSE_S) as account:
            diary = Diary(account)
            goes_on(account)
            diary.note("four servers and two workers write and search")
            for _ in range(KILLS):
                kill_the_primary(site, diary)
            freeze_the_primary(site, diary)
            assert any(pause_etcd(site, diary) for _ in range(ATTEMPTS))
        diary.note(f"refused in between: {dict(account.refused)}")
        diary.note(f"slowest call: {account.longest_s:.1f} s")
        problems = settle(account, team.database)
        lost = [problem for problem in problems if problem.endswith("is lost")]
        diary.note(f"acknowledged {len(account.kept)}, found {len(account.kept) - len(lost)}")
        LOG.parent.mkdir(exist_ok=True)
        LOG.write_text("\n".join(diary.lines) + "\n", encoding="utf-8")
        with capsys.disabled():
            print("\n" + "\n".join(diary.lines))
        assert problems == []
        assert account.longest_s < CALL_LIMIT_S
        # The workers have outlived it all, and make vectors.
        drained(team.database, *TENANTS)
        assert all(member.alive for member in (*team.servers, *team.workers))
        assert "Traceback" not in team.complaints()
