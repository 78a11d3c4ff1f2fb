"""Exports and backups, to be downloaded on the web page."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from memolith.ports.copies import Copy
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described


class CopyBody(TypedDict):
    """A copy that is being made, or that waits to be downloaded."""

    id: str
    kind: str
    state: Annotated[str, Described("running, ready or failed")]
    done: Annotated[int, Described("How many events, or pages of the database, are copied.")]
    total: Annotated[int, Described("Of how many; 0 if that is not known.")]
    bytes: int
    problem: str
    user: str
    started_at: str


class CopyList(TypedDict):
    """The result of `list_copies`."""

    copies: list[CopyBody]


class DeletedCopy(TypedDict):
    """The result of `delete_copy`."""

    deleted: Annotated[bool, Described("False if there was none.")]


@manage.tool(scope="admin", example={"kind": "export"})
def start_copy(
    call: Call,
    *,
    kind: Annotated[
        Literal["export", "backup"],
        Field(description="`export`: your log as JSON Lines. `backup`: the whole store and files."),
    ],
) -> CopyBody:
    """Begin to make a copy that can be downloaded on the web page for an hour; only one is made at
    a time. The log keeps who did it.
    """
    return _copy_body(call.engine.copying.start(call.caller, kind))


@manage.tool(read_only=True, scope="admin")
def list_copies(call: Call) -> CopyList:
    """The copies that are being made or wait to be downloaded, and how far they are."""
    return {"copies": [_copy_body(copy) for copy in call.engine.copying.all(call.caller)]}


@manage.tool(
    destructive=True, idempotent=True, effect="runs", scope="admin", example={"id": "copy"}
)
def delete_copy(
    call: Call, *, id: Annotated[str, Field(description="The id of the copy.")]
) -> DeletedCopy:
    """Delete a copy that waits to be downloaded, or stop making it."""
    return {"deleted": call.engine.copying.remove(call.caller, id)}


def _copy_body(copy: Copy) -> CopyBody:
    return {
        "id": copy.id,
        "kind": copy.kind,
        "state": copy.state,
        "done": copy.done,
        "total": copy.total,
        "bytes": copy.bytes,
        "problem": copy.problem,
        "user": copy.made_by,
        "started_at": copy.started_at,
    }
