"""Captures, which are memories with a namespace: keep, find, change, delete and tidy them, and their addresses."""

import fnmatch
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import BeforeValidator, Field

from memolith.domain.callers import Audience, Caller
from memolith.domain.clock import shifted
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.engine.filter_language import parse
from memolith.engine.tables import NAMESPACES
from memolith.engine.titles import headline
from memolith.engine.validation import seconds
from memolith.engine.visibility import is_gone
from memolith.errors import (
    AnalystDown,
    BlockedContent,
    Denied,
    InvalidInput,
    Malformed,
    NotFound,
    PromptNotFound,
)
from memolith.ports.repository import Checkout
from memolith.tools.call import Call
from memolith.tools.family import Family
from memolith.tools.item_views import Mode, Texts, coded, given, spoken, the
from memolith.tools.resources import Resource, Resources
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape

Domain = Literal["project", "user", "org"]
CODES = {
    Malformed: (-32602, "Invalid parameters"),
    BlockedContent: (-32605, "Content blocked"),
    PromptNotFound: (-32607, "Prompt not found"),
    NotFound: (-32604, "Memory not found"),
    AnalystDown: (-32606, "LLM provider error"),
    Denied: (-32600, "Permission denied"),
}
ADDRESS, MEDIUM, MOST, SHOWN, RELATED, ALIKE = "subcog://", 200, 1000, 10, 3, 0.6
Namespace = Annotated[
    Literal[
        "decisions",
        "patterns",
        "learnings",
        "context",
        "tech-debt",
        "blockers",
        "progress",
        "apis",
        "config",
        "security",
        "performance",
        "testing",
    ],
    BeforeValidator(lambda one: "tech-debt" if one in ("techdebt", "tech_debt") else one),
]
MemoryId = Annotated[str, Field(description="Its id, URN or address.")]
Text = Annotated[str, Field(min_length=1)]
Who = Annotated[str | None, Field(max_length=60)]
DryRun = Annotated[bool, Field(description="Only tell what would be done.")]
Age = Annotated[str | None, Field(description="Erase only what was deleted so long ago, as 30d.")]
# What other families call the same.
OURS = {
    "project": "progress",
    "knowledge": "learnings",
    "reference": "apis",
    "workflow": "patterns",
    "personal": "context",
}
STORED = {
    name: (name, *(theirs for theirs, ours in OURS.items() if ours == name)) for name in NAMESPACES
}
STATUSES = {
    "active": ("active",),
    "archived": ("archived",),
    "superseded": ("superseded",),
    "pending": ("pending", "draft"),
    "consolidated": ("consolidated",),
    "tombstoned": (),
    "deleted": (),
}
SHOWING = {"light": 5, "medium": 6, "everything": None}
FOUND = ("active", "archived", "pending", "draft", "consolidated")
ROW: dict[str, object] = {
    "id": str,
    "urn": str,
    "uri": str,
    "namespace": str,
    "tags": [str],
    "content": str,
}
WHOLE = shape(
    "source project branch context expires_at",
    **ROW,
    source=str,
    domain=str,
    project=str,
    branch=str,
    status=str,
    context=str,
    expires_at=str,
    created_at=str,
    updated_at=str,
)
OFFERS = [
    Resource(ADDRESS + path, path, about, "application/json")
    for path, about in {
        "help": "What can be asked for.",
        "namespaces": "The sorts of memories.",
        "_": "Every memory.",
        "topics": "The tags in use.",
        "_prompts": "The saved prompts.",
        "memory/{id}": "One memory.",
        "{domain}/{namespace}/{id}": "One memory by its URN.",
        "_/{namespace}": "The memories of a namespace.",
        "topics/{topic}": "The memories with a tag.",
        "search/{query}": "The memories that a search finds.",
    }.items()
]


def checkout(call: Call, path: str = "") -> Checkout | None:
    """The repository around a local server, or around a folder of its machine; over HTTP no folder counts."""
    return call.engine.repository(path) if call.local else None


