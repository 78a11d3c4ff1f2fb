"""What every test may use: a fresh data folder with the real engine on a real store."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, settings

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine import recall, superseding
from memolith.engine.engine import Engine
from memolith.engine.recall import SearchSettings
from memolith.engine.validation import InputRules
from memolith.ports.clock import Clock
from memolith.settings import Settings

if TYPE_CHECKING:
    from tests.postgres import Server

pytest_plugins = ["tests.postgres", "tests.citus"]
ME = Caller()


# The longest first, so that none of them begins when the other worker has nothing left to do.
LONGEST = (
    "test_failover",
    "test_hostile",
    "test_search_properties",
    "test_stdio",
    "test_docs",
    "test_meaning",
    "test_upgrades",
    "test_conformance",
    "test_inspector",
    "test_drawings",
    "test_recall",
    "test_tenant_move",
    "test_properties",
    "test_write_once",
    "test_database_faults",
    "test_derived",
    "test_fuzz",
    "test_typescript_client",
    "test_faults",
    "test_stale_reads",
    "test_silent_database",
    "test_floods",
    "test_cli",
    "test_start_cache",
    "test_search_text",
    "test_cli_habits",
    "test_team",
    "test_admin_page",
    "test_memorylake",
    "test_files_page",
    "test_fresh",
    "test_item_page",
    "test_search_page",
    "test_erase",
    "test_prompts_page",
    "test_timeline_page",
    "test_importers",
    "test_background_server",
    "test_hooks",
    "test_fence",
    "test_soak",
    "test_runner",
    "test_sandbox",
)


ON_ONE_STORE = ("tools", "engine", "interchange")
"""Folders whose tests the quick run takes on SQLite alone, to save time. Some of them run SQL that
differs between the stores; the full run takes them on both."""

ON_BOTH_STORES = (
    "test_core",
    "test_filters",
    "test_idempotency",
    "test_importers",
    "test_properties",
    "test_write_once",
)
"""Modules in those folders that the quick run takes on both stores all the same: they try much of
the SQL that differs, and cost little time."""

MEMORY = "/dev/shm"
NEEDED_BYTES = 4_000_000_000
DAY_S = 86_400
LAST_MINUTE_S = 60
PATIENCE_S = 60.0


# An example may take longer than the usual 200 ms on a busy machine, and each run tries the same
# examples. It is chosen here because tests take it when they are imported.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


def pytest_configure() -> None:
    """Let programs be interrupted, and keep temporary files in memory where there is room.

    A shell starts what runs in the background deaf to interrupts, and all its children with it.
    Thousands of databases would wait for a disk.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    if shutil.disk_usage(MEMORY).free > NEEDED_BYTES:
        os.environ["TMPDIR"] = MEMORY
        tempfile.tempdir = MEMORY


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal the tests out to the workers by module."""
    from tests.scheduling import ByModule

    return ByModule(config, log)


def pytest_runtest_setup() -> None:
    """Begin no test in the last minute of a day: what is written today is looked for today.

    All days are days of UTC, as in the product.
    """
    left_s = DAY_S - time.time() % DAY_S
    if left_s < LAST_MINUTE_S:
        time.sleep(left_s)


def is_left_to_the_full_run(item: pytest.Item) -> bool:
    """Whether a test is run on SQLite alone where time is short.

    This is a choice of time. Both stores keep one contract, which is tested on both, so the quick
    run takes only some tests of tools, engine and importers on PostgreSQL. The others may run SQL
    that differs between the stores, too; the full run takes all of them on both.
    """
    if "crowd" in getattr(item, "fixturenames", ()):
        return True
    return item.path.parent.name in ON_ONE_STORE and item.path.stem not in ON_BOTH_STORES


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the modules that take longest; thousands of items on PostgreSQL are for the full
    run.
    """
    ranks = {name: n for n, name in enumerate(LONGEST)}
    for item in items:
        if "[postgres" in item.name and is_left_to_the_full_run(item):
            item.add_marker(pytest.mark.full)
    items.sort(key=lambda item: ranks.get(item.path.stem, len(LONGEST)))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on each of the stores that its nearest mark names."""
    mark = metafunc.definition.get_closest_marker("stores")
    if not mark or "storage" not in metafunc.fixturenames:
        return
    only_in_full_run = mark.kwargs.get("full", ())
    stores = [
        *mark.args,
        *(pytest.param(name, marks=pytest.mark.full) for name in only_in_full_run),
    ]
    if stores != ["sqlite"]:
        metafunc.parametrize("storage", stores, indirect=True, scope="module")


@pytest.fixture(scope="module")
def storage(request: pytest.FixtureRequest) -> str:
    """Which store a test runs on: SQLite unless it is marked otherwise."""
    return getattr(request, "param", "sqlite")


@pytest.fixture(scope="session", autouse=True)
def patient_searches() -> Iterator[None]:
    """Searches wait for the model and for vectors of what was just written longer than a user
    would: on a busy machine they take longer.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recall, "MODEL_WAIT_S", PATIENCE_S)
        patch.setattr(recall, "SMALL_BACKLOG_BUDGET_S", PATIENCE_S)
        patch.setattr(superseding, "MODEL_WAIT_S", PATIENCE_S)
        yield


