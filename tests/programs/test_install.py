"""`memolith install` and `uninstall`: what becomes of the config file of each client, byte by byte."""

from __future__ import annotations

import io
import json
import os
import random
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from memolith.doors.cli.parser import parse
from memolith.doors.cli.program import run_command
from memolith.doors.install.change import backup_of
from memolith.doors.install.clients import CLIENTS
from memolith.doors.install.formats import FORMATS
from memolith.doors.install.launch import launch_command
from memolith.doors.install.locations import config_files, existing_first, user_files
from memolith.errors import AlreadyExists, Conflict, Denied, InvalidInput
from tests.checked import present
from tests.programs.children import SRC

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "clients.md"
VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "CLINE_MCP_SETTINGS_PATH",
    "CLINE_DATA_DIR",
    "CLINE_DIR",
    "XDG_CONFIG_HOME",
    "APPDATA",
    "LOCALAPPDATA",
)
SHARED = [name for name, client in CLIENTS.items() if client.servers.project_file]
BROKEN = {
    "JSON": ['{"mcpServers": {"x": }', '{"servers": {} /* never closed'],
    "TOML": ["[mcp_servers.x\na ="],
}

SAMPLES = {
    "claude-code": """{
  "numStartups": 41,
  "tipsHistory": {"new-user-warmup": 1, "shift-enter":27},
  "mcpServers": {
    "größe": {
      "type": "stdio",
      "command": "npx", "args": ["-y", "日本語"],
      "env": {}
    }
  },
  "projects": { "/home/ü": { "mcpServers": {} } }
}""",
    "claude-desktop": '{"globalShortcut":"Ctrl+Ü","mcpServers":{"fs":{"command":"npx","args":["a, b","{"]}},"scale":0}',
    "cursor": """// servers for every project
{
\t"mcpServers": {
\t\t// "old": { "command": "gone" },
\t\t"github": { "command": "docker", "args": ["run", "-i"] }, // tail, with a comma
\t\t/* kept */
\t\t"naïve": { "url": "https://example.com/mcp" } // the last one
\t}
}
""",
    "vscode": """{
    "inputs": [
        {"id": "key", "type": "promptString",},
    ],
    "servers": {
        "memory": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-memory"],
        },
        "zürich": {"type": "http", "url": "https://example.com/mcp"}, // 東京
    },
}
""",
    "cline": """{
  "mcpServers": {}
}
""",
    "codex": '''# Meine Einstellungen – bitte nicht ändern
model = "gpt-5"   # a comment with [brackets]
note = """
[mcp_servers.memolith]
command = "only a text"
"""

[mcp_servers.docs]   # 文書
command = 'npx'
args = [
  "-y", # yes
  "docs",
]

[mcp_servers.docs.env]
KEY = "ü"

# about the terminal
[tui]
notifications = true
''',
    "gemini-cli": """{
  // theme
  "theme": "Größe",

  "selectedAuthType": "gemini-api-key"
  /* no servers yet */
}
""",
    "windsurf": "{ }\n",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a project folder to stand in; nothing of the real user can be reached."""
    made, project = tmp_path / "home", tmp_path / "project"
    made.mkdir()
    project.mkdir()
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("USERPROFILE", str(made))
    monkeypatch.chdir(project)
    return made


def run(*arguments: str) -> int:
    return run_command(parse(list(arguments)))


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def file_of(name: str, scope: str = "user") -> Path:
    return config_files(CLIENTS[name], CLIENTS[name].servers, scope)[0]


def give(name: str, text: str) -> Path:
    file = file_of(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def said(name: str, file: Path) -> dict[str, Any]:
    return FORMATS[CLIENTS[name].servers.format].read(file.read_bytes().decode())


def servers(name: str, file: Path) -> dict[str, Any]:
    return dict(said(name, file)[CLIENTS[name].servers.section])


def is_only_added_to(before: str, after: str) -> bool:
    """Whether every character of the old text is still there, in its order."""
    rest = iter(after)
    return all(character in rest for character in before)


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def variants() -> list[Any]:
    return [
        pytest.param(name, text.replace("\n", line), id=f"{name}-{kind}")
        for name, text in SAMPLES.items()
        for kind, line in (("lf", "\n"), ("crlf", "\r\n"))
    ]


# Every client, with a file that a person wrote


def test_every_client_has_a_sample_and_a_page() -> None:
    assert (
        set(SAMPLES)
        == set(CLIENTS)
        == {
            "claude-code",
            "claude-desktop",
            "cursor",
            "vscode",
            "cline",
            "codex",
            "gemini-cli",
            "windsurf",
        }
    )
    page = DOCS.read_text(encoding="utf-8")
    sections = {part.split("\n")[0]: part for part in page.split("\n## ")[1:]}
    for name, client in CLIENTS.items():
        section = next(part for part in sections.values() if f"memolith install {name}\n" in part)
        texts = re.findall(r"```(?:json|toml)\n(.*?)```", section, re.DOTALL)
        shown = [FORMATS[client.servers.format].read(text) for text in texts]
        wanted = {
            **({"type": "stdio"} if client.states_type else {}),
            "command": "/home/you/.local/bin/memolith",
            "args": ["stdio", "--tools", client.profile],
        }
        assert {client.servers.section: {"memolith": wanted}} in shown


@pytest.mark.parametrize(("name", "text"), variants())
def test_install_adds_the_entry_and_leaves_every_other_byte(name: Any, text: Any) -> None:
    file = give(name, text)
    before = said(name, file)
    assert run("install", name, "--yes") == 0
    after = file.read_bytes().decode()
    entry = servers(name, file).pop("memolith")
    assert entry["args"][-3:] == ["stdio", "--tools", CLIENTS[name].profile]
    assert Path(entry["command"]).is_absolute()
    assert entry.get("type") == ("stdio" if name in ("claude-code", "vscode") else None)
    rest = said(name, file)
    del rest[CLIENTS[name].servers.section]["memolith"]
    assert rest == {CLIENTS[name].servers.section: {}} | before
    assert [key for key in rest if key in before] == list(before)
    assert is_only_added_to(text, after)
    assert after.endswith("\n") == text.endswith("\n")
    assert ("\r\n" in after) == ("\r\n" in text)
    assert "\r\n" not in text or "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize(("name", "text"), variants())
def test_installing_twice_changes_nothing_and_says_so(
    name: Any, text: Any, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = give(name, text)
    assert run("install", name, "--yes") == 0
    first, written = everything(home), file.stat().st_mtime_ns
    capsys.readouterr()
    assert run("install", name) == 0
    assert "nothing was changed" in capsys.readouterr().err
    assert (everything(home), file.stat().st_mtime_ns) == (first, written)


@pytest.mark.parametrize(("name", "text"), variants())
def test_uninstall_gives_the_original_bytes_back(name: Any, text: Any, home: Path) -> None:
    file = give(name, text)
    before = everything(home)
    assert run("install", name, "--yes") == 0
    assert backup_of(file).read_bytes() == text.encode()
    assert run("install", name, "--yes", "--profile", "chatgpt") == 0
    assert servers(name, file)["memolith"]["args"][-1] == "chatgpt"
    assert run("uninstall", name, "--yes") == 0
    assert everything(home) == before


@pytest.mark.parametrize("name", CLIENTS)
def test_a_file_that_was_not_there_comes_and_goes(
    name: Any, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = asked(capsys, "install", name, "--yes")
    file = Path(made["file"])
    folders = file.with_name(file.name + ".memolith-folders")
    present = [path for path in (file, folders) if path.exists()]
    assert everything(home) == {
        str(path.relative_to(home.resolve())): path.read_bytes() for path in present
    }
    assert said(name, file) == {CLIENTS[name].servers.section: {"memolith": made["entry"]}}
    assert file.read_bytes().endswith(b"\n")
    assert asked(capsys, "uninstall", name, "--yes")["written"]
    assert list(home.rglob("*")) == [], "the folders that were made are gone, too"


def test_a_folder_that_was_there_or_is_used_by_now_stays(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".cursor").mkdir()
    asked(capsys, "install", "cursor", "--yes")
    asked(capsys, "uninstall", "cursor", "--yes")
    assert list(home.rglob("*")) == [home / ".cursor"]
    asked(capsys, "install", "gemini-cli", "--yes")
    (home / ".gemini" / "GEMINI.md").write_text("notes", encoding="utf-8")
    asked(capsys, "uninstall", "gemini-cli", "--yes")
    assert list((home / ".gemini").iterdir()) == [home / ".gemini" / "GEMINI.md"]


def test_the_data_folder_of_the_environment_is_written_into_the_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMOLITH_DATA", str(tmp_path / "named"))
    entry = asked(capsys, "install", "cursor", "--yes")["entry"]
    assert entry["args"][-2:] == ["--data", str(tmp_path / "named")]
    given = str(tmp_path / "given")
    entry = asked(capsys, "install", "cursor", "--yes", "--data", given)["entry"]
    assert entry["args"][-2:] == ["--data", given], "a flag counts more"


def test_the_hooks_come_in_the_same_step(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, "install", "claude-code", "--yes", "--with-hooks")
    assert told["name"] == "memolith"
    assert "SessionStart" in told["hooks"]["entry"]
    settings = json.loads((home / ".claude" / "settings.json").read_text(encoding="utf-8"))
    assert "SessionStart" in settings["hooks"]
    assert "mcpServers" in json.loads((home / ".claude.json").read_text(encoding="utf-8"))


class Terminal(io.StringIO):
    """Standard input of somebody who sits at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "wanted"), [("y", True), ("", False)])
