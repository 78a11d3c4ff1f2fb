"""Checks of everything that comes in: limits, forms and secrets, before anything is written."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import UnionType
from typing import NamedTuple, cast

from memolith.domain.ahead import kept_ahead
from memolith.domain.attributes import Attributes, Json
from memolith.domain.callers import Audience
from memolith.domain.clock import DAY_S, TIME_CHARACTERS, TIME_FORMAT
from memolith.domain.items import KINDS, Draft, Patch
from memolith.domain.passages import Block
from memolith.errors import BlockedContent, InvalidInput, TooLarge, translated
from memolith.redaction.detector import redact

KINDS_WITH_TEXT = ("memory", "conversation", "concept")
"""The kinds that cannot be remembered without a text."""
DEFAULT_NAMESPACE = {"memory": "context"}
DEFAULT_ATTRIBUTES: dict[str, Attributes] = {"conversation": {"folder": "/", "importance_score": 5}}
RESERVED_NAMES = ("expires_at",)
"""Names that no caller can give in metadata: an item is hidden after the time of `expires_at`."""
MIN_IMPORTANCE = 1
MAX_IMPORTANCE = 10
MAX_NESTING = 100
"""How deeply metadata may be nested."""
MIN_LABELLED_CHARACTERS = 4
MAX_LABELLED_CHARACTERS = 200
"""The lengths of a value that its label can give away as a secret, like that of `password`."""
LABELS_OF_TEXTS = ("", "text", "title")
"""Labels that say nothing about a value."""
MAX_WORD_CHARACTERS = 40
MAX_ID_CHARACTERS = 200
MAX_FOLDER_CHARACTERS = 500
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": DAY_S, "w": 7 * DAY_S}
MAX_DURATION_S = 100 * 365 * DAY_S


class Form(NamedTuple):
    """What an attribute must be where it is given."""

    json_type: type | UnionType
    words: str
    entry_type: type | None = None
    """What each entry of a list must be."""

    def admits(self, value: Json) -> bool:
        if value is None:
            return True
        if isinstance(value, bool) or not isinstance(value, self.json_type):
            return False
        entries = value if isinstance(value, list) else []
        return self.entry_type is None or all(
            isinstance(entry, self.entry_type) for entry in entries
        )


TEXT = Form(str, "text")
NUMBER = Form(int | float, "a number")
TEXTS = Form(list, "a list of texts", str)
OBJECT = Form(dict, "an object")
OBJECTS = Form(list, "a list of objects", dict)
ATTRIBUTE_FORMS: dict[str, dict[str, Form]] = {
    "concept": {
        "area": TEXT,
        "topic": TEXT,
        "subtopic": TEXT,
        "certainty_score": NUMBER,
        "certainty_source": TEXT,
        "reviewed_at": TEXT,
    },
    "entity": {"aliases": TEXTS, "properties": OBJECT, "confidence": NUMBER},
    "prompt": {"description": TEXT, "variables": OBJECTS},
    "template": {"description": TEXT, "variables": OBJECTS},
    "project": {"description": TEXT, "members": TEXTS},
    "topic": {"description": TEXT, "color": TEXT, "icon": TEXT, "parent_topic_id": TEXT},
}
"""The attributes that the tools of a kind rely on."""


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
    """Checks one write, and counts what was redacted on the way."""

    limits: Limits
    policy: str
    """What happens to secrets: redact, block or allow."""
    redactions: Counter[str] = field(default_factory=Counter)

    def draft(self, draft: Draft) -> Draft:
        """The draft checked, tidied and without secrets."""
        checked_choice("kind", draft.kind, KINDS)
        title = self.title(draft.title)
        blocks = self.blocks(draft.blocks)
        tags = self.tags(draft.tags)
        attributes = self.attributes(draft.attributes)
        status = checked_word("status", draft.status)
        audience = Audience(checked_choice("audience", draft.audience, tuple(Audience)))
        project = self.name("project", draft.project)
        namespace = self.name("namespace", draft.namespace or DEFAULT_NAMESPACE.get(draft.kind))
        id = None if draft.id is None else identifier(draft.id)
        created_at = None if draft.created_at is None else when("created_at", draft.created_at)
        updated_at = None if draft.updated_at is None else when("updated_at", draft.updated_at)
        _refuse_missing_text(draft.kind, blocks)
        attributes = _checked_for_kind(draft.kind, attributes)
        # Not `replace`, which takes longer: an import does this for each line.
        return Draft(
            kind=draft.kind,
            title=title,
            blocks=blocks,
            tags=tags,
            attributes={**DEFAULT_ATTRIBUTES.get(draft.kind, {}), **attributes},
            status=status,
            audience=audience,
            project=project,
            namespace=namespace,
            id=id,
            ttl_s=draft.ttl_s,
            created_at=created_at,
            updated_at=updated_at,
        )

    def patch(self, patch: Patch, kind: str) -> Patch:
        """The patch checked, tidied and without secrets; what it leaves out stays left out."""
        clean = patch
        if patch.title is not None:
            clean = replace(clean, title=self.title(patch.title))
        if patch.blocks is not None:
            clean = replace(clean, blocks=self.blocks(patch.blocks))
        if patch.tags is not None:
            clean = replace(clean, tags=self.tags(patch.tags))
        if patch.attributes is not None:
            clean = replace(clean, attributes=self.attributes(patch.attributes))
        clean = _with_checked_choices(clean)
        if patch.project is not None:
            clean = replace(clean, project=self.name("project", patch.project))
        if patch.namespace is not None:
            namespace = patch.namespace or DEFAULT_NAMESPACE.get(kind, "")
            clean = replace(clean, namespace=self.name("namespace", namespace))
        if clean.blocks is not None:
            _refuse_missing_text(kind, clean.blocks)
        if clean.attributes is not None:
            clean = replace(clean, attributes=_checked_for_kind(kind, clean.attributes))
        return clean

    def blocks(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """The blocks without secrets, if neither one of them nor all together are too large."""
        if len(blocks) > self.limits.blocks:
            raise TooLarge(
                f"One item holds at most {self.limits.blocks:,} blocks.", field="content"
            )
        for block in blocks:
            size = len(checked_text("content", block.text).encode())
            if size > self.limits.text_bytes:
                raise TooLarge(
                    f"The text has {size:,} bytes; at most {self.limits.text_bytes:,} are allowed.",
                    field="content",
                )
        clean = tuple(self._block(block) for block in blocks)
        self.total(clean)
        return clean

    def _block(self, block: Block) -> Block:
        # Not `replace`, for the same reason as in `draft`.
        return Block(
            text=self._redacted("content", block.text),
            speaker=self.name("speaker", block.speaker),
            locator=self.name("locator", block.locator),
            at=None if block.at is None else when("at", block.at),
            attributes=self.attributes(block.attributes),
        )

    def total(self, blocks: Sequence[Block], present_bytes: int = 0) -> None:
        """Refuse blocks that are too much together with the bytes that are there already."""
        size = present_bytes + sum(len(block.text.encode()) for block in blocks)
        if size > self.limits.item_bytes:
            raise TooLarge(
                f"One item holds at most {self.limits.item_bytes:,} bytes.", field="content"
            )

    def title(self, title: str) -> str:
        one_line = " ".join(checked_text("title", title).split())
        return self._short("title", one_line, self.limits.title)

    def tags(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Distinct tags in order, without blanks around them."""
        if not isinstance(tags, list | tuple) or len(tags) > self.limits.tags:
            raise InvalidInput(
                f"Tags are a list of at most {self.limits.tags} texts.", field="tags"
            )
        clean = {
            self._short("tags", checked_text("tags", tag), self.limits.tag).strip() for tag in tags
        }
        if "" in clean:
            raise InvalidInput("A tag cannot be blank.", field="tags")
        return tuple(sorted(clean))

    def name(self, name: str, value: str | None) -> str | None:
        """A short name; an empty one stays empty, which takes the old one away in a patch."""
        if value is None:
            return None
        return self._short(name, checked_text(name, value), self.limits.name).strip()

    def _short(self, name: str, text: str, limit: int) -> str:
        if len(text) > limit:
            raise InvalidInput(
                f"{name} has {len(text):,} characters; at most {limit:,} are allowed.", field=name
            )
        return self._redacted(name, text)

    def attributes(self, attributes: Attributes) -> Attributes:
        """The metadata without secrets, if it is JSON and not too large."""
        if not isinstance(attributes, Mapping):
            raise InvalidInput("The metadata must be an object with names.", field="metadata")
        if not attributes:
            return {}
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
                f"The metadata is {size:,} bytes; at most {self.limits.attributes_bytes:,} are "
                "allowed.",
                field="metadata",
            )
        return clean

    def without_secrets(self, value: Json | Attributes, label: str = "", depth: int = 0) -> Json:
        """A JSON value without secrets; the name of a value helps to recognise them."""
        if depth > MAX_NESTING:
            raise InvalidInput(
                f"The metadata is nested more than {MAX_NESTING} levels deep.", field="metadata"
            )
        if isinstance(value, str):
            return self._redacted("metadata", checked_text("metadata", value), label)
        # Asking a tuple takes less time than `list | tuple`, and this runs for each value.
        if isinstance(value, (list, tuple)):
            return [self.without_secrets(entry, label, depth + 1) for entry in value]
        if isinstance(value, Mapping):
            clean = {}
            for name, entry in value.items():
                clean_name = self._redacted("metadata", checked_text("metadata", name))
                clean[clean_name] = self.without_secrets(entry, name, depth + 1)
            return clean
        return value

    def _redacted(self, name: str, text: str, label: str = "") -> str:
        """The text without secrets, or an error where the policy blocks them."""
        if self.policy == "allow" or not text:
            return text
        clean, counts = redact(text)
        if not counts and _label_may_tell(label, text):
            clean, counts = _redact_labelled(label, text)
        if counts and self.policy == "block":
            raise BlockedContent(
                f"{name} holds a secret ({', '.join(sorted(counts))}); remove it and try again.",
                field=name,
            )
        if counts:
            self.redactions.update(counts)
        return clean


