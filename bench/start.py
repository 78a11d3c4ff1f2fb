"""How much CPU time passes from the start of a stdio server to its answered list of tools, and to its first call?"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.programs.pipes import INITIALIZED, SERVER, encoded, initialize, request, tool

FLOORS = Path(__file__).parent / "floors"
RUNS = 10
BAR_S = 0.05


def write_files(folder: str) -> tuple[str, str]:
    """The prepared file of the demo family, and its list of tools alone."""
    prepared = os.path.join(folder, "prepared.jsonl")
    subprocess.run([sys.executable, str(SERVER), "prepare", prepared], check=True)
    with open(prepared, "rb") as file:
        header = json.loads(file.readline())
        start, size = header["profiles"]["all"]["2025-11-25"]["tools/list"]
        file.seek(start)
        listed = json.loads(file.read(size))["tools"]
    tools = os.path.join(folder, "tools.json")
    with open(tools, "w", encoding="utf-8") as out:
        json.dump(listed, out)
    return prepared, tools


def start_to_answer(command: list[str], pause_s: float, *requests: dict[str, Any]) -> tuple[float, float]:
    """CPU and wall seconds until the last of them is answered; the process is killed at that moment."""
    began = time.perf_counter()
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(encoded(initialize()))
    server.stdin.flush()
    server.stdout.readline()
    time.sleep(pause_s)
    server.stdin.write(encoded(INITIALIZED) + b"".join(encoded(message) for message in requests))
    server.stdin.flush()
    answers = [json.loads(server.stdout.readline()) for _ in requests]
    wall = time.perf_counter() - began
    server.kill()
    _, _, used = os.wait4(server.pid, 0)
    server.returncode = 0
    server.stdin.close()
    server.stdout.close()
    assert all("result" in answer for answer in answers), answers
    return used.ru_utime + used.ru_stime, wall


def compare(commands: dict[str, list[str]], what: str, pause_s: float, *requests: dict[str, Any]) -> None:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, command in commands.items():
            found[name].append(start_to_answer(command, pause_s, *requests))
    cpu = {name: statistics.median(run[0] for run in runs) for name, runs in found.items()}
    for name, runs in found.items():
        wall = statistics.median(run[1] for run in runs)
        print(f"{name:28} {what:30} {cpu[name]:8.3f} {wall:8.3f}   {cpu[name] / cpu['bare SDK server']:5.2f}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepared, tools = write_files(folder)
        bare = {"bare SDK server": [sys.executable, str(FLOORS / "bare_server.py"), tools, "stdio"]}
        ours = {"memolith": [sys.executable, str(SERVER), "stdio", prepared]}
        slow = {"memolith, no prepared file": [sys.executable, str(SERVER), "stdio", os.devnull]}
        loop = {"bare JSON loop": [sys.executable, str(FLOORS / "bare_loop.py"), tools]}
        print(f"{'server':28} {'until':30} {'CPU s':>8} {'wall s':>8}   of bare SDK; bar for the list {BAR_S} CPU s")
        listing, call = request(2, "tools/list"), tool(3, "add_note", text="x")
        compare({**loop, **ours, **slow, **bare}, "the list", 0.0, listing)
        compare({**loop, **ours, **bare}, "the list, asked after 0.3 s", 0.3, listing)
        compare({**ours, **bare}, "the first call", 0.0, listing, call)
        compare({**ours, **bare}, "the first call, after 0.3 s", 0.3, listing, call)


if __name__ == "__main__":
    main()
