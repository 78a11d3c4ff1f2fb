"""Resources and prompts that a family offers beside its tools."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from memolith.tools.call import Call
from memolith.tools.schema import Body


class Resource(NamedTuple):
    """Something a client can read at an address, or a pattern such as `memolith://item/{id}`."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = "text/plain"
    title: str | None = None


def no_resources(call: Call) -> Sequence[Resource]:
    return ()


class Resources(NamedTuple):
    """The resources of a family."""

    address: str
    """How the addresses of the family begin."""
    read: Callable[[Call, str], str | Body]
    """Reads what is at an address: Markdown, or an object that is sent as JSON."""
    listed: Callable[[Call], Sequence[Resource]] = no_resources
    templates: tuple[Resource, ...] = ()


class Prompt(NamedTuple):
    """A prompt as it is listed."""

    name: str
    description: str
    arguments: tuple[tuple[str, str, bool], ...] = ()
    """For each argument: its name, what it means, and whether it is required."""


def no_completions(call: Call, source: str, argument: str, beginning: str) -> Sequence[str]:
    return ()


class Prompts(NamedTuple):
    """The prompts of a family."""

    listed: Callable[[Call], Sequence[Prompt]]
    get: Callable[[Call, str, Mapping[str, str]], str | None]
    """The text of a prompt, or None if the name is not one of this family."""
    complete: Callable[[Call, str, str, str], Sequence[str]] = no_completions
    """Possible values: `(call, prompt or URI template, argument, beginning)`."""
