"""The cache of the answers that open a session: used if it fits, and harmless if it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memolith.doors.mcp import start_cache
from memolith.doors.mcp.start_cache import MAX_FILES, PACKAGES, StartCache, source_fingerprint
from tests.programs.pipes import (
    HANDSHAKES,
    INITIALIZED,
    MODERN,
    PRODUCT,
    TIMEOUT_S,
    Pipe,
    initialize,
    request,
    tool,
)

ANSWERS = {
    HANDSHAKES[-1]: {"initialize": b'{"a":1}', "tools/list": b'{"tools":[]}'},
    MODERN: {"server/discover": b'{"b":2}', "tools/list": b'{"tools":[]}'},
}
OTHER_PYDANTIC = "2.12.5"
"""An older version that pyproject.toml allows."""
NOBODY = 65534


def demo_session(folder: Path, **env: str) -> list[dict[str, Any]]:
    """What the demo server answers to the opening of a session in both eras."""
    with Pipe("stdio", str(folder), env=env) as pipe:
        answers = opening(pipe)
        assert pipe.end() == 0
        assert b"Traceback" not in b"".join(pipe.complaints)
    return answers


def product_session(*arguments: str, **env: str) -> list[dict[str, Any]]:
    with Pipe("stdio", *arguments, env=env, program=PRODUCT) as pipe:
        answers = opening(pipe)
        assert pipe.end() == 0
        assert pipe.complaints == []
    return answers


def opening(pipe: Pipe) -> list[dict[str, Any]]:
    answers = [pipe.ask(request(1, "server/discover", True)), pipe.ask(initialize(2))]
    pipe.send(INITIALIZED)
    answers += [pipe.ask(request(3, "tools/list")), pipe.ask(request(4, "tools/list", True))]
    assert all("result" in answer for answer in answers)
    return answers


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*"))


def opens_the_app(folder: Path, log: Path) -> bool:
    """Whether the demo server needs its app to shake hands, as it does without a cache."""
    log.unlink(missing_ok=True)
    with Pipe("stdio", str(folder), env={"DEMO_LOG": str(log)}) as pipe:
        pipe.ask(initialize(1))
        assert pipe.end() == 0
    return log.exists()


def test_the_second_start_gives_the_answers_of_the_first_without_opening_the_app(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "cache"
    first = demo_session(folder)
    assert len(kept(folder)) == 1
    assert not opens_the_app(folder, tmp_path / "log")
    assert demo_session(folder) == first


def test_the_first_start_keeps_its_answers_in_the_data_folder_and_nowhere_else(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    data = tmp_path / "data"
    first = product_session("--data", str(data), HOME=str(home))
    assert product_session("--data", str(data), HOME=str(home)) == first
    assert list(home.rglob("*")) == []
    assert [path.name for path in data.iterdir()] == ["cache"]
    [file] = kept(data / "cache")
    if sys.platform != "win32":
        assert [path.stat().st_mode & 0o777 for path in (data, data / "cache", file)] == [
            0o700,
            0o700,
            0o600,
        ]


def test_a_client_that_leaves_after_the_list_does_not_hinder_the_cache(tmp_path: Path) -> None:
    with Pipe("stdio", str(tmp_path / "cache")) as pipe:
        pipe.ask(request(1, "tools/list", True))
        assert pipe.end() == 0
    assert len(kept(tmp_path / "cache")) == 1


def test_the_full_command_line_uses_the_same_cache(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    first = product_session("--data", data)
    # An abbreviated option is left to the full parser.
    assert product_session("--dat", data) == first
    assert len(kept(tmp_path / "data" / "cache")) == 1


def test_the_cache_folder_can_be_chosen(tmp_path: Path) -> None:
    data, chosen = tmp_path / "data", tmp_path / "chosen"
    product_session("--data", str(data), MEMOLITH_CACHE=str(chosen))
    assert len(kept(chosen)) == 1
    assert not data.exists()


def test_a_data_folder_named_in_a_configuration_file_leaves_the_default_one_alone(
    tmp_path: Path,
) -> None:
    config = tmp_path / "memolith.toml"
    config.write_text(f"data = {json.dumps(str(tmp_path / 'data'))}\n", encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    product_session(HOME=str(home), XDG_DATA_HOME=str(home), MEMOLITH_CONFIG=str(config))
    assert list(home.rglob("*")) == []


@pytest.mark.parametrize(
    ("profile", "read_only"), [("all", False), ("all", True), ("core", False), ("one,two", False)]
)
def test_every_choice_of_tools_has_its_own_answers(
    tmp_path: Path, profile: str, read_only: bool
) -> None:
    StartCache(str(tmp_path), "other", False).write({MODERN: {"ping": b"{}"}})
    cache = StartCache(str(tmp_path), profile, read_only)
    assert cache.read() == {}
    cache.write(ANSWERS)
    assert StartCache(str(tmp_path), profile, read_only).read() == ANSWERS
    assert StartCache(str(tmp_path), profile, not read_only).read() == {}
    assert len(kept(tmp_path)) == 2


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    (tmp_path / "something else").write_text("stays", encoding="utf-8")
    for number in range(MAX_FILES + 5):
        cache = StartCache(str(tmp_path), f"profile {number}", False)
        cache.write(ANSWERS)
        os.utime(cache.path, (number, number))
    assert len(kept(tmp_path)) == MAX_FILES + 1
    assert cache.read() == ANSWERS
    assert StartCache(str(tmp_path), "profile 0", False).read() == {}


# A cache that does not fit


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "one byte": lambda data: data[:1],
    "half of the first line": lambda data: data[:40],
    "the first line alone": lambda data: data.split(b"\n")[0],
    "the last byte missing": lambda data: data[:-1],
    "a byte more": lambda data: data + b"\n",
    "a changed letter": lambda data: data.replace(b'"description":"', b'"description":"X', 1),
    "zeros": lambda data: bytes(len(data)),
    "noise": lambda data: bytes(range(256)) * 1000,
    "another JSON": lambda data: b"[1, 2]\n",
    "lines that are not there": lambda data: b'{"key":null,"crc32":0,"lines":{"x":{"y":9}}}\n',
    "endless nesting": lambda data: b"[" * 200_000,
    "no UTF-8": lambda data: b"\xff\xfe" + data,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_not_used(tmp_path: Path, damage: str) -> None:
    cache = StartCache(str(tmp_path), "all", False)
    cache.write({MODERN: {"tools/list": b'{"description":"x"}', "ping": b"{}"}})
    path = Path(cache.path)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert cache.read() == {}


@pytest.mark.parametrize(
    "damage",
    [
        "a changed letter",
        *(
            pytest.param(damage, marks=pytest.mark.full)
            for damage in ("empty", "the last byte missing", "noise")
        ),
    ],
)
def test_a_damaged_file_is_replaced_and_nobody_notices(tmp_path: Path, damage: str) -> None:
    first = demo_session(tmp_path / "cache")
    [file] = kept(tmp_path / "cache")
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    assert demo_session(tmp_path / "cache") == first
    assert file.read_bytes() == whole


def test_a_folder_in_the_place_of_the_file_is_not_used(tmp_path: Path) -> None:
    cache = StartCache(str(tmp_path), "all", False)
    Path(cache.path).mkdir()
    cache.write(ANSWERS)
    assert cache.read() == {}
    assert kept(tmp_path) == [Path(cache.path)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on Windows")
def test_a_pipe_in_the_place_of_the_file_makes_nobody_wait(tmp_path: Path) -> None:
    cache = StartCache(str(tmp_path), "all", False)
    os.mkfifo(cache.path)
    assert cache.read() == {}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows keeps the folder of a user apart")
def test_a_file_that_another_user_can_have_written_is_not_used(tmp_path: Path) -> None:
    cache = StartCache(str(tmp_path), "all", False)
    cache.write(ANSWERS)
    for mode in (0o620, 0o602, 0o666):
        os.chmod(cache.path, mode)
        assert cache.read() == {}
    os.chmod(cache.path, 0o600)
    assert cache.read() == ANSWERS
    if os.geteuid() == 0:
        os.chown(cache.path, NOBODY, NOBODY)
        assert cache.read() == {}


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions work otherwise on Windows")
def test_a_cache_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    """As another user, because nothing is closed to the administrator."""
    script = """
