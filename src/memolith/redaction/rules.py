"""The rules that find secrets, loaded at the first use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from memolith.redaction.checks import CHECKS

NOT_INSIDE_A_WORD = r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
"""What is before a token that stands alone: no word, unless it is the end of an escape sequence."""

MAX_GLUED_CHARS = 24
"""How long a word may be to which a token is glued.

Every prefix turns up by chance in a long random text, such as an encoded picture, so that no token
is looked for inside one.
"""

NOT_INSIDE_A_LONG_WORD = rf"(?<![\w-]{{{MAX_GLUED_CHARS}}})"

if TYPE_CHECKING:
    from memolith.redaction.compiled_rules import CompiledRule

Hint = tuple[str, tuple[int, ...]]
"""A plain word, and the places of the rules that it belongs to."""


class Rule:
    """One kind of secret and the pattern that finds it."""

    def __init__(self, compiled: CompiledRule, is_token: bool) -> None:
        self.name, self.pattern, self.alone, check, self._prefixes = compiled
        self.is_token = is_token
        self._check = CHECKS[check] if check else None

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled when a text first has one of the hints."""
        if not self.is_token:
            return re.compile(self.pattern)
        if not self.alone and self._prefixes:
            return re.compile(f"(?a:{NOT_INSIDE_A_LONG_WORD}{self.pattern})")
        # Without a prefix, the engine finds the first characters of a pattern quickly only if
        # nothing stands before them. Such a pattern says itself what must not be before it.
        if not self.alone:
            return re.compile(f"(?a:{self.pattern})")
        return re.compile(rf"(?a:{NOT_INSIDE_A_WORD}(?:{self.pattern})(?![A-Za-z0-9]))")

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches of the pattern, which may not be secrets yet."""
        if not self._prefixes:
            yield from self.regex.finditer(text)
        # Looking for a plain text is far quicker than trying the pattern everywhere.
        for prefix in self._prefixes:
            start = text.find(prefix)
            while start >= 0:
                match = self.regex.match(text, start)
                if match is None:
                    start = text.find(prefix, start + 1)
                else:
                    yield match
                    start = text.find(prefix, match.end())

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the secrets begin and end: the group that matched, or the whole match."""
        for match in self.matches(text):
            start, end = match.span(match.lastindex or 0)
            if self._is_secret(text, start, end):
                yield start, end

    def _is_secret(self, text: str, start: int, end: int) -> bool:
        if self._check is not None and not self._check(text, start, end):
            return False
        if not self.is_token:
            return True
        # Small letters without a digit are the words of an identifier.
        secret = text[start:end]
        return not secret.islower() or any(character.isdigit() for character in secret)


class HarmlessValues:
    """Values that are no secrets, although they are assigned to a word like `password`."""

    def __init__(
        self, words: tuple[str, ...], placeholders: tuple[str, ...], references: tuple[str, ...]
    ) -> None:
        self.words = frozenset(words)
        self._placeholders = placeholders
        self._references = references

    @cached_property
    def placeholder(self) -> re.Pattern[str]:
        """A whole value that stands in for a secret."""
        return re.compile("(?is)" + "|".join(self._placeholders))

    @cached_property
    def reference(self) -> re.Pattern[str]:
        """A whole value that names something which is no secret."""
        return re.compile("(?s)" + "|".join(self._references))


class Rules(NamedTuple):
    """All rules, and the plain words that tell which of them are worth trying on a text."""

    tokens: list[Rule]
    contexts: list[Rule]
    hints_by_ending: dict[str, tuple[Hint, ...]]
    other_hints: dict[str, tuple[Hint, ...]]
    context_hints: dict[str, tuple[Hint, ...]]
    harmless: HarmlessValues


@cache
def load_rules() -> Rules:
    """Load the rules once; a program that never writes a text does not load them at all."""
    # The module is large, and a hook that only searches must not pay for it.
    from memolith.redaction import compiled_rules

    return Rules(
        tokens=[Rule(rule, is_token=True) for rule in compiled_rules.TOKENS],
        contexts=[Rule(rule, is_token=False) for rule in compiled_rules.CONTEXTS],
        hints_by_ending=compiled_rules.HINTS_BY_ENDING,
        other_hints=compiled_rules.OTHER_HINTS,
        context_hints=compiled_rules.CONTEXT_HINTS,
        harmless=HarmlessValues(
            compiled_rules.HARMLESS_WORDS,
            compiled_rules.HARMLESS_PLACEHOLDERS,
            compiled_rules.HARMLESS_REFERENCES,
        ),
    )
