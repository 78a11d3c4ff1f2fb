"""Captures, which are memories with a namespace: keep, find, read, change, delete them, and their addresses."""

import fnmatch
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import BeforeValidator, Field

from memolith.engine.consolidation import headline
from memolith.engine.filters import parse
from memolith.engine.intake import seconds
from memolith.engine.model import Audience, Block, Caller, Draft, Filter, Item, Patch
from memolith.engine.namespaces import NAMESPACES
from memolith.engine.ports import Checkout
from memolith.engine.recall import Query
from memolith.errors import AnalystDown, BlockedContent, Denied, InvalidInput, Malformed, NotFound, PromptNotFound
from memolith.registry import Body, Call, Content, Family, Resource, Resources, shape
from memolith.surfaces.items import coded, given, spoken, the

Domain = Literal["project", "user", "org"]
CODES = {Malformed: (-32602, "Invalid parameters"), BlockedContent: (-32605, "Content blocked"),
         PromptNotFound: (-32607, "Prompt not found"), NotFound: (-32604, "Memory not found"),
         AnalystDown: (-32606, "LLM provider error"), Denied: (-32600, "Permission denied")}
ADDRESS, MEDIUM, MOST = "subcog://", 200, 1000
Namespace = Annotated[Literal[
    "decisions", "patterns", "learnings", "context", "tech-debt", "blockers", "progress", "apis", "config", "security",
    "performance", "testing"], BeforeValidator(lambda one: "tech-debt" if one in ("techdebt", "tech_debt") else one)]
MemoryId = Annotated[str, Field(description="Its id, URN or address.")]
Tags = list[str] | None
Text = Annotated[str, Field(min_length=1)]
Who = Annotated[str | None, Field(max_length=60)]
# What other families call the same.
OURS = {"project": "progress", "knowledge": "learnings", "reference": "apis", "workflow": "patterns",
        "personal": "context"}
STORED = {name: (name, *(theirs for theirs, ours in OURS.items() if ours == name)) for name in NAMESPACES}
STATUSES = {"active": ("active",), "archived": ("archived",), "superseded": ("superseded",),
            "pending": ("pending", "draft"), "consolidated": ("consolidated",), "tombstoned": (), "deleted": ()}
FOUND = ("active", "archived", "pending", "draft", "consolidated")
ROW: dict[str, object] = {"id": str, "urn": str, "uri": str, "namespace": str, "tags": [str], "content": str}
WHOLE = shape("source project branch context expires_at", **ROW, source=str, domain=str, project=str, branch=str,
              status=str, context=str, expires_at=str, created_at=str, updated_at=str)
OFFERS = [Resource(ADDRESS + path, path, about, "application/json") for path, about in {
    "help": "What can be asked for.", "namespaces": "The sorts of memories.", "_": "Every memory.",
    "topics": "The tags in use.", "_prompts": "The saved prompts.", "memory/{id}": "One memory.",
    "{domain}/{namespace}/{id}": "One memory by its URN.", "_/{namespace}": "The memories of a namespace.",
    "topics/{topic}": "The memories with a tag.", "search/{query}": "The memories that a search finds."}.items()]



def checkout(call: Call, path: str = "") -> Checkout | None:
    """The repository around a local server, or around a folder of its machine; over HTTP no folder counts."""
    return call.engine.repository(path) if call.local else None


def here(call: Call) -> Call:
    """The call of somebody who works in the project that he states, else in that of the repository around him."""
    around = None if call.caller.project else checkout(call)
    return replace(call, caller=replace(call.caller, project=around.project)) if around else call


subcog = Family("subcog", coded(CODES, (-32608, "Validation error"))._replace(enter=here),
                instructions="Memories of coding sessions by namespace, prompts and templates, a graph of entities.")


@subcog.tool(shape("redactions", id=str, urn=str, redactions=dict[str, int], warnings=[str]))
def subcog_capture(call: Call, *, content: Text, namespace: Namespace, tags: Tags = None,
                   source: str | None = None, domain: Domain = "project",
                   ttl: Annotated[str, Field(description="How long it lives, as 7d or 24h; 0 for ever.")] = "0",
                   user_id: Who = None, agent_id: Who = None) -> Body:
    """Keep what a session found worth knowing, with the project and branch it belongs to."""
    audience, project = placed(call.caller, domain)
    around = checkout(call) if project else None
    if around and source and Path(source).is_relative_to(around.path):
        source = Path(source).relative_to(around.path).as_posix()
    kept = given(source=source, branch=around.branch if around else None, user_id=user_id, agent_id=agent_id)
    written = call.engine.remember(call.caller, Draft(
        "memory", headline(content), (Block(content),), (*(tags or ()), *marks(user_id, agent_id)), kept, "active",
        audience, project, namespace, ttl_s=0 if ttl == "0" else seconds("ttl", ttl)), call.idempotency_key)
    return {"id": written.item.id, "urn": urn(written.item), "redactions": dict(written.redactions),
            "warnings": [f"{same.title!r} ({same.id}) says nearly the same." for same in written.similar]}


