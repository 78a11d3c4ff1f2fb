"""JSON values, as attributes of items and as data of events."""

import json
from collections.abc import Mapping
from types import MappingProxyType

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
Attributes = Mapping[str, Json]
NO_ATTRIBUTES: Attributes = MappingProxyType({})


def exact(value: object) -> str:
    """JSON text that is equal for equal values only: 1 and true differ here."""
    return json.dumps(value, sort_keys=True, default=_as_dict)


def _as_dict(value: object) -> dict[str, object]:
    """A mapping or a dataclass as a dictionary, for JSON."""
    if isinstance(value, Mapping):
        return dict(value)
    fields = getattr(value, "__dataclass_fields__", {})
    return {name: getattr(value, name) for name in fields}
