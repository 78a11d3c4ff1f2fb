"""The composition root: the one place that knows every part."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.blobs.folder import FolderBlobs
from memolith.adapters.blobs.s3 import S3Blobs
from memolith.adapters.git import checkout
from memolith.analysts.builtin.analyst import BuiltinAnalyst
from memolith.domain.callers import Caller
from memolith.domain.clock import SystemClock
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.documents import Shelf
from memolith.engine.engine import Engine
from memolith.engine.maintenance import carry_rest, differences, follow, unequal
from memolith.engine.recall import Recall
from memolith.engine.validation import Limits
from memolith.errors import InvalidInput, MemolithError, StoreCorrupt, StoreGone, translated
from memolith.ports.analyst import Analyst
from memolith.ports.blobs import Blobs
from memolith.ports.cipher import Cipher
from memolith.ports.embedder import Embedder
from memolith.ports.sandbox import Bounds
from memolith.ports.store import Store
from memolith.ports.vectors import Meaning
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.retrieval.embedding.worker import EmbedWorker
from memolith.retrieval.ranking.ranker import HybridRanker
from memolith.retrieval.vectors.stage import LocalStage
from memolith.settings import Settings
from memolith.storage import terms
from memolith.storage.client_keys import StoredKeys
from memolith.storage.sqlite.backup import restore_backup
from memolith.storage.sqlite.store import SqliteStore, library_version

if TYPE_CHECKING:
    from memolith.sandbox.linux import LinuxSandbox
    from memolith.storage.postgres.own_index import PostgresStage
    from memolith.storage.postgres.store import PostgresStore
    from memolith.tools.family import Family
    from memolith.tools.registry import Registry

__all__ = [
    "StoredKeys",
    "library_version",
    "restore_backup",
]  # only passed on; the rest is made here
PACKAGE = Path(__file__).parent
DOCS = PACKAGE / "docs" if (PACKAGE / "docs").is_dir() else PACKAGE.parents[1] / "docs"
EVERY_S, UPKEEP_ROUNDS = 2.0, 300
log = logging.getLogger(__name__)


class App:
    """A data folder with everything that works on it; opened when first used, so that a list needs no database."""

    def __init__(self, settings: Settings, background: bool = False) -> None:
        self.settings, self._in_background = settings, background
        self.clock, self._builtin = SystemClock(), MiniLM()
        self._lock, self._stopping = threading.RLock(), threading.Event()
        self.address = settings.public_url
        """Where clients reach the server, once there is one."""
        self._opened: Engine | None = None
        self._settled = self._queued = False
        self._threads: list[threading.Thread] = []

    @cached_property
    def store(self) -> SqliteStore | PostgresStore:
        return open_store(self.settings)

    @cached_property
    def stage(self) -> LocalStage | PostgresStage:
        chosen, store = self.settings, self.store
        if isinstance(store, SqliteStore):
            return LocalStage(chosen.data, store.reading, store.writing)
        chosen.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The driver is an extra, which only who has chosen this store needs.
        from memolith.storage.postgres.own_index import PostgresStage

        return PostgresStage(store.owning, chosen.own_index_from)

    @property
    def engine(self) -> Engine:
        """Memory itself; whoever asks first opens the store, and meets what is wrong with it."""
        with self._lock:
            if self._opened is None:
                chosen, store, stage = self.settings, self.store, self.stage
                limits = Limits(
                    text_bytes=chosen.max_text_bytes,
                    title=chosen.max_title,
                    tag=chosen.max_tag,
                    tags=chosen.max_tags,
                )
                search = Recall(
                    store, terms, HybridRanker(), self._meaning, partial(self._embed, store)
                )
                self._opened = Engine(
                    store,
                    self.clock,
                    limits,
                    chosen.secrets,
                    search=search,
                    cipher=self._cipher,
                    after_erase=lambda: stage.drop(self.embedder),
                    analysts=self._analysts(),
                    repository=lambda path: checkout(Path(path or chosen.repo)),
                    manual=self._manual,
                    shelf=self._shelf,
                )
                if self._in_background:
                    self.start_background()
            return self._opened

    @cached_property
    def embedder(self) -> Embedder | None:
        chosen = self.settings
        if chosen.embedder != "http":
            return self._builtin if chosen.embedder == "minilm" else None
        # Only who has chosen this embedder pays for its import.
        from memolith.analysts.openai.embedder import HttpEmbedder

        return HttpEmbedder(
            chosen.embedder_url,
            chosen.embedder_model,
            chosen.embedder_key,
            chosen.embedder_dimension,
            chosen.embedder_timeout_s,
        )

    def _embed(self, store: Store, tenant: str | None = None, budget_s: float = 3600.0) -> int:
        """Make vectors of what waits in a store; returns how many streams were done."""
        model = self.embedder
        return (
            EmbedWorker(store, model, self.clock, self.stage.row).drain(tenant, budget_s)
            if model
            else 0
        )

    def _meaning(self) -> Meaning | None:
        """The chosen model, or the one before it until all is embedded anew."""
        if self.embedder is None:
            return None
        # The model loads on its own thread while numpy is imported and the snapshot is mapped.
        self.embedder.wait(0.0)
        return Meaning(serving := self._serving(self.embedder), self.stage.vectors(serving))

    def _serving(self, embedder: Embedder) -> Embedder:
        if self._settled:
            return embedder
        with self.store.reading(None) as rows:
            models, waiting = rows.models(), rows.count_waiting(None, "embed", 1)
        if models.keys() - {embedder.id} and not self._queued:
            with self.store.writing(None) as writer:
                writer.queue_missing_vectors(embedder.id, self.clock.now())
            self._queued = waiting = True
        if (
            waiting
            and self._builtin.id in models
            and models[self._builtin.id] > models.get(embedder.id, 0)
        ):
            return self._builtin
        self._settled = not waiting
        return embedder

    def _cipher(self) -> Cipher:
        # cryptography costs 0.05 CPU seconds to import, and only the vault needs it; read anew, as it may be renewed.
        from memolith.adapters.master_keys import load_cipher

        return load_cipher(self.settings.vault_key, self.settings.data)

    def _analysts(self) -> list[Analyst]:
        chosen, builtin = self.settings, BuiltinAnalyst()
        if not chosen.analyst_url:
            return [builtin]
        # Only who has chosen it pays for its import.
        from memolith.analysts.openai.analyst import HttpAnalyst

        return [
            HttpAnalyst(
                chosen.analyst_url,
                chosen.analyst_model,
                chosen.analyst_key,
                chosen.analyst_budget,
                chosen.analyst_timeout_s,
            ),
            builtin,
        ]

    @cached_property
    def blobs(self) -> Blobs:
        place = self.settings.files
        return S3Blobs(place) if place.startswith("s3://") else FolderBlobs(self.files)

    @property
    def files(self) -> Path:
        """The folder of the files, unless they are in a bucket."""
        return Path(self.settings.files or self.settings.data / "files")

    @cached_property
    def sandbox(self) -> LinuxSandbox:
        # Only who does that, or asks whether it could be done, needs it.
        from memolith.sandbox.linux import LinuxSandbox

        limits = {
            name.removeprefix("runner_"): value
            for name, value in self.settings
            if name.startswith("runner_")
        }
        return LinuxSandbox(self.settings.data, Bounds(*map(limits.pop, Bounds._fields)), **limits)

    def _shelf(self) -> Shelf:
        chosen = self.settings
        bounds = Bounds(
            chosen.reader_wall_s, chosen.reader_wall_s, chosen.reader_memory_mb, output_kb=131_072
        )
        return Shelf(
            self.blobs, self.sandbox, bounds, chosen.file_bytes, chosen.file_url_s, self.address
        )

    def _manual(self) -> Caller:
        pages = []
        for path in sorted(DOCS.rglob("*.md")):
            name, text = path.relative_to(DOCS).as_posix(), path.read_text(encoding="utf-8")
            library = path.stem in ("clients", "library")
            section = "api" if name.startswith("reference/") else "sdks" if library else "guides"
            blocks = tuple(map(Block, re.split(r"\n(?=#)", text)))
            pages.append(
                Draft(
                    "document",
                    text.split("\n", 1)[0].lstrip("# "),
                    blocks,
                    namespace=section,
                    id=name,
                )
            )
        caller = Caller(
            "manual-" + hashlib.blake2b(repr(pages).encode(), digest_size=6).hexdigest()
        )
        self.engine.learn(caller, pages)
        return caller

    def rekey_vault(self, given: str) -> int:
        """Seal the vault with another master key: the one given, or a new one where we keep it."""
        # cryptography, as above.
        from memolith.adapters.master_keys import renew_master_key

        return renew_master_key(
            self.settings.vault_key, self.settings.data, given, self.engine.vault.rekey
        )

    def start_background(self) -> None:
        """Embed and tidy in the background, as servers do, and hear what other servers tell."""
        if self._threads:
            return
        store, works = self.store, [self._background]
        if not isinstance(store, SqliteStore) and not self.settings.database_pooler:
            works.append(lambda number: store.listen(store.forget, self._stopping))
        for work in works:
            self._threads.append(threading.Thread(target=self._repeat, args=(work,), daemon=True))
            self._threads[-1].start()

    def _repeat(self, work: Callable[[int], None]) -> None:
        for number in count():
            try:
                work(number)
            except (MemolithError, OSError) as error:
                log.warning("background work failed and will be tried again: %s", error)
            if self._stopping.wait(EVERY_S):
                return

    def _background(self, number: int) -> None:
        self.engine.flush_reads()
        if "sandbox" in vars(self):
            self.sandbox.tidy()
        if self._embed(self.store, budget_s=5.0):
            self.renew()
        for store in () if isinstance(self.store, SqliteStore) else self.store.elsewhere():
            self._embed(store, budget_s=5.0)
        if number % UPKEEP_ROUNDS == UPKEEP_ROUNDS - 1:
            self.do_upkeep()

    def do_upkeep(
        self, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> dict[str, int]:
        """Embed what waits, drop the vectors of other models, write a snapshot where it pays, flush, checkpoint."""
        done = {"embedded": 0, "snapshot": 0}
        if self.embedder:
            self._serving(self.embedder)
            with self.store.writing(None) as rows:
                rows.retry_failed("embed", self.clock.now())
            while step := self._embed(self.store, budget_s=1.0):
                done["embedded"] += step
                progress(done["embedded"], 0)
            done["snapshot"] = int(self.renew())
            with self.store.writing(None) as rows:
                models = rows.models()
                if (
                    len(models) > 1
                    and self.embedder.id in models
                    and not rows.count_waiting(None, "embed", 1)
                ):
                    rows.drop_vectors_of_other_models(self.embedder.id)
        self.engine.flush_reads()
        self.store.compact()
        return done

    def renew(self, always: bool = False) -> bool:
        """Bring what speeds up the search by meaning up to date where that pays."""
        return self.embedder is not None and self.stage.renew(self.embedder, always)

    @cached_property
    def keys(self) -> StoredKeys:
        return StoredKeys(self.store)

    @cached_property
    def registry(self) -> Registry:
        # pydantic and the surfaces, which only a call of a tool needs.
        from memolith.tools.registry import Registry

        return Registry(families())

    def move(
        self, tenant: str, url: str, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Carry a tenant to another database, vectors included; returns how many events it had."""
        return self.shards.move(tenant, url, lambda target: self._embed(target, tenant), progress)

    @property
    def shards(self) -> PostgresStore:
        if isinstance(self.store, SqliteStore):
            raise InvalidInput(
                "Tenants move between PostgreSQL databases; see the setting `database`.",
                field="database",
            )
        return self.store

    def close(self) -> None:
        """Write what is still in memory and let go of the files."""
        if "sandbox" in vars(self):
            self.sandbox.close()
        if "store" not in vars(self):
            return
        self._stopping.set()
        for thread in self._threads:
            thread.join(2.0)
        try:
            if isinstance(self.stage, LocalStage) and self.stage.lagging:
                self.renew()
            self.engine.flush_reads()
        except MemolithError as error:
            # Counts and snapshots are only a convenience; what was asked for is done.
            log.warning("not everything was tidied up: %s", error)
        self.store.close()


