"""What the engine needs from outside; each port is a plain noun, each implementation says what it is made of."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from memolith.engine.events import Changes, Data, Event
from memolith.engine.model import Caller, Direction, Filter, Item, Link, Page, Passage


class Clock(Protocol):
    """Tells the time as UTC, ISO 8601 with microseconds and `Z`."""

    def now(self) -> str: ...


NO_LIMIT, MOST_LISTED = 2**63 - 1, 10_000
Candidate = tuple[int, float]
"""A passage that one side of a search proposes: its number and its score. There are thousands, so it has no class."""


class Statistics(NamedTuple):
    """What BM25 needs: how many passages a tenant has, their mean length, and in how many a term stands."""

    passages: int
    mean_length: float
    frequencies: Mapping[str, int]


class Job(NamedTuple):
    """A piece of derived work, leased from the outbox."""

    tenant: str
    seq: int
    consumer: str
    stream: str
    attempts: int


class Asked(NamedTuple):
    """A question as the ranker sees it."""

    text: str
    terms: tuple[str, ...]
    statistics: Statistics
    named: tuple[str, ...] = ()
    boosted: frozenset[str] = frozenset()
    entities: tuple[frozenset[str], ...] = ()


Evidence = tuple[int, Passage, tuple[str, ...], float | None]
"""A candidate with all that its score depends on: its number, the passage, its words, and how near it is."""


class Ranked(NamedTuple):
    """A candidate with its place in the order, its calibrated similarity, and why."""

    ref: int
    passage: Passage
    order: float
    similarity: float
    reasons: Mapping[str, float]


class Embedder(Protocol):
    """Turns texts into unit vectors of little-endian float32, or None where the model understands too little."""

    @property
    def id(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    def wait(self, timeout_s: float) -> bool: ...
    def embed(self, texts: Sequence[str]) -> list[bytes | None]: ...


class Ranker(Protocol):
    """Weighs text against meaning and knows what a score is worth; only `rank` heeds neighbours, names and dates."""

    def rank(self, asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]: ...
    def judge(self, asked: Asked, pool: Sequence[Evidence]) -> list[Ranked]: ...
    def similarity(self, cosine: float) -> float: ...
    def cosine(self, similarity: float) -> float: ...
    def pairs(
        self,
        vectors: Sequence[tuple[int, bytes]],
        threshold: float,
        most: int,
        tell: Callable[[int, int], None],
    ) -> list[tuple[int, int, float]]: ...


class Lexicon(Protocol):
    """Words as the text index knows them."""

    def terms(self, text: str) -> list[str]: ...
    def query_terms(self, text: str) -> list[str]: ...
    def extra(self, item: Item, passage: Passage) -> str: ...


class Vectors(Protocol):
    """Nearest neighbours by meaning."""

    model: str

    def nearest(
        self,
        rows: "Reader",
        caller: Caller,
        chosen: Filter,
        query: bytes,
        limit: int,
        least: float = -1.0,
    ) -> list[Candidate]: ...
    def cosines(self, rows: "Reader", query: bytes, refs: Collection[int]) -> dict[int, float]: ...
    def beginnings(
        self, rows: "Reader", caller: Caller, chosen: Filter
    ) -> list[tuple[int, bytes]]: ...


class Meaning(NamedTuple):
    """A model and the vectors it made."""

    embedder: Embedder
    vectors: Vectors


class Finding(NamedTuple):
    """What an analyst found: a tag with its reason, or an insight of some category with the items behind it."""

    label: str
    text: str
    confidence: float
    support: tuple[str, ...] = ()


class Analyst(Protocol):
    """Reads texts and says what they are about; groups are lists of item and text."""

    name: str

    def tags(self, text: str, known: Sequence[str], most: int) -> list[Finding]: ...
    def insights(
        self, groups: Sequence[Sequence[tuple[str, str]]], topic: str
    ) -> tuple[list[Finding], str]: ...
    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        """One text of several: merge, summarize, structure, or the context that the others give to the first."""

    def entities(self, text: str, known: Mapping[str, str]) -> list[Finding]:
        """Entities as type and name, and what a sentence says of two of them: type, sentence and their names; `known`
        are types by name."""


class Checkout(NamedTuple):
    """A git repository: its root, its project, the branch that is checked out, and how to read all of them."""

    path: str
    project: str
    branch: str | None
    branches: Callable[[], frozenset[str] | None]


class Cipher(Protocol):
    """Keeps values secret; what it has sealed opens only in the same context."""

    def seal(self, value: str, context: str) -> str: ...
    def open(self, sealed: str, context: str) -> str: ...
    def fits(self, sealed: str) -> bool: ...
    def fresh(self, type: str) -> str: ...


class Reader(Protocol):
    """Reads that all see the same moment."""

    def vector_by_digest(self, tenant: str, digest: bytes, model: str) -> str | bytes | None: ...
    def unembedded(
        self, tenant: str, stream: str, model: str
    ) -> list[tuple[int, str, bytes | None]]: ...
    def models(self) -> dict[str, int]: ...
    def tenants(self) -> list[str]: ...
    def last_seq(self, tenant: str) -> int: ...
    def item(self, tenant: str, id: str) -> Item | None: ...
    def items(self, tenant: str, ids: Collection[str]) -> dict[str, Item]: ...
    def all_items(self, tenant: str) -> Iterator[Item]: ...
    def passages(self, tenant: str, id: str) -> list[Passage]: ...
    def index_differences(self, tenant: str) -> list[str]: ...
    def passages_of(self, tenant: str, ids: Collection[str]) -> dict[str, list[Passage]]: ...
    def alike(self, caller: Caller, first: str, passages: int, chosen: Filter) -> set[str]: ...
    def text_sizes(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[int, int, int]]: ...
    def link(self, tenant: str, **key: str) -> Link | None: ...
    def link_streams(self, tenant: str, item: str) -> list[str]: ...
    def all_links(self, tenant: str) -> Iterator[Link]: ...
    def neighbours(
        self, tenant: str, frontier: Collection[str], toward: Direction, types: Collection[str] = ()
    ) -> list[Link]: ...
    def steps(
        self,
        caller: Caller,
        chosen: Filter,
        frontier: Collection[str],
        toward: Direction,
        types: Collection[str] = (),
    ) -> list[tuple[str, str, str, str]]: ...
    def events(self, tenant: str, stream: str) -> list[Event]: ...
    def event(self, tenant: str, **key: str | int) -> Event | None: ...
    def events_after(self, tenant: str, seq: int, limit: int = NO_LIMIT) -> Iterator[Event]: ...
    def streams(self, tenant: str, after: str = "") -> list[str]: ...
    def listing(
        self,
        caller: Caller,
        chosen: Filter,
        sort: str = "created_at",
        descending: bool = True,
        limit: int = 20,
        offset: int = 0,
        counted: bool = True,
    ) -> Page: ...
    def counts(self, caller: Caller, chosen: Filter, by: str) -> dict[str, int]: ...
    def concept_tree(
        self, caller: Caller
    ) -> list[tuple[str | None, str | None, str | None, int, int]]: ...
    def folders(self, caller: Caller, chosen: Filter) -> list[tuple[str, float, int]]: ...
    def blocks_at(self, refs: Collection[int], but: Collection[tuple[int, int]]) -> int: ...
    def namesakes(self, tenant: str, kind: str, title: str) -> list[Item]: ...
    def statistics(self, tenant: str, words: Collection[str]) -> Statistics: ...
    def search_text(
        self,
        caller: Caller,
        chosen: Filter,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        every: bool,
        limit: int,
    ) -> list[Candidate]: ...
    def places(self, refs: Collection[int]) -> dict[int, tuple[Item, Passage]]: ...
    def speakers(self, tenant: str) -> list[str]: ...
    def access(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[int, str]]: ...
    def records(self, tenant: str, folder: str = "") -> dict[str, str]: ...
    def outbox_counts(self, tenant: str | None = None) -> dict[tuple[str, str], int]: ...
    def waiting(self, tenant: str | None, consumer: str, most: int = 1000) -> int: ...
    def outbox_errors(self) -> list[str]: ...


class Writer(Reader, Protocol):
    """Reads and writes of one tenant that happen wholly or not at all."""

    tenant: str

    def stamp(
        self,
        stream: str,
        version: int,
        type: str,
        data: Data,
        actor: str,
        at: str,
        key: str | None = None,
    ) -> Event: ...
    def append(self, event: Event, changes: Changes) -> None: ...
    def apply(self, changes: Changes) -> None: ...
    def finish(self) -> None: ...
    def queue(self, consumer: str, stream: str, seq: int) -> None: ...
    def touch(self, reads: Mapping[str, tuple[int, str]]) -> None: ...
    def put_record(self, tenant: str, name: str, value: str) -> None: ...
    def lease(
        self, consumer: str, now: str, limit: int, lease_s: int, tenant: str | None = None
    ) -> list[Job]: ...
    def done(self, job: Job) -> None: ...
    def postpone(self, job: Job, now: str, error: str, tries: int) -> None: ...
    def put_vector(self, ref: int, model: str, digest: bytes, v: str | bytes | None) -> None: ...


class Store(Protocol):
    """Where everything is kept, by tenant; None is for all tenants, which only upkeep does."""

    name: str

    def reading(self, tenant: str | None) -> AbstractContextManager[Reader]: ...
    def writing(
        self, tenant: str | None, wait_s: float | None = None
    ) -> AbstractContextManager[Writer]: ...
    def rebuilding(self) -> AbstractContextManager[Callable[[str], Writer]]: ...
    def shred(self) -> bool: ...
    def check(self) -> list[str]: ...
    def close(self) -> None: ...


class ClientKey(NamedTuple):
    """A key that lets a client in over HTTP; only its SHA-256 is known here."""

    id: str
    digest: str
    name: str
    tenant: str
    user: str
    scopes: tuple[str, ...]
    created_at: str
    expires_at: str | None = None
    last_used: str | None = None
    revoked: bool = False


Allowance = Callable[[str, int, int], int]
"""Takes so many calls of a key in a minute; returns how many all servers took together."""


class Blobs(Protocol):
    """Keeps files; one that is opened lies at a path until it is closed."""

    def put(self, key: str, source: Path) -> None: ...
    def opened(self, key: str) -> AbstractContextManager[Path]: ...
    def drop(self, key: str) -> None: ...
    def url(self, key: str, name: str, seconds: int) -> str | None:
        """An address that gives the file to anybody for a while, where the place of files can make one."""


Owner = tuple[str, str]
Locate = Callable[[str], AbstractContextManager[tuple[str, Path]]]
"""The name of a document's file, and where it lies meanwhile."""


class Bounds(NamedTuple):
    """What one child of the sandbox may use."""

    wall_s: float = 60.0
    cpu_s: float = 120.0
    memory_mb: int = 2048
    output_kb: int = 100
    scratch_mb: int = 256
    threads: int = 64


class Ran(NamedTuple):
    """What came of a piece of code."""

    stdout: str
    stderr: str
    error: str | None
    truncated: bool
    duration_ms: int
    restarted: bool


class Sandbox(Protocol):
    """Runs code of users, and reads files of theirs, where neither can do harm."""

    @property
    def state(self) -> tuple[str, str]:
        """The mode that fences them in and what it leaves to be seen, or `none` and why."""

    def create(self, owner: Owner) -> str: ...
    def run(
        self, owner: Owner, executor: str, code: str, locate: Locate, cancelled: Callable[[], bool]
    ) -> Ran: ...
    def read(self, task: str, file: Path, bounds: Bounds) -> str: ...
