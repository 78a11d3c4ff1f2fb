"""Writes numbered items and prints a line for each write that has returned: `writer.py FOLDER NAME
FIRST COUNT`.
"""

import sys
from pathlib import Path

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.settings import load

folder, name, first, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
app = open_app(load({"data": folder}))
for number in range(first, count):
    word = f"{name}{number}"
    draft = Draft(
        title=f"Item {word}",
        blocks=(Block(f"The word of this one is {word}, as it says."),),
        tags=(name,),
    )
    written = app.engine.writing.remember(Caller(), draft, key=word)
    print(number, written.item.id, flush=True)
app.close()
