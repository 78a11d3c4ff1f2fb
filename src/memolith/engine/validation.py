"""What comes in is checked and freed of secrets here, before anything is written."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, TypeVar, cast

from memolith.domain.attributes import Attributes, Json
from memolith.domain.callers import Audience
from memolith.domain.clock import DAY_S
from memolith.domain.items import KINDS, Draft, Patch
from memolith.domain.passages import Block
from memolith.errors import BlockedContent, InvalidInput, TooLarge, translated
from memolith.redaction.detector import redact

NEEDS_TEXT = ("memory", "conversation", "concept")
DEFAULT_NAMESPACE = {"memory": "context"}
DEFAULT_ATTRIBUTES: dict[str, Attributes] = {"conversation": {"folder": "/", "importance_score": 5}}
DEEPEST = 100
UNITS_S, LONGEST_S = {"s": 1, "m": 60, "h": 3600, "d": DAY_S, "w": 7 * DAY_S}, 100 * 365 * DAY_S
Change = TypeVar("Change", Draft, Patch)


class Limits(NamedTuple):
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
        one_of("kind", draft.kind, KINDS)
        clean = self.patch(
            replace(draft, namespace=draft.namespace or DEFAULT_NAMESPACE.get(draft.kind)),
            draft.kind,
        )
        return replace(
            clean, attributes={**DEFAULT_ATTRIBUTES.get(draft.kind, {}), **clean.attributes}
        )

    def patch(self, patch: Change, kind: str) -> Change:
        """The patch, or the draft, checked, tidied and without secrets."""
        if patch.namespace == "":
            patch = replace(patch, namespace=DEFAULT_NAMESPACE.get(kind, ""))
        checks: dict[str, Callable[..., object]] = {
            "title": self.title,
            "blocks": self.blocks,
            "tags": self.tags,
            "attributes": self.attributes,
            "project": partial(self.name, "project"),
            "namespace": partial(self.name, "namespace"),
            "status": partial(word, "status"),
            "id": identifier,
            "audience": lambda value: Audience(one_of("audience", value, tuple(Audience))),
        }
        given = {
            one.name: getattr(patch, one.name)
            for one in fields(patch)
            if one.name in checks
            and (one.default is not None or getattr(patch, one.name) is not None)
        }
        clean = replace(patch, **{name: checks[name](value) for name, value in given.items()})  # type: ignore[arg-type]
        if (
            clean.blocks is not None
            and kind in NEEDS_TEXT
            and not any(block.text.strip() for block in clean.blocks)
        ):
            raise InvalidInput("There is no text to remember.", field="content")
        if kind != "conversation" or not clean.attributes:
            return clean
        score = clean.attributes.get("importance_score", 5)
        if isinstance(score, bool) or not isinstance(score, int | float) or not 1 <= score <= 10:
            raise InvalidInput(
                "The importance_score of a conversation is a number from 1 to 10.",
                field="importance_score",
            )
        return replace(
            clean,
            attributes={
                name: folder_path(cast(str, value)) if name == "folder" else value
                for name, value in clean.attributes.items()
            },
        )

    def blocks(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        if len(blocks) > self.limits.blocks:
            raise TooLarge(
                f"One item holds at most {self.limits.blocks:,} blocks.", field="content"
            )
        for block in blocks:
            if (size := len(plain("content", block.text).encode())) > self.limits.text_bytes:
                raise TooLarge(
                    f"The text has {size:,} bytes; at most {self.limits.text_bytes:,} are allowed.",
                    field="content",
                )
        made = tuple(
            replace(
                block,
                text=self._free("content", block.text),
                speaker=self.name("speaker", block.speaker),
                locator=self.name("locator", block.locator),
                at=None if block.at is None else when("at", block.at),
                attributes=self.attributes(block.attributes),
            )
            for block in blocks
        )
        self.total(made)
        return made

    def total(self, blocks: Sequence[Block], present: int = 0) -> None:
        """Refuse blocks that are too much together with the bytes that are there already."""
        if present + sum(len(block.text.encode()) for block in blocks) > self.limits.item_bytes:
            raise TooLarge(
                f"One item holds at most {self.limits.item_bytes:,} bytes.", field="content"
            )

    def title(self, title: str) -> str:
        return self._short("title", " ".join(plain("title", title).split()), self.limits.title)

    def tags(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Distinct tags in order, without blanks around them."""
        if not isinstance(tags, list | tuple) or len(tags) > self.limits.tags:
            raise InvalidInput(
                f"Tags are a list of at most {self.limits.tags} texts.", field="tags"
            )
        clean = {self._short("tags", plain("tags", tag), self.limits.tag).strip() for tag in tags}
        if "" in clean:
            raise InvalidInput("A tag cannot be blank.", field="tags")
        return tuple(sorted(clean))

    def name(self, name: str, value: str | None) -> str | None:
        """A short name; an empty one stays empty, which a patch reads as 'none'."""
        return (
            None
            if value is None
            else self._short(name, plain(name, value), self.limits.name).strip()
        )

    def _short(self, name: str, text: str, limit: int) -> str:
        if len(text) > limit:
            raise InvalidInput(
                f"{name} has {len(text):,} characters; at most {limit:,} are allowed.", field=name
            )
        return self._free(name, text)

    def attributes(self, attributes: Attributes) -> Attributes:
        if not isinstance(attributes, Mapping):
            raise InvalidInput("The metadata must be an object with names.", field="metadata")
        clean = cast(Attributes, self.without_secrets(attributes))
        with translated(
            (TypeError, ValueError),
            InvalidInput,
            "The metadata cannot be kept as JSON.",
            "metadata",
        ):
            size = len(json.dumps(clean, allow_nan=False).encode())
        if size > self.limits.attributes_bytes:
            raise TooLarge(
                f"The metadata is {size:,} bytes; at most {self.limits.attributes_bytes:,} are allowed.",
                field="metadata",
            )
        return clean

    def without_secrets(self, value: Json | Attributes, name: str = "", depth: int = 0) -> Json:
        if depth > DEEPEST:
            raise InvalidInput(
                f"The metadata is nested more than {DEEPEST} levels deep.", field="metadata"
            )
        if isinstance(value, str):
            return self._free("metadata", plain("metadata", value), name)
        if isinstance(value, list | tuple):
            return [self.without_secrets(entry, name, depth + 1) for entry in value]
        if isinstance(value, Mapping):
            return {
                self._free("metadata", plain("metadata", key)): self.without_secrets(
                    entry, key, depth + 1
                )
                for key, entry in value.items()
            }
        return value

    def _free(self, name: str, text: str, label: str = "") -> str:
        """The text without secrets, judged also by its label: `password` tells more than the password itself."""
        if self.policy == "allow":
            return text
        clean, counts = redact(text)
        if (
            not counts
            and label not in ("", "text", "title")
            and 4 <= len(text) <= 200
            and not {'"', "\n"} & {*text}
        ):
            prefix = f'{label}: "'
            pair, found = redact(f'{prefix}{text}"')
            if pair.startswith(prefix) and pair.endswith('"'):
                clean, counts = pair[len(prefix) : -1], found
        if counts and self.policy == "block":
            raise BlockedContent(
                f"{name} holds a secret ({', '.join(sorted(counts))}); remove it and try again.",
                field=name,
            )
        self.redactions.update(counts)
        return clean


