"""Files as memory: what a reader finds in them is a document, and the file itself is kept beside it."""

import hashlib
import json
import re
import time
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
from memolith.domain.items import Draft, Item, Patch, Written
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.validation import InputRules, json_object
from memolith.engine.visibility import visible
from memolith.engine.writing import Writing
from memolith.errors import AlreadyExists, Denied, InvalidInput, MemolithError, NotFound, TooLarge
from memolith.ports.blobs import Blobs
from memolith.ports.cipher import Cipher
from memolith.ports.sandbox import Bounds, Sandbox
from memolith.ports.store import Store

FILES_NAMESPACE = "files"
CONTEXT = "the address of a file"
FILES = Filter(kinds=("document",), namespaces=(FILES_NAMESPACE,))


class Shelf(NamedTuple):
    """Where files are kept, what reads them and runs code on them, and at which address for how long others may."""

    blobs: Blobs
    sandbox: Sandbox
    bounds: Bounds
    most: int
    url_s: int
    address: str


@dataclass(frozen=True)
class Documents:
    """Takes files and gives them back."""

    store: Store
    writing: Writing
    input_rules: InputRules
    shelf: Callable[[], Shelf]
    cipher: Callable[[], Cipher]

    def ingest(self, caller: Caller, source: Path, name: str) -> tuple[Item, bool]:
        """The document of a file, and whether it is new: the same bytes are one, and a forgotten one comes back."""
        shelf, size = self.shelf(), source.stat().st_size
        if size > shelf.most:
            raise TooLarge(f"A file has at most {shelf.most:,} bytes.", field="file")
        with source.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        item, id = self._known(caller, digest)
        if item:
            return (self.writing.restore(caller, item.id).item if item.forgotten else item), False
        blocks, found = self._read(source)
        # The end of a long name stays, for it tells what the file is.
        name = (
            re.sub(r"[\x00-\x1f\x7f]", "", re.split(r"[/\\]", name)[-1])
            .encode()[-200:]
            .decode(errors="ignore")
        )
        draft = Draft(
            "document",
            name if name.strip(". ") else "file",
            blocks,
            namespace=FILES_NAMESPACE,
            id=id,
            attributes={**found, "digest": digest, "bytes": size},
        )
        # The file first, so that no document is without one.
        shelf.blobs.put(key := key_of(caller.tenant, caller.user, id), source)
        try:
            return self.writing.remember(caller, draft).item, True
        except AlreadyExists:
            # Somebody else was faster with the same bytes.
            return cast(Item, self._known(caller, digest)[0]), False
        except (InvalidInput, TooLarge):
            shelf.blobs.drop(key)
            raise

    def reread(self, caller: Caller, id: str) -> Written:
        """The document as the reader of today finds it in the stored file."""
        with self.stored(caller, id) as (_, path):
            blocks, found = self._read(path)
        return self.writing.revise(caller, id, Patch(blocks=blocks, attributes=found))

    @contextmanager
    def stored(self, caller: Caller, id: str) -> Iterator[tuple[str, Path]]:
        with self.store.reading(caller.tenant) as rows:
            item = visible(rows, caller, id)
        if item.namespace != FILES_NAMESPACE:
            raise NotFound(f"There is no file {id[:100]!r}.", id=id)
        with self.shelf().blobs.opened(key_of(caller.tenant, item.owner, id)) as path:
            yield item.title, path

    def url(self, item: Item) -> str | None:
        """An address that gives the file to anybody for a while; None where no server is known that could."""
        shelf = self.shelf()
        found = shelf.blobs.url(key_of(item.tenant, item.owner, item.id), item.title, shelf.url_s)
        if found or not shelf.address:
            return found
        good = json.dumps([item.tenant, item.id, time.time() + shelf.url_s])
        return f"{shelf.address}/files/content?{urlencode({'pass': self.cipher().seal(good, CONTEXT)})}"

    def unsealed(self, sealed: str) -> tuple[Caller, str]:
        """In whose name, and which file, an address that is still good may give."""
        try:
            tenant, id, expires = json.loads(self.cipher().open(sealed, CONTEXT))
        except (MemolithError, ValueError):
            tenant, id, expires = "", "", 0
        if expires < time.time():
            raise Denied(
                "This address is not valid, or not any more; ask `fetch_memory` for a new one."
            )
        return Caller(tenant, admin=True), id

    def _known(self, caller: Caller, digest: str) -> tuple[Item | None, str]:
        """The document with these bytes, or None and the id it will get; that of an erased one is not used again."""
        with self.store.reading(caller.tenant) as rows:
            ids = (
                f"ds-{uuid5(NAMESPACE_URL, repr((caller.user, digest, n))).hex}" for n in count()
            )
            id = next(
                id
                for id in ids
                if rows.item(caller.tenant, id) or not rows.events(caller.tenant, id)
            )
            return rows.item(caller.tenant, id), id

    def _read(self, source: Path) -> tuple[tuple[Block, ...], Attributes]:
        """What the reader finds: blocks as far as one item holds them, and the rest as attributes."""
        shelf = self.shelf()
        found = json_object(
            shelf.sandbox.read(source, shelf.bounds), "What the reader says", "file"
        )
        blocks, room = list[Block](), self.input_rules.limits.item_bytes
        for place, text in cast("list[tuple[str, str]]", found.pop("blocks")):
            if (room := room - len(text.encode())) < 0:
                cast("list[str]", found["warnings"]).append(
                    f"Only the beginning is searched, up to {place}."
                )
                break
            blocks.append(Block(text, locator=place or None))
        return tuple(blocks), found


def key_of(tenant: str, owner: str, id: str) -> str:
    """Where the file of a document is kept: below a folder of its owner."""
    return f"{hashlib.sha256(repr((tenant, owner)).encode()).hexdigest()[:32]}/{id}"


def drop_file(blobs: Blobs, item: Item) -> None:
    """Remove the file of an item that is being erased, if it has one."""
    if item.namespace == FILES_NAMESPACE:
        blobs.drop(key_of(item.tenant, item.owner, item.id))


def described(item: Item) -> dict[str, Json]:
    about = item.attributes
    return {
        "id": item.id,
        "name": item.title,
        "type": about["type"],
        "num_chunks": item.blocks,
        "num_figures": about["figures"],
        "num_tables": about["tables"],
        "warnings": about["warnings"],
        **({"sheet_names": about["sheets"]} if about["sheets"] else {}),
    }