class InputRules(NamedTuple):
    """How large things may be, and what happens to secrets in them: redact, block or allow."""

    limits: Limits = Limits()
    secrets: str = "redact"

    def intake(self) -> Intake:
        """The checks of one write."""
        return Intake(self.limits, self.secrets)


def _with_checked_choices(patch: Patch) -> Patch:
    if patch.status is not None:
        patch = replace(patch, status=checked_word("status", patch.status))
    if patch.audience is not None:
        audience = checked_choice("audience", patch.audience, tuple(Audience))
        patch = replace(patch, audience=Audience(audience))
    return patch


def _refuse_missing_text(kind: str, blocks: Sequence[Block]) -> None:
    if kind in KINDS_WITH_TEXT and not any(block.text.strip() for block in blocks):
        raise InvalidInput("There is no text to remember.", field="content")


def callers_metadata(metadata: Attributes) -> Attributes:
    """The metadata of a caller, if none of its names means something to memolith."""
    for name in RESERVED_NAMES:
        if name in metadata:
            raise InvalidInput(
                f"Metadata cannot be called {name!r}: memolith hides an item after that time. "
                "Choose another name.",
                field="metadata",
                value=name,
            )
    return metadata


def _checked_for_kind(kind: str, attributes: Attributes) -> Attributes:
    """The attributes, if they are what the kind needs; a folder in its one form."""
    for name, expected in ATTRIBUTE_FORMS.get(kind, {}).items():
        if not expected.admits(attributes.get(name)):
            raise InvalidInput(f"The {name} of a {kind} must be {expected.words}.", field=name)
    if kind != "conversation" or not attributes:
        return attributes
    score = attributes.get("importance_score", MIN_IMPORTANCE)
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if not is_number or not MIN_IMPORTANCE <= cast(float, score) <= MAX_IMPORTANCE:
        raise InvalidInput(
            "The importance_score of a conversation is a number from 1 to 10.",
            field="importance_score",
        )
    if "folder" not in attributes:
        return attributes
    return {**attributes, "folder": folder_path(cast(str, attributes["folder"]))}


