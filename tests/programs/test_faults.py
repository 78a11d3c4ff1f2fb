"""What can go wrong around the data: full disks, read-only folders, stuck writers, wrong clocks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.errors import MemolithError, NotFound
from memolith.settings import Settings
from tests.conftest import engine_of
from tests.programs.children import CLI, HERE, TIMEOUT_S, Child, ask, cli, environment, in_memory

ME = Caller()
ROOT = str(HERE.parents[1])


def opened(folder: Path, **settings: Any) -> App:
    return open_app(Settings(data=folder, **{"embedder": "none", **settings}))


def note(text: str, **fields: Any) -> Draft:
    return Draft(blocks=(Block(text),), **fields)


# A full disk


def own_disk(folder: Path, size: str, *command: str) -> list[str] | None:
    """The command line that runs a program with a small disk of its own; None where the system does
    not let us.
    """
    script = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
    for flags in ("-m", "-Urm"):
        start = ["unshare", flags, "sh", "-c", script, str(folder)]
        try:
            if (
                subprocess.run(
                    [*start, "true"], capture_output=True, timeout=60, check=False
                ).returncode
                == 0
            ):
                return [*start, *command]
        except OSError:
            return None
    return None


def on_full_disk(folder: Path, case: str, size: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    start = own_disk(folder, size, sys.executable, str(HERE / "full_disk.py"), str(folder), case)
    if start is None:
        pytest.skip(
            "no small disk can be mounted here: neither root nor user namespaces (unshare, mount -t tmpfs)"
        )
    env = environment(MEMOLITH_EMBEDDER="minilm")
    env["PYTHONPATH"] += os.pathsep + ROOT
    return subprocess.run(start, capture_output=True, text=True, timeout=120, env=env, check=False)


def steps(ran: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {line["step"]: line for line in map(json.loads, ran.stdout.splitlines())}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What happened on a full disk, step by step."""
    ran = on_full_disk(tmp_path_factory.mktemp("full") / "disk", "writes", "5m")
    assert ran.returncode == 0, ran
    return steps(ran)


@pytest.mark.parametrize("step", ["write", "write again", "revise"])
def test_a_write_on_a_full_disk_fails_in_plain_words(
    full: dict[str, dict[str, Any]], step: str
) -> None:
    assert full[step]["error"] == "DiskFull", full[step]
    assert "disk" in full[step]["message"]


def test_nothing_is_half_written_on_a_full_disk(full: dict[str, dict[str, Any]]) -> None:
    count = full["acknowledged"]["value"]
    erased = 1 if "value" in full["erase"] else 0
    assert count > 20
    assert full["verify"]["value"] == []
    assert full["unwritten"]["value"] == 0
    assert full["listed"]["value"] == count - erased
    assert full["events"]["value"] == count + erased


@pytest.mark.parametrize("step", ["by id", "by words", "by meaning"])
def test_reads_go_on_with_a_full_disk(full: dict[str, dict[str, Any]], step: str) -> None:
    assert full[step].get("value"), full[step]


@pytest.mark.parametrize("command", ["list", "show", "recall"])
def test_reading_commands_work_with_a_full_disk(
    full: dict[str, dict[str, Any]], command: str
) -> None:
    ran = full[f"command {command}"]["value"]
    assert ran["code"] == 0, ran
    json.loads(ran["stdout"])


@pytest.mark.parametrize("command", ["remember", "export", "backup"])
def test_writing_commands_say_that_the_disk_is_full(
    full: dict[str, dict[str, Any]], command: str
) -> None:
    ran = full[f"command {command}"]["value"]
    assert ran["code"] == 1, ran
    assert "Traceback" not in ran["stderr"]
    assert "disk is full" in ran["stderr"].lower() or "no space left" in ran["stderr"].lower()


def test_a_backup_that_found_no_room_leaves_no_file_behind(full: dict[str, dict[str, Any]]) -> None:
    assert full["left behind"]["value"] == []


def test_everything_works_again_when_there_is_room(full: dict[str, dict[str, Any]]) -> None:
    assert full["with room"]["value"]["code"] == 0, full["with room"]
    assert full["verify with room"]["value"] == []
    assert full["find with room"]["value"] == 1
    assert full["close"]["value"] is None


def test_a_vector_snapshot_on_a_full_disk_does_not_kill_the_process(tmp_path: Path) -> None:
    ran = on_full_disk(tmp_path / "disk", "snapshot", "8m")
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    assert steps(ran)["by id"]["value"] == 3000
    assert steps(ran)["left behind"]["value"] == []


# A folder that cannot be written

# An administrator without any privileges is bound to the permissions of files like anybody else.
UNPRIVILEGED = """
import os, sys
command = [sys.executable, "-m", "memolith", *sys.argv[1:]]
if os.getuid() == 0:
    command = ["setpriv", "--bounding-set=-all", *command]
os.execvp(command[0], command)
"""


