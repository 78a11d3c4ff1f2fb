"""What `memolith install` writes: an entry among the servers of a client, or among its hooks."""

import re
from dataclasses import dataclass
from typing import Any, Protocol

from memolith.doors.hooks.events import EVENTS
from memolith.errors import AlreadyExists

Section = dict[str, Any]
"""The servers or the hooks of a config file, by name."""

OUR_HOOK = re.compile(rf"memolith\S* hook ({'|'.join(EVENTS)})\b")


class Entries(Protocol):
    """What is ours in a section. Both raise ValueError for a section that a client cannot read."""

    def added_to(self, section: Section) -> Section: ...

    def removed_from(self, section: Section) -> Section: ...


@dataclass(frozen=True)
class ServerEntry:
    """One server by its name."""

    client_title: str
    name: str
    fields: Section

    def added_to(self, section: Section) -> Section:
        """What the client or its user added to our entry stays: approvals, limits, variables."""
        present = self._present(section) or {}
        return {**section, self.name: {**present, **self.fields}}

    def removed_from(self, section: Section) -> Section:
        self._present(section)
        return {name: entry for name, entry in section.items() if name != self.name}

    def _present(self, section: Section) -> Section | None:
        """Our entry as it stands there; the entry of another server is refused."""
        present = section.get(self.name)
        if present is None:
            return None
        if isinstance(present, dict):
            # However it was written, an entry of ours starts memolith.
            command = f"{present.get('command')} {present.get('args')}"
            if "memolith" in command.lower():
                return present
        raise AlreadyExists(
            f"{self.name!r} in the file of {self.client_title} is another server and was left "
            "alone; choose another name with --name.",
            field="name",
        )


@dataclass(frozen=True)
class HookEntries:
    """A group of hooks for each event that we answer."""

    groups: Section

    def added_to(self, section: Section) -> Section:
        """The hooks of others stay, before ours."""
        changed = dict(section)
        for event, group in self.groups.items():
            changed[event] = [*self._groups_of_others(section, event), group]
        return changed

    def removed_from(self, section: Section) -> Section:
        changed = dict(section)
        for event in self.groups:
            others = self._groups_of_others(section, event)
            if others:
                changed[event] = others
            elif section.get(event) != []:
                changed.pop(event, None)
        return changed

    def _groups_of_others(self, section: Section, event: str) -> list[object]:
        groups = section.get(event) or []
        if not isinstance(groups, list):
            raise ValueError(f"{event!r} is not a list")
        return [group for group in groups if not OUR_HOOK.search(str(group))]