def _label_may_tell(label: str, text: str) -> bool:
    """Whether the label of a value can give it away: `password` tells more than the password."""
    if label in LABELS_OF_TEXTS or '"' in text or "\n" in text:
        return False
    return MIN_LABELLED_CHARACTERS <= len(text) <= MAX_LABELLED_CHARACTERS


@kept_ahead
def _redact_labelled(label: str, text: str) -> tuple[str, dict[str, int]]:
    """Redact the text as the value of an assignment to its label."""
    prefix = f'{label}: "'
    assignment, counts = redact(f'{prefix}{text}"')
    if assignment.startswith(prefix) and assignment.endswith('"'):
        return assignment[len(prefix) : -1], counts
    return text, {}


def parsed_json(text: str | bytes | bytearray, what: str, field: str) -> Json:
    """The JSON value that a text holds; `what` names the text in an error."""
    with translated((ValueError, RecursionError), InvalidInput, f"{what} is not JSON.", field):
        value: Json = json.loads(text)
    return value


def json_object(text: str | bytes | bytearray, what: str, field: str) -> dict[str, Json]:
    """The JSON object that a text holds; `what` names the text in an error."""
    value = parsed_json(text, what, field)
    if not isinstance(value, dict):
        raise InvalidInput(f"{what} must be a JSON object.", field=field)
    return value