def families() -> list[Family]:
    """Every family of tools, in the order in which clients see them."""
    # Each family builds its tools when it is imported, which the command line need not wait for.
    from memolith.tools.core.items import chatgpt, core
    from memolith.tools.item_views import manage
    from memolith.tools.knowledge.concepts import knowledge
    from memolith.tools.lanonasis.workplace import lanonasis
    from memolith.tools.memorylake.files import memorylake
    from memolith.tools.sekha.conversations import sekha
    from memolith.tools.subcog.prompts import subcog

    return [core, lanonasis, sekha, memorylake, knowledge, subcog, manage, chatgpt]


def open_store(chosen: Settings) -> SqliteStore | PostgresStore:
    if not chosen.database:
        return SqliteStore(chosen.data, chosen.busy_s)
    with translated(
        ImportError,
        InvalidInput,
        "PostgreSQL needs a driver: pip install 'memolith[postgres]'.",
        "database",
    ):
        # The driver is an extra, which only who has chosen this store needs.
        from memolith.storage.postgres.store import PostgresStore
    return PostgresStore(
        chosen.database,
        chosen.database_connections,
        chosen.busy_s,
        chosen.statement_s,
        chosen.database_pooler,
        leads=True,
    )


def at_address(address: str, chosen: Settings) -> SqliteStore | PostgresStore:
    """The store at `sqlite:FOLDER` or `postgres:URL`."""
    kind, _, place = address.partition(":")
    if kind == "sqlite" and place:
        return open_store(chosen.model_copy(update={"data": Path(place), "database": ""}))
    if kind in ("postgres", "postgresql") and place:
        url = f"postgresql:{place}" if place.startswith("//") else place
        return open_store(chosen.model_copy(update={"database": url}))
    raise InvalidInput("An address is sqlite:FOLDER or postgres:URL.", field="address")


