"""The Sekha family: conversations with a label, a folder and an importance, found by the message."""

from io import StringIO
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.blocks import join_blocks
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.chat_import import NOTHING, Report
from memolith.engine.conversations import word_count
from memolith.engine.validation import folder_path, when
from memolith.errors import InvalidInput, MemolithError
from memolith.tools.call import Call
from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.item_views import (
    CHANGED,
    ItemId,
    Limit,
    Object,
    bare_id,
    changed,
    given,
    manage,
    the,
)
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape
from memolith.tools.signature import Argument

REACH, EXCERPT, MOST_SUGGESTED, END_OF_DAY = 8, 200, 1000, "T23:59:59.999999"
Id = Annotated[str, Field(description="The id of the conversation.")]
Label = Annotated[
    str, Field(min_length=1, max_length=500, pattern=r"\S", description="What it is called.")
]
Folder = Annotated[str, Field(description="A path like /projects/api.")]
Below = Annotated[str | None, Field(description="This folder and those below it.")]
Named = Annotated[str | None, Field(description="Exactly this label.")]
Score = Annotated[
    int, Field(ge=1, le=10, description="From 1 to 10; 10 is never suggested for pruning.")
]
More = Annotated[bool, Field(description="Whether to tell more than the messages.")]
Bound = Annotated[float | None, Field(ge=0, le=10)]
Days = Annotated[int, Field(ge=0, le=36_500, description="Not looked at for so many days.")]
Most = Annotated[float, Field(ge=0, le=10, description="At most so important.")]
Offset = Annotated[int, Field(ge=0, le=10**9)]
Status = Literal["active", "archived"]
ABOUT = {
    "label": str,
    "status": str,
    "folder": str,
    "importance_score": float,
    "word_count": int,
    "session_count": int,
    "created_at": str,
    "updated_at": str,
}
RESULT = shape(
    conversation_id=str,
    message_id=str,
    score=float,
    content=str,
    label=str,
    folder=str,
    timestamp=str,
    metadata=dict,
)
SUGGESTION = shape(
    conversation_id=str,
    conversation_label=str,
    last_accessed=str,
    preview=str,
    message_count=int,
    token_estimate=int,
    importance_score=float,
    recommendation={"enum": ["archive", "delete"]},
)
MESSAGE = shape("metadata", role=str, content=str, timestamp=str, metadata=dict)


class Message(Argument):
    """One message."""

    role: Annotated[
        str, Field(min_length=1, max_length=100, pattern=r"\S", description="Who speaks.")
    ]
    content: Annotated[str, Field(min_length=1, pattern=r"\S", description="What is said.")]
    timestamp: Annotated[str | None, Field(description="When, as ISO 8601; else now.")] = None
    metadata: Object | None = None

    def block(self) -> Block:
        at = self.timestamp and when("messages.timestamp", self.timestamp)
        return Block(self.content, self.role, at, attributes=self.metadata or {})


class Filters(Argument):
    """What a search is limited to."""

    folder: Below = None
    label: Named = None
    status: Status | None = None
    role: Annotated[str | None, Field(description="Who speaks.")] = None
    importance_min: Bound = None
    importance_max: Bound = None
    date_from: Annotated[
        str | None, Field(min_length=1, description="Messages from this day or time on.")
    ] = None
    date_to: Annotated[
        str | None, Field(min_length=1, description="Messages up to this time or whole day.")
    ] = None
    conversation_id: Annotated[str | None, Field(description="Only this conversation.")] = None

    def chosen(self) -> Filter:
        since = self.date_from and when("filters.date_from", self.date_from)
        until = self.date_to and when(
            "filters.date_to", self.date_to + END_OF_DAY * (len(self.date_to) <= 10)
        )
        path = folder_path(self.folder or "")
        tests = [
            ("folder", "under", path if path != "/" else None),
            ("importance_score", "ge", self.importance_min),
            ("importance_score", "le", self.importance_max),
        ]
        return Filter(
            kinds=("conversation",),
            statuses=_one(self.status),
            speakers=_one(self.role),
            titles=_one(self.label),
            since=since,
            until=until,
            ids=_one(self.conversation_id and bare_id(self.conversation_id)),
            where=tuple(
                Condition(name, op, value) for name, op, value in tests if value is not None
            ),
        )


