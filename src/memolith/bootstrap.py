"""The wiring: builds every part from the settings, and does nothing else.

The hooks must start quickly, so this module imports only what they need. Everything else is
imported where it is built.
"""

from __future__ import annotations

import os
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.git import checkout
from memolith.domain.clock import SystemClock
from memolith.engine.core import Core, build_core
from memolith.engine.duplicates import find_duplicates
from memolith.engine.recall import Recall, SearchSettings
from memolith.engine.telemetry import collect_with, stop_collecting
from memolith.engine.transactions import Transactions
from memolith.engine.validation import InputRules, Limits
from memolith.errors import InvalidInput, MemolithError, StoreGone, translated
from memolith.private_files import close_folder_to_others, make_private_folder
from memolith.retrieval.ranking.ranker import HybridRanker
from memolith.storage import terms
from memolith.storage.sqlite.backup import restore_backup
from memolith.storage.sqlite.store import SqliteStore, library_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memolith.adapters.copies import FolderCopies
    from memolith.background import Background, Upkeep
    from memolith.domain.callers import Caller
    from memolith.domain.items import Conflict, Draft, Item
    from memolith.engine.documents import Shelf
    from memolith.engine.engine import Engine
    from memolith.engine.progress import Progress
    from memolith.engine.shown_setting import ShownSetting
    from memolith.ports.analyst import Analyst
    from memolith.ports.blobs import Blobs
    from memolith.ports.cipher import Cipher
    from memolith.ports.clock import Clock
    from memolith.ports.embedder import Embedder
    from memolith.ports.ranker import Judge
    from memolith.ports.repository import Checkout
    from memolith.ports.store import Store
    from memolith.ports.telemetry import Telemetry, Waiting
    from memolith.ports.vectors import Meaning
    from memolith.retrieval.embedding.minilm import MiniLM
    from memolith.retrieval.embedding.serving import Embeddings
    from memolith.retrieval.vectors.stage import LocalStage
    from memolith.sandbox.linux import LinuxSandbox
    from memolith.settings import Settings
    from memolith.storage.client_keys import StoredKeys
    from memolith.storage.postgres.own_index import PostgresStage
    from memolith.storage.postgres.store import PostgresStore
    from memolith.tools.family import Family
    from memolith.tools.registry import Registry

__all__ = ["library_version", "restore_backup"]  # passed on to the doors

PACKAGE = Path(__file__).parent
HOOK_WAIT_S = 2.0
RETRY_S = 2.0
READER_OUTPUT_KB = 131_072
COPIES_FOLDER = "copies"


def _no_model() -> None:
    """Stands in for a model where search is by words only."""


def _embed_nothing(tenant: str, budget_s: float) -> None:
    """Stands in for embedding where search is by words only."""


def _keep_files(item: Item) -> None:
    """Stands in where no files are kept."""


def _drop_nothing() -> None:
    """Stands in where no vectors are kept."""


def _report_after_commit(error: MemolithError) -> None:
    log_warning("a write is done, but not all that follows from it: %s", error)


def core_on(
    store: Store,
    *,
    clock: Clock | None = None,
    input_rules: InputRules = InputRules(),
    meaning: Callable[[], Meaning | None] = _no_model,
    embed_waiting: Callable[[str, float], object] = _embed_nothing,
    judge: Callable[[], Judge | None] = _no_model,
    searching: SearchSettings = SearchSettings(),
    before_erase: Callable[[Item], None] = _keep_files,
    after_erase: Callable[[], None] = _drop_nothing,
) -> Core:
    """The core of the engine on a store; without a model it searches by words."""
    transactions = Transactions(store, _report_after_commit)
    recall = Recall(transactions, terms, HybridRanker(), meaning, embed_waiting, judge, searching)
    return build_core(
        transactions, clock or SystemClock(), recall, input_rules, before_erase, after_erase
    )


def hook_core(folder: Path) -> Core:
    """The core on a data folder with default settings, for hooks: no model, and no long waiting."""
    return core_on(SqliteStore(folder, HOOK_WAIT_S))


