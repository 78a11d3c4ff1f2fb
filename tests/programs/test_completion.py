"""Completion in the real shells: what a user gets who presses the tab key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memolith.doors.cli.commands import LISTED_COMMANDS
from memolith.doors.cli.completion import completion_script
from tests.programs.children import ask, cli, environment

WAIT_S = 120.0
NAMES = [listed.name for listed in LISTED_COMMANDS]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these shells are not on Windows")


def shell(name: str) -> str:
    """Where the shell is; the test is skipped if it is not installed here."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def script_file(name: str, folder: Path) -> Path:
    file = folder / f"memolith.{name}"
    file.write_text(cli(None, "completion", name).stdout, encoding="utf-8")
    return file


def after_tab(command: list[str], setup: str, typed: str, expected: str) -> str:
    """What stands on the terminal of an interactive shell after the tab key."""
    import pty  # not on Windows

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="dumb", PS1="ready> ", COLUMNS="200"),
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    shown = ""
    try:
        os.write(ours, f"{setup}; echo set-$((1+1))-up\n".encode())
        shown = read_until(ours, "set-2-up")
        os.write(ours, f"{typed}\t\t".encode())
        shown = read_until(ours, expected)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return shown


def read_until(terminal: int, expected: str) -> str:
    shown = ""
    end = time.monotonic() + WAIT_S
    while expected not in shown and time.monotonic() < end:
        try:
            shown += os.read(terminal, 65536).decode(errors="replace")
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            break
    return shown


def test_json_gives_the_same_script() -> None:
    told = ask(None, "completion", "bash")
    assert told == {"shell": "bash", "script": completion_script("bash")}


def bash_answers(file: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    listed = " ".join(f"'{word}'" for word in words)
    ran = subprocess.run(
        [
            shell("bash"),
            "--norc",
            "-c",
            f"compopt() {{ :; }}; source '{file}'; COMP_WORDS=({listed}); "
            f'COMP_CWORD={len(words) - 1}; _memolith; printf "%s\\n" "${{COMPREPLY[@]}}"',
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_S,
    )
    return ran.stdout.split()


def test_bash_completes_commands_flags_choices_tools_and_files(tmp_path: Path) -> None:
    file = script_file("bash", tmp_path)
    assert bash_answers(file, "memolith", "") == [*NAMES, "--help", "--version"]
    assert bash_answers(file, "memolith", "rec") == ["recall"]
    assert bash_answers(file, "memolith", "recall", "--m") == ["--mode", "--min-score"]
    assert bash_answers(file, "memolith", "recall", "x", "--mode", "") == [
        "hybrid",
        "vector",
        "text",
    ]
    assert bash_answers(file, "memolith", "remember", "--kind", "conv") == ["conversation"]
    assert bash_answers(file, "memolith", "keys", "cr") == ["create"]
    assert bash_answers(file, "memolith", "install", "cursor") == ["cursor"]
    assert bash_answers(file, "memolith", "call", "subcog_capt") == ["subcog_capture"]
    assert bash_answers(file, "memolith", "import", f"{tmp_path}/mem") == [str(file)]


def test_a_tab_in_bash_completes_a_command(tmp_path: Path) -> None:
    file = script_file("bash", tmp_path)
    shown = after_tab(
        [shell("bash"), "--norc", "-i"], f"source '{file}'", "memolith restore", "restore-backup"
    )
    assert "restore-backup" in shown


def test_a_tab_in_zsh_completes_commands_and_flags(tmp_path: Path) -> None:
    file = script_file("zsh", tmp_path)
    setup = f"autoload -U compinit; compinit -u -d '{tmp_path}/dump'; source '{file}'"
    interactive = [shell("zsh"), "-f", "-i"]
    assert "memolith recall" in after_tab(interactive, setup, "memolith recal", "memolith recall")
    shown = after_tab(interactive, setup, "memolith recall --min", "--min-score")
    assert "--min-score" in shown
    shown = after_tab(interactive, setup, "memolith recall x --mode h", "hybrid")
    assert "hybrid" in shown


def test_fish_completes_commands_flags_choices_and_files(tmp_path: Path) -> None:
    file = script_file("fish", tmp_path)

    def answers(typed: str) -> list[str]:
        ran = subprocess.run(
            [shell("fish"), "--no-config", "-c", f"source '{file}'; complete -C '{typed}'"],
            capture_output=True,
            text=True,
            env=environment(),
            check=True,
            timeout=WAIT_S,
        )
        return [line.split("\t")[0] for line in ran.stdout.splitlines()]

    assert sorted(answers("memolith ")) == sorted(NAMES)
    assert answers("memolith recal") == ["recall"]
    assert "--min-score" in answers("memolith recall --m")
    assert sorted(answers("memolith recall --mode ")) == ["hybrid", "text", "vector"]
    assert answers("memolith keys cr") == ["create"]
    assert answers("memolith call subcog_capt") == ["subcog_capture"]
    assert answers(f"memolith import {tmp_path}/memo") == [str(file)]
