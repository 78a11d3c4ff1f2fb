"""Titles for texts that come without one."""

from memolith.redaction.detector import redact

MAX_TITLE_CHARS = 80


def headline(text: str) -> str:
    """Return the first line of a text, without secrets, cut to the length of a title.

    Secrets are redacted before the text is cut: half of a secret is no longer recognised as one.
    """
    redacted, _ = redact(text)
    first_line, _, _ = redacted.strip().partition("\n")
    return first_line.strip()[:MAX_TITLE_CHARS]
