"""The composition root: the one place that knows every part."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.builtin_analyst import BuiltinAnalyst
from memolith.engine.engine import Engine
from memolith.engine.intake import Limits
from memolith.engine.model import Block, Caller, Draft
from memolith.engine.moving import carry_rest, follow, unequal, unsound
from memolith.engine.ports import Allowance, Analyst, Cipher, Embedder, Meaning, Stage
from memolith.engine.recall import Recall
from memolith.engine.rounds import Rounds
from memolith.engine.times import SystemClock
from memolith.errors import InvalidInput, MemolithError, StoreCorrupt, StoreGone
from memolith.retrieval.minilm import MiniLM
from memolith.retrieval.rank import WeightedRanker
from memolith.retrieval.stage import LocalStage
from memolith.retrieval.worker import EmbedWorker
from memolith.settings import Settings
from memolith.storage import terms
from memolith.storage.keys import StoredKeys
from memolith.storage.sqlite import SqliteStore, library_version, make_private, restore_backup

if TYPE_CHECKING:
    from memolith.registry import Family, Registry
    from memolith.storage.postgres_signals import Signals
    from memolith.storage.shards import Shards

__all__ = ["App", "at_address", "copy_everything", "families", "library_version", "open_app", "open_store",
           "restore_backup"]
PACKAGE = Path(__file__).parent
DOCS = PACKAGE / "docs" if (PACKAGE / "docs").is_dir() else PACKAGE.parents[1] / "docs"
EVERY_S = 2.0
UPKEEP_ROUNDS = 300
log = logging.getLogger(__name__)


class App:
    """A data folder with everything that works on it; opened when first used, so that a list needs no database."""

    def __init__(self, settings: Settings, background: bool = False) -> None:
        self.settings = settings
        self._in_background = background
        self.clock = SystemClock()
        self._builtin = MiniLM()
        self._lock = threading.RLock()
        self._opened: Engine | None = None
        self._settled = self._queued = False
        self._rounds: Rounds | None = None
        self._signals: Signals | None = None

    @property
    def engine(self) -> Engine:
        """Memory itself; whoever asks first opens the store, and meets what is wrong with it."""
        with self._lock:
            if self._opened is None:
                chosen = self.settings
                limits = Limits(text_bytes=chosen.max_text_bytes, title=chosen.max_title, tag=chosen.max_tag,
                                tags=chosen.max_tags)
                self._store, self._stage = self._open()
                search = Recall(self._store, terms, WeightedRanker(), self._meaning, self._drain)
                self._opened = Engine(self._store, self.clock, limits, chosen.secrets, search,
                                      lambda: self._stage.drop(self.embedder), self._cipher, self._analysts(),
                                      self._manual)
                if self._in_background:
                    self.start_background()
            return self._opened

    def _open(self) -> tuple[SqliteStore | Shards, Stage]:
        chosen = self.settings
        store = open_store(chosen)
        if isinstance(store, SqliteStore):
            return store, LocalStage(chosen.data, store.reading, store.writing)
        make_private(chosen.data)
        # The driver is an extra, which only who has chosen this store needs.
        from memolith.storage.postgres_vectors import PostgresStage
        return store, PostgresStage(store, chosen.own_index_from)

    @property
    def store(self) -> SqliteStore | Shards:
        """Where everything is kept."""
        assert self.engine
        return self._store

    @property
    def stage(self) -> Stage:
        """Where vectors are searched."""
        assert self.engine
        return self._stage

    @cached_property
    def embedder(self) -> Embedder | None:
        """The model that makes vectors."""
        if self.settings.embedder == "none":
            return None
        if self.settings.embedder == "minilm":
            return self._builtin
        # Only who has chosen this embedder pays for its import.
        from memolith.adapters.http_embedder import HttpEmbedder
        chosen = self.settings
        return HttpEmbedder(chosen.embedder_url, chosen.embedder_model, chosen.embedder_key,
                            chosen.embedder_dimension, chosen.embedder_timeout_s)

    @cached_property
    def worker(self) -> EmbedWorker | None:
        """Who makes vectors of what was written."""
        if self.embedder is None:
            return None
        return EmbedWorker(self.store, self.embedder, self.clock, self.stage.row)

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
            models = rows.models()
            waiting = rows.waiting(None, "embed", 1)
        if models.keys() - {embedder.id} and not self._queued:
            with self.store.writing(None) as writer:
                writer.queue_missing(embedder.id, self.clock.now())
            self._queued = waiting = True
        if waiting and self._builtin.id in models and models[self._builtin.id] > models.get(embedder.id, 0):
            return self._builtin
        self._settled = not waiting
        return embedder

    def _drain(self, tenant: str, budget_s: float) -> None:
        if self.worker:
            self.worker.drain(tenant, budget_s)

    def _cipher(self) -> Cipher:
        # cryptography costs 0.05 CPU seconds to import, and only the vault needs it; read anew, as it may be renewed.
        from memolith.adapters.cipher import load
        return load(self.settings.vault_key, self.settings.data)

    def _analysts(self) -> list[Analyst]:
        chosen, builtin = self.settings, BuiltinAnalyst()
        if not chosen.analyst_url:
            return [builtin]
        # Only who has chosen it pays for its import.
        from memolith.adapters.http_analyst import HttpAnalyst
        return [HttpAnalyst(chosen.analyst_url, chosen.analyst_model, chosen.analyst_key, chosen.analyst_budget,
                            chosen.analyst_timeout_s), builtin]

    def _manual(self) -> Caller:
        pages = [page(path) for path in sorted(DOCS.rglob("*.md"))]
        caller = Caller("manual-" + hashlib.blake2b(repr(pages).encode(), digest_size=6).hexdigest())
        self.engine.learn(caller, pages)
        return caller

    def rekey_vault(self, given: str) -> int:
        """Seal the vault with another master key: the one given, or a new one where we keep it."""
        # As above.
        from memolith.adapters.cipher import renew
        return renew(self.settings.vault_key, self.settings.data, given, self.engine.vault.rekey)

    def start_background(self) -> None:
        """Embed and tidy in the background, as servers do, and hear what other servers tell."""
        if self._rounds is None:
            self._rounds = Rounds(self._background, EVERY_S)
            if not isinstance(self.store, SqliteStore) and not self.settings.database_pooler:
                # The driver is an extra, which only who has chosen this store needs.
                from memolith.storage.postgres_signals import Signals
                self._signals = Signals(self.store, self.store.forget)

    @cached_property
    def allowance(self) -> Allowance | None:
        """Counts the calls of a key over all servers, where there are several."""
        if isinstance(self.store, SqliteStore):
            return None
        # The driver is an extra, which only who has chosen this store needs.
        from memolith.storage.postgres_signals import SharedAllowance
        return SharedAllowance(self.store)

    def _background(self, number: int) -> None:
        self.engine.flush_reads()
        if self.worker and self.worker.drain(budget_s=5.0):
            self.renew()
        if self.embedder and not isinstance(self.store, SqliteStore):
            for store in self.store.elsewhere():
                EmbedWorker(store, self.embedder, self.clock, self.stage.row).drain(budget_s=5.0)
        if number % UPKEEP_ROUNDS == UPKEEP_ROUNDS - 1:
            self.do_upkeep()

    def do_upkeep(self, progress: Callable[[int, int], None] | None = None) -> dict[str, int]:
        """Embed what waits, write a snapshot where it pays, flush counts, checkpoint."""
        done = {"embedded": 0, "snapshot": 0}
        if self.worker and self.embedder:
            self._serving(self.embedder)
            with self.store.writing(None) as rows:
                rows.retry("embed", self.clock.now())
            while step := self.worker.drain(budget_s=1.0):
                done["embedded"] += step
                if progress:
                    progress(done["embedded"], 0)
            done["snapshot"] = int(self.renew())
            self._clear_old()
        self.engine.flush_reads()
        self.store.compact()
        return done

    def _clear_old(self) -> None:
        """Once everything has a vector of the chosen model, the others can go."""
        assert self.embedder is not None
        with self.store.reading(None) as rows:
            models, waiting = rows.models(), rows.waiting(None, "embed", 1)
        if not waiting and self.embedder.id in models and len(models) > 1:
            with self.store.writing(None) as rows:
                rows.drop_other_vectors(self.embedder.id)

    def renew(self, always: bool = False) -> bool:
        """Bring what speeds up the search by meaning up to date where that pays."""
        return self.embedder is not None and self.stage.renew(self.embedder, always)

    @cached_property
    def keys(self) -> StoredKeys:
        """The keys of HTTP clients."""
        return StoredKeys(self.store)

    @cached_property
    def registry(self) -> Registry:
        """The tools of all families."""
        # pydantic and the surfaces, which only a call of a tool needs.
        from memolith.registry import Registry
        return Registry(families())

    def tenants(self) -> list[tuple[str, int, bool]]:
        """Every tenant with its number of events, and whether it lives in another database."""
        away = {} if isinstance(self.store, SqliteStore) else self.store.homes()
        with self.store.reading(None) as rows:
            here = [tenant for tenant in rows.tenants() if tenant not in away]
        found = []
        for tenant in [*here, *away]:
            with self.store.reading(tenant) as rows:
                found.append((tenant, rows.last_seq(tenant), tenant in away))
        return found

    def move(self, tenant: str, url: str, progress: Callable[[int, int], None] | None = None) -> int:
        """Carry a tenant to another database, vectors included; returns how many events it had."""
        return self.shards.move(tenant, url, lambda target: self.embedder and EmbedWorker(
            target, self.embedder, self.clock, self.stage.row).drain(tenant), progress)

    @property
    def shards(self) -> Shards:
        """The databases between which tenants move."""
        if isinstance(self.store, SqliteStore):
            raise InvalidInput("Tenants move between PostgreSQL databases; see the setting `database`.",
                               field="database")
        return self.store

    def close(self) -> None:
        """Write what is still in memory and let go of the files."""
        if self._opened is None:
            return
        for running in (self._rounds, self._signals):
            if running is not None:
                running.stop()
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
    from memolith.surfaces.chatgpt import chatgpt
    from memolith.surfaces.core import core
    from memolith.surfaces.knowledge import knowledge
    from memolith.surfaces.lanonasis import lanonasis
    from memolith.surfaces.manage import manage
    from memolith.surfaces.sekha import sekha
    return [core, lanonasis, sekha, knowledge, manage, chatgpt]


def page(path: Path) -> Draft:
    """A page of the documentation, cut at its headings, in the section that its folder stands for."""
    name, text = path.relative_to(DOCS).as_posix(), path.read_text(encoding="utf-8")
    section = "api" if name.startswith("reference/") else "sdks" if path.stem in ("clients", "library") else "guides"
    return Draft("document", text.split("\n", 1)[0].lstrip("# "), tuple(map(Block, re.split(r"\n(?=#)", text))),
                 namespace=section, id=name)


def open_store(chosen: Settings) -> SqliteStore | Shards:
    """The store that the settings name."""
    if not chosen.database:
        return SqliteStore(chosen.data, chosen.busy_s)
    try:
        # The driver is an extra, which only who has chosen this store needs.
        from memolith.storage.shards import Shards
    except ImportError as error:
        raise InvalidInput("PostgreSQL needs a driver: pip install 'memolith[postgres]'.", field="database") from error
    return Shards(chosen.database, chosen.database_connections, chosen.busy_s, chosen.statement_s,
                  chosen.database_pooler)


def at_address(address: str, chosen: Settings) -> SqliteStore | Shards:
    """The store at `sqlite:FOLDER` or `postgres:URL`."""
    kind, _, place = address.partition(":")
    if kind == "sqlite" and place:
        return open_store(chosen.model_copy(update={"data": Path(place), "database": ""}))
    if kind in ("postgres", "postgresql") and place:
        url = f"postgresql:{place}" if place.startswith("//") else place
        return open_store(chosen.model_copy(update={"database": url}))
    raise InvalidInput("An address is sqlite:FOLDER or postgres:URL.", field="address")


def copy_everything(source: SqliteStore | Shards, target: SqliteStore | Shards,
                    progress: Callable[[str], Callable[[int, int], None]]) -> dict[str, int]:
    """Carry every tenant and key to another store and prove that both are equal; events per tenant."""
    with source.reading(None) as rows:
        tenants = dict.fromkeys([*rows.tenants(), *(() if isinstance(source, SqliteStore) else source.homes())])
    copied = {}
    for tenant in tenants:
        copied[tenant] = follow(source, target, tenant, progress(tenant))
        carry_rest(source, target, tenant)
        if problems := unequal(source, target, tenant) + unsound(target, tenant):
            raise StoreCorrupt(f"The copy of {tenant[:60]!r} is not equal: {problems[0]}")
    known = {key.id for key in StoredKeys(target).all()}
    for key in StoredKeys(source).all():
        if key.id not in known:
            StoredKeys(target).add(key)
    return copied


def open_app(settings: Settings) -> App:
    """The app on the data folder of the settings, opened at once."""
    app = App(settings)
    assert app.engine
    return app


def wait_for_app(settings: Settings) -> App:
    """The same for what runs by itself: a database that is away is waited for."""
    while True:
        try:
            return open_app(settings)
        except StoreGone as error:
            log.warning("%s", error)
            time.sleep(EVERY_S)
