"""`make dist`: everything is built, and the validator of each format has nothing to say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from scripts.distribution.build import SUMS, Release, build
from scripts.distribution.checks import CHECKS, Check, check_registry_entries, run_check
from scripts.distribution.formula import digest
from scripts.distribution.programs import (
    CheckFailed,
    empty_environment,
    run,
    tools_folder,
    try_server,
)
from scripts.distribution.project import ROOT

MAX_WHEEL_BYTES = 3_000_000
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    try:
        tools_folder()
    except CheckFailed as error:
        pytest.skip(f"the tools cannot be had from the package index: {error}")
    return build(tmp_path_factory.mktemp("release") / "dist")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_passes(release: Release, check: Check) -> None:
    try:
        run_check(check, release)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"a program cannot be had from npm: {error}")


def test_the_wheel_stays_small(release: Release) -> None:
    assert release.wheel.stat().st_size < MAX_WHEEL_BYTES


def test_the_sums_are_those_of_the_files(release: Release) -> None:
    lines = (release.folder / SUMS).read_text(encoding="utf-8").splitlines()
    sums = {name: told for told, name in (line.split("  ") for line in lines)}
    present = {file.name: digest(file) for file in release.folder.iterdir() if file.name != SUMS}
    assert sums == present


def test_the_package_can_be_built_from_what_the_container_file_copies(tmp_path: Path) -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (?!--)(.*) \S+$", text, re.M):
        for name in line.split():
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, tmp_path / name)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, tmp_path],
        check=True,
        timeout=300,
    )
    assert [wheel.name.split("-")[0] for wheel in tmp_path.glob("*.whl")] == ["memolith"]


@pytest.mark.parametrize("field,value", [("description", "x" * 101), ("version", None)])
def test_the_schema_of_the_registry_refuses_a_wrong_entry(
    release: Release, tmp_path: Path, field: str, value: str | None
) -> None:
    entry = json.loads(release.registry_entry.read_text(encoding="utf-8")) | {field: value}
    wrong = tmp_path / "server.json"
    wrong.write_text(json.dumps(entry), encoding="utf-8")
    with pytest.raises(CheckFailed, match=field):
        check_registry_entries(replace(release, registry_entry=wrong), tmp_path)


def test_a_wheel_without_its_model_is_noticed(release: Release, tmp_path: Path) -> None:
    programs = empty_environment(tmp_path / "venv")
    run([programs / "python", "-m", "pip", "install", "--quiet", *release.wheels], tmp_path)
    run([programs / "python", "-m", "pip", "uninstall", "--yes", "--quiet", "memolith-model"])
    with pytest.raises(CheckFailed, match="not found by its meaning"):
        try_server([programs / "memolith", "stdio", "--tools", "core"])
