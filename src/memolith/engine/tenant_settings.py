"""What a tenant may set while the server runs: a declared table, read anew at each use, so that all processes agree."""

import json
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.events import Event
from memolith.engine.recording import Recorder
from memolith.engine.tables import TABLES, entries
from memolith.errors import Denied, InvalidInput, NotFound
from memolith.ports.store import Store

Value = int | float | str
FOLDER = "config/"
SET = -1.0
"""Stands for a number that a call leaves to the setting."""


class Key(NamedTuple):
    """One thing that an admin can set, unless it is a text; the type of its default is its type."""

    about: str
    default: Value
    least: float
    most: float


KEYS = {
    name: Key(about, *map(json.loads, numbers.split()))
    for name, numbers, about in entries(TABLES["settings"])
}


@dataclass(frozen=True)
class TenantSettings:
    """Reads and sets the keys of tenants."""

    store: Store
    recorder: Recorder

    def values(self, tenant: str) -> dict[str, Value]:
        """Every key with its value now; a fixed one has none here."""
        with self.store.reading(tenant) as rows:
            chosen = rows.records(tenant, FOLDER)
        return {
            name: json.loads(chosen[name]) if name in chosen else key.default
            for name, key in KEYS.items()
        }

    def number(self, tenant: str, name: str, given: float = SET) -> float:
        return float(self.values(tenant)[name]) if given == SET else given

    def set(self, caller: Caller, name: str, text: str) -> Event:
        """Set a key to what the text means; the event tells the value, and the one before."""
        key = known_key(name)
        if isinstance(key.default, str):
            raise Denied(f"{name} cannot be changed while the server runs.", field="key")
        try:
            value = (
                type(key.default)(number)
                if (number := float(text)) == type(key.default)(number)
                else float("nan")
            )
        except (ValueError, OverflowError):
            value = float("nan")
        if not key.least <= value <= key.most:
            kind = "whole number" if isinstance(key.default, int) else "number"
            raise InvalidInput(
                f"This needs a {kind} from {key.least:,} to {key.most:,}.", field="value"
            )
        with self.store.writing(caller.tenant) as rows:
            before = rows.records(caller.tenant, FOLDER).get(name)
            rows.put_record(caller.tenant, FOLDER + name, json.dumps(value))
            return self.recorder.tell(
                rows,
                caller,
                f"setting/{name}",
                "configured",
                {"value": value, "before": json.loads(before) if before else key.default},
            )

    def history(self, tenant: str, name: str) -> list[Event]:
        with self.store.reading(tenant) as rows:
            return rows.events(tenant, f"setting/{name}")


def known_key(name: str) -> Key:
    if name not in KEYS:
        raise NotFound(
            f"There is no key {name[:60]!r}; there are {', '.join(KEYS)}.", field="key", id=name
        )
    return KEYS[name]
