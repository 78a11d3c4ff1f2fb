"""Several servers and workers on one PostgreSQL database, and clients that keep account of what
they were told.
"""

from __future__ import annotations

import itertools
import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2

from memolith.domain.clock import SystemClock
from memolith.doors.http.auth.keys import NewKey, make_key
from memolith.storage.client_keys import StoredKeys
from memolith.storage.postgres.store import PostgresStore
from tests.programs.children import TIMEOUT_S, Child, wait_for
from tests.programs.served import ENVELOPE, INSIDE, MODERN
from tests.stores import engine_on

MAIN = ("-m", "memolith.doors.main")
# What no answer and no log may tell of the database.
HIDDEN = (*INSIDE, "psycopg", "127.0.0.1", "postgresql://", "s3cret")


class Member(Child):
    """A program of the team: `serve` or `worker`, as users start it."""

    def __init__(self, command: str, database: str, folder: Path, **env: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        flags = ("--port", "0") if command == "serve" else ()
        super().__init__(
            *MAIN,
            command,
            "--json",
            "--data",
            folder,
            *flags,
            MEMOLITH_DATABASE=database,
            PYTHONUNBUFFERED="1",
            **{"MEMOLITH_CALLS_PER_MINUTE": "1000000", **env},
        )

    @cached_property
    def started(self) -> dict[str, str]:
        """What it says once it is ready."""
        said = self.line()
        while said.count("{") != said.count("}"):
            said += self.line()
        return dict(json.loads(said))

    @property
    def url(self) -> str:
        return self.started["url"]

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> int:
        """Ask it to end, and wait until it has."""
        self.process.send_signal(signal.SIGTERM)
        return self.end()


class Refused(Exception):
    """A call that was not done: what the body says, and with which status it came."""

    def __init__(self, status: int, body: dict[str, Any], headers: httpx2.Headers) -> None:
        super().__init__(f"{status} {body}")
        self.status, self.body, self.headers = status, body, headers


class Voice:
    """Calls tools over REST or over MCP."""

    def __init__(self, key: str, mcp: bool = False) -> None:
        self.mcp = mcp
        self.longest_s = 0.0
        """How long the slowest call took, whatever came of it."""
        self.http = httpx2.Client(
            headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT_S,
            trust_env=False,
            verify=False,
        )

    def __del__(self) -> None:
        self.http.close()

    def ask(self, url: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a tool, or Refused."""
        started = time.monotonic()
        try:
            return self._ask(url, tool, arguments)
        finally:
            self.longest_s = max(self.longest_s, time.monotonic() - started)

    def _ask(self, url: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if not self.mcp:
            answer = self.http.post(f"{url}/mcp/tools/{tool}", json=arguments)
            if answer.status_code != 200:
                raise Refused(answer.status_code, answer.json(), answer.headers)
            return dict(answer.json())
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": ENVELOPE},
        }
        answer = self.http.post(
            f"{url}/mcp",
            json=message,
            headers={
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": MODERN,
                "Mcp-Method": "tools/call",
                "Mcp-Name": tool,
            },
        )
        body = answer.json()
        result = body.get("result")
        if result is None or result.get("isError"):
            raise Refused(
                answer.status_code,
                json.loads(result["content"][0]["text"]) if result else body,
                answer.headers,
            )
        return dict(result["structuredContent"])

    def found(self, url: str, **query: Any) -> list[str]:
        """The ids that a search finds, which must work as it should.

        All notes of the load are alike, so more of them fit than are compared.
        """
        answer = self.ask(url, "recall", query)
        warnings = [text for text in answer.get("warnings", []) if "the best of them" not in text]
        assert not warnings, answer
        return [hit["id"] for hit in answer["hits"]]


@dataclass
class Account:
    """What the clients were told: the writes that were acknowledged, and everything that went
    wrong.
    """

    kept: dict[str, tuple[str, str]] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    searches: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    kept_at: list[float] = field(default_factory=list)
    """When each write was acknowledged."""
    longest_s: float = 0.0
    """How long the slowest call took."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Team:
    """The servers and workers of one database, and who writes to them."""

    def __init__(
        self, stack: ExitStack, database: str, folder: Path, servers: int, workers: int, **env: str
    ) -> None:
        self.database, self.folder, self.env, self._stack = database, folder, env, stack
        self._numbers = itertools.count()
        self.servers = [self.start("serve") for _ in range(servers)]
        self.workers = [self.start("worker") for _ in range(workers)]
        self.wait()

    def start(self, command: str) -> Member:
        """One more; it is not waited for."""
        member = Member(
            command, self.database, self.folder / f"{command}{next(self._numbers)}", **self.env
        )
        return self._stack.enter_context(member)

    def wait(self) -> None:
        """Until everybody is ready."""
        for member in (*self.servers, *self.workers):
            assert member.started

    def key(self, tenant: str = "local") -> str:
        """A new key for a tenant."""
        with closing(PostgresStore(self.database)) as store:
            return make_key(StoredKeys(store), SystemClock().now(), NewKey(tenant, tenant=tenant))[
                0
            ]

    def heal(self) -> None:
        """Whoever ended must have been killed by us; another takes his place."""
        for members, command in ((self.servers, "serve"), (self.workers, "worker")):
            for n, member in enumerate(members):
                if not member.alive:
                    assert member.process.returncode == -signal.SIGKILL, "".join(member.complaints)
                    members[n] = self.start(command)
        self.wait()

    def complaints(self) -> str:
        """What all of them wrote on standard error."""
        return "".join(
            line for member in (*self.servers, *self.workers) for line in member.complaints
        )


@contextmanager
def a_team(
    database: str, folder: Path, servers: int = 4, workers: int = 2, **env: str
) -> Iterator[Team]:
    """Servers and workers that are gone when the test is."""
    with ExitStack() as stack:
        yield Team(stack, database, folder, servers, workers, **env)


class Client(threading.Thread):
    """Writes marked texts at one server, and looks for each at all of them.

    A calm client takes every refusal for an error. A patient one repeats a write with its key until
    it is done, at whichever server lets him.
    """

    def __init__(
        self,
        team: Team,
        account: Account,
        name: str,
        tenant: str,
        key: str,
        stop: threading.Event,
        patient: bool = False,
        pause_s: float = 0.02,
    ) -> None:
        super().__init__(daemon=True)
        self.team, self.account, self.tenant, self.patient, self.pause_s = (
            team,
            account,
            tenant,
            patient,
            pause_s,
        )
        self.mark, self.stop, self.chance = name, stop, random.Random(name)
        self.pause, self.voice = threading.Event(), Voice(key, mcp=name.startswith("m"))

    def run(self) -> None:
        for number in itertools.count():
            if self.stop.is_set():
                return
            self.step(f"{self.mark}x{number:05d}")
            self.stop.wait(self.pause_s)

    def step(self, mark: str) -> None:
        self.account.tried.add(mark)
        text = f"The mark {mark} stands on the wall of the {self.chance.choice(['barn', 'mill', 'tower', 'bridge'])}."
        made = None
        while made is None:
            url = self.chance.choice(self.team.servers).url
            made = self.ask(url, "remember", content=text, tags=[self.mark], idempotency_key=mark)
            if made is None and not self.patient:
                return
        with self.account.lock:
            self.account.kept[mark] = (self.tenant, made["id"])
            self.account.kept_at.append(time.monotonic())
        for server in list(self.team.servers):
            # The write is acknowledged, so whoever asks now finds it; only a server that has not
            # yet heard that the
            # tenant has moved may look in the old place, for a second.
            for _ in range(20 if self.patient else 1):
                found = self.ask(server.url, "recall", query=mark, mode="text", limit=3)
                if found is None or made["id"] in [hit["id"] for hit in found["hits"]]:
                    break
                self.pause.wait(0.1)
            else:
                self.account.errors.append(f"{mark} was not found: {found}")
            self.account.searches += 1

    def ask(self, url: str, tool: str, **arguments: Any) -> dict[str, Any] | None:
        try:
            return self.voice.ask(url, tool, arguments)
        except Refused as error:
            if (
                not self.patient
                or error.status not in (200, 503)
                or set(error.body) < {"error", "message"}
            ):
                self.account.errors.append(f"{tool}: {error}")
            self.account.errors += [
                f"{sign} in {error}" for sign in HIDDEN if sign in str(error.body)
            ]
            with self.account.lock:
                self.account.refused[str(error.body.get("error"))] += 1
        except httpx2.TransportError as error:
            # A server that was killed has no words for it.
            if not self.patient:
                self.account.errors.append(f"{tool}: {type(error).__name__} {error}")
            with self.account.lock:
                self.account.refused["gone"] += 1
        self.stop.wait(0.1)
        return None


@contextmanager
def under_load(
    team: Team, tenants: dict[str, int], *, patient: bool = False, pause_s: float = 0.02
) -> Iterator[Account]:
    """So many clients of each tenant at work, half of them over MCP; in the end all have finished
    their step.
    """
    account, stop = Account(), threading.Event()
    keys = {tenant: team.key(tenant) for tenant in tenants}
    clients = [
        Client(
            team, account, f"{'mr'[n % 2]}{tenant}{n}", tenant, keys[tenant], stop, patient, pause_s
        )
        for tenant, count in tenants.items()
        for n in range(count)
    ]
    for client in clients:
        client.start()
    try:
        yield account
    finally:
        stop.set()
        for client in clients:
            client.join(TIMEOUT_S)
    account.errors += [f"{client.mark} did not end" for client in clients if client.is_alive()]
    account.longest_s = max(client.voice.longest_s for client in clients)


def settle(account: Account, database: str) -> list[str]:
    """What is wrong in the end: errors, writes that were lost or doubled, rows that differ from the
    log.
    """
    problems = list(account.errors[:10])
    with closing(PostgresStore(database, leads=True)) as store:
        counts: Counter[str] = Counter()
        for tenant in {tenant for tenant, _ in account.kept.values()}:
            with store.reading(tenant) as rows:
                ids = {item.id for item in rows.all_items(tenant)}
                counts.update(
                    tag
                    for item in ids
                    for tag in [passage.text.split()[2] for passage in rows.passages(tenant, item)]
                )
                problems += [
                    f"{mark} is lost"
                    for mark, (whose, id) in account.kept.items()
                    if whose == tenant and id not in ids
                ]
        problems += [
            f"{mark} is there {count} times" for mark, count in counts.items() if count > 1
        ]
        problems += [f"{mark} is lost" for mark in account.kept if not counts[mark]]
        problems += [f"{mark} was never sent" for mark in counts if mark not in account.tried]
        return problems + engine_on(store).maintenance.verify()


def backlog(database: str, tenant: str) -> int:
    """How many texts of a tenant wait for their vectors."""
    with closing(PostgresStore(database)) as store, store.reading(tenant) as rows:
        return rows.count_waiting(tenant, "embed", 1_000_000)


def drained(database: str, *tenants: str) -> None:
    """Wait until nothing waits any more."""
    wait_for(lambda: not any(backlog(database, tenant) for tenant in tenants))
