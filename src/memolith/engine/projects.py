"""Projects: whom they let in.

The members of a project are kept in an item of their own, so that history, undo and export work
for them as for everything else. It has the title of the project and is for the project's eyes.
"""

from dataclasses import dataclass

from memolith.domain.attributes import Json
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Item, Written
from memolith.engine.recording import NewEvent, Recorder
from memolith.engine.validation import InputRules, identifier
from memolith.engine.visibility import MEMBERS, check_project, members_item, project_members
from memolith.engine.writing import Writing
from memolith.errors import InvalidInput, NotFound
from memolith.ports.store import Store, Writer


@dataclass(frozen=True)
class Projects:
    """Tells and changes whom a project lets in."""

    store: Store
    writing: Writing
    recorder: Recorder
    input_rules: InputRules

    def check(self, caller: Caller) -> None:
        """Refuse a caller who states a project that does not let them in."""
        if caller.project is not None:
            with self.store.reading(caller.tenant) as rows:
                check_project(rows, caller, caller.project)

    def members(self, caller: Caller, project: str) -> list[str]:
        """The users whom a project lets in; none if it is open to the whole tenant."""
        with self.store.reading(caller.tenant) as rows:
            check_project(rows, caller, project)
            return project_members(rows, caller.tenant, project)

    def add_member(self, caller: Caller, project: str, user: str) -> Written:
        """Let a user in. From its first member on, a project is closed to all others."""
        identifier(user, "user")
        with self.store.writing(caller.tenant) as rows:
            item = members_item(rows, caller.tenant, project)
            if item is None:
                return self._close(rows, caller, project, user)
            members = project_members(rows, caller.tenant, project)
            return self._change(rows, caller, item, sorted({*members, user}))

    def remove_member(self, caller: Caller, project: str, user: str) -> Written:
        """Let a user in no longer. Without its last member, a project is open to the tenant."""
        with self.store.writing(caller.tenant) as rows:
            item = members_item(rows, caller.tenant, project)
            members = project_members(rows, caller.tenant, project)
            if item is None or user not in members:
                raise NotFound(
                    f"{user[:100]!r} is no member of {project[:100]!r}.", field="user", id=user
                )
            members.remove(user)
            return self._change(rows, caller, item, members)

    def _close(self, rows: Writer, caller: Caller, project: str, user: str) -> Written:
        intake = self.input_rules.intake()
        draft = Draft(
            kind="project",
            title=project,
            attributes={MEMBERS: [user]},
            audience=Audience.PROJECT,
            project=project,
        )
        written = self.writing.remember_in(rows, caller, draft, intake)
        if written.item.title != project or written.item.project != project:
            # The list would be kept under another name than the one that requests state.
            raise InvalidInput(
                "This cannot be the name of a project: it is stored in another form.",
                field="project",
                value=project,
            )
        return written

    def _change(self, rows: Writer, caller: Caller, item: Item, members: list[str]) -> Written:
        attributes: dict[str, Json] = {MEMBERS: list(members)}
        if members == item.attributes.get(MEMBERS):
            return Written(item, rows.last_seq(caller.tenant))
        recorded = self.recorder.record(
            rows, caller, NewEvent(item.id, "revised", {"attributes": attributes}, item)
        )
        changed = recorded.changes.item
        assert changed is not None, "an item that is revised is still there"
        return Written(changed, recorded.event.seq)
