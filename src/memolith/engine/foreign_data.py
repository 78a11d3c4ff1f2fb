"""What other programs remembered, in one form: `interchange/importers` reads it from files."""

from collections import Counter
from dataclasses import dataclass, field

from memolith.domain.attributes import Attributes, Json
from memolith.domain.passages import Block


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRecord:
    """One thing that another program remembered."""

    source_id: str
    """What the other program calls it; records of a program have different ones."""
    blocks: tuple[Block, ...]
    kind: str = "memory"
    title: str = ""
    tags: tuple[str, ...] = ()
    created_at: Json = None
    """A text, or seconds, milliseconds or microseconds since 1970; None if it is not known."""
    updated_at: Json = None
    author: str = ""
    status: str = "active"
    project: str = ""
    namespace: str = ""
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignLink:
    """A connection of two records, which are named by their ids in the other program."""

    source: str
    target: str
    label: str
    """What the other program calls the connection: any text."""
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignFolder:
    """The folder that records are from: what they are called is unique in it alone."""

    name: str
    place: str
    """Differs from that of another folder with the same name."""
    is_project: bool = False
    """Whether a folder with another name is another one, even if its notes say the same."""
    is_named: bool = False
    """Whether somebody chose the name."""


@dataclass(slots=True)
class LeftOut:
    """What did not come, by the reason, with what it is about."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, why: str, what: str = "") -> None:
        self.counts[why] += 1
        names = self.examples.setdefault(why, [])
        if what:
            names.append(what)


@dataclass(slots=True)
class ForeignData:
    """Everything that was read from another program, and what could not be read."""

    program: str
    records: list[ForeignRecord] = field(default_factory=list)
    links: list[ForeignLink] = field(default_factory=list)
    folder: ForeignFolder | None = None
    """Where the records are from, if their ids are those of a folder."""
    project: str = ""
    """The project of records that name none."""
    left_out: LeftOut = field(default_factory=LeftOut)
