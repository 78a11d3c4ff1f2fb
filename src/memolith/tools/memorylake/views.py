"""Files as the tools show them."""

from memolith.domain.items import Item
from memolith.tools.memorylake.models import FileBody


def file_body(item: Item) -> FileBody:
    """A file as lists show it."""
    attributes = item.attributes
    body: FileBody = {
        "id": item.id,
        "name": item.title,
        "type": attributes["type"],
        "num_chunks": item.blocks,
        "num_figures": attributes["figures"],
        "num_tables": attributes["tables"],
        "warnings": attributes["warnings"],
    }
    if attributes["sheets"]:
        body["sheet_names"] = attributes["sheets"]
    return body
