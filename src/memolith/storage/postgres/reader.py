"""Reading from one PostgreSQL connection; the database scans vectors exactly, or by the tenant's own index."""

import hashlib
import itertools
import json
import re
from array import array
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from struct import unpack
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.embedder import Embedder
from memolith.ports.text_index import Candidate
from memolith.ports.vectors import Vectors
from memolith.storage.queries import TO_SQLITE, Parameter, Parameters, Queries, Row, about_passages
from memolith.storage.reader import SqlReader, Strings

Connection = psycopg.Connection[Row]
STREAMED = ("all_items", "all_links", "events_after", "passages_all")
BATCH, LARGE = 2000, 10_000
# Where each column of the text index begins among the positions of a tsvector, which end at 16383.
STARTS = {"A": 1, "B": 9001, "C": 15001}
_ELEMENTS = r"jsonb_array_elements_text(cast(:\1 as jsonb))"
_names = itertools.count()


def _value(op: str, value: Json) -> Parameter:
    many = value if isinstance(value, list | tuple) else [value]
    if op == "glob":
        return json.dumps("|".join(_pattern(str(one)) for one in many))
    flat = [int(one) if isinstance(one, bool) else one for one in many]
    return json.dumps(
        flat if op == "in" else value if many is value else flat[0], ensure_ascii=False
    )


def _pattern(glob: str) -> str:
    """The same as a regular expression."""
    parts, kinds = re.findall(r"\*|\?|\[[\^!]?\]?[^\]]*\]|.", glob, re.S), {"*": ".*", "?": "."}
    made = [
        kinds.get(part)
        or (re.sub(r"^\[!", "[^", part).replace("\\", "\\\\") if len(part) > 1 else re.escape(part))
        for part in parts
    ]
    return f"^(?:{''.join(made)})$"


def _placeholders(text: str) -> str:
    text = TO_SQLITE.sub("", text)
    text = re.sub(r"in each\(:([\w{}]+)\)", rf"= any(array(select value from {_ELEMENTS}))", text)
    text = re.sub(
        r"in numbers\(:(\w+)\)",
        rf"= any(array(select cast(value as bigint) from {_ELEMENTS}))",
        text,
    )
    return re.sub(r"(?<![:\w]):(\w+(?:\{n\})?)", r"%(\1)s", text.replace("%", "%%"))


QUERIES = Queries("postgres/queries.sql", str, _value, _placeholders)


class PostgresReader(SqlReader):
    """Reads from PostgreSQL, as one tenant."""

    db: Connection
    queries = QUERIES

    def run(self, sql: str, values: Parameters, prepare: bool | None = False) -> Iterator[Row]:
        """The rows of a statement, planned for these values: what suits one tenant may be wrong for another."""
        return iter(
            self.db.execute(
                sql, {"tenant": self.tenant, **values}, prepare=prepare, binary=True
            ).fetchall()
        )

    def rows(self, name: str, /, **values: Parameter) -> Iterator[Row]:
        """The rows of a named statement; those of a whole tenant come in portions."""
        if name not in STREAMED:
            # A newer server may add a column, after which a prepared `select *` would fail for good.
            return self.run(
                self.queries[name], values, False if "*" in self.queries[name] else None
            )
        cursor = self.db.cursor(f"rows_{next(_names)}")
        cursor.itersize = BATCH
        return iter(cursor.execute(self.queries[name], values))

    def match(
        self, words: Strings, phrases: Strings, every: bool, scopes: Collection[Strings]
    ) -> str:
        """The same as a tsquery, without what `matching` sees to itself: that one of the words is there."""
        groups = [" <-> ".join(phrase.split()) for phrase in phrases] + [" & ".join(words)] * every
        return " & ".join(
            f"({group})" for group in [*groups, *(" | ".join(scope) for scope in scopes)] if group
        )

    def best(
        self,
        name: str,
        caller: Caller,
        chosen: Filter,
        fill: dict[str, str],
        limit: int,
        /,
        **values: Parameter,
    ) -> Iterator[Row]:
        """The best passages; the index of a large tenant serves who sees most of it, a narrow filter an exact scan."""
        most = replace(chosen, kinds=(), statuses=(), tags_none=()) == Filter() and self.sees_all(
            caller
        )
        kept = (
            "all"
            if most and chosen == Filter()
            else "passage"
            if about_passages(chosen)
            else "item"
        )
        fill = {
            "{kept}": self.queries[f"best_{kept}"],
            "{v}": self.queries["best_indexed" if most else "best_exact"],
            **fill,
        }
        return self.filtered(name, caller, chosen, "passage", fill, limit=limit, **values)

    def stale(self, expected: dict[PassageRef, tuple[str, str, str]]) -> list[PassageRef]:
        wanted = [{"ref": ref} | posting(*columns) for ref, columns in expected.items()]
        found = [
            ref
            for start in range(0, len(wanted), BATCH)
            for (ref,) in self.rows("stale", wanted=json.dumps(wanted[start : start + BATCH]))
        ]
        too_much = [PassageRef(-ref) for (ref,) in self.rows("postings") if ref not in expected]
        return found + too_much + [PassageRef(-1) for _ in self.rows("terms_wrong")]


