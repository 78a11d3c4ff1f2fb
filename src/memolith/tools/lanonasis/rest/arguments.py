"""Types of arguments of LanOnasis' REST routes, and the checks that several routes make."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from memolith.domain.queries import Filter
from memolith.errors import Denied, NotFound
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import acting_for
from memolith.tools.lanonasis.memories import memory_filter
from memolith.tools.lanonasis.memory_types import MemoryType
from memolith.tools.signature import Argument

OrganizationId = Annotated[str | None, Field(description="The organisation of the key.")]
Offset = Annotated[int, Field(ge=0, le=10**9)]
ChunkSize = Annotated[int, Field(ge=100, le=10_000)]
Overlap = Annotated[int, Field(ge=0, le=500)]
MemoryTypes = Annotated[list[MemoryType] | None, Field(description="One of these types.")]
QueryScope = Literal["personal", "team", "organization", "hybrid"]
ResponseFormat = Annotated[
    Literal["json", "markdown"], Field(description="Answers are objects in both cases.")
]
"""The SDK always sends it, and its types want an object whatever it is."""
ChunkingStrategy = Literal["semantic", "fixed-size", "paragraph", "sentence", "code-block"]


class Chunking(Argument):
    """How a client would have a text cut."""

    strategy: ChunkingStrategy | None = None
    maxChunkSize: ChunkSize | None = None
    overlap: Overlap | None = None


class Preprocessing(Argument):
    """What is to be done with a text before it is kept."""

    chunking: Chunking | None = None
    cleanContent: bool = False
    extractMetadata: bool = False


class DateRange(Argument):
    """From when to when."""

    from_: Annotated[str | None, Field(alias="from")] = None
    to: str | None = None


class SearchFilters(Argument):
    """What a search is limited to, in one object."""

    tags: list[str] | None = None
    project_id: str | None = None
    topic_id: str | None = None
    date_range: DateRange | None = None


def check_organization(call: Call, organization_id: str | None) -> None:
    """Refuse any organisation but the caller's.

    A client without an organisation sends the user in its place.
    """
    if organization_id in (None, call.caller.tenant, call.caller.user):
        return
    raise NotFound(
        f"This key belongs to the organisation {call.caller.tenant!r}. Leave the organisation out, "
        "or make a key with `memolith keys create --tenant`.",
        field="organization_id",
    )


def split_tags(tags: str | None) -> list[str] | None:
    """The tags of a query, which a client joins with commas."""
    if tags is None:
        return None
    return [tag.strip() for tag in tags.split(",") if tag.strip()]


def tidied(text: str) -> str:
    """The text without spaces at the ends of lines, and with one empty line where many were."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        kept = line.rstrip()
        if kept or (lines and lines[-1]):
            lines.append(kept)
    return "\n".join(lines)


class MemoryContext(NamedTuple):
    """Which memories a client wants to be looked at."""

    organization_id: str | None = None
    topic_id: str | None = None
    memory_types: list[MemoryType] | None = None
    query_scope: QueryScope | None = None

    def chosen(self, call: Call) -> Filter:
        """The filter that the engine understands.

        Unless the scope is wider, these are the caller's own memories; else all that they see.
        """
        check_organization(call, self.organization_id)
        chosen = memory_filter(self.memory_types or [], self.topic_id, None, None, None)
        if self.query_scope in (None, "personal"):
            return replace(chosen, owner=call.caller.user)
        return chosen


def for_user(call: Call, user_id: str, field: str) -> Call:
    """The call as that user; only an admin may act for another one than the key does."""
    caller = call.caller
    if user_id != caller.user and not caller.admin and not call.local:
        raise Denied(
            f"This key speaks for the user {caller.user!r}. Send that user id, or make a key with "
            "`memolith keys create --user`.",
            field=field,
        )
    return acting_for(call, user_id)


def days_between(earlier: str, later: str) -> int:
    """How many whole days lie between two times."""
    span = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return max(span.days, 0)
