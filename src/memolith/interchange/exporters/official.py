"""Entities and relations as the file of the reference memory server of MCP: `memory.jsonl`."""

import json
from typing import TextIO

from memolith.domain.callers import Caller
from memolith.domain.queries import Filter
from memolith.engine.engine import Engine

EXPORTED_KIND = "entity"


def write_official(engine: Engine, caller: Caller, file: TextIO) -> tuple[int, int]:
    """Write the graph; returns how many entities, and how many items of other kinds stayed out."""
    graph = engine.named_graph.read(caller)
    lines: list[dict[str, object]] = []
    for entity in graph.entities:
        lines.append(
            {
                "type": "entity",
                "name": entity.name,
                "entityType": entity.type,
                "observations": entity.observations,
            }
        )
    for relation in graph.relations:
        lines.append(
            {
                "type": "relation",
                "from": relation.source,
                "to": relation.target,
                "relationType": relation.label,
            }
        )
    # As the server writes it: no blanks, and nothing after the last line.
    texts = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)
    file.write("\n".join(texts))
    kinds = engine.reading.count_by(caller, "kind", Filter())
    left_out = sum(count for kind, count in kinds.items() if kind != EXPORTED_KIND)
    return len(graph.entities), left_out
