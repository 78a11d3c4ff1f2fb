"""What is erased, and what was redacted, leaves no byte in any file of the data folder."""

from __future__ import annotations

import json
import random
import re
import string
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.errors import NotFound
from memolith.settings import Settings
from tests.checked import call_with_key, erased_wholly, present
from tests.programs.children import HERE, Child, ask, cli, in_memory, scan

ME = Caller()
LETTERS = "ghijklmnopqrstuvwxyz"
WINDOW = 8


@dataclass
class Words:
    """Made-up words that nothing else in the folder can hold: ids and neighbours have the letters a
    to f only.
    """

    rng: random.Random
    made: list[str] = field(default_factory=list)

    def word(self, length: int = 12) -> str:
        self.made.append("".join(self.rng.choices(LETTERS, k=length)))
        return self.made[-1]

    def text(self, count: int) -> str:
        return ". ".join(
            f"{self.word(self.rng.choice((7, 9, 14, 30)))} {self.word()}" for _ in range(count)
        )

    def other(self, count: int) -> str:
        """Text for neighbours, which stays."""
        return " ".join("".join(self.rng.choices("abcdef0123456789", k=9)) for _ in range(count))


def pieces(words: Iterable[str]) -> set[str]:
    """The words, and every stretch of them that is long enough to tell."""
    return {word[n : n + WINDOW] for word in words for n in range(max(1, len(word) - WINDOW + 1))}


@pytest.fixture
def words(request: pytest.FixtureRequest) -> Words:
    return Words(random.Random(request.node.name))


@pytest.fixture
def data() -> Iterator[Path]:
    with in_memory() as folder:
        yield folder / "data"


@pytest.fixture
def crowd(data: Path, words: Words) -> Iterator[App]:
    """An app with neighbours before and after whatever a test writes."""
    app = open_app(Settings(data=data, embedder="none"))
    neighbours(app, words, 20)
    yield app
    app.close()


def neighbours(app: App, words: Words, count: int) -> list[str]:
    lines = (
        json.dumps(
            {
                "title": words.other(1),
                "content": words.other(words.rng.choice((5, 60))),
                "tags": [words.other(1)],
                "metadata": {"n": words.other(words.rng.choice((1, 20)))},
            }
        )
        for _ in range(count)
    )
    app.engine.maintenance.import_(ME, lines)
    return [item.id for item in app.engine.reading.list_items(ME, limit=count).items]


def draft(words: Words, sentences: int = 3) -> Draft:
    return Draft(
        title=words.word(),
        blocks=(Block(words.text(sentences)),),
        tags=(words.word(6), words.word(20)),
        attributes={words.word(10): words.word(16), "list": [words.word(), {"deep": words.word()}]},
        project=words.word(),
        namespace=words.word(),
    )


def plain(app: App, words: Words) -> str:
    return app.engine.writing.remember(ME, draft(words)).item.id


def many_passages(app: App, words: Words) -> str:
    made = app.engine.writing.remember(ME, draft(words, 350)).item
    assert made.passages > 8
    return made.id


def with_history(app: App, words: Words) -> str:
    id = plain(app, words)
    for _ in range(4):
        app.engine.writing.revise(
            ME,
            id,
            Patch(
                title=words.word(),
                blocks=(Block(words.text(20)),),
                namespace=words.word(),
                tags=(words.word(),),
                attributes={words.word(): words.word()},
            ),
        )
        app.engine.writing.tag(ME, id, add=[words.word()])
        neighbours(app, words, 3)
    return id


def undone(app: App, words: Words) -> str:
    id = plain(app, words)
    changed = app.engine.writing.revise(
        ME, id, Patch(title=words.word(), blocks=(Block(words.text(40)),))
    )
    app.engine.history.undo(ME, changed.seq)
    app.engine.writing.forget(ME, id)
    app.engine.writing.restore(ME, id)
    app.engine.history.undo(ME, app.engine.writing.tag(ME, id, add=[words.word()]).seq)
    app.engine.writing.forget(ME, id)
    return id


