"""Many stdio sessions with random timing.

`many_sessions.py CACHE FIRST COUNT` prints the ids answered in each session. The SDK is imported
once and each server is forked, so that a session costs milliseconds. A random pause when the app is
opened stands for the time that the import would take.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from memolith.doors.mcp import stdio as mcp_stdio  # noqa: F401 - imported before the fork
from memolith.doors.mcp import stdio_front
from memolith.doors.mcp.start_cache import StartCache
from tests.programs.demo_server import open_app
from tests.programs.pipes import MIXED, encoded


def serve(folder: str, pause_s: float) -> None:
    def open_late() -> Any:
        time.sleep(pause_s)
        return open_app()

    stdio_front.serve(open_late, StartCache(folder, "all", False))


def start(folder: str, pause_s: float) -> tuple[int, int, int]:
    """The process, and our ends of its pipes."""
    (inlet, ours_out), (ours_in, outlet) = os.pipe(), os.pipe()
    process = os.fork()
    if process == 0:
        os.dup2(inlet, 0)
        os.dup2(outlet, 1)
        os.closerange(3, 64)
        serve(folder, pause_s)
        os._exit(0)
    os.close(inlet)
    os.close(outlet)
    return process, ours_out, ours_in


def play(folder: str, seed: int) -> list[int | str]:
    """One session in pieces of random size at random times."""
    chance = random.Random(seed)
    data = b"".join(encoded(message) for message in MIXED)
    cuts = sorted(chance.sample(range(1, len(data)), chance.randrange(12)))
    process, outlet, inlet = start(folder, chance.random() * 0.02)
    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        os.write(outlet, data[begin:end])
        time.sleep(chance.choice((0, 0, 0.001, 0.005, 0.02)) * chance.random())
    os.close(outlet)
    with open(inlet, "rb") as answers:
        found = [json.loads(line)["id"] for line in answers]
    _, status = os.waitpid(process, 0)
    return found if status == 0 else ["failed", seed, status]


if __name__ == "__main__":
    path, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for number in range(first, first + count):
        print(json.dumps(play(path, number)), flush=True)
