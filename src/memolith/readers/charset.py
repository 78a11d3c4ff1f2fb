"""From bytes to text, whatever the character set."""

from contextlib import suppress

import charset_normalizer

SAMPLE_BYTES = 200_000


def decode(data: bytes) -> str | None:
    """The text; UTF-8 if it is that, else the most likely character set, or None if no text."""
    if b"\0" not in data:
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8-sig")
    guess = charset_normalizer.from_bytes(data[:SAMPLE_BYTES]).best()
    if guess is None:
        return None
    return data.decode(guess.encoding, "replace")
