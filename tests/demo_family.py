"""A small family for the tests of the registry and the doors: a reader, a writer, every error, a
slow one, actions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Field, JsonValue

from memolith import errors
from memolith.errors import InvalidInput, MemolithError, NotFound
from memolith.tools.call import Call
from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.registry import Registry
from memolith.tools.resources import Prompt, Prompts, Resource, Resources
from memolith.tools.signature import Actions, Argument

ERRORS = {
    kind.type: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, MemolithError)
}
NOTES: dict[str, str] = {"one": "the first note", "umlaut": "Grüße, 世界 🙂"}
SAVED: dict[str, str] = {}


class Note(TypedDict):
    """A note."""

    id: str
    title: NotRequired[str | None]
    text: str
    tags: list[str]
    warnings: NotRequired[list[str]]


class NotePage(TypedDict):
    """A page of notes."""

    notes: list[Note]
    total: int


class Said(TypedDict):
    """A text."""

    text: str


class Stamp(Argument):
    title: Annotated[str, Field(min_length=1, description="A short name.")]
    weight: float = 1.0


def read(call: Call, uri: str) -> str:
    key = uri.removeprefix("demo://note/")
    if key not in NOTES:
        raise NotFound(f"There is no note {key!r}.", id=key)
    return NOTES[key]


def listed(call: Call) -> Sequence[Resource]:
    return [Resource(f"demo://note/{key}", key) for key in NOTES]


def complete_note(call: Call, template: str, argument: str, beginning: str) -> Sequence[str]:
    return [key for key in NOTES if key.startswith(beginning)]


def prompts(call: Call) -> Sequence[Prompt]:
    about = ("subject", "What it is about.", True)
    return [
        Prompt("summary", "Sum up a subject.", (about,)),
        *(Prompt(name, "A saved prompt.") for name in SAVED),
    ]


def prompt(call: Call, name: str, values: Mapping[str, str]) -> str | None:
    if name == "summary":
        if "subject" not in values:
            raise InvalidInput("`subject` is required.", field="subject")
        return f"Sum up {values['subject']}."
    return SAVED.get(name)


demo = Family(
    "demo",
    instructions="Notes to play with.",
    prompts=Prompts(prompts, prompt, complete_note),
    resources=Resources(
        "demo://", read, listed, (Resource("demo://note/{key}", "note", "One note."),)
    ),
)


def _note(id: str, text: str, title: str | None) -> Note:
    return {"id": id, "title": title, "text": text, "tags": [], "warnings": []}


@demo.tool(read_only=True)
def get_note(
    call: Call, *, note_id: Annotated[str, Field(description="Which note.", min_length=1)]
) -> Note:
    """One note."""
    if note_id not in NOTES:
        raise NotFound(f"There is no note {note_id!r}.", id=note_id)
    return _note(note_id, NOTES[note_id], None)


@demo.tool(read_only=True)
def list_notes(
    call: Call,
    *,
    limit: Annotated[int, Field(ge=1, le=50, description="At most so many.")] = 10,
    order: Annotated[Literal["asc", "desc"] | None, Field(description="By id.")] = None,
    json: Annotated[bool, Field(description="A name that a model has as a method.")] = False,
) -> NotePage:
    """All notes."""
    keys = sorted(NOTES, reverse=order == "desc")
    found = [_note(key, NOTES[key], key) for key in keys]
    return {"notes": found[:limit], "total": len(found)}


@demo.tool(idempotent=True)
def add_note(
    call: Call,
    *,
    text: Annotated[str, Field(description="What to keep.")],
    tags: Annotated[list[str], Field(max_length=3, description="Up to three words.")] = [],  # noqa: B006
    stamps: Annotated[list[Stamp], Field(description="More about it.")] = [],  # noqa: B006
    metadata: Annotated[dict[str, JsonValue] | None, Field(description="Anything else.")] = None,
    score: Annotated[float, Field(gt=0, lt=1, description="How sure.")] = 0.5,
) -> Note:
    """Say what would be kept."""
    return {
        "id": call.idempotency_key or "new",
        "title": call.caller.user,
        "text": text,
        "tags": tags,
        "warnings": [stamp.title for stamp in stamps],
    }


@demo.tool(effect="runs")
def fail(call: Call, *, kind: Annotated[str, Field(description="The type of the error.")]) -> Said:
    """Fail in any way that there is."""
    if kind == "crash":
        raise RuntimeError("the password is hunter2")
    raise ERRORS[kind](field="kind")


@demo.tool(destructive=True, scope="admin")
def wipe(call: Call) -> Said:
    """Ask, and then do nothing."""
    if call.elicit is None:
        raise InvalidInput("This client cannot ask.")
    answer = call.elicit(
        "Really?",
        {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
    )
    return {"text": "declined" if answer is None else f"sure={answer.get('sure')}"}


running = threading.Event()
stopped = threading.Event()


@demo.tool(effect="runs")
def slow(
    call: Call,
    *,
    steps: Annotated[int, Field(ge=1, le=1000, description="How many.")] = 3,
    step_ms: Annotated[int, Field(ge=0, le=1000, description="How long each takes.")] = 1,
) -> Said:
    """Take some time and tell how far it is."""
    running.set()
    for step in range(steps):
        if call.cancelled():
            stopped.set()
            return {"text": "stopped"}
        call.progress(step + 1, steps, f"step {step + 1}")
        time.sleep(step_ms / 1000)
    return {"text": "done"}


saved = demo.tool(effect="writes")(Actions("saved_prompts", "Keep prompts."))


@saved.action("save", effect="writes")
def save(
    call: Call,
    *,
    name: Annotated[str, Field(description="Its name.")],
    text: Annotated[str, Field(description="Its text.")],
) -> Said:
    """Keep one."""
    SAVED[name] = text
    call.changed()
    return {"text": name}


@saved.action("list", effect="reads")
def list_saved(
    call: Call, *, limit: Annotated[int, Field(ge=1, description="At most so many.")] = 5
) -> NotePage:
    """Show them."""
    return {
        "notes": [_note(key, SAVED[key], key) for key in list(SAVED)[:limit]],
        "total": len(SAVED),
    }


def coded(error: MemolithError) -> tuple[int, str, Any]:
    return (
        {401: -32001, 403: -32002, 404: -32004, 400: -32005}.get(error.status, -32000),
        error.message,
        {"details": error.type, **({"field": error.field} if error.field else {})},
    )


def body(error: MemolithError) -> dict[str, Any]:
    return dict(zip(("code", "message", "data"), coded(error), strict=True))


coded_family = Family(
    "coded",
    Dialect(
        success=lambda result: {"success": True, "data": result},
        failure=body,
        jsonrpc=coded,
        schema=lambda schema: {
            "type": "object",
            "properties": {"success": {"const": True}, "data": schema},
        },
    ),
)


@coded_family.tool(read_only=True)
def coded_fail(
    call: Call, *, kind: Annotated[str, Field(description="The type of the error.")]
) -> Said:
    """Fail with a code, or not."""
    if kind == "none":
        return {"text": "fine"}
    raise ERRORS[kind](field="kind")


manage = Family("manage", listed_over_mcp=False)


@manage.tool(scope="admin")
def tidy(call: Call) -> Said:
    """Nothing to be seen over MCP."""
    return {"text": "tidy"}


apart = Family("chatgpt", apart=True)


@apart.tool(read_only=True)
def search(call: Call, *, query: Annotated[str, Field(description="Words.")]) -> Said:
    """Search, as one client calls it."""
    return {"text": query}


apart.tool(read_only=True)(get_note)


def families() -> list[Family]:
    return [demo, coded_family, manage, apart]


def registry() -> Registry:
    return Registry(families())