class At:
    """Makes the settings for a folder; where the store is not in the folder, each has a database of
    its own.
    """

    def __init__(self, server: "Server | None") -> None:
        self._server = server
        self._databases: dict[Path, str] = {}

    @property
    def remote(self) -> bool:
        """Whether the data lie on a server, which answers slowly next to a file in memory."""
        return self._server is not None

    def __call__(self, folder: Path, embedder: str = "none") -> Settings:
        fields: dict[str, object] = {"data": folder, "embedder": embedder}
        if self._server:
            if folder not in self._databases:
                self._databases[folder] = self._server.create(template=self._server.template)
            fields["database"] = self._databases[folder]
        return Settings.model_validate(fields)

    def copy(self, source: Path, folder: Path) -> Settings:
        """The settings for a copy of a folder that nobody has open."""
        shutil.copytree(source, folder, dirs_exist_ok=True)
        if self._server:
            template = urlsplit(self._databases[source]).path.strip("/")
            self._databases[folder] = self._server.create(template=template)
        return self(folder)

    def drop(self, *folders: Path) -> None:
        """Remove the databases of these folders, or of all."""
        for folder in folders or tuple(self._databases):
            if self._server and folder in self._databases:
                self._server.drop(self._databases.pop(folder))


@pytest.fixture(scope="module")
def at(storage: str, request: pytest.FixtureRequest) -> Iterator[At]:
    """The settings for a folder, on the store that the test runs on."""
    made = At(request.getfixturevalue("server") if storage == "postgres" else None)
    yield made
    made.drop()


@pytest.fixture
def app(at: At, tmp_path: Path) -> Iterator[App]:
    """An app on an empty folder, searching by words only."""
    made = open_app(at(tmp_path / "data"))
    yield made
    made.close()
    at.drop(tmp_path / "data")


@pytest.fixture
def smart(at: At, tmp_path: Path) -> Iterator[App]:
    """An app on an empty folder with the real model."""
    made = open_app(at(tmp_path / "data", "minilm"))
    yield made
    made.close()
    at.drop(tmp_path / "data")


def engine_of(
    app: App, clock: Clock | None = None, input_rules: InputRules | None = None
) -> Engine:
    """An engine on the store of an app, with another clock or other rules for inputs."""
    other = App(app.settings, clock=clock or app.clock)
    other.input_rules = input_rules or app.input_rules
    other.store = app.store
    return other.engine


def show_everything(app: App) -> None:
    """Let searches return what is most likely unrelated, too, where a test is not about that."""
    app.engine.recall.chosen = SearchSettings(floor=0.0)


def note(text: str, **fields: object) -> Draft:
    """A draft of a memory with one text."""
    return Draft(blocks=(Block(text),), **fields)  # type: ignore[arg-type]
