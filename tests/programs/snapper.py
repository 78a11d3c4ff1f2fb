"""Writes vector snapshots one after the other until it is killed: `snapper.py FOLDER`."""

import sys
from pathlib import Path

from memolith.bootstrap import open_app
from memolith.settings import load

app = open_app(load({"data": Path(sys.argv[1])}))
print("ready", flush=True)
sys.stdin.readline()
while True:
    app.embeddings.renew_index(always=True)