def test_the_hooks_are_offered_at_a_terminal(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, wanted: bool
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(f"y\n{answer}\ny\n"))
    assert run("install", "claude-code") == 0
    assert (home / ".claude" / "settings.json").exists() == wanted


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_broken_file_is_refused_by_name_and_left_alone(
    name: Any, command: str, home: Path
) -> None:
    for text in BROKEN[CLIENTS[name].servers.format]:
        file = give(name, text)
        before = everything(home)
        with pytest.raises(InvalidInput) as error:
            run(command, name, "--yes")
        assert str(file) in error.value.message
        assert everything(home) == before


@pytest.mark.parametrize("name", CLIENTS)
def test_a_dry_run_shows_the_change_and_writes_nothing(
    name: Any, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("install", name, "--dry-run") == 0
    assert "+" in capsys.readouterr().out
    assert list(home.iterdir()) == []
    give(name, SAMPLES[name])
    before = everything(home)
    shown = asked(capsys, "install", name, "--dry-run")
    assert (shown["changed"], shown["written"], shown["backup"]) == (True, False, None)
    assert shown["diff"].startswith(f"--- {shown['file']}\n+++ {shown['file']}\n@@ ")
    assert everything(home) == before
    run("install", name, "--yes")
    installed = everything(home)
    assert asked(capsys, "uninstall", name, "--dry-run")["changed"]
    assert everything(home) == installed


@pytest.mark.parametrize("answer", ["no\n", "\n", ""])
def test_a_question_that_is_not_answered_with_yes_writes_nothing(
    answer: str, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    give("cursor", SAMPLES["cursor"])
    before = everything(home)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    with pytest.raises(Denied):
        run("install", "cursor")
    shown = capsys.readouterr()
    assert '+\t\t"memolith": {' in shown.out
    assert "[y/N]" in shown.err
    assert everything(home) == before


def test_yes_is_taken_for_an_answer_and_standard_output_stays_one_document(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Yes\n"))
    assert run("install", "codex", "--json") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["written"] is True
    assert "+[mcp_servers.memolith]" in shown.err


# Scopes, profiles, names, data


@pytest.mark.parametrize("name", CLIENTS)
def test_a_project_has_its_own_file_where_the_client_reads_one(
    name: Any, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name not in SHARED:
        with pytest.raises(InvalidInput) as error:
            run("install", name, "--scope", "project", "--yes")
        assert error.value.field == "scope"
        return
    made = asked(capsys, "install", name, "--scope", "project", "--yes")
    assert Path(made["file"]) == Path.cwd() / present(CLIENTS[name].servers.project_file)
    assert everything(home) == {}
    assert not asked(capsys, "uninstall", name, "--yes")["changed"]
    assert asked(capsys, "uninstall", name, "--scope", "project", "--yes")["written"]
    assert everything(Path.cwd()) == {}


def test_the_profile_suits_the_client_or_is_the_one_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert [name for name, client in CLIENTS.items() if client.profile != "core"] == ["claude-code"]
    assert (
        asked(capsys, "install", "cursor", "--yes", "--profile", "all")["entry"]["args"][-1]
        == "all"
    )
    with pytest.raises(InvalidInput):
        run("install", "cursor", "--yes", "--profile", "no-such-family")


def test_a_data_folder_is_written_as_an_absolute_path(capsys: pytest.CaptureFixture[str]) -> None:
    made = asked(capsys, "install", "codex", "--yes", "--data", "mine/ü")
    assert made["entry"]["args"][-5:] == [
        "stdio",
        "--tools",
        "core",
        "--data",
        str(Path.cwd() / "mine" / "ü"),
    ]
    assert servers("codex", Path(made["file"]))["memolith"] == made["entry"]


def test_a_path_that_is_not_utf8_is_refused(home: Path) -> None:
    with pytest.raises(Conflict):
        run("install", "codex", "--yes", "--data", "bad\udcff")
    assert everything(home) == {}


def test_two_names_live_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    file = give("vscode", SAMPLES["vscode"])
    for name in ("memolith", "work-notes"):
        assert asked(capsys, "install", "vscode", "--yes", "--name", name)["written"]
    assert list(servers("vscode", file)) == ["work-notes", "memolith", "memory", "zürich"]
    for name in ("memolith", "work-notes"):
        assert asked(capsys, "uninstall", "vscode", "--yes", "--name", name)["written"]
    assert said("vscode", file) == FORMATS["JSON"].read(SAMPLES["vscode"])
    assert "// 東京" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", "a b", "under_score", "x" * 31, 'quo"te', "-dash", "ü"])
def test_a_name_that_some_client_would_not_take_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as error:
        run("install", "cursor", "--yes", f"--name={name}")
    assert error.value.field == "name"


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_the_entry_of_somebody_else_is_never_touched(name: str, home: Path) -> None:
    give(name, SAMPLES[name])
    before, other = everything(home), {"cursor": "github", "codex": "docs"}[name]
    with pytest.raises(AlreadyExists):
        run("install", name, "--yes", "--name", other)
    with pytest.raises(Conflict):
        run("uninstall", name, "--yes", "--name", other)
    assert everything(home) == before


def test_uninstall_where_nothing_is_installed_says_so(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give("gemini-cli", SAMPLES["gemini-cli"])
    before = everything(home)
    assert run("uninstall", "gemini-cli") == 0
    assert "has no memolith; nothing was changed" in capsys.readouterr().err
    assert everything(home) == before
    assert run("uninstall", "cursor") == 0
    assert everything(home) == before


def test_the_only_server_of_a_toml_file_that_was_changed_meanwhile_can_be_taken_out(
    home: Path,
) -> None:
    file = give("codex", 'model = "o4"\n')
    assert run("install", "codex", "--yes") == 0
    file.write_text('sandbox = "ro"\n' + file.read_text())
    assert run("uninstall", "codex", "--yes") == 0
    assert file.read_text() == 'sandbox = "ro"\nmodel = "o4"\n'


def test_hooks_of_others_are_left_as_they_are_whatever_they_hold(home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"hooks": {"PreCompact": []}}')
    assert run("uninstall", "claude-code", "--hooks", "--yes") == 0
    assert file.read_text() == '{"hooks": {"PreCompact": []}}'
    file.write_text('{"hooks": {"PreCompact": {"a": 1}}}')
    with pytest.raises(InvalidInput, match="not a list"):
        run("uninstall", "claude-code", "--hooks", "--yes")


# What others did to the file meanwhile


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_what_the_client_added_to_the_entry_survives_an_update(name: str) -> None:
    file = give(name, SAMPLES[name])
    run("install", name, "--yes")
    text = file.read_text(encoding="utf-8")
    added = (
        ('"--tools",', '"--tools", /* why */'),
        ('"memolith": {', '"memolith": {"timeout": 90,'),
    )
    if name == "codex":
        added = (
            (
                "[mcp_servers.memolith]\ncommand",
                "[mcp_servers.memolith]\nstartup_timeout_sec = 9.5\ncommand",
            ),
            (
                '"core"]\n',
                '"core"] # end\n\n[mcp_servers.memolith.env]\nA = "1"\n\n# next\n[history]\nx = 1\n',
            ),
        )
    for old, new in added:
        text = new.join(text.rsplit(old, 1))
    file.write_text(text, encoding="utf-8")
    before = servers(name, file)["memolith"]
    run("install", name, "--yes", "--profile", "chatgpt")
    assert servers(name, file)["memolith"] == before | {"args": [*before["args"][:-1], "chatgpt"]}
    run("uninstall", name, "--yes")
    rest = file.read_text(encoding="utf-8")
    assert rest == SAMPLES[name] + ("\n# next\n[history]\nx = 1\n" if name == "codex" else "")


@pytest.mark.parametrize("name", ["claude-code", "cursor", "codex"])
def test_changes_since_the_install_stay_when_the_entry_goes(name: str) -> None:
    file = give(name, SAMPLES[name])
    run("install", name, "--yes")
    text = file.read_text(encoding="utf-8")
    later = {
        "claude-code": ('"numStartups": 41', '"numStartups": 42'),
        "cursor": ("/* kept */", "/* kept, changed */"),
        "codex": ("notifications = true", "notifications = false # quiet"),
    }[name]
    file.write_text(text.replace(*later), encoding="utf-8")
    run("uninstall", name, "--yes")
    assert file.read_text(encoding="utf-8") == SAMPLES[name].replace(*later)


def test_a_file_that_changes_while_the_question_stands_is_not_overwritten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = give("claude-code", SAMPLES["claude-code"])

    class Slow(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            file.write_text('{"numStartups": 42}', encoding="utf-8")
            return "yes\n"

    monkeypatch.setattr(sys, "stdin", Slow())
    with pytest.raises(Conflict):
        run("install", "claude-code")
    assert file.read_text(encoding="utf-8") == '{"numStartups": 42}'
    assert not backup_of(file).exists()


def test_a_stale_backup_is_not_given_back() -> None:
    file = give("cursor", SAMPLES["cursor"])
    backup_of(file).write_text('{"mcpServers": {"stale": {"command": "x"}}}', encoding="utf-8")
    run("install", "cursor", "--yes")
    run("uninstall", "cursor", "--yes")
    assert file.read_text(encoding="utf-8") == SAMPLES["cursor"]
    backup_of(file).write_text("{ broken", encoding="utf-8")
    entry = {"command": "/x/memolith", "args": []}
    file.write_text(FORMATS["JSON"].edit("", "mcpServers", "memolith", entry), encoding="utf-8")
    run("uninstall", "cursor", "--yes")
    assert said("cursor", file) == {"mcpServers": {}}


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes are a matter of POSIX here")
def test_links_stay_links_and_private_files_stay_private(home: Path) -> None:
    kept = home / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    kept.write_text(SAMPLES["claude-code"], encoding="utf-8")
    kept.chmod(0o600)
    (home / ".claude.json").symlink_to(kept)
    run("install", "claude-code", "--yes")
    assert (home / ".claude.json").is_symlink()
    assert "memolith" in servers("claude-code", kept)
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept.parent.iterdir()} == {0o600}
    assert {path.name for path in kept.parent.iterdir()} == {
        "claude.json",
        "claude.json.memolith-backup",
    }
    run("uninstall", "claude-code", "--yes")
    assert kept.read_text(encoding="utf-8") == SAMPLES["claude-code"]
    run("install", "cursor", "--yes")
    assert stat.S_IMODE(file_of("cursor").stat().st_mode) == 0o600


# Texts of every kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "{}",
        "{}\n",
        "\ufeff{}\n",
        "// nothing yet\n",
        "{ // none\n}",
        '{"mcpServers": {}}',
        '{"mcpServers":{}}',
        '{"mcpServers": { }, "a": 1}',
        '{"mcpServers": {"x": {"command": "y"}}}',
        '{"mcpServers":{"x":{"command":"y"},}}',
        '{\n"mcpServers": {\n"x": {}\n}\n}',
        '{\n\t"mcpServers": {\n\t\t"x": {},\n\t}\n}\n',
        '{"a": {\n  "b": 1\n}}',
        '{"mcpServers": {"x": {} // one\n}}',
        '{\n  "mcpServers": {\n    // "old": {}\n  }\n}\n',
        '{"mcpServers": {"x": {}} /* } */ , "mcp": "memolith"}',
        '{"mcpServers": {"a": 1}, "mcpServers": {"b": {}}}',
    ],
)
@pytest.mark.parametrize("name", ["claude-desktop", "cursor"])
def test_any_way_of_writing_json_takes_the_entry_and_gives_it_back(
    text: str, name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = give(name, text)
    before = FORMATS["JSON"].read(text)
    made = asked(capsys, "install", name, "--yes")
    assert said(name, file) == {
        **before,
        "mcpServers": {**before.get("mcpServers", {}), "memolith": made["entry"]},
    }
    assert is_only_added_to(text, file.read_bytes().decode())
    assert not asked(capsys, "install", name, "--yes")["changed"]
    run("uninstall", name, "--yes")
    assert everything(home) == {str(file.relative_to(home.resolve())): text.encode()}


def test_the_entry_has_lines_where_others_have_several() -> None:
    present = '{\r\n\t"hooks": {\r\n\t\t"x": {\r\n\t\t\t"a": 1\r\n\t\t}\r\n\t}\r\n}'
    assert FORMATS["JSON"].edit(present, "hooks", "m", {"b": 2}) == present.replace(
        '"x"', '"m": {\r\n\t\t\t"b": 2\r\n\t\t},\r\n\t\t"x"'
    )


def test_the_entry_is_one_line_where_others_have_lines() -> None:
    assert FORMATS["JSON"].edit('{"mcpServers": {"x": {}}}', "mcpServers", "m", {"a": 1}) == (
        '{"mcpServers": {"m": {"a": 1}, "x": {}}}'
    )
    assert FORMATS["JSON"].edit(
        '{\r\n\t"mcpServers": {\r\n\t\t"x": {} // x\r\n\t}\r\n}', "mcpServers", "m", {"a": 1}
    ) == ('{\r\n\t"mcpServers": {\r\n\t\t"m": {"a": 1},\r\n\t\t"x": {} // x\r\n\t}\r\n}')
    assert (
        FORMATS["JSON"].edit('{\n    "a": 1\n}\n', "servers", "m", {})
        == '{\n    "servers": {"m": {}},\n    "a": 1\n}\n'
    )
    assert (
        FORMATS["JSON"].edit("", "servers", "m", {}) == '{\n  "servers": {\n    "m": {}\n  }\n}\n'
    )


def json_text(chance: random.Random, depth: int, line: str, key: str) -> str:
    """An object that a careless person could have written."""

    def gap() -> str:
        return chance.choice(
            ["", " ", "\t", line, line + "  ", f" // c, {{{line}", " /* a, } */ ", f"/* m{line}*/"]
        )

    def value() -> str:
        plain = [
            "1",
            "-2.5e3",
            "null",
            '"a // b"',
            '"/* x */"',
            '"q\\"},{"',
            '"日本"',
            "[]",
            "[1, {}]",
        ]
        return (
            chance.choice(plain)
            if depth <= 0 or chance.random() < 0.5
            else json_text(chance, depth - 1, line, "k")
        )

    names = [key, *chance.sample(["a", 'ü\\"k', "x{", "//no"], chance.randint(0, 3))]
    chance.shuffle(names)
    members = [
        f'{gap()}"{name}"{gap()}:{gap()}'
        f"{json_text(chance, depth - 1, line, 's') if name == key and depth > 0 else value()}{gap()}"
        for name in names
    ]
    return "{" + ",".join(members) + ("," + gap() if chance.random() < 0.3 else "") + "}"


def test_careless_texts_lose_nothing_but_the_entry() -> None:
    entry = {"command": "memolith", "args": ["stdio", "ü"]}
    for seed in range(400):
        chance = random.Random(seed)
        text = json_text(chance, 3, chance.choice(["\n", "\r\n"]), "mcpServers")
        before = FORMATS["JSON"].read(text)
        after = FORMATS["JSON"].edit(text, "mcpServers", "memolith", entry)
        assert FORMATS["JSON"].read(after) == {
            **before,
            "mcpServers": {**before["mcpServers"], "memolith": entry},
        }, seed
        assert is_only_added_to(text, after), seed
        gone = FORMATS["JSON"].edit(after, "mcpServers", "memolith", None)
        assert FORMATS["JSON"].read(gone) == before, seed
        for mark in ("// c", "/* a", "/* m"):
            assert gone.count(mark) == text.count(mark), seed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "a = 1",
        "a = 1\n",
        "a = 1\r\n\r\n",
        "\ufeffa = 1\n",
        "[mcp_servers]\n",
        "[mcp_servers.x]\ncommand = 'y'",
        '[mcp_servers."x.y"]\ncommand = "z" # [mcp_servers.memolith]\n',
        "[[hooks]]\na = [\n  [1],\n  [2]\n]\n",
        "s = '''\n[mcp_servers.memolith]\n'''\n",
        "# only a comment",
    ],
)
def test_any_way_of_writing_toml_takes_the_entry_and_gives_it_back(
    text: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = give("codex", text)
    before = FORMATS["TOML"].read(text)
    entry = asked(capsys, "install", "codex", "--yes")["entry"]
    assert said("codex", file) == {
        **before,
        "mcp_servers": {**before.get("mcp_servers", {}), "memolith": entry},
    }
    assert file.read_bytes().decode().startswith(text)
    assert FORMATS["TOML"].edit(file.read_bytes().decode(), "mcp_servers", "memolith", None) in (
        text,
        text + "\n",
    )
    run("uninstall", "codex", "--yes")
    assert everything(home) == {str(file.relative_to(home.resolve())): text.encode()}


@pytest.mark.parametrize(
    "text",
    ['mcp_servers = { x = { command = "y" } }\n', "[mcp_servers]\nmemolith.command = 'memolith'\n"],
)
def test_a_text_that_cannot_be_edited_safely_is_refused(text: str, home: Path) -> None:
    give("codex", text)
    before = everything(home)
    with pytest.raises(Conflict, match="by hand"):
        run("install", "codex", "--yes")
    assert everything(home) == before


@pytest.mark.parametrize(
    "data",
    [b"[]", b'"text"', b'{"mcpServers": []}', b"\xff\xfe{\x00}\x00", b'{"mcpServers": null}'],
)
def test_a_file_of_another_shape_is_refused(data: bytes) -> None:
    file = give("cursor", "")
    file.write_bytes(data)
    with pytest.raises(InvalidInput, match=re.escape(str(file))):
        run("install", "cursor", "--yes")
    assert file.read_bytes() == data


# Where the files lie


@pytest.mark.parametrize(
    ("platform", "home", "env", "expected"),
    [
        (
            "linux",
            "/home/u",
            {},
            {
                "claude-code": "/home/u/.claude.json",
                "claude-desktop": "/home/u/.config/Claude/claude_desktop_config.json",
                "cursor": "/home/u/.cursor/mcp.json",
                "vscode": "/home/u/.config/Code/User/mcp.json",
                "cline": "/home/u/.cline/data/settings/cline_mcp_settings.json",
                "codex": "/home/u/.codex/config.toml",
                "gemini-cli": "/home/u/.gemini/settings.json",
                "windsurf": "/home/u/.config/devin/mcp_config.json",
            },
        ),
        (
            "linux",
            "/home/u",
            {"XDG_CONFIG_HOME": "/cfg", "CODEX_HOME": ""},
            {
                "claude-desktop": "/cfg/Claude/claude_desktop_config.json",
                "vscode": "/cfg/Code/User/mcp.json",
                "codex": "/home/u/.codex/config.toml",
            },
        ),
        (
            "darwin",
            "/Users/u",
            {},
            {
                "claude-code": "/Users/u/.claude.json",
                "claude-desktop": "/Users/u/Library/Application Support/Claude/claude_desktop_config.json",
                "cursor": "/Users/u/.cursor/mcp.json",
                "vscode": "/Users/u/Library/Application Support/Code/User/mcp.json",
                "cline": "/Users/u/.cline/data/settings/cline_mcp_settings.json",
                "codex": "/Users/u/.codex/config.toml",
                "gemini-cli": "/Users/u/.gemini/settings.json",
                "windsurf": "/Users/u/.config/devin/mcp_config.json",
            },
        ),
        (
            "win32",
            r"C:\Users\u",
            {"APPDATA": r"D:\Roaming", "LOCALAPPDATA": r"D:\Local"},
            {
                "claude-code": r"C:\Users\u\.claude.json",
                "claude-desktop": r"D:\Local\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json",
                "cursor": r"C:\Users\u\.cursor\mcp.json",
                "vscode": r"D:\Roaming\Code\User\mcp.json",
                "cline": r"C:\Users\u\.cline\data\settings\cline_mcp_settings.json",
                "codex": r"C:\Users\u\.codex\config.toml",
                "gemini-cli": r"C:\Users\u\.gemini\settings.json",
                "windsurf": r"D:\Roaming\devin\mcp_config.json",
            },
        ),
        ("win32", r"C:\Users\u", {}, {"vscode": r"C:\Users\u\AppData\Roaming\Code\User\mcp.json"}),
        (
            "linux",
            "/home/u",
            {
                "CLAUDE_CONFIG_DIR": "/c",
                "CODEX_HOME": "/x",
                "GEMINI_CLI_HOME": "/g",
                "CLINE_DIR": "/l",
            },
            {
                "claude-code": "/c/.claude.json",
                "codex": "/x/config.toml",
                "gemini-cli": "/g/.gemini/settings.json",
                "cline": "/l/data/settings/cline_mcp_settings.json",
            },
        ),
        (
            "linux",
            "/home/u",
            {"CLINE_DIR": "/l", "CLINE_MCP_SETTINGS_PATH": "/m.json"},
            {"cline": "/m.json"},
        ),
    ],
)
def test_each_platform_keeps_the_files_in_its_own_place(
    platform: str, home: str, env: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert {
        name: str(user_files(CLIENTS[name].servers, platform, env, home)[0]) for name in expected
    } == expected


def test_older_places_come_second_and_a_variable_leaves_no_other() -> None:
    second = {
        name: str(found[1])
        for name, client in CLIENTS.items()
        if len(
            found := user_files(
                client.servers, "win32", {"APPDATA": r"D:\R", "LOCALAPPDATA": r"D:\L"}, r"C:\u"
            )
        )
        > 1
    }
    assert second == {
        "claude-desktop": r"D:\R\Claude\claude_desktop_config.json",
        "vscode": r"D:\R\Code - Insiders\User\mcp.json",
        "cline": r"D:\R\Code\User\globalStorage\saoudrizwan.claude-dev\settings\cline_mcp_settings.json",
        "windsurf": r"C:\u\.codeium\windsurf\mcp_config.json",
    }
    assert (
        len(user_files(CLIENTS["cline"].servers, "linux", {"CLINE_DATA_DIR": "/d"}, "/home/u")) == 1
    )


def test_the_place_that_the_client_made_is_taken_and_found_again(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = home / ".codeium" / "windsurf" / "mcp_config.json"
    old.parent.mkdir(parents=True)
    assert Path(asked(capsys, "install", "windsurf", "--yes")["file"]) == old.resolve()
    (home / ".config" / "devin").mkdir(parents=True)
    assert file_of("windsurf") == (home / ".config" / "devin" / "mcp_config.json").resolve()
    assert Path(asked(capsys, "uninstall", "windsurf", "--yes")["file"]) == old.resolve()
    assert everything(home) == {}


def test_a_star_in_a_place_is_filled_in_from_the_folders_that_are_there(tmp_path: Path) -> None:
    package = tmp_path / "Packages" / "Claude_pzs8" / "Roaming"
    wanted = [
        PurePosixPath(f"{tmp_path}/Packages/Claude_*/Roaming/c.json"),
        PurePosixPath(f"{tmp_path}/plain/c.json"),
    ]
    assert existing_first(wanted) == [tmp_path.resolve() / "plain" / "c.json"]
    package.mkdir(parents=True)
    assert existing_first(wanted)[0] == package.resolve() / "c.json"


# The command that is written


PROGRAM = """#!{python}
import sys
from memolith.doors.main import main
if sys.argv[1] != "stdio":
    from tests.programs.test_install import run
    sys.exit(run(*sys.argv[1:]))
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a script is run by its first line")
def test_the_written_command_is_this_very_program_and_starts_the_server(
    tmp_path: Path, home: Path
) -> None:
    script = tmp_path / "bin" / "memolith"
    script.parent.mkdir()
    script.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
    script.chmod(0o755)
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([SRC, str(Path(SRC).parent)]),
        "MEMOLITH_EMBEDDER": "none",
    }
    ran = subprocess.run(
        [script, "install", "codex", "--yes", "--data", tmp_path / "data"],
        env=env,
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert b"Next: " in ran.stderr
    entry = tomllib.loads((home / ".codex" / "config.toml").read_text(encoding="utf-8"))[
        "mcp_servers"
    ]["memolith"]
    assert entry == {
        "command": str(script),
        "args": ["stdio", "--tools", "core", "--data", str(tmp_path / "data")],
    }
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    server = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(hello).encode() + b"\n",
        env=env,
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert json.loads(server.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "memolith"


def test_without_a_script_the_interpreter_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "main.py")])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert launch_command(["stdio", "--tools", "core"], None) == [
        str(tmp_path / "bin" / "python"),
        "-m",
        "memolith.doors.main",
        "stdio",
        "--tools",
        "core",
    ]


# The hooks of Claude Code

OTHERS = """{
  "model": "opus", // mine
  "hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
    "Stop": [{"hooks": [{"type": "command", "command": "cd memolith && make hook"}]}]
  }
}
"""


def settings_file(home: Path, text: str) -> Path:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    return file


def test_hooks_are_added_to_those_of_others_and_go_without_a_trace(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = settings_file(home, OTHERS)
    assert run("install", "claude-code", "--hooks", "--yes", "--data", "/tmp/my data") == 0
    said = FORMATS["JSON"].read(file.read_text(encoding="utf-8"))
    before = FORMATS["JSON"].read(OTHERS)
    assert (said["model"], said["hooks"]["PreToolUse"]) == (
        before["model"],
        before["hooks"]["PreToolUse"],
    )
    assert said["hooks"]["Stop"][:1] == before["hooks"]["Stop"]
    assert {
        event: groups[-1]["hooks"][0]["command"].rpartition(" hook ")[2]
        for event, groups in said["hooks"].items()
        if event != "PreToolUse"
    } == {
        "SessionStart": "session-start --data '/tmp/my data'",
        "UserPromptSubmit": "prompt --data '/tmp/my data'",
        "PreCompact": "pre-compact --data '/tmp/my data'",
        "Stop": "stop --data '/tmp/my data'",
    }
    assert "// mine" in file.read_text(encoding="utf-8")
    once = file.read_bytes()
    assert run("install", "claude-code", "--hooks", "--yes", "--data", "/tmp/my data") == 0
    assert file.read_bytes() == once
    assert run("install", "claude-code", "--hooks", "--yes") == 0
    assert len(FORMATS["JSON"].read(file.read_text(encoding="utf-8"))["hooks"]["Stop"]) == 2
    assert run("uninstall", "claude-code", "--hooks", "--yes") == 0
    assert everything(home) == {".claude/settings.json": OTHERS.encode()}


def test_what_was_changed_meanwhile_stays_when_the_hooks_go(home: Path) -> None:
    file = settings_file(home, '{"model": "opus"}')
    assert run("install", "claude-code", "--hooks", "--yes") == 0
    file.write_text(file.read_text(encoding="utf-8").replace("opus", "sonnet"), encoding="utf-8")
    assert run("uninstall", "claude-code", "--hooks", "--yes") == 0
    assert FORMATS["JSON"].read(file.read_text(encoding="utf-8")) == {
        "model": "sonnet",
        "hooks": {},
    }


def test_hooks_come_and_go_where_there_were_no_settings_and_for_a_project(home: Path) -> None:
    for scope in ("user", "project"):
        (folder := home if scope == "user" else Path.cwd()).joinpath(".claude").mkdir()
        assert run("install", "claude-code", "--hooks", "--yes", "--scope", scope) == 0
        assert list(everything(folder)) == [".claude/settings.json"]
        assert run("uninstall", "claude-code", "--hooks", "--yes", "--scope", scope) == 0
        assert everything(folder) == {}


def test_hooks_are_refused_for_other_clients_and_for_a_broken_file(home: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        run("install", "cursor", "--hooks", "--yes")
    assert error.value.field == "client"
    for text in ("{", '{"hooks": []}', '{"hooks": {"Stop": 3}}'):
        file = home / ".claude" / "settings.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidInput, match="mend it first"):
            run("install", "claude-code", "--hooks", "--yes")
        assert file.read_text(encoding="utf-8") == text