def repository(path: str) -> Checkout | None:
    """The git repository around a folder."""
    return checkout(Path(path))


class App:
    """A data folder and everything that works on it.

    Each part is built when it is first used, so that listing the tools needs no database.
    """

    def __init__(
        self, settings: Settings, background: bool = False, clock: Clock | None = None
    ) -> None:
        self.settings = settings
        self.clock = clock or SystemClock()
        self.address = settings.public_url
        """Where clients reach the server, once there is one."""
        self.input_rules = InputRules(
            Limits(
                text_bytes=settings.max_text_bytes,
                title=settings.max_title,
                tag=settings.max_tag,
                tags=settings.max_tags,
            ),
            settings.secrets,
        )
        self._in_background = background
        self._lock = threading.RLock()
        self._opened_store: SqliteStore | PostgresStore | None = None
        self._engine: Engine | None = None
        self._sandbox: LinuxSandbox | None = None
        self._background: Background | None = None
        self._copies: FolderCopies | None = None
        self._telemetry: Telemetry | None = None

    @cached_property
    def store(self) -> SqliteStore | PostgresStore:
        """The store; it is opened when it is first used."""
        self._opened_store = open_store(self.settings)
        return self._opened_store

    @property
    def engine(self) -> Engine:
        """Memory itself. The first to ask opens the store, and meets what is wrong with it."""
        with self._lock:
            if self._engine is None:
                self._engine = self._build_engine()
                if self._in_background:
                    self.start_background()
            return self._engine

    @cached_property
    def core(self) -> Core:
        """The core of the engine, which is all that a hook needs."""
        return core_on(
            self.store,
            clock=self.clock,
            input_rules=self.input_rules,
            meaning=self.embeddings.meaning,
            embed_waiting=self.embeddings.embed_waiting,
            judge=lambda: self._cross_encoder,
            searching=SearchSettings(
                self.settings.search_floor, frozenset(self.settings.deep_families)
            ),
            before_erase=self._drop_file,
            after_erase=self._after_erase,
        )

    def _after_erase(self) -> None:
        self.embeddings.drop_index()
        if (self.settings.data / COPIES_FOLDER).is_dir():
            self.copies.drop_all()

    def _drop_file(self, item: Item) -> None:
        # Only files need it.
        from memolith.engine.documents import drop_file

        drop_file(self.blobs, item)

    def _build_engine(self) -> Engine:
        # The capabilities that no hook needs.
        from memolith.engine.engine import Outside, build_engine

        outside = Outside(
            cipher=self._cipher,
            shelf=self._shelf,
            sandbox=lambda: self.sandbox,
            repository=lambda path: repository(path or self.settings.repo),
            analysts=lambda: self.analysts,
            manual_folder=docs_folder(),
            keys=lambda: self.keys,
            copies=lambda: self.copies,
            settings=self._shown_settings,
            sizes=lambda: self.store.sizes(),
            address=lambda: self.address,
            conflicts=self._conflicts,
        )
        return build_engine(self.core, outside)

    def _shown_settings(self) -> Sequence[ShownSetting]:
        # Hooks are given their settings in another way.
        from memolith.settings import shown_settings

        return shown_settings(self.settings)

    @cached_property
    def stage(self) -> LocalStage | PostgresStage:
        store = self.store
        if isinstance(store, SqliteStore):
            # Only the search by meaning needs it.
            from memolith.retrieval.vectors.stage import LocalStage

            return LocalStage(self.settings.data, store.reading, store.writing)
        make_private_folder(str(self.settings.data))
        # The driver is an extra, which only users of PostgreSQL need.
        from memolith.storage.postgres.own_index import PostgresStage

        return PostgresStage(store.owning, self.settings.own_index_from)

    @cached_property
    def embeddings(self) -> Embeddings:
        # Only the search by meaning needs it.
        from memolith.retrieval.embedding.serving import Embeddings

        return Embeddings(
            self.store,
            self.stage,
            self.clock,
            self.embedder,
            self._minilm,
            self._compare_with_older,
        )

    def _conflicts(self, caller: Caller, draft: Draft) -> Sequence[Conflict]:
        # Its rules take a tenth of the import time of the engine, and only a write needs them.
        from memolith.engine.superseding import Superseding

        core = self.core
        superseding = Superseding(core.store, terms, core.recall.meaning, self.input_rules)
        return superseding.conflicts(caller, draft)

    def _compare_with_older(self, store: Store, tenant: str, ids: Sequence[str]) -> None:
        # Only what makes vectors needs it.
        from memolith.engine.superseding import Superseding

        Superseding(store, terms, self.embeddings.meaning).mark(tenant, ids)
        find_duplicates(store, tenant, ids)

    @cached_property
    def _minilm(self) -> MiniLM:
        # Only the search by meaning needs it.
        from memolith.retrieval.embedding.minilm import MiniLM

        return MiniLM()

    @cached_property
    def _cross_encoder(self) -> Judge | None:
        if self.settings.embedder == "none":
            return None
        # Only deep search needs it.
        from memolith.retrieval.embedding.judge import CrossEncoder

        return CrossEncoder()

    @cached_property
    def embedder(self) -> Embedder | None:
        """The chosen model; None if search is by words only."""
        chosen = self.settings
        if chosen.embedder == "none":
            return None
        if chosen.embedder == "minilm":
            return self._minilm
        # The HTTP client is imported only where this embedder was chosen.
        from memolith.analysts.openai.embedder import HttpEmbedder

        return HttpEmbedder(
            chosen.embedder_url,
            chosen.embedder_model,
            chosen.embedder_key,
            chosen.embedder_dimension,
            chosen.embedder_timeout_s,
        )

    @cached_property
    def analysts(self) -> list[Analyst]:
        """Those who are asked about texts, the built-in one last."""
        # Its word lists are read only where something is asked about texts.
        from memolith.analysts.builtin.analyst import BuiltinAnalyst

        chosen = self.settings
        if not chosen.analyst_url:
            return [BuiltinAnalyst()]
        # The HTTP client is imported only where this analyst was chosen.
        from memolith.analysts.openai.analyst import HttpAnalyst

        http_analyst = HttpAnalyst(
            chosen.analyst_url,
            chosen.analyst_model,
            chosen.analyst_key,
            chosen.analyst_budget,
            chosen.analyst_timeout_s,
        )
        return [http_analyst, BuiltinAnalyst()]

    def _cipher(self) -> Cipher:
        # cryptography takes 0.05 CPU seconds to import, and only the vault needs it. The key is
        # read again each time, because it may have been renewed.
        from memolith.adapters.master_keys import load_cipher

        return load_cipher(self.settings.vault_key, self.settings.data)

    def rekey_vault(self, new_key: str) -> int:
        """Seal the vault with this master key or, where memolith keeps the key, with a new one."""
        # cryptography, which only the vault needs.
        from memolith.adapters.master_keys import renew_master_key

        return renew_master_key(
            self.settings.vault_key, self.settings.data, new_key, self.engine.vault.rekey
        )

    @cached_property
    def blobs(self) -> Blobs:
        # Only files need it.
        from memolith.adapters.blobs.folder import FolderBlobs
        from memolith.adapters.blobs.s3 import S3Blobs

        place = self.settings.files
        return S3Blobs(place) if place.startswith("s3://") else FolderBlobs(self.files)

    @property
    def files(self) -> Path:
        """The folder of the files, unless they are in a bucket."""
        return Path(self.settings.files or self.settings.data / "files")

    @property
    def sandbox(self) -> LinuxSandbox:
        """Where code runs and files are read; starting it takes a moment."""
        with self._lock:
            if self._sandbox is None:
                self._sandbox = self._open_sandbox()
            return self._sandbox

    def _open_sandbox(self) -> LinuxSandbox:
        # Only running code and reading files need it.
        from memolith.ports.sandbox import Bounds
        from memolith.sandbox.linux import LinuxSandbox

        chosen = self.settings
        bounds = Bounds(
            wall_s=chosen.runner_wall_s,
            cpu_s=chosen.runner_cpu_s,
            memory_mb=chosen.runner_memory_mb,
            output_kb=chosen.runner_output_kb,
            scratch_mb=chosen.runner_scratch_mb,
            threads=chosen.runner_threads,
        )
        return LinuxSandbox(
            chosen.data,
            bounds,
            mode=chosen.runner_mode,
            count=chosen.runner_count,
            idle_s=chosen.runner_idle_s,
            preload=chosen.runner_preload,
            read_unfenced=chosen.read_files_unfenced,
        )

    def _shelf(self) -> Shelf:
        # Only files need it.
        from memolith.engine.documents import Shelf
        from memolith.ports.sandbox import Bounds

        chosen = self.settings
        bounds = Bounds(
            chosen.reader_wall_s,
            chosen.reader_wall_s,
            chosen.reader_memory_mb,
            output_kb=READER_OUTPUT_KB,
        )
        return Shelf(
            self.blobs, self.sandbox, bounds, chosen.file_bytes, chosen.file_url_s, self.address
        )

    @cached_property
    def keys(self) -> StoredKeys:
        """The client keys."""
        # Only the HTTP door needs them.
        from memolith.storage.client_keys import StoredKeys

        return StoredKeys(self.store)

    @property
    def copies(self) -> FolderCopies:
        """The copies that admins make to download them."""
        with self._lock:
            if self._copies is None:
                self._copies = self._open_copies()
            return self._copies

    def _open_copies(self) -> FolderCopies:
        # Only those who download everything need them.
        from memolith.adapters.copies import FolderCopies
        from memolith.store_copy import backup

        def write_backup(target: Path, progress: Progress) -> None:
            backup(self.store, self.files, target, progress)

        return FolderCopies(
            self.settings.data / COPIES_FOLDER, self.engine.maintenance.export, write_backup
        )

    @cached_property
    def registry(self) -> Registry:
        """Every tool."""
        # pydantic and the tools, which only a call of a tool needs.
        from memolith.tools.registry import Registry

        self._start_telemetry()
        return Registry(families())

    def _start_telemetry(self) -> None:
        """Send traces and metrics, if the settings or the standard variables name a collector."""
        url = self.settings.telemetry_url
        if not url and not any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
            return
        # Hooks and most users send nothing.
        from memolith.adapters.telemetry import find_destination, open_telemetry

        destination = find_destination(url, os.environ)
        if destination.is_off:
            return
        try:
            self._telemetry = open_telemetry(destination, self._waiting, os.environ)
        except InvalidInput as error:
            if url:
                raise
            # The variables may be meant for other programs of the same user.
            log_info("no traces and metrics: %s", error)
            return
        collect_with(self._telemetry)

    def _waiting(self) -> Waiting | None:
        engine = self._engine
        return None if engine is None else engine.maintenance.waiting_embeddings()

    def _stop_telemetry(self) -> None:
        if self._telemetry is not None:
            stop_collecting(self._telemetry)
            self._telemetry.close()
            self._telemetry = None

    @property
    def upkeep(self) -> Upkeep:
        """What keeps the store quick and small."""
        # Only servers and the command `upkeep` need it.
        from memolith.background import Upkeep

        engine = self.engine
        return Upkeep(
            self.embeddings,
            engine.reading,
            engine.usage,
            self.store.compact,
            engine.once.forget_old_answers,
        )

    def start_background(self) -> None:
        """Embed and tidy in the background, as servers do, and listen to other servers."""
        # Only servers need it.
        from memolith.background import Background, Round

        with self._lock:
            if self._background is not None:
                return
            self._background = background = Background()
        store = self.store
        background.start(Round(self.upkeep, self._other_stores, self._tidy_sandbox))
        if not isinstance(store, SqliteStore) and self.settings.database_replicas:
            background.start(lambda number: store.beat())
        if not isinstance(store, SqliteStore) and not store.is_behind_pooler:
            background.start(lambda number: store.listen(store.forget, background.stopping))

    def _other_stores(self) -> Iterable[Store]:
        store = self.store
        return () if isinstance(store, SqliteStore) else store.elsewhere()

    def _tidy_sandbox(self) -> None:
        if self._sandbox is not None:
            self._sandbox.tidy()

    def close(self) -> None:
        """Write what is still in memory and let go of the files."""
        # Only the search by meaning needs it.
        from memolith.retrieval.vectors.stage import LocalStage

        if self._sandbox is not None:
            self._sandbox.close()
        if self._copies is not None:
            self._copies.close()
        self._stop_telemetry()
        store = self._opened_store
        if store is None:
            return
        if self._background is not None:
            self._background.stop()
        try:
            if isinstance(self.stage, LocalStage) and self.stage.lagging:
                self.embeddings.renew_index()
            if self._engine is not None:
                self._engine.reading.flush_accesses()
                self._engine.usage.flush()
        except MemolithError as error:
            # Counts and snapshots are only a convenience; what was asked for is done.
            log_warning("not everything was tidied up: %s", error)
        store.close()


