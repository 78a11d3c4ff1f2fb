"""What surrounds the memories: health, statistics, topics, settings, projects, keys of vendors, documentation."""

from dataclasses import asdict
from typing import Annotated, Literal, cast

from pydantic import Field

from memolith import __version__
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.tenant_settings import KEYS, known_key
from memolith.engine.vault import Secret
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.tools.call import Call
from memolith.tools.item_views import CHANGED, ItemId, Object, bare_id, changed, given, manage, the
from memolith.tools.lanonasis import memories
from memolith.tools.lanonasis.memories import Named, UserId, acting_for, lanonasis, mine, of_user
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape

__all__ = ["lanonasis"]
ConfigKey = Annotated[str, Field(description=", ".join(KEYS))]
KeyId = Annotated[str, Field(description="The id of the key.")]
KeyType = Literal["api_key", "oauth_token", "certificate", "ssh_key"]
Environment = Literal["development", "staging", "production"]
Name = Annotated[str, Field(min_length=1, max_length=255)]
TopicName = Annotated[str, Field(min_length=1, max_length=100)]
TopicText = Annotated[str | None, Field(max_length=500)]
Color = Annotated[str | None, Field(pattern="^#[0-9A-Fa-f]{6}$")]
Icon = Annotated[str | None, Field(max_length=50)]
MOST, EXCERPT = 1000, 300
BY_TYPE = shape(**dict.fromkeys(memories.TYPES, int))
WELL = {"enum": ["healthy", "unhealthy"]}
PROJECT = shape(
    "description",
    id=str,
    name=str,
    description=str,
    organization_id=str,
    status=str,
    created_at=str,
    updated_at=str,
)
KEY = shape(
    "last_rotated",
    id=str,
    name=str,
    type=str,
    environment=str,
    project_id=str,
    created_at=str,
    last_rotated=str,
    expires_at=str,
    rotation_frequency=int,
    is_active=bool,
    metadata=dict,
)
TOPIC = shape(
    "description color icon parent_topic_id",
    id=str,
    name=str,
    description=str,
    color=str,
    icon=str,
    parent_topic_id=str,
    created_at=str,
    updated_at=str,
)
PAGE = shape(title=str, section=str, path=str, excerpt=str, score=float)


@lanonasis.tool(
    shape(
        status={"enum": ["healthy", "degraded", "unhealthy"]},
        timestamp=str,
        version=str,
        uptime=float,
        services=shape(database=WELL, cache=WELL, embeddings=WELL),
    ),
    read_only=True,
)
def health_check(call: Call) -> Body:
    """Whether the server and its parts work."""
    well = call.engine.maintenance.health()["embeddings"] == "healthy"
    return {
        "status": "healthy" if well else "degraded",
        "timestamp": call.engine.clock.now(),
        "version": __version__,
        "uptime": round(call.engine.maintenance.uptime_s(), 3),
        "services": {
            "database": "healthy",
            "cache": "healthy",
            "embeddings": "healthy" if well else "unhealthy",
        },
    }


@of_user(
    shape(
        "most_accessed_memory",
        total_memories=int,
        memories_by_type=BY_TYPE,
        total_topics=int,
        most_accessed_memory=str,
        recent_memories=[str],
    )
)
def get_stats(call: Call, *, user_id: UserId | None = None) -> Body:
    """How many memories a user has, of which types, and which were read or written last."""
    caller, engine = acting_for(call, user_id).caller, call.engine
    types = memories.by_type(engine.reading.count_by(caller, "namespace", mine(caller)))
    favourite = engine.reading.most_accessed(caller, mine(caller))
    recent = engine.reading.list_items(caller, mine(caller), limit=5)
    topics = engine.reading.list_items(
        caller, Filter(kinds=("topic",), owner=caller.user), limit=1
    ).total
    return {
        "total_memories": sum(types.values()),
        "memories_by_type": types,
        "total_topics": topics,
        "most_accessed_memory": favourite.id if favourite else None,
        "recent_memories": [item.id for item in recent.items],
    }


@of_user(shape(topics=[TOPIC]))
def list_topics(call: Call, *, user_id: UserId | None = None) -> Body:
    """The topics under which a user keeps memories."""
    caller = acting_for(call, user_id).caller
    page = call.engine.reading.list_items(
        caller, Filter(kinds=("topic",), owner=caller.user), descending=False, limit=MOST
    )
    return {
        "topics": [
            {
                "id": item.id,
                "name": item.title,
                **item.attributes,
                "created_at": item.created_at,
                "updated_at": item.updated_at,
            }
            for item in page.items
        ]
    }


