"""Only their owner can use the files of memolith, whatever the umask, and old ones are closed."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.private_files import (
    close_folder_to_others,
    make_private_folder,
    open_private,
    open_to_others,
)
from memolith.settings import Settings
from tests.conftest import note
from tests.programs.children import HERE, Child, ask, cli
from tests.programs.served import thread

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other systems have no such permissions")


def open_paths(*folders: Path, bits: int = 0o077) -> list[str]:
    """What lies in these folders and other users may use; links say nothing."""
    found = []
    for folder in folders:
        for place, names, files in os.walk(folder):
            for name in [*names, *files]:
                path = Path(place, name)
                if not path.is_symlink() and path.lstat().st_mode & bits:
                    found.append(f"{stat.S_IMODE(path.lstat().st_mode):o} {path}")
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is made of what Linux offers")
def test_everything_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "place"
    temporary = tmp_path / "temporary"
    for folder in (place, temporary):
        folder.mkdir()
    data = tmp_path / "new" / "folders" / "data"
    program = HERE / "writes_everything.py"
    with Child(program, str(data), str(place), TMPDIR=str(temporary)) as child:
        assert child.line() == "ready"
        runners = data / "runners"
        runner_files = [path for path in runners.rglob("*") if path.is_file()]
        assert "notes.txt" in {path.name for path in runner_files}
        # As root a runner is `nobody`, and what it reads belongs to the group of nobody.
        assert open_paths(runners, bits=0o007 if os.getuid() == 0 else 0o077) == []
        assert mode(runners) == 0o700
        written = {path.name for path in data.iterdir()}
        assert written >= {
            "memolith.db",
            "memolith.db-wal",
            "memolith.db-shm",
            "vault.key",
            "hooks.log",
            "local.key",
            "cache",
            "files",
            "runners",
        }
        assert any(name.endswith(".snap") for name in written)
        outside_of_runners = [
            line
            for line in open_paths(tmp_path / "new", place, temporary)
            if "/runners/" not in line
        ]
        assert outside_of_runners == []
        assert {path.name for path in place.iterdir()} == {
            "notes.txt",
            "export.jsonl",
            "backup.db",
            "backup.db.files",
        }
        child.say()
        assert child.end() == 0


def test_a_file_that_is_uploaded_is_private_while_it_is_read(tmp_path: Path) -> None:
    seen: list[str] = []
    before = os.umask(0)
    try:
        with thread(tmp_path / "data") as served:
            read = served.app.sandbox.read

            def look_and_read(file: Path, bounds: object) -> str:
                seen.extend(open_paths(tmp_path / "data", bits=0o007))
                return read(file, bounds)  # type: ignore[arg-type]

            served.app.sandbox.read = look_and_read  # type: ignore[method-assign]
            answer = served.http.post(
                "/files",
                files={"file": ("a.txt", b"some words")},
                headers={"Authorization": f"Bearer {served.admin}"},
            )
            assert answer.status_code == 200, answer.text
    finally:
        os.umask(before)
    assert seen == []


def test_an_open_data_folder_of_an_earlier_version_is_closed_and_the_user_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data"
    app = open_app(Settings(data=data, embedder="none"))
    app.engine.writing.remember(Caller(), note("kept"))
    app.close()
    (data / "files" / "someone").mkdir(parents=True)
    (data / "files" / "someone" / "ds-1").write_text("a file")
    for path in (data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    app = open_app(Settings(data=data, embedder="none"))
    app.engine.writing.remember(Caller(), note("kept as well"))
    assert open_paths(tmp_path) == []
    assert f"could use {data}; now only you can" in caplog.text
    app.close()
    caplog.clear()
    open_app(Settings(data=data, embedder="none")).close()
    assert caplog.text == ""


def test_a_database_that_is_open_in_a_closed_folder_is_closed(tmp_path: Path) -> None:
    open_app(Settings(data=tmp_path / "data", embedder="none")).close()
    database = tmp_path / "data" / "memolith.db"
    database.chmod(0o664)
    open_app(Settings(data=tmp_path / "data", embedder="none")).close()
    assert mode(database) == 0o600


def test_nobody_is_told_of_a_file_that_nobody_could_reach(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    open_app(Settings(data=tmp_path / "data", embedder="none")).close()
    settings = tmp_path / "data" / "memolith.toml"
    settings.write_text("max_tags = 50\n")
    settings.chmod(0o644)
    open_app(Settings(data=tmp_path / "data", embedder="none")).close()
    assert (mode(settings), caplog.text) == (0o600, "")


def test_doctor_tells_what_is_open(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    files.chmod(0o755)
    data = tmp_path / "data"
    doctor = cli(data, "doctor", "--json", MEMOLITH_FILES=str(files))
    assert doctor.returncode == 1
    assert json.loads(doctor.stdout)["problems"] == [
        f"Other users of this machine can use {files}; close it with `chmod -R go-rwx {files}`."
    ]
    files.chmod(0o700)
    assert ask(data, "doctor", MEMOLITH_FILES=str(files))["problems"] == []


def test_an_export_over_an_open_file_closes_it(tmp_path: Path) -> None:
    target = tmp_path / "export.jsonl"
    target.write_text("old")
    target.chmod(0o644)
    ask(tmp_path / "data", "remember", "one")
    assert cli(tmp_path / "data", "export", str(target), "--force").returncode == 0
    assert mode(target) == 0o600


def test_what_is_not_a_file_keeps_its_permissions() -> None:
    before = mode(Path("/dev/null"))
    with open("/dev/null", "w", opener=open_private):
        assert mode(Path("/dev/null")) == before


def test_missing_parents_are_private_and_existing_ones_are_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(str(tmp_path / "a" / "b"))
    assert [mode(path) for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")] == [
        0o755,
        0o700,
        0o700,
    ]
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileExistsError):
        make_private_folder(str(tmp_path / "file"))


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    outside.chmod(0o755)
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)
    (data / "link").symlink_to(outside)
    assert open_to_others(str(data)) == [str(data)]
    assert close_folder_to_others(str(data))
    assert not close_folder_to_others(str(data))
    assert (mode(data), mode(outside)) == (0o700, 0o755)
