"""The real basic-memory, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.environments import clean_environment, environment

VERSION = "0.24.1"
# Its fastmcp asks for a certifi that not every index has. It works with an older one, so what
# the version before it needs is installed first, and then its own packages over that.
PACKAGES = ["basic-memory==0.23.2", "redis>=8,<9"]
WITHOUT_DEPENDENCIES = [
    f"basic-memory=={VERSION}",
    "fastmcp==4.1.3",
    "fastmcp-slim==4.1.3",
    "fastapi==0.139.0",
    "fastapi-redis-sdk==0.8.1",
]
NEWER_PYTHONS = ("python3.12", "python3.13")
QUIET = {
    # Without these it tells its makers that it runs, and looks for newer versions.
    "BASIC_MEMORY_NO_PROMOS": "1",
    "BASIC_MEMORY_AUTO_UPDATE": "false",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "FASTMCP_SHOW_SERVER_BANNER": "false",
    # A search by meaning would fetch a model.
    "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
    # Permalinks begin with the name of the project otherwise.
    "BASIC_MEMORY_PERMALINKS_INCLUDE_PROJECT": "false",
}


def basic_memory_program() -> Path:
    """The program; the test is skipped where it cannot be had."""
    base = newer_python()
    if base is None:
        pytest.skip("basic-memory needs Python 3.12 or 3.13; name one in TEST_PYTHON312")
    try:
        python = environment(
            "basic-memory", PACKAGES, base=base, without_dependencies=WITHOUT_DEPENDENCIES
        )
    except subprocess.SubprocessError as error:
        pytest.skip(f"basic-memory cannot be installed: {error}")
    return python.with_name("basic-memory")


def newer_python() -> str | None:
    """A Python that basic-memory runs on: this one, the one that is named, or one on the path."""
    named = os.environ.get("TEST_PYTHON312")
    if named:
        return named
    if sys.version_info >= (3, 12):
        return sys.executable
    return next((path for name in NEWER_PYTHONS if (path := working(name))), None)


def working(name: str) -> str | None:
    """The path of a program that can be run; a version manager may leave one that cannot."""
    path = shutil.which(name)
    if path is None:
        return None
    done = subprocess.run([path, "-c", ""], capture_output=True, timeout=60, check=False)
    return path if done.returncode == 0 else None


def quiet_environment(home: Path) -> dict[str, str]:
    """The environment in which it keeps everything in a folder and calls nobody."""
    return clean_environment(HOME=str(home), USERPROFILE=str(home), PYTHONPATH="", **QUIET)
