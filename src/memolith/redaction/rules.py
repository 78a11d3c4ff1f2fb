"""The rules of rules.toml, read at the first use."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

RULES_FILE = Path(__file__).with_name("rules.toml")


class RuleTable(TypedDict):
    """A rule as the file has it."""

    name: str
    finds: str
    hints: list[str]
    pattern: str
    examples: list[str]
    counter_examples: NotRequired[list[str]]


class Rule:
    """One kind of secret and the pattern that finds it."""

    def __init__(
        self,
        name: str,
        hints: Sequence[str],
        pattern: str,
        examples: Sequence[str],
        counter_examples: Sequence[str],
    ) -> None:
        self.name = name
        self.hints = hints
        self.pattern = pattern
        self.examples = examples
        self.counter_examples = counter_examples

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled when a text first has one of the hints."""
        return re.compile(self.pattern)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the secrets begin and end: the group that matched, or the whole match."""
        for match in self.regex.finditer(text):
            yield match.span(match.lastindex or 0)


class HarmlessValues:
    """Values that are no secrets, although they are assigned to a word like `password`."""

    def __init__(
        self, words: Sequence[str], placeholders: Sequence[str], references: Sequence[str]
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
    """All rules of the file."""

    tokens: list[Rule]
    contexts: list[Rule]
    token_hints: list[tuple[str, Rule]]
    """Each hint with its rule, in one flat list: every text that is written goes through it."""
    context_hints: list[tuple[str, Rule]]
    harmless: HarmlessValues


@cache
def load_rules() -> Rules:
    """Read the file once; a program that never writes a text does not read it at all."""
    # tomllib takes 4 ms to import, which a hook that only searches must not pay.
    import tomllib

    document = tomllib.loads(RULES_FILE.read_text(encoding="utf-8"))
    tokens = [_token_rule(table) for table in document["tokens"]]
    contexts = [_rule(table) for table in document["contexts"]]
    return Rules(
        tokens=tokens,
        contexts=contexts,
        token_hints=_hints(tokens),
        context_hints=_hints(contexts),
        harmless=HarmlessValues(**document["harmless"]),
    )


def _rule(table: RuleTable) -> Rule:
    return Rule(
        name=table["name"],
        hints=table["hints"],
        pattern=table["pattern"],
        examples=table["examples"],
        counter_examples=table.get("counter_examples", []),
    )


def _token_rule(table: RuleTable) -> Rule:
    """A rule whose match must not stand inside a longer word."""
    rule = _rule(table)
    rule.pattern = rf"(?a)(?<![A-Za-z0-9])(?:{rule.pattern})(?![A-Za-z0-9])"
    return rule


def _hints(rules: list[Rule]) -> list[tuple[str, Rule]]:
    return [(hint, rule) for rule in rules for hint in rule.hints]