def tenants(store: SqliteStore | PostgresStore) -> Iterator[tuple[str, int, bool]]:
    """Every tenant of a store with its number of events, and whether it lives in another database."""
    away = () if isinstance(store, SqliteStore) else store.homes()
    with store.reading(None) as rows:
        names = dict.fromkeys([*rows.tenants(), *away])
    for tenant in names:
        with store.reading(tenant) as rows:
            yield tenant, rows.last_seq(tenant), tenant in away


def copy_everything(
    source: SqliteStore | PostgresStore,
    target: SqliteStore | PostgresStore,
    progress: Callable[[str], Callable[[int, int], None]],
) -> dict[str, int]:
    """Carry every tenant and key to another store and prove that both are equal; events per tenant."""
    copied = {}
    for tenant, _, _ in list(tenants(source)):
        copied[tenant] = follow(source, target, tenant, progress(tenant))
        carry_rest(source, target, tenant)
        if problems := unequal(source, target, tenant) + differences(target, tenant):
            raise StoreCorrupt(f"The copy of {tenant[:60]!r} is not equal: {problems[0]}")
    known = {key.id for key in StoredKeys(target).all()}
    for key in StoredKeys(source).all():
        if key.id not in known:
            StoredKeys(target).add(key)
    return copied


def open_app(settings: Settings) -> App:
    app = App(settings)
    assert app.engine
    return app


def wait_for(app: App) -> None:
    """Open the app of what runs by itself: a database that is away is waited for."""
    while True:
        try:
            assert app.engine
            return
        except StoreGone as error:
            log.warning("%s", error)
            time.sleep(EVERY_S)