@lanonasis.tool(shape(key=str, value={}, type=str, description=str, history=[dict]), read_only=True)
def get_config(call: Call, *, key: ConfigKey) -> Body:
    """What a setting is now, and who set it before."""
    about, engine, tenant = known_key(key), call.engine, call.caller.tenant
    value = (
        engine.recall.state()[1]
        if key == "embedding_model"
        else engine.tenant_settings.values(tenant)[key]
    )
    return {
        "key": key,
        "value": value,
        "type": type(about.default).__name__,
        "description": about.about,
        "history": [
            {"value": event.data["value"], "at": event.at, "by": event.actor}
            for event in engine.tenant_settings.history(tenant, key)
        ],
    }


@lanonasis.tool(
    shape(key=str, value={}, previous_value={}, updated_at=str), idempotent=True, scope="admin"
)
def set_config(call: Call, *, key: ConfigKey, value: str) -> Body:
    """Change a setting for the whole organisation, at once and in every process."""
    event = call.engine.tenant_settings.set(call.caller, key, value)
    return {
        "key": key,
        "value": event.data["value"],
        "previous_value": event.data["before"],
        "updated_at": event.at,
    }


@lanonasis.tool(PROJECT)
def create_project(
    call: Call,
    *,
    name: Name,
    description: str | None = None,
    organization_id: Annotated[
        str | None, Field(description="If given, all of the organisation see it.")
    ] = None,
) -> Body:
    """Start a project, for yourself or for your whole organisation."""
    if not (title := " ".join(name.split())):
        raise InvalidInput("A project needs a name.", field="name")
    _own(call.caller, organization_id)
    draft = Draft(
        "project",
        title,
        attributes=given(description=description),
        audience=Audience.ORG if organization_id else Audience.USER,
    )
    return _project(call.engine.writing.remember(call.caller, draft, call.idempotency_key).item)


@lanonasis.tool(shape(projects=[PROJECT]), read_only=True)
def list_projects(call: Call, *, organization_id: str | None = None) -> Body:
    """The projects that you may see, newest first."""
    _own(call.caller, organization_id)
    page = call.engine.reading.list_items(call.caller, Filter(kinds=("project",)), limit=MOST)
    return {"projects": [_project(item) for item in page.items]}


@lanonasis.tool(
    shape(id=str, name=str, plan=str, settings=dict, limits=dict, usage=dict), read_only=True
)
def get_organization_info(call: Call, *, organization_id: str) -> Body:
    """What your organisation has set, what it may use, and what it uses."""
    _own(call.caller, organization_id)
    tenant, engine = call.caller.tenant, call.engine
    values = engine.tenant_settings.values(tenant) | {
        "embedding_model": engine.recall.state()[1],
        "secrets": engine.input_rules.secrets,
    }
    kinds = engine.reading.count_by(Caller(tenant, admin=True), "kind")
    return {
        "id": tenant,
        "name": tenant,
        "plan": "self-hosted",
        "settings": {name: value for name, value in values.items() if not name.startswith("max_")},
        "limits": {name: value for name, value in values.items() if name.startswith("max_")},
        "usage": {
            "memories": kinds.get("memory", 0),
            "projects": kinds.get("project", 0),
            "api_keys": engine.vault.count(tenant),
        },
    }


@lanonasis.tool(KEY)
def create_api_key(
    call: Call,
    *,
    name: Name,
    type: KeyType,
    value: Annotated[str, Field(min_length=1, max_length=100_000, description="Kept encrypted.")],
    environment: Environment,
    project_id: str,
    rotation_frequency: Annotated[int, Field(ge=1, le=365, description="Days.")] = 90,
    metadata: Object | None = None,
) -> Body:
    """Keep the key of a vendor in the vault; its value is never shown again."""
    project = the(call, "project", project_id, "project_id").id
    draft = Secret(name, type, environment, project, rotation_frequency, metadata or {})
    return _key(call.engine.vault.store(call.caller, draft, value))


@lanonasis.tool(shape(keys=[KEY]), read_only=True)
def list_api_keys(
    call: Call,
    *,
    project_id: str | None = None,
    environment: Environment | None = None,
    type: KeyType | None = None,
) -> Body:
    """The keys in the vault, without their values."""
    return {
        "keys": [
            _key(one)
            for one in call.engine.vault.all(call.caller)
            if project_id in (None, one.project_id)
            and environment in (None, one.environment)
            and type in (None, one.type)
        ]
    }


@lanonasis.tool(KEY, read_only=True)
def get_api_key(call: Call, *, key_id: KeyId) -> Body:
    """One key in the vault, without its value."""
    return _key(call.engine.vault.get(call.caller, bare_id(key_id)))


@lanonasis.tool(shape(key_id=str, rotated_at=str, new_value=str), destructive=True)
def rotate_api_key(call: Call, *, key_id: KeyId) -> Body:
    """Give a key a new random value, which is shown this once; the old one is gone."""
    secret, value = call.engine.vault.rotate(call.caller, bare_id(key_id))
    return {"key_id": secret.id, "rotated_at": secret.last_rotated, "new_value": value}


