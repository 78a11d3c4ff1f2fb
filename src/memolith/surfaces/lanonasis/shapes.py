"""What the LanOnasis tools share: their family, its words for errors, the shape of a memory, whom a `user_id` means."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Literal, cast

from pydantic import Field, JsonValue, WithJsonSchema

from memolith import errors
from memolith.engine.model import Block, Caller, Item
from memolith.registry import Call, Dialect, Family
from memolith.surfaces.names import bare_id

Object = dict[str, JsonValue]
Body = dict[str, object]
Tags = list[str] | None
Named = Annotated[str, Field(min_length=1)]
MemoryType = Literal["context", "project", "knowledge", "reference", "personal", "workflow"]
Status = Literal["active", "archived", "draft", "deleted"]
MemoryId = Annotated[str, Field(description="The id of the memory.")]
UserId = Annotated[str, Field(description="Whose memories; another user's id needs an admin key.")]

# Left out, it is what the tenant has set; the schema shows what that is at first.
Share = Annotated[float, Field(ge=0, le=1, json_schema_extra={"default": 0.7})]

# What other families call the same: a memory keeps the word of whoever wrote it.
TYPES: dict[str, tuple[str, ...]] = {
    "context": ("context",), "project": ("project", "decisions", "tech-debt", "blockers", "progress"),
    "knowledge": ("knowledge", "patterns", "learnings", "security", "performance"),
    "reference": ("reference", "apis", "config"), "personal": ("personal",), "workflow": ("workflow", "testing")}
TYPE_OF = {name: type for type, names in TYPES.items() for name in names}
STATUSES = {"active": ("active",), "archived": ("archived", "superseded", "consolidated"),
            "draft": ("draft", "pending"), "deleted": ()}
STATUS_OF = {name: status for status, names in STATUSES.items() for name in names}
OWN = ("topic_id", "summary", "metadata")
CODES: dict[type[errors.MemolithError], tuple[int, str]] = {
    errors.Malformed: (-32602, "Invalid Params"), errors.Unauthenticated: (-32001, "Authentication Required"),
    errors.Denied: (-32002, "Permission Denied"), errors.RateLimited: (-32003, "Rate Limit Exceeded"),
    errors.NotFound: (-32004, "Resource Not Found"), errors.Unavailable: (-32000, "Server Error"),
    errors.DiskFull: (-32000, "Server Error")}
JSON = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}


def coded(error: errors.MemolithError) -> tuple[int, str, Object]:
    """The documented code, a message and more about it."""
    other = (-32603, "Internal Error") if error.status >= 500 else (-32005, "Validation Error")
    code, words = next((found for kind, found in CODES.items() if isinstance(error, kind)), other)
    # Only projects have names that may be taken; inside, a name is a title.
    field = "name" if isinstance(error, errors.AlreadyExists) else error.field
    return code, error.message, {"details": words, **({"field": field} if field else {})}


lanonasis = Family("lanonasis", Dialect(failure=lambda error: dict(zip(("code", "message", "data"), coded(error),
                                                                       strict=True)), jsonrpc=coded),
                   instructions="Memories with a title, a type and tags; a vault for the keys of vendors; insights.")


def schema(optional: str = "", **types: object) -> Body:
    """The schema of an object by the types of its fields, `[x]` for a list of them; what is optional may be null."""
    def of(kind: object, name: str) -> Body:
        if isinstance(kind, list):
            return {"type": "array", "items": of(kind[0], "")}
        if not isinstance(kind, type):
            return cast(Body, kind)
        return {"type": [JSON[kind], "null"]} if name in optional.split() else {"type": JSON[kind]}

    return {"type": "object", "properties": {name: of(kind, name) for name, kind in types.items()},
            "required": [name for name in types if name not in optional.split()]}


NOTED = {"warnings": [str]}
MEMORY = schema("summary topic_id project_ref last_accessed redactions", id=str, title=str, content=str,
                memory_type={"enum": list(TYPES)}, tags=[str], created_at=str, updated_at=str,
                status={"enum": list(STATUSES)}, summary=str, topic_id=str, project_ref=str, metadata=dict, user_id=str,
                access_count=int, last_accessed=str, redactions=dict)
SCORED = {**MEMORY, "properties": {**cast(Body, MEMORY["properties"]), "similarity_score": {"type": "number"}},
          "required": [*cast("list[str]", MEMORY["required"]), "similarity_score"]}
Memory = Annotated[Body, WithJsonSchema(MEMORY)]


def memories(call: Call, found: Sequence[tuple[Item, list[Block]]]) -> list[Body]:
    """The items as memories, with how often they were read."""
    reads = call.engine.accesses(call.caller, [item.id for item, _ in found])
    return [_memory(item, blocks, *reads.get(item.id, (0, None))) for item, blocks in found]


def memory(call: Call, id: str) -> Body:
    """The memory as it is now, forgotten or not."""
    return memories(call, [call.engine.read(call.caller, id, forgotten=True)])[0]


def scored(call: Call, scores: dict[str, float]) -> list[Body]:
    """Whole memories with their scores, in the order given."""
    found = call.engine.read_many(call.caller, list(scores), forgotten=True)
    return [{**one, "similarity_score": scores[str(one["id"])]} for one in memories(call, found)]


def noted(warnings: Sequence[str]) -> Body:
    """Warnings where there are any."""
    return {"warnings": list(warnings)} if warnings else {}


def _memory(item: Item, blocks: list[Block], reads: int, last: str | None) -> Body:
    kept = item.attributes
    others = {name: value for name, value in kept.items() if name not in OWN}
    return {"id": item.id, "title": item.title or blocks[0].text.strip().splitlines()[0][:80],
            "content": "\n\n".join(block.text for block in blocks), "memory_type": memory_type(item),
            "tags": list(item.tags), "status": "deleted" if item.forgotten else STATUS_OF.get(item.status, "active"),
            "summary": kept.get("summary"), "topic_id": kept.get("topic_id"), "project_ref": item.scope.project,
            "metadata": others | cast(Object, kept.get("metadata") or {}), "user_id": item.scope.owner,
            "access_count": reads, "last_accessed": last, "created_at": item.created_at, "updated_at": item.updated_at}


def memory_type(item: Item) -> str:
    """The type, also where another family wrote the memory."""
    return TYPE_OF.get(item.scope.namespace or "", "context")


def the(call: Call, kind: str, id: str, field: str) -> Item:
    """The item of that kind, or an error that says which argument named none."""
    with suppress(errors.NotFound):
        if (item := call.engine.get(call.caller, bare_id(id))).kind == kind:
            return item
    raise errors.NotFound(f"There is no {kind} {id[:100]!r}.", field=field, id=id)


def acting_for(call: Call, user_id: str | None) -> Call:
    """The call as that user; at this machine there is but one, and over HTTP another than oneself is for admins."""
    caller = call.caller
    if user_id is not None and user_id != caller.user and not call.local:
        if not caller.admin:
            raise errors.Denied("Only an admin may ask for another user.", field="user_id")
        caller = Caller(caller.tenant, user_id)
    return replace(call, caller=replace(caller, admin=False))


def measured(call: Call, tags: Tags = None, **given: str | None) -> None:
    """Refuse what is longer than this tenant allows."""
    limits = call.engine.configuration.values(call.caller.tenant)
    if len(tags or ()) > (most := int(limits["max_tags"])):
        raise errors.InvalidInput(f"A memory has at most {most} tags.", field="tags")
    for name, value in [*given.items(), *(("tag", tag) for tag in tags or ())]:
        if value and len(value) > (most := int(limits[f"max_{name}_length"])):
            raise errors.InvalidInput(f"{name} has {len(value):,} characters; at most {most:,} are allowed.",
                                      field="tags" if name == "tag" else name)
        if name == "title" and value is not None and not value.strip():
            raise errors.InvalidInput("A title cannot be blank.", field="title")
