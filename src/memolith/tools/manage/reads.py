"""Who read an item, and when."""

from dataclasses import replace
from typing import Annotated, TypedDict

from pydantic import Field

from memolith.ports.usage import MAX_COUNTED_READS, ReadsWanted, TitledRead
from memolith.tools.arguments import Limit, bare_id
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.sekha.arguments import Offset


class ReadBody(TypedDict):
    """How often, and when last, a user read an item through a tool."""

    id: str
    title: str
    user: str
    tool: str
    family: str
    count: int
    at: Annotated[str, Described("The last time.")]


class Reads(TypedDict):
    """The result of `list_reads`."""

    reads: list[ReadBody]
    total: Annotated[int, Described(f"Counted up to {MAX_COUNTED_READS:,}.")]


@manage.tool(read_only=True, example={"id": "one"})
def list_reads(
    call: Call,
    *,
    id: Annotated[str | None, Field(description="Only reads of this item.")] = None,
    user: Annotated[str | None, Field(description="Only what this user read.")] = None,
    since: Annotated[str | None, Field(description="Only reads since this time.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Reads:
    """Who read items through which tool, how often and when last; hits of a search count as read.
    You see your own reads and all reads of your own items; with the scope `admin`, all. It is
    known for 90 days.
    """
    wanted = ReadsWanted(
        item=None if id is None else bare_id(id),
        reader=user,
        since=since,
        of_everybody=call.is_admin,
    )
    caller = replace(call.caller, admin=call.is_admin)
    page = call.engine.usage.reads(caller, wanted, limit, offset)
    return {"reads": [_read_body(read) for read in page.reads], "total": page.total}


def _read_body(read: TitledRead) -> ReadBody:
    family, _, tool = read.tool.partition(".")
    return {
        "id": read.item,
        "title": read.title,
        "user": read.reader,
        "tool": tool,
        "family": family,
        "count": read.times,
        "at": read.last,
    }
