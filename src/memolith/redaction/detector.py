"""Finds secrets in a text and takes them out.

rules.toml says what secrets look like; assignments.py finds the values of words like `password`.
"""

from collections import Counter
from collections.abc import Iterator

from memolith.redaction.assignments import SecretMatch, find_assigned, stands_in
from memolith.redaction.rules import Rule, load_rules

MARK = "[REDACTED]"
"""What a redacted text has in place of a secret."""

MAX_PASSES = 4
"""Taking a secret away may uncover its neighbour. Two passes were always enough; the bound makes
sure that redaction ends."""

MIN_TOKEN_CHARS = 20
"""No vendor issues a shorter token, so shorter words are not compared with the token rules."""

GENERAL_KINDS = ("password", "secret", "token")
"""Where two secrets overlap, the result gets the other kind, which says more."""


def find(text: str) -> list[SecretMatch]:
    """Return the secrets in a text, in order and without overlap."""
    # This letter alone becomes two in lower case, and positions in both texts must agree.
    lowered = text.replace("İ", "i").lower()
    matches = [*_find_by_rules(text, lowered), *find_assigned(text, lowered)]
    return _merge_overlapping(matches)


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


def _find_by_rules(text: str, lowered: str) -> Iterator[SecretMatch]:
    for rule in _candidate_rules(text, lowered):
        for start, end in rule.spans(text):
            if not stands_in(text[start:end]):
                yield SecretMatch(rule.name, start, end)


def _candidate_rules(text: str, lowered: str) -> list[Rule]:
    """The rules that may find something in the text."""
    rules = load_rules()
    words = " ".join([word for word in text.split() if len(word) >= MIN_TOKEN_CHARS])
    # Dictionaries, because two hints of a rule may occur, and the order must not change.
    tokens = dict.fromkeys([rule for hint, rule in rules.token_hints if hint in words])
    contexts = dict.fromkeys([rule for hint, rule in rules.context_hints if hint in lowered])
    return [*(rule for rule in tokens if rule.regex.search(words)), *contexts]


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
