"""mem0: what `get_all()` or its server answers as JSON, its history database, or its local Qdrant.

The history has the texts, the dates and the actors; the local Qdrant has the users and the
metadata as well. Vectors are not taken: they are made anew.
"""

import io
import pickle
from pathlib import Path

from memolith.domain.attributes import Json
from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignRecord
from memolith.errors import InvalidInput
from memolith.interchange.importers.files import (
    JsonObject,
    first,
    json_object_of,
    objects,
    open_sqlite,
    read_json,
    rows_of,
    text,
    texts,
)

SCOPES = ("user_id", "agent_id", "run_id", "app_id")
HISTORY_COLUMNS = {"memory_id", "old_memory", "new_memory", "event", "is_deleted"}
POINT_COLUMNS = {"id", "point"}
OWN_FIELDS = {"id", "memory", "data", "text", "created_at", "updated_at", "metadata", "categories"}
DROPPED_FIELDS = {"hash", "score", "vector", "text_lemmatized", "embedding"}
"""What only mem0 can use."""


def mem0_list(value: Json) -> list[JsonObject]:
    """The memories in what mem0 answers: a list, or one in `results` or `memories`."""
    if isinstance(value, dict):
        value = first(value, "results", "memories")
    return [entry for entry in objects(value) if "memory" in entry]


def read_mem0(path: Path) -> ForeignData:
    data = ForeignData("mem0")
    for entry in mem0_list(read_json(path)):
        _add(data, entry)
    return data


def read_mem0_history(path: Path) -> ForeignData:
    """The last text of each memory in `history.db`, unless it was deleted."""
    data = ForeignData("mem0")
    latest: dict[str, JsonObject] = {}
    with open_sqlite(path) as connection:
        for row in rows_of(connection, "history", "updated_at"):
            id = text(row["memory_id"])
            # Only the first event has the date of the memory itself in every version of mem0.
            created_at = latest[id]["created_at"] if id in latest else row["created_at"]
            latest[id] = {**row, "created_at": created_at}
    for id, row in latest.items():
        if row["is_deleted"] or row["event"] == "DELETE":
            data.left_out.add("deleted in mem0", id)
            continue
        entry: JsonObject = {
            "id": id,
            "memory": row["new_memory"],
            "created_at": row["created_at"],
            "updated_at": row["updated_at"],
            "actor_id": row.get("actor_id"),
            "role": row.get("role"),
        }
        _add(data, entry)
    return data


def read_mem0_qdrant(path: Path) -> ForeignData:
    """The points of a local Qdrant, which is where mem0 keeps memories by default."""
    data = ForeignData("mem0")
    with open_sqlite(path) as connection:
        for row in connection.execute("select point from points order by rowid"):
            point = _Point.read(row["point"])
            payload = point.get("payload")
            if not isinstance(payload, dict) or not text(first(payload, "data", "memory")):
                data.left_out.add("a point of Qdrant that is no memory", str(point.get("id")))
                continue
            _add(data, {**payload, "id": str(point.get("id")), "memory": payload.get("data")})
    return data


def _add(data: ForeignData, entry: JsonObject) -> None:
    content = text(first(entry, "memory", "data", "text"))
    id = str(entry.get("id") or content)
    if not content.strip():
        data.left_out.add("a memory without text", id)
        return
    metadata = json_object_of(entry.get("metadata"))
    rest = {
        name: value
        for name, value in entry.items()
        if name not in OWN_FIELDS and name not in DROPPED_FIELDS
    }
    authors = [text(entry.get(name)) for name in ("actor_id", *SCOPES)]
    data.records.append(
        ForeignRecord(
            source_id=id,
            blocks=(Block(content),),
            tags=tuple(texts(entry.get("categories"))),
            created_at=entry.get("created_at"),
            updated_at=entry.get("updated_at"),
            author=next((author for author in authors if author), ""),
            attributes={**metadata, **rest},
        )
    )


class _Point(pickle.Unpickler):
    """Reads a pickled point without running any code: no class but a stand-in is ever made."""

    @classmethod
    def read(cls, blob: bytes) -> JsonObject:
        try:
            point = cls(io.BytesIO(blob)).load()
        except (pickle.UnpicklingError, ValueError, EOFError, IndexError, TypeError) as error:
            raise InvalidInput(
                f"A point of this Qdrant folder cannot be read: {error}. Export with get_all() "
                "instead.",
                field="file",
            ) from error
        fields = getattr(point, "fields", None)
        return fields if isinstance(fields, dict) else {}

    def find_class(self, module: str, name: str) -> type:
        if module.startswith("qdrant_client.") and name == "PointStruct":
            return _PointFields
        raise pickle.UnpicklingError(f"it holds {module}.{name}")


class _PointFields:
    """Stands in for the class of a point, and keeps its fields."""

    fields: JsonObject

    def __setstate__(self, state: dict[str, JsonObject]) -> None:
        self.fields = state.get("__dict__", {})
