"""Words as the text index knows them: stemmed, without accents, CJK runs as pairs of characters."""

import base64
import hashlib
import re
import threading
import unicodedata
import zlib
from collections.abc import Iterable
from datetime import date
from functools import lru_cache

import apsw

from memolith.domain.callers import Audience
from memolith.domain.items import Item
from memolith.domain.passages import Passage

STOP_WORDS = frozenset(
    "a an the and or but if of at by for with about to from in on is are was were be been do does "
    "did have has had i you he she it we they me him her us them my your his its our their this "
    "that what when where who whom which why how s t".split()
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
_MONTHS = (
    "",
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
_local = threading.local()
SKETCHES = 4


def terms(text: str) -> list[str]:
    """The index terms of a text in order."""
    if not text:
        return []
    if not text.isascii():
        # Letters and their accents as one character, as the tokenizer expects them.
        text = _CJK.sub(_pairs, unicodedata.normalize("NFC", text))
    tokenizer = getattr(_local, "tokenizer", None)
    if tokenizer is None:
        # One tokenizer per thread: it belongs to a connection, and connections do not share.
        _local.connection = apsw.Connection(":memory:")
        tokenizer = _local.tokenizer = _local.connection.fts5_tokenizer(
            "porter", ["unicode61", "remove_diacritics", "2"]
        )
    found: list[str] = tokenizer(
        text.encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return found


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query without words that say nothing, unless it has no others."""
    words = re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())
    telling = [word for word in words if word not in STOP_WORDS]
    return list(dict.fromkeys(terms(" ".join(telling or words))))


def _pairs(match: re.Match[str]) -> str:
    run = match.group()
    return " " + " ".join(run[i : i + 2] for i in range(max(1, len(run) - 1))) + " "


def extra(item: Item, passage: Passage) -> str:
    """What is searched beside the text: title, speaker, and the day of a message in words."""
    parts = [item.title, passage.speaker or ""]
    if item.kind == "conversation":
        day = date.fromisoformat(passage.at[:10])
        parts.append(f"{day.day} {_MONTHS[day.month]} {day.year}")
    return " ".join(parts)


def indexed(number: int, item: Item, passage: Passage) -> tuple[str, str, str]:
    """The three columns of the index: what a passage says, what is searched beside it, and where it belongs."""
    sees = {
        Audience.USER: f"u{item.owner}",
        Audience.PROJECT: f"p{item.project}",
        Audience.ORG: "o",
    }[item.audience]
    # What lets a filter narrow the posting lists.
    tokens = {
        "see": (sees, f"u{item.owner}"),
        "kind": (item.kind,),
        "tag": item.tags,
        "project": (item.project,),
        "namespace": (item.namespace,),
    }
    narrow = [
        token
        for name, values in tokens.items()
        for token in scope_tokens(name, dict.fromkeys(values))
    ]
    return (
        own(number, terms(passage.text)),
        own(number, terms(extra(item, passage))),
        own(number, narrow),
    )


@lru_cache(100)
def sketch(text: str) -> tuple[int, ...]:
    """Marks of a text: one of the whole but for case and white space, and a few of which near ones share one."""
    plain, words = " ".join(text.casefold().split()), terms(text)
    whole = int.from_bytes(
        hashlib.blake2b(plain.encode(), digest_size=8).digest(), "big", signed=True
    )
    # Phrases of three words: single words are so common that half of all texts would share a mark.
    codes = [" ".join(words[n : n + 3]).encode() for n in range(len(words) - 2)]
    return whole, *(
        seed << 32 | min([zlib.crc32(code, seed * 7919) for code in codes])
        for seed in range(SKETCHES)
        if codes
    )


def own(number: int, words: Iterable[str]) -> str:
    """The words as the tenant's own tokens."""
    return " ".join([_mark(number, word) for word in words])


@lru_cache(50_000)
def _mark(number: int, word: str) -> str:
    """A token that tells nothing of the word; of the few that meet in one, the true scores are told apart later."""
    return (
        base64.b32encode(hashlib.blake2b(f"{number}:{word}".encode(), digest_size=5).digest())
        .decode()
        .lower()
    )


def scope_tokens(name: str, values: Iterable[str | None]) -> list[str]:
    """The scope tokens that items with one of the values have."""
    return [
        name + hashlib.blake2b(value.encode(), digest_size=6).hexdigest()
        for value in values
        if value is not None
    ]
