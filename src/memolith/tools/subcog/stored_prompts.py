"""What prompts and templates have in common: saved by name in a domain, found in the nearest."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from memolith.domain.attributes import Json
from memolith.domain.callers import Audience
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.prompt_templates import NAME, Template
from memolith.engine.titles import headline
from memolith.errors import InvalidInput, PromptNotFound
from memolith.ports.items import MOST_LISTED
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.results import text_with_speakers
from memolith.tools.signature import Argument
from memolith.tools.subcog.dialect import Domain, placement
from memolith.tools.subcog.models import PromptDeleted, Rendered, StoredPrompt

PromptKind = Literal["prompt", "template"]
DOMAINS_NEAREST_FIRST: tuple[Domain, ...] = ("project", "user", "org")
PROMPT_NAME = re.compile(r"(?=.{1,64}$)[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_SHOWN_NAME_LENGTH = 80

PromptName = Annotated[
    str, Field(description="Small letters, digits and single hyphens, as code-review.")
]
PromptDomain = Annotated[
    Domain | None,
    Field(description="Left out: the project's, else the user's, else the organisation's."),
]
VariableValues = Annotated[JsonObject | None, Field(description="A value for each variable.")]
PromptContent = Annotated[
    str, Field(description="With {{variable}}, {{#each list}}…{{/each}}, {{#if x}}…{{/if}}.")
]


class Variable(Argument):
    """What is known about a variable of a content."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    description: str = ""
    default: JsonValue = None
    required: bool = True


def save_prompt_of(
    kind: PromptKind,
    call: Call,
    *,
    name: str,
    content: str,
    description: str | None,
    domain: Domain,
    tags: list[str] | None,
    variables_def: list[Variable] | None,
    builtin_variables: Sequence[str] = (),
) -> StoredPrompt:
    """Save under a name; what was saved there before stays in the history.

    `builtin_variables` are there without being declared.
    """
    if not PROMPT_NAME.fullmatch(name):
        raise InvalidInput(
            "A name is of small letters, digits and single hyphens.", field="name", value=name
        )
    variables = _declared_variables(content, variables_def, builtin_variables)
    attributes: dict[str, Json] = {
        "description": description or headline(content.lstrip("# \n")),
        "variables": [variable.model_dump() for variable in variables],
    }
    blocks = (Block(content),)
    present = nearest(kind, call, name, domain)
    if present is not None:
        patch = Patch(blocks=blocks, tags=tuple(tags or ()), attributes=attributes)
        written = call.engine.writing.revise(call.caller, present.id, patch)
    else:
        audience, project = placement(call.caller, domain)
        draft = Draft(
            kind=kind,
            title=name,
            blocks=blocks,
            tags=tuple(tags or ()),
            attributes=attributes,
            audience=audience,
            project=project,
        )
        written = call.engine.writing.remember(call.caller, draft)
    call.engine.once.after_commit(call.changed)
    return {**prompt_body(call, written.item), "redactions": dict(written.redactions)}


def _declared_variables(
    content: str, variables_def: list[Variable] | None, builtin_variables: Sequence[str]
) -> list[Variable]:
    """The variables that the content uses, as they are declared or as they follow from it."""
    declared = {variable.name: variable for variable in variables_def or ()}
    allowed = None
    if variables_def is not None:
        allowed = {*declared, *builtin_variables}
    used: dict[str, Variable] = {}
    for name, required in Template(content, allowed).names.items():
        if name not in builtin_variables:
            used[name] = Variable(name=name, required=required)
    return list({**used, **declared}.values())


def reachable(
    kind: PromptKind, call: Call, domain: Domain | None = None, chosen: Filter = Filter()
) -> list[Item]:
    """What there is in a domain, or in all that the caller works in, the nearest first."""
    caller = call.caller
    places = [
        placement(caller, candidate)
        for candidate in DOMAINS_NEAREST_FIRST
        if domain in (None, candidate)
    ]
    page = call.engine.reading.list_items(
        caller, replace(chosen, kinds=(kind,)), sort="title", descending=False, limit=MOST_LISTED
    )
    distance: dict[str, int] = {}
    for item in page.items:
        is_own = item.audience is not Audience.USER or item.owner == caller.user
        place = (item.audience, item.project)
        if is_own and place in places:
            distance[item.id] = places.index(place)
    found = [item for item in page.items if item.id in distance]
    return sorted(found, key=lambda item: distance[item.id])


def nearest(kind: PromptKind, call: Call, name: str, domain: Domain | None = None) -> Item | None:
    """The prompt with that name in the nearest domain."""
    found = reachable(kind, call, domain, Filter(titles=(name,)))
    return found[0] if found else None


def find_prompt(kind: PromptKind, call: Call, name: str, domain: Domain | None) -> Item:
    """The prompt with that name, or an error that says there is none."""
    item = nearest(kind, call, name, domain)
    if item is None:
        raise PromptNotFound(
            f"There is no {kind} {name[:MAX_SHOWN_NAME_LENGTH]!r} here.", field="name", id=name
        )
    return item


def delete_prompt_of(kind: PromptKind, call: Call, name: str, domain: Domain) -> PromptDeleted:
    """Delete the prompt of a domain."""
    item = find_prompt(kind, call, name, domain)
    call.engine.writing.forget(call.caller, item.id)
    call.engine.once.after_commit(call.changed)
    return {"name": name, "domain": item.audience.value, "deleted": True}


def variables_of(item: Item) -> list[Variable]:
    """The variables of a prompt as they are kept; what is no variable is passed over.

    Other tools write attributes, too, and know nothing of variables.
    """
    stored = item.attributes.get("variables")
    found = []
    for variable in stored if isinstance(stored, list) else []:
        with suppress(ValidationError):
            found.append(Variable.model_validate(variable))
    return found


def prompt_body(call: Call, item: Item, version: int | None = None) -> StoredPrompt:
    """A prompt as it is now, or in an earlier version."""
    usage_count, _ = call.engine.reading.accesses(call.caller, [item.id]).get(item.id, (0, ""))
    if version is None:
        item, blocks = call.engine.reading.read(call.caller, item.id)
    else:
        at = _time_of_version(call, item, version)
        item, blocks = call.engine.history.as_of(call.caller, item.id, at)
    variables = variables_of(item)
    return {
        "id": item.id,
        "name": item.title,
        "domain": item.audience.value,
        "content": text_with_speakers(blocks),
        "description": str(item.attributes.get("description") or ""),
        "tags": list(item.tags),
        "version": item.version,
        "variables": [variable.name for variable in variables],
        "usage_count": usage_count,
        "updated_at": item.updated_at,
        "variables_def": [variable.model_dump() for variable in variables],
    }


def _time_of_version(call: Call, item: Item, version: int) -> str:
    for step in call.engine.history.history(call.caller, item.id):
        if step.event.version == version:
            return step.event.at
    raise PromptNotFound(f"There is no version {version} of {item.title!r}.", field="version")


def render(call: Call, item: Item, values: Mapping[str, Json]) -> Rendered:
    """The text with the values in it; counts as a use."""
    _, blocks = call.engine.reading.read(call.caller, item.id)
    variables = variables_of(item)
    defaults = {
        variable.name: variable.default for variable in variables if variable.default is not None
    }
    required = [variable.name for variable in variables if variable.required]
    template = Template(text_with_speakers(blocks))
    text = template.render({**defaults, **values}, required)
    call.note_read(item.id)
    return {"name": item.title, "domain": item.audience.value, "rendered": text}
