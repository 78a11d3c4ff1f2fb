"""Programs that are Debian packages: those on the machine, else unpacked into .cache.

Nothing is installed: a package is downloaded and unpacked, which needs no rights.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import fasteners
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".cache" / "debian"
DOWNLOAD_S = 120
SYSTEM_FOLDERS = ("/usr/sbin", "/sbin")
"""Where servers lie that an ordinary user does not have on the path."""
LIBRARIES = "usr/lib/*-linux-gnu"

PACKAGES = {
    "etcd": ("etcd-server",),
    "haproxy": ("haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"),
    "pgbouncer": ("pgbouncer", "libc-ares2"),
}
"""Each program with its package, and the libraries that a small machine may lack."""
VERSION_FLAGS = {"etcd": "--version", "haproxy": "-v", "pgbouncer": "--version"}


@cache
def program(name: str) -> Path:
    """Where a program lies; without it the test is skipped, and says why."""
    found = shutil.which(name, path=os.pathsep.join((os.environ["PATH"], *SYSTEM_FOLDERS)))
    if found is not None:
        return Path(found)
    folder = FOLDER / name
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Two workers of pytest may come here at the same time.
    with fasteners.InterProcessLock(FOLDER / f"{name}.lock"):
        if not (folder / "done").exists():
            _unpack(name, folder)
    return next(path for path in folder.glob(f"usr/*bin/{name}"))


def program_environment(name: str) -> dict[str, str]:
    """The environment in which a program finds the libraries that were unpacked with it."""
    libraries = [str(path) for path in (FOLDER / name).glob(LIBRARIES)]
    return {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": os.pathsep.join(libraries)}


def _unpack(name: str, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        subprocess.run(
            ["apt-get", "download", "--quiet", *PACKAGES[name]],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=DOWNLOAD_S,
        )
        for package in folder.glob("*.deb"):
            subprocess.run(
                ["dpkg", "-x", package.name, "."], cwd=folder, check=True, capture_output=True
            )
            package.unlink()
        subprocess.run(
            [str(next(folder.glob(f"usr/*bin/{name}"))), VERSION_FLAGS[name]],
            env=program_environment(name),
            check=True,
            capture_output=True,
        )
    except (OSError, StopIteration, subprocess.SubprocessError) as error:
        pytest.skip(
            f"{name} is not on this machine, and apt-get cannot download it "
            f"({type(error).__name__}); install the package {PACKAGES[name][0]}"
        )
    (folder / "done").touch()
