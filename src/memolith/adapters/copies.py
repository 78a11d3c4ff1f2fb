"""Makes copies in threads and keeps them in a folder for an hour."""

import json
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from memolith.engine.progress import Progress
from memolith.errors import MemolithError, NotFound, of_system
from memolith.ports.copies import FAILED, READY, RUNNING, Copy
from memolith.private_files import make_private_folder, open_private

KEPT_S = 3600
"""How long a copy waits to be downloaded."""

STOP_WAIT_S = 10.0
BACKUP_NAME = "memolith-backup.db"


class _Stopped(Exception):
    """Nobody wants the copy any more."""


class FolderCopies:
    """Copies in a folder that nobody else can read. Each is known to the process that made it."""

    def __init__(
        self,
        folder: Path,
        export: Callable[[str], Iterable[str]],
        backup: Callable[[Path, Progress], None],
    ) -> None:
        """`export` gives a header and the lines of a tenant, `backup` makes a file."""
        self._folder = folder
        self._export = export
        self._backup = backup
        self._lock = threading.Lock()
        self._copies: dict[str, Copy] = {}
        self._ready_at: dict[str, float] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._unwanted: set[str] = set()

    def reserve(self, copy: Copy) -> bool:
        make_private_folder(str(self._folder))
        self._remove_old()
        with self._lock:
            earlier = [one for one in self._copies.values() if one.tenant == copy.tenant]
            if any(one.state == RUNNING for one in earlier):
                return False
            self._copies[copy.id] = copy
        for one in earlier:
            self.remove(one.id)
        return True

    def start(self, copy: Copy) -> None:
        thread = threading.Thread(target=self._make, args=(copy,), daemon=True)
        with self._lock:
            self._threads[copy.id] = thread
        thread.start()

    def all(self, tenant: str) -> list[Copy]:
        self._remove_old()
        with self._lock:
            own = [copy for copy in self._copies.values() if copy.tenant == tenant]
        return own[::-1]

    def open(self, id: str) -> IO[bytes]:
        try:
            return open(self._file(id), "rb")
        except FileNotFoundError as error:
            raise NotFound("This copy is gone; make another one.", field="id", id=id) from error
        except OSError as error:
            raise of_system(error) from error

    def _file(self, id: str) -> Path:
        return self._folder / id

    def remove(self, id: str) -> None:
        with self._lock:
            self._unwanted.add(id)
            self._copies.pop(id, None)
            thread = self._threads.pop(id, None)
        if thread is not None:
            thread.join(STOP_WAIT_S)
        self._delete(id)

    def close(self) -> None:
        """Stop what is being made, and delete all that is there."""
        with self._lock:
            ids = list(self._copies)
        for id in ids:
            self.remove(id)

    def drop_all(self) -> None:
        """Delete every copy, also those of other processes: they may hold what was erased."""
        self.close()
        if self._folder.is_dir():
            for path in self._folder.iterdir():
                _delete_any(path)

    def _make(self, copy: Copy) -> None:
        try:
            if copy.kind == "export":
                self._write_export(copy)
            else:
                self._write_backup(copy)
            size = self._file(copy.id).stat().st_size
            self._change(copy.id, state=READY, bytes=size)
        except _Stopped:
            self._delete(copy.id)
        except MemolithError as error:
            self._fail(copy.id, error)
        except OSError as error:
            self._fail(copy.id, of_system(error))
        finally:
            with self._lock:
                self._ready_at[copy.id] = time.monotonic()
                self._threads.pop(copy.id, None)

    def _write_export(self, copy: Copy) -> None:
        with open(self._file(copy.id), "x", encoding="utf-8", opener=open_private) as file:
            total = 0
            for done, line in enumerate(self._export(copy.tenant)):
                if not done:
                    # The first line is a header.
                    total = json.loads(line)["events"]
                file.write(line + "\n")
                self._advance(copy.id, done, total)

    def _write_backup(self, copy: Copy) -> None:
        folder = self._folder / f"{copy.id}.parts"
        make_private_folder(str(folder))
        try:
            self._backup(
                folder / BACKUP_NAME, lambda done, total: self._advance(copy.id, done, total)
            )
            with (
                open(self._file(copy.id), "xb", opener=open_private) as file,
                tarfile.open(fileobj=file, mode="w") as archive,
            ):
                for path in sorted(folder.rglob("*")):
                    self._advance(copy.id, 0, 0)
                    archive.add(path, path.relative_to(folder), recursive=False)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _advance(self, id: str, done: int, total: int) -> None:
        if id in self._unwanted:
            raise _Stopped
        if done:
            self._change(id, done=done, total=total)

    def _change(self, id: str, **fields: int | str) -> None:
        with self._lock:
            if id in self._copies:
                self._copies[id] = self._copies[id]._replace(**fields)  # type: ignore[arg-type]

    def _fail(self, id: str, error: MemolithError) -> None:
        self._change(id, state=FAILED, problem=error.message)
        self._delete(id)

    def _delete(self, id: str) -> None:
        self._file(id).unlink(missing_ok=True)

    def _remove_old(self) -> None:
        """Delete what nobody has fetched in time, also of processes that are gone."""
        now = time.monotonic()
        with self._lock:
            ready = [
                id
                for id, copy in self._copies.items()
                if copy.state != RUNNING and now - self._ready_at.get(id, now) > KEPT_S
            ]
        for id in ready:
            self.remove(id)
        if not self._folder.is_dir():
            return
        with self._lock:
            known = set(self._copies)
        for path in self._folder.iterdir():
            if path.name.removesuffix(".parts") not in known and _is_old(path):
                _delete_any(path)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > KEPT_S
    except FileNotFoundError:
        # Another thread deleted it.
        return False


def _delete_any(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
