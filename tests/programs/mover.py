"""Moves a tenant and dies at a given step: mover.py DATABASE TENANT TARGET STEP.

A step is the name of something that a move does and how often it was done before, as in `follow 2`.
With a `+` at the end, the process dies after it, otherwise before.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from memolith.storage.postgres import tenant_move
from memolith.storage.postgres.store import PostgresStore
from memolith.storage.postgres.writer import PostgresWriter

FUNCTIONS = ("follow", "differences", "carry_rest", "unequal", "unequal_logs")
METHODS = ((PostgresStore, "freeze"), (PostgresStore, "analyze"), (PostgresWriter, "put_home"))
METHODS_BACK = ((PostgresWriter, "delete_home"), (PostgresWriter, "notify_of_homes"))


def main(database: str, tenant: str, target: str, deadly_step: str) -> None:
    done: Counter[str] = Counter()

    def reach(step: str) -> None:
        print(step, flush=True)
        if step == deadly_step:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            step = f"{name} {done[name]}"
            done[name] += 1
            reach(step)
            result = function(*args, **kwargs)
            reach(step + "+")
            return result

        return run

    for name in FUNCTIONS:
        setattr(tenant_move, name, watched(name, getattr(tenant_move, name)))
    for owner, name in (*METHODS, *METHODS_BACK):
        setattr(owner, name, watched(name, getattr(owner, name)))
    store = PostgresStore(database, leads=True)
    store.move(tenant, target, lambda _: None)
    reach("moved")
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
