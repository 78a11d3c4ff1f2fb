"""Prune, export and look after conversations over REST."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.items import Item, Patch
from memolith.domain.passages import Block
from memolith.engine.conversations import PruneCandidate
from memolith.tools.call import Call
from memolith.tools.lazy_text import LazyText
from memolith.tools.lookup import find_item
from memolith.tools.sekha.arguments import Filters, FolderFilter, LabelFilter
from memolith.tools.sekha.conversations import (
    conversation_details,
    conversation_markdown,
    exported_message,
)
from memolith.tools.sekha.pruning import MAX_SUGGESTIONS
from memolith.tools.sekha.rest.api import sekha_api
from memolith.tools.sekha.rest.models import (
    Archived,
    ExportBody,
    RebuildState,
    RestPruneReport,
    RestPruneSuggestion,
)

ARCHIVED_IMPORTANCE = 5.0
"""Up to here a conversation is suggested for the archive; a more important one is to be kept."""
MOST_IMPORTANT = 10.0
EMBED_BUDGET_S = 5.0
MAX_IDS = 1000
EXPORT_BATCH = 20


@sekha_api.route("POST", "/api/v1/prune/dry-run", read_only=True)
def prune_dry_run(
    call: Call, *, threshold_days: Annotated[int, Field(ge=0, le=36_500)] = 90
) -> RestPruneReport:
    """Which conversations nobody has touched for so many days; nothing is changed."""
    suggestions = prune_suggestions(call, threshold_days, MOST_IMPORTANT)
    archived = [entry for entry in suggestions if entry["recommendation"] == "archive"]
    return {
        "suggestions": suggestions,
        "total": len(suggestions),
        "total_reviewed": len(suggestions),
        "recommended_archive": len(archived),
        "recommended_keep": len(suggestions) - len(archived),
    }


@sekha_api.route("POST", "/api/v1/prune/execute", idempotent=True)
def prune_execute(
    call: Call, *, conversation_ids: Annotated[list[str], Field(max_length=MAX_IDS)]
) -> Archived:
    """Archive conversations, all or none."""
    items = [find_item(call, "conversation", id, "conversation_ids") for id in conversation_ids]
    for item in items:
        call.engine.writing.revise(call.caller, item.id, Patch(status="archived"))
    return {"archived": len(items), "conversation_ids": [item.id for item in items]}


@sekha_api.route("GET", "/api/v1/export", read_only=True)
def export_conversations(
    call: Call,
    *,
    label: LabelFilter = None,
    folder: FolderFilter = None,
    format: Literal["markdown", "json"] = "markdown",
) -> ExportBody:
    """The conversations with a label or in a folder as one text, the newest first."""
    chosen = Filters(label=label, folder=folder).to_filter()
    ids = [item.id for item in call.engine.reading.list_all(call.caller, chosen)]

    def pieces() -> Iterator[str]:
        return json_pieces(call, ids) if format == "json" else markdown_pieces(call, ids)

    return {"content": LazyText(pieces), "format": format, "conversation_count": len(ids)}


def json_pieces(call: Call, ids: Sequence[str]) -> Iterator[str]:
    """The conversations as a JSON list, one after the other."""
    between = "["
    for item, blocks in in_batches(call, ids):
        yield between + json.dumps(_record(call, item, blocks), ensure_ascii=False)
        between = ", "
    yield "[]" if between == "[" else "]"


def markdown_pieces(call: Call, ids: Sequence[str]) -> Iterator[str]:
    """The conversations as one document, one after the other."""
    between = ""
    for item, blocks in in_batches(call, ids):
        yield between + _markdown(call, item, blocks)
        between = "\n"


def in_batches(call: Call, ids: Sequence[str]) -> Iterator[tuple[Item, list[Block]]]:
    """The conversations, a few of them in memory at a time; those gone meanwhile are left out."""
    for start in range(0, len(ids), EXPORT_BATCH):
        yield from call.engine.reading.read_many(call.caller, ids[start : start + EXPORT_BATCH])


@sekha_api.route("POST", "/api/v1/rebuild-embeddings", status=202, idempotent=True)
def rebuild_embeddings(call: Call) -> RebuildState:
    """Make the vectors that are still missing; those that are there stay right by themselves."""
    call.engine.recall.embed_waiting(call.caller.tenant, EMBED_BUDGET_S)
    pending = call.engine.maintenance.outbox_counts(call.caller.tenant)["pending"]
    return {
        "success": True,
        "status": "started" if pending else "completed",
        "message": "Vectors follow every change by themselves; what was missing is made first.",
        "pending": pending,
    }


def prune_suggestions(
    call: Call, threshold_days: int, importance_threshold: float
) -> list[RestPruneSuggestion]:
    """The conversations up to an importance that nobody has touched for so many days."""
    report = call.engine.conversations.prune(
        call.caller, threshold_days, importance_threshold, MAX_SUGGESTIONS
    )
    now = call.engine.clock.now()
    return [_suggestion(candidate, now) for candidate in report.candidates]


def _suggestion(candidate: PruneCandidate, now: str) -> RestPruneSuggestion:
    days = (_moment(now) - _moment(candidate.last_accessed)).days
    unimportant = candidate.importance <= ARCHIVED_IMPORTANCE
    importance = f"its importance is {candidate.importance:g} of 10"
    return {
        "conversation_id": candidate.item.id,
        "label": candidate.item.title,
        "conversation_label": candidate.item.title,
        "last_accessed": candidate.last_accessed,
        "days_since_access": days,
        "age_days": (_moment(now) - _moment(candidate.item.created_at)).days,
        "message_count": candidate.item.blocks,
        "token_estimate": candidate.tokens,
        "importance_score": candidate.importance,
        "preview": candidate.preview,
        "recommendation": "archive" if unimportant else "keep",
        "reason": f"Nobody has touched it for {days} days, and {importance}.",
    }


def _moment(time: str) -> datetime:
    return datetime.fromisoformat(time)


def _record(call: Call, item: Item, blocks: list[Block]) -> dict[str, object]:
    return {
        "id": item.id,
        **conversation_details(call, item, blocks),
        "messages": [exported_message(block, True) for block in blocks],
    }


def _markdown(call: Call, item: Item, blocks: list[Block]) -> str:
    messages = [exported_message(block, True) for block in blocks]
    conversation = conversation_details(call, item, blocks)
    return conversation_markdown(item.title, {"id": item.id, **conversation}, messages)
