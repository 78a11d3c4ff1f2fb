"""Every writing tool, repeated under its idempotency key: one effect, one answer, one transaction.

The cases are derived from the tools and the examples beside them.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest

from memolith.bootstrap import App, families
from memolith.domain.queries import Filter
from memolith.engine.transactions import CallTransaction
from memolith.settings import Settings
from memolith.storage.sqlite.connections import Connections
from memolith.tools.call import Call
from memolith.tools.family import Tool
from memolith.tools.registry import Outcome, Registry
from memolith.tools.signature import Actions
from tests.checked import answered, keyed
from tests.conftest import ME, At
from tests.programs.children import TIMEOUT_S
from tests.stores import dump, each_store
from tests.tools.stock import fill, open_quick
from tests.tools.test_derived import connected, server_on

pytestmark = each_store
KEY = "the-key"
OF_ACTIONS: dict[tuple[str, str], dict[str, Any]] = {
    ("subcog_entities", "delete"): {"entity_id": "zoo"},
    ("subcog_entities", "extract"): {"content": "Ann Lee works at Zoo Inc.", "store": True},
    ("subcog_entities", "merge"): {"entity_ids": ["zebra", "zoo"]},
    ("subcog_relationships", "delete"): {"relationship_id": "rel-near"},
    ("subcog_relationships", "infer"): {"entity_ids": ["zebra", "zoo"], "store": True},
    ("subcog_prompts", "delete"): {"name": "greet", "domain": "project"},
    ("subcog_templates", "delete"): {"name": "page", "domain": "project"},
}
"""The arguments of actions for which the tool has no example."""


class Case(NamedTuple):
    """One call that writes or runs."""

    tool: Tool
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return ".".join([self.tool.name, *self.action])

    @property
    def action(self) -> list[str]:
        """The action of a tool that has several."""
        return [self.arguments["action"]] if isinstance(self.tool.signature, Actions) else []


def cases() -> Iterator[Case]:
    for family in families():
        for tool in family.tools:
            if tool.effect == "reads":
                continue
            yield Case(tool, dict(tool.example))
            if isinstance(tool.signature, Actions):
                yield from other_actions(tool, tool.signature)


def other_actions(tool: Tool, actions: Actions) -> Iterator[Case]:
    for name, action in actions.actions.items():
        if action.effect != "reads" and name != tool.example[actions.key]:
            yield Case(tool, {"action": name, **OF_ACTIONS[tool.name, name]})


CASES = list(cases())
APART = [family.name for family in families() if family.apart]
each_case = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture(scope="module")
def stock(at: At, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an item for every case."""
    folder = tmp_path_factory.mktemp("once")
    fill(at(folder))
    with opened(at(folder)) as app:
        app.engine.writing.link(ME, "zoo", "zebra", "RelatesTo", id="rel-near")
        template = {"action": "save", "name": "page", "content": "{{name}}", "domain": "project"}
        assert app.registry.run("subcog_templates", template, Call(ME, app.engine)).ok
    return folder


@pytest.fixture
def settings(at: At, stock: Path, tmp_path: Path) -> Iterator[Settings]:
    """A copy of the folder for each test."""
    yield at.copy(stock, tmp_path / "data")
    at.drop(tmp_path / "data")


@contextmanager
def opened(settings: Settings) -> Iterator[App]:
    app = open_quick(settings)
    try:
        yield app
    finally:
        app.close()


def run(app: App, case: Case) -> Outcome:
    outcome = attempt(app, case, KEY)
    assert outcome.ok, outcome.body
    return outcome


def attempt(app: App, case: Case, key: str | None) -> Outcome:
    arguments = dict(case.arguments)
    if "executor_id" in arguments:
        # A runner is made by nothing but a running process, so its id is a new one each time.
        arguments["executor_id"] = runner_of(app)
    call = Call(ME, app.engine, idempotency_key=key)
    return registry_of(app, case.tool).run(case.tool.name, arguments, call)


def registry_of(app: App, tool: Tool) -> Registry:
    """The registry with the tool: a family that stands apart has one of its own."""
    return (
        app.registry if app.registry.find(tool.name) is tool else app.registry.choose(tool.family)
    )


def runner_of(app: App) -> str:
    """The one runner that this app has made."""
    made: dict[str, str] = app.__dict__.setdefault("runner_of_the_test", {})
    if "id" not in made:
        made["id"] = app.sandbox.create((ME.tenant, ME.user))
    return made["id"]


def forget_everything(app: App) -> None:
    """Change the state as far as it can be changed."""
    for item in app.engine.reading.list_items(ME, Filter(), limit=1000).items:
        app.engine.writing.forget(ME, item.id)


