"""Types of arguments of Sekha's REST routes: messages with parts, filters, importance."""

from collections.abc import Set
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter
from memolith.engine.validation import folder_path, when
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.sekha.arguments import Filters
from memolith.tools.signature import Argument

PARTS_ATTRIBUTE = "parts"
"""Where a message keeps the parts that its client sent, so that it gets them back."""
IMAGE_WITHOUT_TEXT = "[image]"
NO_FOLDER = ""
"""No conversation lies here, so it stands for none at all."""

RestImportance = Annotated[
    float, Field(ge=0, le=10, description="From 1 to 10; less than 1 is kept as 1.")
]
RestLimit = Annotated[int, Field(ge=1, le=100)]
Texts = Annotated[list[str], Field(max_length=1000)]


class ImageUrl(Argument):
    """Where an image is."""

    url: Annotated[str, Field(min_length=1)]
    detail: Literal["auto", "low", "high"] | None = None


class ContentPart(Argument):
    """A part of a message: a text or an image."""

    type: Literal["text", "image_url"]
    text: str | None = None
    image_url: ImageUrl | None = None


class RestMessage(Argument):
    """One message, as Sekha's clients send it."""

    role: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    content: Annotated[str, Field(min_length=1, pattern=r"\S")] | list[ContentPart]
    timestamp: str | None = None
    metadata: JsonObject | None = None

    def block(self) -> Block:
        """The message as the engine keeps it: the text of its parts, and the parts beside it."""
        at = when("messages.timestamp", self.timestamp) if self.timestamp else None
        attributes = dict(self.metadata or {})
        if isinstance(self.content, str):
            return Block(self.content, speaker=self.role, at=at, attributes=attributes)
        parts: list[JsonValue] = [part.model_dump(exclude_none=True) for part in self.content]
        text = " ".join(part.text for part in self.content if part.text)
        attributes[PARTS_ATTRIBUTE] = parts
        return Block(text or IMAGE_WITHOUT_TEXT, speaker=self.role, at=at, attributes=attributes)


class RestFilters(Filters):
    """What a search is limited to, also in the words of the SDK."""

    labels: Annotated[Texts | None, Field(description="One of these labels.")] = None
    folders: Annotated[Texts | None, Field(description="One of these folders, or below.")] = None
    start_date: Annotated[str | None, Field(description="The same as date_from.")] = None
    end_date: Annotated[str | None, Field(description="The same as date_to.")] = None


def chosen_by(call: Call, filters: RestFilters | None) -> Filter:
    """The filter that the engine understands."""
    filters = filters or RestFilters()
    if filters.start_date is not None:
        filters.date_from = filters.start_date
    if filters.end_date is not None:
        filters.date_to = filters.end_date
    chosen = filters.to_filter()
    if filters.labels:
        chosen = replace(chosen, titles=(*chosen.titles, *filters.labels))
    if filters.folders:
        chosen = with_folders(call, chosen, within=filters.folders)
    return chosen


def with_folders(
    call: Call, chosen: Filter, *, within: list[str] | None = None, outside: list[str] | None = None
) -> Filter:
    """The filter with the conversations within some folders, or outside of some."""
    counts = call.engine.conversations.folder_counts(call.caller, Filter(kinds=("conversation",)))
    folders = sorted({count.folder for count in counts})
    if within is not None:
        wanted = set(map(folder_path, within))
        folders = [folder for folder in folders if is_below(folder, wanted)]
    if outside is not None:
        unwanted = set(map(folder_path, outside))
        folders = [folder for folder in folders if not is_below(folder, unwanted)]
    condition = Condition("folder", "in", [*folders] or [NO_FOLDER])
    return replace(chosen, where=(*chosen.where, condition))


def is_below(folder: str, paths: Set[str]) -> bool:
    """Whether a folder is one of the paths, or lies below one of them."""
    if "/" in paths or folder in paths:
        return True
    # Not each path in turn: a request may name a thousand, and a tenant has any number of folders.
    slashes = [position for position, character in enumerate(folder) if character == "/"]
    return any(folder[:position] in paths for position in slashes)


def kept_importance(score: float) -> float:
    """The importance as the engine keeps it, which begins at 1."""
    return max(1.0, score)
