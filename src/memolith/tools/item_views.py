"""Items as every family takes and shows them: ids as clients write them, whole texts, what a change has left."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from memolith.domain.items import Item, Written
from memolith.domain.passages import Block, Passage
from memolith.errors import AlreadyExists, MemolithError, NotFound
from memolith.tools.call import Call
from memolith.tools.dialect import Dialect
from memolith.tools.family import Family
from memolith.tools.schema import Body
from memolith.tools.shape_notation import shape

ItemId = Annotated[str, Field(description="The id of the item.")]
Limit = Annotated[int, Field(ge=1, le=100)]
Mode = Literal["hybrid", "vector", "text"]
Texts = list[str] | None
Object = dict[str, JsonValue]
CHANGED = shape("redactions", id=str, version=int, event=int, redactions={"type": "object"})
# What the documented tools leave out, for REST and the command line; each tool stands with the things it is about.
manage = Family("manage", listed_over_mcp=False)


def bare_id(id: str) -> str:
    """The id itself; the last part of an address or a URN."""
    return (
        id.rsplit("/", 1)[-1]
        if "://" in id
        else id.rsplit(":", 1)[-1]
        if id.startswith("urn:")
        else id
    )


def the(
    call: Call,
    kind: str,
    id: str,
    field: str | None = None,
    *,
    forgotten: bool = False,
    namespace: str | None = None,
) -> Item:
    """The item of that kind, or an error that says which argument named none."""
    item = call.engine.reading.find(
        call.caller, kind, bare_id(id), namespace=namespace, forgotten=forgotten
    )
    if item is not None:
        return item
    raise NotFound(f"There is no {kind} {id[:100]!r}.", field=field, id=id)


def given(**values: JsonValue) -> dict[str, JsonValue]:
    return {name: value for name, value in values.items() if value}


def changed(written: Written) -> Body:
    return {
        "id": written.item.id,
        "version": written.item.version,
        "event": written.seq,
        "redactions": dict(written.redactions),
    }


def spoken(blocks: Sequence[Block | Passage]) -> str:
    """The whole text, with who said what where that is known."""
    return "\n\n".join(
        f"{block.speaker}: {block.text}" if block.speaker else block.text for block in blocks
    )


def coded(
    codes: Mapping[type[MemolithError], tuple[int, str]], invalid: tuple[int, str]
) -> Dialect:
    """A dialect of JSON-RPC codes: those given, `invalid` for other bad input, -32603 for our own failures."""

    def words(error: MemolithError) -> tuple[int, str, Body]:
        other = (-32603, "Internal Error") if error.status >= 500 else invalid
        code, details = next(
            (found for kind, found in codes.items() if isinstance(error, kind)), other
        )
        # Inside, a name that must be unique is a title.
        field = "name" if isinstance(error, AlreadyExists) else error.field
        return code, error.message, {"details": details, **({"field": field} if field else {})}

    return Dialect(
        failure=lambda error: dict(zip(("code", "message", "data"), words(error), strict=True)),
        jsonrpc=words,
    )
