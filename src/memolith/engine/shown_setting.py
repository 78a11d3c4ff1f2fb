"""A setting as it can be shown. A file of its own, because every start of the program needs it."""

from typing import NamedTuple


class ShownSetting(NamedTuple):
    """A setting as it can be shown: a secret only tells whether it is set."""

    name: str
    value: str
    default: str
    source: str
    """Where the value comes from: `default`, `file`, `variable` or `flag`."""
    variable: str
    meaning: str
    secret: bool
