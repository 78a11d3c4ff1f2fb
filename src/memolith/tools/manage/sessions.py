"""Coding sessions: what their hooks gave them from memory, and what was kept of them."""

from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from memolith.engine.sessions import Session, SessionItem, SessionMoment, SessionSearch
from memolith.tools.arguments import Limit
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.sekha.arguments import Offset


class SessionRow(TypedDict):
    """A session as lists show it."""

    session_id: str
    by: str
    project: str | None
    started_at: str
    last_at: str
    injected: Annotated[int, Described("How many items it was given from memory.")]
    kept: Annotated[int, Described("How many items were kept of it.")]


class SessionRows(TypedDict):
    """The result of `list_sessions`."""

    sessions: list[SessionRow]
    total: int


class SessionItemBody(TypedDict):
    """An item of a session."""

    id: str
    kind: Annotated[str | None, Described("Null if it is gone or hidden from you.")]
    title: str
    forgotten: bool


class SessionMomentBody(TypedDict):
    """What a hook did at one moment of a session."""

    event: int
    at: str
    type: Annotated[str, Described("`injected` or `kept`.")]
    hook: str
    items: list[SessionItemBody]


class ShownSession(TypedDict):
    """The result of `show_session`: the session, and its moments, oldest first."""

    session: SessionRow
    moments: list[SessionMomentBody]
    conversation_id: NotRequired[
        Annotated[str, Described("What was said in it, if its transcript was imported.")]
    ]


@manage.tool(read_only=True)
def list_sessions(
    call: Call,
    *,
    since: Annotated[str | None, Field(description="With an event at this time or later.")] = None,
    until: Annotated[
        str | None, Field(description="With an event at this time or earlier.")
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> SessionRows:
    """Coding sessions whose hooks have used memory, the newest first: your own, or with the scope
    `admin` all of them.
    """
    search = SessionSearch(since, until, of_everybody="admin" in call.scopes)
    page = call.engine.sessions.list(call.caller, search, limit, offset)
    return {
        "sessions": [_session_row(session) for session in page.sessions],
        "total": page.total,
    }


@manage.tool(read_only=True, example={"session_id": "night-shift"})
def show_session(
    call: Call,
    *,
    session_id: Annotated[str, Field(description="The id that the client gave the session.")],
) -> ShownSession:
    """What the hooks of a coding session gave it from memory, and what they kept of it."""
    session = call.engine.sessions.show(call.caller, session_id, "admin" in call.scopes)
    body: ShownSession = {
        "session": _session_row(session),
        "moments": [_moment_body(moment) for moment in session.moments],
    }
    if session.conversation is not None:
        body["conversation_id"] = session.conversation.id
    return body


def _session_row(session: Session) -> SessionRow:
    first = session.moments[0].event
    return {
        "session_id": session.id,
        "by": first.actor,
        "project": session.project,
        "started_at": first.at,
        "last_at": session.moments[-1].event.at,
        "injected": session.count("injected"),
        "kept": session.count("kept"),
    }


def _moment_body(moment: SessionMoment) -> SessionMomentBody:
    return {
        "event": moment.event.seq,
        "at": moment.event.at,
        "type": moment.event.type,
        "hook": moment.hook,
        "items": [_item_body(entry) for entry in moment.items],
    }


def _item_body(entry: SessionItem) -> SessionItemBody:
    item = entry.item
    return {
        "id": entry.id,
        "kind": None if item is None else item.kind,
        "title": entry.title,
        "forgotten": item is not None and item.forgotten,
    }
