"""Many processes on one folder, some of them killed: what was acknowledged is found, once, by
everybody, at once.
"""

from __future__ import annotations

import json
import queue
import random
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.settings import Settings
from tests.programs.children import CLI, HERE, Child, ask, cli, in_memory, wait_for

ME = Caller()
WRITERS, READERS = 8, 2


class Crew:
    """Writers that are started again after each kill, where the last acknowledged write was."""

    def __init__(self, stack: ExitStack, folder: Path, count: int) -> None:
        self.stack = stack
        self.folder = folder
        self.count = count
        self.acknowledged: dict[str, str] = {}
        self.next = dict.fromkeys([f"w{chr(103 + n)}x" for n in range(WRITERS)], 0)
        self.writers = {name: self.start(name) for name in self.next}

    def start(self, name: str) -> Child:
        # A disk that others keep busy may hold one commit up for many seconds; that is not what is
        # tested here.
        writer = Child(
            HERE / "writer.py",
            self.folder,
            name,
            str(self.next[name]),
            str(self.count),
            MEMOLITH_BUSY_S="100",
        )
        writer.say()
        return self.stack.enter_context(writer)

    def note(self, name: str, line: str) -> None:
        if line == "ready":
            return
        number, id = line.split()
        assert int(number) == self.next[name], (name, line)
        self.acknowledged[f"{name}{number}"] = id
        self.next[name] += 1

    def hear(self) -> None:
        """Take every acknowledgement that has come in."""
        for name, writer in self.writers.items():
            while True:
                try:
                    line = writer.lines.get_nowait()
                except queue.Empty:
                    break
                if line is None:
                    writer.lines.put(None)
                    break
                self.note(name, line)

    def kill(self, name: str) -> None:
        """Kill -9, take what it still said, and let another go on; the write in flight may or may
        not have happened.
        """
        self.writers[name].kill()
        for line in self.writers[name].rest():
            self.note(name, line)
        self.writers[name] = self.start(name)

    def reached(self, total: int) -> bool:
        self.hear()
        return len(self.acknowledged) >= total or all(
            w.process.poll() is not None for w in self.writers.values()
        )


