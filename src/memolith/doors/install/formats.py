"""The formats of config files, each with a function that reads a text and one that edits it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memolith.doors.install import json_text, toml_text


@dataclass(frozen=True)
class Format:
    """How one format is read and edited; `read` raises ValueError for a text of another format."""

    read: Callable[[str], dict[str, Any]]
    edit: Callable[[str, str, str, object], str]


FORMATS = {
    "JSON": Format(json_text.read, json_text.edit),
    "TOML": Format(toml_text.read, toml_text.edit),
}
