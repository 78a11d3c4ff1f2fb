"""What every file of a release says: the name, the version, the addresses."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import memolith

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "release"
NAME = "memolith"
TITLE = "memolith"
UNPUBLISHED = ".example"
"""Addresses under this domain belong to nobody."""


@dataclass(frozen=True)
class Project:
    """The facts that manifests repeat."""

    version: str
    description: str
    license: str
    keywords: tuple[str, ...]
    author: str
    homepage: str
    downloads: str
    registry_name: str
    maintainers: tuple[str, ...]

    @property
    def is_publishable(self) -> bool:
        """Whether somebody has put their own addresses into release/project.toml."""
        addresses = f"{self.homepage}/ {self.downloads}/"
        return UNPUBLISHED + "/" not in addresses


@cache
def project() -> Project:
    """The facts, from pyproject.toml, release/project.toml and the package itself."""
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    release = tomllib.loads((RELEASE / "project.toml").read_text(encoding="utf-8"))
    return Project(
        version=memolith.__version__,
        description=package["description"],
        license=package["license"],
        keywords=tuple(package["keywords"]),
        author=release["author"],
        homepage=release["homepage"],
        downloads=release["downloads"],
        registry_name=release["registry_name"],
        maintainers=tuple(release["maintainers"]),
    )


def release_url(file_name: str) -> str:
    """Where a file of this release will be."""
    return f"{project().downloads}/{project().version}/{file_name}"