def checked_text(name: str, text: str) -> str:
    """The text, if every store can keep it."""
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


def checked_word(name: str, value: str) -> str:
    """The value, if it is one short word."""
    if (
        not isinstance(value, str)
        or len(value) > MAX_WORD_CHARACTERS
        or not value.replace("_", "").replace("-", "").isalnum()
    ):
        raise InvalidInput(f"{name} must be one word of at most 40 letters.", field=name)
    return value


def identifier(id: str, name: str = "id") -> str:
    """An id or a name that a caller may choose."""
    if not checked_text(name, id).strip() or len(id) > MAX_ID_CHARACTERS:
        raise InvalidInput(f"{name} has 1 to 200 characters.", field=name)
    return id


def checked_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """The value, if it is one of the choices."""
    if value not in choices:
        raise InvalidInput(f"There is no such {name}; use one of {', '.join(choices)}.", field=name)
    return value


def folder_path(folder: str) -> str:
    """The folder as `/a/b`: from the top, without empty parts and without an end slash."""
    parts = [part.strip() for part in checked_text("folder", folder).split("/")]
    path = "/" + "/".join(part for part in parts if part)
    if {".", ".."} & set(parts) or len(path) > MAX_FOLDER_CHARACTERS:
        raise InvalidInput(
            "A folder is a path like /projects/api, at most 500 characters long.", field="folder"
        )
    return path


def when(name: str, value: str) -> str:
    """A time in our one form: UTC, microseconds, `Z`; without a zone it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        else:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError) as error:
        raise InvalidInput(
            f"{name} is not a time; write it like 2026-07-28T12:00:00Z.", field=name
        ) from error
    # Years before 1000 come without leading zeros.
    return moment.strftime(TIME_FORMAT).rjust(TIME_CHARACTERS, "0")


def seconds(field: str, text: str) -> int:
    """How long `90s`, `15m`, `24h`, `7d` or `2w` is, up to a hundred years."""
    match = re.fullmatch(r"([0-9]{1,12})([smhdw])", text)
    if match is not None:
        duration_s = int(match[1]) * UNITS_S[match[2]]
        if duration_s <= MAX_DURATION_S:
            return duration_s
    raise InvalidInput(
        f"{field}: {text[:40]!r} is no duration; write it like 90s, 15m, 24h, 7d or 2w.",
        field=field,
        value=text,
    )
