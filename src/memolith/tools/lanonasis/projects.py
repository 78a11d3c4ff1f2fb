"""Projects, and the organisation they belong to."""

from typing import Annotated

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Item
from memolith.domain.queries import Filter
from memolith.errors import InvalidInput, NotFound
from memolith.tools.arguments import without_empty
from memolith.tools.call import Call
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.lanonasis.models import OrganizationInfo, Project, Projects

MAX_LISTED_PROJECTS = 1000
LIMIT_PREFIX = "max_"


@lanonasis.tool(example={"name": "Zoo"})
def create_project(
    call: Call,
    *,
    name: Annotated[str, Field(min_length=1, max_length=255)],
    description: str | None = None,
    organization_id: Annotated[
        str | None, Field(description="If given, all of the organisation see it.")
    ] = None,
) -> Project:
    """Start a project, for yourself or for your whole organisation."""
    title = " ".join(name.split())
    if not title:
        raise InvalidInput("A project needs a name.", field="name")
    _check_organization(call.caller, organization_id)
    draft = Draft(
        kind="project",
        title=title,
        attributes=without_empty(description=description),
        audience=Audience.ORG if organization_id else Audience.USER,
    )
    written = call.engine.writing.remember(call.caller, draft)
    return _project(written.item)


@lanonasis.tool(read_only=True)
def list_projects(call: Call, *, organization_id: str | None = None) -> Projects:
    """The projects that you may see, newest first."""
    _check_organization(call.caller, organization_id)
    page = call.engine.reading.list_items(
        call.caller, Filter(kinds=("project",)), limit=MAX_LISTED_PROJECTS
    )
    return {"projects": [_project(item) for item in page.items]}


@lanonasis.tool(read_only=True, example={"organization_id": "local"})
def get_organization_info(call: Call, *, organization_id: str) -> OrganizationInfo:
    """What your organisation has set, what it may use, and what it uses."""
    _check_organization(call.caller, organization_id)
    tenant = call.caller.tenant
    _, embedding_model = call.engine.recall.state()
    values: dict[str, Json] = {
        **call.engine.tenant_settings.values(tenant),
        "embedding_model": embedding_model,
        "secrets": call.engine.input_rules.secrets,
    }
    counts = call.engine.reading.count_by(Caller(tenant, admin=True), "kind")
    return {
        "id": tenant,
        "name": tenant,
        "plan": "self-hosted",
        "settings": {
            name: value for name, value in values.items() if not name.startswith(LIMIT_PREFIX)
        },
        "limits": {name: value for name, value in values.items() if name.startswith(LIMIT_PREFIX)},
        "usage": {
            "memories": counts.get("memory", 0),
            "projects": counts.get("project", 0),
            "api_keys": call.engine.vault.count(tenant),
        },
    }


def _check_organization(caller: Caller, organization_id: str | None) -> None:
    """Refuse any organisation but the caller's."""
    if organization_id is not None and organization_id != caller.tenant:
        raise NotFound(
            "There is no such organisation, or it is not yours.", field="organization_id"
        )


def _project(item: Item) -> Project:
    return {
        "id": item.id,
        "name": item.title,
        "description": item.attributes.get("description"),
        "status": item.status,
        "organization_id": item.tenant,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