def conversation(app: App, words: Words) -> str:
    def messages(count: int) -> tuple[Block, ...]:
        return tuple(
            Block(
                words.text(4),
                speaker=words.word(),
                locator=words.word(),
                attributes={"m": words.word()},
            )
            for _ in range(count)
        )

    id = app.engine.writing.remember(
        ME, Draft(kind="conversation", title=words.word(), blocks=messages(12))
    ).item.id
    app.engine.writing.append(ME, id, messages(5))
    app.engine.history.undo(ME, app.engine.writing.append(ME, id, messages(2)).seq)
    return id


def linked(app: App, words: Words) -> str:
    """Its links too: one that stands, one that was changed, one that was cut, and one that came
    back.
    """
    id = plain(app, words)
    ends = neighbours(app, words, 3)
    for type in ("cites", "extends", "follows"):
        link = app.engine.writing.link(
            ME, id, ends[0], type, attributes={words.word(): words.word(15)}
        )
        app.engine.writing.link(
            ME, id, ends[0], type, attributes={"why": words.text(5)}, again=True
        )
        back = app.engine.writing.link(ME, ends[1], id, type, attributes={"why": words.word()})
        app.engine.writing.unlink(ME, back.id)
        if type == "extends":
            app.engine.history.undo(ME, app.engine.history.history(ME, id)[-1].event.seq)
            app.engine.writing.unlink(ME, link.id)
    return id


MAKERS = [plain, many_passages, with_history, undone, conversation, linked]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_an_erased_item_leaves_no_byte_in_any_file(
    crowd: App, data: Path, words: Words, make: Any
) -> None:
    id = make(crowd, words)
    neighbours(crowd, words, 10)
    assert scan(data, words.made), "the words must be there before"
    assert erased_wholly(crowd, id)
    assert scan(data, pieces(words.made)) == []
    assert crowd.engine.maintenance.verify() == []
    assert crowd.engine.reading.list_items(ME).total >= 30


def test_an_erased_item_leaves_no_byte_although_another_process_has_the_database_open(
    crowd: App, data: Path, words: Words
) -> None:
    id = with_history(crowd, words)
    with Child(HERE / "reader.py", data, "idle") as other:
        assert other.line() == "ready"
        assert erased_wholly(crowd, id), "an idle process holds no old pages"
        assert scan(data, pieces(words.made)) == []
        neighbours(crowd, words, 5)
        assert other.end() == 0, other.complaints
    assert scan(data, pieces(words.made)) == []


@pytest.mark.parametrize("make", [with_history, linked], ids=lambda make: make.__name__)
def test_an_erased_item_is_gone_from_search_history_export_and_the_past(
    crowd: App, words: Words, make: Any
) -> None:
    id = make(crowd, words)
    known = words.made[:]
    then = crowd.clock.now()
    crowd.engine.writing.erase(ME, id)
    for word in known[:6]:
        assert crowd.engine.recall.search(ME, Query(word, mode="text")).total == 0
        assert crowd.engine.recall.search(ME, Query(word, mode="text", as_of=then)).total == 0
    with pytest.raises(NotFound):
        crowd.engine.reading.read(ME, id, forgotten=True)
    with pytest.raises(NotFound):
        crowd.engine.history.as_of(ME, id, then)
    assert all(not step.changes for step in crowd.engine.history.history(ME, id))
    exported = "\n".join(crowd.engine.maintenance.export(ME.tenant))
    assert not [word for word in known if word in exported]
    for other in crowd.engine.reading.list_items(ME).items:
        told = repr(crowd.engine.history.history(ME, other.id))
        assert not [word for word in known if word in told]


