"""Read the graph: all of it, what a search finds, or entities by name."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.domain.queries import Filter, Query
from memolith.engine.entities import ENTITIES
from memolith.errors import NotFound
from memolith.tools.call import Call
from memolith.tools.official.dialect import official
from memolith.tools.official.models import GraphBody, graph_body
from memolith.tools.resources import Resource, Resources
from memolith.tools.schema import Body

GRAPH_ADDRESS = "memory://knowledge-graph"
MAX_FOUND = 50


@official.tool(read_only=True)
def read_graph(call: Call) -> GraphBody:
    """Every entity with its observations, and every relation."""
    return graph_body(call.engine.named_graph.read(call.caller))


@official.tool(read_only=True, example={"query": "zebra"})
def search_nodes(
    call: Call,
    *,
    query: Annotated[
        str,
        Field(
            description="What to look for in names, types and observations, as words or as a "
            "question."
        ),
    ],
) -> GraphBody:
    """Entities that a question or some words are about, by words and by meaning."""
    if not query.strip():
        return read_graph(call)
    found = call.engine.recall.search(
        call.caller,
        Query(text=query, filter=ENTITIES, limit=MAX_FOUND, per_item=True, family="official"),
    )
    ids = [hit.item.id for hit in found.hits]
    call.note_hits(ids)
    ids += [id for id in _ids_of_type(call, query.strip()) if id not in ids]
    return graph_body(call.engine.named_graph.around(call.caller, ids))


def _ids_of_type(call: Call, name: str) -> list[str]:
    """The entities of a type, which is no part of the text that is searched."""
    of_type: Filter = replace(ENTITIES, namespaces=(name,))
    page = call.engine.reading.list_items(call.caller, of_type, descending=False, limit=MAX_FOUND)
    return [item.id for item in page.items]


@official.tool(read_only=True, example={"names": ["zebra"]})
def open_nodes(
    call: Call,
    *,
    names: Annotated[list[str], Field(description="The names of the entities.")],
) -> GraphBody:
    """Entities by their names, with the relations around them."""
    return graph_body(call.engine.named_graph.open(call.caller, names))


def read_resource(call: Call, uri: str) -> Body:
    """The whole graph, at its one address."""
    if uri != GRAPH_ADDRESS:
        raise NotFound(f"There is nothing at {uri[:100]!r}; read {GRAPH_ADDRESS}.", id=uri)
    return dict(read_graph(call))


def list_resources(call: Call) -> Sequence[Resource]:
    return (
        Resource(
            GRAPH_ADDRESS,
            "knowledge-graph",
            "All entities with their observations, and all relations.",
            "application/json",
            "Knowledge Graph",
        ),
    )


official.resources = Resources(GRAPH_ADDRESS, read_resource, list_resources)
