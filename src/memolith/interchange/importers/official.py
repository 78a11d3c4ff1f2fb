"""The knowledge graph of the reference memory server of MCP: `memory.jsonl` or `memory.json`.

A line is an entity with observations, or a relation of two entities. There are no dates. A relation
can name what is no entity.
"""

from collections.abc import Iterator
from pathlib import Path

from memolith.domain.links import IMPLIED
from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignLink, ForeignRecord
from memolith.interchange.importers.files import JsonObject, read_json_lines, text, texts


def is_official(first_line: JsonObject) -> bool:
    if first_line.get("type") == "entity":
        return "name" in first_line and "observations" in first_line
    return first_line.get("type") == "relation" and "relationType" in first_line


def read_official(path: Path) -> ForeignData:
    data = ForeignData("official")
    for number, line in enumerate(read_json_lines(path), start=1):
        if line.get("type") == "entity" and text(line.get("name")):
            data.records.append(_entity(line))
        elif line.get("type") == "relation" and text(line.get("from")) and text(line.get("to")):
            data.links.append(
                ForeignLink(
                    source=text(line["from"]),
                    target=text(line["to"]),
                    label=text(line.get("relationType")),
                )
            )
        else:
            data.left_out.add("a line that is neither an entity nor a relation", f"line {number}")
    data.records += _implied_entities(data)
    return data


def _entity(line: JsonObject) -> ForeignRecord:
    name = text(line["name"])
    return ForeignRecord(
        source_id=name,
        kind="entity",
        title=name,
        namespace=text(line.get("entityType")),
        blocks=tuple(Block(observation) for observation in texts(line.get("observations"))),
    )


def _implied_entities(data: ForeignData) -> Iterator[ForeignRecord]:
    """An entity for each name that only relations have."""
    known = {record.source_id for record in data.records}
    for link in data.links:
        for name in (link.source, link.target):
            if name not in known:
                known.add(name)
                yield ForeignRecord(
                    source_id=name, kind="entity", title=name, status=IMPLIED, blocks=()
                )
