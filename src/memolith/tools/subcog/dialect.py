"""The error codes of Subcog, the project a call belongs to, and the family itself."""

from dataclasses import replace
from typing import Literal, NamedTuple

from memolith.domain.callers import Audience, Caller
from memolith.errors import (
    AnalystDown,
    BlockedContent,
    Denied,
    Malformed,
    NotFound,
    PromptNotFound,
)
from memolith.ports.repository import Checkout
from memolith.tools.call import Call
from memolith.tools.family import Family
from memolith.tools.jsonrpc_dialect import ErrorCode, jsonrpc_dialect

Domain = Literal["project", "user", "org"]

ERROR_CODES = {
    Malformed: ErrorCode(-32602, "Invalid parameters"),
    BlockedContent: ErrorCode(-32605, "Content blocked"),
    PromptNotFound: ErrorCode(-32607, "Prompt not found"),
    NotFound: ErrorCode(-32604, "Memory not found"),
    AnalystDown: ErrorCode(-32606, "LLM provider error"),
    Denied: ErrorCode(-32600, "Permission denied"),
}
"""The documented code by error class; the first that fits."""
VALIDATION_ERROR = ErrorCode(-32608, "Validation error")


def repository_around(call: Call, path: str = "") -> Checkout | None:
    """The repository around a local server, or around a folder of its machine.

    None over HTTP, where the server's folder says nothing about the client.
    """
    return call.engine.repository(path) if call.local else None


def in_project(call: Call) -> Call:
    """The call in the project that the caller states, else in that of the repository around."""
    if call.caller.project:
        return call
    around = repository_around(call)
    if around is None:
        return call
    caller = replace(call.caller, project=around.project)
    # A project that a request names was checked when the request was let in.
    call.engine.projects.check(caller)
    return replace(call, caller=caller)


class Placement(NamedTuple):
    """Who sees what is written for a domain, and in which project."""

    audience: Audience
    project: str | None


def placement(caller: Caller, domain: Domain) -> Placement:
    """Where a domain is for a caller; outside of a project it is the user's own."""
    if domain == "project" and caller.project is None:
        return Placement(Audience.USER, None)
    audience = Audience(domain)
    return Placement(audience, caller.project if audience is Audience.PROJECT else None)


subcog = Family(
    "subcog",
    jsonrpc_dialect(ERROR_CODES, invalid=VALIDATION_ERROR, enter=in_project),
    modules=(
        "memolith.tools.subcog.captures",
        "memolith.tools.subcog.entities",
        "memolith.tools.subcog.graph",
        "memolith.tools.subcog.prompts",
        "memolith.tools.subcog.resources",
        "memolith.tools.subcog.templates",
        "memolith.tools.subcog.upkeep",
        "memolith.tools.subcog.relationships",
    ),
    order=(
        "subcog_capture",
        "subcog_recall",
        "subcog_get",
        "subcog_update",
        "subcog_delete",
        "subcog_namespaces",
        "subcog_status",
        "subcog_gc",
        "subcog_reindex",
        "subcog_consolidate",
        "subcog_enrich",
        "subcog_sync",
        "subcog_entities",
        "subcog_relationships",
        "subcog_graph",
        "subcog_prompts",
        "subcog_templates",
        "prompt_save",
        "prompt_list",
        "prompt_get",
        "prompt_delete",
        "prompt_run",
    ),
    instructions=(
        "Memories of coding sessions by namespace, prompts and templates, a graph of entities."
    ),
    purpose="captures of coding sessions, a graph of entities, prompts",
    stands_for="Subcog",
)
