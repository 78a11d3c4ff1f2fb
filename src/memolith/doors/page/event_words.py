"""What somebody did, in the words of every page that tells of it."""

from collections.abc import Mapping
from typing import Any

from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS

EVENT_WORDS = {
    "remembered": "kept",
    "revised": "changed",
    "tagged": "changed the tags of",
    "appended": "added to",
    "forgotten": "forgot",
    "restored": "restored",
    "appraised": "computed the certainty of",
    "erased": "erased something for good",
    "linked": "linked",
    "relinked": "changed the link of",
    "unlinked": "cut the link of",
    "configured": "changed a setting",
    "stored": "made a key or stored a secret",
    "rotated": "renewed a secret",
    "revoked": "revoked a key or a secret",
    "revealed": "revealed a secret",
    "paused": "paused a key",
    "resumed": "resumed a key",
    "copied": "made a copy of everything",
    "injected": "gave memories to a session",
    "kept": "kept something of a session",
}
"""What somebody did, by the type of the event; a name goes before and an item after it."""

RECORD_NOUNS = {
    "client key ": "the key",
    "vault key ": "the secret",
    "setting ": "the setting",
    "everything, as ": "a copy of everything, as",
}
"""How the tool `list_events` begins what an event is about, and what pages call such a record."""
RECORD_VERBS = {
    "configured": "changed",
    "copied": "made",
    "rotated": "renewed",
}
"""What is done with a record, where that is not the type of the event."""


def event_words(type: str) -> str:
    """What somebody did, in plain words."""
    return EVENT_WORDS.get(type, type)


def deed(event: Mapping[str, Any]) -> str:
    """What somebody did, and with which record; an item is not named."""
    type = event["type"]
    about = event.get("about", "")
    for beginning, noun in RECORD_NOUNS.items():
        if about.startswith(beginning):
            verb = RECORD_VERBS.get(type, type)
            if type == "stored" and noun == "the key":
                verb = "made"
            return f"{verb} {noun} {about.removeprefix(beginning)}"
    if about:
        return f"{event_words(type)}: {about}"
    is_lost = event["id"] is None and type in (*ITEM_EVENTS, *LINK_EVENTS)
    if is_lost and type != "erased":
        return f"{event_words(type)} something that is gone"
    return event_words(type)
