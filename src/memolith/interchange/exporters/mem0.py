"""Memories as mem0 answers them from `get_all()`: JSON with `results`."""

import json
from typing import TextIO

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.engine.engine import Engine
from memolith.interchange.exporters.collection import live_items

EXPORTED_KIND = "memory"
OWN_NAMES = ("title", "project", "namespace")


def write_mem0(engine: Engine, caller: Caller, file: TextIO) -> tuple[int, int]:
    """Write the memories; returns how many, and how many items of other kinds stayed out."""
    results = []
    left_out = 0
    for item, blocks in live_items(engine, caller):
        if item.kind != EXPORTED_KIND:
            left_out += 1
            continue
        metadata: dict[str, Json] = dict(item.attributes)
        for name in OWN_NAMES:
            value = getattr(item, name)
            if value:
                metadata[name] = value
        results.append(
            {
                "id": item.id,
                "memory": "\n".join(block.text for block in blocks),
                "metadata": metadata,
                "categories": list(item.tags),
                "created_at": item.created_at,
                "updated_at": item.updated_at,
                "user_id": str(item.attributes.get("author") or item.owner),
            }
        )
    json.dump({"results": results}, file, ensure_ascii=False, indent=1)
    file.write("\n")
    return len(results), left_out