@dataclass(frozen=True)
class InputRules:
    """How large things may be, and what happens to secrets in them: redact, block or allow."""

    limits: Limits = Limits()
    secrets: str = "redact"

    def intake(self) -> Intake:
        """Checks for one write."""
        return Intake(self.limits, self.secrets)


def json_object(text: str | bytes | bytearray, what: str, field: str) -> dict[str, Json]:
    with translated((ValueError, RecursionError), InvalidInput, f"{what} is not JSON.", field):
        value: Json = json.loads(text)
    if not isinstance(value, dict):
        raise InvalidInput(f"{what} must be a JSON object.", field=field)
    return value


def plain(name: str, text: str) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"{name} must be text.", field=name)
    if not storable(text):
        raise InvalidInput(
            f"{name} holds a NUL character or half of a surrogate pair; leave it out.", field=name
        )
    return text


def storable(text: str) -> bool:
    """Whether the text is valid Unicode that every store can keep."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


def word(name: str, value: str) -> str:
    if (
        not isinstance(value, str)
        or len(value) > 40
        or not value.replace("_", "").replace("-", "").isalnum()
    ):
        raise InvalidInput(f"{name} must be one word of at most 40 letters.", field=name)
    return value


def identifier(id: str, name: str = "id") -> str:
    """An id or a name that a caller may choose."""
    if not plain(name, id).strip() or len(id) > 200:
        raise InvalidInput(f"{name} has 1 to 200 characters.", field=name)
    return id


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise InvalidInput(f"There is no such {name}; use one of {', '.join(choices)}.", field=name)
    return value


def folder_path(folder: str) -> str:
    """The folder as `/a/b`: from the top, without empty parts and without an end slash."""
    parts = [part.strip() for part in plain("folder", folder).split("/")]
    path = "/" + "/".join(part for part in parts if part)
    if {".", ".."} & set(parts) or len(path) > 500:
        raise InvalidInput(
            "A folder is a path like /projects/api, at most 500 characters long.", field="folder"
        )
    return path


def when(name: str, value: str) -> str:
    """A time in our one form: UTC, microseconds, `Z`; without a zone it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(value)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError) as error:
        raise InvalidInput(
            f"{name} is not a time; write it like 2026-07-28T12:00:00Z.", field=name
        ) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def seconds(field: str, text: str) -> int:
    """How long `90s`, `15m`, `24h`, `7d` or `2w` is, up to a hundred years."""
    found = re.fullmatch(r"([0-9]{1,12})([smhdw])", text)
    if found is None or (length := int(found[1]) * UNITS_S[found[2]]) > LONGEST_S:
        raise InvalidInput(
            f"{field} is no duration; write it like 90s, 15m, 24h, 7d or 2w.",
            field=field,
            value=text,
        )
    return length
