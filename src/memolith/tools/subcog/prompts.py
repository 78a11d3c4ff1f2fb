"""Prompts and templates of the Subcog family: kept by name, filled with values, and offered as the client's prompts."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal, cast

from pydantic import Field, JsonValue

from memolith.domain.attributes import Json
from memolith.domain.callers import Audience
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Found, Query
from memolith.engine.prompt_templates import NAME, Template, as_json, as_xml
from memolith.engine.titles import headline
from memolith.errors import InvalidInput, PromptNotFound
from memolith.ports.items import MOST_LISTED
from memolith.tools.call import Call
from memolith.tools.item_views import Limit, Object, Texts, spoken
from memolith.tools.resources import Prompt, Prompts
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape
from memolith.tools.signature import Actions, Argument
from memolith.tools.subcog.captures import Domain, here, placed, rows, wanted
from memolith.tools.subcog.graph import subcog

__all__ = ["subcog"]
FORMS: dict[str, Callable[[str], str]] = {"markdown": str, "json": as_json, "xml": as_xml}
CASCADE: tuple[Domain, ...] = ("project", "user", "org")
Name = Annotated[
    str, Field(description="Small letters, digits and single hyphens, as code-review.")
]
In = Annotated[
    Domain | None,
    Field(description="Left out: the project's, else the user's, else the organisation's."),
]
Values = Annotated[Object | None, Field(description="A value for each variable.")]
Text = Annotated[
    str, Field(description="With {{variable}}, {{#each list}}…{{/each}}, {{#if x}}…{{/if}}.")
]


class Variable(Argument):
    """What is known about a variable of a content."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    description: str = ""
    default: JsonValue = None
    required: bool = True


KEPT = shape(
    "redactions",
    id=str,
    name=str,
    domain=str,
    content=str,
    description=str,
    tags=[str],
    variables=[str],
    variables_def=[dict],
    version=int,
    usage_count=int,
    updated_at=str,
    redactions=dict[str, int],
)
RENDERED = shape(
    "version format total_count",
    name=str,
    domain=str,
    rendered=str,
    version=int,
    format=str,
    total_count=int,
    warnings=[str],
)
prompts = Actions(
    "subcog_prompts", "Prompts with {{variables}}: save, list, get, run with values, delete."
)
templates = Actions(
    "subcog_templates", "Templates that lay out memories: save, list, get, render, delete."
)


