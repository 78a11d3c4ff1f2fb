"""Reading from one SQLite connection."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import apsw

from memolith.engine.model import Json
from memolith.storage.queries import TO_POSTGRES, Parameter, Parameters, Queries
from memolith.storage.reader import SqlReader
from memolith.storage.rows import Row

COLUMNS = ("body", "extra", "scope")


def _sql_value(op: str, value: Json) -> Parameter:
    value = [value] if op == "glob" and not isinstance(value, list) else value
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return int(value) if isinstance(value, bool) else value


def plain(text: str) -> str:
    """A statement as SQLite reads it."""
    text = TO_POSTGRES.sub("", text).replace("attribute(", "json_extract(").replace("bigint primary", "integer primary")
    return re.sub(r"in (?:each|numbers)\(:([\w{}]+)\)", r"in (select value from json_each(:\1))", text)


QUERIES = Queries("sqlite.sql", lambda name: "$." + json.dumps(name), _sql_value, plain)


class SqliteReader(SqlReader):
    """Reads from SQLite."""

    db: apsw.Connection
    queries = QUERIES

    def run(self, sql: str, values: Parameters) -> Iterator[Row]:
        """The rows of a statement."""
        return self.db.execute(sql, {"tenant": self.tenant, **values})

    def match(self, words: Sequence[str], phrases: Sequence[str], every: bool,
              scopes: Sequence[Sequence[str]]) -> str:
        """An FTS5 expression over body and extra, and over the scope column."""
        groups = [f'"{phrase}"' for phrase in phrases]
        if words:
            groups.append("(" + (" AND " if every else " OR ").join(f'"{word}"' for word in words) + ")")
        return " AND ".join(["{body extra} : (" + " AND ".join(groups) + ")",
                             *(f"scope : ({' OR '.join(group)})" for group in scopes)])

    def stale(self, expected: dict[int, tuple[str, str, str]]) -> list[int]:
        """Which passages the text index has otherwise; negative for what it has too much."""
        for _ in self.rows("instances"):
            pass
        found: dict[int, int] = defaultdict(int)
        for term, doc, column, offset in self.rows("instances_all"):
            found[doc] += hash((term, column, offset))
        wrong = [ref for ref, columns in expected.items() if found.pop(ref, 0) != sum(
            hash((term, name, offset)) for name, text in zip(COLUMNS, columns, strict=True)
            for offset, term in enumerate(text.split()))]
        others = {id for (id,) in self.rows("passage_ids")}
        return wrong + [-doc for doc in found if doc not in others]