import os, sys
from memolith.doors.mcp.start_cache import StartCache
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
cache = StartCache(sys.argv[1], "all", False)
assert not cache.can_write()
cache.write({"x": {"y": b"{}"}})
assert cache.read() == {}
"""
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    for folder in (closed, closed / "below"):
        subprocess.run([sys.executable, "-c", script, str(folder)], check=True, timeout=TIMEOUT_S)
    assert kept(closed) == []


def test_a_place_where_no_folder_can_be_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    answers = demo_session(tmp_path / "cache")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        assert demo_session(folder) == answers


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    cache = StartCache(str(tmp_path), "all", False)
    monkeypatch.setattr(os, "replace", full)
    cache.write(ANSWERS)
    assert kept(tmp_path) == []


def test_two_first_starts_at_once_do_each_other_no_harm(tmp_path: Path) -> None:
    found: list[list[dict[str, Any]]] = []

    def play() -> None:
        found.append(demo_session(tmp_path / "cache"))

    threads = [threading.Thread(target=play) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert len(found) == 2
    assert found[0] == found[1]
    [file] = kept(tmp_path / "cache")
    assert file.suffix == ".jsonl"
    assert demo_session(tmp_path / "cache") == found[0]


# Versions


def fake_install(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
    for package in PACKAGES:
        if (folder / package).is_dir():
            (folder / package / "__init__.py").touch()


def versions_with(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str] | None:
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return start_cache.installed_versions()


def test_the_versions_are_those_that_an_import_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import version

    installed = {name: version(name) for name in PACKAGES}
    assert start_cache.installed_versions() == installed
    # A folder without code does not hide a package, wherever it stands on the path.
    fake_install(tmp_path, "pydantic-9.9.9.dist-info", "pydantic_settings")
    assert versions_with(tmp_path, monkeypatch) == installed


def test_another_version_of_a_package_does_not_get_the_answers_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path / "cache")
    StartCache(folder, "all", False).write(ANSWERS)
    fake_install(tmp_path / "lib", "pydantic", "pydantic-2.99.0.dist-info")
    found = versions_with(tmp_path / "lib", monkeypatch)
    assert found is not None
    assert found["pydantic"] == "2.99.0"
    other = StartCache(folder, "all", False)
    assert other.read() == {}
    other.write({MODERN: {"ping": b"{}"}})
    assert other.read() == {MODERN: {"ping": b"{}"}}
    monkeypatch.undo()
    assert StartCache(folder, "all", False).read() == ANSWERS


@pytest.mark.parametrize(
    "names",
    [
        ["pydantic"],
        ["pydantic", "pydantic-2.12.0.dist-info", "pydantic-2.13.0.dist-info"],
    ],
)
def test_nothing_is_kept_where_a_version_cannot_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    fake_install(tmp_path / "lib", *names)
    assert versions_with(tmp_path / "lib", monkeypatch) is None
    cache = StartCache(str(tmp_path / "cache"), "all", False)
    cache.write(ANSWERS)
    assert cache.read() == {}
    assert not (tmp_path / "cache").exists()


def test_another_python_or_another_release_does_not_get_these_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StartCache(str(tmp_path), "all", False).write(ANSWERS)
    monkeypatch.setattr(start_cache, "__version__", "99.0")
    assert StartCache(str(tmp_path), "all", False).read() == {}
    monkeypatch.undo()
    assert StartCache(str(tmp_path), "all", False).read() == ANSWERS
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    assert StartCache(str(tmp_path), "all", False).read() == {}


def test_a_changed_source_file_changes_the_fingerprint(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "below").mkdir(parents=True)
    (package / "below" / "tool.py").write_text("one", encoding="utf-8")
    before = source_fingerprint(str(package))
    assert source_fingerprint(str(package)) == before
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "tool.py").touch()
    (package / "notes.txt").touch()
    assert source_fingerprint(str(package)) == before
    (package / "below" / "tool.py").write_text("two", encoding="utf-8")
    changed = source_fingerprint(str(package))
    assert changed != before
    (package / "new.toml").touch()
    assert source_fingerprint(str(package)) != changed


@pytest.mark.full
def test_the_cache_holds_with_two_real_versions_of_pydantic(tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(lib)]
    subprocess.run([*install, f"pydantic=={OTHER_PYDANTIC}"], check=True, timeout=300)
    data = str(tmp_path / "data")
    here = product_session("--data", data)
    there: dict[str, Any] = {"PYTHONPATH": str(lib)}
    first = product_session("--data", data, **there)
    assert len(kept(tmp_path / "data" / "cache")) == 2
    for env, answers in (({}, here), (there, first)):
        assert product_session("--data", data, **env) == answers
        assert names_of_modules(data, env).isdisjoint({"pydantic", "mcp", "mcp_types"})
    assert len(kept(tmp_path / "data" / "cache")) == 2


def names_of_modules(data: str, env: dict[str, str]) -> set[str]:
    """What is imported until the list is answered; the demo's front does it with any cache."""
    with Pipe("modules", os.path.join(data, "cache"), env=env) as pipe:
        pipe.ask(initialize(1))
        assert pipe.ask(request(2, "tools/list"))["result"]["tools"]
        pipe.process.wait(TIMEOUT_S)
        pipe.readers[1].join(TIMEOUT_S)
    return {line.decode().strip() for line in pipe.complaints}


def test_a_call_after_the_first_start_is_answered(tmp_path: Path) -> None:
    for _ in range(2):
        with Pipe("stdio", str(tmp_path / "cache")) as pipe:
            answer = pipe.ask(tool(1, "get_note", True, note_id="one"))
            assert answer["result"]["structuredContent"]["text"] == "the first note"
            assert pipe.end() == 0
