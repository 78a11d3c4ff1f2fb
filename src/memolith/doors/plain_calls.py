"""Plain calls, which need nothing of the SDK: over stdio while it is imported, over HTTP in the newer protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from memolith.doors.frames import IDEMPOTENCY_KEY, MODERN, VERSION_KEY, is_envelope, is_request
from memolith.engine.model import Caller
from memolith.errors import MemolithError
from memolith.registry import Call, InputNeeded, Outcome, Registry, Tool, quiet

if TYPE_CHECKING:
    from memolith.app import App
    from memolith.doors.frames import Answers, Json
    from memolith.doors.stdio_front import Front


def leave(*_: object) -> None:
    """Nothing was written, so the SDK, which can do this, may run the call once more."""
    raise InputNeeded("", "", {})


def plain_call(registry: Registry, message: Json) -> tuple[Tool, Json, Json] | None:
    """The tool, the arguments and the metadata of a call without anything unusual; None for any other message."""
    params = message.get("params")
    if message.get("method") != "tools/call" or not is_request(message) or not isinstance(params, dict):
        return None
    name, arguments, meta = params.get("name"), params.get("arguments", {}), params.get("_meta", {})
    tool = registry.find(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict) or not isinstance(meta, dict):
        return None
    if params.keys() - {"name", "arguments", "_meta"} or IDEMPOTENCY_KEY in meta:
        return None
    return None if VERSION_KEY in meta and not is_envelope(meta) else (tool, arguments, meta)


def worded(outcome: Outcome, described: Json) -> bytes:
    """The outcome as the SDK would send it; the newer protocol adds who the server is."""
    result = {"content": [{"text": outcome.text, "type": "text"}], "isError": not outcome.ok,
              **({"structuredContent": outcome.body} if outcome.ok else {}),
              **({"resultType": "complete", "_meta": described} if described else {})}
    return json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def description(prepared: Answers) -> Json:
    """Who the server says it is, from its prepared answers."""
    meta: Json = json.loads(prepared.get(MODERN, {}).get("server/discover", "{}")).get("_meta", {})
    return meta


def outcome_of(registry: Registry, name: str, arguments: Json, make: Callable[[], Call]) -> Outcome:
    """What comes of a call; a store that cannot be opened is told in the words of the tool's family."""
    try:
        call = make()
    except MemolithError as error:
        return registry.refuse(name, error)
    return registry.run(name, arguments, call)


def answer(front: Front, app: App, registry: Registry, message: Json) -> bytes | None:
    """The result of a plain call over stdio; None leaves the call to the SDK."""
    plain = plain_call(registry, message)
    if plain is None or not front.prepared:
        return None
    tool, arguments, meta = plain
    # The results of the oldest versions have other fields.
    if VERSION_KEY not in meta and (front.version or "") < "2025-06-18":
        return None
    if not tool.read_only and (tool.effect == "runs" or "progressToken" in meta):
        return None
    progress = leave if "progressToken" in meta else quiet
    # In the newer protocol only who listens is told, and the SDK hears of him first.
    changed: Callable[[str], None] = quiet if VERSION_KEY in meta else lambda listing: front.wire.write(
        b'{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}' % listing.encode())
    try:
        outcome = outcome_of(registry, tool.name, arguments,
                             lambda: Call(Caller(), app.engine, progress=progress, elicit=leave, changed=changed,
                                          local=True))
    except InputNeeded:
        return None
    return worded(outcome, description(front.prepared) if VERSION_KEY in meta else {})
