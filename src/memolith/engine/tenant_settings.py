"""Settings of a tenant: what an admin may change while the server runs.

They are read again at each use, so that all processes agree.
"""

import json
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.events import Event
from memolith.engine.recording import Recorder
from memolith.errors import Denied, InvalidInput, NotFound
from memolith.ports.store import Store

Value = int | float | str
RECORD_FOLDER = "config/"


class Key(NamedTuple):
    """One setting. Its default gives its type; a text is fixed when the server starts."""

    about: str
    default: Value
    minimum: float = 0
    maximum: float = 0


KEYS = {
    "embedding_model": Key("the model that makes vectors; chosen when the server starts", ""),
    "max_memories": Key("how many memories one user may have", 1_000_000, 1, 1_000_000_000),
    "max_title_length": Key("the longest title of a memory, in characters", 500, 1, 1_000_000),
    "max_content_length": Key("the longest text of a memory, in characters", 50_000, 1, 1_000_000),
    "max_summary_length": Key("the longest summary of a memory, in characters", 1000, 1, 1_000_000),
    "max_project_ref_length": Key(
        "the longest project reference, in characters", 100, 1, 1_000_000
    ),
    "max_tags": Key("how many tags a memory may have", 20, 1, 100),
    "max_tag_length": Key("the longest tag, in characters", 50, 1, 100),
    "max_query_length": Key("the longest query, in characters", 1000, 1, 10_000),
    "max_bulk_delete": Key("how many memories one call may delete", 100, 1, 10_000),
    "search_threshold": Key("the least similarity of a search that names none", 0.7, 0, 1),
    "related_threshold": Key(
        "the least similarity of related memories if a call names none", 0.7, 0, 1
    ),
    "duplicate_threshold": Key(
        "the least similarity of duplicates if a call names none", 0.9, 0, 1
    ),
}
"""Every setting by its name."""


@dataclass(frozen=True)
class TenantSettings:
    """Reads and changes the settings of tenants."""

    store: Store
    recorder: Recorder

    def values(self, tenant: str) -> dict[str, Value]:
        """Every setting with its present value; one that is fixed has its default here."""
        with self.store.reading(tenant) as rows:
            records = rows.records(tenant, RECORD_FOLDER)
        values = {name: key.default for name, key in KEYS.items()}
        for name, record in records.items():
            if name in KEYS:
                values[name] = json.loads(record)
        return values

    def number(self, tenant: str, name: str) -> float:
        """The present value of a setting that is a number."""
        return float(self.values(tenant)[name])

    def set(self, caller: Caller, name: str, text: str) -> Event:
        """Set a number from its text; the event holds the new value and the one before."""
        key = known_key(name)
        if isinstance(key.default, str):
            raise Denied(f"{name} cannot be changed while the server runs.", field="key")
        value = _parse(key.default, text)
        if value is None or not key.minimum <= value <= key.maximum:
            kind = "whole number" if isinstance(key.default, int) else "number"
            raise InvalidInput(
                f"This needs a {kind} from {key.minimum:,} to {key.maximum:,}.", field="value"
            )
        with self.store.writing(caller.tenant) as rows:
            record = rows.records(caller.tenant, RECORD_FOLDER).get(name)
            before = key.default if record is None else json.loads(record)
            rows.put_record(caller.tenant, RECORD_FOLDER + name, json.dumps(value))
            return self.recorder.tell(
                rows,
                caller,
                _stream(name),
                "configured",
                {"value": value, "before": before},
            )

    def history(self, tenant: str, name: str) -> list[Event]:
        """Every change of a setting, oldest first."""
        with self.store.reading(tenant) as rows:
            return rows.events(tenant, _stream(name))


def known_key(name: str) -> Key:
    """The setting with this name."""
    if name not in KEYS:
        raise NotFound(
            f"There is no key {name[:60]!r}; there are {', '.join(KEYS)}.", field="key", id=name
        )
    return KEYS[name]


def _stream(name: str) -> str:
    return f"setting/{name}"


def _parse(default: int | float, text: str) -> int | float | None:
    """The number that the text stands for, of the type of the default; None if it is none."""
    try:
        number = float(text)
        value = int(number) if isinstance(default, int) else number
    except (ValueError, OverflowError):
        return None
    return value if value == number else None
