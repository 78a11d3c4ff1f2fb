"""What no argument of any tool may hold, whatever its schema says."""

import math
from collections.abc import Mapping
from typing import Any

from memolith.engine.validation import checked_text
from memolith.errors import InvalidInput

MAX_DEPTH = 64
MAX_INTEGER = 2**63 - 1
MAX_NAMES = 20_000
"""How many names one object may have. Metadata of the largest size has fewer."""


def check_clean(arguments: Mapping[str, Any]) -> None:
    """Refuse what JSON or UTF-8 cannot carry or a store could not keep.

    That is: NUL, lone surrogates, numbers that are not finite or too large, deep nesting.
    """
    _check_names("The call", arguments)
    for name in arguments:
        checked_text("an argument's name", name)
    waiting: list[tuple[str, Any, int]] = [(name, value, 1) for name, value in arguments.items()]
    while waiting:
        name, value, depth = waiting.pop()
        if isinstance(value, dict | list):
            if depth > MAX_DEPTH:
                raise InvalidInput(
                    f"`{name}` is nested deeper than {MAX_DEPTH} levels.", field=name
                )
            if isinstance(value, dict):
                _check_names(f"`{name}`", value, name)
            parts = value if isinstance(value, list) else [*value, *value.values()]
            waiting.extend((name, part, depth + 1) for part in parts)
        else:
            _check_value(name, value)


def _check_names(what: str, names: Mapping[str, Any], field: str | None = None) -> None:
    if len(names) > MAX_NAMES:
        raise InvalidInput(
            f"{what} has {len(names):,} names; at most {MAX_NAMES:,} are allowed.", field=field
        )


def _check_value(name: str, value: Any) -> None:
    if isinstance(value, str):
        checked_text(name, value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"`{name}` must be a finite number.", field=name)
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise InvalidInput(f"`{name}` must be a number of at most 64 bits.", field=name)