@each_case
def test_a_repeated_call_gets_its_first_answer_and_changes_nothing(
    settings: Settings, case: Case
) -> None:
    with opened(settings) as app:
        first = run(app, case)
        after = dump(app.store)
        assert run(app, case).body == first.body
        assert dump(app.store) == after
        forget_everything(app)
        after = dump(app.store)
        assert run(app, case).body == first.body
        assert dump(app.store) == after


can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked and killed")


@can_fork
@pytest.mark.stores("sqlite")
@each_case
def test_a_call_killed_between_commit_and_answer_is_answered_when_it_is_repeated(
    settings: Settings, case: Case
) -> None:
    check_after_a_kill(settings, case)


@can_fork
@pytest.mark.full
@pytest.mark.stores("postgres")
@each_case
def test_a_call_killed_between_commit_and_answer_is_answered_when_it_is_repeated_on_postgres(
    settings: Settings, case: Case
) -> None:
    check_after_a_kill(settings, case)


def check_after_a_kill(settings: Settings, case: Case) -> None:
    if "executor_id" in case.arguments:
        pytest.skip("a runner does not outlive its server, so no call of it can be repeated")
    die_after_commit(settings, case)
    with opened(settings) as app:
        after = dump(app.store)
        assert run(app, case).body == run(app, case).body
        assert dump(app.store) == after


def die_after_commit(settings: Settings, case: Case) -> None:
    """Make the call in another process, which is killed when the write is durable."""
    pid = os.fork()
    if pid == 0:
        commit = CallTransaction.commit

        def commit_and_die(call: CallTransaction) -> None:
            commit(call)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(CallTransaction, "commit", commit_and_die)  # noqa: B010 - mypy refuses the other
        try:
            with opened(settings) as app:
                run(app, case)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def test_a_call_made_through_one_door_is_answered_alike_through_another(
    settings: Settings,
) -> None:
    """In the process first, then over REST and over MCP."""
    # The examples follow one another on one folder; those of actions would disturb them.
    calls = [
        case
        for case in CASES
        if case.arguments == case.tool.example
        and "executor_id" not in case.arguments
        # Families that stand apart are at their own paths only.
        and case.tool.family not in APART
        # What they erase takes the answers with it that quote it.
        and case.tool.name not in ("erase_item", "subcog_gc", "subcog_delete")
    ]
    first: dict[str, dict[str, Any]] = {}
    with server_on(settings) as (url, key), opened(settings) as app:
        for case in calls:
            outcome = attempt(app, case, case.tool.name)
            if outcome.ok:
                first[case.tool.name] = json.loads(outcome.text)
        # A few find that an example before them has removed their item.
        calls = [case for case in calls if case.tool.name in first]
        over_rest = {case.tool.name: answer_over_rest(url, key, case) for case in calls}
        over_mcp = anyio.run(answers_over_mcp, f"{url}/mcp", key, calls)
    assert over_rest == first
    assert over_mcp == {name: first[name] for name in over_mcp}
    assert len(first) >= 35
    assert len(over_mcp) >= 25


def answer_over_rest(url: str, key: str, case: Case) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": case.tool.name}
    path = f"{url}/mcp/tools/{case.tool.name}"
    sent = httpx2.post(path, json=case.arguments, headers=headers, timeout=TIMEOUT_S)
    answer: dict[str, Any] = sent.json()
    return answer


async def answers_over_mcp(url: str, key: str, calls: list[Case]) -> dict[str, Any]:
    found = {}
    async with connected(url, key) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        for case in calls:
            name = case.tool.name
            if name in listed:
                result = await client.call_tool(name, case.arguments, meta=keyed(name))
                found[name] = json.loads(answered(result))
    return found


def test_no_call_needs_more_than_one_connection_at_a_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    borrowed = Borrowed()
    borrowed.watch(monkeypatch, settings)
    needed = {}
    with opened(settings) as app:
        for case in CASES:
            borrowed.most = 0
            attempt(app, case, str(case))
            needed[str(case)] = borrowed.most
    assert [name for name, connections in needed.items() if connections > 1] == []
    assert list(needed.values()).count(1) > 40


class Borrowed:
    """How many connections are in use at the same time."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    def watch(self, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
        pool: Any = Connections
        if settings.database:
            from memolith.storage.postgres.connections import Connections as PostgresConnections

            pool = PostgresConnections
        borrow = pool.borrow
        caller = threading.get_ident()

        @contextmanager
        def counted(connections: Any, *arguments: Any) -> Iterator[Any]:
            with borrow(connections, *arguments) as db:
                if threading.get_ident() != caller:
                    yield db
                    return
                self.now += 1
                self.most = max(self.most, self.now)
                try:
                    yield db
                finally:
                    self.now -= 1

        monkeypatch.setattr(pool, "borrow", counted)


def test_every_tool_that_writes_or_runs_has_a_case() -> None:
    tools = [tool.name for family in families() for tool in family.tools if tool.effect != "reads"]
    assert {case.tool.name for case in CASES} == set(tools)
