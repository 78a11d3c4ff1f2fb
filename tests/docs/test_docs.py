"""Runs every code block of the docs, and checks that the output shown is the real output."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from memolith.bootstrap import families
from memolith.doors.cli.commands import LISTED_COMMANDS
from memolith.doors.cli.parser import parse
from memolith.retrieval.embedding.minilm import MODEL_FOLDER
from memolith.retrieval.ranking.weights import weights
from memolith.settings import Settings
from tests.postgres import a_cluster, binaries
from tests.programs.children import TIMEOUT_S, forked

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    ROOT / "training" / "README.md",
    MODEL_FOLDER / "README.md",
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
HOST = re.compile(r"\bdb2?\.example\.com\b")
PROMPT = "$ "
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
SHORT_ID = re.compile(r"\b01[0-9a-f]{6}(-[0-9a-f]{1,4}){0,3}\b")
DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b( \d\d:\d\d\b)?")
SIZE = re.compile(r"\b[\d.,]+ (bytes|kB|MB)")
RULE = re.compile(r"-{4,}")


def blocks(page: Path, language: str) -> list[str]:
    return [
        text for name, text in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language
    ]


def timeless(text: str) -> str:
    """The text without what differs from run to run: ids, times and sizes."""
    without_ids = SHORT_ID.sub("ID", ID.sub("ID", text))
    return RULE.sub("----", SIZE.sub("SIZE", DAY.sub("DAY", without_ids)))


def steps(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    commands: list[str] = []
    outputs: list[str] = []
    for line in block.splitlines(keepends=True):
        if line.startswith(PROMPT):
            commands.append(line.removeprefix(PROMPT).strip())
            outputs.append("")
        else:
            outputs[-1] += line
    return list(zip(commands, outputs, strict=True))


class Terminal:
    """Runs commands one after the other, as a reader of the page would.

    A command that ends in `&` keeps running until the terminal is closed.
    """

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        self.environ = {
            **os.environ,
            "MEMOLITH_DATA": str(folder / "data"),
            "COLUMNS": "100",
            **environ,
        }
        self.running: list[subprocess.Popen[str]] = []

    def run(self, command: str) -> str:
        command = HOST.sub("127.0.0.1", command)
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.environ[name] = value
            return ""
        if command.endswith(" &"):
            self.start(command.removesuffix(" &"))
            return ""
        source, _, command_line = command.rpartition(" | ")
        finished = self.finish(command_line, output_of(source) if source else "")
        assert finished.returncode == 0, f"{command}\n{finished.stderr}"
        return finished.stdout

    def finish(self, command: str, stdin: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        name, *words = shlex.split(command)
        if name == "memolith" and hasattr(os, "fork"):
            return forked(words, stdin.encode(), self.environ, self.folder)
        return subprocess.run(
            program(command),
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=self.folder,
            timeout=120,
            env=self.environ,
        )

    def start(self, command: str) -> None:
        """Start a server or a worker and wait until it is ready. A server must be healthy too."""
        process = subprocess.Popen(
            program(command),
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environ | {"MEMOLITH_PORT": "0"},
        )
        self.running.append(process)
        assert process.stdout is not None
        first_line = process.stdout.readline()
        assert first_line, command
        if first_line.startswith("{"):
            health = httpx2.get(json.loads(first_line)["url"] + "/health", timeout=TIMEOUT_S)
            assert health.json()["status"] == "healthy"

    def close(self) -> None:
        """Stop what is still running, as an operator would. Each process must exit cleanly."""
        for process in self.running:
            process.terminate()
        for process in self.running:
            assert process.wait(TIMEOUT_S) == 0
            if process.stdout is not None:
                process.stdout.close()


def output_of(command: str) -> str:
    """What a plain command such as `echo` prints."""
    finished = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    return finished.stdout


def program(command: str) -> list[str]:
    """The words of a command, with the program as this machine has it."""
    name, *words = shlex.split(command)
    if name == "memolith":
        return [sys.executable, "-m", "memolith.doors.main", *words]
    assert name in ("psql", "createdb", "pg_dump", "pg_restore", "vacuumdb"), command
    return [str(binaries() / name), *words]


def copy_samples(page: Path, folder: Path) -> None:
    """Copy the sample files that are stored beside the page."""
    for sample in page.parent.glob("*.xlsx"):
        shutil.copy(sample, folder)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.name
)
def test_console_blocks_run_and_print_what_they_show(tmp_path: Path, page: Path) -> None:
    copy_samples(page, tmp_path)
    with ExitStack() as stack:
        environ = {}
        if "$ psql" in page.read_text(encoding="utf-8"):
            # A server of its own: roles belong to a whole server, and the page makes some.
            address = urlsplit(stack.enter_context(a_cluster()).url())
            environ = {
                "PGHOST": "127.0.0.1",
                "PGPORT": str(address.port),
                "PGUSER": str(address.username),
            }
            shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
        terminal = stack.enter_context(closing(Terminal(tmp_path, environ)))
        for block in blocks(page, "console"):
            for command, shown in steps(block):
                printed = terminal.run(command)
                if shown:
                    assert timeless(printed).split() == timeless(shown).split()


@pytest.mark.parametrize(
    "page",
    # Frameworks need environments of their own: tests/integrations runs the blocks of that page.
    [page for page in PAGES if blocks(page, "python") and page.name != "frameworks.md"],
    ids=lambda page: page.name,
)
def test_python_blocks_run(tmp_path: Path, page: Path) -> None:
    copy_samples(page, tmp_path)
    for block in blocks(page, "python"):
        subprocess.run(
            [sys.executable, "-c", block],
            cwd=tmp_path,
            check=True,
            timeout=120,
            env={**os.environ, "MEMOLITH_EMBEDDER": "none"},
        )


def shell_commands() -> list[str]:
    """The memolith commands in blocks that no test can run, such as `memolith install`."""
    found = set()
    for page in PAGES:
        for block in blocks(page, "sh"):
            lines = re.findall(r"^(?:docker compose exec server )?(memolith .*)", block, re.M)
            found |= {line.split(" > ")[0] for line in lines}
    return sorted(found)


@pytest.mark.parametrize("command", shell_commands())
def test_commands_that_are_only_shown_exist(command: str) -> None:
    _, *words = shlex.split(command, comments=True)
    assert parse(words).run


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "json")], ids=lambda page: page.name
)
def test_json_blocks_are_json(page: Path) -> None:
    for block in blocks(page, "json"):
        json.loads(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_and_links_that_docs_name_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([\w-]+)", "\n".join(blocks(page, "sh")), re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for link, _, anchor in re.findall(r"\]\((?!https?:)([^)#]+)(#([^)]+))?", text):
        target = page.parent / link
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), f"{link}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The names under which the headings of a page can be linked."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_paths_that_the_architecture_names_exist() -> None:
    """A bare name such as `dialect.py` is that of a file somewhere in the package."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").replace("FAMILY", "core")
    named = re.findall(r"`([\w/.]+(?:/|\.py|\.toml|\.sql))`", text)
    package = ROOT / "src" / "memolith"
    present = {f"/{path.relative_to(package).as_posix()}" for path in package.rglob("*")}
    missing = [
        name for name in named if not any(path.endswith(f"/{name.rstrip('/')}") for path in present)
    ]
    assert missing == []


