"""Status, garbage collection, reindexing, consolidation and enrichment of captures."""

import time
from collections import Counter
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.queries import Filter
from memolith.engine.branch_cleanup import CleanupRequest
from memolith.engine.consolidation import ConsolidationResult
from memolith.engine.validation import seconds
from memolith.errors import InvalidInput
from memolith.tools.call import Call
from memolith.tools.results import text_with_speakers
from memolith.tools.subcog.captures import MemoryId
from memolith.tools.subcog.dialect import repository_around, subcog
from memolith.tools.subcog.models import (
    CleanedUp,
    Consolidated,
    EnrichedMemory,
    Reindexed,
    ServerStatus,
    SyncDeprecated,
)
from memolith.tools.subcog.namespaces import Namespace, namespace_of
from memolith.tools.subcog.views import find_memory, memory_filter

MAX_SHOWN_TAGS = 10
DryRun = Annotated[bool, Field(description="Only tell what would be done.")]


@subcog.tool(read_only=True)
def subcog_status(call: Call) -> ServerStatus:
    """Where this server works, how it keeps memories, and what they are about."""
    around = repository_around(call)
    reading = call.engine.reading
    chosen = memory_filter(call)
    namespace_counts = Counter[str]()
    for stored, count in reading.count_by(call.caller, "namespace", chosen).items():
        namespace_counts[namespace_of(stored)] += count
    newest = reading.list_items(call.caller, chosen)
    recent_tags = dict.fromkeys(tag for item in newest.items for tag in item.tags)
    tag_counts = Counter(reading.count_by(call.caller, "tag", chosen))
    store_name = call.engine.maintenance.store_name
    _, embedding_model = call.engine.recall.state()
    return {
        "repository": {
            "path": around.path if around else None,
            "branch": around.branch if around else None,
            "project_id": call.caller.project,
        },
        "storage": {
            "persistence": store_name,
            "index": store_name,
            "vector": embedding_model,
        },
        "statistics": {
            "total_count": namespace_counts.total(),
            "namespace_counts": dict(namespace_counts),
            "recent_topics": list(recent_tags)[:MAX_SHOWN_TAGS],
            "top_tags": [
                {"tag": tag, "count": count}
                for tag, count in tag_counts.most_common(MAX_SHOWN_TAGS)
            ],
        },
    }


@subcog.tool(destructive=True, example={"purge": True})
def subcog_gc(
    call: Call,
    *,
    dry_run: DryRun = False,
    branch: Annotated[str | None, Field(description="Only memories of this branch.")] = None,
    purge: Annotated[bool, Field(description="Also erase what was deleted.")] = False,
    older_than: Annotated[
        str | None, Field(description="Erase only what was deleted so long ago, as 30d.")
    ] = None,
) -> CleanedUp:
    """Delete your memories of branches that the repository around the server no longer has."""
    if older_than is not None and not purge:
        raise InvalidInput("older_than belongs to purge; give both.", field="older_than")
    around = repository_around(call)
    alive_branches = around.branches() if around else None
    if alive_branches is None and not purge:
        raise InvalidInput(
            "There is no git repository here whose branches can be read; start the server in one "
            "or name it with --repo.",
            field="branch",
        )
    report = call.engine.branch_cleanup.clean_up(
        call.caller,
        CleanupRequest(
            alive_branches=alive_branches,
            branch=branch,
            purge=purge,
            min_age_s=seconds("older_than", older_than) if older_than else None,
            dry_run=dry_run,
        ),
    )
    return {
        "stale_branches": report.stale_branches,
        "memories_affected": report.memories_affected,
        "purged": report.purged,
        "dry_run": dry_run,
        "status": "preview" if dry_run else "completed",
    }


@subcog.tool(idempotent=True, effect="reads", scope="admin")
def subcog_reindex(
    call: Call,
    *,
    repo_path: Annotated[
        str | None, Field(description="Count only memories of the repository there.")
    ] = None,
) -> Reindexed:
    """Make the search index anew from the log, and count the memories in it."""
    started = time.perf_counter()
    projects: tuple[str, ...] = ()
    if repo_path:
        around = repository_around(call, repo_path)
        if around is None:
            raise InvalidInput(
                "There is no git repository there that you may name.", field="repo_path"
            )
        projects = (around.project,)
    call.engine.maintenance.reindex(
        call.caller.tenant, lambda done, total: call.progress(done, total, "replaying the log")
    )
    chosen = Filter(kinds=("memory",), projects=projects)
    page = call.engine.reading.list_items(call.caller, chosen, limit=1)
    return {
        "indexed": page.total,
        "status": "success",
        "duration_ms": round((time.perf_counter() - started) * 1000, 3),
    }


@subcog.tool(
    destructive=True, needs_read=True, example={"namespace": "testing", "strategy": "dedupe"}
)
def subcog_consolidate(
    call: Call,
    *,
    namespace: Namespace,
    strategy: Annotated[
        Literal["merge", "summarize", "dedupe"],
        Field(description="One memory of each group, a summary beside it, or only its oldest."),
    ] = "merge",
    query: Annotated[str | None, Field(description="Only memories about this.")] = None,
    dry_run: DryRun = False,
) -> Consolidated:
    """Make one memory of those that say the same; what contradicts each other stays apart."""
    plan = call.engine.consolidation.plan(
        call.caller,
        memory_filter(call, "status:active", namespace),
        strategy,
        (query or "").strip(),
        lambda done, total: call.progress(done, total, "comparing memories"),
    )
    if dry_run:
        result = ConsolidationResult([], [])
    else:
        result = call.engine.consolidation.carry_out(call.caller, plan)
    return {
        "groups_found": len(plan.groups),
        "dry_run": dry_run,
        "results": result.ids,
        "events": result.events,
        "warnings": plan.warnings,
        "candidate_merges": [
            {
                "memories": [item.id for item in group.items],
                "similarity": group.similarity,
                "proposed_content": group.content,
            }
            for group in plan.groups
        ],
    }


@subcog.tool(needs_read=True, example={"memory_id": "four"})
def subcog_enrich(
    call: Call,
    *,
    memory_id: MemoryId,
    enrich_tags: bool = True,
    enrich_structure: bool = True,
    add_context: bool = False,
) -> EnrichedMemory:
    """Give a memory more tags, a clearer structure and its context, and tell what changed."""
    item = find_memory(call, memory_id)
    _, blocks = call.engine.reading.read(call.caller, item.id)
    enriched = call.engine.enrichment.enrich(
        call.caller,
        item,
        text_with_speakers(blocks),
        memory_filter(call),
        tags=enrich_tags,
        structure=enrich_structure,
        context=add_context,
    )
    return {
        "memory_id": item.id,
        "redactions": dict(enriched.written.redactions),
        "changes": {
            "tags_added": enriched.tags_added,
            "structure_improved": enriched.structure_improved,
            "context_added": enriched.context,
        },
        "warnings": enriched.warnings,
    }


@subcog.tool(read_only=True, inert=("direction",))
def subcog_sync(
    call: Call, *, direction: Literal["push", "fetch", "full"] = "full"
) -> SyncDeprecated:
    """Deprecated: memories are kept in the database and need no synchronising."""
    return {
        "message": "subcog_sync is deprecated; memories are kept in the database, and nothing was "
        "done.",
        "status": "deprecated",
    }
