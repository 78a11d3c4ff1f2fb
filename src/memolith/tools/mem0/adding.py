"""Keep what was said, and tell whose key it is."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.domain.items import Draft
from memolith.errors import InvalidInput
from memolith.ports.analyst import ChatMessage
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.mem0.api import mem0_api
from memolith.tools.mem0.models import (
    AddResult,
    ExpirationDate,
    GivenMessage,
    Ping,
    ScopeName,
)
from memolith.tools.mem0.views import (
    EXPIRES_AT,
    SCOPES,
    checked_metadata,
    expiry_of,
    scope_attributes,
)

SYSTEM = "system"
DEFAULT_PROJECT = "default"


@mem0_api.route("GET", "/v1/ping/", read_only=True)
def ping(call: Call) -> Ping:
    """Tell that the key is good, and the names without which the client does not start."""
    return {
        "status": "ok",
        "user_email": call.caller.user,
        "org_id": call.caller.tenant,
        "project_id": call.caller.project or DEFAULT_PROJECT,
    }


@mem0_api.route("POST", "/v3/memories/add/")
def add(
    call: Call,
    *,
    messages: Annotated[list[GivenMessage], Field(min_length=1)],
    user_id: ScopeName = None,
    agent_id: ScopeName = None,
    app_id: ScopeName = None,
    run_id: ScopeName = None,
    filters: JsonObject | None = None,
    metadata: JsonObject | None = None,
    infer: bool = True,
    expiration_date: ExpirationDate | None = None,
) -> AddResult:
    """Keep the facts in a talk or, without `infer`, every message as it is."""
    named = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
    scopes = {**named, **_scopes_in(filters or {}, named)}
    attributes = {**checked_metadata(metadata or {}), **scope_attributes(scopes)}
    if expiration_date is not None:
        attributes[EXPIRES_AT] = expiry_of(expiration_date)
    place = Draft(kind="memory", attributes=attributes)
    # An agent without a user remembers what it said itself.
    speaker = "assistant" if scopes["agent_id"] and not scopes["user_id"] else "user"
    said = [message for message in messages if message.role != SYSTEM]
    if infer:
        talk = [
            ChatMessage(message.role, message.content)
            for message in said
            if message.role == speaker
        ]
        kept = call.engine.facts.keep(call.caller, talk, place)
    else:
        texts = [message.content for message in said]
        kept = call.engine.facts.keep_verbatim(call.caller, texts, place)
    return {
        "status": "SUCCEEDED",
        "message": f"{len(kept.items)} memories were added.",
        "results": [
            {"id": item.id, "memory": text, "data": {"memory": text}, "event": "ADD"}
            for item, text in zip(kept.items, kept.texts, strict=True)
        ],
        "method": kept.method,
        "warnings": kept.warnings,
    }


def _scopes_in(filters: Mapping[str, Json], named: Mapping[str, str | None]) -> dict[str, str]:
    """Whose memories these are, where the client says it in `filters`."""
    found: dict[str, str] = {}
    for name, value in filters.items():
        if name not in SCOPES or not isinstance(value, str) or not value:
            raise InvalidInput(
                f"`filters` of a new memory can have {', '.join(SCOPES)} with a text each.",
                field="filters",
            )
        if named[name] not in (None, value):
            raise InvalidInput(f"`{name}` is given twice with different values.", field=name)
        found[name] = value
    return found
