"""Texts that come on standard input."""

import sys


def text_or_input(text: str) -> str:
    """The text, or all of standard input for `-`."""
    if text != "-":
        return text
    return sys.stdin.buffer.read().decode("utf-8", errors="replace")
