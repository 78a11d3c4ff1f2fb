"""What the server, the zygote and the sandboxed children say to each other."""

import json
from typing import NamedTuple, Self

NAMESPACE_MODE = "namespace"
LANDLOCK_MODE = "landlock"

# The file descriptors of a child. Only the first four stay open while it runs code of a user.
CONTROL_FD = 3
"""The line to the server: one JSON message a line."""

STATUS_FD = 4
"""Tells the zygote the child's pid or why the sandbox could not be set up, then is closed."""

FILE_FD = 5
"""The file to read, where the child is started for one."""

FAILURE_MARK = "!"
"""Starts the reason in what a child writes to STATUS_FD."""

RUN = "code"
"""To the child: run this code."""

DONE = "done"
"""To the server: the code has ended; the text is its traceback, or empty."""

ASK = "ask"
"""To the server: where is the file of this document? The text is a Question."""

PATH = "value"
"""To the child: the path that it asked for."""

REFUSED = "error"
"""To the child: why there is no such path."""


class Message(NamedTuple):
    """One line between the server and a child, with the number of the call that it belongs to."""

    call: int
    kind: str
    text: str

    def encode(self) -> bytes:
        return json.dumps(self).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes | str) -> Self:
        """The message in a line; ValueError or RecursionError for anything else."""
        match json.loads(line):
            case [int(call), str(kind), str(text)]:
                return cls(call, kind, text)
        raise ValueError("not a message")


class Question(NamedTuple):
    """The text of an ASK message: which document the code wants to open."""

    id: str
    name: str

    def encode(self) -> str:
        return json.dumps(self)

    @classmethod
    def decode(cls, text: str) -> Self:
        """The question in a message; ValueError or RecursionError for anything else."""
        match json.loads(text):
            case [str(id), str(name)]:
                return cls(id, name)
        raise ValueError("not a question")


class ChildOrder(NamedTuple):
    """What the zygote needs to know to make a child."""

    mode: str
    folder: str
    memory_mb: int
    scratch_mb: int
    threads: int

    def encode(self) -> bytes:
        return json.dumps(self._asdict()).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls(**json.loads(data))