@pytest.fixture
def guarded() -> Iterator[Path]:
    """A data folder that can be read but not written."""
    place = Path(tempfile.mkdtemp())
    app = opened(place / "data")
    app.engine.writing.remember(ME, note("tea"))
    app.close()
    (place / "data" / "memolith.db").chmod(0o400)
    (place / "data").chmod(0o500)
    place.chmod(0o500)
    yield place
    place.chmod(0o755)
    (place / "data").chmod(0o755)
    shutil.rmtree(place)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions work otherwise on Windows")
@pytest.mark.parametrize("folder", ["data", "new"])
def test_a_folder_that_cannot_be_written_is_told_and_stays_as_it_was(
    guarded: Path, folder: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in guarded.rglob("*")}
    with Child(
        "-c", UNPRIVILEGED, "remember", "coffee", "--json", "--data", guarded / folder
    ) as child:
        assert child.end() == 1, child.complaints
    told = json.loads("".join(child.complaints))
    assert told["error"] == "store_read_only"
    assert "permission" in told["message"]
    assert {path: path.stat().st_mtime_ns for path in guarded.rglob("*")} == before


@pytest.mark.skipif(sys.platform == "win32", reason="permissions work otherwise on Windows")
@pytest.mark.parametrize("embedder", [pytest.param("none", marks=pytest.mark.full), "minilm"])
@pytest.mark.parametrize(
    "command",
    [["recall", "tea"], ["list"], ["context", "tea"], ["export"], ["verify"]],
    ids=lambda command: command[0],
)
def test_reading_works_where_nothing_can_be_written(
    guarded: Path, command: list[str], embedder: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in guarded.rglob("*")}
    with Child(
        "-c", UNPRIVILEGED, *command, "--data", guarded / "data", MEMOLITH_EMBEDDER=embedder
    ) as child:
        assert child.end() == 0, child.complaints
    assert not any("WARNING" in line for line in child.complaints), child.complaints
    assert {path: path.stat().st_mtime_ns for path in guarded.rglob("*")} == before


# Folders and beginnings


@pytest.mark.parametrize("name", ["with blanks and ünïcödé 資料 🗄️", "per%20cent?and#hash", "-dash"])
def test_any_name_of_a_data_folder_will_do(tmp_path: Path, name: str) -> None:
    made = ask(tmp_path / name, "remember", "stored there")
    assert ask(tmp_path / name, "show", made["id"])["blocks"][0]["text"] == "stored there"
    assert (tmp_path / name / "memolith.db").exists()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder", encoding="utf-8")
    for folder in (tmp_path / "data", tmp_path / "data" / "below"):
        ran = cli(folder, "list")
        assert ran.returncode != 0
        assert "Traceback" not in ran.stderr, ran.stderr[-300:]
        assert "data" in ran.stderr


CREATORS = """
import os, sys, traceback
from pathlib import Path
from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.settings import Settings
for turn in range(int(sys.argv[2])):
    waiting, go = os.pipe()
    children = [os.fork()]
    while children[-1] and len(children) < 5:
        children.append(os.fork())
    os.close(go)
    if not children[-1]:
        try:
            os.read(waiting, 1)
            app = open_app(Settings(data=Path(sys.argv[1], str(turn), "deep", "data"), embedder="none"))
            app.engine.writing.remember(Caller(), Draft(blocks=(Block("made"),)))
            app.close()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(waiting)
    print(sum(os.waitpid(child, 0)[1] != 0 for child in children), flush=True)
"""


@pytest.mark.skipif(
    not hasattr(os, "fork"), reason="only a fork lets processes start at the same moment"
)
@pytest.mark.parametrize("turns", [5, pytest.param(100, marks=pytest.mark.full)])
def test_processes_that_create_the_folder_at_the_same_moment_all_succeed(turns: int) -> None:
    with in_memory() as place, Child("-c", CREATORS, place, str(turns)) as child:
        failed = child.rest()
        assert child.end() == 0, child.complaints
        app = opened(place / "0" / "deep" / "data")
        assert app.engine.reading.list_items(ME).total == 5
        assert app.engine.maintenance.verify() == []
        app.close()
    assert failed == ["0"] * turns, "".join(child.complaints)


# Others in the way


