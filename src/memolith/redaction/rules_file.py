"""Reads rules.toml, and turns it into the module that the program loads."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict, cast

RULES_FILE = Path(__file__).with_name("rules.toml")
COMPILED_FILE = Path(__file__).with_name("compiled_rules.py")

SEPARATOR = re.compile("[_.-]")
"""What ends the prefix of a token."""

ENDING_CHARS = 3
"""How many characters before a separator are looked up at once."""


class RuleTable(TypedDict):
    """A rule as the file has it."""

    name: str
    finds: str
    hints: list[str]
    within: NotRequired[str]
    pattern: str
    alone: NotRequired[bool]
    check: NotRequired[str]
    examples: list[str]
    counter_examples: list[str]


class HarmlessTable(TypedDict):
    """Values that are no secrets, as the file has them."""

    words: list[str]
    placeholders: list[str]
    references: list[str]


class RulesTable(TypedDict):
    """The whole file."""

    tokens: list[RuleTable]
    contexts: list[RuleTable]
    harmless: HarmlessTable


def read_rules() -> RulesTable:
    """The rules as people write them, with their examples."""
    document = tomllib.loads(RULES_FILE.read_text(encoding="utf-8"))
    return cast(RulesTable, document)


def compiled_module(document: RulesTable) -> str:
    """The source of compiled_rules.py: what the program needs of the rules, as plain tuples."""
    lines = [
        '"""Generated from rules.toml by `make snap`; change that file instead."""',
        "",
        "CompiledRule = tuple[str, str, bool, str, tuple[str, ...]]",
        '"""Name, pattern, whether it stands alone, the name of a check, and its prefixes."""',
        "",
        "Hint = tuple[str, tuple[int, ...]]",
        '"""A plain word, and the places of its rules."""',
        "",
        *_rules_constant("TOKENS", document["tokens"]),
        *_rules_constant("CONTEXTS", document["contexts"]),
        *_token_hints(document["tokens"]),
        *_hints_constant(
            "CONTEXT_HINTS",
            "Hints by a text that must be there, too.",
            [
                (rule.get("within", ""), hint, place)
                for place, rule in enumerate(document["contexts"])
                for hint in rule["hints"]
            ],
        ),
    ]
    for name, values in document["harmless"].items():
        lines.append(f"HARMLESS_{name.upper()}: tuple[str, ...] = (")
        lines += [f"    {value!r}," for value in cast(Sequence[str], values)]
        lines += [")", ""]
    return "\n".join(lines).rstrip() + "\n"


def _token_hints(tokens: Sequence[RuleTable]) -> list[str]:
    """Two tables: hints that a separator ends, by the characters before it, and all others."""
    by_ending: list[tuple[str, str, int]] = []
    others: list[tuple[str, str, int]] = []
    for place, rule in enumerate(tokens):
        for hint in rule["hints"]:
            separator = SEPARATOR.search(hint)
            if separator is None:
                others.append(("", hint, place))
            elif separator.start() < ENDING_CHARS:
                others.append((separator[0], hint, place))
            else:
                ending = hint[separator.start() - ENDING_CHARS : separator.start()]
                by_ending.append((ending, hint, place))
    return [
        *_hints_constant("HINTS_BY_ENDING", "Hints by what is before their separator.", by_ending),
        *_hints_constant("OTHER_HINTS", "Hints by a character that must be there.", others),
    ]


def _hints_constant(name: str, doc: str, hints: Iterable[tuple[str, str, int]]) -> list[str]:
    """A dictionary of hints and the places of their rules, by what must be in a text first."""
    groups: dict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)
    for key, hint, place in hints:
        groups[key][hint] = (*groups[key].get(hint, ()), place)
    lines = [f"{name}: dict[str, tuple[Hint, ...]] = {{"]
    lines += [f"    {key!r}: {tuple(group.items())!r}," for key, group in groups.items()]
    return [*lines, "}", f'"""{doc}"""', ""]


def _rules_constant(name: str, rules: Sequence[RuleTable]) -> list[str]:
    lines = [f"{name}: tuple[CompiledRule, ...] = ("]
    for rule in rules:
        alone = rule.get("alone", False)
        check = rule.get("check", "")
        fields = (rule["name"], rule["pattern"], alone, check, _prefixes(rule))
        lines.append(f"    {fields!r},")
    return [*lines, ")", ""]


def _prefixes(rule: RuleTable) -> tuple[str, ...]:
    """The hints, if the pattern begins with them: then it is only tried where one stands."""
    hints = [re.sub(r"([.+*?^$|()\[\]{}\\])", r"\\\1", hint) for hint in rule["hints"]]
    beginning = hints[0]
    if len(hints) > 1:
        beginning = f"(?:{'|'.join(hints)})"
    if rule["pattern"].startswith(beginning):
        return tuple(rule["hints"])
    return ()
