"""List, show, delete and read files again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.domain.blocks import block_data
from memolith.domain.cell_ranges import CellRange
from memolith.domain.items import Item
from memolith.domain.passages import Block
from memolith.engine.documents import FILES, FILES_NAMESPACE, file_facts
from memolith.tools.arguments import ItemId, Limit
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.manage.dialect import manage
from memolith.tools.memorylake.models import FileBody
from memolith.tools.memorylake.views import file_body
from memolith.tools.result_schema import OBJECTS, Described
from memolith.tools.results import ChangedItem, changed_item
from memolith.tools.sekha.arguments import Offset

EXAMPLE = {"memory_id": "ds-zoo"}


class ListedFile(FileBody):
    """A file with its size and its dates."""

    bytes: Annotated[int, Described("0 if it is not known.")]
    created_at: str
    updated_at: str
    version: int


class FilePage(TypedDict):
    """The result of `list_files`."""

    files: list[ListedFile]
    total: int


class ShownFile(TypedDict):
    """The result of `show_file`."""

    file: ListedFile
    summary: str
    chunks: Annotated[list[dict[str, Json]], OBJECTS]
    total: int
    offset: Annotated[int, Described("The place of the first of these pieces among all.")]
    cited: NotRequired[
        Annotated[int, Described("The place of the piece that `cite` names; missing if none is.")]
    ]


@manage.tool(read_only=True)
def list_files(
    call: Call,
    *,
    name: Annotated[
        str, Field(max_length=200, description="Only files with this in their name.")
    ] = "",
    limit: Limit = 20,
    offset: Offset = 0,
) -> FilePage:
    """A page of the files that were taken in, the newest first."""
    chosen = replace(FILES, title=name)
    page = call.engine.reading.list_items(call.caller, chosen, limit=limit, offset=offset)
    return {"files": [_listed(item) for item in page.items], "total": page.total}


@manage.tool(read_only=True, example=EXAMPLE)
def show_file(
    call: Call,
    *,
    memory_id: ItemId,
    cite: Annotated[
        str | None,
        Field(
            max_length=300,
            description="A page or cells as a hit cites them: you get the pieces around them, "
            "whatever `offset` says.",
        ),
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> ShownFile:
    """What was read in a file, piece by piece, each with its place."""
    file = find_item(call, "document", memory_id, "memory_id", namespace=FILES_NAMESPACE)
    item, blocks = call.engine.reading.read(call.caller, file.id)
    cited = None if cite is None else _place_of(blocks, cite)
    start = offset if cited is None else cited // limit * limit
    shown: ShownFile = {
        "file": _listed(item),
        "summary": file_facts(item).summary,
        "total": len(blocks),
        "offset": start,
        "chunks": [block_data(block) for block in blocks[start : start + limit]],
    }
    if cited is not None:
        shown["cited"] = cited
    return shown


@manage.tool(destructive=True, example=EXAMPLE)
def delete_file(call: Call, *, memory_id: ItemId) -> ChangedItem:
    """Take a file out of every list and search; `restore_item` brings it back, `erase_item`
    removes its bytes.
    """
    file = find_item(call, "document", memory_id, "memory_id", namespace=FILES_NAMESPACE)
    written = call.engine.writing.forget(call.caller, file.id)
    return changed_item(written)


@manage.tool(idempotent=True, reads_files=True, example=EXAMPLE)
def reread_file(call: Call, *, memory_id: ItemId) -> ChangedItem:
    """Read a stored file again, which pays after an update of the readers."""
    file = find_item(call, "document", memory_id, "memory_id")
    return changed_item(call.engine.documents.reread(call.caller, file.id))


def _listed(item: Item) -> ListedFile:
    size = item.attributes.get("bytes")
    return {
        **file_body(item),
        "bytes": size if isinstance(size, int) else 0,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "version": item.version,
    }


def _place_of(blocks: Sequence[Block], cite: str) -> int | None:
    """The number of the piece with this place, else of the smallest that has some of these cells.

    The description of a table has the place of the whole table, so the smallest piece is that of
    the rows.
    """
    exact = [number for number, block in enumerate(blocks) if block.locator == cite]
    if exact:
        return exact[0]
    wanted = CellRange.parse(cite)
    if wanted is None:
        return None
    found: list[tuple[int, int]] = []
    for number, block in enumerate(blocks):
        cells = CellRange.parse(block.locator or "")
        if cells is not None and cells.overlaps(wanted):
            found.append((cells.rows, number))
    return min(found)[1] if found else None
