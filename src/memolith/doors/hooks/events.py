"""The hooks that memolith answers."""

SESSION_START = "SessionStart"
PROMPT = "UserPromptSubmit"
PRE_COMPACT = "PreCompact"
STOP = "Stop"

EVENTS = {
    "session-start": SESSION_START,
    "prompt": PROMPT,
    "pre-compact": PRE_COMPACT,
    "stop": STOP,
}
"""The name that the client gives to the event of each hook."""
