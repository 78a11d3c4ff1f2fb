"""Reads while others write.

`reader.py FOLDER watch` looks at the newest item over and over until its input ends, then prints
how often it did; `reader.py FOLDER answer` answers each line `ID WORD` with what it finds by id and
by the word; `reader.py FOLDER hold` holds a read transaction open until the next line, `reader.py
FOLDER idle` an idle connection.
"""

import json
import sys
import threading
from pathlib import Path

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.queries import Query
from memolith.errors import NotFound
from memolith.settings import load

ME = Caller()


def newest(app: App, before: int) -> int:
    """How many there are; every one that is listed can be read and found."""
    page = app.engine.reading.list_items(ME, limit=1)
    assert page.total >= before, f"{page.total} items after {before}"
    for item in page.items:
        _, blocks = app.engine.reading.read(ME, item.id)
        word = item.title.split()[-1]
        assert word in blocks[0].text, (item, blocks)
        assert item.id in [
            hit.item.id for hit in app.engine.recall.search(ME, Query(word, limit=3)).hits
        ], item
    return page.total


def watch(app: App) -> None:
    """Look until told to stop."""
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    looks = total = 0
    print("ready", flush=True)
    while not ended.is_set():
        total = newest(app, total)
        looks += 1
    print(looks, flush=True)


def answer(app: App) -> None:
    """Say what is found of each thing asked for."""
    print("ready", flush=True)
    for line in sys.stdin:
        id, word = line.split()
        try:
            title = app.engine.reading.read(ME, id)[0].title
        except NotFound:
            title = None
        hits = [hit.item.id for hit in app.engine.recall.search(ME, Query(word, mode="text")).hits]
        print(json.dumps({"title": title, "hits": hits}), flush=True)


def hold(app: App) -> None:
    """Keep the state of this moment in sight."""
    with app.store.reading(None) as rows:
        rows.last_seq(ME.tenant)
        print("ready", flush=True)
        sys.stdin.readline()
    print("let go", flush=True)
    sys.stdin.readline()


def idle(app: App) -> None:
    """Keep the database open, with everything read once."""
    for item in app.engine.reading.list_items(ME, limit=100).items:
        app.engine.reading.read(ME, item.id)
    print("ready", flush=True)
    sys.stdin.readline()


opened = open_app(load({"data": Path(sys.argv[1])}))
{"watch": watch, "answer": answer, "hold": hold, "idle": idle}[sys.argv[2]](opened)
opened.close()