def failure(error: MemolithError) -> Body:
    """The documented envelope; it has no place for a field, so the message names it."""
    field = {"title": "label", "content": "messages"}.get(error.field or "", error.field or "")
    told = error.message if field.split(".")[-1] in error.message else f"{field}: {error.message}"
    return {"success": False, "data": None, "error": told}


sekha = Family(
    "sekha",
    Dialect(
        lambda body: {"success": True, "data": body, "error": None},
        failure,
        schema=lambda result: shape(
            success=bool,
            data={"anyOf": [result, {"type": "null"}]},
            error={"type": ["string", "null"]},
        ),
    ),
    instructions="Whole conversations, kept in folders and found again by the message.",
)


@sekha.tool(
    shape("redactions", conversation_id=str, id=str, label=str, folder=str, redactions=dict)
)
def memory_store(
    call: Call,
    *,
    label: Label,
    messages: Annotated[list[Message], Field(min_length=1)],
    folder: Folder = "/",
    importance_score: Score = 5,
) -> Body:
    """Keep a conversation, so that each of its messages can be found."""
    draft = Draft(
        "conversation",
        label,
        tuple(message.block() for message in messages),
        attributes={"folder": folder, "importance_score": importance_score},
    )
    written = call.engine.writing.remember(call.caller, draft, call.idempotency_key)
    return {
        "conversation_id": written.item.id,
        "id": written.item.id,
        "label": written.item.title,
        "folder": written.item.attributes["folder"],
        "redactions": dict(written.redactions),
    }


@sekha.tool(
    shape(query=str, total_results=int, limit=int, results=[RESULT], warnings=[str]), read_only=True
)
def memory_search(
    call: Call,
    *,
    query: Annotated[str, Field(min_length=1, pattern=r"\S")],
    filters: Filters | None = None,
    limit: Limit = 10,
    offset: Offset = 0,
) -> Body:
    """Find messages by words and by meaning, the best first; `metadata.context` has the ones before and after."""
    found = call.engine.recall.search(
        call.caller,
        Query(
            query,
            (filters or Filters()).chosen(),
            limit=limit,
            offset=offset,
            per_block=True,
            reach=REACH,
        ),
    )
    results: list[Body] = []
    for hit in found.hits:
        id, number, numbers = (
            hit.item.id,
            hit.passage.block,
            sorted({passage.block for passage in hit.around}),
        )
        messages = dict(zip(numbers, join_blocks(hit.around), strict=True))
        beside = {
            name: {
                "message_id": f"{id}#{place}",
                "role": messages[place].speaker or "user",
                "content": messages[place].text[:EXCERPT],
                "timestamp": messages[place].at,
            }
            for name, place in (("before", number - 1), ("after", number + 1))
            if place in messages
        }
        metadata = {
            **hit.passage.attributes,
            "role": hit.passage.speaker or "user",
            "context": beside,
        }
        results.append(
            {
                "conversation_id": id,
                "message_id": f"{id}#{number}",
                "score": hit.score,
                "content": messages[number].text,
                "label": hit.item.title,
                "timestamp": hit.passage.at,
                "folder": hit.item.attributes.get("folder", "/"),
                "metadata": metadata,
            }
        )
    return {
        "query": query,
        "total_results": found.total,
        "limit": limit,
        "results": results,
        "warnings": list(found.warnings),
    }


