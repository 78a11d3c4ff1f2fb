"""Work that is done again and again in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from memolith.errors import MemolithError

log = logging.getLogger(__name__)


class Rounds:
    """Calls a function every few seconds on a thread that does not keep the process alive."""

    def __init__(self, work: Callable[[int], None], every_s: float) -> None:
        self._work = work
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memolith-background", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> None:
        """Finish the round at hand and end."""
        self._stop.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            try:
                self._work(number)
            except (MemolithError, OSError) as error:
                log.warning("background work failed and will be tried again: %s", error)
            number += 1
            self._stop.wait(self._every_s)
