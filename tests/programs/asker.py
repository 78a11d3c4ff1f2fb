"""Answers each line with the ids found by meaning, as a long-running program does: `asker.py
FOLDER`.
"""

import json
import sys
from pathlib import Path

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.queries import Query
from memolith.settings import load

app = open_app(load({"data": Path(sys.argv[1])}))
app.engine.recall.search(Caller(), Query("warm up", mode="vector"))
print("ready", flush=True)
for line in sys.stdin:
    found = app.engine.recall.search(Caller(), Query(line.strip(), mode="vector"))
    answer = {"ids": [hit.item.id for hit in found.hits], "warnings": list(found.warnings)}
    print(json.dumps(answer), flush=True)
app.close()
