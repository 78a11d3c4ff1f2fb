"""OpenMemory, which its makers removed: its backup (a zip, or a file from it) or its database."""

import gzip
import zipfile
from pathlib import Path
from uuid import UUID

from memolith.domain.attributes import Json
from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignRecord
from memolith.errors import InvalidInput
from memolith.interchange.importers.files import (
    JsonObject,
    decoded,
    json_lines_of,
    json_object_of,
    json_of,
    objects,
    open_sqlite,
    read_json,
    read_json_lines,
    read_unpacked,
    rows_of,
    text,
    texts,
    unpacking,
)

BACKUP_FILE = "memories.json"
DATABASE_TABLES = {"users", "apps", "memories", "memory_categories"}


def is_openmemory_backup(value: Json) -> bool:
    return isinstance(value, dict) and "memories" in value and "export_meta" in value


def is_openmemory_line(line: JsonObject) -> bool:
    return {"content", "state", "categories"} <= line.keys()


def read_openmemory(path: Path) -> ForeignData:
    """A backup: the zip, `memories.json`, or `memories.jsonl` with or without `.gz`."""
    if zipfile.is_zipfile(path):
        return _from_backup(json_object_of(json_of(_zipped(path), path)))
    if path.suffix == ".gz":
        with unpacking(path), gzip.open(path) as file:
            content = read_unpacked(file, path)
        return _from_lines(json_lines_of(decoded(content, path), path))
    if path.suffix == ".jsonl":
        return _from_lines(read_json_lines(path))
    return _from_backup(json_object_of(read_json(path)))


def read_openmemory_database(path: Path) -> ForeignData:
    """`openmemory.db`, the database of the server."""
    with open_sqlite(path) as connection:
        backup: JsonObject = {}
        for table in ("users", "apps", "memories", "categories"):
            backup[table] = list[Json](rows_of(connection, table, "id"))
        rows = connection.execute("select memory_id, category_id from memory_categories")
        backup["memory_categories"] = [
            {"memory_id": row["memory_id"], "category_id": row["category_id"]} for row in rows
        ]
    return _from_backup(backup)


def has_backup(path: Path) -> bool:
    """Whether a zip file holds a backup of OpenMemory."""
    with zipfile.ZipFile(path) as archive:
        return any(Path(name).name == BACKUP_FILE for name in archive.namelist())


def _zipped(path: Path) -> str:
    with unpacking(path), zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if Path(info.filename).name == BACKUP_FILE:
                with archive.open(info) as file:
                    return decoded(read_unpacked(file, path), path)
    raise InvalidInput(f"{path.name} holds no {BACKUP_FILE}.", field="file")


def _from_backup(backup: JsonObject) -> ForeignData:
    categories = _names(backup, "categories")
    apps = _names(backup, "apps")
    users = {str(user.get("id")): user for user in objects(backup.get("users"))}
    user = json_object_of(backup.get("user"))
    if user:
        users[str(user.get("id"))] = user
    categories_of: dict[str, list[str]] = {}
    for row in objects(backup.get("memory_categories")):
        name = categories.get(str(row.get("category_id")), "")
        categories_of.setdefault(str(row.get("memory_id")), []).append(name)
    data = ForeignData("openmemory")
    for memory in objects(backup.get("memories")):
        owner = users.get(str(memory.get("user_id")), {})
        _add(
            data,
            memory,
            app=apps.get(str(memory.get("app_id")), ""),
            tags=categories_of.get(str(memory.get("id")), []),
            author=text(owner.get("name")) or text(owner.get("user_id")),
        )
    return data


def _from_lines(lines: list[JsonObject]) -> ForeignData:
    data = ForeignData("openmemory")
    for line in lines:
        _add(data, line, app=text(line.get("app")), tags=texts(line.get("categories")), author="")
    return data


def _names(backup: JsonObject, name: str) -> dict[str, str]:
    return {str(row.get("id")): text(row.get("name")) for row in objects(backup.get(name))}


def _add(data: ForeignData, memory: JsonObject, *, app: str, tags: list[str], author: str) -> None:
    content = text(memory.get("content"))
    id = _dashed(str(memory.get("id") or content))
    state = text(memory.get("state")) or "active"
    if state == "deleted":
        data.left_out.add("deleted in OpenMemory", content[:60])
        return
    if not content.strip():
        data.left_out.add("a memory without text", id)
        return
    metadata = json_object_of(memory.get("metadata"))
    data.records.append(
        ForeignRecord(
            source_id=id,
            blocks=(Block(content),),
            tags=tuple(tags),
            created_at=memory.get("created_at"),
            updated_at=memory.get("updated_at"),
            author=author,
            status=state,
            attributes={**metadata, "app": app, "archived_at": memory.get("archived_at")},
        )
    )


def _dashed(id: str) -> str:
    """The database keeps UUIDs without dashes; the backup has them."""
    try:
        return str(UUID(id))
    except ValueError:
        return id