def posting(body: str, extra: str, scope: str) -> dict[str, Any]:
    """The text index of a passage: its terms as a tsvector, and how many there are without those of its scope."""
    terms = " ".join(
        f"{term}:{start + n}{weight}"
        for (weight, start), column in zip(STARTS.items(), (body, extra, scope), strict=True)
        for n, term in enumerate(column.split())
    )
    return {"terms": terms, "length": len(body.split()) + len(extra.split())}


class PostgresVectors:
    """Finds the nearest vectors of one model; the rows are those of the reader here, whose statements it knows."""

    def __init__(self, model: str, dimension: int) -> None:
        self.model, self.dimension = model, dimension

    def nearest(
        self,
        rows: Any,
        caller: Caller,
        chosen: Filter,
        query: bytes,
        limit: int,
        least: float = -1.0,
    ) -> list[Candidate]:
        """The best passages by cosine among those that pass the filter."""
        if (rows.head(caller.tenant) or (0, 0, 0))[2] >= LARGE:
            # Rows behind the fence are guessed far too few for the planner to choose the tenant's own index by itself;
            # nothing that a search reads after this is sorted by the database.
            rows.db.execute(QUERIES["unsorted"])
        found = rows.best(
            "nearest",
            caller,
            chosen,
            {"{dimension}": str(self.dimension)},
            limit,
            model=self.model,
            query=halved(query),
        )
        # The index gives them nearly in order.
        best = sorted(found, key=itemgetter(1), reverse=True)
        return [(ref, score) for ref, score in best if score >= least] if least > -1 else best

    def cosines(
        self, rows: Any, query: bytes, refs: Collection[PassageRef]
    ) -> dict[PassageRef, float]:
        """The cosine of each passage that has a vector."""
        return dict(
            rows.rows("cosines", model=self.model, query=halved(query), ids=json.dumps([*refs]))
        )

    def beginnings(
        self, rows: Any, caller: Caller, chosen: Filter
    ) -> list[tuple[PassageRef, bytes]]:
        """The unit vectors of the first passages that pass the filter."""
        form = f">4x{self.dimension}e"
        return [
            (ref, array("f", unpack(form, sent)).tobytes())
            for ref, sent in rows.filtered("beginnings", caller, chosen, model=self.model)
        ]


@lru_cache(64)
def halved(vector: bytes) -> str:
    """The vector as pgvector reads it."""
    return "[" + ",".join(f"{part:.6g}" for part in array("f", vector)) + "]"


class PostgresStage(NamedTuple):
    """Searches in the database, and gives large tenants an index of their own."""

    owning: Callable[[], AbstractContextManager[Connection]]
    least: int

    def vectors(self, embedder: Embedder) -> Vectors:
        return PostgresVectors(embedder.id, embedder.dimension)

    def row(self, vector: bytes) -> str:
        return halved(vector)

    def renew(self, embedder: Embedder, always: bool = False) -> bool:
        """Build the index of each tenant that has grown past the bound, while it goes on writing."""
        made = False
        with self.owning() as db:
            for tenant, table in list(
                db.execute(QUERIES["large"], {"least": self.least, "model": embedder.id})
            ):
                mark = hashlib.blake2b(
                    f"{tenant}:{embedder.id}".encode(), digest_size=12
                ).hexdigest()
                # A build that broke off leaves an index that is not valid, which is removed before the next try.
                if next(
                    iter(db.execute(QUERIES["own_index_state"], {"name": f"own_{mark}"})), None
                ) == (True,):
                    continue
                names = {
                    "name": sql.Identifier(f"own_{mark}"),
                    "table": sql.Identifier(table),
                    "tenant": tenant,
                    "model": embedder.id,
                    "dimension": embedder.dimension,
                }
                for name in ("own_index_drop", "own_index_make"):
                    db.execute(sql.SQL(QUERIES[name]).format(**names))
                made = True
        return made

    def drop(self, embedder: Embedder | None) -> None:
        """Nothing: the vectors lie in the database alone."""
