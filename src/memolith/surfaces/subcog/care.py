"""Looking after memories: status, clearing up after branches, reindexing, consolidating and enriching."""

import time
from collections import Counter
from typing import Annotated, Literal

from pydantic import Field

from memolith.engine.consolidation import carry_out, plan, rewritten
from memolith.engine.intake import seconds
from memolith.engine.model import Block, Filter, Item, Patch, shifted
from memolith.engine.ports import NO_LIMIT
from memolith.engine.recall import Query
from memolith.engine.verbs import gone
from memolith.errors import InvalidInput
from memolith.registry import Body, Call, shape
from memolith.surfaces.items import given
from memolith.surfaces.subcog.captures import OURS, MemoryId, Namespace, checkout, memory, subcog, texts, wanted

SHOWN, RELATED, ALIKE = 10, 3, 0.6
MEMORIES = Filter(kinds=("memory",), forgotten=None)
DryRun = Annotated[bool, Field(description="Only tell what would be done.")]
Age = Annotated[str | None, Field(description="Erase only what was deleted so long ago, as 30d.")]


@subcog.tool(shape(repository=shape("path project_id branch", path=str, project_id=str, branch=str), storage=shape(
    persistence=str, index=str, vector=str), statistics=shape(total_count=int, namespace_counts=dict[str, int],
    recent_topics=[str], top_tags=[shape(tag=str, count=int)])), read_only=True)
def subcog_status(call: Call) -> Body:
    """Where this server works, how it keeps memories, and what they are about."""
    around, engine, caller, chosen = checkout(call), call.engine, call.caller, wanted(call)
    spaces = Counter[str]()
    for name, count in engine.counts(caller, "namespace", chosen).items():
        spaces[OURS.get(name, name)] += count
    recent = [*dict.fromkeys(tag for item in engine.listing(caller, chosen).items for tag in item.tags)][:SHOWN]
    most = Counter(engine.counts(caller, "tag", chosen)).most_common(SHOWN)
    place = {"path": around.path, "branch": around.branch} if around else {"path": None, "branch": None}
    return {"repository": {**place, "project_id": caller.project}, "storage": {
        "persistence": engine.store.name, "index": engine.store.name, "vector": engine.search.state()[1]},
        "statistics": {"total_count": spaces.total(), "namespace_counts": dict(spaces), "recent_topics": recent,
                       "top_tags": [{"tag": tag, "count": count} for tag, count in most]}}


@subcog.tool(shape(stale_branches=[str], memories_affected=int, purged=int, dry_run=bool, status=str), destructive=True)
def subcog_gc(call: Call, *, dry_run: DryRun = False, branch: Annotated[str | None, Field(
        description="Only memories of this branch.")] = None, purge: Annotated[bool, Field(
            description="Also erase what was deleted.")] = False, older_than: Age = None) -> Body:
    """Delete your memories of branches that the repository around the server no longer has."""
    around, caller = checkout(call), call.caller
    if older_than is not None and not purge:
        raise InvalidInput("older_than belongs to purge; give both.", field="older_than")
    until = shifted(call.engine.clock.now(), -seconds("older_than", older_than)) if older_than else "~"
    if (alive := around.branches() if around else None) is None and not purge:
        raise InvalidInput("There is no git repository here whose branches can be read; start the server in one or "
                           "name it with --repo.", field="branch")
    with call.engine.store.reading(caller.tenant) as rows:
        # What others keep for the project may belong to branches that only their repositories have.
        mine = [item for item in rows.listing(caller, MEMORIES, limit=NO_LIMIT, counted=False).items
                if (item.scope.owner, item.scope.project) == (caller.user, caller.project)
                and branch in (None, item.attributes.get("branch"))]
    stale = {item.id: str(item.attributes["branch"]) for item in mine if alive is not None and not gone(item)
             and item.attributes.get("branch") not in (None, *alive)}
    ends = {item.id: item.updated_at if item.forgotten else str(item.attributes["expires_at"])
            for item in mine if gone(item)} | (dict.fromkeys(stale, "") if older_than is None else {})
    doomed = [id for id, at in ends.items() if purge and at <= until]
    if not dry_run:
        call.engine.forget_all(caller, list(stale), "memory")
    if doomed and not dry_run:
        call.engine.erase(caller, *doomed)
    return {"stale_branches": sorted({*stale.values()}), "memories_affected": len({*stale, *doomed}),
            "purged": len(doomed), "dry_run": dry_run, "status": "preview" if dry_run else "completed"}


