"""Chats of other programs are taken whole, once, and with a report of what was left out; no file is
too large.
"""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.passages import Block
from memolith.engine.chat_formats.turns import empty_report
from memolith.engine.validation import InputRules, Limits
from memolith.settings import Settings
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME, engine_of
from tests.programs.children import CLI, TIMEOUT_S, cli, environment, wait_for
from tests.stores import each_store

CHATGPT = {
    "title": "Zebra facts",
    "create_time": 1709654400.0,
    "conversation_id": "gpt-1",
    "current_node": "d",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["a"]},
        "a": {
            "parent": "root",
            "message": {
                "author": {"role": "user"},
                "create_time": 1709654400.5,
                "content": {"content_type": "text", "parts": ["Why has a zebra stripes?"]},
            },
        },
        "b": {
            "parent": "a",
            "message": {
                "author": {"role": "assistant"},
                "content": {
                    "content_type": "text",
                    "parts": ["A first answer that was thrown away."],
                },
            },
        },
        "c": {
            "parent": "a",
            "message": {
                "author": {"role": "tool"},
                "content": {"content_type": "text", "parts": ["output of a tool"]},
            },
        },
        "d": {
            "parent": "c",
            "message": {
                "author": {"role": "assistant"},
                "create_time": 1709654460,
                "content": {
                    "content_type": "multimodal_text",
                    "parts": ["Against flies.", {"content_type": "image_asset_pointer"}],
                },
            },
        },
    },
}
CLAUDE = {
    "uuid": "claude-1",
    "name": "Okapi",
    "created_at": "2026-02-01T10:00:00Z",
    "chat_messages": [
        {
            "sender": "human",
            "text": "What is an okapi?",
            "created_at": "2026-02-01T10:00:00.000000Z",
        },
        {
            "sender": "assistant",
            "text": "",
            "created_at": "2026-02-01T10:00:05Z",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "A shy relative of the giraffe."},
            ],
        },
    ],
}
CLAUDE_CODE = [
    {"type": "summary", "summary": "Fix", "leafUuid": "x"},
    {
        "type": "user",
        "sessionId": "code-1",
        "uuid": "1",
        "timestamp": "2026-03-01T08:00:00Z",
        "message": {"role": "user", "content": "Fix the login test"},
    },
    {
        "type": "assistant",
        "sessionId": "code-1",
        "uuid": "2",
        "timestamp": "2026-03-01T08:00:09Z",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look at it."},
                {"type": "tool_use", "name": "Read", "input": {}},
            ],
        },
    },
    {
        "type": "user",
        "sessionId": "code-1",
        "uuid": "3",
        "timestamp": "2026-03-01T08:00:10Z",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": "a long file"}]},
    },
    {
        "type": "user",
        "sessionId": "code-1",
        "isMeta": True,
        "message": {"role": "user", "content": "caveat"},
    },
]
CODEX = [
    {
        "timestamp": "2026-04-01T08:00:00Z",
        "type": "session_meta",
        "payload": {"id": "codex-1", "cwd": "/x"},
    },
    {
        "timestamp": "2026-04-01T08:00:01Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>…"}],
        },
    },
    {
        "timestamp": "2026-04-01T08:00:02Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Rename the module"}],
        },
    },
    {
        "timestamp": "2026-04-01T08:00:03Z",
        "type": "response_item",
        "payload": {"type": "function_call", "name": "sh"},
    },
    {
        "timestamp": "2026-04-01T08:00:04Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Renamed."}],
        },
    },
]
MARKDOWN = """# Trip to the zoo

Some words before.

## 👤 User

Where are the **zebras**?

```
User: this is code and no turn
```

**Assistant:** Behind the lake.
"""


DEEP: Any = "deep"
for _ in range(200):
    DEEP = [{"type": "text", "text": DEEP}]


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


FILES = {
    "conversations.json": json.dumps([CHATGPT, CLAUDE], indent=1),
    "session.jsonl": lines(CLAUDE_CODE),
    "rollout-2026.jsonl": lines(CODEX),
    "zoo.md": MARKDOWN,
}


