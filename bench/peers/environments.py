"""A folder for each peer below `.cache/peers`: its virtual environment, and the stock weights."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "peers"
STOCK = CACHE / "stock"
INSTALL_S = 1200
NOT_COUNTED = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources")
EXPORTER = (
    ("torch==2.13.0",),
    ("transformers>=5.22,<6", "onnx==1.23.*", "onnx-ir", "onnxruntime==1.31.*"),
)


class CannotInstall(Exception):
    """A peer cannot be installed here; the message says why."""


@dataclass(frozen=True)
class Footprint:
    """What an installation takes, without byte code and without the installer itself."""

    packages: int
    mb: float


def find_python(version: str, fits: Callable[[str], bool] = bool) -> str:
    """A Python of this version: `MEMOLITH_BENCH_PYTHON_3_12`, on the path, or one of pyenv."""
    named = os.environ.get(f"MEMOLITH_BENCH_PYTHON_{version.replace('.', '_')}")
    candidates = [named] if named else [*pythons_on_path(version), *pyenv_pythons(version)]
    for candidate in candidates:
        if version_of(candidate) == version and fits(candidate):
            return candidate
    raise CannotInstall(f"there is no Python {version} here that would do")


def pythons_on_path(version: str) -> list[str]:
    """Programs on the path that may be it."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    found = [Path(folder, f"python{version}") for folder in folders]
    return [str(path) for path in found if path.is_file()]


def version_of(python: str) -> str:
    """The version of a Python, without its last number; empty if it does not run."""
    try:
        ran = subprocess.run(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return ran.stdout.strip()


def pyenv_pythons(version: str) -> list[str]:
    """The Pythons of this version that pyenv has."""
    try:
        ran = subprocess.run(
            ["pyenv", "root"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return []
    versions = Path(ran.stdout.strip(), "versions")
    return [str(found) for found in versions.glob(f"{version}.*/bin/python{version}")]


def loads_extensions(python: str) -> bool:
    """Whether its SQLite can load extensions."""
    code = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
    ran = subprocess.run([python, "-c", code], capture_output=True, timeout=60, check=False)
    return ran.returncode == 0


def make_environment(
    name: str, python: str, steps: Sequence[Sequence[str]], mark: str = ""
) -> Path:
    """The folder of a virtual environment with these packages, which is made if need be."""
    folder = CACHE / name / "venv"
    stamp = CACHE / name / "installed"
    wanted = f"{python} {steps} {mark}"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    run_installer([python, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    for packages in steps:
        run_installer([*pip, "--disable-pip-version-check", *packages])
    run_installer([str(folder / "bin" / "python"), "-m", "compileall", "-q", str(folder)], (0, 1))
    stamp.write_text(wanted, encoding="utf-8")
    return folder


def run_installer(command: Sequence[str], allowed: tuple[int, ...] = (0,)) -> None:
    """Run one step of an installation."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotInstall(f"{command[0]}: {error}") from None
    if ran.returncode not in allowed:
        last = (ran.stderr or ran.stdout).strip().splitlines()[-3:]
        raise CannotInstall(" ".join(last))


def venv_footprint(folder: Path) -> Footprint:
    """What is in an environment beside pip."""
    packages = 0
    size = 0
    for site in folder.glob("lib/python*/site-packages"):
        for entry in site.iterdir():
            if re.split(r"[-.]", entry.name)[0].lower() in NOT_COUNTED:
                continue
            packages += entry.name.endswith(".dist-info")
            size += size_of(entry)
    return Footprint(packages, size / 1e6)


def size_of(entry: Path) -> int:
    """Bytes of a file, or of a folder without its byte code."""
    if entry.is_symlink() or entry.is_file():
        return entry.lstat().st_size
    return sum(
        path.lstat().st_size
        for path in entry.rglob("*")
        if not path.is_dir() and "__pycache__" not in path.parts
    )


def fingerprint(folder: Path) -> str:
    """A digest of all source files below a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(str(path.relative_to(folder)).encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def make_stock_weights() -> None:
    """all-MiniLM-L6-v2 as published, in the forms that the peers read."""
    if (STOCK / "memolith.onnx").is_file():
        return
    folder = make_environment("export", find_python("3.11"), EXPORTER)
    work = STOCK.with_name("stock.new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    ran = subprocess.run(
        [str(folder / "bin" / "python"), "-m", "bench.peers.export_stock", str(work)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    if ran.returncode:
        raise CannotInstall(f"the weights cannot be exported: {ran.stderr[-800:]}")
    work.rename(STOCK)


def lay_out_home(home: Path, weights: bool) -> None:
    """A home folder; with the weights, they lie where each peer would download them to."""
    home.mkdir(parents=True, exist_ok=True)
    if not weights:
        return
    for cache in ("chroma", "mcp_memory"):
        folder = home / ".cache" / cache / "onnx_models" / "all-MiniLM-L6-v2"
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "onnx").exists():
            (folder / "onnx").symlink_to(STOCK / "onnx")


def clean_environment() -> dict[str, str]:
    """Nothing that would lead a peer to another store, model or host."""
    kept = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH")
    inherited = {name: os.environ[name] for name in kept if name in os.environ}
    return {
        **inherited,
        "PYTHONUTF8": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "MEM0_TELEMETRY": "False",
        "DO_NOT_TRACK": "1",
    }
