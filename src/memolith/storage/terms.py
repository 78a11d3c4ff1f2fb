"""Words as the text index knows them: stemmed, without accents, CJK runs as pairs of characters."""

import base64
import hashlib
import re
import threading
import unicodedata
import zlib
from collections.abc import Callable, Iterable
from datetime import date
from functools import lru_cache
from typing import NamedTuple, cast

import apsw

from memolith.domain.callers import Audience
from memolith.domain.items import Item
from memolith.domain.passages import Passage

STOP_WORDS = frozenset(
    "a an the and or but if of at by for with about to from in on is are was were be been do does "
    "did have has had i you he she it we they me him her us them my your his its our their this "
    "that what when where who whom which why how s t".split()
)
"""Words that a query is searched without."""

SKETCHES = 4
"""How many marks of a sketch are made from parts of a text; similar texts share one of them."""

SKETCH_PHRASE_WORDS = 3
"""Marks are made from phrases of so many words; single words are so common that half of all texts
would share a mark."""

SKETCH_SEED = 7919
"""Multiplied with the number of a mark, so that each mark is made from another phrase."""

CACHED_SKETCHES = 100
CACHED_TOKENS = 50_000

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_INDEXED_FIELDS = ("title", "tags", "owner", "audience", "project", "namespace")
"""What of an item the text index holds with each of its passages."""

_local = threading.local()


def terms(text: str) -> list[str]:
    """The index terms of a text in order."""
    if not text:
        return []
    if not text.isascii():
        # Letters and their accents as one character, as the tokenizer expects them.
        text = _CJK.sub(_pairs, unicodedata.normalize("NFC", text))
    tokenizer: Callable[..., list[str]] | None = getattr(_local, "tokenizer", None)
    if tokenizer is None:
        tokenizer = _local.tokenizer = _new_tokenizer()
    return tokenizer(
        text.encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )


def _new_tokenizer() -> Callable[..., list[str]]:
    """The stemmer of SQLite. One per thread: it belongs to a connection, which no two may share."""
    _local.connection = apsw.Connection(":memory:")
    stemmer = _local.connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    # Called without offsets and colocated tokens, it returns plain tokens.
    return cast("Callable[..., list[str]]", stemmer)


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query without stop words, unless it has no other words."""
    words = re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())
    telling = [word for word in words if word not in STOP_WORDS]
    return list(dict.fromkeys(terms(" ".join(telling or words))))


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    pairs = [run[start : start + 2] for start in range(max(1, len(run) - 1))]
    return " " + " ".join(pairs) + " "


def extra(item: Item, passage: Passage) -> str:
    """What is searched beside the text: title, speaker, and the day of a message in words."""
    parts = [item.title, passage.speaker or ""]
    if item.kind == "conversation":
        day = date.fromisoformat(passage.at[:10])
        parts.append(f"{day.day} {_MONTHS[day.month - 1]} {day.year}")
    return " ".join(parts)


class IndexedText(NamedTuple):
    """The three columns that the text index has of a passage, each as terms between spaces."""

    body: str
    """What the passage says."""
    extra: str
    """What is searched beside it: title, speaker, day."""
    scope: str
    """Where it belongs, so that a filter can narrow the search."""

    @property
    def length(self) -> int:
        """How many terms count in the ranking."""
        return len(self.body.split()) + len(self.extra.split())


def indexed(number: int, item: Item, passage: Passage) -> IndexedText:
    """What the text index of the tenant with this number has of a passage."""
    return IndexedText(
        body=own(number, terms(passage.text)),
        extra=own(number, terms(extra(item, passage))),
        scope=own(number, _scope(item)),
    )


def changes_index(before: Item, item: Item) -> bool:
    """Whether a change of the item changes what the text index has of each of its passages."""
    return any(getattr(before, field) != getattr(item, field) for field in _INDEXED_FIELDS)


def _scope(item: Item) -> list[str]:
    """The scope tokens of an item: who sees it, its kind, tags, project and namespace."""
    circles = {
        Audience.USER: f"u{item.owner}",
        Audience.PROJECT: f"p{item.project}",
        Audience.ORG: "o",
    }
    # The owner always sees the item; for the audience `user` that is the same token.
    readers = dict.fromkeys((circles[item.audience], f"u{item.owner}"))
    return [
        *scope_tokens("see", readers),
        *scope_tokens("kind", [item.kind]),
        *scope_tokens("tag", dict.fromkeys(item.tags)),
        *scope_tokens("project", [item.project]),
        *scope_tokens("namespace", [item.namespace]),
    ]


def scope_tokens(field: str, values: Iterable[str | None]) -> list[str]:
    """The scope tokens of items that have one of these values."""
    return [
        field + hashlib.blake2b(value.encode(), digest_size=6).hexdigest()
        for value in values
        if value is not None
    ]


@lru_cache(CACHED_SKETCHES)
def sketch(text: str) -> tuple[int, ...]:
    """Marks of a text. The first is that of the whole text, without case and white space.

    The others are made from parts; similar texts are likely to share one of them.
    """
    plain = " ".join(text.casefold().split())
    digest = hashlib.blake2b(plain.encode(), digest_size=8).digest()
    whole = int.from_bytes(digest, "big", signed=True)
    words = terms(text)
    phrases = [
        " ".join(words[start : start + SKETCH_PHRASE_WORDS]).encode()
        for start in range(len(words) - SKETCH_PHRASE_WORDS + 1)
    ]
    if not phrases:
        return (whole,)
    marks = [
        number << 32 | min([zlib.crc32(phrase, number * SKETCH_SEED) for phrase in phrases])
        for number in range(SKETCHES)
    ]
    return (whole, *marks)


def own(number: int, words: Iterable[str]) -> str:
    """The words as tokens of the tenant with this number, between spaces."""
    return " ".join([_token(number, word) for word in words])


@lru_cache(CACHED_TOKENS)
def _token(number: int, word: str) -> str:
    """A token that does not tell the word.

    A few words share a token. Ranking looks at the text itself, so that does no harm.
    """
    digest = hashlib.blake2b(f"{number}:{word}".encode(), digest_size=5).digest()
    return base64.b32encode(digest).decode().lower()