def run_crew(folder: Path, count: int, kills: int, seed: int, embedder: str) -> dict[str, str]:
    """Let them write and read under kills; the acknowledged words with their ids."""
    rng = random.Random(seed)
    moments = sorted(rng.sample(range(1, WRITERS * count * 9 // 10), kills))
    with ExitStack() as stack:
        crew = Crew(stack, folder, count)
        readers = [
            stack.enter_context(
                Child(HERE / "reader.py", folder, "watch", MEMOLITH_EMBEDDER=embedder)
            )
            for _ in range(READERS)
        ]
        killed = 0
        for moment in moments:
            wait_for(partial(crew.reached, moment))
            alive = [name for name in crew.next if crew.writers[name].process.poll() is None]
            if alive:
                crew.kill(rng.choice(alive))
                killed += 1
        wait_for(lambda: crew.reached(WRITERS * count))
        for writer in crew.writers.values():
            assert writer.end() == 0, "".join(writer.complaints)
        for reader in readers:
            assert reader.end() == 0, "".join(reader.complaints)
            assert int(reader.rest()[-1]) > 0
        assert killed == kills
        return crew.acknowledged


def check_all(folder: Path, acknowledged: dict[str, str], count: int) -> None:
    """Acknowledged = found, by id and by its word, and nothing is there twice."""
    app = open_app(Settings(data=folder, embedder="none"))
    assert len(acknowledged) == WRITERS * count
    for word, id in acknowledged.items():
        assert app.engine.reading.read(ME, id)[0].title == f"Item {word}"
        hits = app.engine.recall.search(ME, Query(word, mode="text")).hits
        assert [hit.item.id for hit in hits] == [id], word
    titles = Counter(
        item.title for item in app.engine.reading.list_items(ME, limit=WRITERS * count * 2).items
    )
    assert set(titles) == {f"Item {word}" for word in acknowledged}
    assert set(titles.values()) == {1}
    with app.store.reading(None) as rows:
        assert rows.last_seq(ME.tenant) == WRITERS * count
        assert [event.seq for event in rows.events_after(ME.tenant, 0)] == list(
            range(1, WRITERS * count + 1)
        )
    app.close()
    assert ask(folder, "verify") == {"equal": True, "problems": []}


def test_every_acknowledged_write_of_8_processes_is_found_although_5_were_killed() -> None:
    with in_memory() as folder:
        acknowledged = run_crew(folder / "data", 25, 5, seed=1, embedder="none")
        check_all(folder / "data", acknowledged, 25)


@pytest.mark.full
@pytest.mark.parametrize("embedder", ["none", "minilm"])
def test_every_acknowledged_write_of_8_processes_is_found_although_50_were_killed(
    tmp_path: Path, embedder: str
) -> None:
    acknowledged = run_crew(tmp_path / "data", 200, 50, seed=2, embedder=embedder)
    check_all(tmp_path / "data", acknowledged, 200)


def test_another_process_finds_a_write_at_once(tmp_path: Path) -> None:
    with Child(HERE / "reader.py", tmp_path / "data", "answer") as reader:
        assert reader.line() == "ready"
        app = open_app(Settings(data=tmp_path / "data", embedder="none"))
        for number in range(30):
            word = f"zorbul{number}x"
            draft = Draft(title=word, blocks=(Block(f"Now there is {word} too."),))
            id = app.engine.writing.remember(ME, draft).item.id
            reader.say(f"{id} {word}")
            assert json.loads(reader.line()) == {"title": word, "hits": [id]}
            if number % 3 == 0:
                app.engine.writing.forget(ME, id)
                reader.say(f"{id} {word}")
                assert json.loads(reader.line()) == {"title": None, "hits": []}
        app.close()
        assert reader.end() == 0


def test_nothing_of_an_import_is_there_after_it_was_killed_in_the_middle(tmp_path: Path) -> None:
    app = open_app(Settings(data=tmp_path / "data", embedder="none"))
    kept = app.engine.writing.remember(
        ME, Draft(blocks=(Block("Here before the import."),))
    ).item.id
    lines = [
        json.dumps({"content": f"Imported sentence number {n} with quuxly."}) for n in range(2000)
    ]
    with Child("-m", CLI[2], "import", "-", "--data", tmp_path / "data") as importer:
        for line in lines:
            importer.say(line)
        importer.kill()
    assert [item.id for item in app.engine.reading.list_items(ME).items] == [kept]
    assert app.engine.recall.search(ME, Query("quuxly", mode="text")).total == 0
    assert app.engine.maintenance.verify() == []
    app.close()


def test_a_rebuild_killed_in_the_middle_leaves_everything_as_it_was(tmp_path: Path) -> None:
    app = filled(tmp_path / "data", 1000)
    before = {path.name: path.stat().st_size for path in (tmp_path / "data").iterdir()}
    assert before["memolith.db"] > 0
    with Child("-m", CLI[2], "rebuild", "--data", tmp_path / "data") as rebuild:
        wait_for(lambda: wal_size(tmp_path / "data") or rebuild.process.poll() is not None)
        rebuild.kill()
    assert app.engine.reading.list_items(ME).total == 1000
    assert app.engine.recall.search(ME, Query("gadget77", mode="text")).total == 1
    assert app.engine.maintenance.verify() == []
    app.close()


def test_a_backup_made_while_others_write_is_whole(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ExitStack() as stack:
        writers = [
            stack.enter_context(Child(HERE / "writer.py", data, name, "0", "40"))
            for name in ("wax", "wox")
        ]
        for writer in writers:
            writer.say()
        for _ in range(11):
            writers[0].line()
        made = cli(data, "backup", str(tmp_path / "copy.db"))
        assert made.returncode == 0, made
        for writer in writers:
            assert writer.end() == 0
    ask(tmp_path / "again", "restore-backup", str(tmp_path / "copy.db"))
    assert ask(tmp_path / "again", "verify")["problems"] == []
    assert 9 <= ask(tmp_path / "again", "list")["total"] <= 80


def test_two_commands_that_change_the_same_item_both_stay_in_its_history(tmp_path: Path) -> None:
    app = filled(tmp_path / "data", 1)
    id = app.engine.reading.list_items(ME).items[0].id
    running = [
        subprocess.Popen(
            [*CLI, "revise", id, "--title", f"Title {n}", "--data", str(tmp_path / "data")],
            stdout=subprocess.DEVNULL,
        )
        for n in range(2)
    ]
    assert [process.wait(60) for process in running] == [0, 0]
    steps = app.engine.history.history(ME, id)
    titles = [step.changes["title"][1] for step in steps if "title" in step.changes]
    assert sorted(map(str, titles[1:])) == [f"Title {n}" for n in range(2)]
    assert app.engine.maintenance.verify() == []
    app.close()


ERASER = """
import re, sys
from pathlib import Path
from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.settings import Settings
def peak_kb():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
app = open_app(Settings(data=Path(sys.argv[1]), embedder="none"))
id = app.engine.reading.list_items(Caller()).items[0].id
before = peak_kb()
app.engine.writing.erase(Caller(), id)
print(peak_kb() - before)
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_an_erase_does_not_take_the_whole_store_into_memory(tmp_path: Path) -> None:
    app = filled(tmp_path / "data", 20_000)
    app.close()
    size_kb = (tmp_path / "data" / "memolith.db").stat().st_size // 1024
    with Child("-c", ERASER, tmp_path / "data") as eraser:
        grown_kb = int(eraser.line())
    assert size_kb > 20_000
    # The file may be mapped once; a copy of it in memory is too much.
    assert grown_kb < 10_000 + 1.25 * size_kb, f"{grown_kb:,} kB more for a store of {size_kb:,} kB"


def filled(folder: Path, count: int) -> App:
    """An app on a folder with so many items, and an empty write-ahead log."""
    app = open_app(Settings(data=folder, embedder="none"))
    lines = (
        json.dumps({"title": f"Gadget {n}", "content": f"What gadget{n} does. " * 3})
        for n in range(count)
    )
    app.engine.maintenance.import_(ME, lines)
    assert app.store.shred()
    return app


def wal_size(folder: Path) -> int:
    path = folder / "memolith.db-wal"
    return path.stat().st_size if path.exists() else 0
