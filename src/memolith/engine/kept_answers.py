"""Removes from the kept answers what an erase must not leave behind."""

import json
from collections.abc import Iterable, Iterator

from memolith.domain.events import Event
from memolith.engine.statements import SHINGLE_WORDS, shingles
from memolith.ports.store import Writer

CONTENT_OF_EVENTS = ("title", "tags", "attributes", "blocks")
"""The data of an event that hold what users wrote."""


def blank_answers_about(rows: Writer, tenant: str, events: Iterable[Event]) -> None:
    """Empty the answers that quote what these events of one item have ever held.

    That the calls were made stays known, so that repeating them still does nothing.
    """
    item_id = ""
    sequences: set[tuple[str, ...]] = set()
    phrases: set[str] = set()
    for event in events:
        item_id = event.stream
        content = [event.data[name] for name in CONTENT_OF_EVENTS if name in event.data]
        for text in _texts(content):
            found = shingles(text)
            # A word or two may be anybody's; in an answer about the item they are a quotation.
            phrases |= {" ".join(words) for words in found if len(words) < SHINGLE_WORDS}
            sequences |= {words for words in found if len(words) == SHINGLE_WORDS}
    phrases.discard("")
    for answer in rows.answers(tenant):
        if answer.sealed or not answer.body:
            continue
        body = json.loads(answer.body)
        texts = list(_texts(body))
        is_quoted = any(shingles(text) & sequences for text in texts)
        if not is_quoted and item_id in answer.body:
            # What differs between two items quotes a word or two of both.
            is_quoted = bool(body.get("conflicts")) or any(
                _phrase(text) in phrases for text in texts
            )
        if is_quoted:
            rows.put_answer(tenant, answer._replace(body=""))


def _phrase(text: str) -> str:
    """A text of a word or two, as `blank_answers_about` compares it."""
    return " ".join(next(iter(shingles(text))))


def _texts(value: object) -> Iterator[str]:
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _texts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
