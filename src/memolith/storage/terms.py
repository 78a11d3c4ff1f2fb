"""Words as the text index knows them: stemmed, without accents, CJK runs as pairs of characters.

The terms of other scripts are made in `scripts.py`. Where terms change, `TERMS_VERSION` changes,
too: then a store brings its text index up to date when it is opened.
"""

import base64
import hashlib
import re
import threading
import unicodedata
import zlib
from collections.abc import Callable, Iterable
from datetime import date
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple, cast

import apsw

from memolith.domain.ahead import kept_ahead
from memolith.domain.callers import Audience
from memolith.domain.chunking import CHUNKER, chunk
from memolith.domain.items import Item
from memolith.domain.passages import Passage
from memolith.storage import scripts
from memolith.storage.stop_words import STOP_WORDS, TURKISH_STOP_WORDS

TERMS_VERSION = 2
"""The version of the way terms are made. It stands in the store."""

MONTHS = (
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
INDEXED_FIELDS = ("title", "tags", "owner", "audience", "project", "namespace")
"""What of an item the text index holds with each of its passages."""

SKETCH_MARKS = 4
"""How many marks of its phrases a text has."""

SKETCH_PHRASE_WORDS = 3
"""Marks are of phrases: single words are so common that half of all texts would share a mark."""

CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+")

_QUERY_WORD = re.compile(rf"[\w\u0300-\u036f{scripts.LETTERS}{scripts.JOINERS}]+")

_of_thread = threading.local()


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


@kept_ahead
def terms(text: str) -> list[str]:
    """Return the index terms of a text, in order.

    Those of a Turkish text are followed by the stems of its words.
    """
    if text.isascii() or not scripts.is_special(text):
        return first_terms(text)
    return _terms_of(text, scripts.has_turkish_letters(text) and scripts.is_turkish(text))


def query_terms(text: str) -> list[str]:
    """Return the distinct terms of a query, without stop words unless it has nothing else."""
    is_turkish = scripts.is_turkish(text)
    words = _QUERY_WORD.findall(unicodedata.normalize("NFC", text))
    telling = [word for word in words if word.lower() not in STOP_WORDS]
    if is_turkish:
        telling = [word for word in telling if word.lower() not in TURKISH_STOP_WORDS]
    return list(dict.fromkeys(_terms_of(" ".join(telling or words), is_turkish)))


def phrase_terms(text: str) -> list[str]:
    """Return the terms of a phrase as they stand one after the other in a text that contains it.

    They are those of `terms`, without the stems at the end.
    """
    return _terms_of(text, is_turkish=False)


def first_terms(text: str) -> list[str]:
    """Return the terms of a text as version 1 made them, which knew no other script but CJK."""
    if not text.isascii():
        # The tokenizer expects a letter and its accent as one character.
        text = CJK_RUN.sub(_pairs_of_run, unicodedata.normalize("NFC", text))
    return _tokens(text)


def _terms_of(text: str, is_turkish: bool) -> list[str]:
    if not scripts.is_special(text):
        found = first_terms(text)
    else:
        composed = unicodedata.normalize("NFC", text)
        plain = CJK_RUN.sub(_pairs_of_run, scripts.plain_letters(composed))
        found = scripts.mixed_terms(plain, _tokens)
    if is_turkish:
        known = set(found)
        found += [stem for stem in scripts.turkish_stems(text) if stem not in known]
    return found


def _tokens(text: str) -> list[str]:
    """The terms that the tokenizer of FTS5 finds."""
    if not text or text.isspace():
        return []
    tokenizer = getattr(_of_thread, "tokenizer", None)
    if tokenizer is None:
        tokenizer = _new_tokenizer()
    found = tokenizer(
        text.encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    # Without offsets and synonyms the terms are plain texts.
    return cast("list[str]", found)


def extra(item: Item, passage: Passage) -> str:
    """Return what is searched beside the text: title, speaker, and a message's day in words."""
    parts = [item.title, passage.speaker or ""]
    if item.kind == "conversation":
        day = date.fromisoformat(passage.at[:10])
        parts.append(f"{day.day} {MONTHS[day.month - 1]} {day.year}")
    return " ".join(parts)


def indexed(
    number: int,
    item: Item,
    passage: Passage,
    terms_of: Callable[[str], list[str]] = terms,
) -> IndexedText:
    """Return what the text index of the tenant with this number has of a passage."""
    return IndexedText(
        body=_own_terms(number, passage.text, terms_of),
        extra=own(number, terms_of(extra(item, passage))),
        scope=_own_scope(
            number,
            item.owner,
            item.audience,
            item.kind,
            item.tags,
            item.project,
            item.namespace,
        ),
    )


@kept_ahead
def _own_terms(number: int, text: str, terms_of: Callable[[str], list[str]]) -> str:
    return own(number, terms_of(text))


def work_ahead(number: int | None, texts: Iterable[str]) -> None:
    """Make the terms and marks of texts that are about to be written.

    A tenant gets its number with its first write, and without it the terms are not hashed yet.
    """
    for text in texts:
        pieces = chunk(text, CHUNKER)
        sketch(pieces[0])
        for piece in pieces:
            if number is None:
                terms(piece)
            else:
                _own_terms(number, piece, terms)


def changes_index(before: Item, item: Item) -> bool:
    """Whether a change of the item changes what the text index has of each of its passages."""
    return any(getattr(before, field) != getattr(item, field) for field in INDEXED_FIELDS)


def scope_tokens(name: str, values: Iterable[str | None]) -> list[str]:
    """Return the scope tokens of the items that have one of the values."""
    return [
        name + hashlib.blake2b(value.encode(), digest_size=6).hexdigest()
        for value in values
        if value is not None
    ]


def own(number: int, words: Iterable[str]) -> str:
    """Return words as tokens that belong to the tenant with this number alone."""
    return " ".join([_tenant_token(number, word) for word in words])


@kept_ahead
@lru_cache(100)
def sketch(text: str) -> tuple[int, ...]:
    """Return marks by which equal and similar texts are found.

    The first is the same for texts that differ in case and white space only. Of the others, similar
    texts share at least one.
    """
    plain = " ".join(text.casefold().split())
    digest = hashlib.blake2b(plain.encode(), digest_size=8).digest()
    marks = [int.from_bytes(digest, "big", signed=True)]
    # Marks are compared with those of texts that were written long ago, so they never change.
    words = first_terms(text)
    in_a_row = zip(*(words[start:] for start in range(SKETCH_PHRASE_WORDS)), strict=False)
    phrases = list(map(str.encode, map(" ".join, in_a_row)))
    if phrases:
        for seed in range(SKETCH_MARKS):
            smallest = min(map(zlib.crc32, phrases, repeat(seed * 7919)))
            marks.append(seed << 32 | smallest)
    return tuple(marks)


def _new_tokenizer() -> apsw.FTS5Tokenizer:
    """A tokenizer for this thread: it belongs to a connection, which threads do not share."""
    _of_thread.connection = apsw.Connection(":memory:")
    _of_thread.tokenizer = _of_thread.connection.fts5_tokenizer(
        "porter", ["unicode61", "remove_diacritics", "2"]
    )
    tokenizer: apsw.FTS5Tokenizer = _of_thread.tokenizer
    return tokenizer


def _pairs_of_run(match: re.Match[str]) -> str:
    """The characters of a CJK run as overlapping pairs, because it has no spaces between words."""
    run = match.group()
    pairs = [run[start : start + 2] for start in range(max(1, len(run) - 1))]
    return " " + " ".join(pairs) + " "


@lru_cache(1000)
def _own_scope(
    number: int,
    owner: str,
    audience: Audience,
    kind: str,
    tags: tuple[str, ...],
    project: str | None,
    namespace: str | None,
) -> str:
    """The scope tokens of an item, by which a filter can narrow the search."""
    seen_by = {
        Audience.USER: f"u{owner}",
        Audience.PROJECT: f"p{project}",
        Audience.ORG: "o",
    }[audience]
    values_by_name: dict[str, Iterable[str | None]] = {
        "see": (seen_by, f"u{owner}"),
        "kind": (kind,),
        "tag": tags,
        "project": (project,),
        "namespace": (namespace,),
    }
    tokens = []
    for name, values in values_by_name.items():
        tokens += scope_tokens(name, dict.fromkeys(values))
    return own(number, tokens)


@lru_cache(50_000)
def _tenant_token(number: int, word: str) -> str:
    """A token that tells nothing of the word.

    The few words that share a token are told apart when hits are scored.
    """
    digest = hashlib.blake2b(f"{number}:{word}".encode(), digest_size=5).digest()
    return base64.b32encode(digest).decode().lower()
