"""Choosing how code is locked in: the strongest mode that this machine offers and that holds."""

import os
import sys
from collections.abc import Callable
from contextlib import closing

from memolith.errors import TooLarge
from memolith.ports.sandbox import SandboxState
from memolith.sandbox.breakouts import ALL_FAILED
from memolith.sandbox.protocol import LANDLOCK_MODE, NAMESPACE_MODE
from memolith.sandbox.runner import Runner

MODES = {
    NAMESPACE_MODE: "",
    LANDLOCK_MODE: "Code can see whether a path exists, its size and times, but not what is in it.",
}
"""From the strongest to the weakest, with what users should know about it."""

NO_MODE = "none"
REQUIREMENTS = (
    "It takes Linux 5.13 or newer with Landlock on x86-64 or arm64; "
    "elsewhere use a Linux container or WSL 2."
)
WORLD_WRITABLE_FILE = 0o666


def choose_mode(requested: str, start: Callable[[str], Runner]) -> SandboxState:
    """The first mode out of which our own attempts do not break; `none` and the reasons else."""
    reasons = [f"this is {sys.platform} and MEMOLITH_RUNNER_MODE is {requested}"]
    for mode in _candidates(requested):
        try:
            with closing(start(mode)) as runner:
                leaks = _attempt_to_break_out(runner)
        except (OSError, TooLarge) as error:
            reasons.append(f"{mode}: {error}")
            continue
        if leaks == ALL_FAILED:
            return SandboxState(mode, MODES[mode])
        reasons.append(f"{mode} lets through: {leaks}")
    return SandboxState(NO_MODE, f"{'; '.join(reasons)}. {REQUIREMENTS}")


def _candidates(requested: str) -> list[str]:
    if sys.platform != "linux":
        return []
    return [mode for mode in MODES if requested in ("auto", mode)]


def _attempt_to_break_out(runner: Runner) -> str:
    """What the attempts print: the names of those that got through, and a last word."""
    canary = runner.folder / "canary"
    canary.write_text("seen")
    # Only the sandbox is to stop them, not the permissions of the file.
    canary.chmod(WORLD_WRITABLE_FILE)
    runner.call(
        "from memolith.sandbox.breakouts import attempt_all\n"
        f"attempt_all({str(canary)!r}, {os.getpid()})"
    )
    stdout, _ = runner.output()
    return stdout.text.strip()