def here(call: Call) -> Call:
    """The call of somebody who works in the project that he states, else in that of the repository around him."""
    around = None if call.caller.project else checkout(call)
    return replace(call, caller=replace(call.caller, project=around.project)) if around else call


subcog = Family(
    "subcog",
    coded(CODES, (-32608, "Validation error"))._replace(enter=here),
    instructions="Memories of coding sessions by namespace, prompts and templates, a graph of entities.",
)


@subcog.tool(shape("redactions", id=str, urn=str, redactions=dict[str, int], warnings=[str]))
def subcog_capture(
    call: Call,
    *,
    content: Text,
    namespace: Namespace,
    tags: Texts = None,
    source: str | None = None,
    domain: Domain = "project",
    ttl: Annotated[str, Field(description="How long it lives, as 7d or 24h; 0 for ever.")] = "0",
    user_id: Who = None,
    agent_id: Who = None,
) -> Body:
    """Keep what a session found worth knowing, with the project and branch it belongs to."""
    audience, project = placed(call.caller, domain)
    around = checkout(call) if project else None
    if around and source and Path(source).is_relative_to(around.path):
        source = Path(source).relative_to(around.path).as_posix()
    kept = given(
        source=source, branch=around.branch if around else None, user_id=user_id, agent_id=agent_id
    )
    written = call.engine.writing.remember(
        call.caller,
        Draft(
            "memory",
            headline(content),
            (Block(content),),
            (*(tags or ()), *marks(user_id, agent_id)),
            kept,
            "active",
            audience,
            project,
            namespace,
            ttl_s=0 if ttl == "0" else seconds("ttl", ttl),
        ),
        call.idempotency_key,
    )
    return {
        "id": written.item.id,
        "urn": urn(written.item),
        "redactions": dict(written.redactions),
        "warnings": [
            f"{same.title!r} ({same.id}) says nearly the same." for same in written.similar
        ],
    }


@subcog.tool(
    shape(results=[shape("content score", **ROW, score=float)], total=int, warnings=[str]),
    read_only=True,
)
def subcog_recall(
    call: Call,
    *,
    query: Annotated[str | None, Field(description="Left out, empty or *: list.")] = None,
    namespace: Namespace | None = None,
    filter: Annotated[
        str | None, Field(description="As in: ns:decisions tag:a,b -tag:old since:7d source:src/*")
    ] = None,
    mode: Mode = "hybrid",
    detail: Literal["light", "medium", "everything"] = "medium",
    limit: Annotated[
        int | None, Field(ge=1, le=1000, description="Else 10, for a list 50.")
    ] = None,
    offset: Annotated[int, Field(ge=0)] = 0,
    user_id: Who = None,
    agent_id: Who = None,
) -> Body:
    """Find memories by meaning and words, or list them, newest first."""
    chosen = wanted(call, filter or "", namespace, marks(user_id, agent_id))
    if not query or query.strip() in ("", "*"):
        page = call.engine.reading.list_items(call.caller, chosen, limit=limit or 50, offset=offset)
        return {
            "results": rows(call, [item.id for item in page.items], detail),
            "total": page.total,
        }
    found = call.engine.recall.search(
        call.caller,
        Query(query, chosen, mode, limit or 10, offset, by_similarity=True, per_item=True),
    )
    scores = {hit.item.id: hit.score for hit in found.hits}
    return {
        "total": found.total,
        "warnings": list(found.warnings),
        "results": rows(call, [*scores], detail, scores),
    }


@subcog.tool(WHOLE, read_only=True)
def subcog_get(call: Call, *, memory_id: MemoryId) -> Body:
    """One whole memory."""
    item = memory(call, memory_id)
    call.engine.reading.note_access(call.caller, item.id)
    return rows(call, [item.id], "everything")[0]


