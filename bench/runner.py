"""How long do a new code runner and a call of it take, next to a Jupyter kernel without any sandbox?"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from jupyter_client.manager import start_new_kernel

from memolith.errors import NotFound
from memolith.ports.sandbox import Bounds
from memolith.sandbox.linux import LinuxSandbox

ME = ("local", "local")
RUNNERS, CALLS, KERNELS, KERNEL_CALLS = 20, 1000, 3, 50
BAR_CREATE_MS, BAR_CALL_MS = 100, 1
FIRST = "import pandas\nprint(pandas.DataFrame({'a': [1, 2]}).a.sum())"


def timed(action: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - started)


def nothing(id: str) -> AbstractContextManager[tuple[str, Path]]:
    raise NotFound(f"There is no document {id!r}.")


def sandboxed(mode: str) -> tuple[float, list[float], list[float], list[float]]:
    """The first runner, further ones, the first use of pandas in each, and empty calls."""
    with tempfile.TemporaryDirectory() as folder:
        sandbox = LinuxSandbox(Path(folder), Bounds(), mode, preload=("pandas", "openpyxl"))
        made: list[str] = []

        def create() -> None:
            made.append(sandbox.create(ME))

        def run(code: str) -> None:
            assert sandbox.run(ME, made[-1], code, nothing, lambda: False).error is None

        first, creations, uses = timed(create), [], []
        for _ in range(RUNNERS):
            creations.append(timed(create))
            uses.append(timed(lambda: run(FIRST)))
        calls = [timed(lambda: run("")) for _ in range(CALLS)]
        sandbox.close()
        return first, creations, uses, calls


def jupyter() -> tuple[float, list[float], list[float], list[float]]:
    """The same with ipykernel."""
    creations, uses, calls = [], [], []
    for _ in range(KERNELS):
        started = time.perf_counter()
        manager, client = start_new_kernel()
        creations.append(1000 * (time.perf_counter() - started))
        uses.append(timed(partial(client.execute_interactive, FIRST, output_hook=lambda _: None)))
        calls += [timed(partial(client.execute_interactive, "")) for _ in range(KERNEL_CALLS)]
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return creations[0], creations, uses, calls


def main() -> None:
    """Measure and print."""
    rows: dict[str, tuple[float, list[float], list[float], list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("namespace", "landlock"):
            probe = LinuxSandbox(Path(folder), Bounds(), mode)
            found, reason = probe.state
            probe.close()
            if found == mode:
                rows[mode] = sandboxed(mode)
            else:
                print(f"{mode}: not here: {reason}")
    rows["ipykernel, no sandbox"] = jupyter()
    print(
        f"{'':24}{'first':>10}{'create':>10}{'pandas':>10}{'empty call':>12}{'p95':>10}   (ms, medians)"
    )
    for name, (first, creations, uses, calls) in rows.items():
        call, p95 = statistics.median(calls), statistics.quantiles(calls, n=20)[-1]
        print(
            f"{name:24}{first:10.1f}{statistics.median(creations):10.1f}{statistics.median(uses):10.1f}"
            f"{call:12.3f}{p95:10.3f}"
        )
    for name in rows.keys() & {"namespace", "landlock"}:
        create, call = statistics.median(rows[name][1]), statistics.median(rows[name][3])
        print(
            f"{name}: create {create:.1f} ms of {BAR_CREATE_MS}, empty call {call:.3f} ms of {BAR_CALL_MS}: "
            f"{'ok' if create < BAR_CREATE_MS and call < BAR_CALL_MS else 'TOO SLOW'}"
        )
        jupyter_call = statistics.median(rows["ipykernel, no sandbox"][3])
        print(f"{name}: {jupyter_call / call:.0f} times quicker per call than ipykernel")


if __name__ == "__main__":
    main()
