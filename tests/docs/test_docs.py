"""The docs are executed: every console block runs, and what it is said to print is what it prints."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memolith.app import families
from memolith.doors.cli import parser
from memolith.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def steps(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with what it is said to print."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def shell(command: str, folder: Path) -> str:
    """Run `memolith …`, perhaps behind `echo … |`, in the folder."""
    given, _, rest = command.rpartition(" | ")
    words = shlex.split(rest)
    assert words[0] == "memolith", command
    text = subprocess.run(shlex.split(given), capture_output=True, text=True, check=True).stdout if given else None
    ran = subprocess.run([sys.executable, "-m", "memolith.doors.main", *words[1:]], input=text, capture_output=True,
                         text=True, encoding="utf-8", cwd=folder, timeout=120,
                         env={**os.environ, "MEMOLITH_DATA": str(folder / "data"), "COLUMNS": "100"})
    assert ran.returncode == 0, f"{command}\n{ran.stderr}"
    return ran.stdout


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.name)
def test_console_blocks_run_and_print_what_they_show(tmp_path, page):
    for block in blocks(page, "console"):
        for command, shown in steps(block):
            printed = shell(command, tmp_path)
            if shown:
                assert ID.sub("ID", printed).split() == ID.sub("ID", shown).split()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_blocks_run(tmp_path, page):
    for block in blocks(page, "python"):
        subprocess.run([sys.executable, "-c", block], cwd=tmp_path, check=True, timeout=120,
                       env={**os.environ, "MEMOLITH_EMBEDDER": "none"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_and_links_that_docs_name_exist(page):
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([\w-]+)", "\n".join(blocks(page, "sh")), re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / link).exists(), link


def test_every_command_setting_and_tool_is_in_the_reference():
    reference = {name: (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
                 for name in ("cli", "settings", "tools")}
    commands = next(action for action in parser()._actions if action.choices and action.dest == "command").choices
    assert commands is not None
    assert [name for name in commands if f"## memolith {name}\n" not in reference["cli"]] == []
    assert [name for name in Settings.model_fields if f"| {name} |" not in reference["settings"]] == []
    assert [tool.name for family in families() for tool in family.tools
            if f": {tool.name}\n" not in reference["tools"]] == []