def families() -> list[Family]:
    """Every family of tools, in the order in which clients see them."""
    # The tools are built when they are imported, which most commands need not wait for.
    from memolith.tools.families import FAMILIES

    return list(FAMILIES)


def docs_folder() -> Path:
    """The documentation: inside an installed package, or beside the sources."""
    installed = PACKAGE / "docs"
    return installed if installed.is_dir() else PACKAGE.parents[1] / "docs"


def open_store(chosen: Settings) -> SqliteStore | PostgresStore:
    """The store that the settings name."""
    close_data_folder(chosen.data)
    if not chosen.database:
        return SqliteStore(chosen.data, chosen.busy_s)
    with translated(
        ImportError,
        InvalidInput,
        "PostgreSQL needs a driver: pip install 'memolith[postgres]'.",
        "database",
    ):
        # The driver is an extra, which only users of PostgreSQL need.
        from memolith.storage.postgres.store import PostgresStore
    return PostgresStore(
        chosen.database,
        chosen.database_connections,
        chosen.busy_s,
        chosen.statement_s,
        chosen.database_pooler,
        leads=True,
        replicas=chosen.database_replicas,
        max_stale_s=chosen.max_stale_s,
    )


def close_data_folder(data: Path) -> None:
    """Take a data folder of an earlier version away from other users, and tell."""
    if close_folder_to_others(str(data)):
        log_warning(
            "Other users of this machine could use %s; now only you can. To share memories, share "
            "a server: `memolith serve`.",
            str(data),
        )


