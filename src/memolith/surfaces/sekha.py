"""The Sekha family: conversations with a label, a folder and an importance, found by the message."""
# ruff: noqa: UP013 - shapes are read best side by side

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired

from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from memolith.engine.conversations import (
    below,
    folder_of,
    folder_path,
    importance_of,
    numbered,
    sessions,
    stale,
    word_count,
)
from memolith.engine.intake import when
from memolith.engine.matching import checked
from memolith.engine.model import Block, Condition, Draft, Filter, Hit, Item, Patch
from memolith.engine.recall import Query
from memolith.errors import InvalidInput, MemolithError, NotFound
from memolith.registry import Argument, Call, Dialect, Family
from memolith.schemas.plain import Schema
from memolith.surfaces.names import bare_id

REACH, EXCERPT = 8, 200
MOST_SUGGESTED = 1000
DAY, END_OF_DAY = len("2026-01-31"), "T23:59:59.999999"
FIELDS = {"title": "label", "content": "messages"}

Object = dict[str, JsonValue]
Id = Annotated[str, Field(description="The id of the conversation.")]
Label = Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S", description="What it is called.")]
Folder = Annotated[str, Field(description="A path like /work/backend.")]
Score = Annotated[int, Field(ge=1, le=10, description="From 1 to 10; 10 is never suggested for pruning.")]
Bound = Annotated[float | None, Field(ge=0, le=10)]
Status = Literal["active", "archived"]
Format = Literal["json", "markdown"]

Stored = TypedDict("Stored", {"conversation_id": str, "id": str, "label": str, "folder": str,
                              "redactions": NotRequired[dict[str, int]]})
Result = TypedDict("Result", {"conversation_id": str, "message_id": str, "score": float, "content": str, "label": str,
                              "folder": str, "timestamp": str, "metadata": Object})
Results = TypedDict("Results", {"query": str, "total_results": int, "limit": int, "results": list[Result],
                                "warnings": NotRequired[list[str]]})
Updated = TypedDict("Updated", {"conversation_id": str, "updated_fields": list[str], "message": str})
Suggestion = TypedDict("Suggestion", {
    "conversation_id": str, "conversation_label": str, "last_accessed": str, "message_count": int,
    "token_estimate": int, "importance_score": float, "preview": str, "recommendation": Literal["archive", "delete"]})
Pruned = TypedDict("Pruned", {
    "threshold_days": int, "importance_threshold": float, "total_suggestions": int, "estimated_token_savings": int,
    "suggestions": list[Suggestion], "warnings": NotRequired[list[str]]})
About = TypedDict("About", {"label": str, "status": str, "folder": str, "importance_score": float, "word_count": int,
                            "session_count": int, "created_at": str, "updated_at": str})
Said = TypedDict("Said", {"role": str, "content": str, "timestamp": str, "metadata": NotRequired[Object]})


class Context(About):
    """All about a conversation but its messages."""

    conversation_id: str


class Conversation(About):
    """The same in an export."""

    id: str


Exported = TypedDict("Exported", {"conversation": NotRequired[Conversation], "messages": list[Said], "format": Format,
                                  "include_metadata": bool, "markdown": NotRequired[str]})
Stats = TypedDict("Stats", {"total_conversations": int, "average_importance": float, "folders": NotRequired[list[str]],
                            "labels": NotRequired[list[str]]})


class Message(Argument):
    """One message."""

    role: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S", description="Who speaks.")]
    content: Annotated[str, Field(min_length=1, pattern=r"\S", description="What is said.")]
    timestamp: Annotated[str | None, Field(description="When, as ISO 8601; else now.")] = None
    metadata: Object | None = None

    def block(self) -> Block:
        """The message as the engine keeps it."""
        at = None if self.timestamp is None else when("messages.timestamp", self.timestamp)
        return Block(self.content, self.role, at, attributes=self.metadata or {})


Messages = Annotated[list[Message], Field(min_length=1, description="What was said, in order.")]


