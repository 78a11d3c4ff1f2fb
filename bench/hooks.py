"""How long does a client wait for each hook, next to an empty Python in the same run?"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.doors.install.launch import launch_command
from memolith.settings import Settings

MEMORIES, RUNS, BAR_MS = 5000, 20, 150
WORDS = "storage token deploy cache index parser retry schema worker queue lease vector prompt branch review".split()
SESSION = {"session_id": "bench"}
PROMPT = "Which cache did we decide on for the parser of the schema?"
SAID = "We decided to put the {} behind a cache, because the latency of run {} was too high."


def fill(folder: Path) -> None:
    """Memories of a long project."""
    app = open_app(Settings(data=folder, embedder="none"))
    for n in range(MEMORIES):
        one, two, three = (WORDS[n // step % len(WORDS)] for step in (1, 15, 225))
        app.engine.writing.remember(
            Caller(), Draft(blocks=(Block(f"Note {n}: the {one} of the {two} uses a {three}."),))
        )
    app.close()


def timed(command: list[str], given: bytes) -> tuple[float, float]:
    """Wall and CPU milliseconds of one run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(
        command,
        input=given,
        stdout=subprocess.DEVNULL,
        check=True,
        env={
            # An installed program has its bytecode.
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MEMOLITH_", "PYTHONDONTWRITE"))
        },
    )
    wall = time.perf_counter() - started
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall * 1000, (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime) * 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        data, transcript = Path(folder, "data"), Path(folder, "transcript.jsonl")
        fill(data)
        inputs = {
            "session-start": {"source": "startup"},
            "prompt": {"prompt": PROMPT},
            "pre-compact": {"transcript_path": str(transcript)},
            "stop": {"last_assistant_message": SAID},
        }
        found: dict[str, list[tuple[float, float]]] = {
            name: [] for name in ("python -c pass", *inputs)
        }
        for run in range(RUNS):
            found["python -c pass"].append(timed([sys.executable, "-c", "pass"], b""))
            transcript.write_text(
                "".join(
                    json.dumps(
                        {
                            "type": "user",
                            "message": {"role": "user", "content": SAID.format(word, run)},
                        }
                    )
                    + "\n"
                    for word in WORDS[:3]
                ),
                encoding="utf-8",
            )
            for name, given in inputs.items():
                # The very command that `memolith install claude-code --hooks` writes.
                found[name].append(
                    timed(
                        launch_command(["hook", name], data), json.dumps(SESSION | given).encode()
                    )
                )
        floor = statistics.median(wall for wall, _ in found["python -c pass"])
        print(f"{MEMORIES:,} memories; bar {BAR_MS} ms")
        print(f"{'':16} {'wall ms':>8} {'worst':>8} {'CPU ms':>8}   of the floor")
        for name, runs in found.items():
            wall, cpu = (statistics.median(run[n] for run in runs) for n in (0, 1))
            print(
                f"{name:16} {wall:8.0f} {max(run[0] for run in runs):8.0f} {cpu:8.0f}   {wall / floor:5.1f}"
            )


if __name__ == "__main__":
    main()
