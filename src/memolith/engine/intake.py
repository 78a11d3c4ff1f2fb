"""What comes in is checked and freed of secrets here, before anything is written."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from memolith.engine.model import KINDS, Attributes, Audience, Block, Draft, Json, Patch
from memolith.engine.secrets import redact
from memolith.errors import BlockedContent, InvalidInput, TooLarge

POLICIES = ("redact", "block", "allow")
NEEDS_TEXT = ("memory", "conversation", "concept")


@dataclass(frozen=True, slots=True)
class Limits:
    """How large things may be."""

    text_bytes: int = 1_000_000
    item_bytes: int = 20_000_000
    blocks: int = 500_000
    title: int = 500
    tag: int = 100
    tags: int = 100
    name: int = 500
    attributes_bytes: int = 100_000


@dataclass(slots=True)
class Intake:
    """Checks one write and remembers what was redacted on the way."""

    limits: Limits
    policy: str
    redactions: Counter[str] = field(default_factory=Counter)

    def draft(self, draft: Draft) -> Draft:
        """The draft, checked, tidied and without secrets."""
        if draft.kind not in KINDS:
            raise InvalidInput(f"There is no kind {draft.kind!r}; use one of {', '.join(KINDS)}.", field="kind",
                               value=draft.kind)
        clean = replace(draft, title=self.title(draft.title), blocks=self.blocks(draft.blocks),
                        tags=self.tags(draft.tags), attributes=self.attributes(draft.attributes),
                        project=self.name("project", draft.project), namespace=self.name("namespace", draft.namespace))
        self.word("status", draft.status)
        if draft.kind in NEEDS_TEXT and not any(block.text.strip() for block in clean.blocks):
            raise InvalidInput("There is no text to remember.", field="content")
        if not clean.title.strip() and not clean.blocks:
            raise InvalidInput("A title or a text is needed.", field="title")
        if draft.audience is Audience.PROJECT and clean.project is None:
            raise InvalidInput("An item for a project needs to name the project.", field="project")
        return clean

    def patch(self, patch: Patch, kind: str) -> Patch:
        """The patch, checked, tidied and without secrets."""
        clean = replace(
            patch, title=None if patch.title is None else self.title(patch.title),
            blocks=None if patch.blocks is None else self.blocks(patch.blocks),
            tags=None if patch.tags is None else self.tags(patch.tags),
            attributes=None if patch.attributes is None else self.attributes(patch.attributes),
            project=self.name("project", patch.project), namespace=self.name("namespace", patch.namespace))
        if patch.status is not None:
            self.word("status", patch.status)
        if clean.blocks is not None and kind in NEEDS_TEXT and not any(block.text.strip() for block in clean.blocks):
            raise InvalidInput("The text cannot be empty.", field="content")
        return clean

    def blocks(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """The blocks with their texts, times and attributes checked."""
        if len(blocks) > self.limits.blocks:
            raise TooLarge(f"One item holds at most {self.limits.blocks:,} blocks.", field="content")
        made = tuple(replace(block, text=self.text("content", block.text, self.limits.text_bytes),
                             speaker=self.name("speaker", block.speaker), locator=self.name("locator", block.locator),
                             at=None if block.at is None else when("at", block.at),
                             attributes=self.attributes(block.attributes)) for block in blocks)
        if sum(len(block.text) for block in made) > self.limits.item_bytes:
            raise TooLarge(f"One item holds at most {self.limits.item_bytes:,} characters.", field="content")
        return made

    def title(self, title: str) -> str:
        """A title in one line."""
        return self.text("title", " ".join(title.split()), self.limits.title)

    def tags(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Distinct tags in order, without blanks around them."""
        if len(tags) > self.limits.tags:
            raise InvalidInput(f"At most {self.limits.tags} tags are allowed.", field="tags")
        return tuple(sorted({self._tag(tag) for tag in tags}))

    def _tag(self, tag: str) -> str:
        clean = self.text("tags", tag, self.limits.tag).strip()
        if not clean:
            raise InvalidInput("A tag cannot be blank.", field="tags")
        return clean

    def name(self, name: str, value: str | None) -> str | None:
        """A short name; an empty one stays empty, which a patch reads as 'none'."""
        return None if value is None else self.text(name, value, self.limits.name).strip()

    def word(self, name: str, value: str) -> None:
        """A status or a type: one lower-case word."""
        if not value or not value.replace("_", "").replace("-", "").isalnum() or len(value) > 40:
            raise InvalidInput(f"{value!r} is not a valid {name}.", field=name, value=value)

    def attributes(self, attributes: Attributes) -> Attributes:
        """The attributes, if they can be kept as JSON."""
        clean = {self._plain("attributes", name): self._walk(value) for name, value in attributes.items()}
        try:
            size = len(json.dumps(clean, allow_nan=False).encode())
        except (TypeError, ValueError) as error:
            raise InvalidInput("The metadata cannot be kept as JSON.", field="metadata") from error
        if size > self.limits.attributes_bytes:
            raise TooLarge(f"The metadata is {size:,} bytes; at most {self.limits.attributes_bytes:,} are allowed.",
                           field="metadata")
        return clean

    def attributes_of_event(self, data: Attributes) -> Attributes:
        """The data of an imported event, without secrets."""
        return {name: self._walk(value) for name, value in data.items()}

    def _walk(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._free("metadata", self._plain("metadata", value))
        if isinstance(value, list):
            return [self._walk(entry) for entry in value]
        if isinstance(value, dict):
            return {self._plain("metadata", name): self._walk(entry) for name, entry in value.items()}
        return value

    def text(self, name: str, text: str, limit: int) -> str:
        """A text within its limit, storable as UTF-8, and without secrets."""
        clean = self._plain(name, text)
        size = len(clean.encode()) if limit >= 10_000 else len(clean)
        if size > limit:
            unit = "bytes" if limit >= 10_000 else "characters"
            kind = TooLarge if limit >= 10_000 else InvalidInput
            raise kind(f"{name} is {size:,} {unit}; at most {limit:,} are allowed.", field=name)
        return self._free(name, clean)

    def _plain(self, name: str, text: str) -> str:
        if not isinstance(text, str):
            raise InvalidInput(f"{name} must be text.", field=name)
        if "\x00" in text:
            raise InvalidInput(f"{name} holds a NUL character, which cannot be stored.", field=name)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"{name} holds half of a surrogate pair, which is not valid Unicode.",
                               field=name) from error
        return text

    def _free(self, name: str, text: str) -> str:
        if self.policy == "allow":
            return text
        clean, counts = redact(text)
        if counts and self.policy == "block":
            raise BlockedContent(f"{name} holds a secret ({', '.join(sorted(counts))}); remove it and try again.",
                                 field=name)
        self.redactions.update(counts)
        return clean


def when(name: str, value: str) -> str:
    """A time in our one form: UTC, microseconds, `Z`; without a zone it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(value)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError) as error:
        raise InvalidInput(f"{value!r} is not a time; write it like 2026-07-28T12:00:00Z.", field=name,
                           value=value) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def strength(value: float) -> float:
    """The strength of a link, between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidInput("The strength must lie between 0 and 1.", field="strength", value=value)
    return float(value)


