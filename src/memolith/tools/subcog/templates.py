"""Templates: the tool `subcog_templates`, which lays out memories."""

from collections import Counter
from collections.abc import Callable
from typing import Literal, cast

from memolith.domain.attributes import Json
from memolith.domain.queries import Filter, Found, Query
from memolith.engine.prompt_templates import as_json, as_xml
from memolith.tools.arguments import Limit
from memolith.tools.call import Call
from memolith.tools.signature import Actions
from memolith.tools.subcog.dialect import Domain, subcog
from memolith.tools.subcog.models import PromptDeleted, Rendered, StoredPrompt, TemplatePage
from memolith.tools.subcog.stored_prompts import (
    PromptContent,
    PromptDomain,
    PromptName,
    Variable,
    VariableValues,
    delete_prompt_of,
    find_prompt,
    prompt_body,
    reachable,
    render,
    save_prompt_of,
)
from memolith.tools.subcog.views import memory_filter, whole_memories

OUTPUT_FORMATS: dict[str, Callable[[str], str]] = {
    "markdown": str,
    "json": as_json,
    "xml": as_xml,
}
BUILTIN_VARIABLES = ("memories", "total_count", "namespace_counts", "statistics")
NOTHING_FOUND = Found((), 0)

templates = Actions(
    "subcog_templates", "Templates that lay out memories: save, list, get, render, delete."
)
subcog.tool(
    destructive=True,
    example={
        "action": "save",
        "name": "herds",
        "content": "{{#each memories}}{{this.content}}{{/each}}",
    },
)(templates)


@templates.action("save", effect="writes")
def save_template(
    call: Call,
    *,
    name: PromptName,
    content: PromptContent,
    description: str | None = None,
    domain: Domain = "project",
    tags: list[str] | None = None,
    variables_def: list[Variable] | None = None,
) -> StoredPrompt:
    """Keep a template under its name; what it said before stays in its history."""
    return save_prompt_of(
        "template",
        call,
        name=name,
        content=content,
        description=description,
        domain=domain,
        tags=tags,
        variables_def=variables_def,
        builtin_variables=BUILTIN_VARIABLES,
    )


@templates.action("list", effect="reads")
def list_templates(
    call: Call, *, domain: PromptDomain = None, tags: list[str] | None = None, limit: Limit = 20
) -> TemplatePage:
    """The templates at hand with all of the tags, those of the nearest domain first."""
    found = reachable("template", call, domain, Filter(tags_all=tuple(tags or ())))
    return {
        "templates": [prompt_body(call, item) for item in found[:limit]],
        "total": len(found),
    }


@templates.action("get", effect="reads")
def get_template(
    call: Call, *, name: PromptName, domain: PromptDomain = None, version: int | None = None
) -> StoredPrompt:
    """One template with its content and variables."""
    return prompt_body(call, find_prompt("template", call, name, domain), version)


@templates.action("delete", effect="writes")
def delete_template(call: Call, *, name: PromptName, domain: Domain) -> PromptDeleted:
    """Delete the template of a domain."""
    return delete_prompt_of("template", call, name, domain)


@templates.action("render", effect="reads")
def render_template(
    call: Call,
    *,
    name: PromptName,
    query: str | None = None,
    limit: Limit = 20,
    variables: VariableValues = None,
    format: Literal["markdown", "json", "xml"] = "markdown",
    domain: PromptDomain = None,
) -> Rendered:
    """The text of a template with the memories found and the values in it; counts as a use."""
    item = find_prompt("template", call, name, domain)
    found = NOTHING_FOUND
    if query is not None:
        chosen = memory_filter(call, "status:active")
        found = call.engine.recall.search(
            call.caller, Query(text=query, filter=chosen, limit=limit, per_item=True)
        )
    scores = {hit.item.id: hit.score for hit in found.hits}
    memories = [
        {**memory, "score": scores[memory["id"]]} for memory in whole_memories(call, list(scores))
    ]
    namespace_counts = Counter(str(memory["namespace"]) for memory in memories)
    totals: dict[str, Json] = {
        "total_count": len(memories),
        "namespace_counts": dict(namespace_counts),
    }
    values = {
        "memories": cast(Json, memories),
        **totals,
        "statistics": totals,
        **(variables or {}),
    }
    rendered = render(call, item, values)
    return {
        "name": rendered["name"],
        "domain": rendered["domain"],
        "rendered": OUTPUT_FORMATS[format](rendered["rendered"]),
        "version": item.version,
        "format": format,
        "total_count": len(memories),
        "warnings": list(found.warnings),
    }