@pytest.fixture
def stuck(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder whose write lock a stuck process holds, and the id of an item in it."""
    app = opened(tmp_path / "data")
    id = app.engine.writing.remember(ME, note("Maria prefers tea")).item.id
    app.close()
    with Child("-c", HOLDER, tmp_path / "data") as holder:
        assert holder.line() == "held"
        yield tmp_path / "data", id
        assert holder.end() == 0, holder.complaints


HOLDER = """
import sys
from pathlib import Path
from memolith.bootstrap import open_app
from memolith.settings import Settings
app = open_app(Settings(data=Path(sys.argv[1]), embedder="none"))
with app.store.writing("local"):
    print("held", flush=True)
    sys.stdin.readline()
app.close()
"""


def test_a_stuck_writer_makes_others_fail_in_time_instead_of_hanging(
    stuck: tuple[Path, str],
) -> None:
    folder, _ = stuck
    app = opened(folder, busy_s=0.3)
    started = time.monotonic()
    with pytest.raises(MemolithError) as told:
        app.engine.writing.remember(ME, note("coffee"))
    assert told.value.type == "store_busy"
    assert 0.3 <= time.monotonic() - started < Settings().busy_s
    app.close()
    ran = cli(folder, "remember", "coffee", "--json", MEMOLITH_BUSY_S="0.3")
    assert ran.returncode == 1
    assert json.loads(ran.stderr)["error"] == "store_busy"


@pytest.mark.parametrize("command", ["show", "recall"])
def test_a_stuck_writer_does_not_keep_others_from_reading(
    stuck: tuple[Path, str], command: str
) -> None:
    folder, id = stuck
    ran = cli(
        folder,
        command,
        id if command == "show" else "what does Maria drink",
        "--json",
        # Whoever waits for the writer waits longer than this test does.
        MEMOLITH_BUSY_S=str(2 * TIMEOUT_S),
        MEMOLITH_EMBEDDER="minilm",
    )
    assert ran.returncode == 0, ran
    assert "Maria prefers tea" in ran.stdout


def test_an_import_that_waits_for_its_input_does_not_keep_others_from_writing(
    tmp_path: Path,
) -> None:
    # The importer may write while it starts, but not for as long as it waits.
    app = opened(tmp_path / "data", busy_s=TIMEOUT_S)
    with Child("-m", CLI[2], "import", "-", "--data", tmp_path / "data") as importer:
        for n in range(300):
            importer.say(json.dumps({"content": f"imported {n} " + "filler " * 40}))
        app.engine.writing.remember(ME, note("in the meantime"))
        assert importer.end() == 0, importer.complaints
    assert app.engine.reading.list_items(ME).total == 301
    app.close()


BACKGROUND = """
import sys
from pathlib import Path
from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.settings import Settings
app = open_app(Settings(data=Path(sys.argv[1])))
for n in range(200):
    app.engine.writing.remember(Caller(), Draft(blocks=(Block(f"thing {n} is here and there"),)))
app.start_background()
print("the main thread ends", flush=True)
"""


def test_the_background_thread_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    with Child("-c", BACKGROUND, tmp_path / "data") as child:
        assert child.line() == "the main thread ends"
        assert child.end() == 0, child.complaints
        assert not any("WARNING" in line for line in child.complaints), child.complaints
    app = opened(tmp_path / "data")
    assert app.engine.maintenance.verify() == []
    app.close()


# Clocks


class StoppedClock:
    """Tells the time it is given."""

    def __init__(self) -> None:
        self.time = "2026-06-01T10:00:00.000000Z"

    def now(self) -> str:
        return self.time


def test_a_clock_that_goes_backwards_does_no_harm(tmp_path: Path) -> None:
    app, clock = opened(tmp_path / "data"), StoppedClock()
    engine = engine_of(app, clock)
    id = engine.writing.remember(ME, note("first words")).item.id
    clock.time = "2026-06-01T09:00:00.000000Z"
    changed = engine.writing.revise(ME, id, Patch(blocks=(Block("second words"),)))
    other = engine.writing.remember(ME, note("other words")).item.id
    link = engine.writing.link(ME, id, other, "cites")
    clock.time = "2026-06-01T08:00:00.000000Z"
    engine.writing.unlink(ME, link.id)
    for at in (
        "2026-06-01T07:00:00Z",
        "2026-06-01T08:30:00Z",
        "2026-06-01T09:30:00Z",
        "2026-06-01T10:30:00Z",
    ):
        with suppress(NotFound):
            assert app.engine.history.as_of(ME, id, at)[1][0].text in (
                "first words",
                "second words",
            )
        app.engine.recall.search(ME, Query("words", mode="text", as_of=at))
    assert app.engine.history.as_of(ME, id, "2026-06-01T10:30:00Z")[1][0].text == "second words"
    assert [step.event.type for step in app.engine.history.history(ME, id)] == [
        "remembered",
        "revised",
        "linked",
        "unlinked",
    ]
    app.engine.history.undo(ME, changed.seq)
    assert app.engine.reading.read(ME, id)[1][0].text == "first words"
    assert app.engine.maintenance.verify() == []
    app.close()


def test_what_was_written_under_a_clock_of_tomorrow_is_embedded_today(tmp_path: Path) -> None:
    app, clock = opened(tmp_path / "data", embedder="minilm"), StoppedClock()
    clock.time = "2999-01-01T00:00:00.000000Z"
    engine_of(app, clock).writing.remember(ME, note("Maria prefers tea to coffee"))
    app.upkeep.run()
    hits = app.engine.recall.search(ME, Query("beverages that she likes", mode="vector")).hits
    app.close()
    assert [hit.passage.text for hit in hits] == ["Maria prefers tea to coffee"]
