"""Results as objects: the fields of a result are attributes."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

__all__ = ["Record"]


class Record:
    """A result whose fields are attributes: `hit.score`, or `hit["score"]`.

    A subclass declares its fields as annotations. A declared field that the result does not have
    is None; a field that is not declared can be read too, because a newer server may send more.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = _fields_of(self).get(name)
        if name in self._values:
            return _built(self._values[name], hint)
        if hint is not None:
            return None
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    def __getitem__(self, name: str) -> Any:
        return _built(self._values[name], _fields_of(self).get(name))

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return self._values == other._values

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        return f"{type(self).__name__}({fields})"

    def as_dict(self) -> dict[str, Any]:
        """The result as it came, as plain JSON values."""
        return dict(self._values)


def _fields_of(record: Record) -> dict[str, Any]:
    """The declared fields of a result with their types."""
    kind = type(record)
    if kind not in _FIELDS:
        hints = get_type_hints(kind)
        _FIELDS[kind] = {name: hint for name, hint in hints.items() if not name.startswith("_")}
    return _FIELDS[kind]


_FIELDS: dict[type[Record], dict[str, Any]] = {}
"""The fields of each class of results, once they were asked for."""


def _built(value: Any, hint: Any) -> Any:
    """The value as its annotation says: objects become records, also in lists."""
    if value is None or hint is None:
        return value
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _built(value, _matching(value, get_args(hint)))
    if origin is list and isinstance(value, list):
        [entry_hint] = get_args(hint)
        return [_built(entry, entry_hint) for entry in value]
    if origin is dict and isinstance(value, dict):
        value_hint = get_args(hint)[1]
        return {name: _built(entry, value_hint) for name, entry in value.items()}
    if isinstance(hint, type) and issubclass(hint, Record) and isinstance(value, dict):
        return hint(value)
    return value


def _matching(value: Any, hints: tuple[Any, ...]) -> Any:
    """The alternative of a union that a value is of."""
    wanted = list if isinstance(value, list) else dict if isinstance(value, dict) else type(value)
    for hint in hints:
        kind = get_origin(hint) or hint
        if kind is wanted:
            return hint
        if wanted is dict and isinstance(kind, type) and issubclass(kind, Record):
            return hint
    return None