def test_items_that_share_pages_with_others_leave_nothing_when_erased(
    crowd: App, data: Path, words: Words
) -> None:
    """Rows that grow make SQLite move others to new pages; the place they moved from must not keep
    them.
    """
    ids = []
    for _ in range(25):
        ids.append(plain(crowd, words))
        neighbours(crowd, words, 1)
    for id in ids:
        crowd.engine.writing.revise(
            ME, id, Patch(attributes={"more": words.text(words.rng.choice((2, 12, 25)))})
        )
    for number, id in enumerate(words.rng.sample(ids, len(ids))):
        crowd.engine.writing.erase(ME, id)
        if number % 4 == 0:
            neighbours(crowd, words, 1)
    assert scan(data, pieces(words.made)) == []
    assert crowd.engine.maintenance.verify() == []


def test_the_text_index_keeps_no_beginning_of_erased_words(
    crowd: App, data: Path, words: Words
) -> None:
    """The index splits its pages between words and notes how the next one begins."""
    stem = words.word(11)
    texts = [" ".join(f"{stem}{n:04}" for n in range(1000))]
    texts += [
        " ".join([words.other(20), *(f"zz{word}" for word in words.other(20).split())])
        for _ in range(24)
    ]
    ids = [
        crowd.engine.writing.remember(ME, Draft(blocks=(Block(text),))).item.id for text in texts
    ]
    crowd.engine.writing.erase(ME, ids[0])
    assert scan(data, pieces(words.made)) == []


def test_an_erased_item_leaves_no_idempotency_key(crowd: App, data: Path, words: Words) -> None:
    arguments = {"content": words.text(20), "title": words.word()}
    id = call_with_key(crowd, "remember", arguments, words.word(16))["id"]
    crowd.engine.writing.erase(ME, id)
    assert scan(data, words.made) == []


def test_the_command_erase_leaves_nothing_while_others_have_the_folder_open(
    crowd: App, data: Path, words: Words
) -> None:
    id = plain(crowd, words)
    assert ask(data, "erase", id, "--yes") == {"erased": id, "clean": True}
    assert scan(data, pieces(words.made)) == []


def test_what_a_reader_held_back_is_gone_after_the_advised_command(
    crowd: App, data: Path, words: Words
) -> None:
    id = plain(crowd, words)
    with Child(HERE / "reader.py", data, "hold") as reader:
        assert reader.line() == "ready"
        told = cli(data, "erase", id, "--yes", MEMOLITH_BUSY_S="0.2")
        assert told.returncode == 0, told
        assert scan(data, words.made), "the reader still sees the old pages"
        advised = re.findall(r"`(?:memolith )?([a-z-]+)`", told.stdout)
        assert advised, told.stdout
        reader.say()
        assert reader.line() == "let go"
        for command in advised:
            again = cli(data, command, *([id, "--yes"] if command == "erase" else []))
            assert again.returncode == 0, again
        assert scan(data, pieces(words.made)) == []


def test_no_vector_of_an_erased_item_is_left_in_table_or_snapshot(data: Path) -> None:
    app = open_app(Settings(data=data))
    ids = [
        app.engine.writing.remember(ME, Draft(blocks=(Block(f"{color} tea"),))).item.id
        for color in ("Red", "Green")
    ]
    app.upkeep.run()
    app.engine.maintenance.rebuild()
    app.upkeep.run()
    app.embeddings.renew_index(always=True)
    before = {path.name: path.stat().st_ino for path in data.glob("*.snap")}
    assert before
    wordy = open_app(Settings(data=data, embedder="none"))
    wordy.engine.writing.erase(ME, ids[0])
    wordy.close()
    after = {path.name: path.stat().st_ino for path in data.glob("*.snap")}
    with app.store.reading(None) as rows:
        left = rows.models().get(present(app.embedder).id, 0)
    app.close()
    assert left == 1, "the vectors that a rebuild set aside must go too"
    assert before.items().isdisjoint(after.items()), (
        "an app without a model must remove old snapshots too"
    )


# Secrets are put together here, so that none stands in this file.
UPPER = string.ascii_uppercase + "234567"


def token(rng: random.Random) -> str:
    return "gh" + "p_" + "".join(rng.choices(string.ascii_letters, k=36))


def access_key(rng: random.Random) -> str:
    return "AK" + "IA" + "".join(rng.choices(UPPER, k=16))


