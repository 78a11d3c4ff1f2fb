"""Say whom a project lets in."""

from dataclasses import replace
from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from memolith.domain.callers import Caller
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.results import ChangedItem, changed_item

OPEN_WARNING = "The project has no members now, so it is open to the whole tenant."
ProjectName = Annotated[
    str, Field(min_length=1, max_length=200, description="The project, as requests name it.")
]
UserName = Annotated[str, Field(min_length=1, max_length=200, description="The user of a key.")]


class ProjectMembers(TypedDict):
    """The result of `list_project_members`."""

    project: str
    members: Annotated[list[str], Described("Empty: it is open to the whole tenant.")]


class MembersChanged(ChangedItem):
    """The result of adding or removing a member: the list of members as an item."""

    warnings: NotRequired[list[str]]


@manage.tool(idempotent=True, scope="admin", example={"project": "zoo", "user": "local"})
def add_project_member(call: Call, *, project: ProjectName, user: UserName) -> MembersChanged:
    """Let a user into a project; from its first member on it is closed to all others."""
    written = call.engine.projects.add_member(_admin(call), project, user)
    return {**changed_item(written), "warnings": []}


@manage.tool(idempotent=True, scope="admin", example={"project": "aquarium", "user": "local"})
def remove_project_member(call: Call, *, project: ProjectName, user: UserName) -> MembersChanged:
    """Let a user into a project no longer; without members it is open to the whole tenant."""
    written = call.engine.projects.remove_member(_admin(call), project, user)
    is_open = not written.item.attributes["members"]
    return {**changed_item(written), "warnings": [OPEN_WARNING] if is_open else []}


@manage.tool(read_only=True, example={"project": "aquarium"})
def list_project_members(call: Call, *, project: ProjectName) -> ProjectMembers:
    """The users whom a project lets in."""
    return {"project": project, "members": call.engine.projects.members(call.caller, project)}


def _admin(call: Call) -> Caller:
    """The caller, who has the scope `admin`; at this machine the caller itself does not say so."""
    return replace(call.caller, admin=True)
