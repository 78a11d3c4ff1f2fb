"""Every command of the command line as a real process: what it prints, where, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.doors.cli.commands import LISTED_COMMANDS, TOOLS
from memolith.doors.cli.output import cell, text_lines
from memolith.doors.cli.parser import find_command
from memolith.doors.cli.tool_commands import CALL, DECIDE_HINT, TOOL_OF_COMMAND, with_hint
from memolith.settings import Settings
from tests.programs.children import (
    CLI,
    Child,
    ask,
    cli,
    environment,
    in_memory,
    on_terminal,
    wait_for,
)

ME = Caller()
ODD = "naïve 🍵 emoji, 日本語のお茶, עברית, a\ttab\nand a second line"
INTERRUPTED = (130, -signal.SIGINT)
"""A shell shows both as 130. Python ends itself by the signal if it came while a string was run as
code, which the making of a data class does, even though the program has caught the interrupt."""
COMMANDS = set(
    """remember recall context similar list show history graph revise forget restore erase undo verify
               rebuild upkeep backup restore-backup doctor export import vault""".split()
)


@pytest.fixture
def data() -> Iterator[Path]:
    with in_memory() as folder:
        yield folder / "data"


def opened(folder: Path, **settings: Any) -> App:
    return open_app(Settings(data=folder, **{"embedder": "none", **settings}))


def filled(folder: Path, *texts: str) -> list[str]:
    """A folder with these texts; their ids."""
    app = opened(folder)
    app.engine.maintenance.import_(ME, [json.dumps({"content": text}) for text in texts])
    ids = [
        item.id for item in app.engine.reading.list_items(ME, limit=1000, descending=False).items
    ]
    app.close()
    return ids


def test_graph_draws_a_concept_by_its_name_or_id_in_every_format_as_deep_as_asked(
    tmp_path: Path,
) -> None:
    app = opened(tmp_path)
    ids = [
        app.engine.writing.remember(ME, Draft("concept", name, (Block("Some text."),))).item.id
        for name in ("A", "B", "C")
    ]
    app.engine.writing.link(ME, ids[0], ids[1], "includes")
    app.engine.writing.link(ME, ids[1], ids[2], "includes")
    app.close()
    assert (
        cli(tmp_path, "graph", "A").stdout
        == 'graph LR\n  n0["A"]\n  n1["B"]\n  n0 -->|includes| n1\n'
    )
    assert cli(tmp_path, "graph", ids[0], "--depth", "2").stdout.count("includes") == 2
    for format, begins in (("dot", "digraph"), ("svg", "<svg")):
        assert cli(tmp_path, "graph", "A", "--format", format).stdout.startswith(begins)
        assert ask(tmp_path, "graph", "A", "--format", format)["format"] == format
    assert cli(tmp_path, "graph", "nothing").returncode == 1


def test_every_command_about_memory_is_tested_here() -> None:
    ours = {listed.name for listed in LISTED_COMMANDS}
    # Chats and files come in test_import_chats and test_memorylake, folders of notes in
    # tests/interchange, clients in test_install, tools are called in test_derived, and servers,
    # shells and samples have tests of their own.
    elsewhere = {
        "import-chats",
        "sync",
        "ingest",
        "call",
        "serve",
        "stdio",
        "tools",
        "families",
        "keys",
        "worker",
        "migrate",
        "database",
        "tenant",
        "tenants",
        "copy",
        "install",
        "uninstall",
        "hook",
        "page",
        "completion",
        "up",
        "down",
        "status",
        "logs",
        "demo",
        "bench",
        "compare",
    }
    assert ours - elsewhere == COMMANDS
    source = Path(__file__).read_text(encoding="utf-8")
    assert not [command for command in COMMANDS if source.count(f'"{command}"') == 0]


def test_every_listed_command_is_in_the_file_that_is_named() -> None:
    for listed in LISTED_COMMANDS:
        if listed.module == TOOLS:
            assert listed.name in TOOL_OF_COMMAND or listed.name == CALL
        elif listed.name != "hook":
            assert find_command(listed).name == listed.name


# What is remembered


def test_revise_takes_the_new_text_behind_the_item(data: Path) -> None:
    id = ask(data, "remember", "first")["id"]
    ask(data, "revise", id, "second")
    assert ask(data, "show", id)["blocks"][0]["text"] == "second"


def test_revise_refuses_two_new_texts(data: Path) -> None:
    id = ask(data, "remember", "first")["id"]
    refused = cli(data, "revise", id, "second", "--content", "third")
    assert (refused.returncode, "as TEXT or as --content" in refused.stderr) == (2, True)


def test_list_tells_when_there_are_more_items(data: Path) -> None:
    ask(data, "remember", "first")
    ask(data, "remember", "second")
    assert "--offset 1 " in cli(data, "list", "--limit", "1").stderr
    assert cli(data, "list", "--limit", "1", "--offset", "1").stderr == ""


def test_remember_recall_context_similar_show_and_list_tell_the_same_as_json(data: Path) -> None:
    draft = (
        "remember",
        "Maria prefers tea to coffee.",
        "--title",
        "Drinks",
        "--tag",
        "taste",
        "--tag",
        "maria",
        "--project",
        "people",
        "--metadata",
        '{"n": [1, {"deep": null}]}',
        "--idempotency-key",
        "k1",
    )
    made, again = ask(data, *draft), ask(data, *draft)
    assert again["id"] == made["id"]
    ask(data, "remember", "We chose PostgreSQL for row-level security.")
    listed = ask(data, "list", "--tag", "taste", "--project", "people", "--kind", "memory")
    assert (listed["total"], listed["items"][0]["id"]) == (1, made["id"])
    shown = ask(data, "show", made["id"])
    assert [block["text"] for block in shown["blocks"]] == ["Maria prefers tea to coffee."]
    assert (shown["tags"], shown["metadata"]) == (["maria", "taste"], {"n": [1, {"deep": None}]})
    assert {name: shown[name] for name in listed["items"][0]} == listed["items"][0]
    for command in ("recall", "context"):
        found = ask(data, command, "what does Maria drink?", MEMOLITH_EMBEDDER="minilm")
        assert (found["hits"] if command == "recall" else found["citations"])[0]["id"] == made["id"]
    near = ask(
        data, "similar", "-", stdin="Maria prefers tea to coffee.", MEMOLITH_EMBEDDER="minilm"
    )
    assert [(same["id"], same["exact"]) for same in near] == [(made["id"], True)]


def test_revise_history_undo_forget_and_restore_tell_a_story(data: Path) -> None:
    [id] = filled(data, "first")
    revised = ask(
        data,
        "revise",
        id,
        "--content",
        "second",
        "--title",
        "T",
        "--tag",
        "t",
        "--expected-version",
        "1",
    )
    assert revised["version"] == 2
    assert ask(data, "undo", str(revised["event"]))["id"] == id
    assert ask(data, "show", id)["blocks"][0]["text"] == "first"
    assert ask(data, "forget", id)["version"] == 4
    assert ask(data, "list")["total"] == 0
    assert ask(data, "list", "--forgotten")["total"] == 1
    assert ask(data, "restore", id)["version"] == 5
    assert ask(data, "list", "--since", "2000-01-01", "--until", "2100-01-01")["total"] == 1
    steps = ask(data, "history", id)["events"]
    assert [step["type"] for step in steps] == [
        "remembered",
        "revised",
        "revised",
        "forgotten",
        "restored",
    ]
    assert {"field": "text", "old": "first", "new": "second"} in steps[1]["changes"]
    assert steps[2]["undoes"] == steps[1]["event"]
    assert ask(data, "show", id, "--as-of", steps[1]["at"])["blocks"][0]["text"] == "second"
    assert len(ask(data, "history", id, "--as-of", steps[2]["at"])["events"]) == 3
    assert [
        ask(data, "recall", "first", "--as-of", at)["total"]
        for at in (steps[4]["at"], "2000-01-01")
    ] == [1, 0]


def test_an_empty_vault_can_be_sealed_anew_and_reveals_nothing(data: Path) -> None:
    assert ask(data, "vault", "rekey", "--yes") == {"sealed": 0}
    assert cli(data, "vault", "reveal", "nope", stdin="no\n").returncode == 1
    assert "There is no key" in cli(data, "vault", "reveal", "nope", "--yes").stderr


def test_erase_asks_first_and_then_it_is_gone(data: Path) -> None:
    [id, other] = filled(data, "to be erased", "to stay")
    assert cli(data, "erase", id, stdin="no\n").returncode == 1
    assert ask(data, "list")["total"] == 2
    assert cli(data, "erase", id, stdin="yes\n").returncode == 0
    assert ask(data, "erase", other, "--yes") == {"erased": other, "clean": True}
    gone = cli(data, "show", id)
    assert (gone.returncode, gone.stdout) == (1, "")


def test_people_get_tables_and_words(data: Path) -> None:
    [id, _] = filled(data, "tea for Maria", "日本語のお茶について" * 20)
    for arguments, expected in (
        (("remember", "more tea"), "similar     none"),
        (("recall", "tea"), "tea for Maria"),
        (("list",), "日本語"),
        (("show", id), "tea for Maria"),
        (("history", id), "remembered"),
        (("verify",), "equal"),
        (("doctor",), "none"),
    ):
        ran = cli(data, *arguments)
        assert ran.returncode == 0, ran
        assert expected in ran.stdout
        assert not ran.stdout.startswith(("{", "["))


# Bytes in, bytes out


def test_text_goes_in_and_out_as_utf8_whatever_the_locale(data: Path, tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    made = ask(data, "remember", "-", stdin=ODD, **ascii_only)
    assert ask(data, "show", made["id"])["blocks"][0]["text"] == ODD
    assert "🍵" in cli(data, "show", made["id"], **ascii_only).stdout
    exported = cli(data, "export", "-", **ascii_only)
    assert "日本語" in exported.stdout
    ask(tmp_path / "again", "import", "-", stdin=exported.stdout, **ascii_only)
    ask(tmp_path / "again", "revise", made["id"], "--content", "-", stdin=ODD[::-1])
    assert ask(tmp_path / "again", "show", made["id"])["blocks"][0]["text"] == ODD[::-1]
    told = ask(tmp_path / "again", "remember", "日本語 🍵 as an argument", LC_ALL="C")
    assert (
        ask(tmp_path / "again", "show", told["id"])["blocks"][0]["text"]
        == "日本語 🍵 as an argument"
    )


@pytest.mark.parametrize(
    "arguments", [["list"], ["list", "--limit", "400"], ["export"], ["show", "ID", "--json"]]
)
def test_a_reader_that_goes_away_makes_no_noise(data: Path, arguments: list[Any]) -> None:
    ids = filled(data, *(f"a text number {n} with some more words in it" for n in range(200)))
    reading, writing = os.pipe()
    os.close(reading)
    given = [ids[0] if argument == "ID" else argument for argument in arguments]
    ran = subprocess.run(
        [*CLI, *given, "--data", str(data)],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
        env=environment(),
        check=False,
    )
    os.close(writing)
    assert b"Traceback" not in ran.stderr
    assert b"BrokenPipe" not in ran.stderr, ran.stderr


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A background shell ignores SIGINT, and a child would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupting_an_import_ends_it_quietly_and_imports_nothing(data: Path) -> None:
    with Child("-m", CLI[2], "import", "-", "--data", data) as importer:
        importer.say('{"content": "one"}')
        wait_for(lambda: (data / "memolith.db-wal").exists())
        importer.process.send_signal(signal.SIGINT)
        assert importer.end() in INTERRUPTED
        assert "Traceback" not in "".join(importer.complaints)
    assert ask(data, "list")["total"] == 0


# Where the data is


def test_the_folder_is_the_one_named_or_that_of_the_environment_or_of_the_platform(
    tmp_path: Path,
) -> None:
    home = {"HOME": str(tmp_path / "home")}
    named = {"MEMOLITH_DATA": str(tmp_path / "named"), **home}
    ask(tmp_path / "given", "remember", "in the folder given", **named)
    ask(None, "remember", "in the folder named", **named)
    ask(None, "remember", "in the folder of XDG", XDG_DATA_HOME=str(tmp_path / "xdg"), **home)
    ask(None, "remember", "in the home", **home)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("memolith.db")} == {
        "given/memolith.db",
        "named/memolith.db",
        "xdg/memolith/memolith.db",
        "home/Library/Application Support/memolith/memolith.db"
        if sys.platform == "darwin"
        else "home/.local/share/memolith/memolith.db",
    }
    assert (tmp_path / "given").stat().st_mode & 0o077 == 0, "the folder is for its owner alone"


# Failures

BAD_EVENT = {
    "seq": 1,
    "stream": "a",
    "version": 1,
    "type": "revised",
    "data": {"title": "x"},
    "actor": "local",
    "at": "2026-01-01T00:00:00.000000Z",
}
FAILURES: dict[str, tuple[list[str], str | bytes]] = {
    "an unknown command": (["remembr", "x"], ""),
    "no text": (["remember", "  "], ""),
    "an unknown kind": (["remember", "x", "--kind", "thing"], ""),
    "no change": (["revise", "ID"], ""),
    "bad metadata": (["remember", "x", "--metadata", "[1"], ""),
    "an unknown id": (["show", "nobody"], ""),
    "a long tag": (["remember", "x", "--tag", "t" * 10_000], ""),
    "not forgotten": (["restore", "ID"], ""),
    "a wrong version": (["revise", "ID", "--content", "y", "--expected-version", "7"], ""),
    "a bad time": (["history", "ID", "--as-of", "yesterday"], ""),
    "no time": (["list", "--since", "soon"], ""),
    "nothing to find": (["recall", " "], ""),
    "a limit of none": (["recall", "x", "--limit", "0"], ""),
    "a negative limit": (["list", "--limit", "-5"], ""),
    "a huge limit": (["list", "--limit", "9" * 25], ""),
    "a negative offset": (["list", "--offset", "-1"], ""),
    "a budget of none": (["context", "x", "--budget", "0"], ""),
    "no number": (["undo", "²"], ""),
    "an event that never was": (["undo", "99"], ""),
    "a huge event": (["undo", "9" * 25], ""),
    "a backup over a file": (["backup", "FILE"], ""),
    "a backup below a file": (["backup", "FILE/x"], ""),
    "a backup into no folder": (["backup", "FILE.d/x"], ""),
    "no backup": (["restore-backup", "FILE.no"], ""),
    "not a backup": (["restore-backup", "FILE", "--data", "FILE.new"], ""),
    "an empty backup": (["restore-backup", "EMPTY", "--data", "FILE.new"], ""),
    "a folder in use": (["restore-backup", "FILE"], ""),
    "an export below a file": (["export", "FILE/x"], ""),
    "no import": (["import", "FILE.no"], ""),
    "not UTF-8": (["import"], b"\xff\xfe"),
    "not JSON": (["import"], "{"),
    "not an object": (["import"], "[1]"),
    "a newer export": (["import"], '{"memolith": 99}'),
    "tags that are none": (["import"], '{"content": "x", "tags": 5}'),
    "metadata that is none": (["import"], '{"content": "x", "metadata": "m"}'),
    "a title that is none": (["import"], '{"content": "x", "title": 5}'),
    "an event twice": (["import"], ""),
    "an event without a beginning": (["import"], json.dumps({"event": BAD_EVENT})),
    "an event without its data": (
        ["import"],
        json.dumps({"event": BAD_EVENT | {"type": "remembered"}}),
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_is_told_on_stderr_in_plain_words_and_changes_nothing(
    data: Path, tmp_path: Path, failure: Any
) -> None:
    [id] = filled(data, "the only item")
    (tmp_path / "file").write_text("some text", encoding="utf-8")
    (tmp_path / "empty").touch()
    given, stdin = FAILURES[failure]
    if failure == "an event twice":
        exported = cli(data, "export").stdout
        stdin = exported.replace(id, "other") + exported.splitlines()[1].replace(id, "other")
    words = [
        word.replace("FILE", str(tmp_path / "file")).replace("EMPTY", str(tmp_path / "empty"))
        for word in given
    ]
    ran = cli(
        None,
        *[id if word == "ID" else word for word in words],
        stdin=stdin,
        MEMOLITH_DATA=str(data),
    )
    assert "Traceback" not in ran.stderr, ran.stderr[-400:]
    assert ran.returncode in (1, 2), ran
    assert ran.stdout == ""
    assert ran.stderr.strip()
    if "backup" in failure and "into" in failure:
        assert "data folder" not in ran.stderr, "it is another folder that is missing"
    app = opened(data)
    assert (app.engine.reading.list_items(ME).total, app.engine.maintenance.verify()) == (1, [])
    app.close()
    assert not (tmp_path / "file.new" / "memolith.db").exists()


def test_a_failure_with_json_is_one_document_on_stderr(data: Path) -> None:
    ran = cli(data, "remember", " ", "--json")
    told = json.loads(ran.stderr)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert (told["error"], told["field"]) == ("validation_error", "content")
    assert json.loads(cli(data, "show", "nobody", "--json").stderr)["error"] == "not_found"


# Care


def test_verify_rebuild_upkeep_and_doctor_print_one_document(data: Path) -> None:
    filled(data, "one", "two")
    assert ask(data, "verify") == {"equal": True, "problems": []}
    assert ask(data, "rebuild") == {"events": 2}
    assert ask(data, "upkeep", MEMOLITH_EMBEDDER="minilm")["embedded"] == 2
    told = ask(data, "doctor", MEMOLITH_EMBEDDER="minilm")
    assert told["problems"] == []
    assert {"memolith", "python", "sqlite", "data", "sizes", "events", "pending", "vectors"} <= set(
        told
    )


def test_a_backup_restored_elsewhere_is_the_same(data: Path, tmp_path: Path) -> None:
    filled(data, "one", "two", ODD)
    made = ask(data, "backup", str(tmp_path / "copy.db"))
    assert made["bytes"] == (tmp_path / "copy.db").stat().st_size
    ask(tmp_path / "again", "restore-backup", str(tmp_path / "copy.db"))
    assert ask(tmp_path / "again", "list") == ask(data, "list")
    assert ask(tmp_path / "again", "verify")["equal"]
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def rich(folder: Path) -> list[str]:
    """A folder with one of everything; the ids of what is left."""
    app = opened(folder)
    engine = app.engine
    draft = Draft(title="T", blocks=(Block(ODD),), tags=("a", "b"), attributes={"n": 1.5})
    kept = engine.writing.remember(ME, draft).item
    other = engine.writing.remember(ME, Draft(kind="document", title="No text", blocks=())).item
    messages = (Block("hi", "Maria", "2026-01-01"), Block("ho", "Jo"))
    talk = engine.writing.remember(ME, Draft(kind="conversation", blocks=messages)).item
    engine.writing.append(ME, talk.id, (Block("more", "Maria", attributes={"x": [1]}),))
    app.engine.history.undo(ME, engine.writing.append(ME, talk.id, (Block("mistake"),)).seq)
    patch = Patch(title="U", dropped=("n",), blocks=(Block("v " * 900),))
    app.engine.history.undo(ME, engine.writing.revise(ME, kept.id, patch).seq)
    engine.writing.tag(ME, kept.id, add=["c"], remove=["a"])
    link = engine.writing.link(ME, kept.id, other.id, "cites", 0.5, {"why": "so"})
    engine.writing.link(ME, kept.id, other.id, "cites", 0.7, again=True)
    engine.writing.unlink(ME, link.id)
    app.engine.history.undo(ME, app.engine.history.history(ME, kept.id)[-1].event.seq)
    engine.writing.forget(ME, other.id)
    gone = engine.writing.remember(ME, Draft(blocks=(Block("to be erased"),))).item
    engine.writing.link(ME, gone.id, talk.id, "follows")
    engine.writing.erase(ME, gone.id)
    app.close()
    return [kept.id, other.id, talk.id, gone.id]


def test_an_export_imported_into_an_empty_folder_gives_equal_read_models(
    data: Path, tmp_path: Path
) -> None:
    ids = rich(data)
    again = tmp_path / "again"
    assert cli(data, "export", str(tmp_path / "all.jsonl")).returncode == 0
    counted = ask(again, "import", str(tmp_path / "all.jsonl"))
    assert counted["redactions"] == {}
    assert ask(again, "verify") == {"equal": True, "problems": []}
    assert ask(again, "list") == ask(data, "list")
    assert cli(again, "export").stdout == (tmp_path / "all.jsonl").read_text(encoding="utf-8")
    before, after = opened(data), opened(again)
    for id in ids[:3]:
        assert after.engine.reading.read(ME, id, forgotten=True) == before.engine.reading.read(
            ME, id, forgotten=True
        )
        assert after.engine.history.history(ME, id) == before.engine.history.history(ME, id)
    with before.store.reading(None) as old, after.store.reading(None) as new:
        assert list(new.all_items(ME.tenant)) == list(old.all_items(ME.tenant))
        assert list(new.all_links(ME.tenant)) == list(old.all_links(ME.tenant))
    for app in (before, after):
        app.close()


def test_an_export_into_a_file_prints_one_document(data: Path, tmp_path: Path) -> None:
    filled(data, "one")
    assert ask(data, "export", str(tmp_path / "file"))["events"] == 1


def test_a_recall_by_meaning_leaves_nothing_in_the_home(data: Path, tmp_path: Path) -> None:
    smart = {"HOME": str(tmp_path), "MEMOLITH_EMBEDDER": "minilm"}
    ask(data, "remember", "Maria prefers tea to coffee.", **smart)
    assert (
        "Maria prefers tea" in cli(data, "recall", "what does she like to drink?", **smart).stdout
    )
    assert list(tmp_path.rglob("*")) == [], (
        "neither the command nor a library of it leaves anything in the home"
    )


# Progress


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty on Windows")
def test_progress_is_shown_on_a_terminal_only_and_never_past_100_percent(
    data: Path, tmp_path: Path
) -> None:
    lines = "".join(f'{{"content": "number {n}"}}\n' for n in range(300))
    (tmp_path / "lines").write_text(lines, encoding="utf-8")
    for tenant in ("local", "other"):
        shown, printed = on_terminal(
            data, "import", str(tmp_path / "lines"), "--tenant", tenant, "--json"
        )
        assert json.loads(printed)["items"] == 300
        assert shown.startswith("\rimporting")
        assert shown.endswith("\n"), "what comes next must start on its own line"
    for command, word in (("verify", "verifying"), ("rebuild", "rebuilding")):
        shown, printed = on_terminal(data, command, "--json")
        json.loads(printed)
        assert word in shown
        percents = [int(found) for found in re.findall(r"(\d+) %", shown)]
        assert (percents[-1], max(percents)) == (100, 100)
        assert shown.count("\n") == 1, "one bar ends once"
    assert cli(data, "verify", "--json").stderr == ""


@pytest.mark.parametrize(
    ("score", "shown"), [(0.0, "0.00"), (0.004, "<0.01"), (0.0099, "<0.01"), (0.01, "0.01")]
)
def test_a_small_score_is_not_shown_as_nothing(score: float, shown: str) -> None:
    assert cell(score) == shown


def test_a_table_after_other_fields_has_a_name_and_a_hint_where_to_decide() -> None:
    conflict = {"id": "a", "score": 0.9, "differs": "number: five became six"}
    lines = text_lines(with_hint({"id": "b", "similar": [], "conflicts": [conflict]}))
    assert lines[lines.index("conflicts") + 1].split() == ["id", "score", "differs"]
    assert lines[-1].endswith(DECIDE_HINT)


def test_a_table_alone_has_no_name() -> None:
    first, *_ = text_lines({"hits": [{"id": "a"}], "total": 1})
    assert first == "id"
