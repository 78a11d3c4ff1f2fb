"""Finds secrets in a text and takes them out.

rules.toml says what secrets look like; assignments.py finds the values of words like `password`.
"""

import re
from collections import Counter
from collections.abc import Iterator

from memolith.domain.ahead import kept_ahead
from memolith.redaction.assignments import SecretMatch, find_assigned, stands_in
from memolith.redaction.rules import Hint, Rule, load_rules

MARK = "[REDACTED]"
"""What a redacted text has in place of a secret."""

MAX_PASSES = 4
"""Taking a secret away may uncover its neighbour. Two passes were always enough; the bound makes
sure that redaction ends."""

MIN_TOKEN_CHARS = 20
"""No vendor issues a shorter token, so shorter words are not compared with the token rules."""

NO_TOKEN = re.compile(r"""["'`(){}\[\]<>,;*\s]+""")
"""What is between tokens: none has these characters in it."""

BEFORE_SEPARATOR = re.compile("[_.-](?<=(...).)")
"""The three characters before each separator: one pass over a text rules out most prefixes."""

INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Characters without width that pages and chats put into long words, also into tokens."""

INVISIBLE_CHARACTER = re.compile(f"[{INVISIBLE}]")

GENERAL_KINDS = ("password", "secret", "token")
"""Where two secrets overlap, the result gets the other kind, which says more."""


def find(text: str) -> list[SecretMatch]:
    """Return the secrets in a text, in order and without overlap."""
    if text.isascii() or INVISIBLE_CHARACTER.search(text) is None:
        return _find_visible(text)
    visible = [place for place, character in enumerate(text) if character not in INVISIBLE]
    matches = _find_visible(INVISIBLE_CHARACTER.sub("", text))
    return [
        SecretMatch(match.kind, visible[match.start], visible[match.end - 1] + 1)
        for match in matches
    ]


@kept_ahead
def redact(text: str) -> tuple[str, dict[str, int]]:
    """Return the text with a mark in place of every secret, and the number of secrets by kind."""
    counts: Counter[str] = Counter()
    for _ in range(MAX_PASSES):
        matches = find(text)
        if not matches:
            break
        counts.update(match.kind for match in matches)
        text = _marked(text, matches)
    return text, dict(counts)


def _find_visible(text: str) -> list[SecretMatch]:
    # This letter alone becomes two in lower case, and positions in both texts must agree.
    lowered = text.replace("İ", "i").lower()
    matches = [*_find_by_rules(text, lowered), *find_assigned(text, lowered)]
    return _merge_overlapping(matches)


def _find_by_rules(text: str, lowered: str) -> Iterator[SecretMatch]:
    for rule in (*_candidate_tokens(text), *_candidate_contexts(lowered)):
        for start, end in rule.spans(text):
            if not stands_in(text[start:end]):
                yield SecretMatch(rule.name, start, end)


def _candidate_tokens(text: str) -> list[Rule]:
    """The rules of tokens that may find something in the text, in the order of the file."""
    words = _long_words(text)
    if not words:
        return []
    rules = load_rules()
    endings = rules.hints_by_ending.keys() & set(BEFORE_SEPARATOR.findall(words))
    hints = [rules.hints_by_ending[ending] for ending in endings]
    hints += [group for needed, group in rules.other_hints.items() if needed in words]
    places = _hinted(words, hints)
    candidates = [rules.tokens[place] for place in sorted(places)]
    return [rule for rule in candidates if any(rule.matches(words))]


def _long_words(text: str) -> str:
    """The words that are long enough for a token; most texts have none."""
    long_words = [word for word in text.split() if len(word) >= MIN_TOKEN_CHARS]
    if not long_words:
        return ""
    parts = NO_TOKEN.split(" ".join(long_words))
    return " ".join([part for part in parts if len(part) >= MIN_TOKEN_CHARS])


def _candidate_contexts(lowered: str) -> list[Rule]:
    """The rules of contexts that may find something in the text, in the order of the file."""
    rules = load_rules()
    hints = [group for needed, group in rules.context_hints.items() if needed in lowered]
    places = _hinted(lowered, hints)
    return [rules.contexts[place] for place in sorted(places)]


def _hinted(text: str, groups: list[tuple[Hint, ...]]) -> set[int]:
    """The places of the rules of which a hint is in the text."""
    places: set[int] = set()
    for group in groups:
        for found in [owners for hint, owners in group if hint in text]:
            places.update(found)
    return places


def _merge_overlapping(matches: list[SecretMatch]) -> list[SecretMatch]:
    merged: list[SecretMatch] = []
    for match in sorted(matches, key=lambda match: match.start):
        if merged and match.start < merged[-1].end:
            previous = merged.pop()
            kind = match.kind if previous.kind in GENERAL_KINDS else previous.kind
            match = SecretMatch(kind, previous.start, max(previous.end, match.end))
        merged.append(match)
    return merged


def _marked(text: str, matches: list[SecretMatch]) -> str:
    kept = []
    end_of_last = 0
    for match in matches:
        kept.append(text[end_of_last : match.start])
        end_of_last = match.end
    kept.append(text[end_of_last:])
    return MARK.join(kept)
