"""Calls one tool when told to and prints the outcome: `rival.py FOLDER TOOL JSON`."""

import json
import sys
from pathlib import Path

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.settings import load
from memolith.tools.call import Call

app = open_app(load({"data": Path(sys.argv[1])}))
assert app.registry
print("ready", flush=True)
sys.stdin.readline()
outcome = app.registry.run(sys.argv[2], json.loads(sys.argv[3]), Call(Caller(), app.engine))
print(outcome.text, flush=True)
app.close()
