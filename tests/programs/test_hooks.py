"""`memolith hook`: what Claude Code hears at each moment, and that it never notices when something
is wrong.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripts.conformance import install

from memolith.bootstrap import open_app
from memolith.domain.callers import Audience, Caller
from memolith.domain.queries import Filter
from memolith.doors.hooks.events import EVENTS
from memolith.doors.hooks.run import chosen_folder
from memolith.doors.hooks.signals import signals
from memolith.doors.hooks.transcript import MAX_SAVED, marked_paragraphs
from memolith.engine.namespaces import NAMESPACES
from memolith.engine.sessions import SessionSearch
from memolith.settings import Settings
from tests.conftest import ME, note

BASE = {"session_id": "s", "cwd": "/somewhere", "permission_mode": "default"}
SETTINGS, SETTINGS_VERSION = "@schemastore/claude-code-settings", "1.0.12"
SDK, SDK_VERSION = "@anthropic-ai/claude-agent-sdk", "0.3.325"
TYPESCRIPT, TYPESCRIPT_VERSION = "typescript", "5.9.3"


def hook(data: Path, name: str, given: Any, **environ: str) -> Any:
    """What a hook prints, as the client reads it; it must end well and quietly."""
    ran = subprocess.run(
        [sys.executable, "-m", "memolith.doors.main", "hook", name, "--data", str(data)],
        input=given if isinstance(given, bytes) else json.dumps({**BASE, **given}).encode(),
        capture_output=True,
        timeout=60,
        env={**os.environ, **environ},
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    return json.loads(ran.stdout) if ran.stdout else None


def test_the_folder_can_be_named_in_either_form(tmp_path: Path) -> None:
    assert chosen_folder(["--data", str(tmp_path)]) == tmp_path
    assert chosen_folder([f"--data={tmp_path}"]) == tmp_path


def context(shown: Any, event: str) -> str:
    assert shown.keys() == {"hookSpecificOutput"}
    assert shown["hookSpecificOutput"]["hookEventName"] == event
    text: str = shown["hookSpecificOutput"]["additionalContext"]
    return text


def written(folder: Path, *entries: Any) -> dict[str, str]:
    """The input of a hook that comes before compaction, with a transcript of these entries."""
    file = folder / "transcript.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return {"transcript_path": str(file), "trigger": "auto"}


def entry(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}, **more}


def kept(data: Path) -> list[tuple[str, str | None]]:
    app = open_app(Settings(data=data, embedder="none"))
    items = app.engine.reading.list_items(ME, sort="created_at", descending=False, limit=1000).items
    found = [
        ("\n".join(block.text for block in app.engine.reading.read(ME, item.id)[1]), item.namespace)
        for item in items
    ]
    app.close()
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    app = open_app(Settings(data=folder, embedder="none"))
    for text, namespace in (
        ("We decided to use PostgreSQL for the primary storage.", "decisions"),
        ("The tomatoes need more water in July.", None),
        ("Never log a token.\nIt stays in the file.", "patterns"),
    ):
        app.engine.writing.remember(ME, note(text, namespace=namespace))
    app.engine.writing.remember(
        ME, note("an old thing about PostgreSQL storage", status="superseded")
    )
    app.close()
    return folder


def test_a_session_starts_with_the_newest_memories_within_a_budget(data: Path) -> None:
    text = context(hook(data, "session-start", {"source": "startup"}), "SessionStart")
    assert text.splitlines()[2:] == [
        "- patterns: Never log a token. It stays in the file.",
        "- context: The tomatoes need more water in July.",
        "- decisions: We decided to use PostgreSQL for the primary storage.",
    ]
    app = open_app(Settings(data=data, embedder="none"))
    for n in range(60):
        app.engine.writing.remember(ME, note(f"Fact {n}: " + "word " * 50))
    app.close()
    long = context(hook(data, "session-start", {"source": "resume"}), "SessionStart")
    assert "Fact 59" in long
    assert "PostgreSQL" not in long
    assert len(long) < 5000


def test_a_prompt_brings_what_fits_it_and_advice_where_it_sounds_worth_keeping(data: Path) -> None:
    text = context(
        hook(data, "prompt", {"prompt": "Which storage do we use, PostgreSQL?"}), "UserPromptSubmit"
    )
    assert "We decided to use PostgreSQL" in text
    assert "tomatoes" not in text
    assert "an old thing" not in text
    assert "subcog_capture" not in text
    text = context(
        hook(data, "prompt", {"prompt": "So we are going with violet zebras, TODO"}),
        "UserPromptSubmit",
    )
    assert "(decisions, tech-debt)" in text
    assert hook(data, "prompt", {"prompt": "Thank you very much, dear friend"}) is None
    assert hook(data, "prompt", {"prompt": " "}) is None


def test_stop_only_advises(data: Path) -> None:
    assert (
        "decisions"
        in hook(data, "stop", {"last_assistant_message": "We chose violet zebras."})[
            "systemMessage"
        ]
    )
    assert hook(data, "stop", {"last_assistant_message": "Fine."}) is None
    assert hook(data, "stop", {}) is None
    assert len(kept(data)) == 4


def test_what_sounds_worth_it_is_kept_before_compaction_and_only_once(tmp_path: Path) -> None:
    data = tmp_path / "new"
    given = written(
        tmp_path,
        entry(
            "user",
            "We decided to use PostgreSQL for the primary storage.\n\nHello, how do you do today?",
        ),
        entry(
            "assistant",
            [
                {"type": "text", "text": "TIL that the log needs a checkpoint."},
                {"type": "thinking", "thinking": "We decided something in secret here."},
                {"type": "tool_use", "input": {"command": "echo we decided on this and that"}},
            ],
        ),
        entry("user", [{"type": "tool_result", "content": "we decided what a tool says"}]),
        entry("user", "we DECIDED to use PostgreSQL for the  primary storage."),
        entry("user", "We decided to use PostgreSQL for the primary storage. Yes!"),
        entry("user", "We decided short."),
        entry("user", "<command-name>we decided, says the client</command-name>"),
        entry("user", "We decided what nobody typed.", isMeta=True),
        {"type": "summary", "summary": "We decided all."},
        "no object",
        entry("user", None),
        {"type": "user"},
    )
    shown = hook(data, "pre-compact", given)
    assert shown == {
        "systemMessage": "memolith kept 1 decisions, 1 learnings from this conversation."
    }
    assert kept(data) == [
        ("We decided to use PostgreSQL for the primary storage.", "decisions"),
        ("TIL that the log needs a checkpoint.", "learnings"),
    ]
    assert hook(data, "pre-compact", given) is None
    again = written(
        tmp_path,
        entry("user", "We decided to use MariaDB for the secondary storage of all images."),
    )
    assert hook(data, "pre-compact", again)["systemMessage"].startswith("memolith kept 1 decisions")


def test_secrets_are_not_kept_and_much_is_cut(tmp_path: Path) -> None:
    data = tmp_path / "new"
    given = written(
        tmp_path,
        entry("user", "We decided on the key ghp_" + "a1B2" * 9),
        entry(
            "user",
            "We chose, after some weeks of thinking, to use this key from now on ghp_" + "c3D4" * 9,
        ),
        *(
            entry("user", f"We decided on number {n * 7919} of a {n}th kind, for reason {n * n}.")
            for n in range(60)
        ),
    )
    hook(data, "pre-compact", given)
    texts = [text for text, _ in kept(data)]
    assert texts[0] == "We decided on the key [REDACTED]"
    assert len(texts) == MAX_SAVED
    # The second one lies where a title ends.
    whole = b"".join(file.read_bytes() for file in data.rglob("*") if file.is_file())
    assert b"c3D4" not in whole
    assert b"We chose, after some weeks" in whole


def test_settings_of_ones_own_are_heeded(data: Path, tmp_path: Path) -> None:
    given = written(
        tmp_path, entry("user", "We decided on the key ghp_" + "a1B2" * 9 + " for the zebra house")
    )
    assert hook(data, "pre-compact", given, MEMOLITH_SECRETS="block") is None
    assert "BlockedContent" in (data / "hooks.log").read_text(encoding="utf-8")
    (data / "memolith.toml").write_text("max_tags = 50\n", encoding="utf-8")
    assert "PostgreSQL" in context(hook(data, "session-start", {}), "SessionStart")


def test_a_hook_acts_in_the_project_of_the_repository_around_it(data: Path, tmp_path: Path) -> None:
    repo, ours = tmp_path / "repo", "github.com/acme/widgets"
    (repo / "src").mkdir(parents=True)
    (repo / ".git").mkdir()
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (repo / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{ours}.git\n')
    app = open_app(Settings(data=data, embedder="none"))
    for user, project in (("mate", ours), (ME.user, "github.com/acme/gears")):
        app.engine.writing.remember(
            Caller(user=user),
            note(f"Zebras of {project} by {user}.", project=project, audience=Audience.PROJECT),
        )
    app.close()
    here = {"cwd": str(repo / "src")}
    text = context(hook(data, "session-start", here), "SessionStart")
    assert f"Zebras of {ours} by mate." in text
    assert "tomatoes" in text, "what belongs to no project is of use in all of them"
    assert "gears" not in text
    assert "Zebras" not in context(hook(data, "session-start", {}), "SessionStart")
    asked = {"prompt": "What about the zebras of the widgets by a mate?"}
    assert "by mate." in context(hook(data, "prompt", {**asked, **here}), "UserPromptSubmit")
    assert hook(data, "prompt", asked) is None, "notes of other projects stay where they belong"
    given = {
        **written(tmp_path, entry("user", "We decided on violet stripes for the logo of the zoo.")),
        **here,
    }
    for environ in ({}, {"MEMOLITH_MAX_TAGS": "50"}):
        hook(data, "pre-compact", given, **environ)
    app = open_app(Settings(data=data, embedder="none"))
    (item,) = app.engine.reading.list_items(replace(ME, project=ours), Filter(title="violet")).items
    assert (item.project, item.audience, item.owner) == (ours, "project", ME.user)
    assert item.attributes == {"source": "transcript", "branch": "feature/x"}
    app.close()


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("prompt", b"not json"),
        ("prompt", b"[]"),
        ("prompt", b"\xff"),
        ("prompt", {}),
        ("nonsense", {}),
        ("pre-compact", {"transcript_path": "/nowhere/at/all"}),
        ("prompt", {"prompt": 3}),
    ],
)
def test_whatever_fails_is_silent_for_the_client_and_loud_in_the_log(
    data: Path, name: str, given: bytes | dict[str, Any]
) -> None:
    assert hook(data, name, given) is None
    log = (data / "hooks.log").read_text(encoding="utf-8")
    assert re.match(r"\d{4}-\d\d-\d\dT[\d:]+Z hook \['" + name, log)
    assert "Error" in log


def test_a_damaged_database_is_silent_for_the_client_and_loud_in_the_log(data: Path) -> None:
    (data / "memolith.db").write_bytes(b"damaged" * 1000)
    assert hook(data, "prompt", {"prompt": "PostgreSQL"}) is None
    assert "StoreCorrupt" in (data / "hooks.log").read_text(encoding="utf-8")


def test_where_nothing_was_remembered_nothing_is_made(tmp_path: Path) -> None:
    for name in ("session-start", "prompt"):
        assert hook(tmp_path / "none", name, {"prompt": "PostgreSQL"}) is None
    assert not (tmp_path / "none").exists()


def test_a_hook_imports_neither_pydantic_nor_the_model(data: Path) -> None:
    code = (
        'import io, sys; sys.stdin = io.StringIO(\'{"prompt": "PostgreSQL storage"}\'); '
        "from memolith.doors.main import main; main(['hook', 'prompt', '--data', sys.argv[1]]); "
        "print([name for name in ('pydantic', 'mcp', 'onnxruntime', 'numpy', 'argparse') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(data)], capture_output=True, text=True, check=True
    )
    assert "We decided" in ran.stdout
    assert ran.stdout.endswith("[]\n")


def test_signal_words_are_whole_words_in_any_case() -> None:
    assert signals("We are GOING WITH it") == ["decisions"]
    assert signals("until hacking, whichever") == []
    for name, (_, words) in NAMESPACES.items():
        assert all(name in signals(f"so {word} it is") for word in words)


# Against what the client has published


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Checks values against published types with the real compiler; gives its complaints."""
    try:
        node, compiler = install(TYPESCRIPT, TYPESCRIPT_VERSION)
        types = {
            "Settings": install(SETTINGS, SETTINGS_VERSION)[1] / "index.d.ts",
            "SDK": install(SDK, SDK_VERSION)[1] / "sdk.d.ts",
        }
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"the published types cannot be had from npm: {error}")
    folder = tmp_path_factory.mktemp("types")

    def complaints(module: str, name: str, value: Any) -> str:
        (folder / "value.ts").write_text(
            f"import type {{ {name} }} from {json.dumps(str(types[module]))};\n"
            f"export const value: {name} = {json.dumps(value)};\n",
            encoding="utf-8",
        )
        ran = subprocess.run(
            [
                node,
                str(compiler / "bin" / "tsc"),
                "--noEmit",
                "--strict",
                "--skipLibCheck",
                "--target",
                "esnext",
                "--module",
                "esnext",
                "--moduleResolution",
                "bundler",
                "--allowImportingTsExtensions",
                str(folder / "value.ts"),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        return ran.stdout + ran.stderr

    return complaints


@pytest.mark.full
def test_the_installed_configuration_fits_the_published_schema(check: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(
        [sys.executable, "-m", "memolith.doors.main", "install", "claude-code", "--hooks", "--yes"],
        check=True,
        capture_output=True,
        env={**os.environ, "HOME": str(home)},
    )
    settings = json.loads((home / ".claude" / "settings.json").read_text(encoding="utf-8"))
    assert list(settings["hooks"]) == list(EVENTS.values())
    assert check("Settings", "ClaudeCodeSettings", settings) == ""
    settings["hooks"]["Stop"][0]["hooks"][0]["timeout"] = "10"
    assert "not assignable to type 'number'" in check("Settings", "ClaudeCodeSettings", settings)


@pytest.mark.full
def test_what_hooks_print_fits_the_published_types(check: Any, data: Path, tmp_path: Path) -> None:
    given = written(tmp_path, entry("user", "We decided on violet zebras for the logo of the zoo."))
    for name, told in (
        ("session-start", {}),
        ("prompt", {"prompt": "PostgreSQL storage"}),
        ("pre-compact", given),
        ("stop", {"last_assistant_message": "We chose violet zebras."}),
    ):
        shown = hook(data, name, told)
        assert check("SDK", "SyncHookJSONOutput", shown) == ""
    assert "PreCompact" in check(
        "SDK", "SyncHookJSONOutput", {"hookSpecificOutput": {"hookEventName": "PreCompact"}}
    )


def session(data: Path, id: str) -> list[tuple[str, str, list[str]]]:
    """What was written down of a session: the type, the hook, and the texts of the items."""
    app = open_app(Settings(data=data, embedder="none"))
    told = []
    for moment in app.engine.sessions.show(ME, id).moments:
        titles = [entry.title for entry in moment.items]
        told.append((moment.event.type, moment.hook, titles))
    app.close()
    return told


def test_what_a_session_was_given_and_what_was_kept_of_it_is_written_down(
    data: Path, tmp_path: Path
) -> None:
    hook(data, "session-start", {"source": "startup", "session_id": "work"})
    hook(data, "prompt", {"prompt": "Which storage, PostgreSQL?", "session_id": "work"})
    hook(data, "prompt", {"prompt": "Nothing like this is known.", "session_id": "work"})
    said = written(tmp_path, entry("user", "We decided to keep the bees on the roof."))
    hook(data, "pre-compact", {**said, "session_id": "work"})
    start, prompt, compact = session(data, "work")
    assert start[:2] == ("injected", "SessionStart")
    assert len(start[2]) == 3
    assert prompt[:2] == ("injected", "UserPromptSubmit")
    assert any("PostgreSQL" in title for title in prompt[2])
    assert compact == ("kept", "PreCompact", ["We decided to keep the bees on the roof."])


def test_a_client_that_names_no_session_is_answered_all_the_same(data: Path) -> None:
    assert hook(data, "session-start", {"source": "startup", "session_id": ""})
    app = open_app(Settings(data=data, embedder="none"))
    assert app.engine.sessions.list(ME, SessionSearch(), 10).total == 0
    app.close()


def test_a_hook_answers_also_while_another_program_writes(data: Path) -> None:
    app = open_app(Settings(data=data, embedder="none"))
    with app.store.writing(ME.tenant):
        assert hook(data, "session-start", {"source": "startup", "session_id": "busy"})
    assert app.engine.sessions.list(ME, SessionSearch(), 10).total == 0
    app.close()


def test_a_line_of_a_transcript_ends_only_with_a_line_feed(tmp_path: Path) -> None:
    said = "We decided to use PostgreSQL\u2028because of row-level security in every table."
    entry = {"type": "user", "message": {"role": "user", "content": said}}
    path = tmp_path / "transcript.jsonl"
    path.write_text(json.dumps(entry, ensure_ascii=False) + "\n", encoding="utf-8")
    assert list(marked_paragraphs(path)) == [said]
