"""The composition root: the one place that knows every part."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.builtin_analyst import BuiltinAnalyst
from memolith.engine.engine import Engine
from memolith.engine.intake import Limits
from memolith.engine.model import Block, Caller, Draft
from memolith.engine.past import Past
from memolith.engine.ports import Analyst, Cipher, Embedder, Meaning
from memolith.engine.recall import Recall
from memolith.engine.rounds import Rounds
from memolith.engine.times import SystemClock
from memolith.engine.upkeep import Upkeep
from memolith.errors import Conflict, EmbedderDown, InvalidInput, MemolithError
from memolith.retrieval.minilm import MiniLM
from memolith.retrieval.rank import WeightedRanker
from memolith.retrieval.worker import EmbedWorker
from memolith.settings import Settings
from memolith.storage import terms
from memolith.storage.sqlite import FILE, SqliteStore, library_version, restore_file
from memolith.storage.sqlite_keys import SqliteKeys

if TYPE_CHECKING:
    from memolith.registry import Family, Registry
    from memolith.retrieval.vectors import VectorIndex

PACKAGE = Path(__file__).parent
DOCS = PACKAGE / "docs" if (PACKAGE / "docs").is_dir() else PACKAGE.parents[1] / "docs"
KEPT_CHANGES = 100_000
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
        self._indexes: dict[str, VectorIndex] = {}
        self._lock = threading.RLock()
        self._opened: Engine | None = None
        self._settled = self._queued = False
        self._rounds: Rounds | None = None

    @property
    def engine(self) -> Engine:
        """Memory itself; whoever asks first opens the store, and meets what is wrong with it."""
        with self._lock:
            if self._opened is None:
                chosen = self.settings
                limits = Limits(text_bytes=chosen.max_text_bytes, title=chosen.max_title, tag=chosen.max_tag,
                                tags=chosen.max_tags)
                store = SqliteStore(chosen.data, chosen.busy_s)
                search = Recall(store, terms, WeightedRanker(), self._meaning, self._drain)
                self._store = store
                self._opened = Engine(store, self.clock, limits, chosen.secrets, search, self.drop_snapshots,
                                      self._cipher, self._analysts(), self._manual)
                if self._in_background:
                    self.start_background()
            return self._opened

    @property
    def store(self) -> SqliteStore:
        """Where everything is kept."""
        assert self.engine
        return self._store

    @property
    def recall(self) -> Recall:
        """The search."""
        search = self.engine.search
        assert search is not None
        return search

    @property
    def past(self) -> Past:
        """History and undo."""
        return self.engine.past

    @property
    def upkeep(self) -> Upkeep:
        """Verify, rebuild, export and import."""
        return self.engine.upkeep

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
        return EmbedWorker(self.store, self.embedder, self.clock, _quantised)

    def index(self, embedder: Embedder) -> VectorIndex:
        """The vector stage of a model, made when first needed."""
        # numpy costs 0.1 CPU seconds, and nothing before the first search by meaning needs it.
        from memolith.retrieval.vectors import VectorIndex
        with self._lock:
            if embedder.id not in self._indexes:
                self._indexes[embedder.id] = VectorIndex(self.settings.data, embedder.id, embedder.dimension)
            return self._indexes[embedder.id]

    def _meaning(self) -> Meaning | None:
        """The chosen model, or the one before it until all is embedded anew."""
        if self.embedder is None:
            return None
        # The model loads on its own thread while numpy is imported and the snapshot is mapped.
        self.embedder.wait(0.0)
        return Meaning(serving := self._serving(self.embedder), self.index(serving))

    def _serving(self, embedder: Embedder) -> Embedder:
        if self._settled:
            return embedder
        with self.store.reading() as rows:
            models = rows.models()
            waiting = rows.waiting(None, "embed", 1)
        if models.keys() - {embedder.id} and not self._queued:
            with self.store.writing("") as writer:
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
        """Embed and tidy in the background, as servers do."""
        if self._rounds is None:
            self._rounds = Rounds(self._background, EVERY_S)

    def _background(self, number: int) -> None:
        self.engine.flush_reads()
        if self.worker and self.worker.drain(budget_s=5.0):
            self.roll_snapshot()
        if number % UPKEEP_ROUNDS == UPKEEP_ROUNDS - 1:
            self.do_upkeep()

    def drop_snapshots(self) -> None:
        """Remove the vector snapshots and write what is left anew."""
        had = list(self.settings.data.glob("vectors-*"))
        with self._lock:
            for index in self._indexes.values():
                index.close()
        for path in had:
            # Windows keeps a mapped file until its last reader is gone; the next snapshot removes it then.
            with suppress(PermissionError):
                path.unlink(missing_ok=True)
        if had:
            # An embedder that is down has no vectors to show; its snapshot is made when it is back.
            with suppress(EmbedderDown):
                self.roll_snapshot(always=True)

    def do_upkeep(self, progress: Callable[[int, int], None] | None = None) -> dict[str, int]:
        """Embed what waits, write a snapshot where it pays, flush counts, checkpoint."""
        done = {"embedded": 0, "snapshot": 0}
        if self.worker and self.embedder:
            self._serving(self.embedder)
            with self.store.writing("") as rows:
                rows.retry("embed", self.clock.now())
            while step := self.worker.drain(budget_s=1.0):
                done["embedded"] += step
                if progress:
                    progress(done["embedded"], 0)
            done["snapshot"] = int(self.roll_snapshot())
            self._clear_old()
        self.engine.flush_reads()
        self.store.compact()
        return done

    def _clear_old(self) -> None:
        """Once everything has a vector of the chosen model, the others can go."""
        assert self.embedder is not None
        with self.store.reading() as rows:
            models, waiting = rows.models(), rows.waiting(None, "embed", 1)
        if not waiting and self.embedder.id in models and len(models) > 1:
            with self.store.writing("") as rows:
                rows.drop_other_vectors(self.embedder.id)

    def roll_snapshot(self, always: bool = False) -> bool:
        """Write a new vector snapshot if the tail has grown long."""
        if self.embedder is None:
            return False
        index = self.index(self.embedder)
        with self.store.reading() as rows:
            index.follow(rows)
            if not (always or index.wants_snapshot):
                return False
            try:
                index.snapshot(rows)
            except OSError as error:
                log.warning("no vector snapshot was written: %s", error)
                return False
            index.follow(rows)
            _, change = rows.slot_marks()
        index.tidy()
        with self.store.writing("") as rows:
            rows.prune_changes(change - KEPT_CHANGES)
        return True

    @cached_property
    def keys(self) -> SqliteKeys:
        """The keys of HTTP clients."""
        return SqliteKeys(self.store)

    @cached_property
    def registry(self) -> Registry:
        """The tools of all families."""
        # pydantic and the surfaces, which only a call of a tool needs.
        from memolith.registry import Registry
        return Registry(families())

    def close(self) -> None:
        """Write what is still in memory and let go of the files."""
        if self._opened is None:
            return
        if self._rounds is not None:
            self._rounds.stop()
        try:
            if any(index.wants_snapshot for index in self._indexes.values()):
                self.roll_snapshot()
            self.engine.flush_reads()
        except MemolithError as error:
            # Counts and snapshots are only a convenience; what was asked for is done.
            log.warning("not everything was tidied up: %s", error)
        self.store.close()


def _quantised(vector: bytes) -> bytes:
    # numpy costs 0.1 CPU seconds to import, and nothing before the first embedding needs it.
    from memolith.retrieval.vectors import quantised
    return quantised(vector)


def families() -> list[Family]:
    """Every family of tools, in the order in which clients see them."""
    # Each family builds its tools when it is imported, which the command line need not wait for.
    from memolith.surfaces.chatgpt import chatgpt
    from memolith.surfaces.core import core
    from memolith.surfaces.lanonasis import lanonasis
    from memolith.surfaces.manage import manage
    return [core, lanonasis, manage, chatgpt]


def page(path: Path) -> Draft:
    """A page of the documentation, cut at its headings, in the section that its folder stands for."""
    name, text = path.relative_to(DOCS).as_posix(), path.read_text(encoding="utf-8")
    section = "api" if name.startswith("reference/") else "sdks" if path.stem in ("clients", "library") else "guides"
    return Draft("document", text.split("\n", 1)[0].lstrip("# "), tuple(map(Block, re.split(r"\n(?=#)", text))),
                 namespace=section, id=name)


def sqlite_version() -> str:
    """The version of SQLite in use."""
    return library_version()


def restore_backup(file: Path, folder: Path) -> None:
    """Put a backup into a data folder that has no database yet."""
    if not file.is_file():
        raise InvalidInput(f"There is no file {file}.", field="file")
    if (folder / FILE).exists():
        raise Conflict(f"{folder} holds a database already; restore into an empty folder.")
    restore_file(file, folder)


def open_app(settings: Settings) -> App:
    """The app on the data folder of the settings, opened at once."""
    app = App(settings)
    assert app.engine
    return app
