"""Keep, find, show, change and delete captures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.engine.namespaces import NAMESPACES
from memolith.engine.titles import headline
from memolith.engine.validation import seconds
from memolith.errors import InvalidInput
from memolith.tools.arguments import SearchMode, without_empty
from memolith.tools.call import Call
from memolith.tools.results import conflicts_with, text_with_speakers
from memolith.tools.subcog.dialect import Domain, placement, repository_around, subcog
from memolith.tools.subcog.models import (
    Captured,
    MemoryDeleted,
    MemoryRow,
    MemoryUpdated,
    Namespaces,
    RecalledMemories,
    ScoredMemory,
    WholeMemory,
)
from memolith.tools.subcog.namespaces import Namespace
from memolith.tools.subcog.views import (
    find_memory,
    light_rows,
    medium_rows,
    memory_filter,
    memory_urn,
    whole_memories,
)
from memolith.tools.warnings import warn_of_similar

DEFAULT_LIST_LIMIT = 50
DEFAULT_SEARCH_LIMIT = 10
FOREVER = "0"
"""The value of `ttl` for a memory that does not expire."""
WHO_TAG_PREFIXES = ("user:", "agent:")

MemoryId = Annotated[str, Field(description="Its id, URN or address.")]
Content = Annotated[str, Field(min_length=1)]
Who = Annotated[str | None, Field(max_length=60)]
Detail = Literal["light", "medium", "everything"]


@subcog.tool(example={"content": "Beavers build at night.", "namespace": "patterns"})
def subcog_capture(
    call: Call,
    *,
    content: Content,
    namespace: Namespace,
    tags: list[str] | None = None,
    source: str | None = None,
    domain: Domain = "project",
    ttl: Annotated[str, Field(description="How long it lives, as 7d or 24h; 0 for ever.")] = "0",
    user_id: Who = None,
    agent_id: Who = None,
) -> Captured:
    """Keep what a session found worth knowing, with the project and branch it belongs to."""
    audience, project = placement(call.caller, domain)
    around = repository_around(call) if project else None
    branch = None
    if around is not None:
        branch = around.branch
        if source and Path(source).is_relative_to(around.path):
            source = Path(source).relative_to(around.path).as_posix()
    draft = Draft(
        kind="memory",
        title=headline(content),
        blocks=(Block(content),),
        tags=(*(tags or ()), *who_tags(user_id, agent_id)),
        attributes=without_empty(source=source, branch=branch, user_id=user_id, agent_id=agent_id),
        audience=audience,
        project=project,
        namespace=namespace,
        ttl_s=0 if ttl == FOREVER else seconds("ttl", ttl),
    )
    conflicts = conflicts_with(call, draft)
    written = call.engine.writing.remember(call.caller, draft)
    return {
        "id": written.item.id,
        "urn": memory_urn(written.item),
        "redactions": dict(written.redactions),
        "conflicts": conflicts,
        "warnings": warn_of_similar(call, written.similar),
    }


@subcog.tool(read_only=True, example={"query": "zebra"})
def subcog_recall(
    call: Call,
    *,
    query: Annotated[str | None, Field(description="Left out, empty or *: list.")] = None,
    namespace: Namespace | None = None,
    filter: Annotated[
        str | None, Field(description="As in: ns:decisions tag:a,b -tag:old since:7d source:src/*")
    ] = None,
    mode: SearchMode = "hybrid",
    detail: Detail = "medium",
    limit: Annotated[
        int | None, Field(ge=1, le=1000, description="Else 10, for a list 50.")
    ] = None,
    offset: Annotated[int, Field(ge=0)] = 0,
    user_id: Who = None,
    agent_id: Who = None,
) -> RecalledMemories:
    """Find memories by meaning and words, or list them, newest first."""
    chosen = memory_filter(call, filter or "", namespace, who_tags(user_id, agent_id))
    if query is None or query.strip() in ("", "*"):
        page = call.engine.reading.list_items(
            call.caller, chosen, limit=limit or DEFAULT_LIST_LIMIT, offset=offset
        )
        ids = [item.id for item in page.items]
        return {"results": _rows(call, ids, detail, {}), "total": page.total}
    found = call.engine.recall.search(
        call.caller,
        Query(
            text=query,
            filter=chosen,
            mode=mode,
            limit=limit or DEFAULT_SEARCH_LIMIT,
            offset=offset,
            per_item=True,
            family="subcog",
        ),
    )
    scores = {hit.item.id: hit.score for hit in found.hits}
    call.note_hits(scores)
    return {
        "total": found.total,
        "warnings": list(found.warnings),
        "results": _rows(call, list(scores), detail, scores),
    }


@subcog.tool(read_only=True, example={"memory_id": "one"})
def subcog_get(call: Call, *, memory_id: MemoryId) -> WholeMemory:
    """One whole memory."""
    item = find_memory(call, memory_id)
    call.note_read(item.id)
    return whole_memories(call, [item.id])[0]


@subcog.tool(idempotent=True, needs_read=True, example={"memory_id": "one", "tags": ["striped"]})
def subcog_update(
    call: Call,
    *,
    memory_id: MemoryId,
    content: Content | None = None,
    tags: Annotated[list[str] | None, Field(description="All tags it is to have.")] = None,
) -> MemoryUpdated:
    """Change the text or the tags of a memory; its history keeps what was there."""
    if content is None and tags is None:
        raise InvalidInput("Say what to change: content or tags.", field="content")
    item = find_memory(call, memory_id)
    updated = []
    new_title = None
    new_blocks = None
    new_tags = None
    if content is not None:
        updated.append("content")
        new_blocks = (Block(content),)
        _, old_blocks = call.engine.reading.read(call.caller, item.id)
        # A title that was made from the old text follows the new one; a given title stays.
        if item.title == headline(text_with_speakers(old_blocks)):
            new_title = headline(content)
    if tags is not None:
        updated.append("tags")
        who = [tag for tag in item.tags if tag.startswith(WHO_TAG_PREFIXES)]
        new_tags = (*tags, *who)
    patch = Patch(title=new_title, blocks=new_blocks, tags=new_tags)
    written = call.engine.writing.revise(call.caller, item.id, patch)
    return {
        "id": item.id,
        "urn": memory_urn(item),
        "tags": list(written.item.tags),
        "updated_at": written.item.updated_at,
        "updated": updated,
        "redactions": dict(written.redactions),
    }


@subcog.tool(destructive=True, example={"memory_id": "one"})
def subcog_delete(
    call: Call,
    *,
    memory_id: MemoryId,
    hard: Annotated[bool, Field(description="Erase it for good.")] = False,
) -> MemoryDeleted:
    """Delete a memory; it can be restored unless it is erased."""
    item = find_memory(call, memory_id, forgotten=hard)
    if hard:
        call.engine.writing.erase(call.caller, item.id)
    else:
        call.engine.writing.forget(call.caller, item.id)
    return {
        "id": item.id,
        "urn": memory_urn(item),
        "status": "erased" if hard else "tombstoned",
    }


@subcog.tool(read_only=True)
def subcog_namespaces(call: Call) -> Namespaces:
    """The sorts of memories, and words that hint at them."""
    return {
        "namespaces": [
            {"name": name, "description": description, "signal_words": list(signal_words)}
            for name, (description, signal_words) in NAMESPACES.items()
        ]
    }


def who_tags(user_id: str | None, agent_id: str | None) -> list[str]:
    """The tags that say for whom a memory was captured, and by which agent."""
    tags = []
    if user_id:
        tags.append(f"user:{user_id}")
    if agent_id:
        tags.append(f"agent:{agent_id}")
    return tags


AnyRow = MemoryRow | WholeMemory | ScoredMemory


def _rows(
    call: Call, ids: Sequence[str], detail: Detail, scores: Mapping[str, float]
) -> list[AnyRow]:
    """The memories with as much of them as the detail asks for, and their scores."""
    rows: list[AnyRow] = []
    if detail == "light":
        rows.extend(light_rows(call, ids))
    elif detail == "medium":
        for row in medium_rows(call, ids):
            if scores:
                row["score"] = scores[row["id"]]
            rows.append(row)
    else:
        for memory in whole_memories(call, ids):
            if scores:
                rows.append({**memory, "score": scores[memory["id"]]})
            else:
                rows.append(memory)
    return rows
