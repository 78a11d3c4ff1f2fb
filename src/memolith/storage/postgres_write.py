"""Writing to one PostgreSQL connection."""

from __future__ import annotations

import json
from collections import Counter

from memolith.engine.events import Changes, Event
from memolith.engine.model import Item, Passage
from memolith.storage.postgres_read import Connection, PostgresReader, posting
from memolith.storage.queries import Parameters
from memolith.storage.writer import SqlWriter


class PostgresWriter(SqlWriter, PostgresReader):
    """Writes to PostgreSQL; the lock on the head row lets one writer of a tenant in at a time."""

    def __init__(self, db: Connection, tenant: str | None) -> None:
        super().__init__(db, tenant)
        self._counts: Counter[str] = Counter()

    def append(self, event: Event, changes: Changes) -> None:
        """Write the event and all that follows from it in one journey to the server."""
        with self.db.pipeline():
            super().append(event, changes)

    def execute(self, sql: str, values: Parameters) -> None:
        """Run statements for what they do; inside a journey, what is wrong with them shows at the end."""
        for part in sql.split(";\n"):
            self.db.execute(part, values)

    def row_of(self, item: Item) -> int:
        """The row of an item is the number of its first event."""
        return item.seq

    def item_columns(self, item: Item) -> Parameters:
        """The columns of an item in its table."""
        return super().item_columns(item) | {"row": item.seq}

    def posting(self, item: Item, passage: Passage, sign: int) -> Parameters:
        """What the text index holds of a passage, which from now on counts or counts no longer."""
        made = super().posting(item, passage, sign)
        body, extra, scope = (str(made[name]) for name in ("body", "extra", "scope"))
        for term in {*body.split(), *extra.split()}:
            self._counts[term] += sign
        return posting(body, extra, scope)

    def finish(self) -> None:
        """Write the sums, and in how many passages each term stands."""
        if counts := {term: count for term, count in self._counts.items() if count}:
            self.do("terms_count", tenant=self.tenant, counts=json.dumps(counts))
            if min(counts.values()) < 0:
                self.do("terms_gone", tenant=self.tenant, counts=json.dumps(counts))
        self._counts.clear()
        super().finish()