def open_store_at(address: str, chosen: Settings) -> SqliteStore | PostgresStore:
    """The store at `sqlite:FOLDER` or `postgres:URL`."""
    kind, _, place = address.partition(":")
    if kind == "sqlite" and place:
        return open_store(chosen.model_copy(update={"data": Path(place), "database": ""}))
    if kind in ("postgres", "postgresql") and place:
        url = f"postgresql:{place}" if place.startswith("//") else place
        return open_store(chosen.model_copy(update={"database": url}))
    raise InvalidInput("An address is sqlite:FOLDER or postgres:URL.", field="address")


def open_app(settings: Settings, clock: Clock | None = None) -> App:
    """An app whose store is open."""
    app = App(settings, clock=clock)
    assert app.engine
    return app


def wait_for(app: App) -> None:
    """Open the app of a server or a worker, and wait for a database that is away."""
    while True:
        try:
            assert app.engine
            return
        except StoreGone as error:
            log_warning("%s", error)
            time.sleep(RETRY_S)


def log_info(message: str, about: MemolithError) -> None:
    # As below.
    import logging

    logging.getLogger(__name__).info(message, about)


def log_warning(message: str, about: MemolithError | str) -> None:
    # Hooks import this file, never get here, and start 5 % faster without `logging`.
    import logging

    logging.getLogger(__name__).warning(message, about)