@subcog.tool(shape(results=[shape("content score", **ROW, score=float)], total=int, warnings=[str]), read_only=True)
def subcog_recall(call: Call, *, query: Annotated[str | None, Field(description="Left out, empty or *: list.")] = None,
                  namespace: Namespace | None = None, filter: Annotated[str | None, Field(
                      description="As in: ns:decisions tag:a,b -tag:old since:7d source:src/*")] = None,
                  mode: Literal["hybrid", "vector", "text"] = "hybrid",
                  detail: Literal["light", "medium", "everything"] = "medium",
                  limit: Annotated[int | None, Field(ge=1, le=1000, description="Else 10, for a list 50.")] = None,
                  offset: Annotated[int, Field(ge=0)] = 0, user_id: Who = None, agent_id: Who = None) -> Body:
    """Find memories by meaning and words, or list them, newest first."""
    chosen = wanted(call, filter or "", namespace, marks(user_id, agent_id))
    if not query or query.strip() in ("", "*"):
        page = call.engine.listing(call.caller, chosen, limit=limit or 50, offset=offset)
        return {"results": rows(call, page.items, detail), "total": page.total}
    found = call.engine.recall(call.caller, Query(query, chosen, mode, limit or 10, offset, by_similarity=True,
                                                  per_item=True))
    shown = rows(call, [hit.item for hit in found.hits], detail)
    return {"total": found.total, "warnings": list(found.warnings), "results": shown if detail == "light" else [
        {**row, "score": hit.score} for row, hit in zip(shown, found.hits, strict=True)]}


@subcog.tool(WHOLE, read_only=True)
def subcog_get(call: Call, *, memory_id: MemoryId) -> Body:
    """One whole memory."""
    item = memory(call, memory_id)
    call.engine.note_read(call.caller, item.id)
    return rows(call, [item], "everything")[0]


@subcog.tool(shape("redactions", id=str, urn=str, updated=[str], tags=[str], updated_at=str, redactions=dict[str, int]),
             idempotent=True)
def subcog_update(call: Call, *, memory_id: MemoryId, content: Text | None = None,
                  tags: Annotated[Tags, Field(description="All tags it is to have.")] = None) -> Body:
    """Change the text or the tags of a memory; its history keeps what was there."""
    if content is None and tags is None:
        raise InvalidInput("Say what to change: content or tags.", field="content")
    item = memory(call, memory_id)
    named = content is not None and item.title == headline(texts(call, [item.id])[item.id])
    kept = [tag for tag in item.tags if tag.startswith(("user:", "agent:"))]
    written = call.engine.revise(call.caller, item.id, Patch(
        headline(content or "") if named else None, None if content is None else (Block(content),),
        None if tags is None else (*tags, *kept)), key=call.idempotency_key)
    return {"id": item.id, "urn": urn(item), "tags": list(written.item.tags), "updated_at": written.item.updated_at,
            "updated": [name for name, value in (("content", content), ("tags", tags)) if value is not None],
            "redactions": dict(written.redactions)}


@subcog.tool(shape(id=str, urn=str, status={"enum": ["tombstoned", "erased"]}), destructive=True)
def subcog_delete(call: Call, *, memory_id: MemoryId,
                  hard: Annotated[bool, Field(description="Erase it for good.")] = False) -> Body:
    """Delete a memory; it can be restored unless it is erased."""
    engine, key = call.engine, call.idempotency_key
    item = memory(call, memory_id, forgotten=hard or bool(key))
    engine.erase(call.caller, item.id) if hard else engine.forget(call.caller, item.id, key=key)
    return {"id": item.id, "urn": urn(item), "status": "erased" if hard else "tombstoned"}


@subcog.tool(shape(namespaces=[shape(name=str, description=str, signal_words=[str])]), read_only=True)
def subcog_namespaces(call: Call) -> Body:
    """The sorts of memories, and words that hint at them."""
    return {"namespaces": [{"name": name, "description": about, "signal_words": signals}
                           for name, (about, signals) in NAMESPACES.items()]}


def placed(caller: Caller, domain: Domain) -> tuple[Audience, str | None]:
    """Who sees what is written for a domain, and in which project; outside of one it is the user's."""
    audience = Audience.USER if domain == "project" and caller.project is None else Audience(domain)
    return audience, caller.project if audience is Audience.PROJECT else None