@subcog.tool(
    shape(
        "redactions",
        id=str,
        urn=str,
        updated=[str],
        tags=[str],
        updated_at=str,
        redactions=dict[str, int],
    ),
    idempotent=True,
)
def subcog_update(
    call: Call,
    *,
    memory_id: MemoryId,
    content: Text | None = None,
    tags: Annotated[Texts, Field(description="All tags it is to have.")] = None,
) -> Body:
    """Change the text or the tags of a memory; its history keeps what was there."""
    if content is None and tags is None:
        raise InvalidInput("Say what to change: content or tags.", field="content")
    item = memory(call, memory_id)
    named = content is not None and item.title == headline(
        spoken(call.engine.reading.read(call.caller, item.id)[1])
    )
    kept = [tag for tag in item.tags if tag.startswith(("user:", "agent:"))]
    written = call.engine.writing.revise(
        call.caller,
        item.id,
        Patch(
            headline(content or "") if named else None,
            None if content is None else (Block(content),),
            None if tags is None else (*tags, *kept),
        ),
        key=call.idempotency_key,
    )
    return {
        "id": item.id,
        "urn": urn(item),
        "tags": list(written.item.tags),
        "updated_at": written.item.updated_at,
        "updated": [
            name for name, value in (("content", content), ("tags", tags)) if value is not None
        ],
        "redactions": dict(written.redactions),
    }


@subcog.tool(shape(id=str, urn=str, status={"enum": ["tombstoned", "erased"]}), destructive=True)
def subcog_delete(
    call: Call,
    *,
    memory_id: MemoryId,
    hard: Annotated[bool, Field(description="Erase it for good.")] = False,
) -> Body:
    """Delete a memory; it can be restored unless it is erased."""
    engine, key = call.engine, call.idempotency_key
    item = memory(call, memory_id, forgotten=hard or bool(key))
    engine.writing.erase(call.caller, item.id) if hard else engine.writing.forget(
        call.caller, item.id, key=key
    )
    return {"id": item.id, "urn": urn(item), "status": "erased" if hard else "tombstoned"}


@subcog.tool(
    shape(namespaces=[shape(name=str, description=str, signal_words=[str])]), read_only=True
)
def subcog_namespaces(call: Call) -> Body:
    """The sorts of memories, and words that hint at them."""
    return {
        "namespaces": [
            {"name": name, "description": about, "signal_words": signals}
            for name, (about, signals) in NAMESPACES.items()
        ]
    }


@subcog.tool(
    shape(
        repository=shape("path project_id branch", path=str, project_id=str, branch=str),
        storage=shape(persistence=str, index=str, vector=str),
        statistics=shape(
            total_count=int,
            namespace_counts=dict[str, int],
            recent_topics=[str],
            top_tags=[shape(tag=str, count=int)],
        ),
    ),
    read_only=True,
)
def subcog_status(call: Call) -> Body:
    """Where this server works, how it keeps memories, and what they are about."""
    around, engine, caller, chosen = checkout(call), call.engine, call.caller, wanted(call)
    spaces = Counter[str]()
    for name, count in engine.reading.count_by(caller, "namespace", chosen).items():
        spaces[OURS.get(name, name)] += count
    recent = [
        *dict.fromkeys(
            tag for item in engine.reading.list_items(caller, chosen).items for tag in item.tags
        )
    ][:SHOWN]
    most = Counter(engine.reading.count_by(caller, "tag", chosen)).most_common(SHOWN)
    place = (
        {"path": around.path, "branch": around.branch} if around else {"path": None, "branch": None}
    )
    return {
        "repository": {**place, "project_id": caller.project},
        "storage": {
            "persistence": engine.maintenance.store_name,
            "index": engine.maintenance.store_name,
            "vector": engine.recall.state()[1],
        },
        "statistics": {
            "total_count": spaces.total(),
            "namespace_counts": dict(spaces),
            "recent_topics": recent,
            "top_tags": [{"tag": tag, "count": count} for tag, count in most],
        },
    }


