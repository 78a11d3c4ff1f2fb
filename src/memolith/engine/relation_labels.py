"""What a relation is called: any text elsewhere, one short word as the type of a link here."""

import hashlib
import re

from memolith.domain.attributes import Json
from memolith.domain.links import Link
from memolith.engine.validation import MAX_WORD_CHARACTERS
from memolith.engine.writing import NewLink
from memolith.ports.store import Reader

LABEL = "label"
"""The attribute of a link with what the relation is called, if its type cannot say it."""
RELATED = "RelatesTo"
DIGEST_CHARACTERS = 8
_NO_WORD = re.compile(r"[^\w-]+")


def word_of(text: str) -> str:
    """The text as one short word, as statuses and types of links are; empty if it has no letter."""
    word = _NO_WORD.sub("_", text).strip("_")[:MAX_WORD_CHARACTERS].strip("_")
    return word if any(character.isalnum() for character in word) else ""


def label_of(link: Link) -> str:
    """What the relation is called that a link stands for."""
    return str(link.attributes.get(LABEL) or link.type)


def labelled_link(rows: Reader, tenant: str, source: str, target: str, label: str) -> NewLink:
    """The link that stands for a relation, with a type that no other relation of the two has.

    Two labels can have the same word, as `works at` and `works_at` have.
    """
    type = word_of(label) or RELATED
    present = rows.link_between(tenant, source, target, type)
    if present is not None and label_of(present) != label:
        digest = hashlib.sha256(label.encode()).hexdigest()[:DIGEST_CHARACTERS]
        type = f"{type[: MAX_WORD_CHARACTERS - DIGEST_CHARACTERS - 1]}-{digest}"
    attributes: dict[str, Json] = {} if type == label else {LABEL: label}
    return NewLink(source, target, type, attributes=attributes)
