"""Prompts: the tool `subcog_prompts`, the five older tools `prompt_*`, and MCP prompts."""

from collections.abc import Mapping, Sequence

from memolith.domain.queries import Filter
from memolith.tools.arguments import Limit
from memolith.tools.call import Call
from memolith.tools.resources import Prompt, Prompts
from memolith.tools.signature import Actions
from memolith.tools.subcog.dialect import Domain, in_project, subcog
from memolith.tools.subcog.models import PromptDeleted, PromptPage, Rendered, StoredPrompt
from memolith.tools.subcog.stored_prompts import (
    PromptContent,
    PromptDomain,
    PromptName,
    Variable,
    VariableValues,
    delete_prompt_of,
    find_prompt,
    nearest,
    prompt_body,
    reachable,
    render,
    save_prompt_of,
    variables_of,
)

COMPLETED_ARGUMENTS = {"namespace": "namespace", "project": "project", "tag": "tag", "topic": "tag"}
"""Arguments that are completed with values in use, and what is counted for each."""

prompts = Actions(
    "subcog_prompts", "Prompts with {{variables}}: save, list, get, run with values, delete."
)
subcog.tool(
    destructive=True,
    example={"action": "save", "name": "herd", "content": "Count {{animals}}."},
)(prompts)


@subcog.tool(name="prompt_save", example={"name": "foal", "content": "Feed {{it}}."})
@prompts.action("save", effect="writes")
def save_prompt(
    call: Call,
    *,
    name: PromptName,
    content: PromptContent,
    description: str | None = None,
    domain: Domain = "project",
    tags: list[str] | None = None,
    variables_def: list[Variable] | None = None,
) -> StoredPrompt:
    """Keep a prompt under its name; what it said before stays in its history."""
    return save_prompt_of(
        "prompt",
        call,
        name=name,
        content=content,
        description=description,
        domain=domain,
        tags=tags,
        variables_def=variables_def,
    )


@subcog.tool(name="prompt_list", read_only=True)
@prompts.action("list", effect="reads")
def list_prompts(
    call: Call, *, domain: PromptDomain = None, tags: list[str] | None = None, limit: Limit = 20
) -> PromptPage:
    """The prompts at hand with all of the tags, those of the nearest domain first."""
    found = reachable("prompt", call, domain, Filter(tags_all=tuple(tags or ())))
    return {
        "prompts": [prompt_body(call, item) for item in found[:limit]],
        "total": len(found),
    }


@subcog.tool(name="prompt_get", read_only=True, example={"name": "greet"})
@prompts.action("get", effect="reads")
def get_prompt(
    call: Call, *, name: PromptName, domain: PromptDomain = None, version: int | None = None
) -> StoredPrompt:
    """One prompt with its content and variables."""
    return prompt_body(call, find_prompt("prompt", call, name, domain), version)


@subcog.tool(name="prompt_delete", destructive=True, example={"name": "bye", "domain": "user"})
@prompts.action("delete", effect="writes")
def delete_prompt(call: Call, *, name: PromptName, domain: Domain) -> PromptDeleted:
    """Delete the prompt of a domain."""
    return delete_prompt_of("prompt", call, name, domain)


@subcog.tool(
    name="prompt_run", read_only=True, example={"name": "greet", "variables": {"name": "Zoe"}}
)
@prompts.action("run", effect="reads")
def run_prompt(
    call: Call,
    *,
    name: PromptName,
    variables: VariableValues = None,
    domain: PromptDomain = None,
) -> Rendered:
    """The text of a prompt with the values in it; counts as a use."""
    return render(call, find_prompt("prompt", call, name, domain), variables or {})


def list_mcp_prompts(call: Call) -> Sequence[Prompt]:
    """The prompts that a client shows to its user; of several with a name the nearest."""
    nearest_by_name = {item.title: item for item in reversed(reachable("prompt", in_project(call)))}
    listed = []
    for name, item in sorted(nearest_by_name.items()):
        arguments = [
            (variable.name, variable.description, variable.required and variable.default is None)
            for variable in variables_of(item)
        ]
        description = str(item.attributes.get("description", ""))
        listed.append(Prompt(name, description, tuple(arguments)))
    return listed


def get_mcp_prompt(call: Call, name: str, values: Mapping[str, str]) -> str | None:
    """The text of a saved prompt, or None if there is none with that name."""
    call = in_project(call)
    item = nearest("prompt", call, name)
    if item is None:
        return None
    return render(call, item, values)["rendered"]


def complete_argument(call: Call, name: str, argument: str, beginning: str) -> Sequence[str]:
    """The default of a variable, and the namespaces, projects or tags in use for one named so."""
    call = in_project(call)
    values: list[str] = []
    item = nearest("prompt", call, name)
    if item is not None:
        values.extend(
            str(variable.default or "")
            for variable in variables_of(item)
            if variable.name == argument
        )
    if argument in COMPLETED_ARGUMENTS:
        counted = COMPLETED_ARGUMENTS[argument]
        values.extend(call.engine.reading.count_by(call.caller, counted, Filter(kinds=("memory",))))
    return [value for value in dict.fromkeys(values) if value and value.startswith(beginning)]


subcog.prompts = Prompts(list_mcp_prompts, get_mcp_prompt, complete_argument)