@subcog.tool(
    shape(stale_branches=[str], memories_affected=int, purged=int, dry_run=bool, status=str),
    destructive=True,
)
def subcog_gc(
    call: Call,
    *,
    dry_run: DryRun = False,
    branch: Annotated[str | None, Field(description="Only memories of this branch.")] = None,
    purge: Annotated[bool, Field(description="Also erase what was deleted.")] = False,
    older_than: Age = None,
) -> Body:
    """Delete your memories of branches that the repository around the server no longer has."""
    around, caller = checkout(call), call.caller
    if older_than is not None and not purge:
        raise InvalidInput("older_than belongs to purge; give both.", field="older_than")
    until = (
        shifted(call.engine.clock.now(), -seconds("older_than", older_than)) if older_than else "~"
    )
    if (alive := around.branches() if around else None) is None and not purge:
        raise InvalidInput(
            "There is no git repository here whose branches can be read; start the server in one or "
            "name it with --repo.",
            field="branch",
        )
    # What others keep for the project may belong to branches that only their repositories have.
    my = call.engine.reading.list_all(
        caller, Filter(("memory",), forgotten=None, owner=caller.user)
    )
    mine = [
        item
        for item in my
        if item.project == caller.project and branch in (None, item.attributes.get("branch"))
    ]
    stale = {
        item.id: str(item.attributes["branch"])
        for item in mine
        if alive is not None
        and not is_gone(item)
        and item.attributes.get("branch") not in (None, *alive)
    }
    ends = {
        item.id: item.updated_at if item.forgotten else str(item.attributes["expires_at"])
        for item in mine
        if is_gone(item)
    } | (dict.fromkeys(stale, "") if older_than is None else {})
    doomed = [id for id, at in ends.items() if purge and at <= until]
    if not dry_run:
        call.engine.writing.forget_all(caller, list(stale), "memory")
    if doomed and not dry_run:
        call.engine.writing.erase(caller, *doomed)
    return {
        "stale_branches": sorted({*stale.values()}),
        "memories_affected": len({*stale, *doomed}),
        "purged": len(doomed),
        "dry_run": dry_run,
        "status": "preview" if dry_run else "completed",
    }


@subcog.tool(
    shape(indexed=int, duration_ms=float, status=str),
    idempotent=True,
    effect="reads",
    scope="admin",
)
def subcog_reindex(
    call: Call,
    *,
    repo_path: Annotated[
        str | None, Field(description="Count only memories of the repository there.")
    ] = None,
) -> Body:
    """Make the search index anew from the log, and count the memories in it."""
    started, around = time.perf_counter(), checkout(call, repo_path) if repo_path else None
    if repo_path and not around:
        raise InvalidInput("There is no git repository there that you may name.", field="repo_path")
    call.engine.maintenance.rebuild(
        lambda done, total: call.progress(done, total, "replaying the log")
    )
    chosen = Filter(kinds=("memory",), projects=(around.project,) if around else ())
    return {
        "indexed": call.engine.reading.list_items(call.caller, chosen, limit=1).total,
        "status": "success",
        "duration_ms": round((time.perf_counter() - started) * 1000, 3),
    }


@subcog.tool(
    shape(
        groups_found=int,
        candidate_merges=[shape(memories=[str], similarity=float, proposed_content=str)],
        dry_run=bool,
        results=[str],
        events=[int],
        warnings=[str],
    ),
    destructive=True,
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
) -> Body:
    """Make one memory of those that say the same; what contradicts each other stays apart."""
    chosen = wanted(call, "status:active", namespace)
    planned = call.engine.consolidation.plan(
        call.caller,
        chosen,
        strategy,
        (query or "").strip(),
        lambda done, total: call.progress(done, total, "comparing memories"),
    )
    results, events = (
        ([], []) if dry_run else call.engine.consolidation.carry_out(call.caller, planned)
    )
    return {
        "groups_found": len(planned.groups),
        "dry_run": dry_run,
        "results": results,
        "events": events,
        "warnings": planned.warnings,
        "candidate_merges": [
            {
                "memories": [item.id for item in items],
                "similarity": similarity,
                "proposed_content": content,
            }
            for items, similarity, content in planned.groups
        ],
    }


