"""Fills the disk under a PostgreSQL server, and reports what happens then: `full_database.py
FOLDER`.

The folder is a small disk of its own. Each line is one JSON object: what was tried, and how it
ended.
"""

import os
import sys
from pathlib import Path

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.settings import Settings
from tests.postgres import Cluster
from tests.programs.children import tell

DISK = Path(sys.argv[1])
ME = Caller()


def fill(room: int) -> None:
    """Use up what room is left but for so much."""
    free = os.statvfs(DISK)
    with open(DISK / "ballast", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - room)


os.chmod(DISK, 0o777)
cluster = Cluster()
app = open_app(Settings(data=DISK / "data", database=cluster.create(), embedder="none", busy_s=5))
acknowledged: list[str] = []


def remember(number: int) -> str:
    text = f"number{number}x " + "".join(f"word{number}a{n} " for n in range(300))
    return app.engine.writing.remember(ME, Draft(blocks=(Block(text),))).item.id


acknowledged.append(remember(0))
fill(200_000)
tell("write", lambda: acknowledged.extend(remember(n) for n in range(1, 2000)))
tell("write again", lambda: acknowledged.append(remember(3000)))
tell("acknowledged", lambda: len(acknowledged))
tell("read", lambda: app.engine.reading.list_items(ME).total)
os.unlink(DISK / "ballast")
tell("with room", lambda: len(remember(4000)))
tell("verify", app.engine.maintenance.verify)
app.close()
cluster.close()