def written(folder: Path, files: dict[str, str] = FILES) -> list[str]:
    """The files on the disk."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder / name) for name in files]


def imported(app: App, *paths: str, folder: str = "") -> dict[str, int]:
    report = empty_report()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            app.engine.chat_import.import_chats(ME, file, Path(path).name, folder, report)
    return dict(report)


def talks(app: App) -> dict[str, list[Block]]:
    """Every conversation by its label."""
    found = app.engine.reading.list_items(ME, limit=1000).items
    return {item.title: app.engine.reading.read(ME, item.id)[1] for item in found}


def said(blocks: list[Block]) -> list[tuple[str | None, str]]:
    return [(block.speaker, block.text) for block in blocks]


@each_store
def test_every_format_is_taken_with_who_said_what_and_when(app: App, tmp_path: Path) -> None:
    report = imported(app, *written(tmp_path))
    found = talks(app)
    assert said(found["Zebra facts"]) == [
        ("user", "Why has a zebra stripes?"),
        ("assistant", "Against flies."),
    ]
    assert found["Zebra facts"][0].at == "2024-03-05T16:00:00.500000Z"
    assert said(found["Okapi"]) == [
        ("user", "What is an okapi?"),
        ("assistant", "A shy relative of the giraffe."),
    ]
    assert said(found["Fix the login test"]) == [
        ("user", "Fix the login test"),
        ("assistant", "I look at it."),
    ]
    assert found["Fix the login test"][1].at == "2026-03-01T08:00:09.000000Z"
    assert said(found["Rename the module"]) == [
        ("user", "Rename the module"),
        ("assistant", "Renamed."),
    ]
    assert said(found["Trip to the zoo"]) == [
        ("user", "Where are the **zebras**?\n\n```\nUser: this is code and no turn\n```"),
        ("assistant", "Behind the lake."),
    ]
    assert (report["taken"], report["messages"], report["known"]) == (5, 10, 0)
    folders = {item.attributes["folder"] for item in app.engine.reading.list_items(ME).items}
    assert folders == {
        f"/imported/{name}" for name in ("chatgpt", "claude", "claude-code", "codex", "markdown")
    }


def test_the_report_says_what_was_left_out_and_why(app: App, tmp_path: Path) -> None:
    report = imported(app, *written(tmp_path))
    assert {
        reason.removeprefix("skipped: "): count
        for reason, count in report.items()
        if "skipped" in reason
    } == {
        "a message of another branch": 1,
        "a tool message for the program": 1,
        "a part of type image_asset_pointer": 1,
        "a part of type thinking": 1,
        "a line of type summary": 1,
        "a part of type tool_use": 1,
        "a part of type tool_result": 1,
        "a line of type user": 1,
        "a line of type session_meta": 1,
        "a user message for the program": 1,
        "a line of type function_call": 1,
    }


@each_store
def test_running_twice_adds_nothing(app: App, tmp_path: Path) -> None:
    paths = written(tmp_path)
    imported(app, *paths, paths[0])
    with app.store.reading(ME.tenant) as rows:
        before = rows.last_seq(ME.tenant)
    report = imported(app, *paths)
    assert (report["taken"], report["known"], report["messages"]) == (0, 5, 0)
    with app.store.reading(ME.tenant) as rows:
        assert rows.last_seq(ME.tenant) == before


def test_a_chat_that_has_grown_is_extended_by_what_is_new(app: App, tmp_path: Path) -> None:
    imported(app, *written(tmp_path))
    more = {
        **CLAUDE,
        "chat_messages": [*CLAUDE["chat_messages"], {"sender": "human", "text": "Thank you."}],
    }
    report = imported(
        app, *written(tmp_path, {"conversations.json": json.dumps([CHATGPT, more, more])})
    )
    assert (report["taken"], report["extended"], report["known"], report["messages"]) == (
        0,
        1,
        1,
        1,
    )
    assert said(talks(app)["Okapi"])[2:] == [("user", "Thank you.")], "one more, and not two"


def test_a_chat_that_grew_beyond_its_limit_is_told_and_stops_no_other(
    app: App, tmp_path: Path
) -> None:
    imported(app, *written(tmp_path))
    engine = engine_of(app, input_rules=InputRules(Limits(item_bytes=500)))
    more = {
        **CLAUDE,
        "chat_messages": [*CLAUDE["chat_messages"], {"sender": "human", "text": "x" * 500}],
    }
    other = {**CLAUDE, "uuid": "another", "name": "Another"}
    path = tmp_path / "grown.json"
    path.write_text(json.dumps([more, other]))
    with path.open() as file:
        engine.chat_import.import_chats(ME, file, path.name, "", report := empty_report())
    assert (
        report["taken"],
        report["extended"],
        report["skipped: One item holds at most 500 bytes."],
    ) == (1, 0, 1)


def test_what_was_deleted_or_erased_here_does_not_come_back(app: App, tmp_path: Path) -> None:
    paths = written(tmp_path)
    imported(app, *paths)
    for title, verb in (
        ("Okapi", app.engine.writing.forget),
        ("Zebra facts", app.engine.writing.erase),
    ):
        verb(
            ME,
            next(
                item.id for item in app.engine.reading.list_items(ME).items if item.title == title
            ),
        )
    assert imported(app, *paths)["known"] == 5
    assert len(talks(app)) == 3


def test_a_title_made_of_the_first_message_keeps_no_part_of_a_secret(
    app: App, tmp_path: Path
) -> None:
    token = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
    file = tmp_path / "chat.json"
    said = [{"role": "user", "content": "x" * 55 + f" {token}"}]
    file.write_text(json.dumps([{"messages": said}]), encoding="utf-8")
    imported(app, str(file))
    with app.store.reading(ME.tenant) as rows:
        titles = [item.title for item in rows.all_items(ME.tenant)]
    assert titles
    assert not any(token[:12] in title for title in titles)


def test_two_documents_of_one_name_are_two_conversations(app: App, tmp_path: Path) -> None:
    one, two = (
        written(tmp_path / folder, {"notes.md": f"# Notes\n\n**User:** {folder}"})[0]
        for folder in "ab"
    )
    assert imported(app, one, two, one)["taken"] == 2
    same = [
        {"title": "Same", "messages": [{"role": "user", "content": text}]}
        for text in ("first", "second")
    ]
    assert imported(app, *written(tmp_path, {"same.json": json.dumps(same)}))["taken"] == 2


def test_an_export_of_ours_comes_back_as_it_was(app: App, tmp_path: Path) -> None:
    def run(tool: str, **arguments: Any) -> dict[str, Any]:
        outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
        return dict(body_of(outcome)["data"])

    messages: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": "Where?",
            "timestamp": "2026-01-01T00:00:00.000000Z",
            "metadata": {"n": 1},
        },
        {
            "role": "Zoë",
            "content": "There.\n\nBehind the lake.",
            "timestamp": "2026-01-02T00:00:00.000000Z",
        },
    ]
    made = run("memory_store", label="Way", messages=messages)["id"]
    body = run("memory_export", conversation_id=made, format="markdown")
    app.engine.writing.erase(ME, made)
    other = {**body, "conversation": {**body["conversation"], "id": "other"}}
    imported(app, *written(tmp_path, {"way.json": json.dumps(other), "way.md": body["markdown"]}))
    found = [
        (item, app.engine.reading.read(ME, item.id)[1])
        for item in app.engine.reading.list_items(ME).items
    ]
    assert [item.title for item, _ in found] == ["Way", "Way"]
    for item, blocks in found:
        assert [block.at for block in blocks] == [one["timestamp"] for one in messages]
        assert said(blocks) == [(one["role"], one["content"]) for one in messages]
        assert blocks[0].attributes == ({} if item.attributes["source"] == "markdown" else {"n": 1})


def test_broken_and_odd_files_lose_no_more_than_what_is_broken(app: App, tmp_path: Path) -> None:
    odd = [
        CHATGPT | {"mapping": None},
        5,
        {"mapping": {"a": {"parent": "a", "message": {"content": [[]]}}}},
        {"conversations": None},
        {"mapping": {"a": {}}, "current_node": [1]},
        {"messages": [{"content": DEEP}]},
        CLAUDE
        | {"chat_messages": [{"sender": 3, "text": "x\0y \ud800", "created_at": "never"}, 7]},
    ]
    report = imported(
        app,
        *written(
            tmp_path,
            {
                "odd.json": json.dumps(odd),
                "torn.jsonl": lines(CLAUDE_CODE[1:3]) + '{"type": "user", "mess\n',
            },
        ),
    )
    assert report["taken"] == 2
    assert report["skipped: a line that is not JSON"] == 1
    assert said(talks(app)["Okapi"]) == [("user", "xy ?")]


def test_a_message_that_is_too_long_is_kept_in_pieces(app: App, tmp_path: Path) -> None:
    long = {
        "id": "long",
        "title": "Long",
        "messages": [{"role": "user", "content": "z" * 450_000}] * 6,
    }
    report = imported(app, *written(tmp_path, {"long.json": json.dumps(long)}))
    assert (report["taken"], report["messages"]) == (1, 18)
    assert sum(len(block.text) for block in talks(app)["Long"]) == 2_700_000


def test_the_command_reports_takes_a_folder_and_tells_of_files_it_cannot_read(
    tmp_path: Path,
) -> None:
    paths = written(tmp_path / "files", {**FILES, "torn.json": json.dumps([CLAUDE])[:-40]})
    ran = cli(tmp_path / "data", "import-chats", "--json", "--folder", "/old//chats/", *paths[:4])
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["taken"] == 5
    listed = json.loads(
        cli(tmp_path / "data", "call", "list_conversations", "--folder", "/old").stdout
    )
    assert (listed["total"], listed["conversations"][0]["folder"]) == (5, "/old/chats")
    ran = cli(tmp_path / "data", "import-chats", paths[4], paths[0])
    assert ran.returncode == 0
    assert "skipped: the rest from" in ran.stdout
    assert "known" in ran.stdout
    ran = cli(tmp_path / "data", "import-chats", str(tmp_path / "missing.json"))
    assert ran.returncode == 1
    assert "missing.json" in ran.stderr


def test_the_tool_takes_a_text_and_refuses_what_is_none_of_the_formats(app: App) -> None:
    run = app.registry.run
    body = run(
        "import_conversations",
        {"content": MARKDOWN, "name": "zoo.md", "folder": "/zoo"},
        Call(ME, app.engine),
    ).body
    assert body == {"taken": 1, "extended": 0, "known": 0, "messages": 2}
    outcome = run("import_conversations", {"content": "no JSON"}, Call(ME, app.engine))
    assert (outcome.ok, outcome.body["field"]) == (False, "content")
    assert len(talks(app)) == 1


# Large files


def synthetic(path: Path, megabytes: int) -> int:
    """A made-up ChatGPT export of about that size; returns how many conversations it has."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        while file.tell() < megabytes * 1_000_000:
            nodes = {
                f"n{n}": {
                    "parent": f"n{n - 1}",
                    "message": {
                        "author": {"role": ("user", "assistant")[n % 2]},
                        "create_time": 1.7e9 + count * 1000 + n,
                        "content": {
                            "content_type": "text",
                            "parts": [f"Word{count % 977} in talk {count}, message {n}. " * 12],
                        },
                    },
                }
                for n in range(40)
            }
            talk = {
                "title": f"Talk {count}",
                "id": f"talk-{count}",
                "current_node": "n39",
                "mapping": nodes,
            }
            file.write(("," if count else "") + json.dumps(talk))
            count += 1
        file.write("]")
    return count