@sekha.tool(shape(conversation_id=str, updated_fields=[str], message=str), idempotent=True)
def memory_update(
    call: Call,
    *,
    conversation_id: Id,
    label: Label | None = None,
    folder: Folder | None = None,
    status: Status | None = None,
    importance_score: Score | None = None,
) -> Body:
    """Rename a conversation, move it to another folder, archive it or say how important it is."""
    changes = {
        "label/folder": label or folder,
        "status": status,
        "importance_score": importance_score,
    }
    fields = [name for name, value in changes.items() if value is not None]
    if not fields:
        raise InvalidInput(
            "Say what to change: label, folder, status or importance_score.", field="label"
        )
    item = the(call, "conversation", conversation_id, "conversation_id")
    patch = Patch(
        label,
        status=status,
        attributes=given(folder="/" if folder == "" else folder, importance_score=importance_score),
    )
    call.engine.writing.revise(call.caller, item.id, patch, key=call.idempotency_key)
    return {
        "conversation_id": item.id,
        "updated_fields": fields,
        "message": "Conversation updated successfully",
    }


@sekha.tool(
    shape(
        threshold_days=int,
        importance_threshold=float,
        total_suggestions=int,
        estimated_token_savings=int,
        suggestions=[SUGGESTION],
        warnings=[str],
    ),
    read_only=True,
)
def memory_prune(
    call: Call, *, threshold_days: Days = 30, importance_threshold: Most = 5.0
) -> Body:
    """Suggest conversations to archive or to delete; nothing is changed."""
    found, total, savings = call.engine.conversations.prune(
        call.caller, threshold_days, importance_threshold, MOST_SUGGESTED
    )
    return {
        "threshold_days": threshold_days,
        "importance_threshold": importance_threshold,
        "total_suggestions": total,
        "estimated_token_savings": savings,
        "suggestions": [
            {
                "conversation_id": item.id,
                "conversation_label": item.title,
                "last_accessed": last,
                "message_count": item.blocks,
                "token_estimate": tokens,
                "preview": preview,
                "importance_score": score,
                "recommendation": advice,
            }
            for item, score, last, tokens, preview, advice in found
        ],
        "warnings": [f"The first {len(found):,} are shown."] * (len(found) < total),
    }


@sekha.tool(shape(conversation_id=str, **ABOUT), read_only=True)
def memory_get_context(call: Call, *, conversation_id: Id) -> Body:
    """What a conversation is called, where it lies, how long it is and when it took place; counts as reading it."""
    item, _, about = _read(call, conversation_id)
    return {"conversation_id": item.id, **about}


@sekha.tool(
    shape(
        "conversation markdown",
        conversation=shape(id=str, **ABOUT),
        messages=[MESSAGE],
        format=str,
        include_metadata=bool,
        markdown=str,
    ),
    read_only=True,
)
def memory_export(
    call: Call,
    *,
    conversation_id: Id,
    format: Literal["json", "markdown"] = "json",
    include_metadata: More = True,
) -> Body:
    """A whole conversation, also as a Markdown document; counts as reading it."""
    item, blocks, about = _read(call, conversation_id)
    head = {"id": item.id, **about} if include_metadata else {}
    messages: list[Body] = [
        {
            "role": block.speaker or "user",
            "content": block.text,
            "timestamp": block.at,
            **given(metadata=dict(block.attributes) if include_metadata else None),
        }
        for block in blocks
    ]
    body: Body = {
        **({"conversation": head} if head else {}),
        "messages": messages,
        "format": format,
        "include_metadata": include_metadata,
    }
    if format == "markdown":
        # A document that the import of chats reads again.
        told = "\n".join(f"- **{name.replace('_', ' ')}:** {value}" for name, value in head.items())
        said = (
            f"### {number}. {one['role']}\n\n*{one['timestamp']}*\n\n{one['content']}\n"
            for number, one in enumerate(messages, 1)
        )
        body["markdown"] = "\n".join([f"# {item.title}\n", *([told + "\n"] if told else []), *said])
    return body


