"""What can be listed beside tools: resources that a client reads, and prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Resource:
    """Something with an address that a client can read."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A pattern of addresses (RFC 6570), as `memolith://item/{id}`."""

    uri_template: str
    name: str
    description: str = ""
    mime_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Content:
    """What was read at an address: text, or bytes."""

    uri: str
    data: str | bytes
    mime_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """A value that a prompt is filled with."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it is listed."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a rendered prompt."""

    text: str
    role: Literal["user", "assistant"] = "user"
