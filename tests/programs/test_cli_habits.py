"""What people expect of any command line: help, short ids, tables that fit, no surprises."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memolith.doors.cli.commands import LISTED_COMMANDS
from memolith.doors.cli.human import human_duration, human_size, human_time
from memolith.doors.cli.keys import KEY_SYSTEMS
from memolith.doors.cli.parser import command_parser
from memolith.doors.cli.tables import cut, display_width, fitted_table
from memolith.doors.cli.tool_commands import TOOL_OF_COMMAND, call_parser, find_tool, tool_parser
from memolith.engine.client_keys import KEY_FORMS
from tests.programs.children import CLI, ask, cli, environment, in_memory

ESCAPE = "\x1b["
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d"


@pytest.fixture
def data() -> Iterator[Path]:
    with in_memory() as folder:
        yield folder / "data"


def parser_of(command: str) -> argparse.ArgumentParser:
    if command == "call":
        return call_parser()
    if command in TOOL_OF_COMMAND:
        return tool_parser(command, find_tool(TOOL_OF_COMMAND[command]))
    [listed] = [listed for listed in LISTED_COMMANDS if listed.name == command]
    return command_parser(listed)


COMMANDS = [listed.name for listed in LISTED_COMMANDS if listed.name != "hook"]


def on_screen(data: Path, *arguments: str, columns: int = 80, **env: str) -> str:
    """What a command shows on a terminal of so many columns."""
    import pty  # not on Windows

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*CLI, *arguments, "--data", str(data)],
        stdout=theirs,
        stderr=theirs,
        env=environment(COLUMNS=str(columns), TERM="xterm", **env),
    ) as process:
        os.close(theirs)
        shown = b""
        # The terminal is gone when the command has ended.
        with suppress(OSError):
            while part := os.read(ours, 65536):
                shown += part
        os.close(ours)
        assert process.wait(60) == 0
    return shown.decode().replace("\r\n", "\n")


# Help


def test_memolith_alone_shows_help_and_so_does_the_module() -> None:
    alone = cli(None)
    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout.startswith("usage: memolith")
    module = subprocess.run(
        [sys.executable, "-m", "memolith"],
        capture_output=True,
        text=True,
        env=environment(COLUMNS="100"),
        check=True,
        timeout=60,
    )
    assert module.stdout == cli(None, "--help", COLUMNS="100").stdout


def test_a_mistyped_command_is_told_with_the_nearest_one() -> None:
    ran = cli(None, "remembr", "x")
    assert ran.returncode == 2
    assert "Did you mean `memolith remember`?" in ran.stderr


def test_a_tool_that_is_typed_as_a_command_is_told_with_the_way_to_call_it() -> None:
    ran = cli(None, "fetch", "x")
    assert ran.returncode == 2
    assert "`memolith call fetch` calls it" in ran.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_examples_and_explains_every_option(command: str) -> None:
    parser = parser_of(command)
    text = parser.format_help()
    assert f"examples:\n  memolith {command}" in text
    unexplained = [
        action.dest
        for action in parser._actions
        if action.help in (None, "") and action.help != argparse.SUPPRESS
    ]
    assert unexplained == []
    assert cli(None, command, "--help").stdout.startswith(f"usage: memolith {command}")


def test_help_names_the_choices() -> None:
    text = " ".join(parser_of("recall").format_help().split())
    assert "{hybrid,vector,text}" in text
    assert "memory, conversation, concept" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_output_in_every_command(command: str) -> None:
    [flag] = [action for action in parser_of(command)._actions if "--json" in action.option_strings]
    assert flag.help == "print JSON"


def test_the_input_of_call_has_a_name_of_its_own_and_the_old_one_warns(data: Path) -> None:
    ask(data, "remember", "Maria prefers tea.")
    given = json.dumps({"query": "tea", "limit": 1})
    hits = ask(data, "call", "recall", "--arguments", given)["hits"]
    assert [hit["text"] for hit in hits] == ["Maria prefers tea."]
    assert ask(data, "call", "recall", "--query", "tea")["hits"] == hits
    old = cli(data, "call", "recall", "--json", given)
    assert json.loads(old.stdout)["hits"] == hits
    assert "--arguments" in old.stderr
    failed = cli(data, "call", "recall", "--query", " ", "--json")
    assert json.loads(failed.stderr)["error"] == "validation_error"


# Ids


def test_the_beginning_of_an_id_is_shown_in_tables_and_taken_everywhere(data: Path) -> None:
    first = ask(data, "remember", "Maria prefers tea.")["id"]
    second = ask(data, "remember", "Jo prefers coffee.")["id"]
    shown = cli(data, "list").stdout
    shorts = re.findall(r"^([0-9a-f]{8}[0-9a-f-]*) +memory", shown, re.M)
    assert len(shorts) == 2
    assert second.startswith(shorts[0])
    assert first.startswith(shorts[1])
    assert all(len(short) < 36 for short in shorts)
    short = shorts[1]
    assert short in cli(data, "recall", "Maria").stdout
    assert ask(data, "show", short)["id"] == first
    assert ask(data, "history", short)["events"][0]["type"] == "remembered"
    assert ask(data, "revise", short, "--title", "T")["id"] == first
    assert ask(data, "call", "fetch", "--ids", short)["items"][0]["id"] == first
    assert ask(data, "forget", short)["id"] == first
    assert ask(data, "restore", short)["id"] == first
    assert ask(data, "erase", short, "--yes")["erased"] == first


def test_a_beginning_of_several_ids_is_refused_with_their_names(data: Path) -> None:
    ids = [ask(data, "remember", text)["id"] for text in ("one", "two")]
    common = ids[0][:4]
    assert ids[1].startswith(common), "ids begin with the time"
    ran = cli(data, "forget", common)
    assert ran.returncode == 2
    assert all(id in ran.stderr for id in ids)
    assert ask(data, "list")["total"] == 2


def test_a_key_is_revoked_by_the_beginning_of_its_id(data: Path) -> None:
    made = ask(data, "keys", "create", "laptop", "--scopes", "read,write", "--expires", "90d")
    assert made["scopes"] == ["read", "write"]
    ask(data, "keys", "revoke", made["id"][:6])
    [key] = ask(data, "keys", "list")
    assert key["state"] == "revoked"
    days = (datetime.fromisoformat(key["expires"]) - datetime.now(UTC)).days
    assert days in (89, 90)


@pytest.mark.parametrize(
    ("system", "form"),
    [
        ("sekha", r"sk-sekha-[0-9a-f]{64}"),
        ("lanonasis", r"lano_[0-9a-f]{64}"),
        ("mem0", r"m0-[0-9a-f]{64}"),
        ("memolith", r"mlk_[\w-]{43}"),
    ],
)
def test_a_key_has_the_form_that_the_clients_of_a_system_accept(
    data: Path, system: str, form: str
) -> None:
    made = ask(data, "keys", "create", "laptop", "--like", system)
    assert re.fullmatch(form, made["key"])


def test_the_command_and_the_engine_know_the_same_forms_of_keys() -> None:
    assert tuple(KEY_FORMS) == KEY_SYSTEMS


# Lists and times


@pytest.mark.parametrize(
    "flags",
    [
        ["--tags", "a,b"],
        ["--tag", "a", "--tag", "b"],
        ["--tag", "a,b"],
        ["--tags", "a", "--tag", "b"],
    ],
)
def test_lists_are_typed_the_same_way_everywhere(data: Path, flags: list[str]) -> None:
    id = ask(data, "remember", "Maria prefers tea.", *flags)["id"]
    assert ask(data, "show", id)["tags"] == ["a", "b"]
    ask(data, "remember", "Maria prefers tea with one tag.", "--tag", "a")
    assert [item["id"] for item in ask(data, "list", *flags)["items"]] == [id]
    assert [hit["id"] for hit in ask(data, "recall", "Maria", *flags)["hits"]] == [id]
    assert [
        hit["id"] for hit in ask(data, "call", "recall", "--query", "Maria", *flags)["hits"]
    ] == [id]
    ask(data, "revise", id, *flags)


def test_how_long_ago_is_a_time_everywhere(data: Path) -> None:
    id = ask(data, "remember", "Maria prefers tea.")["id"]
    for command in (["list"], ["recall", "Maria"], ["call", "recall", "--query", "Maria"]):
        assert ask(data, *command, "--since", "7d")["total"] == 1
        assert ask(data, *command, "--until", "7d")["total"] == 0
        ran = cli(data, *command, "--since", "soon")
        assert ran.returncode in (1, 2)
        assert "7d" in ran.stderr
    assert len(ask(data, "history", id, "--as-of", "0s")["events"]) == 1
    assert cli(data, "show", id, "--as-of", "2w").returncode == 1


# Where the data is


@pytest.mark.parametrize(
    "command",
    [
        ["list"],
        ["recall", "x"],
        ["context", "x"],
        ["show", "x"],
        ["history", "x"],
        ["similar", "x"],
        ["graph", "x"],
        ["export"],
        ["verify"],
        ["keys", "list"],
        ["tenant", "list"],
        ["call", "recall", "--query", "x"],
        ["backup", "copy.db"],
    ],
)
def test_a_mistyped_data_folder_is_told_and_not_made(tmp_path: Path, command: list[str]) -> None:
    ran = cli(tmp_path / "mistyped", *command)
    assert ran.returncode == 1
    assert f"There is no memory in {tmp_path / 'mistyped'}" in ran.stderr
    assert list(tmp_path.iterdir()) == []


# Bytes


def test_what_is_not_utf8_is_refused_with_its_place(data: Path, tmp_path: Path) -> None:
    ran = cli(data, "remember", "-", stdin=b"first line\nna\xefve\n")
    assert ran.returncode == 2
    assert "byte 0xef in line 2, at byte 3" in ran.stderr
    lines = b'{"content": "one"}\n{"content": "caf\xe9"}\n'
    file = tmp_path / "lines.jsonl"
    file.write_bytes(lines)
    ran = cli(data, "import", str(file))
    assert f"{file} is not UTF-8: byte 0xe9 in line 2, at byte 17" in ran.stderr
    chats = tmp_path / "chat.md"
    chats.write_bytes(b"# chat\n\nuser: caf\xe9\n")
    assert "byte 0xe9 in line 3, at byte 10" in cli(data, "import-chats", str(chats)).stderr
    assert ask(data, "remember", "there is nothing else")
    assert ask(data, "list")["total"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are no bytes on Windows")
def test_a_text_among_the_arguments_that_is_not_utf8_is_refused_with_its_place(data: Path) -> None:
    ran = subprocess.run(
        [*CLI, "remember", b"caf\xe9", "--data", str(data)],
        capture_output=True,
        env=environment(LC_ALL="C.UTF-8"),
        check=False,
        timeout=60,
    )
    assert ran.returncode == 2
    assert b"The text is not UTF-8: byte 0xe9 at character 4" in ran.stderr
    assert not data.exists()


# Export and import


def test_a_file_that_cannot_be_imported_is_named_with_what_can_be(
    data: Path, tmp_path: Path
) -> None:
    (tmp_path / "odd.txt").write_text("hello\n", encoding="utf-8")
    refused = cli(data, "import", str(tmp_path / "odd.txt"))
    assert refused.returncode == 2
    assert "odd.txt cannot be imported: Line 1 is not JSON" in refused.stderr
    assert "docs/how-to/move.md" in refused.stderr


def test_an_export_replaces_a_file_only_by_force(data: Path, tmp_path: Path) -> None:
    ask(data, "remember", "one")
    file = tmp_path / "export.jsonl"
    file.write_text("precious", encoding="utf-8")
    ran = cli(data, "export", str(file))
    assert ran.returncode == 2
    assert "--force" in ran.stderr
    assert file.read_text(encoding="utf-8") == "precious"
    assert ask(data, "export", str(file), "--force")["events"] == 1
    assert '"one"' in file.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["export.jsonl"]


def test_importing_lines_twice_doubles_nothing_unless_told_so(data: Path, tmp_path: Path) -> None:
    lines = '{"content": "one"}\n{"content": "two", "tags": ["t"]}\n{"content": "one"}\n'
    file = tmp_path / "notes.jsonl"
    file.write_text(lines, encoding="utf-8")
    first = ask(data, "import", str(file))
    assert (first["items"], first["known"]) == (3, 0)
    again = ask(data, "import", str(file))
    assert (again["items"], again["known"]) == (0, 3)
    file.write_text(lines + '{"content": "three"}\n', encoding="utf-8")
    grown = ask(data, "import", str(file))
    assert (grown["items"], grown["known"]) == (1, 3)
    assert ask(data, "list")["total"] == 4
    forced = ask(data, "import", str(file), "--again")
    assert (forced["items"], forced["known"]) == (4, 0)
    (tmp_path / "other.jsonl").write_text('{"content": "one"}\n', encoding="utf-8")
    assert ask(data, "import", str(tmp_path / "other.jsonl"))["items"] == 1, "another source"


def test_what_was_changed_or_forgotten_after_an_import_stays_so(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"content": "one"}\n{"content": "two"}\n', encoding="utf-8")
    ask(data, "import", str(file))
    two, one = (item["id"] for item in ask(data, "list")["items"])
    ask(data, "forget", one)
    ask(data, "revise", two, "--content", "changed")
    ask(data, "import", str(file))
    assert [item["title"] for item in ask(data, "list")["items"]] == ["changed"]


def test_importing_an_export_twice_adds_only_what_is_new(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    secret = "ghp_" + "a1B2" * 9
    id = ask(data, "remember", "one")["id"]
    gone = ask(data, "remember", "to be erased")["id"]
    export = tmp_path / "export.jsonl"
    ask(data, "export", str(export))
    assert ask(other, "import", str(export))["items"] == 2
    assert ask(other, "import", str(export)) == {
        "events": 0,
        "items": 0,
        "redactions": {},
        "known": 2,
    }
    ask(other, "erase", gone, "--yes")
    ask(data, "revise", id, "--content", f"the token is {secret}", MEMOLITH_SECRETS="allow")
    ask(data, "export", str(export), "--force")
    for _ in range(2):
        grown = ask(other, "import", str(export))
    assert grown["events"] == 0
    assert len(ask(other, "history", id)["events"]) == 2
    assert secret not in ask(other, "show", id)["blocks"][0]["text"]
    assert ask(other, "list")["total"] == 1
    ask(other, "revise", id, "--content", "another way")
    ask(data, "revise", id, "--content", "one way")
    ask(data, "export", str(export), "--force")
    ran = cli(other, "import", str(export))
    assert ran.returncode == 1
    assert "another version" in ran.stderr


# Questions


@pytest.mark.parametrize("answer", ["y", "Y", "yes", "YES"])
def test_y_is_yes(data: Path, answer: str) -> None:
    id = ask(data, "remember", "one")["id"]
    assert cli(data, "erase", id, stdin="n\n").returncode == 1
    assert cli(data, "erase", id, stdin="\n").returncode == 1
    assert cli(data, "erase", id, stdin=f"{answer}\n").returncode == 0


# Tables, colours, sizes and times


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty on Windows")
def test_colours_are_for_terminals_whose_users_want_them(data: Path) -> None:
    ask(data, "remember", "Maria prefers tea.")
    assert ESCAPE in on_screen(data, "list")
    assert ESCAPE not in on_screen(data, "list", NO_COLOR="1")
    assert ESCAPE not in cli(data, "list").stdout
    assert ESCAPE not in on_screen(data, "list", "--json")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty on Windows")
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_terminal_and_never_cut_dates(data: Path, columns: int) -> None:
    ask(data, "remember", "x", "--title", "日本語のお茶 " * 20, "--tags", "a-long-tag,another-tag")
    shown = on_screen(data, "list", columns=columns, NO_COLOR="1")
    assert all(display_width(line) <= columns for line in shown.splitlines())
    assert re.search(TIME, shown)
    assert "…" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty on Windows")
def test_a_list_begins_with_its_table_and_ends_with_its_last_line(data: Path) -> None:
    cli(data, "remember", "Tea at four.")
    lines = cli(data, "list").stdout.splitlines()
    assert lines[0].startswith("id ")
    assert lines[-1].startswith("total ")


def test_a_terminal_too_narrow_for_a_table_gets_fields(data: Path) -> None:
    ask(data, "remember", "Maria prefers tea.", "--tags", "people")
    shown = on_screen(data, "list", columns=30, NO_COLOR="1")
    assert re.search(rf"^created_at +{TIME}$", shown, re.M)


def test_a_memory_cannot_drive_the_terminal(data: Path) -> None:
    id = ask(data, "remember", "-", stdin="tea \x1b[2J\x1b]0;title\x07 for all")["id"]
    for command in (["list"], ["recall", "tea"], ["show", id]):
        shown = cli(data, *command).stdout
        assert "\x1b" not in shown
        assert "\x07" not in shown


def test_a_table_gives_its_texts_away_before_anything_else() -> None:
    names = ["id", "title", "created_at"]
    cells = [["0123456789abcdef", "a title that is long", "2026-01-31 12:00"]]
    assert fitted_table(names, cells, 100) is not None
    fitted = fitted_table(names, cells, 49)
    assert fitted is not None
    assert fitted[2] == "0123456789abcdef  a title that…  2026-01-31 12:00"
    assert fitted_table(names, cells, 40) is None


def test_a_reason_is_shown_whole_and_field_by_field_where_a_table_is_too_narrow() -> None:
    names = ["count", "why"]
    cells = [["1", "a file that is no note; `memolith ingest` takes files"]]
    assert fitted_table(names, cells, 80) is not None
    assert fitted_table(names, cells, 40) is None


def test_cut_counts_cells_and_not_characters() -> None:
    assert cut("日本語のお茶", 7) == "日本語…"
    assert display_width("é") == 1


def test_sizes_and_times_are_for_people(data: Path, tmp_path: Path) -> None:
    assert human_size(999) == "999 bytes"
    assert human_size(1500) == "1.5 kB"
    assert human_size(12_345_678) == "12 MB"
    assert human_duration(0.0004) == "400 µs"
    assert human_duration(0.0045) == "4.5 ms"
    assert human_duration(3700) == "1 h 1 min"
    assert human_duration(100_000) == "1 day 3 h"
    assert re.fullmatch(TIME, human_time("2026-01-31T12:00:00.000000Z"))
    id = ask(data, "remember", "one")["id"]
    assert re.search(rf"^created_at +{TIME}$", cli(data, "show", id).stdout, re.M)
    assert re.search(r"^bytes +\d+ kB$", cli(data, "backup", str(tmp_path / "b")).stdout, re.M)
    zone = subprocess.run(
        [*CLI, "show", id, "--data", str(data)],
        capture_output=True,
        text=True,
        env=environment(TZ="Asia/Kathmandu"),
        check=True,
        timeout=60,
    )
    stored = datetime.fromisoformat(ask(data, "show", id)["created_at"])
    [shown] = re.findall(rf"^created_at +({TIME})$", zone.stdout, re.M)
    local = datetime.strptime(shown, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    assert 344 <= (local - stored).total_seconds() / 60 <= 345, "5 h 45 min ahead of UTC"
