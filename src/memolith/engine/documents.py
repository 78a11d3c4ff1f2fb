"""Documents: files that are kept, with what a reader found in them."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple, cast
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

from memolith.domain.attributes import Attributes, Json
from memolith.domain.callers import Caller
from memolith.domain.clock import shifted
from memolith.domain.items import Draft, Item, Patch, Written
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.validation import InputRules, json_object
from memolith.engine.visibility import visible
from memolith.engine.writing import Writing
from memolith.errors import AlreadyExists, Denied, InvalidInput, MemolithError, NotFound, TooLarge
from memolith.ports.blobs import Blobs
from memolith.ports.cipher import Cipher
from memolith.ports.clock import Clock
from memolith.ports.sandbox import Bounds, Sandbox
from memolith.ports.store import Store

FILES_NAMESPACE = "files"
FILES_SEAL = "the address of a file"
"""What the sealed part of a download address is bound to."""
MAX_NAME_BYTES = 200
UNKNOWN_TYPE = "unknown"
"""The type of a document that no reader has seen."""
FILES = Filter(kinds=("document",), namespaces=(FILES_NAMESPACE,))


class Shelf(NamedTuple):
    """Where files are kept and read, and how others can download them."""

    blobs: Blobs
    sandbox: Sandbox
    bounds: Bounds
    """What reading one file may use."""
    max_file_bytes: int
    url_s: int
    """How long a download address is valid."""
    address: str
    """Where clients reach this server; empty if there is none."""


class Ingested(NamedTuple):
    """The document of a file, and whether it is new."""

    item: Item
    is_new: bool


class _Content(NamedTuple):
    """What a reader found in a file."""

    blocks: tuple[Block, ...]
    attributes: Attributes


class _Known(NamedTuple):
    """The document with certain bytes, or None and the id that it will get."""

    item: Item | None
    id: str


@dataclass(frozen=True)
class Documents:
    """Takes files and gives them back."""

    store: Store
    writing: Writing
    input_rules: InputRules
    shelf: Callable[[], Shelf]
    cipher: Callable[[], Cipher]
    clock: Clock

    def ingest(self, caller: Caller, source: Path, name: str) -> Ingested:
        """Keep a file with what it says.

        The same bytes are one document; if it was forgotten, it comes back.
        """
        shelf = self.shelf()
        size = source.stat().st_size
        if size > shelf.max_file_bytes:
            raise TooLarge(f"A file has at most {shelf.max_file_bytes:,} bytes.", field="file")
        with source.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        known = self._known(caller, digest)
        if known.item:
            if known.item.forgotten:
                return Ingested(self.writing.restore(caller, known.id).item, False)
            return Ingested(known.item, False)
        content = self._read(source)
        draft = Draft(
            "document",
            _clean_name(name),
            content.blocks,
            namespace=FILES_NAMESPACE,
            id=known.id,
            attributes={**content.attributes, "digest": digest, "bytes": size},
        )
        # The file first, so that there is no document without one.
        key = key_of(caller.tenant, caller.user, known.id)
        shelf.blobs.put(key, source)
        try:
            return Ingested(self.writing.remember(caller, draft).item, True)
        except AlreadyExists:
            # Somebody else was faster with the same bytes.
            return Ingested(cast(Item, self._known(caller, digest).item), False)
        except (InvalidInput, TooLarge):
            shelf.blobs.drop(key)
            raise

    def reread(self, caller: Caller, id: str) -> Written:
        """Read a stored file again, with the readers of today."""
        with self.stored(caller, id) as (_, path):
            content = self._read(path)
        patch = Patch(blocks=content.blocks, attributes=content.attributes)
        return self.writing.revise(caller, id, patch)

    @contextmanager
    def stored(self, caller: Caller, id: str) -> Iterator[tuple[str, Path]]:
        """The name of a file, and where its bytes are for the time being."""
        with self.store.reading(caller.tenant) as rows:
            item = visible(rows, caller, id)
        if item.namespace != FILES_NAMESPACE:
            raise NotFound(f"There is no file {id[:100]!r}.", id=id)
        with self.shelf().blobs.opened(key_of(caller.tenant, item.owner, id)) as path:
            yield item.title, path

    def url(self, item: Item) -> str | None:
        """An address where anybody can download the file for a while.

        None if neither the place of files nor a server can offer one.
        """
        shelf = self.shelf()
        key = key_of(item.tenant, item.owner, item.id)
        url = shelf.blobs.url(key, item.title, shelf.url_s)
        if url or not shelf.address:
            return url
        expires_at = shifted(self.clock.now(), shelf.url_s)
        permission = json.dumps([item.tenant, item.id, expires_at])
        sealed = self.cipher().seal(permission, FILES_SEAL)
        return f"{shelf.address}/files/content?{urlencode({'pass': sealed})}"

    def unsealed(self, sealed: str) -> tuple[Caller, str]:
        """In whose name a download address reads, and which file; an expired one is refused."""
        try:
            tenant, id, expires_at = json.loads(self.cipher().open(sealed, FILES_SEAL))
        except (MemolithError, ValueError):
            expires_at = ""
        if str(expires_at) < self.clock.now():
            raise Denied(
                "This address is not valid, or not any more; ask `fetch_memory` for a new one."
            )
        return Caller(tenant, admin=True), id

    def _known(self, caller: Caller, digest: str) -> _Known:
        with self.store.reading(caller.tenant) as rows:
            for number in count():
                name = repr((caller.user, digest, number))
                id = f"ds-{uuid5(NAMESPACE_URL, name).hex}"
                item = rows.item(caller.tenant, id)
                # The id of an erased document is not used again.
                if item or not rows.events(caller.tenant, id):
                    return _Known(item, id)
        raise AssertionError("there is always another number")

    def _read(self, source: Path) -> _Content:
        """What the reader finds, as far as one item holds it."""
        shelf = self.shelf()
        answer = shelf.sandbox.read(source, shelf.bounds)
        found = json_object(answer, "What the reader says", "file")
        blocks = []
        room_bytes = self.input_rules.limits.item_bytes
        for place, text in cast("list[tuple[str, str]]", found.pop("blocks")):
            room_bytes -= len(text.encode())
            if room_bytes < 0:
                warnings = cast("list[str]", found["warnings"])
                warnings.append(f"Only the beginning is searched, up to {place}.")
                break
            blocks.append(Block(text, locator=place or None))
        return _Content(tuple(blocks), found)


def _clean_name(name: str) -> str:
    """The last part of a path without control characters; its end stays, which tells the type."""
    last = re.split(r"[/\\]", name)[-1]
    printable = re.sub(r"[\x00-\x1f\x7f]", "", last)
    short = printable.encode()[-MAX_NAME_BYTES:].decode(errors="ignore")
    return short if short.strip(". ") else "file"


def key_of(tenant: str, owner: str, id: str) -> str:
    """Where the file of a document is kept: below a folder of its owner."""
    folder = hashlib.sha256(repr((tenant, owner)).encode()).hexdigest()[:32]
    return f"{folder}/{id}"


def drop_file(blobs: Blobs, item: Item) -> None:
    """Remove the file of an item that is being erased, if it has one."""
    if item.namespace == FILES_NAMESPACE:
        blobs.drop(key_of(item.tenant, item.owner, item.id))


class FileFacts(NamedTuple):
    """What the reader found out about a file."""

    type: str
    summary: str
    figures: int
    tables: int
    warnings: list[str]
    sheets: list[str]


def file_facts(item: Item) -> FileFacts:
    """What is known about the file of a document.

    An import can bring in documents that no reader has seen, so any fact may be missing, or be
    something else.
    """
    attributes = item.attributes
    return FileFacts(
        type=_text(attributes.get("type")) or UNKNOWN_TYPE,
        summary=_text(attributes.get("summary")),
        figures=_count(attributes.get("figures")),
        tables=_count(attributes.get("tables")),
        warnings=_texts(attributes.get("warnings")),
        sheets=_texts(attributes.get("sheets")),
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _texts(value: Json) -> list[str]:
    if not isinstance(value, list):
        return []
    return [text for text in value if isinstance(text, str)]
