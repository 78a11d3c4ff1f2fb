"""LanOnasis' npm packages, in the versions that are published, against memolith."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import fasteners
import pytest
from scripts.conformance import CACHE, install

from memolith.doors.http.auth.keys import NewKey, make_key
from tests.conftest import At
from tests.integrations.environments import RUN_S, clean_environment
from tests.programs.served import Served, thread
from tests.stores import each_store

pytestmark = [each_store, pytest.mark.full]
CLIENT = "@lanonasis/memory-client"
CLIENT_VERSION = "2.2.0"
SDK = "@lanonasis/mem-intel-sdk@2.1.0"
CHECKS = Path(__file__).with_name("lanonasis_checks.mjs")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "switch.md"
# The MCP server of the SDK takes only users whose ids are UUIDs.
USER = "123e4567-e89b-42d3-a456-426614174001"

IMPATIENT = """
import { createMemoryClient } from "@lanonasis/memory-client";
const client = createMemoryClient({
  apiUrl: `${process.env.CHECK_URL}/lanonasis`,
  apiKey: process.env.CHECK_KEY,
  retry: { maxRetries: 2, retryDelay: 1 },
});
let answer;
for (let call = 0; call < 10; call += 1) answer = await client.healthCheck();
console.log(answer.error.code, answer.error.statusCode, answer.meta.retries);
"""


def lanonasis_key(served: Served) -> str:
    wanted = NewKey("lanonasis", user=USER, like="lanonasis")
    key, _ = make_key(served.app.keys, served.app.clock.now(), wanted)
    return key


def run_in_node(program: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program beside the packages, which are installed if need be."""
    CACHE.mkdir(parents=True, exist_ok=True)
    # Both workers may come here at the same time.
    with fasteners.InterProcessLock(CACHE / "lanonasis.lock"):
        node, package = install(CLIENT, CLIENT_VERSION, SDK)
    modules = program.parent / "node_modules"
    if not modules.exists():
        modules.symlink_to(package.parents[1], target_is_directory=True)
    return subprocess.run(
        [node, str(program)],
        cwd=program.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=RUN_S,
        env=clean_environment(**environment),
        check=False,
    )


def test_every_public_method_works_with_another_address_and_key(at: At, tmp_path: Path) -> None:
    settings = at(tmp_path / "data", "minilm")
    program = tmp_path / CHECKS.name
    program.write_text(CHECKS.read_text(encoding="utf-8"), encoding="utf-8")
    with thread(
        tmp_path / "data",
        embedder="minilm",
        database=settings.database,
        calls_per_minute=1_000_000,
    ) as served:
        done = run_in_node(
            program, CHECK_URL=served.url, CHECK_KEY=lanonasis_key(served), CHECK_USER=USER
        )
    defined = re.findall(r"^async function (check_\w+)", CHECKS.read_text(encoding="utf-8"), re.M)
    passed = [line for line in done.stdout.splitlines() if line.startswith("check_")]
    assert (done.returncode, passed) == (0, defined), done.stdout


def test_the_programs_on_the_page_print_what_the_page_says(at: At, tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## LanOnasis\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(?:js|text)\n(.*?)^```", section, re.M | re.S)
    settings = at(tmp_path / "data", "minilm")
    with thread(tmp_path / "data", embedder="minilm", database=settings.database) as served:
        key = lanonasis_key(served)
        for number, (text, shown) in enumerate(zip(blocks[::2], blocks[1::2], strict=True)):
            program = tmp_path / f"program{number}.mjs"
            text = text.replace("http://127.0.0.1:8724", served.url)
            text = text.replace("lano_...", key).replace("USER_ID", USER)
            program.write_text(text, encoding="utf-8")
            done = run_in_node(program)
            assert (done.returncode, done.stdout) == (0, shown)


def test_the_client_tries_again_when_it_was_too_fast(at: At, tmp_path: Path) -> None:
    settings = at(tmp_path / "data")
    program = tmp_path / "impatient.mjs"
    program.write_text(IMPATIENT, encoding="utf-8")
    with thread(tmp_path / "data", database=settings.database, calls_per_minute=5) as served:
        done = run_in_node(program, CHECK_URL=served.url, CHECK_KEY=lanonasis_key(served))
    assert done.stdout == "RATE_LIMIT_ERROR 429 2\n"
