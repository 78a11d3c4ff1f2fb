"""The users, agents, apps and runs for which there are memories."""

from memolith.domain.items import Item
from memolith.errors import NotFound
from memolith.tools.call import Call
from memolith.tools.mem0.api import mem0_api
from memolith.tools.mem0.filters import MEMORIES, matching_items, parse_filters
from memolith.tools.mem0.models import Message, ScopeBody, ScopePage, ScopeType
from memolith.tools.mem0.views import SCOPES


@mem0_api.route("GET", "/v1/entities/", read_only=True)
def users(call: Call) -> ScopePage:
    """All of them, by type and name."""
    items_of: dict[tuple[str, str], list[Item]] = {}
    for item in call.engine.reading.list_all(call.caller, MEMORIES):
        for scope in SCOPES:
            name = item.attributes.get(scope)
            if isinstance(name, str):
                items_of.setdefault((scope.removesuffix("_id"), name), []).append(item)
    results = [_scope_body(type, name, items) for (type, name), items in sorted(items_of.items())]
    return {"count": len(results), "next": None, "previous": None, "results": results}


def _scope_body(type: str, name: str, items: list[Item]) -> ScopeBody:
    return {
        "id": f"{type}:{name}",
        "name": name,
        "type": type,
        "total_memories": len(items),
        "created_at": min(item.created_at for item in items),
        "updated_at": max(item.updated_at for item in items),
    }


@mem0_api.route("DELETE", "/v2/entities/{entity_type}/{entity_id}/", destructive=True)
def delete_user(call: Call, *, entity_type: ScopeType, entity_id: str) -> Message:
    """Forget all memories of one of them."""
    wanted = parse_filters({f"{entity_type}_id": entity_id})
    items = matching_items(call, wanted, show_expired=True)
    if not items:
        raise NotFound(
            f"There is no {entity_type} {entity_id[:100]!r} with memories.", field="entity_id"
        )
    call.engine.writing.forget_all(call.caller, [item.id for item in items], "memory")
    return {"message": "Entity deleted successfully!"}
