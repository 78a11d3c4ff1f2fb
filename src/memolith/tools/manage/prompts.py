"""List prompts and templates together, and see what a text would become before it is saved."""

from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired, TypedDict, cast

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.engine.prompt_templates import Part, Template
from memolith.errors import InvalidInput
from memolith.tools.arguments import Limit
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.sekha.arguments import Offset
from memolith.tools.subcog.models import StoredPrompt
from memolith.tools.subcog.stored_prompts import (
    PromptContent,
    PromptDomain,
    PromptKind,
    VariableValues,
    prompt_body,
    reachable,
)
from memolith.tools.subcog.templates import BUILTIN_VARIABLES

KINDS: tuple[PromptKind, ...] = ("prompt", "template")
SAMPLE_MEMORY: dict[str, Json] = {
    "id": "example",
    "content": "An example of a memory.",
    "namespace": "decisions",
    "tags": ["example"],
    "score": 0.9,
}
"""What a preview lays out in the place of memories."""
SAMPLE_TOTALS: dict[str, Json] = {"total_count": 1, "namespace_counts": {"decisions": 1}}
SAMPLES: dict[str, Json] = {
    "memories": [SAMPLE_MEMORY],
    **SAMPLE_TOTALS,
    "statistics": SAMPLE_TOTALS,
}


class ListedPrompt(StoredPrompt):
    """A prompt or a template, and which of both it is."""

    kind: str


class ListedPrompts(TypedDict):
    """The result of `list_prompts`."""

    prompts: list[ListedPrompt]
    total: int


class PreviewVariable(TypedDict):
    """A variable that a content uses."""

    name: str
    required: bool


class PromptPreview(TypedDict):
    """The result of `preview_prompt`."""

    rendered: Annotated[str | None, Described("Null if it cannot be rendered.")]
    variables: list[PreviewVariable]
    missing: Annotated[list[str], Described("Without a value; their names stand in the text.")]
    problem: NotRequired[str]


@manage.tool(read_only=True)
def list_prompts(
    call: Call,
    *,
    kind: Annotated[PromptKind | None, Field(description="Left out: both.")] = None,
    query: Annotated[
        str, Field(max_length=200, description="Only with this in the name or the description.")
    ] = "",
    tags: Annotated[list[str] | None, Field(description="Only with all of these.")] = None,
    domain: PromptDomain = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> ListedPrompts:
    """A page of the prompts and templates at hand, by name."""
    chosen = Filter(tags_all=tuple(tags or ()))
    found: list[tuple[PromptKind, Item]] = []
    for one_kind in KINDS:
        if kind in (None, one_kind):
            found += [(one_kind, item) for item in reachable(one_kind, call, domain, chosen)]
    matching = [entry for entry in found if _says(entry[1], query)]
    matching.sort(key=lambda entry: (entry[1].title, entry[0], entry[1].audience))
    return {
        "prompts": [
            {**prompt_body(call, item), "kind": its_kind}
            for its_kind, item in matching[offset : offset + limit]
        ],
        "total": len(matching),
    }


@manage.tool(read_only=True, example={"content": "Hello {{name}}.", "variables": {"name": "Zoe"}})
def preview_prompt(
    call: Call,
    *,
    content: PromptContent,
    kind: Annotated[
        PromptKind, Field(description="A template is given an example of a memory.")
    ] = "prompt",
    variables: VariableValues = None,
) -> PromptPreview:
    """What a content would become with these values; nothing is saved and nothing counted."""
    given = cast("Mapping[str, Json]", variables or {})
    template = Template(content)
    builtin = SAMPLES if kind == "template" else {}
    used = {
        name: required
        for name, required in template.names.items()
        if kind == "prompt" or name not in BUILTIN_VARIABLES
    }
    missing = [name for name in used if given.get(name) is None]
    repeated = _repeated(template.parts)
    stand_ins: dict[str, Json] = {name: _braced(name) for name in missing}
    stand_ins |= {name: [_braced(entry)] for name, entry in repeated.items() if name in missing}
    preview: PromptPreview = {
        "rendered": None,
        "variables": [{"name": name, "required": required} for name, required in used.items()],
        "missing": missing,
    }
    try:
        preview["rendered"] = template.render({**builtin, **stand_ins, **given})
    except InvalidInput as error:
        preview["problem"] = error.message
    return preview


def _braced(name: str) -> str:
    """A name as it stands in a content."""
    return f"{{{{{name}}}}}"


def _repeated(parts: Sequence[Part | str]) -> dict[str, str]:
    """The variables that are lists, each with what one entry of it is called."""
    found: dict[str, str] = {}
    for part in parts:
        if isinstance(part, str):
            continue
        if part.kind == "each" and part.is_variable and len(part.path) == 1:
            found[part.path[0]] = part.entry_name
        found |= _repeated(part.body) | _repeated(part.alternative)
    return found


def _says(item: Item, query: str) -> bool:
    """Whether the name or the description has the text in it."""
    text = f"{item.title}\n{item.attributes.get('description', '')}"
    return query.casefold() in text.casefold()