def password(rng: random.Random) -> str:
    return "".join(rng.choices("GHJKLMNPQRSTghjklmnpqrst23456789", k=16))


@pytest.mark.parametrize(
    "place",
    [
        "text",
        "title",
        "tag",
        "project",
        "namespace",
        "metadata",
        "deep",
        "name",
        "key",
        "password",
        "url",
        "import",
        "revise",
    ],
)
def test_no_byte_of_a_redacted_secret_reaches_a_file_or_the_output(
    data: Path, words: Words, place: str
) -> None:
    rng = words.rng
    secret = {"password": password, "url": password, "deep": access_key}.get(place, token)(rng)
    told = write_with(data, place, secret)
    assert told.returncode == 0, told
    hidden = pieces([secret.removeprefix("gh" + "p_")])
    assert scan(data, hidden) == []
    output = (told.stdout + told.stderr).lower()
    assert not [piece for piece in hidden if piece.lower() in output]


def write_with(data: Path, place: str, secret: str) -> subprocess.CompletedProcess[str]:
    """A write by the command line with the secret at that place."""
    ways = {
        "text": ["remember", f"the token is {secret} for now"],
        "title": ["remember", "a text", "--title", f"about {secret}"],
        "tag": ["remember", "a text", "--tag", secret],
        "project": ["remember", "a text", "--project", secret],
        "metadata": ["remember", "a text", "--metadata", json.dumps({"note": f"use {secret}"})],
        "deep": ["remember", "a text", "--metadata", json.dumps({"a": [{"b": secret}]})],
        "name": ["remember", "a text", "--metadata", json.dumps({secret: "a name"})],
        "key": ["remember", "a text", "--idempotency-key", secret],
        "password": ["remember", "a text", "--metadata", json.dumps({"password": secret})],
        "url": ["remember", f"the base is postgres://maria:{secret}@db.example.org/main"],
    }
    if place in ways:
        return cli(data, *ways[place])
    if place == "namespace":
        return cli(data, "import", stdin=json.dumps({"content": "a text", "namespace": secret}))
    if place == "import":
        return cli(
            data, "import", stdin=json.dumps({"content": f"it is {secret}", "tags": [secret]})
        )
    id = ask(data, "remember", "a text")["id"]
    return cli(
        data, "revise", id, "--content", f"now with {secret}", "--title", secret, "--tag", secret
    )


LOGGED = """
import logging, sys
from pathlib import Path
from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.errors import MemolithError
from memolith.settings import Settings
logging.basicConfig(level=logging.DEBUG)
secret, me = sys.stdin.readline().strip(), Caller()
for policy in ("redact", "block"):
    app = open_app(Settings(data=Path(sys.argv[1]), secrets=policy))
    blocks = tuple(Block(f"say {secret}", speaker=f"s {secret}", attributes={"x": secret}) for _ in range(2))
    try:
        item = app.engine.writing.remember(me, Draft(kind="conversation", blocks=blocks)).item
        other = app.engine.writing.remember(me, Draft(blocks=(Block("other"),))).item
        app.engine.writing.append(me, item.id, blocks)
        app.engine.writing.link(me, item.id, other.id, "cites", attributes={"why": secret})
        app.upkeep.run()
    except MemolithError as error:
        print(repr(error), error.message, error.field, error.value)
    app.close()
print("done", flush=True)
"""


@pytest.mark.parametrize("make", [token, access_key], ids=lambda make: make.__name__)
def test_no_byte_of_a_secret_reaches_the_log(data: Path, words: Words, make: Any) -> None:
    secret = make(words.rng)
    with Child("-c", LOGGED, data) as child:
        child.say(secret)
        lines = child.rest()
        assert child.end() == 0, child.complaints
    assert lines[-1] == "done"
    assert "content_blocked" in "".join(lines) or "BlockedContent" in "".join(lines)
    output = "".join([*lines, *child.complaints]).lower()
    assert not [piece for piece in pieces([secret[4:]]) if piece.lower() in output]
    assert scan(data, pieces([secret[4:]])) == []
