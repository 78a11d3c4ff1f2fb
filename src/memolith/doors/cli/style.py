"""Colours on a terminal; none where `NO_COLOR` is set or the output goes elsewhere."""

import os
import re
import sys
from typing import TextIO

BOLD = "1"
DIM = "2"
RED = "31"
GREEN = "32"
YELLOW = "33"
CYAN = "36"
CONTROL = re.compile("\x1b\\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def has_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours and whose user wants them."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a colour, if the stream shows colours; standard output if none is named."""
    if not style or not text or not has_colours(stream or sys.stdout):
        return text
    return f"\x1b[{style}m{text}\x1b[0m"


def without_controls(text: str) -> str:
    """The text without what would move the cursor or change colours: memories come from anyone."""
    return CONTROL.sub("", text)