def check_a_kill_half_way(folder: Path, megabytes: int, most_mb: float) -> None:
    path = folder / "conversations.json"
    count = synthetic(path, megabytes)
    command = [*CLI, "import-chats", str(path), "--data", str(folder / "data"), "--json"]
    child = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)
    # Long before the end, so that it is not over when this process comes to kill it.
    wait_for(lambda: count_of(folder / "data") >= count // 10, TIMEOUT_S * 10)
    child.kill()
    child.wait()
    half = count_of(folder / "data")
    assert 0 < half < count
    with (folder / "report").open("w") as out:
        child = subprocess.Popen(command, env=environment(), stdout=out)
        used = [0.0]

        def ended() -> bool:
            used.append(own_mb(child.pid))
            return child.poll() is not None

        wait_for(ended, TIMEOUT_S * 10)
    report = json.loads((folder / "report").read_text())
    assert report["known"] + report["taken"] == count
    assert report["known"] >= half
    assert count_of(folder / "data") == count
    assert report["messages"] == 40 * report["taken"]
    assert max(used) < most_mb


def own_mb(pid: int) -> float:
    """How much memory a process has for itself, the mapped database aside."""
    with suppress(OSError):
        found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


def count_of(data: Path) -> int:
    """How many conversations are there by now."""
    if not (data / "memolith.db").exists():
        return 0
    app = open_app(Settings(data=data, embedder="none"))
    try:
        return app.engine.reading.list_items(ME, limit=1).total
    finally:
        app.close()


def test_an_import_that_was_killed_half_way_is_finished_by_the_next_one(tmp_path: Path) -> None:
    check_a_kill_half_way(tmp_path, 3, 120)


@pytest.mark.full
def test_an_export_of_200_mb_needs_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    check_a_kill_half_way(tmp_path, 200, 120)
