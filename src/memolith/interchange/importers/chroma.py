"""Chroma: the documents and their metadata in `chroma.sqlite3`, read without chromadb."""

import sqlite3
from pathlib import Path
from typing import NamedTuple

from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignRecord
from memolith.interchange.importers.files import (
    JsonObject,
    first,
    open_sqlite,
    split_tags,
    tables_of,
    text,
)

CHROMA_FILE = "chroma.sqlite3"
CHROMA_TABLES = {"collections", "segments", "embeddings", "embedding_metadata"}
DOCUMENT = "chroma:document"
ARRAY_TABLE = "embedding_metadata_array"
CREATED_FIELDS = ("created_at", "timestamp", "date")
VALUE_COLUMNS = ("string_value", "int_value", "float_value")
_DOCUMENTS = """
select embeddings.id, embedding_id, embeddings.created_at, collections.name as collection
from embeddings
join segments on segments.id = embeddings.segment_id
join collections on collections.id = segments.collection
order by embeddings.id
"""


class ChromaDocument(NamedTuple):
    """An entry of a collection."""

    collection: str
    id: str
    text: str
    created_at: str
    metadata: JsonObject


def collections_of(path: Path) -> set[str]:
    with open_sqlite(path) as connection:
        return {row["name"] for row in connection.execute("select name from collections")}


def read_documents(path: Path) -> list[ChromaDocument]:
    """Every entry of every collection, in the order in which they were added."""
    tables = tables_of(path)
    with open_sqlite(path) as connection:
        metadata = _metadata(connection, "bool_value" in tables["embedding_metadata"])
        if ARRAY_TABLE in tables:
            _add_lists(connection, metadata)
        documents = []
        for row in connection.execute(_DOCUMENTS):
            fields = metadata.get(row["id"], {})
            content = text(fields.pop(DOCUMENT, ""))
            documents.append(
                ChromaDocument(
                    row["collection"], row["embedding_id"], content, row["created_at"], fields
                )
            )
        return documents


def _metadata(connection: sqlite3.Connection, has_booleans: bool) -> dict[int, JsonObject]:
    metadata: dict[int, JsonObject] = {}
    for row in connection.execute("select * from embedding_metadata"):
        values = [row[column] for column in VALUE_COLUMNS if row[column] is not None]
        if has_booleans and row["bool_value"] is not None:
            values = [bool(row["bool_value"])]
        metadata.setdefault(row["id"], {})[row["key"]] = values[0] if values else None
    return metadata


def _add_lists(connection: sqlite3.Connection, metadata: dict[int, JsonObject]) -> None:
    for row in connection.execute(f"select rowid, * from {ARRAY_TABLE} order by rowid"):
        values = [row[column] for column in VALUE_COLUMNS if row[column] is not None]
        if row["bool_value"] is not None:
            values = [bool(row["bool_value"])]
        listed = metadata.setdefault(row["id"], {}).setdefault(row["key"], [])
        if isinstance(listed, list):
            listed += values


def read_chroma(path: Path) -> ForeignData:
    data = ForeignData("chroma")
    for document in read_documents(path):
        name = f"{document.collection}/{document.id}"
        if not document.text.strip():
            data.left_out.add("an embedding without a document", name)
            continue
        fields = dict(document.metadata)
        tags = split_tags(fields.pop("tags", None))
        data.records.append(
            ForeignRecord(
                source_id=name,
                title=text(fields.pop("title", "")),
                blocks=(Block(document.text),),
                tags=tags,
                created_at=first(fields, *CREATED_FIELDS) or document.created_at,
                updated_at=fields.get("updated_at"),
                author=text(fields.get("author")),
                attributes={**fields, "collection": document.collection},
            )
        )
    return data
