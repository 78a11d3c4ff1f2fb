"""What the tools of OpenMemory return."""

from typing import TypedDict


class TextResult(TypedDict):
    """A text, which is JSON where there is something to list."""

    result: str
