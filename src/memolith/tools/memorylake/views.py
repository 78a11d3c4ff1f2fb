"""Files as the tools show them."""

from memolith.domain.items import Item
from memolith.engine.documents import file_facts
from memolith.tools.memorylake.models import FileBody


def file_body(item: Item) -> FileBody:
    """A file as lists show it."""
    facts = file_facts(item)
    body: FileBody = {
        "id": item.id,
        "name": item.title,
        "type": facts.type,
        "num_chunks": item.blocks,
        "num_figures": facts.figures,
        "num_tables": facts.tables,
        "warnings": facts.warnings,
    }
    if facts.sheets:
        body["sheet_names"] = facts.sheets
    return body