def test_every_command_setting_and_tool_is_in_the_reference() -> None:
    reference = {
        name: (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
        for name in ("cli", "settings", "tools")
    }
    commands = [listed.name for listed in LISTED_COMMANDS]
    assert [name for name in commands if f"## memolith {name}\n" not in reference["cli"]] == []
    assert [
        name for name in Settings.model_fields if f"| {name} |" not in reference["settings"]
    ] == []
    assert [
        tool.name
        for family in families()
        for tool in family.tools
        if f": {tool.name}\n" not in reference["tools"]
    ] == []


def test_the_guide_to_the_families_says_what_each_is_for() -> None:
    guide = (ROOT / "docs" / "families.md").read_text(encoding="utf-8")
    purposes = guide.partition("## The families")[0]
    assert [family.name for family in families() if f"`{family.name}`" not in purposes] == []


def test_the_page_on_the_score_names_the_bounds_in_use() -> None:
    page = (ROOT / "docs" / "why" / "score.md").read_text(encoding="utf-8")
    bounds = weights()
    said, written = bounds.strong["said"], bounds.strong["written"]
    assert f"| `strong` | from {said:g} in conversations, {written:g} elsewhere |" in page
    assert f"| `likely` | from {bounds.likely:g} |" in page
    assert f"| `weak` | from {bounds.floor:g} |" in page
    assert f"| left out | below {bounds.floor:g} |" in page