class Filters(Argument):
    """What a search is limited to."""

    folder: Annotated[str | None, Field(description="This folder and those below it.")] = None
    label: Annotated[str | None, Field(description="Exactly this label.")] = None
    status: Status | None = None
    role: Annotated[str | None, Field(description="Who speaks.")] = None
    importance_min: Bound = None
    importance_max: Bound = None
    date_from: Annotated[str | None, Field(min_length=1, description="Messages from this day or time on.")] = None
    date_to: Annotated[str | None, Field(min_length=1, description="Messages up to this time or whole day.")] = None
    conversation_id: Annotated[str | None, Field(description="Only this conversation.")] = None

    def chosen(self) -> Filter:
        """The same for the engine."""
        low, high = self.importance_min or 0, 10 if self.importance_max is None else self.importance_max
        since = self.date_from and when("filters.date_from", self.date_from)
        until = self.date_to and when("filters.date_to", self.date_to + END_OF_DAY * (len(self.date_to) <= DAY))
        if low > high or (since and until and since > until):
            raise InvalidInput(f"filters: {'importance_min' if low > high else 'date_from'} is above its upper bound.")
        return Filter(
            kinds=("conversation",), statuses=_one(self.status), speakers=_one(self.role), titles=_one(self.label),
            since=since, until=until, ids=_one(self.conversation_id and bare_id(self.conversation_id)),
            where=(*below(self.folder or "/"), *(Condition("importance_score", op, bound) for op, bound in (
                ("ge", self.importance_min), ("le", self.importance_max)) if bound is not None)))


def failure(error: MemolithError) -> Schema:
    """The documented envelope; it has no place for a field, so the message names it."""
    field = FIELDS.get(error.field or "", error.field or "")
    return {"success": False, "data": None, "error": error.message if field.split(".")[-1] in error.message
            else f"{field}: {error.message}"}


def envelope(schema: Schema) -> Schema:
    """The schema of the envelope around a result."""
    return {"type": "object", "required": ["success", "data", "error"], "properties": {
        "success": {"type": "boolean"}, "data": {"anyOf": [schema, {"type": "null"}]},
        "error": {"type": ["string", "null"]}}}


sekha = Family("sekha", Dialect(lambda body: {"success": True, "data": body, "error": None}, failure, schema=envelope),
               instructions="Whole conversations, kept in folders and found again by the message.")


@sekha.tool()
def memory_store(call: Call, *, label: Label, messages: Messages, folder: Folder = "/",
                 importance_score: Score = 5) -> Stored:
    """Keep a conversation, so that each of its messages can be found."""
    path = folder_path(folder)
    draft = Draft("conversation", label, tuple(message.block() for message in messages),
                  attributes={"folder": path, "importance_score": importance_score})
    written = call.engine.remember(call.caller, draft, call.idempotency_key)
    stored = Stored(conversation_id=written.item.id, id=written.item.id, label=written.item.title, folder=path)
    return {**stored, "redactions": dict(written.redactions)} if written.redactions else stored


@sekha.tool(read_only=True)
def memory_search(call: Call, *, query: Annotated[str, Field(min_length=1, pattern=r"\S")],
                  filters: Filters | None = None, limit: Annotated[int, Field(ge=1, le=100)] = 10,
                  offset: Annotated[int, Field(ge=0, le=10**9)] = 0) -> Results:
    """Find messages by words and by meaning, the best first; `metadata.context` has the ones before and after."""
    found = call.engine.recall(call.caller, Query(query, (filters or Filters()).chosen(), limit=limit, offset=offset,
                                                  per_block=True, reach=REACH))
    results = Results(query=query, total_results=found.total, limit=limit, results=[_result(hit) for hit in found.hits])
    return {**results, "warnings": list(found.warnings)} if found.warnings else results


@sekha.tool(idempotent=True)
def memory_update(call: Call, *, conversation_id: Id, label: Label | None = None, folder: Folder | None = None,
                  status: Status | None = None, importance_score: Score | None = None) -> Updated:
    """Rename a conversation, move it to another folder, archive it or say how important it is."""
    given = {"label/folder": label or folder, "status": status, "importance_score": importance_score}
    if not any(value is not None for value in given.values()):
        raise InvalidInput("Say what to change: label, folder, status or importance_score.", field="label")
    attributes: Object = {} if folder is None else {"folder": folder_path(folder)}
    if importance_score is not None:
        attributes["importance_score"] = importance_score
    item = _conversation(call, conversation_id)
    call.engine.revise(call.caller, item.id, Patch(label, attributes=attributes, status=status),
                       key=call.idempotency_key)
    return Updated(conversation_id=item.id, message="Conversation updated successfully",
                   updated_fields=[name for name, value in given.items() if value is not None])


@sekha.tool(read_only=True)
def memory_prune(call: Call, *, threshold_days: Annotated[int, Field(
        ge=0, le=36_500, description="Not looked at for so many days.")] = 30, importance_threshold: Annotated[
        float, Field(ge=0, le=10, description="At most so important.")] = 5.0) -> Pruned:
    """Suggest conversations to archive or to delete; nothing is changed."""
    found, total, tokens = stale(call.engine, call.caller, threshold_days, importance_threshold, MOST_SUGGESTED)
    pruned = Pruned(threshold_days=threshold_days, importance_threshold=importance_threshold, total_suggestions=total,
                    estimated_token_savings=tokens, suggestions=[
        {"conversation_id": one.item.id, "conversation_label": one.item.title, "last_accessed": one.last_accessed,
         "message_count": one.item.blocks, "token_estimate": one.tokens, "preview": one.preview,
         "importance_score": float(importance_of(one.item)), "recommendation": one.recommendation} for one in found])
    return {**pruned, "warnings": [f"The first {len(found):,} are shown."]} if len(found) < total else pruned


