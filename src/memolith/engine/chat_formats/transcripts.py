"""Transcripts of Claude Code and Codex: one JSON object a line, of which some are messages."""

from memolith.engine.chat_formats.turns import (
    ChatKey,
    JsonObject,
    Report,
    Turn,
    as_object,
    first_text,
    message_turn,
)


def read_transcript_line(line: JsonObject, file_name: str, report: Report) -> list[Turn]:
    """The turn that a line holds, if it holds one."""
    payload = as_object(line.get("payload")) or line
    if payload.get("type") == "message" and "role" in payload:
        # Codex has its id only in the first line, and in the name of the file.
        source = "codex"
        chat_id = file_name
        message = payload
    else:
        source = "claude-code"
        chat_id = first_text(line, "sessionId")
        message = as_object(line.get("message"))
    if not chat_id or not message or line.get("isMeta") or line.get("isSidechain"):
        type = str(payload.get("type") or line.get("type"))
        report[f"skipped: a line of type {type[:40]}"] += 1
        return []
    timed = message | {"timestamp": line.get("timestamp")}
    return [message_turn(source, ChatKey(chat_id, 0), "", timed)]