def wanted(call: Call, filter: str = "", namespace: str | None = None, tags: Sequence[str] = ()) -> Filter:
    """The memories that a filter means, in a namespace if one is given; what was superseded only if asked for."""
    chosen = parse(filter, STORED, STATUSES, call.engine.clock.now())
    spaces = [name for name in STORED[namespace] if name in (chosen.namespaces or (name,))] if namespace else None
    return replace(chosen, namespaces=chosen.namespaces if spaces is None else tuple(spaces) or ("-",),
                   statuses=chosen.statuses or (() if chosen.forgotten else FOUND), tags_all=(*chosen.tags_all, *tags))


def memory(call: Call, id: str, forgotten: bool = False) -> Item:
    """The memory with that id; a URN must name its domain and namespace too, or `_` for any."""
    item = the(call, "memory", id, "memory_id", forgotten=forgotten)
    if id.count("/") == 4 and not fnmatch.fnmatchcase(urn(item), id.replace("_", "*")):
        raise NotFound(f"There is no memory {id[:200]!r}.", field="memory_id", id=id)
    return item


def rows(call: Call, items: Sequence[Item], detail: str) -> list[Body]:
    whole, found = texts(call, [item.id for item in items]), list[Body]()
    for item in items:
        address, text = urn(item), whole[item.id]
        found.append({"id": item.id, "urn": address, "uri": f"{ADDRESS}memory/{item.id}", "tags": list(item.tags),
                      "namespace": address.split("/")[3]})
        if detail != "light":
            found[-1]["content"] = text[:MEDIUM] + "…" if detail == "medium" and len(text) > MEDIUM else text
        if detail == "everything":
            status = next((word for word, stored in STATUSES.items() if item.status in stored), item.status)
            found[-1] |= {"status": "tombstoned" if item.forgotten else status, "domain": item.scope.audience.value,
                          "created_at": item.created_at, "updated_at": item.updated_at, "project": item.scope.project,
                          **{name: item.attributes.get(name) for name in ("source", "branch", "context", "expires_at")}}
    return found


def texts(call: Call, ids: Sequence[str]) -> dict[str, str]:
    """The whole texts of memories, forgotten or not."""
    return {item.id: spoken(blocks) for item, blocks in call.engine.read_many(call.caller, ids, forgotten=True)}


def urn(item: Item) -> str:
    """Where a memory stands: domain, namespace, also where another family wrote it, and id."""
    space = item.scope.namespace or "context"
    return f"{ADDRESS}{item.scope.audience.value}/{OURS.get(space, space)}/{item.id}"


def marks(user: str | None, agent: str | None) -> list[str]:
    return [f"{name}:{id}" for name, id in (("user", user), ("agent", agent)) if id]


def read_resource(call: Call, uri: str) -> Content | None:
    return Content(uri, json.dumps(_body(here(call), uri), ensure_ascii=False), "application/json") if uri.startswith(
        ADDRESS) else None


def _body(call: Call, uri: str) -> Body:
    match [unquote(part) for part in uri.removeprefix(ADDRESS).split("/")]:
        case ["help"]:
            return {"tools": {tool.name: tool.description for tool in subcog.tools},
                    "resources": {offer.uri: offer.description for offer in OFFERS}}
        case ["namespaces"]:
            return subcog_namespaces(call)
        case ["topics"]:
            return {"topics": call.engine.counts(call.caller, "tag", wanted(call))}
        case ["_prompts"]:
            page = call.engine.listing(call.caller, Filter(kinds=("prompt",)), "title", False, MOST)
            return {"prompts": [{"name": item.title, "domain": item.scope.audience.value, "tags": list(item.tags),
                                 "description": item.attributes.get("description")} for item in page.items]}
        case ["_", *spaces] if len(spaces) < 2 and {*spaces} <= NAMESPACES.keys():
            query, filter = "", "".join(f"ns:{space}" for space in spaces)
        case ["topics", topic] if topic:
            query, filter = "", f"tag:{json.dumps(topic, ensure_ascii=False)}"
        case ["search", query]:
            filter = ""
        case ["memory", _] | [_, _, _]:
            return rows(call, [memory(call, uri)], "everything")[0]
        case _:
            raise NotFound(f"There is nothing at {uri[:200]!r}; {ADDRESS}help tells what there is.", id=uri)
    found = subcog_recall(call, query=query, filter=filter, limit=MOST, detail="light")
    return {"count": found["total"], "memories": found["results"]}


def complete(call: Call, pattern: str, argument: str, beginning: str) -> list[str]:
    tags = call.engine.counts(here(call).caller, "tag", wanted(call)) if argument == "topic" else {}
    known = {"namespace": [*NAMESPACES], "domain": ["project", "user", "org"], "topic": [*tags]}
    return [value for value in known.get(argument, ()) if pattern.startswith(ADDRESS) and value.startswith(beginning)]


subcog.resources = Resources(read_resource, lambda call: [offer for offer in OFFERS if "{" not in offer.uri],
                             tuple(offer for offer in OFFERS if "{" in offer.uri), complete)