@sekha.tool(read_only=True)
def memory_get_context(call: Call, *, conversation_id: Id) -> Context:
    """What a conversation is called, where it lies, how long it is and when it took place; counts as reading it."""
    item, blocks = _read(call, conversation_id)
    return {"conversation_id": item.id, **_about(call, item, blocks)}


@sekha.tool(read_only=True)
def memory_export(call: Call, *, conversation_id: Id, format: Format = "json", include_metadata: Annotated[
        bool, Field(description="Whether to tell more than who said what and when.")] = True) -> Exported:
    """A whole conversation, also as a Markdown document; counts as reading it."""
    item, blocks = _read(call, conversation_id)
    messages = [Said(role=block.speaker or "user", content=block.text, timestamp=block.at or item.created_at)
                for block in blocks]
    exported = Exported(messages=messages, format=format, include_metadata=include_metadata)
    if include_metadata:
        exported["conversation"] = {"id": item.id, **_about(call, item, blocks)}
        for message, block in zip(messages, blocks, strict=True):
            if block.attributes:
                message["metadata"] = dict(block.attributes)
    if format == "markdown":
        exported["markdown"] = _markdown(item.title, exported.get("conversation"), messages)
    return exported


@sekha.tool(read_only=True)
def memory_stats(call: Call, *, folder: Annotated[str | None, Field(description="This folder and those below it.")]
                 = None, label: Annotated[str | None, Field(description="Exactly this label.")] = None) -> Stats:
    """How many conversations there are and how important they are on the whole; at most one of folder and label."""
    if folder is not None and label is not None:
        raise InvalidInput("Cannot specify both folder and label", field="folder")
    chosen = Filter(kinds=("conversation",), titles=_one(label), where=below(folder or "/"))
    with call.engine.store.reading(call.caller.tenant) as rows:
        counts = rows.folders(call.caller, checked(chosen))
    total = sum(count for _, _, count in counts)
    average = round(sum(importance * count for _, importance, count in counts) / total, 2) if total else 0.0
    if label is not None:
        return Stats(total_conversations=total, average_importance=average, labels=[label] if total else [])
    names = sorted({name for name, _, _ in counts}) if folder is None else [folder_path(folder)] if total else []
    return Stats(total_conversations=total, average_importance=average, folders=names)


def _one(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _conversation(call: Call, id: str) -> Item:
    if (item := call.engine.get(call.caller, bare_id(id))).kind != "conversation":
        raise NotFound(f"There is no conversation {id[:100]!r}.", id=id)
    return item


def _read(call: Call, id: str) -> tuple[Item, list[Block]]:
    item = _conversation(call, id)
    call.engine.note_read(call.caller, item.id)
    return call.engine.read(call.caller, item.id)


def _about(call: Call, item: Item, blocks: Sequence[Block]) -> About:
    return About(label=item.title, status=item.status, folder=folder_of(item), importance_score=importance_of(item),
                 word_count=word_count(blocks), session_count=sessions(call.engine, call.caller, item.id),
                 created_at=item.created_at, updated_at=item.updated_at)


def _result(hit: Hit) -> Result:
    messages, number = numbered(hit.around), hit.passage.block
    beside: Object = {name: {"message_id": f"{hit.item.id}#{place}", "role": messages[place].speaker or "user",
                             "content": messages[place].text[:EXCERPT], "timestamp": messages[place].at}
                      for name, place in (("before", number - 1), ("after", number + 1)) if place in messages}
    return Result(conversation_id=hit.item.id, message_id=f"{hit.item.id}#{number}", score=hit.score,
                  content=messages[number].text, label=hit.item.title, folder=folder_of(hit.item),
                  timestamp=hit.passage.at, metadata={**hit.passage.attributes, "role": hit.passage.speaker or "user",
                                                      "context": beside})


def _markdown(label: str, about: Conversation | None, messages: Sequence[Said]) -> str:
    """The conversation as a document, which the import of chats reads again."""
    told = [f"- **{name.replace('_', ' ')}:** {value}" for name, value in (about or {}).items() if name != "label"]
    parts = [f"# {label}", *(["\n".join(told)] if told else [])]
    for number, message in enumerate(messages, 1):
        parts += [f"### {number}. {message['role']}", f"*{message['timestamp']}*", message["content"]]
    return "\n\n".join(parts) + "\n"
