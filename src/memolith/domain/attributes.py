"""JSON values, as attributes of items and as data of events."""

import json
from collections.abc import Mapping
from types import MappingProxyType

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


Attributes = Mapping[str, Json]


NO_ATTRIBUTES: Attributes = MappingProxyType({})


def exact(value: object) -> str:
    """JSON text that is equal for equal values only: 1 and true differ here."""
    return json.dumps(
        value,
        sort_keys=True,
        default=lambda one: (
            dict(one)
            if isinstance(one, Mapping)
            else {name: getattr(one, name) for name in getattr(one, "__dataclass_fields__", {})}
        ),
    )
