"""What a caller may see of items and links."""

import time
from typing import cast

from memolith.domain.callers import Audience, Caller
from memolith.domain.clock import iso
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.errors import Denied, NotFound
from memolith.ports.store import Reader

MEMBERS = "members"
"""The attribute with the users whom a project lets in."""
NEVER = "~"
"""Sorts after every time."""


def visible(rows: Reader, caller: Caller, id: str, forgotten: bool = False) -> Item:
    """Return the item, if the caller may see it.

    The error is the same for an item that does not exist and for one that belongs to somebody else.
    """
    item = rows.item(caller.tenant, id)
    if item is None or not item.admits(caller) or (is_gone(item) and not forgotten):
        raise NotFound(f"There is no item {id[:100]!r}, or it was forgotten.", id=id)
    return item


def check_project(rows: Reader, caller: Caller, project: str) -> None:
    """Refuse a caller whom a project does not let in: it has members, and they are none of them.

    A project without members is open to the whole tenant.
    """
    members = project_members(rows, caller.tenant, project)
    is_let_in = caller.admin or not members or caller.user in members
    if not is_let_in or not caller.may_look_into(project):
        raise Denied(
            f"The project {project[:100]!r} is not open to you; an admin can make you a member.",
            field="project",
            value=project,
        )


def project_members(rows: Reader, tenant: str, project: str) -> list[str]:
    """The users whom a project lets in; none if it is open to the whole tenant."""
    item = members_item(rows, tenant, project)
    return [] if item is None else list(cast("list[str]", item.attributes.get(MEMBERS, [])))


def members_item(rows: Reader, tenant: str, project: str) -> Item | None:
    """The item that keeps the members of a project."""
    for item in rows.items_titled(tenant, "project", project):
        if keeps_members(item) and item.project == project:
            return item
    return None


def keeps_members(item: Item) -> bool:
    """Whether an item keeps the members of a project, which only an admin may change."""
    return item.kind == "project" and item.audience is Audience.PROJECT


def is_gone(item: Item) -> bool:
    """Whether the item was forgotten or has expired."""
    if item.forgotten:
        return True
    expires_at = str(item.attributes.get("expires_at") or NEVER)
    now = iso(time.time_ns() // 1000)
    return expires_at <= now


def sees_both_ends(rows: Reader, caller: Caller, link: Link, forgotten: bool = True) -> bool:
    """Whether the caller may see both ends of a link; with `forgotten`, also ends that are gone."""
    ends = rows.items(caller.tenant, (link.source, link.target)).values()
    if len(ends) != 2:
        return False
    return all(end.admits(caller) and (forgotten or not is_gone(end)) for end in ends)
