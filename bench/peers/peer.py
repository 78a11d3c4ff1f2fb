"""What the harness asks of a peer: to be installed, started, written to and searched."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from bench.peers.environments import (
    CACHE,
    ROOT,
    Footprint,
    clean_environment,
    find_python,
    lay_out_home,
    make_environment,
    make_stock_weights,
    venv_footprint,
)
from bench.programs import McpProgram, Program, ProgramError

START_S = 120.0
CALL_S = 60.0


class Message(NamedTuple):
    """One message of a conversation; `at` is empty where nobody knows when it was said."""

    speaker: str
    text: str
    at: str


class Session(ABC):
    """A started peer on a data folder. Ids are the peer's own."""

    def __init__(self, program: Program, data: Path, environment: dict[str, str]) -> None:
        self.program = program
        self.data = data
        self.environment = environment
        self.timeout_s = CALL_S

    @abstractmethod
    def write(self, text: str, tag: str = "") -> str:
        """Store a text; returns its id once the peer has acknowledged it, raises otherwise."""

    def write_many(self, texts: Sequence[str], tag: str = "") -> list[str]:
        """Store many texts in as few calls as the peer's interface allows."""
        return [self.write(text, tag) for text in texts]

    def write_conversation(self, messages: Sequence[Message]) -> list[str]:
        """Store a conversation; returns the id that hits on each of its messages have."""
        raise ProgramError("it has no conversations")

    def load(self, texts: Sequence[str], tags: Sequence[str]) -> None:
        """Store many texts, each with its tag or none, by the quickest way that there is."""
        for tag in sorted(set(tags)):
            self.write_many(
                [text for text, its in zip(texts, tags, strict=True) if its == tag], tag
            )

    def settle(self) -> None:  # noqa: B027 - most have nothing to wait for
        """Wait for what the peer does in the background after writes, where it tells."""

    @abstractmethod
    def search(self, query: str, limit: int = 10, tag: str = "") -> list[str]:
        """The ids of the hits, the best first."""

    def search_sure(self, query: str, limit: int = 10) -> list[str]:
        """The hits that the peer itself does not call doubtful; all where it says nothing of it."""
        return self.search(query, limit)

    @abstractmethod
    def stored(self) -> set[str]:
        """The ids of everything that is stored."""

    def end(self) -> None:
        """Let the program end."""
        self.program.end()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.__exit__()


class Peer(ABC):
    """One memory that is compared."""

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[str]
    link: ClassVar[str]
    python: ClassVar[str] = "3.11"
    steps: ClassVar[Sequence[Sequence[str]]] = ()
    bulk: ClassVar[str] = "one by one"
    """How many texts are stored by the quickest way that the peer offers."""
    search_is: ClassVar[str] = "meaning"
    has_tags: ClassVar[bool] = True
    has_conversations: ClassVar[bool] = False
    notes: ClassVar[str] = ""
    only: ClassVar[Sequence[str]] = ()
    """The measures that say something new of it; all of them if none is named."""

    def install(self) -> None:
        """Make the environment, and the weights."""
        make_stock_weights()
        make_environment(self.name, self.find_python(), self.steps)

    def find_python(self) -> str:
        """The Python of its environment."""
        return find_python(self.python)

    def footprint(self) -> Footprint:
        """What the installation takes."""
        return venv_footprint(self.place / "venv")

    @cached_property
    def place(self) -> Path:
        """Its folder in the cache."""
        return CACHE / self.name

    def program(self, name: str) -> str:
        """A program of its environment."""
        return str(self.place / "venv" / "bin" / name)

    @abstractmethod
    def command(self, data: Path) -> list[str]:
        """What starts it."""

    def environment(self, data: Path) -> dict[str, str]:
        """Its variables; the home folder is inside the data folder, so that all is in one place."""
        return {**clean_environment(), "HOME": str(data / "home")}

    def open(self, data: Path, weights: bool = True, cut: bool = False) -> Session:
        """Start it; `cut` takes the network away from it."""
        lay_out_home(data / "home", weights)
        command = [*network_cut(), *self.command(data)] if cut else self.command(data)
        return self.start(command, self.environment(data), data)

    @abstractmethod
    def start(self, command: list[str], environment: dict[str, str], data: Path) -> Session:
        """Start the program and wait until it can be asked."""

    def is_server(self) -> bool:
        """Whether it has a list of tools."""
        return True


def network_cut() -> list[str]:
    """What starts a program without a network; nothing where that cannot be had."""
    found = shutil.which("unshare")
    return [found, "--map-root-user", "--net"] if found else []


class McpSession(Session):
    """A session over MCP."""

    program: McpProgram

    def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers."""
        return self.program.call(tool, arguments, self.timeout_s)


class McpPeer(Peer):
    """A server over MCP."""

    session: ClassVar[type[McpSession]]

    def start(self, command: list[str], environment: dict[str, str], data: Path) -> Session:
        """Start the server, and shake hands."""
        program = McpProgram(command, environment, data)
        try:
            program.initialize(START_S)
            session = self.session(program, data, environment)
            session.timeout_s = START_S
            self.begin(session)
            session.timeout_s = CALL_S
        except BaseException:
            program.kill()
            raise
        return session

    def begin(self, session: McpSession) -> None:
        """What has to be done before the first write."""


class WorkerSession(Session):
    """A library in a process of its own, asked line by line."""

    _last = 0

    def ask(self, op: str, **arguments: Any) -> Any:
        """What the worker answers."""
        self._last += 1
        answer = self.program.ask({"id": self._last, "op": op, **arguments}, self.timeout_s)
        if "error" in answer:
            raise ProgramError(answer["error"])
        return answer["result"]

    def write(self, text: str, tag: str = "") -> str:
        found: str = self.ask("write", text=text, tag=tag)
        return found

    def write_many(self, texts: Sequence[str], tag: str = "") -> list[str]:
        found: list[str] = self.ask("write_many", texts=list(texts), tag=tag)
        return found

    def search(self, query: str, limit: int = 10, tag: str = "") -> list[str]:
        found: list[str] = self.ask("search", query=query, limit=limit, tag=tag)
        return found

    def stored(self) -> set[str]:
        return set(self.ask("stored"))


class LibraryPeer(Peer):
    """A library, which a small worker in its environment drives."""

    worker: ClassVar[str]

    def command(self, data: Path) -> list[str]:
        return [self.program("python"), "-m", f"bench.peers.workers.{self.worker}", str(data)]

    def environment(self, data: Path) -> dict[str, str]:
        return {**super().environment(data), "PYTHONPATH": str(ROOT)}

    def start(self, command: list[str], environment: dict[str, str], data: Path) -> Session:
        session = WorkerSession(Program(command, environment, data), data, environment)
        session.timeout_s = START_S
        try:
            session.ask("ready")
        except BaseException:
            session.program.kill()
            raise
        session.timeout_s = CALL_S
        return session

    def is_server(self) -> bool:
        return False
