"""Reading from one PostgreSQL connection, vectors included."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import psycopg

from memolith.engine.model import Caller, Filter, Json
from memolith.storage.queries import TO_SQLITE, Parameter, Parameters, Queries, about_passages
from memolith.storage.reader import SqlReader
from memolith.storage.rows import Row

Connection = psycopg.Connection[Row]
STREAMED = ("all_items", "all_links", "events_after", "passages_all")
BATCH = 2000
# Where each column of the text index begins among the positions of a tsvector, which end at 16383.
STARTS = {"A": 1, "B": 9001, "C": 15001}
_ELEMENTS = r"jsonb_array_elements_text(cast(:\1 as jsonb))"
_names = itertools.count()


def _value(op: str, value: Json) -> Parameter:
    if op == "glob":
        return json.dumps("|".join(_pattern(str(one)) for one in (value if isinstance(value, list) else [value])))
    flat = [_number(one) for one in value] if op == "in" and isinstance(value, list | tuple) else _number(value)
    return json.dumps(flat, ensure_ascii=False)


def _number(value: Json) -> Json:
    return int(value) if isinstance(value, bool) else value


def _pattern(glob: str) -> str:
    """The same as a regular expression."""
    parts = re.findall(r"\*|\?|\[[\^!]?\]?[^\]]*\]|.", glob, re.S)
    kinds = {"*": ".*", "?": "."}
    made = [kinds.get(part) or (re.sub(r"^\[!", "[^", part).replace("\\", "\\\\") if len(part) > 1 else
                                re.escape(part)) for part in parts]
    return f"^(?:{''.join(made)})$"


def _placeholders(text: str) -> str:
    text = TO_SQLITE.sub("", text)
    text = re.sub(r"in each\(:([\w{}]+)\)", rf"= any(array(select value from {_ELEMENTS}))", text)
    text = re.sub(r"in numbers\(:(\w+)\)", rf"= any(array(select cast(value as bigint) from {_ELEMENTS}))", text)
    return re.sub(r"(?<![:\w]):(\w+(?:\{n\})?)", r"%(\1)s", text.replace("%", "%%"))


QUERIES = Queries("postgres.sql", str, _value, _placeholders)


class PostgresReader(SqlReader):
    """Reads from PostgreSQL, as one tenant."""

    db: Connection
    queries = QUERIES

    def run(self, sql: str, values: Parameters) -> Iterator[Row]:
        """The rows of a statement, planned for these values: what suits one tenant may be wrong for another."""
        return self._execute(sql, values, False)

    def rows(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a named statement; those of a whole tenant come in portions."""
        if name not in STREAMED:
            # A newer server may add a column, after which a prepared `select *` would fail for good.
            return self._execute(self.queries[name], values, False if "*" in self.queries[name] else None)
        cursor = self.db.cursor(f"rows_{next(_names)}")
        cursor.itersize = BATCH
        return iter(cursor.execute(self.queries[name], values))

    def _execute(self, sql: str, values: Parameters, prepare: bool | None) -> Iterator[Row]:
        return iter(self.db.execute(sql, {"tenant": self.tenant, **values}, prepare=prepare,
                                    binary=True).fetchall())

    def match(self, words: Sequence[str], phrases: Sequence[str], every: bool,
              scopes: Sequence[Sequence[str]]) -> str:
        """The same as a tsquery, without what `matching` sees to itself: that one of the words is there."""
        groups = [" <-> ".join(phrase.split()) for phrase in phrases] + [" & ".join(words)] * every
        return " & ".join(f"({group})" for group in [*groups, *(" | ".join(scope) for scope in scopes)] if group)

    def best(self, name: str, caller: Caller, chosen: Filter, fill: dict[str, str], limit: int, /,
             **values: Parameter) -> Iterator[Row]:
        """The best passages; the index of a large tenant serves who sees most of it, a narrow filter an exact scan."""
        most = replace(chosen, kinds=(), statuses=(), tags_none=()) == Filter() and self.sees_all(caller)
        kept = "all" if most and chosen == Filter() else "passage" if about_passages(chosen) else "item"
        fill = {"{kept}": self.queries[f"kept_{kept}"],
                "{v}": self.queries["vector_indexed" if most else "vector_exact"], **fill}
        return self.filtered(name, caller, chosen, "passage", fill, limit=limit, **values)

    def stale(self, expected: dict[int, tuple[str, str, str]]) -> list[int]:
        """Which passages the text index has otherwise; negative for what it has too much."""
        wanted = [{"ref": ref} | posting(*columns) for ref, columns in expected.items()]
        found = [ref for start in range(0, len(wanted), BATCH)
                 for (ref,) in self.rows("stale", wanted=json.dumps(wanted[start:start + BATCH]))]
        too_much = [-ref for (ref,) in self.rows("postings") if ref not in expected]
        return found + too_much + [-1 for _ in self.rows("terms_wrong")]


def posting(body: str, extra: str, scope: str) -> dict[str, Any]:
    """The text index of a passage: its terms as a tsvector, and how many there are without those of its scope."""
    terms = " ".join(f"{term}:{start + n}{weight}" for (weight, start), column in
                     zip(STARTS.items(), (body, extra, scope), strict=True) for n, term in enumerate(column.split()))
    return {"terms": terms, "length": len(body.split()) + len(extra.split())}
