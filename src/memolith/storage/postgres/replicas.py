"""Replicas of the database, for reads that may be a little old."""

import logging
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from memolith.engine.stale_reads import StaleReads
from memolith.errors import Unavailable
from memolith.storage.postgres.connections import Connections
from memolith.storage.postgres.statements import QUERIES, Connection

log = logging.getLogger(__name__)

REPLICA_WAIT_S = 3.0
"""How long to wait for a connection to a replica; there is also the primary to ask."""

REST_S = 10.0
"""How long a replica that failed is asked only if the primary fails, too."""


class TooOld(Unavailable):
    """A replica lacks what the primary has committed lately."""


class Replica:
    """The connections to one replica, or to a proxy that chooses one."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.rests_until_s = 0.0

    @property
    def is_resting(self) -> bool:
        return time.monotonic() < self.rests_until_s

    def rest(self, reason: Unavailable) -> None:
        """Leave it alone for a while."""
        self.rests_until_s = time.monotonic() + REST_S
        log.warning("a replica is left out for %.0f seconds: %s", REST_S, reason)

    @contextmanager
    def reading(self, start: bytes, limit_s: float, max_age_s: float) -> Iterator["StaleRows"]:
        """A transaction that sees what is at most this old, or TooOld."""
        with self.connections.borrow(start, limit_s) as db:
            row = db.execute(QUERIES["replica_age"]).fetchone()
            assert row is not None, "the statement always has one row"
            # The clocks of two servers never agree exactly.
            age_s = max(0.0, row.age_s)
            if age_s > max_age_s:
                raise TooOld
            yield StaleRows(db, age_s)


class StaleRows:
    """A connection in a transaction on a replica, and how old what it sees is."""

    def __init__(self, db: Connection, age_s: float) -> None:
        self.db = db
        self.age_s = age_s


class Replicas:
    """All replicas of a database. Each read takes one at random that works."""

    def __init__(self, replicas: Sequence[Connections], max_stale_s: float) -> None:
        """No caller is given anything older than `max_stale_s`."""
        self._replicas = [Replica(connections) for connections in replicas]
        self._max_stale_s = max_stale_s

    def __bool__(self) -> bool:
        return bool(self._replicas)

    def enter(
        self,
        stack: ExitStack,
        start: bytes,
        limit_s: float,
        stale: StaleReads,
        *,
        resting: bool = False,
    ) -> Connection | None:
        """A transaction on a replica that ends with the stack; None if no replica is fit for it.

        Those that failed lately are left out, or with `resting` they are the ones that are asked.
        """
        max_age_s = min(stale.max_age_s, self._max_stale_s)
        for replica in random.sample(self._replicas, len(self._replicas)):
            if replica.is_resting is not resting:
                continue
            try:
                rows = stack.enter_context(replica.reading(start, limit_s, max_age_s))
            except TooOld:
                continue
            except Unavailable as error:
                replica.rest(error)
                continue
            stale.note(rows.age_s)
            return rows.db
        return None

    def close(self) -> None:
        for replica in self._replicas:
            replica.connections.close()
