"""Calls that come while the SDK is being imported: plain ones run without it, and what is unusual is left to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from memolith.doors.frames import IDEMPOTENCY_KEY, MODERN, VERSION_KEY, is_envelope, is_request
from memolith.engine.model import Caller
from memolith.errors import MemolithError
from memolith.registry import Call, InputNeeded, Registry, quiet

if TYPE_CHECKING:
    from memolith.app import App
    from memolith.doors.frames import Json
    from memolith.doors.stdio_front import Front


def leave(*_: object) -> None:
    """Nothing was written, so the SDK, which can do this, may run the call once more."""
    raise InputNeeded("", "", {})


def answer(front: Front, app: App, registry: Registry, message: Json, claim: Callable[[], bool]) -> bytes | None:
    """The result of a plain call, as the SDK would word it; None leaves the call to the SDK."""
    params = message.get("params")
    if message.get("method") != "tools/call" or not is_request(message) or not isinstance(params, dict):
        return None
    name, arguments, meta = params.get("name"), params.get("arguments", {}), params.get("_meta", {})
    tool = registry.find(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict) or not isinstance(meta, dict):
        return None
    if params.keys() - {"name", "arguments", "_meta"} or IDEMPOTENCY_KEY in meta:
        return None
    # The results of the oldest versions have other fields.
    if not is_envelope(meta) if VERSION_KEY in meta else (front.version or "") < "2025-06-18":
        return None
    if not tool.read_only and (tool.effect == "runs" or "progressToken" in meta or not claim()):
        return None
    try:
        call = Call(Caller(), app.engine, progress=leave if "progressToken" in meta else quiet, elicit=leave,
                    cancelled=lambda: front.feed is not None)
        outcome = registry.run(tool.name, arguments, call)
    except (MemolithError, InputNeeded):
        return None
    result = {"content": [{"text": outcome.text, "type": "text"}], "isError": not outcome.ok,
              **({"structuredContent": outcome.body} if outcome.ok else {})}
    if VERSION_KEY in meta:
        discovered = front.prepared and front.prepared.answer(MODERN, "server/discover")
        result |= {"resultType": "complete", "_meta": json.loads(discovered or "{}")["_meta"]}
    return json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")
