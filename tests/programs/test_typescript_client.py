"""The TypeScript client: its types are current, it compiles, and it works in Node on a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import fasteners
import pytest
from scripts.conformance import CACHE, find_node, install
from scripts.typescript_types import TYPES_FILE, types_module

from memolith import __version__
from tests.docs.test_docs import blocks
from tests.programs.served import Served, thread

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
PAGES = (ROOT / "docs" / "how-to" / "typescript.md", CLIENT / "README.md")
TYPESCRIPT = "5.9.3"
NODE_TYPES = "@types/node@22.20.5"
TIMEOUT_S = 240


@dataclass(frozen=True)
class Project:
    """A folder of a user who installed the packed client."""

    folder: Path
    node: str
    compiler: Path

    def compile(self, *names: str) -> None:
        """Check the types of programs, and translate them."""
        types = self.compiler.parent / "@types"
        options = [
            "--strict",
            "--target",
            "es2022",
            "--module",
            "nodenext",
            "--types",
            "node",
            "--typeRoots",
            str(types),
        ]
        self.run(str(self.compiler / "bin" / "tsc"), *options, *names)

    def run(self, *arguments: str, **environment: str) -> str:
        """What Node prints; the program must end well."""
        return run([self.node, *arguments], self.folder, **environment)


def run(command: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The client as npm packs it, installed into an empty folder."""
    place = tmp_path_factory.mktemp("typescript")
    CACHE.mkdir(parents=True, exist_ok=True)
    # Both workers may come here at the same time.
    with fasteners.InterProcessLock(CACHE / "typescript.lock"):
        node, compiler = install("typescript", TYPESCRIPT, NODE_TYPES)
    _, npm = find_node()
    source = place / "client"
    ignored = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(CLIENT, source, ignore=ignored)
    programs = [str(compiler.parent / ".bin"), str(Path(node).parent), os.environ["PATH"]]
    path = os.pathsep.join(programs)
    run([node, npm, "pack", "--loglevel=error"], source, PATH=path)
    [archive] = source.glob("*.tgz")
    folder = place / "user"
    folder.mkdir()
    (folder / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
    options = ["--offline", "--no-fund", "--no-audit", "--loglevel=error"]
    run([node, npm, "install", *options, str(archive)], folder, PATH=path)
    return Project(folder, node, compiler)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with thread(tmp_path_factory.mktemp("server")) as server:
        yield server


def test_the_types_are_those_of_the_openapi_document() -> None:
    assert TYPES_FILE.read_text(encoding="utf-8") == types_module(), "run `make snap`"


def test_the_package_has_the_version_of_memolith() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == __version__
    assert package["devDependencies"]["typescript"] == TYPESCRIPT
    page = PAGES[0].read_text(encoding="utf-8")
    assert f"memolith-{__version__}.tgz" in page


def test_the_package_has_the_client_and_no_dependencies(project: Project) -> None:
    package = project.folder / "node_modules" / "memolith"
    assert (package / "dist" / "index.js").exists()
    assert (package / "dist" / "index.d.ts").exists()
    installed = [entry.name for entry in (project.folder / "node_modules").iterdir()]
    assert [name for name in installed if not name.startswith(".")] == ["memolith"]


def test_the_client_works_on_a_server(project: Project, served: Served, tmp_path: Path) -> None:
    shutil.copy(CLIENT / "test" / "memory.test.mjs", project.folder)
    with socket.socket() as nobody, thread(tmp_path / "other") as other:
        # A port that is taken and never answers.
        nobody.bind(("127.0.0.1", 0))
        printed = project.run(
            "--test",
            "memory.test.mjs",
            MEMOLITH_URL=served.url,
            MEMOLITH_KEY=served.admin,
            OTHER_URL=other.url,
            OTHER_KEY=other.admin,
            NOBODY_URL=f"http://127.0.0.1:{nobody.getsockname()[1]}",
        )
    written = (CLIENT / "test" / "memory.test.mjs").read_text(encoding="utf-8").count("\ntest(")
    assert f"pass {written}" in printed
    assert "fail 0" in printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_the_docs_are_checked_and_run(
    project: Project, served: Served, page: Path
) -> None:
    programs = blocks(page, "ts")
    assert programs
    names = [f"{page.stem.lower()}{number}" for number in range(len(programs))]
    for name, program in zip(names, programs, strict=True):
        (project.folder / f"{name}.ts").write_text(program, encoding="utf-8")
    project.compile(*[f"{name}.ts" for name in names])
    for name in names:
        project.run(f"{name}.js", MEMOLITH_URL=served.url, MEMOLITH_KEY=served.admin)


def test_wrong_calls_do_not_pass_the_type_check(project: Project) -> None:
    wrong = {
        "unknown_option": 'await memory.recall("x", { limits: 3 });',
        "wrong_mode": 'await memory.recall("x", { mode: "fuzzy" });',
        "unknown_tool": 'await memory.call("no_such_tool", {});',
        "missing_argument": "await memory.lanonasis.search_memories({});",
        "unknown_field": 'console.log((await memory.recall("x"))[0]?.points);',
    }
    start = (
        'import { Memory } from "memolith";\nconst memory = new Memory({ url: "x", key: "y" });\n'
    )
    for name, line in wrong.items():
        (project.folder / f"{name}.ts").write_text(start + line, encoding="utf-8")
    with pytest.raises(AssertionError) as refused:
        project.compile(*[f"{name}.ts" for name in wrong])
    found = set(re.findall(r"(\w+)\.ts\(3,", str(refused.value)))
    assert set(wrong) <= found
