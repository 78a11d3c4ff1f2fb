"""Writes numbered items and prints a line for each write that has returned: `writer.py FOLDER NAME
FIRST COUNT`.
"""

import sys
from pathlib import Path

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.settings import load
from memolith.tools.call import Call

folder, name, first, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
app = open_app(load({"data": folder}))
for number in range(first, count):
    word = f"{name}{number}"
    arguments = {
        "content": f"The word of this one is {word}, as it says.",
        "title": f"Item {word}",
        "tags": [name],
    }
    call = Call(Caller(), app.engine, idempotency_key=word)
    written = app.registry.run("remember", arguments, call)
    print(number, written.body["id"], flush=True)
app.close()