@subcog.tool(shape(indexed=int, duration_ms=float, status=str), idempotent=True, effect="reads", scope="admin")
def subcog_reindex(call: Call, *, repo_path: Annotated[str | None, Field(
        description="Count only memories of the repository there.")] = None) -> Body:
    """Make the search index anew from the log, and count the memories in it."""
    started, around = time.perf_counter(), checkout(call, repo_path) if repo_path else None
    if repo_path and not around:
        raise InvalidInput("There is no git repository there that you may name.", field="repo_path")
    call.engine.upkeep.rebuild(lambda done, total: call.progress(done, total, "replaying the log"))
    chosen = Filter(kinds=("memory",), projects=(around.project,) if around else ())
    return {"indexed": call.engine.listing(call.caller, chosen, limit=1).total, "status": "success",
            "duration_ms": round((time.perf_counter() - started) * 1000, 3)}


@subcog.tool(shape(groups_found=int, candidate_merges=[shape(memories=[str], similarity=float, proposed_content=str)],
                   dry_run=bool, results=[str], events=[int], warnings=[str]), destructive=True)
def subcog_consolidate(call: Call, *, namespace: Namespace, strategy: Annotated[
        Literal["merge", "summarize", "dedupe"], Field(description="One memory of each group, a summary beside it, or "
                                                       "only its oldest.")] = "merge",
        query: Annotated[str | None, Field(description="Only memories about this.")] = None,
        dry_run: DryRun = False) -> Body:
    """Make one memory of those that say the same; what contradicts each other stays apart."""
    chosen = wanted(call, "status:active", namespace)
    groups, warnings = plan(call.engine, call.caller, chosen, strategy, (query or "").strip(),
                            lambda done, total: call.progress(done, total, "comparing memories"))
    results, events = ([], []) if dry_run else carry_out(call.engine, call.caller, groups, strategy)
    return {"groups_found": len(groups), "dry_run": dry_run, "results": results, "events": events, "warnings": warnings,
            "candidate_merges": [{"memories": [item.id for item in items], "similarity": similarity,
                                  "proposed_content": content} for items, similarity, content in groups]}


@subcog.tool(shape("redactions", memory_id=str, changes=shape(
    "context_added", tags_added=[str], structure_improved=bool, context_added=str), redactions=dict[str, int],
    warnings=[str]))
def subcog_enrich(call: Call, *, memory_id: MemoryId, enrich_tags: bool = True, enrich_structure: bool = True,
                  add_context: bool = False) -> Body:
    """Give a memory more tags, a clearer structure and its context, and tell what changed."""
    item, engine = memory(call, memory_id), call.engine
    text, known = texts(call, [item.id])[item.id], [*engine.counts(call.caller, "tag", wanted(call))]
    found, _, warnings = engine.insights.ask(
        lambda analyst: analyst.tags(text, known, 5 + len(item.tags)) if enrich_tags else [])
    added = [one.label for one in found if one.label not in item.tags][:5]
    better, more = rewritten(engine, "structure", [text]) if enrich_structure else (text, [])
    context, others = rewritten(engine, "context", [text, *_around(call, item, text)]) if add_context else (None, [])
    patch = Patch(None, (Block(better),), (*item.tags, *added), given(context=context))
    written = engine.revise(call.caller, item.id, patch, item.version, call.idempotency_key)
    return {"memory_id": item.id, "redactions": dict(written.redactions), "changes": {
        "tags_added": added, "structure_improved": better != text, "context_added": context},
        "warnings": list(dict.fromkeys((*warnings, *more, *others)))}


def _around(call: Call, item: Item, text: str) -> list[str]:
    places = "".join(f", {name} {value}" for name in ("branch", "source") if (value := item.attributes.get(name)))
    near = call.engine.recall(call.caller, Query(text[:1000], wanted(call), limit=RELATED + 1, threshold=ALIKE,
                                                 per_item=True, verbatim=True)).hits
    return [f"Captured on {item.created_at[:10]} in {item.scope.project or 'no project'}{places}.",
            *(f"Related: {hit.item.title}" for hit in near if hit.item.id != item.id)]


@subcog.tool(shape(message=str, status={"enum": ["deprecated"]}), read_only=True, inert=("direction",))
def subcog_sync(call: Call, *, direction: Literal["push", "fetch", "full"] = "full") -> Body:
    """Deprecated: memories are kept in the database and need no synchronising."""
    return {"message": "subcog_sync is deprecated; memories are kept in the database, and nothing was done.",
            "status": "deprecated"}
