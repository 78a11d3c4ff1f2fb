"""List, show, delete and read files again."""

from memolith.domain.blocks import block_data
from memolith.engine.documents import FILES, FILES_NAMESPACE, file_facts
from memolith.tools.arguments import ItemId, Limit
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.manage.dialect import manage
from memolith.tools.memorylake.models import FilePage, ShownFile
from memolith.tools.memorylake.views import file_body
from memolith.tools.results import ChangedItem, changed_item
from memolith.tools.sekha.arguments import Offset

EXAMPLE = {"memory_id": "ds-zoo"}


@manage.tool(read_only=True)
def list_files(call: Call, *, limit: Limit = 20, offset: Offset = 0) -> FilePage:
    """A page of the files that were taken in, the newest first."""
    page = call.engine.reading.list_items(call.caller, FILES, limit=limit, offset=offset)
    return {"files": [file_body(item) for item in page.items], "total": page.total}


@manage.tool(read_only=True, example=EXAMPLE)
def show_file(call: Call, *, memory_id: ItemId, limit: Limit = 20, offset: Offset = 0) -> ShownFile:
    """What was read in a file, piece by piece, each with its place."""
    file = find_item(call, "document", memory_id, "memory_id", namespace=FILES_NAMESPACE)
    item, blocks = call.engine.reading.read(call.caller, file.id)
    return {
        "file": file_body(item),
        "summary": file_facts(item).summary,
        "total": len(blocks),
        "chunks": [block_data(block) for block in blocks[offset : offset + limit]],
    }


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
