"""Reading files of other programs: JSON, lines of JSON, and SQLite databases, never writing."""

import gzip
import json
import lzma
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from memolith.domain.attributes import Json
from memolith.errors import InvalidInput, translated

SQLITE_HEADER = b"SQLite format 3\x00"
WAL_MODE_AT = 19
WAL_MODE = 2
"""The byte of a database that tells how it is read, and its value for a write-ahead log."""
MAX_UNPACKED_BYTES = 256 << 20
UNPACKING_ERRORS = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    # For archives with a password, and for ways of packing that Python does not know.
    RuntimeError,
    NotImplementedError,
)
JsonObject = dict[str, Json]


def read_text(path: Path) -> str:
    """The text of a UTF-8 file; another encoding is refused with the place where it shows."""
    return decoded(path.read_bytes(), path)


def decoded(data: bytes, path: Path) -> str:
    """The text that bytes from a file are."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{path.name} is not UTF-8 text: byte {error.start:,}, in line {line:,}, does not "
            "belong there. Save it as UTF-8 and try again.",
            field="file",
        ) from error


def read_json(path: Path) -> Json:
    return json_of(read_text(path), path)


def json_of(content: str, path: Path) -> Json:
    """What a text from a file says as JSON."""
    try:
        value: Json = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path.name} is not JSON: {error}.", field="file") from error
    return value


def read_json_lines(path: Path) -> list[JsonObject]:
    """The objects of a file with one in each line; a line with anything else is refused."""
    return json_lines_of(read_text(path), path)


def json_lines_of(content: str, path: Path) -> list[JsonObject]:
    """The objects in the lines of a text from a file."""
    objects = []
    # Not `splitlines`: JSON may hold other separators than line feeds as they are.
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"Line {number:,} of {path.name} is not JSON: {error}.", field="file"
            ) from error
        if not isinstance(value, dict):
            raise InvalidInput(f"Line {number:,} of {path.name} is no JSON object.", field="file")
        objects.append(value)
    return objects


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Tell that an archive is damaged, or packed in a way that cannot be read."""
    with translated(
        UNPACKING_ERRORS, InvalidInput, f"{path.name} cannot be unpacked: {{error}}.", "file"
    ):
        yield


def read_unpacked(file: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    """All of a file in an archive, unless it is so much that only an attack packs it."""
    data = file.read(MAX_UNPACKED_BYTES + 1)
    if len(data) > MAX_UNPACKED_BYTES:
        raise InvalidInput(
            f"{path.name} holds more than {MAX_UNPACKED_BYTES:,} bytes. Unpack it, and import "
            "what is in it.",
            field="file",
        )
    return data


def is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    except OSError:
        return False


@contextmanager
def open_sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """A database of another program, which may be running; nothing is written to it."""
    try:
        with closing(_connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            yield connection
    except sqlite3.Error as error:
        raise InvalidInput(
            f"{path.name} cannot be read as a SQLite database: {error}.", field="file"
        ) from error


def _connect(path: Path) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    with path.open("rb") as file:
        header = file.read(WAL_MODE_AT + 1)
    is_wal = len(header) > WAL_MODE_AT and header[WAL_MODE_AT] == WAL_MODE
    if is_wal and not Path(f"{path}-wal").exists():
        # Nobody has it open. Without this, SQLite would make files beside it, or fail where it may
        # not.
        return sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
    return sqlite3.connect(f"{address}?mode=ro", uri=True)


def tables_of(path: Path) -> dict[str, set[str]]:
    """The columns of each table of a database."""
    with open_sqlite(path) as connection:
        tables: dict[str, set[str]] = {}
        # A virtual table cannot even be described without the extension that makes it.
        names = connection.execute(
            "select name from sqlite_master where type = 'table' and sql not like 'create virtual%'"
        ).fetchall()
        for row in names:
            columns = connection.execute("select name from pragma_table_info(?)", (row["name"],))
            tables[row["name"]] = {column["name"] for column in columns}
        return tables


def rows_of(connection: sqlite3.Connection, table: str, order: str) -> list[JsonObject]:
    """Every row of a table by the names of its columns; bytes are left out."""
    rows = connection.execute(f'select * from "{table}" order by "{order}"')
    return [_plain(row) for row in rows]


def _plain(row: sqlite3.Row) -> JsonObject:
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118 (a row iterates over values)
    return {name: value for name, value in values.items() if not isinstance(value, bytes)}


def text(value: Json) -> str:
    """The value if it is a text or a number, else an empty text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def texts(value: Json) -> list[str]:
    """The texts in a list; a text alone is a list of one."""
    listed = value if isinstance(value, list) else [value]
    return [text(entry) for entry in listed if text(entry)]


def json_texts(value: Json) -> list[str]:
    """The texts of a list that is written as JSON, as databases keep them."""
    try:
        return texts(json.loads(text(value)))
    except (ValueError, RecursionError):
        return []


def json_object_of(value: Json) -> JsonObject:
    """The object itself, or the one that a text holds as JSON; else an empty one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def objects(value: Json) -> list[JsonObject]:
    """The objects in a list."""
    if not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, dict)]


def first(record: JsonObject, *names: str) -> Json:
    """The first of the named fields that has a value."""
    for name in names:
        if record.get(name) not in (None, ""):
            return record[name]
    return None


def split_tags(value: Json) -> tuple[str, ...]:
    """Tags that are a list, a JSON list in a text, or a text with commas."""
    if isinstance(value, str):
        listed: Sequence[str] = json_texts(value) or value.split(",")
    else:
        listed = texts(value)
    return tuple(tag.strip() for tag in listed if tag.strip())
