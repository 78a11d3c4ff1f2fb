"""MemPalace: the drawers in its Chroma folder, and its knowledge graph beside it."""

from pathlib import Path

from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignLink, ForeignRecord
from memolith.interchange.importers.chroma import ChromaDocument, read_documents
from memolith.interchange.importers.files import (
    first,
    json_object_of,
    open_sqlite,
    rows_of,
    text,
)

DRAWERS = "mempalace_drawers"
GRAPH_FILE = "knowledge_graph.sqlite3"
USED_FIELDS = {"wing", "room", "added_by", "filed_at"}


def read_mempalace(path: Path) -> ForeignData:
    """The palace whose `chroma.sqlite3` this is; its graph lies beside it or one folder above."""
    data = ForeignData("mempalace")
    for document in read_documents(path):
        if document.collection == DRAWERS:
            _add_drawer(data, document)
        else:
            data.left_out.add(
                f"an entry of the collection {document.collection}, which MemPalace makes from the "
                "drawers",
                document.id,
            )
    for folder in (path.parent, path.parent.parent):
        if (folder / GRAPH_FILE).is_file():
            _add_graph(data, folder / GRAPH_FILE)
            break
    return data


def _add_drawer(data: ForeignData, document: ChromaDocument) -> None:
    if not document.text.strip():
        data.left_out.add("a drawer without text", document.id)
        return
    fields = document.metadata
    wing = text(fields.get("wing"))
    room = text(fields.get("room"))
    rest = {name: value for name, value in fields.items() if name not in USED_FIELDS}
    data.records.append(
        ForeignRecord(
            source_id=document.id,
            blocks=(Block(document.text),),
            tags=tuple(tag for tag in (wing, room) if tag),
            created_at=first(fields, "filed_at") or document.created_at,
            author=text(fields.get("added_by")),
            project=wing,
            attributes={**rest, "wing": wing, "room": room},
        )
    )


def _add_graph(data: ForeignData, path: Path) -> None:
    with open_sqlite(path) as connection:
        entities = rows_of(connection, "entities", "created_at")
        triples = rows_of(connection, "triples", "extracted_at")
    for entity in entities:
        data.records.append(
            ForeignRecord(
                source_id=_entity_id(text(entity["id"])),
                kind="entity",
                title=text(entity["name"]),
                namespace=text(entity.get("type")),
                blocks=(),
                created_at=entity.get("created_at"),
                attributes={"properties": json_object_of(entity.get("properties"))},
            )
        )
    for triple in triples:
        kept = ("valid_from", "valid_to", "confidence", "source_file", "extracted_at")
        details = {name: triple.get(name) for name in kept}
        data.links.append(
            ForeignLink(
                source=_entity_id(text(triple["subject"])),
                target=_entity_id(text(triple["object"])),
                label=text(triple["predicate"]),
                attributes={name: value for name, value in details.items() if value is not None},
            )
        )


def _entity_id(id: str) -> str:
    """Apart from the ids of drawers."""
    return f"entity/{id}"
