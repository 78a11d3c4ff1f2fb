"""mcp-memory-service: its SQLite database, or its export as JSON."""

from pathlib import Path

from memolith.domain.attributes import Json
from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignLink, ForeignRecord
from memolith.interchange.importers.files import (
    JsonObject,
    first,
    json_object_of,
    objects,
    open_sqlite,
    read_json,
    rows_of,
    split_tags,
    tables_of,
    text,
)

MEMORY_COLUMNS = {"content_hash", "content", "tags", "memory_type", "created_at_iso"}
GRAPH_TABLE = "memory_graph"
KEPT_FIELDS = ("memory_type", "store", "confidence", "superseded_by")


def is_mcp_memory_service_export(value: Json) -> bool:
    entries = objects(value.get("memories")) if isinstance(value, dict) else []
    return bool(entries) and "content_hash" in entries[0]


def read_mcp_memory_service(path: Path) -> ForeignData:
    data = ForeignData("mcp-memory-service")
    for entry in objects(json_object_of(read_json(path)).get("memories")):
        _add(data, entry)
    return data


def read_mcp_memory_service_database(path: Path) -> ForeignData:
    """The live memories of `sqlite_vec.db`, and how its graph connects them."""
    data = ForeignData("mcp-memory-service")
    has_graph = GRAPH_TABLE in tables_of(path)
    with open_sqlite(path) as connection:
        for row in rows_of(connection, "memories", "created_at"):
            if row.get("deleted_at") is not None:
                data.left_out.add("deleted in mcp-memory-service", text(row.get("content"))[:60])
            else:
                _add(data, row)
        if has_graph:
            for edge in rows_of(connection, GRAPH_TABLE, "created_at"):
                data.links.append(_link(edge))
    return data


def _add(data: ForeignData, entry: JsonObject) -> None:
    content = text(entry.get("content"))
    id = text(entry.get("content_hash")) or content
    if not content.strip():
        data.left_out.add("a memory without text", id)
        return
    kept = {name: entry.get(name) for name in KEPT_FIELDS}
    if kept["store"] == "default":
        del kept["store"]
    data.records.append(
        ForeignRecord(
            source_id=id,
            blocks=(Block(content),),
            tags=split_tags(entry.get("tags")),
            created_at=first(entry, "created_at", "created_at_iso"),
            updated_at=first(entry, "updated_at", "updated_at_iso"),
            attributes={**json_object_of(entry.get("metadata")), **kept},
        )
    )


def _link(edge: JsonObject) -> ForeignLink:
    return ForeignLink(
        source=text(edge.get("source_hash")),
        target=text(edge.get("target_hash")),
        label=text(edge.get("relationship_type")) or "related",
        attributes={
            "similarity": edge.get("similarity"),
            **json_object_of(edge.get("metadata")),
        },
    )
