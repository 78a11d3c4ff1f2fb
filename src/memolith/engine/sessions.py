"""Coding sessions: what their hooks gave them from memory, and what was kept of them."""

from dataclasses import dataclass
from typing import NamedTuple, cast

from memolith.domain.callers import Caller
from memolith.domain.events import Event
from memolith.domain.items import Item
from memolith.domain.queries import Condition, Filter
from memolith.engine.activity import titles_of
from memolith.engine.session_log import SESSION_FOLDER, session_stream
from memolith.engine.validation import checked_text, when
from memolith.errors import NotFound
from memolith.ports.event_log import NO_LIMIT, StreamsWanted
from memolith.ports.store import Reader, Store


class SessionItem(NamedTuple):
    """An item that a session was given or that was kept of it; None if it is gone or hidden."""

    id: str
    item: Item | None
    title: str


class SessionMoment(NamedTuple):
    """What a hook did at one moment."""

    event: Event
    items: tuple[SessionItem, ...]

    @property
    def hook(self) -> str:
        return str(self.event.data.get("hook", ""))


class Session(NamedTuple):
    """A session and its moments, oldest first."""

    id: str
    project: str | None
    moments: tuple[SessionMoment, ...]
    conversation: Item | None = None
    """What was said in it, if its transcript was imported."""

    def count(self, type: str) -> int:
        """How many different items it was given, or were kept of it."""
        ids = {
            entry.id
            for moment in self.moments
            if moment.event.type == type
            for entry in moment.items
        }
        return len(ids)


class SessionPage(NamedTuple):
    """Some sessions, the newest first, and how many there are in all."""

    sessions: tuple[Session, ...]
    total: int


class SessionSearch(NamedTuple):
    """Which sessions somebody wants to see."""

    since: str | None = None
    until: str | None = None
    of_everybody: bool = False
    """Whether the sessions of others are shown, too."""


@dataclass(frozen=True)
class Sessions:
    """Reads what hooks have written down; people see what their own sessions did."""

    store: Store

    def list(
        self, caller: Caller, search: SessionSearch, limit: int, offset: int = 0
    ) -> SessionPage:
        """The sessions with an event in that time."""
        tenant = caller.tenant
        with self.store.reading(tenant) as rows:
            after = 0
            before = NO_LIMIT
            if search.since is not None:
                # Times have microseconds, and the last event before one is not of it.
                earlier = when("since", search.since).removesuffix("Z")
                after = rows.last_seq_at(tenant, earlier)
            if search.until is not None:
                before = rows.last_seq_at(tenant, when("until", search.until)) + 1
            actor = None if search.of_everybody else caller.user
            wanted = StreamsWanted(SESSION_FOLDER, after, before, actor, caller.bound_to)
            page = rows.list_streams(tenant, wanted, limit, offset)
            found = [_session(rows, caller, stream, search.of_everybody) for stream in page.streams]
        return SessionPage(tuple(found), page.total)

    def show(self, caller: Caller, id: str, of_everybody: bool = False) -> Session:
        """One session, with the conversation that was imported from it."""
        checked_text("session_id", id)
        with self.store.reading(caller.tenant) as rows:
            session = _session(rows, caller, session_stream(id), of_everybody)
            if not session.moments:
                raise NotFound(f"There is no session {id[:100]!r}.", field="session_id", id=id)
            imported = Filter(
                kinds=("conversation",), where=(Condition("source_id", "eq", session.id),)
            )
            talks = rows.list_items(caller, imported, limit=1, counted=False).items
        return session._replace(conversation=talks[0] if talks else None)


def _session(rows: Reader, caller: Caller, stream: str, of_everybody: bool) -> Session:
    """A session as far as the caller may see it: clients name sessions, so two may share a name."""
    events = [
        event
        for event in rows.events(caller.tenant, stream)
        if of_everybody or event.actor == caller.user
    ]
    events = [event for event in events if caller.may_look_into(_project(event))]
    ids = {id for event in events for id in _ids(event)}
    seen = {id: item for id, item in rows.items(caller.tenant, ids).items() if item.admits(caller)}
    titles = titles_of(rows, caller.tenant, seen)
    moments = []
    for event in events:
        entries = [SessionItem(id, seen.get(id), titles.get(id, "")) for id in _ids(event)]
        moments.append(SessionMoment(event, tuple(entries)))
    project = _project(events[-1]) if events else None
    return Session(stream.removeprefix(SESSION_FOLDER), project, tuple(moments))


def _project(event: Event) -> str | None:
    return cast("str | None", event.data.get("project"))


def _ids(event: Event) -> list[str]:
    return cast("list[str]", event.data.get("items") or [])
