"""`memolith families`: what there is to choose from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memolith.bootstrap import families
from memolith.doors.main import main
from memolith.tools.registry import Registry


def shown(capsys: pytest.CaptureFixture[str], data: Path, *flags: str) -> str:
    assert main(["families", "--data", str(data), *flags]) == 0
    return capsys.readouterr().out


def test_every_family_is_listed_with_what_it_costs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = json.loads(shown(capsys, tmp_path, "--json"))
    assert [(row["family"], row["tools"]) for row in rows] == [
        (family.name, len(family.tools)) for family in families()
    ]
    assert all(row["tokens"] > 0 for row in rows)


def test_the_text_tells_what_a_family_is_for_and_whose_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = shown(capsys, tmp_path)
    for family in families():
        assert family.purpose
        assert f"{family.name:14}{family.purpose}\n" in text
        assert f"stands for {family.stands_for}" in text


def test_tools_can_be_listed_for_some_families(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["tools", "chatgpt", "--json", "--data", str(tmp_path)]) == 0
    listed = [row["tool"] for row in json.loads(capsys.readouterr().out)]
    assert listed == ["search", "fetch"]


def test_a_family_that_is_not_there_is_told_with_those_that_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["tools", "cor", "--data", str(tmp_path)]) == 1
    assert "choose from core, " in capsys.readouterr().err


def test_a_family_beyond_the_documented_ones_is_not_in_the_default_profile(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = json.loads(shown(capsys, tmp_path, "--json"))
    in_profile = {tool.family for tool in Registry(families()).choose("all").tools}
    assert {row["family"] for row in rows if row["default"]} == in_profile
    assert in_profile == {"core", "lanonasis", "sekha", "memorylake", "knowledge", "subcog"}


def test_every_family_has_its_own_path_and_its_own_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = json.loads(shown(capsys, tmp_path, "--json"))
    for row in rows:
        if row["family"] == "manage":
            # Its tools are called by name, over REST and on the command line.
            assert row["path"] == "/mcp/tools/NAME"
            continue
        assert row["path"] == f"/mcp/{row['family']}"
        chosen = Registry(families()).choose(row["family"])
        assert {tool.family for tool in chosen.tools} == {row["family"]}