def keep(kind: str, tool: Actions, given: Sequence[str] = ()) -> None:
    """Give a tool the actions by which its things are kept; the variables given are there without being declared."""

    @tool.action("save", KEPT, effect="writes")
    def save(
        call: Call,
        *,
        name: Name,
        content: Text,
        description: str | None = None,
        domain: Domain = "project",
        tags: Texts = None,
        variables_def: list[Variable] | None = None,
    ) -> Body:
        """Keep a prompt under its name; what it said before stays in its history."""
        if not re.fullmatch(r"(?=.{1,64}$)[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
            raise InvalidInput(
                "A name is of small letters, digits and single hyphens.", field="name", value=name
            )
        declared = {one.name: one for one in variables_def or ()}
        names = Template(content, None if variables_def is None else {*declared, *given}).names
        used = {
            one: Variable(name=one, required=must)
            for one, must in names.items()
            if one not in given
        }
        kept: dict[str, Json] = {
            "description": description or headline(content.lstrip("# \n")),
            "variables": [one.model_dump() for one in (used | declared).values()],
        }
        said, marked, present = (
            (Block(content),),
            tuple(tags or ()),
            _nearest(call, kind, name, domain),
        )
        draft = Draft(kind, name, said, marked, kept, "active", *placed(call.caller, domain))
        written = (
            call.engine.writing.revise(call.caller, present.id, Patch(None, said, marked, kept))
            if present
            else call.engine.writing.remember(call.caller, draft, call.idempotency_key)
        )
        call.changed()
        return {**_shown(call, written.item), "redactions": dict(written.redactions)}

    @tool.action("list", shape(**{f"{kind}s": [KEPT], "total": int}), effect="reads")
    def list_(call: Call, *, domain: In = None, tags: Texts = None, limit: Limit = 20) -> Body:
        """The prompts at hand with all of the tags, those of the nearest domain first."""
        found = _reach(call, kind, domain, Filter(tags_all=tuple(tags or ())))
        return {f"{kind}s": [_shown(call, item) for item in found[:limit]], "total": len(found)}

    @tool.action("get", KEPT, effect="reads")
    def get(call: Call, *, name: Name, domain: In = None, version: int | None = None) -> Body:
        """One prompt with its content and variables."""
        return _shown(call, _find(call, kind, name, domain), version)

    @tool.action("delete", shape(name=str, domain=str, deleted=bool), effect="writes")
    def delete(call: Call, *, name: Name, domain: Domain) -> Body:
        """Delete the prompt of a domain."""
        item = _find(call, kind, name, domain)
        call.engine.writing.forget(call.caller, item.id, key=call.idempotency_key)
        call.changed()
        return {"name": name, "domain": item.audience.value, "deleted": True}


keep("prompt", prompts)
keep("template", templates, ("memories", "total_count", "namespace_counts", "statistics"))


@prompts.action("run", RENDERED, effect="reads")
def run(call: Call, *, name: Name, variables: Values = None, domain: In = None) -> Body:
    """The text of a prompt with the values in it; counts as a use."""
    return _rendered(call, _find(call, "prompt", name, domain), variables or {})


@templates.action("render", RENDERED, effect="reads")
def render(
    call: Call,
    *,
    name: Name,
    query: str | None = None,
    limit: Limit = 20,
    variables: Values = None,
    format: Literal["markdown", "json", "xml"] = "markdown",
    domain: In = None,
) -> Body:
    """The text of a template with the memories found and the values in it; counts as a use."""
    item = _find(call, "template", name, domain)
    asked = Query(query or "", wanted(call, "status:active"), limit=limit, per_item=True)
    found = Found((), 0) if query is None else call.engine.recall.search(call.caller, asked)
    scores = {hit.item.id: hit.score for hit in found.hits}
    shown = rows(call, [*scores], "everything", scores)
    total: dict[str, Json] = {
        "total_count": len(shown),
        "namespace_counts": dict(Counter(str(row["namespace"]) for row in shown)),
    }
    body = _rendered(
        call,
        item,
        {"memories": cast("Json", shown), **total, "statistics": total, **(variables or {})},
    )
    return {
        **body,
        "rendered": FORMS[format](str(body["rendered"])),
        "version": item.version,
        "format": format,
        "total_count": len(shown),
        "warnings": list(found.warnings),
    }


def _reach(
    call: Call, kind: str, domain: Domain | None = None, chosen: Filter = Filter()
) -> list[Item]:
    """What there is of a kind in a domain, or in all that the caller works in, the nearest first."""
    caller, places = (
        call.caller,
        [placed(call.caller, one) for one in CASCADE if domain in (None, one)],
    )
    found = call.engine.reading.list_items(
        caller, replace(chosen, kinds=(kind,)), "title", False, MOST_LISTED
    ).items
    near = [
        (places.index(place), item)
        for item in found
        if (place := (item.audience, item.project)) in places
        and (item.audience is not Audience.USER or item.owner == caller.user)
    ]
    return [item for _, item in sorted(near, key=lambda one: one[0])]


def _nearest(call: Call, kind: str, name: str, domain: Domain | None = None) -> Item | None:
    return next(iter(_reach(call, kind, domain, Filter(titles=(name,)))), None)


def _find(call: Call, kind: str, name: str, domain: Domain | None) -> Item:
    if item := _nearest(call, kind, name, domain):
        return item
    raise PromptNotFound(f"There is no {kind} {name[:80]!r} here.", field="name", id=name)


def _variables(item: Item) -> list[Variable]:
    return [
        Variable.model_validate(one)
        for one in cast("list[Json]", item.attributes.get("variables", []))
    ]


def _shown(call: Call, item: Item, version: int | None = None) -> Body:
    caller, past = call.caller, call.engine.history
    count = call.engine.reading.accesses(caller, [item.id]).get(item.id, (0, ""))[0]
    steps = [] if version is None else past.history(caller, item.id)
    at = [step.event.at for step in steps if step.event.version == version]
    if version is not None and not at:
        raise PromptNotFound(f"There is no version {version} of {item.title!r}.", field="version")
    item, blocks = (
        past.as_of(caller, item.id, at[0]) if at else call.engine.reading.read(caller, item.id)
    )
    return {
        "id": item.id,
        "name": item.title,
        "domain": item.audience.value,
        "content": spoken(blocks),
        "description": item.attributes.get("description", ""),
        "tags": list(item.tags),
        "version": item.version,
        "variables": [one.name for one in _variables(item)],
        "usage_count": count,
        "updated_at": item.updated_at,
        "variables_def": item.attributes.get("variables", []),
    }


def _rendered(call: Call, item: Item, values: Mapping[str, Json]) -> Body:
    _, blocks = call.engine.reading.read(call.caller, item.id)
    known = _variables(item)
    defaults = {one.name: one.default for one in known if one.default is not None}
    text = Template(spoken(blocks)).render(
        {**defaults, **values}, [one.name for one in known if one.required]
    )
    call.engine.reading.note_access(call.caller, item.id)
    return {"name": item.title, "domain": item.audience.value, "rendered": text}


def listed(call: Call) -> Sequence[Prompt]:
    """The prompts that a client shows to its user; of several with a name the nearest."""
    found = {item.title: item for item in reversed(_reach(here(call), "prompt"))}
    return [
        Prompt(
            name,
            str(item.attributes.get("description", "")),
            tuple(
                (one.name, one.description, one.required and one.default is None)
                for one in _variables(item)
            ),
        )
        for name, item in sorted(found.items())
    ]


def text(call: Call, name: str, values: Mapping[str, str]) -> str | None:
    item = _nearest(call := here(call), "prompt", name)
    return str(_rendered(call, item, values)["rendered"]) if item else None


def complete(call: Call, name: str, argument: str, beginning: str) -> Sequence[str]:
    """The default of a variable; for one that is named after it, every namespace, project or tag in use."""
    item = _nearest(call := here(call), "prompt", name)
    values = (
        [str(one.default or "") for one in _variables(item) if one.name == argument] if item else []
    )
    if argument in ("namespace", "project", "tag", "topic"):
        values += call.engine.reading.count_by(
            call.caller, argument.replace("topic", "tag"), Filter(("memory",))
        )
    return [value for value in dict.fromkeys(values) if value and value.startswith(beginning)]


subcog.prompts = Prompts(listed, text, complete)
subcog.tool(destructive=True)(prompts)
subcog.tool(destructive=True)(templates)
for action, signed in prompts.actions.items():
    subcog.tool(
        signed.output_schema,
        name=f"prompt_{action}",
        read_only=signed.effect == "reads",
        destructive=action == "delete",
    )(signed.function)
