"""Memory as an object: on a data folder, or on a server."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from memolith.doors.library.families import Families
from memolith.doors.library.http_transport import TIMEOUT_S, HttpTransport
from memolith.doors.library.results import (
    Change,
    Context,
    Event,
    Explored,
    Hit,
    Hits,
    Imported,
    IngestedFile,
    Item,
    Items,
    Link,
    ListedItem,
    Overview,
    Remembered,
    Undone,
)
from memolith.doors.library.transports import LocalTransport, Transport
from memolith.errors import InvalidInput
from memolith.private_files import open_private

DEFAULT_BUDGET_TOKENS = 1000


class Memory(Families):
    """A memory that outlives the program.

    `Memory("notes")` works on the data folder `notes`, `Memory()` on the one that the command
    line uses, and `Memory(url=..., key=...)` on a server; the methods are the same. Use it in a
    `with` statement, or call `close`. It can be used by several threads.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        timeout_s: float = TIMEOUT_S,
        **settings: Any,
    ) -> None:
        """`project` is the project that is worked in: new items are put into it.

        `settings` are those that a server takes, by the same names.
        """
        self.project = project
        """The project that new items are put into."""
        self._transport = _open(folder, url, key, project, timeout_s, settings)

    def close(self) -> None:
        """End it; what was remembered is kept already."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def call(
        self, tool: str, /, idempotency_key: str | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """The result of any tool by its name. Arguments that are None are left out."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return self._transport.call(tool, given, idempotency_key)

    def remember(
        self,
        content: str,
        *,
        kind: str = "memory",
        title: str = "",
        tags: Sequence[str] = (),
        project: str | None = None,
        metadata: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Keep a text. With a key, the same call again keeps it once."""
        return Remembered(
            self.call(
                "remember",
                idempotency_key,
                content=content,
                kind=kind,
                title=title,
                tags=list(tags) or None,
                project=self.project if project is None else project,
                metadata=metadata,
            )
        )

    def recall(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        status: str | None = None,
        as_of: str | None = None,
        mode: Literal["hybrid", "vector", "text"] = "hybrid",
        depth: Literal[0, 1, 2, "deep"] = 0,
        min_score: float | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> Hits:
        """What answers a question, the best first; nothing if nothing does."""
        found = self.call(
            "recall",
            query=query,
            kinds=list(kinds),
            tags=list(tags),
            project=project,
            since=since,
            until=until,
            status=status,
            as_of=as_of,
            mode=mode,
            depth=depth,
            min_score=min_score,
            limit=limit,
            offset=offset,
        )
        hits = [Hit(hit) for hit in found["hits"]]
        return Hits(hits, found["total"], found.get("warnings", []))

    def context(
        self,
        query: str,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        *,
        kinds: Sequence[str] = (),
        project: str | None = None,
    ) -> Context:
        """The best passages on a question with their sources, to be put into a prompt."""
        return Context(
            self.call(
                "context",
                query=query,
                budget_tokens=budget_tokens,
                kinds=list(kinds),
                project=project,
            )
        )

    def get(self, id: str) -> Item:
        """A whole item."""
        [item] = self.call("fetch", ids=[id])["items"]
        return Item(item)

    def list(
        self,
        *,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        project: str | None = None,
        status: str | None = None,
        forgotten: bool = False,
        since: str | None = None,
        until: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> Items:
        """Items, the newest first."""
        page = self.call(
            "list_items",
            kinds=[*kinds] or None,
            tags=[*tags] or None,
            project=project,
            status=status,
            forgotten=forgotten,
            since=since,
            until=until,
            limit=limit,
            offset=offset,
        )
        return Items([ListedItem(item) for item in page["items"]], page["total"])

    def revise(
        self,
        id: str,
        content: str | None = None,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> Change:
        """Change an item. Its history keeps what it said before.

        New metadata take the place of those of the same names; others stay.
        """
        return Change(
            self.call(
                "revise",
                id=id,
                content=content,
                title=title,
                tags=None if tags is None else [*tags],
                metadata=metadata,
                expected_version=expected_version,
            )
        )

    def forget(self, id: str) -> Change:
        """Hide an item from every search until it is restored."""
        return Change(self.call("forget", id=id))

    def restore(self, id: str) -> Change:
        """Bring a forgotten item back."""
        return Change(self.call("restore", id=id))

    def erase(self, id: str) -> None:
        """Remove every byte of an item for good."""
        self.call("erase_item", id=id)

    def history(self, id: str, as_of: str | None = None) -> builtins.list[Event]:
        """Who changed what in an item and when, the oldest first."""
        return [Event(event) for event in self.call("history", id=id, as_of=as_of)["events"]]

    def undo(self, event: int) -> Undone:
        """Take an event back."""
        return Undone(self.call("undo_event", event=event))

    def link(self, source: str, target: str, type: str, *, strength: float = 1.0) -> Link:
        """Link two items, for example by `depends_on`."""
        linked = self.call("link", source=source, target=target, type=type, strength=strength)
        return Link(linked["link"])

    def explore(self, id: str, *, depth: int = 1, types: Sequence[str] = ()) -> Explored:
        """What is linked to an item."""
        return Explored(self.call("explore", id=id, depth=depth, types=[*types]))

    def overview(self) -> Overview:
        """How much there is of each kind, the newest items, and health."""
        return Overview(self.call("overview"))

    def ingest(self, path: str | Path, *, name: str | None = None) -> IngestedFile:
        """Take a file in: a spreadsheet, a PDF, a text. Its passages are found like notes."""
        chosen = Path(path)
        return IngestedFile(self._transport.ingest(chosen, name or chosen.name))

    def export_to(self, path: str | Path, *, overwrite: bool = False) -> int:
        """Write everything into a file, a line for each event; how many there were."""
        target = Path(path)
        if target.exists() and not overwrite:
            raise InvalidInput(f"{target} exists; say overwrite=True to replace it.", field="path")
        # The first line is a header, which is no event.
        count = -1
        # Beside it first: an export that fails leaves the one before as it was.
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with open(unfinished, "w", encoding="utf-8", opener=open_private) as file:
                for line in self._transport.export_lines():
                    file.write(line + "\n")
                    count += 1
            os.replace(unfinished, target)
        finally:
            unfinished.unlink(missing_ok=True)
        return count

    def import_from(self, source: str | Path | Iterable[str]) -> Imported:
        """Take in an exported file, or its lines: everything or, if one line is wrong, nothing.

        What an earlier import of a file with the same name brought is left out, and counted as
        `known`. Lines have no name, so they are taken as they are.
        """
        if isinstance(source, str | Path):
            with open(source, encoding="utf-8") as lines:
                return Imported(self._transport.import_lines(lines, Path(source).name))
        return Imported(self._transport.import_lines(source, None))


def _open(
    folder: str | Path | None,
    url: str | None,
    key: str | None,
    project: str | None,
    timeout_s: float,
    settings: dict[str, Any],
) -> Transport:
    if url is None:
        if key is not None:
            raise InvalidInput("A key is for a server; give its address as `url`.", field="key")
        return LocalTransport(folder, project, settings)
    if folder is not None or settings:
        raise InvalidInput(
            "A server has its own folder and settings; leave them out.", field="folder"
        )
    if key is None:
        raise InvalidInput("A server needs a key: `memolith keys create NAME`.", field="key")
    return HttpTransport(url, key, project, timeout_s)
