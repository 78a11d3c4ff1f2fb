"""The data folders of earlier schema versions, and which of them there must be."""

from __future__ import annotations

from pathlib import Path

import memolith

FOLDERS = Path(__file__).with_name("data")
STORAGE = Path(memolith.__file__).parent / "storage"


def versions(store: str) -> list[str]:
    """The numbers of the migrations of a store, oldest first."""
    places = [file for file in STORAGE.rglob("*.sql") if "migrations" in file.parts]
    return sorted({file.name.partition("_")[0] for file in places if store in file.parts})


def archive(store: str, version: str) -> Path:
    """Where the packed folder of a store and a version lies."""
    return FOLDERS / f"{store}-{version}.tar.gz"
