"""What servers on one database tell each other: hints that a cache is old, and how often a key was used."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from memolith.errors import MemolithError
from memolith.storage.postgres import PostgresStore
from memolith.storage.postgres_read import QUERIES

LOOK_S = 1.0
PAUSE_S = 2.0
log = logging.getLogger(__name__)


class Signals:
    """Listens on a connection of its own; a lost hint costs a second, because caches also look by themselves."""

    def __init__(self, store: PostgresStore, heard: Callable[[], None]) -> None:
        self._store = store
        self._heard = heard
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="memolith-signals", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                with self._store.owning() as db:
                    db.execute(QUERIES["listen"])
                    # What was told while nobody listened is not known here.
                    self._heard()
                    while not self._stop.is_set():
                        for _ in db.notifies(timeout=LOOK_S):
                            self._heard()
                    db.close()
            except MemolithError as error:
                log.info("no hints from other servers for now: %s", error)
                self._stop.wait(PAUSE_S)

    def stop(self) -> None:
        """Listen no longer."""
        self._stop.set()
        self._thread.join(2 * LOOK_S)


def take(store: PostgresStore, key: str, minute: int, amount: int) -> int:
    """Take so many calls of this minute; returns how many all servers took together."""
    with store.writing(None) as rows:
        rows.do("allowance_old", minute=minute - 1)
        return int(rows.column("allowance_take", tenant="", key=key, minute=minute, amount=amount)[0])
