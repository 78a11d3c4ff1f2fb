"""Types of arguments that several families share, and ids as clients write them."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

ItemId = Annotated[str, Field(description="The id of the item.")]
Limit = Annotated[int, Field(ge=1, le=100)]
SearchMode = Literal["hybrid", "vector", "text"]
JsonObject = dict[str, JsonValue]


def bare_id(id: str) -> str:
    """The id itself: the last part of an address such as `memolith://item/ID`, or of a URN."""
    if "://" in id:
        return id.rsplit("/", 1)[-1]
    if id.startswith("urn:"):
        return id.rsplit(":", 1)[-1]
    return id


def without_empty(**values: JsonValue) -> JsonObject:
    """The values that say something: attributes of an item are stored only where they are set."""
    return {name: value for name, value in values.items() if value}


def _show_null(schema: dict[str, Any]) -> None:
    # Without a default, `flatten` shows the schema as it is.
    schema.pop("default", None)


SHOWS_NULL = Field(json_schema_extra=_show_null)
"""For an argument that may be left out, where the document names `null` as a value of it."""