@sekha.tool(
    shape(
        "folders labels",
        total_conversations=int,
        average_importance=float,
        folders=[str],
        labels=[str],
    ),
    read_only=True,
)
def memory_stats(call: Call, *, folder: Below = None, label: Named = None) -> Body:
    """How many conversations there are and how important they are on the whole; at most one of folder and label."""
    if folder is not None and label is not None:
        raise InvalidInput("Cannot specify both folder and label", field="folder")
    chosen = Filters(folder=folder, label=label).chosen()
    counts = call.engine.conversations.folder_counts(call.caller, chosen)
    total = sum(count for *_, count in counts)
    average = (
        round(sum(importance * count for _, importance, count in counts) / total, 2)
        if total
        else 0.0
    )
    kind, asked = (
        ("labels", label) if label is not None else ("folders", folder and folder_path(folder))
    )
    names = sorted({name for name, *_ in counts}) if asked is None else [asked] * bool(total)
    return {"total_conversations": total, "average_importance": average, kind: names}


@manage.tool(CHANGED)
def append_messages(
    call: Call,
    *,
    conversation_id: ItemId,
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)],
) -> Body:
    """Add messages at the end of a conversation, as one more session."""
    talk, blocks = (
        the(call, "conversation", conversation_id, "conversation_id"),
        [one.block() for one in messages],
    )
    return changed(call.engine.writing.append(call.caller, talk.id, blocks, call.idempotency_key))


@manage.tool(shape(conversations=[dict], total=int), read_only=True)
def list_conversations(
    call: Call,
    *,
    folder: Below = None,
    status: Status | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Body:
    """A page of conversations, the one that changed last first."""
    chosen = Filters(folder=folder, status=status).chosen()
    page = call.engine.reading.list_items(call.caller, chosen, "updated_at", True, limit, offset)
    return {
        "total": page.total,
        "conversations": [
            {
                "conversation_id": item.id,
                "label": item.title,
                "status": item.status,
                "message_count": item.blocks,
                **item.attributes,
                "created_at": item.created_at,
                "updated_at": item.updated_at,
            }
            for item in page.items
        ],
    }


@manage.tool(CHANGED, destructive=True)
def delete_conversation(call: Call, *, conversation_id: ItemId) -> Body:
    """Take a conversation out of every list and search; `restore_item` brings it back."""
    talk = the(
        call,
        "conversation",
        conversation_id,
        "conversation_id",
        forgotten=bool(call.idempotency_key),
    )
    return changed(call.engine.writing.forget(call.caller, talk.id, key=call.idempotency_key))


@manage.tool(shape(taken=int, extended=int, known=int, messages=int), idempotent=True)
def import_conversations(
    call: Call,
    *,
    content: Annotated[str, Field(min_length=1, description="The whole file.")],
    name: Annotated[
        str, Field(description="Its name, whose end tells what it is.")
    ] = "conversations.json",
    folder: Folder = "",
) -> Body:
    """Keep the chats of a ChatGPT or Claude export, of a Claude Code or Codex transcript or of a Markdown file."""
    report = Report(NOTHING)
    call.engine.chat_import.import_chats(call.caller, StringIO(content), name, folder, report)
    if not report["taken"] + report["extended"] + report["known"]:
        raise InvalidInput(
            f"There is no chat in this: {', '.join(+report) or 'nothing was said'}.",
            field="content",
        )
    return dict(report)


def _read(call: Call, id: str) -> tuple[Item, list[Block], Body]:
    """A conversation, what was said, and all else that is known; each append that was not undone is a session."""
    item, blocks = call.engine.reading.read(
        call.caller, the(call, "conversation", id, "conversation_id").id
    )
    call.engine.reading.note_access(call.caller, item.id)
    return (
        item,
        blocks,
        {
            "label": item.title,
            "status": item.status,
            "folder": item.attributes.get("folder", "/"),
            "importance_score": item.attributes.get("importance_score", 5),
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "session_count": call.engine.conversations.session_count(call.caller, item.id),
            "word_count": word_count(blocks),
        },
    )


def _one(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)