@lanonasis.tool(shape(id=str, is_active=bool, revoked_at=str), destructive=True, idempotent=True)
def revoke_api_key(call: Call, *, key_id: KeyId) -> Body:
    """Make a key unusable; its record stays."""
    secret = call.engine.vault.revoke(call.caller, bare_id(key_id))
    return {"id": secret.id, "is_active": False, "revoked_at": secret.revoked_at}


@lanonasis.tool(shape(query=str, total=int, results=[PAGE], warnings=[str]), read_only=True)
def search_lanonasis_docs(
    call: Call,
    *,
    query: Named,
    section: Literal["all", "api", "guides", "sdks"] = "all",
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
) -> Body:
    """Places in this server's documentation: reference (api), how-to pages (guides), libraries and clients (sdks)."""
    memories.measured(call, query=query)
    chosen = Filter(namespaces=() if section == "all" else (section,))
    found = call.engine.recall.search(
        call.engine.manual.caller(), Query(query, chosen, limit=limit)
    )
    return {
        "query": query,
        "total": found.total,
        "warnings": list(found.warnings),
        "results": [
            {
                "title": hit.item.title,
                "section": hit.item.namespace,
                "path": hit.item.id,
                "excerpt": " ".join(hit.passage.text.split())[:EXCERPT],
                "score": hit.score,
            }
            for hit in found.hits
        ],
    }


@manage.tool(CHANGED)
def create_topic(
    call: Call,
    *,
    name: TopicName,
    description: TopicText = None,
    color: Color = None,
    icon: Icon = None,
    parent_topic_id: str | None = None,
) -> Body:
    """Make a topic to keep memories under, perhaps below another."""
    above = the(call, "topic", parent_topic_id, "parent_topic_id").id if parent_topic_id else None
    known = given(description=description, color=color, icon=icon, parent_topic_id=above)
    return changed(
        call.engine.writing.remember(
            call.caller, Draft("topic", name, attributes=known), call.idempotency_key
        )
    )


@manage.tool(CHANGED, idempotent=True)
def update_topic(
    call: Call,
    *,
    topic_id: ItemId,
    name: TopicName | None = None,
    description: TopicText = None,
    color: Color = None,
    icon: Icon = None,
    parent_topic_id: Annotated[
        str | None, Field(description="The topic to move it below; `top` for none.")
    ] = None,
) -> Body:
    """Rename, describe, colour or move a topic."""
    topic = the(call, "topic", topic_id, "topic_id")
    above = parent_topic_id if parent_topic_id != "top" else None
    attributes = given(description=description, color=color, icon=icon, parent_topic_id=above)
    patch = Patch(
        name,
        attributes=attributes,
        dropped=("parent_topic_id",) if parent_topic_id == "top" else (),
    )
    if patch == Patch(attributes={}):
        raise InvalidInput("Say what to change.", field="name")
    while above:
        if (parent := the(call, "topic", above, "parent_topic_id")).id == topic.id:
            raise InvalidInput("A topic cannot be below itself.", field="parent_topic_id")
        above = cast("str | None", parent.attributes.get("parent_topic_id"))
    return changed(
        call.engine.writing.revise(call.caller, topic.id, patch, key=call.idempotency_key)
    )


@manage.tool(CHANGED, destructive=True)
def delete_topic(call: Call, *, topic_id: ItemId) -> Body:
    """Delete a topic that has none below it; its memories stay."""
    topic = the(call, "topic", topic_id, "topic_id", forgotten=bool(call.idempotency_key))
    below = Filter(kinds=("topic",), where=(Condition("parent_topic_id", "eq", topic.id),))
    if call.engine.reading.list_items(call.caller, below, limit=1).total:
        raise Conflict(
            "There are topics below this one; move or delete them first.", field="topic_id"
        )
    return changed(call.engine.writing.forget(call.caller, topic.id, key=call.idempotency_key))


@manage.tool(CHANGED, idempotent=True)
def assign_topic(call: Call, *, topic_id: ItemId, memory_id: ItemId) -> Body:
    """Put a memory under a topic."""
    patch = Patch(attributes={"topic_id": the(call, "topic", topic_id, "topic_id").id})
    return changed(
        call.engine.writing.revise(
            call.caller, the(call, "memory", memory_id, "memory_id").id, patch
        )
    )


def _own(caller: Caller, organisation: str | None) -> None:
    """Refuse any organisation but the caller's."""
    if organisation not in (None, caller.tenant):
        raise NotFound(
            "There is no such organisation, or it is not yours.", field="organization_id"
        )


def _project(item: Item) -> Body:
    return {
        "id": item.id,
        "name": item.title,
        "description": item.attributes.get("description"),
        "status": item.status,
        "organization_id": item.tenant,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _key(one: Secret) -> Body:
    known = {**asdict(one), "expires_at": one.expires_at, "is_active": not one.revoked_at}
    return {name: known[name] for name in KEY["properties"]}
