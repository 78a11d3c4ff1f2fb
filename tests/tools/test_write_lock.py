"""While a call holds the write lock of a data folder, it does nothing but SQL.

All other programs wait meanwhile. So asking an analyst, comparing, redacting, cutting and indexing
of what a caller gives happen before the lock is taken.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, families
from memolith.domain.callers import Caller
from memolith.domain.passages import Block
from memolith.engine.chat_formats.turns import empty_report
from memolith.engine.foreign_data import ForeignData, ForeignRecord
from memolith.errors import MemolithError
from memolith.redaction.detector import redact
from memolith.storage.sqlite.store import SqliteStore
from memolith.storage.sqlite.writer import SqliteWriter
from memolith.tools.call import Call
from tests.conftest import ME

pytestmark = pytest.mark.stores("sqlite")
WRITING = [tool for family in families() for tool in family.tools if tool.effect == "writes"]
NAMES = [f"{tool.family}.{tool.name}" for tool in WRITING]
SHORT = 200
"""Names and titles that a tool makes up by itself may be redacted and indexed at any time."""

LONG_TEXT = "The zebra Mira lives at the northern gate and is fed at nine. " * 40
"""Longer than one passage."""

WATCHED_TEXTS = (
    "memolith.redaction.detector.find",
    "memolith.storage.terms._tokens",
    "memolith.domain.chunking._sentences",
)
"""Where the time goes that a text takes; the first argument is the text."""

WATCHED_CALLS = (
    "memolith.analysts.builtin.analyst.BuiltinAnalyst.tags",
    "memolith.analysts.builtin.analyst.BuiltinAnalyst.insights",
    "memolith.analysts.builtin.analyst.BuiltinAnalyst.entities",
    "memolith.analysts.builtin.analyst.BuiltinAnalyst.rewrite",
    "memolith.analysts.builtin.analyst.BuiltinAnalyst.facts",
    "memolith.engine.superseding.compare",
    "memolith.engine.statements.likeness",
)


class Watch:
    """Notes what is done while the write lock is held."""

    def __init__(self) -> None:
        self.depth = 0
        self.seen: list[str] = []

    def watch(
        self, function: Callable[..., Any], name: str, is_of_text: bool
    ) -> Callable[..., Any]:
        @wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            is_short = is_of_text and len(args[0]) < SHORT
            if self.depth and not is_short:
                self.seen.append(name)
            return function(*args, **kwargs)

        return watched


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    made = Watch()
    plain_writing = SqliteStore.writing

    @contextmanager
    def writing(
        store: SqliteStore, tenant: str | None, wait_s: float | None = None
    ) -> Iterator[SqliteWriter]:
        with plain_writing(store, tenant, wait_s) as rows:
            made.depth += 1
            try:
                yield rows
            finally:
                made.depth -= 1

    monkeypatch.setattr(SqliteStore, "writing", writing)
    for path in (*WATCHED_TEXTS, *WATCHED_CALLS):
        owner, name = owner_of(path)
        function = getattr(owner, name)
        monkeypatch.setattr(owner, name, made.watch(function, path, path in WATCHED_TEXTS))
    return made


def owner_of(path: str) -> tuple[Any, str]:
    """The module or class that has a function, and the name of the function."""
    module, _, name = path.rpartition(".")
    package, _, last = module.rpartition(".")
    if last[0].isupper():
        return getattr(import_module(package), last), name
    return import_module(module), name


def lengthened(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same call with a long text in place of each text of several words."""
    for name, value in arguments.items():
        if isinstance(value, str) and " " in value:
            yield {**arguments, name: LONG_TEXT}
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for changed in lengthened(value[0]):
                yield {**arguments, name: [changed]}


def test_the_watch_sees_what_is_done_under_the_lock(app: App, watch: Watch) -> None:
    redact(LONG_TEXT)
    assert watch.seen == []
    with app.store.writing(ME.tenant):
        redact(LONG_TEXT)
    assert watch.seen == ["memolith.redaction.detector.find"]


@pytest.mark.parametrize("tool", WRITING, ids=NAMES)
def test_a_tool_does_nothing_but_sql_under_the_lock(stocked: App, watch: Watch, tool: Any) -> None:
    call = Call(ME, stocked.engine)
    tool(dict(tool.example), call)
    for arguments in lengthened(tool.example):
        # Some tools refuse so long a text.
        with suppress(MemolithError):
            tool(arguments, call)
    assert watch.seen == []


def test_an_import_does_nothing_but_sql_under_the_lock(app: App, watch: Watch) -> None:
    texts = [f"{LONG_TEXT} {number}" for number in range(3)]
    maintenance = app.engine.maintenance
    maintenance.import_(ME, [json.dumps({"content": text}) for text in texts])
    export = list(maintenance.export(ME.tenant))
    maintenance.import_(Caller("globex"), export)
    assert watch.seen == []


def test_an_import_shows_no_progress_under_the_lock(app: App, watch: Watch) -> None:
    told: list[int] = []
    lines = [json.dumps({"content": f"zebra {number}"}) for number in range(3)]
    app.engine.maintenance.import_(ME, lines, lambda done, total: told.append(watch.depth))
    assert told == [0, 0, 0]


def test_records_of_other_programs_are_redacted_before_the_lock(app: App, watch: Watch) -> None:
    records = [ForeignRecord(source_id=str(n), blocks=(Block(LONG_TEXT),)) for n in range(2)]
    app.engine.foreign_import.bring_in(ME, ForeignData("other", records))
    assert watch.seen == []


def test_chats_are_redacted_before_the_lock(app: App, watch: Watch, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    messages = [{"sender": "human", "text": LONG_TEXT}]
    file.write_text(
        json.dumps([{"uuid": "c", "name": "Zebras", "chat_messages": messages}]), "utf-8"
    )
    report = empty_report()
    with file.open(encoding="utf-8") as lines:
        app.engine.chat_import.import_chats(ME, lines, file.name, "", report)
    assert report["taken"] == 1
    assert watch.seen == []
