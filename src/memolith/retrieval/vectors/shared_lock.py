"""A lock that many readers hold at the same time, and a writer alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Lets searches run side by side, and keeps them out while the vectors change.

    A waiting writer goes before new readers, so that many searches cannot hold it up for ever.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writes = False
        self._waiting_writers = 0

    @property
    def has_waiting_writer(self) -> bool:
        """Whether somebody waits to write."""
        return self._waiting_writers > 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Read beside other readers."""
        with self._changed:
            while self._writes or self._waiting_writers:
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Write, with nobody else inside."""
        with self._changed:
            self._waiting_writers += 1
            while self._writes or self._readers:
                self._changed.wait()
            self._waiting_writers -= 1
            self._writes = True
        try:
            yield
        finally:
            with self._changed:
                self._writes = False
                self._changed.notify_all()
