"""Writes down what a coding session was given from memory, and what was kept of it.

A hook does this while its client waits, so this imports little.
"""

from collections.abc import Sequence
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.engine.recording import Recorder
from memolith.ports.store import Store

SESSION_FOLDER = "session/"
"""Begins the stream of every session."""
MAX_SESSION_ID_CHARACTERS = 200
WAIT_S = 0.2
"""How long a hook waits for others that write; what it cannot write down is only not listed."""


class SessionNote(NamedTuple):
    """What happened at one moment of a session."""

    session: str
    type: str
    """`injected`: the session was given these items; `kept`: they come from it."""
    hook: str
    items: Sequence[str]


def session_stream(session: str) -> str:
    """The stream of a session in the log."""
    return SESSION_FOLDER + session[:MAX_SESSION_ID_CHARACTERS]


def note_session(store: Store, recorder: Recorder, caller: Caller, note: SessionNote) -> None:
    """Write down what happened. Only ids are kept, and nothing of what was said."""
    data: dict[str, Json] = {
        "hook": note.hook,
        "items": list(note.items),
        "project": caller.project,
    }
    with store.writing(caller.tenant, WAIT_S) as rows:
        recorder.tell(rows, caller, session_stream(note.session), note.type, data)
