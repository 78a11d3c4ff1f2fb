"""What a tenant may set while the server runs: a declared table, read anew at each use, so that all processes agree."""

import json
from contextlib import suppress
from typing import NamedTuple

from memolith.engine.events import Event
from memolith.engine.model import Caller
from memolith.engine.verbs import Verbs
from memolith.errors import Denied, InvalidInput, NotFound

Value = int | float | str
FOLDER = "config/"
SET = -1.0
"""Stands for a number that a call leaves to the setting."""


class Key(NamedTuple):
    """One thing that can be set, by an admin or by nobody; the type of its default is its type."""

    about: str
    default: Value
    least: float = 1
    most: float = 1_000_000
    fixed: bool = False


KEYS: dict[str, Key] = {
    "embedding_model": Key("the model that makes vectors; chosen when the server starts", "", fixed=True),
    "max_memories": Key("how many memories one user may have", 1_000_000, 1, 1_000_000_000),
    "max_title_length": Key("the longest title of a memory, in characters", 500),
    "max_content_length": Key("the longest text of a memory, in characters", 50_000),
    "max_summary_length": Key("the longest summary of a memory, in characters", 1000),
    "max_project_ref_length": Key("the longest project reference, in characters", 100),
    "max_tags": Key("how many tags a memory may have", 20, 1, 100),
    "max_tag_length": Key("the longest tag, in characters", 50, 1, 100),
    "max_query_length": Key("the longest query, in characters", 1000, 1, 10_000),
    "max_bulk_delete": Key("how many memories one call may delete", 100, 1, 10_000),
    "search_threshold": Key("the least similarity of a search that names none", 0.7, 0, 1),
    "related_threshold": Key("the least similarity of related memories if a call names none", 0.7, 0, 1),
    "duplicate_threshold": Key("the least similarity of duplicates if a call names none", 0.9, 0, 1),
}


class Configuration(NamedTuple):
    """Reads and sets the keys of tenants."""

    engine: Verbs

    def values(self, tenant: str) -> dict[str, Value]:
        """Every key with its value now; a fixed one has none here."""
        with self.engine.store.reading(tenant) as rows:
            chosen = rows.records(tenant, FOLDER)
        return {name: json.loads(chosen[name]) if name in chosen else key.default for name, key in KEYS.items()}

    def number(self, tenant: str, name: str, given: float = SET) -> float:
        return float(self.values(tenant)[name]) if given == SET else given

    def set(self, caller: Caller, name: str, text: str) -> Event:
        """Set a key to what the text means; the event tells the value, and the one before."""
        key = known_key(name)
        if key.fixed:
            raise Denied(f"{name} cannot be changed while the server runs.", field="key")
        number, whole = float("nan"), isinstance(key.default, int)
        with suppress(ValueError):
            number = float(text)
        if not key.least <= number <= key.most or (whole and number % 1):
            kind = "whole number" if whole else "number"
            raise InvalidInput(f"This needs a {kind} from {key.least:,} to {key.most:,}.", field="value")
        value: Value = int(number) if whole else number
        with self.engine.store.writing(caller.tenant) as rows:
            before = rows.records(caller.tenant, FOLDER).get(name)
            rows.put_record(caller.tenant, FOLDER + name, json.dumps(value))
            return self.engine.tell(rows, caller, f"setting/{name}", "configured", {
                "value": value, "before": json.loads(before) if before else key.default})

    def history(self, tenant: str, name: str) -> list[Event]:
        """Who set the key to what and when, oldest first."""
        with self.engine.store.reading(tenant) as rows:
            return rows.events(tenant, f"setting/{known_key(name) and name}")


def known_key(name: str) -> Key:
    if name not in KEYS:
        raise NotFound(f"There is no key {name[:60]!r}; there are {', '.join(KEYS)}.", field="key", id=name)
    return KEYS[name]
