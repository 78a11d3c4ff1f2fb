"""What the events about records are about: settings, secrets in the vault, and client keys."""

from collections.abc import Iterable

from memolith.ports.store import Reader

RECORD_KINDS = {
    "client-key/": "client key",
    "copy/": "everything, as",
    "key/": "vault key",
    "setting/": "setting",
}
"""What the stream of a record begins with, and what people call such a record."""


def record_names(rows: Reader, tenant: str, streams: Iterable[str]) -> dict[str, str]:
    """What to call the records among these streams, such as `client key laptop`."""
    names = {}
    for stream in streams:
        for prefix, kind in RECORD_KINDS.items():
            if stream.startswith(prefix):
                events = rows.events(tenant, stream)
                name = events[0].data.get("name") if events else None
                names[stream] = f"{kind} {name or stream.removeprefix(prefix)}"
    return names
