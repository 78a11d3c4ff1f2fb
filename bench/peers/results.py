"""The results: a JSON file per peer, written after every measure, so that a run can go on later."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.peers.peer import Peer

FOLDER = Path(__file__).with_name("results")
LOOK_S = 0.4
"""How long the machine is looked at before a measure begins."""
Figures = dict[str, Any]


@dataclass(frozen=True)
class Results:
    """The file of one peer."""

    path: Path

    def read(self) -> Figures:
        """What is known so far."""
        if not self.path.is_file():
            return {"measures": {}}
        known: Figures = json.loads(self.path.read_text(encoding="utf-8"))
        return known

    def has(self, measure: str) -> bool:
        """Whether a measure was done."""
        return measure in self.read()["measures"]

    def keep(self, peer: Peer, measure: str, outcome: Figures) -> None:
        """Add one measure; the file is replaced at once, never half written."""
        known = self.read()
        known |= {
            "peer": peer.name,
            "title": peer.title,
            "version": peer.version,
            "link": peer.link,
            "bulk": peer.bulk,
            "search": peer.search_is,
            "notes": peer.notes,
            "is_server": peer.is_server(),
        }
        known["measures"][measure] = outcome
        known["measures"] = dict(sorted(known["measures"].items()))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        new.replace(self.path)


def machine() -> Figures:
    """The machine in general terms."""
    return {
        "system": f"{platform.system()}, {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "python": platform.python_version(),
    }


def stamp() -> Figures:
    """When, and which share of the processors was in use just before the measure.

    It is all use of the machine during `LOOK_S` seconds, by this program too. The load of the last
    minute would count the measure before, which has just ended.
    """
    busy = psutil.cpu_percent(LOOK_S) / 100
    return {"day": time.strftime("%Y-%m-%d", time.gmtime()), "busy": round(busy, 2)}
