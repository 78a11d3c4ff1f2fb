"""Zep and Graphiti: the nodes, edges and episodes of a graph as their programs answer, in JSON.

The file is an object with any of `nodes`, `edges` and `episodes`, each a list.
"""

from pathlib import Path

from memolith.domain.attributes import Json
from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignLink, ForeignRecord
from memolith.interchange.importers.files import (
    JsonObject,
    first,
    json_object_of,
    objects,
    read_json,
    text,
    texts,
)

ENTITY_LABEL = "Entity"
"""Every node has this label; another one says what it is."""
MENTION = "MentionedIn"
FACT_DATES = ("valid_at", "invalid_at", "expired_at")


def is_zep(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    edges = objects(value.get("edges"))
    nodes = objects(value.get("nodes"))
    episodes = objects(value.get("episodes"))
    if edges:
        return "fact" in edges[0] and "source_node_uuid" in edges[0]
    if nodes:
        return "uuid" in nodes[0] and "labels" in nodes[0]
    return bool(episodes) and "uuid" in episodes[0] and "content" in episodes[0]


def read_zep(path: Path) -> ForeignData:
    data = ForeignData("zep")
    graph = json_object_of(read_json(path))
    for node in objects(graph.get("nodes")):
        _add_node(data, node)
    for edge in objects(graph.get("edges")):
        _add_fact(data, edge)
    for episode in objects(graph.get("episodes")):
        _add_episode(data, episode)
    return data


def _add_node(data: ForeignData, node: JsonObject) -> None:
    name = text(node.get("name"))
    if not name:
        data.left_out.add("a node without a name", text(node.get("uuid")))
        return
    labels = [label for label in texts(node.get("labels")) if label != ENTITY_LABEL]
    summary = text(node.get("summary"))
    data.records.append(
        ForeignRecord(
            source_id=text(node.get("uuid")),
            kind="entity",
            title=name,
            namespace=labels[0] if labels else "",
            blocks=(Block(summary),) if summary.strip() else (),
            tags=tuple(labels[1:]),
            created_at=node.get("created_at"),
            attributes={"properties": json_object_of(node.get("attributes"))},
        )
    )


def _add_fact(data: ForeignData, edge: JsonObject) -> None:
    """A fact is a memory that names both of its nodes, and a link between them."""
    id = text(edge.get("uuid"))
    fact = text(edge.get("fact"))
    label = text(edge.get("name"))
    source = text(edge.get("source_node_uuid"))
    target = text(edge.get("target_node_uuid"))
    dates = {name: edge.get(name) for name in FACT_DATES if edge.get(name)}
    if fact.strip():
        data.records.append(
            ForeignRecord(
                source_id=id,
                blocks=(Block(fact),),
                created_at=first(edge, "created_at"),
                attributes={**json_object_of(edge.get("attributes")), **dates, "relation": label},
            )
        )
        for node in dict.fromkeys((source, target)):
            data.links.append(ForeignLink(source=node, target=id, label=MENTION))
    if source != target:
        data.links.append(
            ForeignLink(
                source=source, target=target, label=label, attributes={"fact": fact, **dates}
            )
        )


def _add_episode(data: ForeignData, episode: JsonObject) -> None:
    content = text(episode.get("content"))
    if not content.strip():
        data.left_out.add("an episode without content", text(episode.get("uuid")))
        return
    speaker = text(first(episode, "role", "role_type"))
    data.records.append(
        ForeignRecord(
            source_id=text(episode.get("uuid")),
            title=text(episode.get("name")),
            blocks=(Block(content),),
            tags=("episode",),
            created_at=first(episode, "valid_at", "created_at"),
            author=speaker,
            attributes={
                **json_object_of(episode.get("metadata")),
                "session": first(episode, "session_id", "thread_id"),
                "episode_source": first(episode, "source", "source_description"),
            },
        )
    )
