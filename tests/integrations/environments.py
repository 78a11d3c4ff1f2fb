"""A virtual environment for each agent framework, so that they do not disturb one another."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import fasteners

from tests.programs.served import Served

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "integrations"
PAGE = ROOT / "docs" / "how-to" / "frameworks.md"
INSTALL_S = 900
RUN_S = 180
PACKAGES = {
    "anthropic": "anthropic==2.10.0",
    "crewai": "crewai==1.15.30",
    "langgraph": "langgraph==1.2.20",
    "llama-index": "llama-index-core==0.14.25",
    "openai-agents": "openai-agents==0.24.0",
    "pydantic-ai": "pydantic-ai-slim==2.66.0",
}
"""The frameworks by the names of their extras, each in the version that is tested."""
WITHOUT_MEMOLITH = ("crewai",)
"""Frameworks that cannot be in one environment with memolith, and have no extra."""


def python_with(extra: str) -> Path:
    """The Python of the environment of a framework, which is made if need be."""
    return environment(extra, packages_of(extra))


def environment(
    name: str,
    packages: list[str],
    *,
    base: str = sys.executable,
    without_dependencies: Sequence[str] = (),
) -> Path:
    """The Python of an environment with these packages, which is made if need be.

    `base` is the Python it is made of. Those `without_dependencies` are put over the others.
    """
    pyproject = (ROOT / "pyproject.toml").read_bytes()
    every = " ".join([*packages, "+", *without_dependencies, base])
    wanted = f"{every} {sys.version} {hashlib.sha256(pyproject).hexdigest()}"
    folder = CACHE / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "done"
    CACHE.mkdir(parents=True, exist_ok=True)
    # Both workers may come here at the same time.
    with fasteners.InterProcessLock(CACHE / f"{name}.lock"):
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return python
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([base, "-m", "venv", str(folder)], check=True, timeout=INSTALL_S)
        pip_install(python, packages)
        if without_dependencies:
            pip_install(python, ["--no-deps", *without_dependencies])
        stamp.write_text(wanted, encoding="utf-8")
    return python


def pip_install(python: Path, arguments: list[str]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *arguments], check=True, timeout=INSTALL_S, env=clean_environment())


def packages_of(extra: str) -> list[str]:
    """What pip installs for a framework."""
    if extra in WITHOUT_MEMOLITH:
        return [PACKAGES[extra]]
    return ["--editable", f"{ROOT}[{extra}]", PACKAGES[extra]]


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without what would lead to another memory or another model."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MEMOLITH_", "OPENAI_", "ANTHROPIC_"))
    }
    return {**inherited, "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT), **more}


def run(extra: str, arguments: list[str], folder: Path, **environment: str) -> str:
    """What a program prints in the environment of a framework; it must end well."""
    done = subprocess.run(
        [str(python_with(extra)), *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=RUN_S,
        env=clean_environment(**environment),
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def run_checks(
    extra: str, name: str, folder: Path, served: Served | None, **environment: str
) -> None:
    """Run every check of a file, on a folder or, if there is a server, against it."""
    script = ROOT / "tests" / "integrations" / name
    where = {"CHECK_FOLDER": str(folder / "nötes"), **environment}
    if served is not None:
        where = {"CHECK_URL": served.url, "CHECK_KEY": served.admin, **environment}
    # Traces of the Agents SDK would be sent to their maker.
    printed = run(extra, [str(script)], folder, OPENAI_AGENTS_DISABLE_TRACING="1", **where)
    defined = re.findall(r"^(?:async )?def (check_\w+)", script.read_text(encoding="utf-8"), re.M)
    passed = [line for line in printed.splitlines() if line.startswith("check_")]
    assert passed == defined, printed


def examples(heading: str) -> list[str]:
    """The Python programs below a heading of the page on frameworks."""
    return _blocks(heading, "python")


def outputs(heading: str) -> list[str]:
    """What the page says that each of the programs prints."""
    return _blocks(heading, "text")


def _blocks(heading: str, language: str) -> list[str]:
    page = PAGE.read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert section is not None, heading
    found = re.findall(rf"^```{language}\n(.*?)^```", section[1], re.M | re.S)
    assert found, heading
    return found