@subcog.tool(
    shape(
        "redactions",
        memory_id=str,
        changes=shape(
            "context_added", tags_added=[str], structure_improved=bool, context_added=str
        ),
        redactions=dict[str, int],
        warnings=[str],
    )
)
def subcog_enrich(
    call: Call,
    *,
    memory_id: MemoryId,
    enrich_tags: bool = True,
    enrich_structure: bool = True,
    add_context: bool = False,
) -> Body:
    """Give a memory more tags, a clearer structure and its context, and tell what changed."""
    item, engine = memory(call, memory_id), call.engine
    text, known = (
        spoken(engine.reading.read(call.caller, item.id)[1]),
        [*engine.reading.count_by(call.caller, "tag", wanted(call))],
    )
    found, _, warnings = engine.insights.ask(
        lambda analyst: analyst.tags(text, known, 5 + len(item.tags)) if enrich_tags else []
    )
    added = [one.label for one in found if one.label not in item.tags][:5]
    better, more = (
        engine.consolidation.rewrite("structure", [text]) if enrich_structure else (text, [])
    )
    alike = Query(
        text[:1000], wanted(call), limit=RELATED + 1, threshold=ALIKE, per_item=True, verbatim=True
    )
    near = engine.recall.search(call.caller, alike).hits if add_context else ()
    places = "".join(
        f", {name} {value}" for name in ("branch", "source") if (value := item.attributes.get(name))
    )
    around = [
        f"Captured on {item.created_at[:10]} in {item.project or 'no project'}{places}.",
        *(f"Related: {hit.item.title}" for hit in near if hit.item.id != item.id),
    ]
    context, others = (
        engine.consolidation.rewrite("context", [text, *around]) if add_context else (None, [])
    )
    patch = Patch(None, (Block(better),), (*item.tags, *added), given(context=context))
    written = engine.writing.revise(call.caller, item.id, patch, item.version, call.idempotency_key)
    return {
        "memory_id": item.id,
        "redactions": dict(written.redactions),
        "changes": {
            "tags_added": added,
            "structure_improved": better != text,
            "context_added": context,
        },
        "warnings": list(dict.fromkeys((*warnings, *more, *others))),
    }


@subcog.tool(
    shape(message=str, status={"enum": ["deprecated"]}), read_only=True, inert=("direction",)
)
def subcog_sync(call: Call, *, direction: Literal["push", "fetch", "full"] = "full") -> Body:
    """Deprecated: memories are kept in the database and need no synchronising."""
    return {
        "message": "subcog_sync is deprecated; memories are kept in the database, and nothing was done.",
        "status": "deprecated",
    }


def placed(caller: Caller, domain: Domain) -> tuple[Audience, str | None]:
    """Who sees what is written for a domain, and in which project; outside of one it is the user's."""
    audience = Audience.USER if domain == "project" and caller.project is None else Audience(domain)
    return audience, caller.project if audience is Audience.PROJECT else None


def wanted(
    call: Call, filter: str = "", namespace: str | None = None, tags: Sequence[str] = ()
) -> Filter:
    """The memories that a filter means, in a namespace if one is given; what was superseded only if asked for."""
    chosen = parse(filter, STORED, STATUSES, call.engine.clock.now())
    spaces = (
        [name for name in STORED[namespace] if name in (chosen.namespaces or (name,))]
        if namespace
        else None
    )
    return replace(
        chosen,
        namespaces=chosen.namespaces if spaces is None else tuple(spaces) or ("-",),
        statuses=chosen.statuses or (() if chosen.forgotten else FOUND),
        tags_all=(*chosen.tags_all, *tags),
    )


