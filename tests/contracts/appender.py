"""Appends items and prints a line for each write that has returned.

Called as `appender.py ADDRESS TENANT NAME COUNT`.
"""

import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from tests.stores import engine_on, open_store

address, tenant, name, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
with closing(open_store(address)) as store:
    engine = engine_on(store)
    for number in range(count):
        written = engine.writing.remember(
            Caller(tenant), Draft(blocks=(Block(f"{name} {number}"),), id=f"{name}-{number}")
        )
        print(written.seq, written.item.id, flush=True)
