"""Reaching a memory, and the data folder as one way to do so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.engine.documents import file_facts
from memolith.errors import InvalidInput, NotFound, of_system
from memolith.settings import load
from memolith.tools.call import Call
from memolith.tools.memorylake.views import file_body


class Transport(Protocol):
    """Reaches a memory. Whatever goes wrong is raised as a `MemolithError`."""

    def call(self, tool: str, arguments: Mapping[str, Any], key: str | None) -> dict[str, Any]:
        """The result of a tool; a repeated call with the same key is done once."""

    def ingest(self, path: Path, name: str) -> dict[str, Any]:
        """Take a file in."""

    def export_lines(self) -> Iterator[str]:
        """Every event of the tenant as a line of JSON."""

    def import_lines(self, lines: Iterable[str], source: str | None) -> dict[str, Any]:
        """Take in what `export_lines` gave; from a source, nothing twice."""

    def close(self) -> None: ...


class LocalTransport:
    """Works on a data folder in this process."""

    def __init__(
        self, folder: str | Path | None, project: str | None, options: Mapping[str, Any]
    ) -> None:
        self.app = App(load({"data": folder, **options}), background=True)
        self._caller = Caller(project=project)

    def call(self, tool: str, arguments: Mapping[str, Any], key: str | None) -> dict[str, Any]:
        if self.app.registry.find(tool) is None:
            raise NotFound(f"There is no tool named {tool!r}.", id=tool)
        # As a server does, so that both take and return nothing but JSON.
        given = json.loads(json.dumps(arguments))
        call = Call(self._caller, self.app.engine, idempotency_key=key, local=True)
        outcome = self.app.registry.run(tool, given, call)
        if outcome.error is not None:
            raise outcome.error
        body: dict[str, Any] = json.loads(outcome.text)
        return body

    def ingest(self, path: Path, name: str) -> dict[str, Any]:
        with file_errors(path):
            item, is_new = self.app.engine.documents.ingest(self._caller, path, name)
        return {**file_body(item), "summary": file_facts(item).summary, "known": not is_new}

    def export_lines(self) -> Iterator[str]:
        return iter(self.app.engine.maintenance.export(self._caller.tenant))

    def import_lines(self, lines: Iterable[str], source: str | None) -> dict[str, Any]:
        report = self.app.engine.maintenance.import_(self._caller, lines, source=source)
        return report._asdict()

    def close(self) -> None:
        self.app.close()


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Word what is wrong with a file of the user."""
    try:
        yield
    except FileNotFoundError as error:
        raise InvalidInput(f"There is no file {path}.", field="path") from error
    except IsADirectoryError as error:
        raise InvalidInput(f"{path} is a folder.", field="path") from error
    except OSError as error:
        raise of_system(error) from error