def memory(call: Call, id: str, forgotten: bool = False) -> Item:
    """The memory with that id; a URN must name its domain and namespace too, or `_` for any."""
    item = the(call, "memory", id, "memory_id", forgotten=forgotten)
    if id.count("/") == 4 and not fnmatch.fnmatchcase(urn(item), id.replace("_", "*")):
        raise NotFound(f"There is no memory {id[:200]!r}.", field="memory_id", id=id)
    return item


def rows(
    call: Call, ids: Sequence[str], detail: str, scores: Mapping[str, float] | None = None
) -> list[Body]:
    """The memories, forgotten or not, with as many of their fields as the detail shows."""
    found = list[Body]()
    for item, blocks in call.engine.reading.read_many(call.caller, ids, forgotten=True):
        text, status = (
            spoken(blocks),
            next((word for word in STATUSES if item.status in STATUSES[word]), item.status),
        )
        row: Body = {
            "id": item.id,
            "urn": urn(item),
            "uri": f"{ADDRESS}memory/{item.id}",
            "tags": list(item.tags),
            "namespace": urn(item).split("/")[3],
            "content": text[:MEDIUM] + "…" if detail == "medium" and len(text) > MEDIUM else text,
            "status": "tombstoned" if item.forgotten else status,
            "domain": item.audience.value,
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "project": item.project,
            **{
                name: item.attributes.get(name)
                for name in ("source", "branch", "context", "expires_at")
            },
        }
        found.append(
            {
                **dict(islice(row.items(), SHOWING[detail])),
                **({"score": scores[item.id]} if scores and detail != "light" else {}),
            }
        )
    return found


def urn(item: Item) -> str:
    """Where a memory stands: domain, namespace, also where another family wrote it, and id."""
    space = item.namespace or "context"
    return f"{ADDRESS}{item.audience.value}/{OURS.get(space, space)}/{item.id}"


def marks(user: str | None, agent: str | None) -> list[str]:
    return [f"{name}:{id}" for name, id in (("user", user), ("agent", agent)) if id]


def read_resource(call: Call, uri: str) -> Body:
    call = here(call)
    match [unquote(part) for part in uri.removeprefix(ADDRESS).split("/")]:
        case ["help"]:
            return {
                "tools": {tool.name: tool.description for tool in subcog.tools},
                "resources": {offer.uri: offer.description for offer in OFFERS},
            }
        case ["namespaces"]:
            return subcog_namespaces(call)
        case ["topics"]:
            return {"topics": call.engine.reading.count_by(call.caller, "tag", wanted(call))}
        case ["_prompts"]:
            page = call.engine.reading.list_items(
                call.caller, Filter(kinds=("prompt",)), "title", False, MOST
            )
            return {
                "prompts": [
                    {
                        "name": item.title,
                        "domain": item.audience.value,
                        "tags": list(item.tags),
                        "description": item.attributes.get("description"),
                    }
                    for item in page.items
                ]
            }
        case ["_", *spaces] if len(spaces) < 2 and {*spaces} <= NAMESPACES.keys():
            query, filter = "", "".join(f"ns:{space}" for space in spaces)
        case ["topics", topic] if topic:
            query, filter = "", f"tag:{json.dumps(topic, ensure_ascii=False)}"
        case ["search", query]:
            filter = ""
        case ["memory", _] | [_, _, _]:
            return rows(call, [memory(call, uri).id], "everything")[0]
        case _:
            raise NotFound(
                f"There is nothing at {uri[:200]!r}; {ADDRESS}help tells what there is.", id=uri
            )
    found = subcog_recall(call, query=query, filter=filter, limit=MOST, detail="light")
    return {"count": found["total"], "memories": found["results"]}


subcog.resources = Resources(
    ADDRESS,
    read_resource,
    lambda call: [one for one in OFFERS if "{" not in one.uri],
    tuple(one for one in OFFERS if "{" in one.uri),
)
