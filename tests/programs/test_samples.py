"""The commands `demo`, `bench` and `compare`."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest

from memolith.doors.cli.samples import CONCEPTS, MEMORIES
from tests.programs.children import TIMEOUT_S, Child, ask, cli


def test_demo_fills_a_store_once_and_leaves_others_alone(tmp_path: Path) -> None:
    count = len(MEMORIES) + len(CONCEPTS) + 1
    first = ask(tmp_path / "demo", "demo", "--no-serve")
    assert (first["items"], first["added"]) == (count, count)
    again = ask(tmp_path / "demo", "demo", "--no-serve")
    assert (again["items"], again["added"]) == (count, 0)
    found = ask(tmp_path / "demo", "recall", "what does Maria drink?")["hits"]
    assert "tea" in found[0]["text"]
    ask(tmp_path / "own", "remember", "my own memory")
    refused = cli(tmp_path / "own", "demo", "--no-serve")
    assert refused.returncode == 2
    assert "holds memories already" in refused.stderr
    assert ask(tmp_path / "own", "list")["total"] == 1


def test_demo_has_a_folder_of_its_own(tmp_path: Path) -> None:
    told = ask(None, "demo", "--no-serve", HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "data"))
    assert told["data"].endswith("-demo")
    assert [path.parent for path in tmp_path.rglob("memolith.db")] == [Path(told["data"])]


def test_demo_shows_the_address_of_the_page(tmp_path: Path) -> None:
    with Child("-m", "memolith", "demo", "--json", "--data", tmp_path / "demo") as server:
        told = json.loads(server.line())
        assert told["page"].startswith(told["url"])
        assert (
            httpx2.get(told["url"] + "/health", trust_env=False, timeout=TIMEOUT_S).status_code
            == 200
        )


@pytest.mark.full
def test_bench_measures_writes_searches_and_starts_and_changes_nothing(tmp_path: Path) -> None:
    ask(tmp_path, "demo", "--no-serve")
    before = ask(tmp_path, "export", str(tmp_path / "before"))
    told = ask(tmp_path, "bench", "--count", "5")
    assert [row["what"] for row in told["measures"]] == ["write", "search", "start"]
    for row in told["measures"]:
        assert 0 < row["floor_s"] <= row["median_s"] <= row["p95_s"]
    assert ask(tmp_path, "export", str(tmp_path / "after"))["events"] == before["events"]
    empty = cli(tmp_path / "none", "bench")
    assert empty.returncode == 1
    assert "the floor is" in cli(tmp_path, "bench", "--count", "2").stdout


def test_compare_shows_what_differs(tmp_path: Path) -> None:
    first = ask(
        tmp_path, "remember", "Tea is brewed\nfor three minutes.", "--tags", "a,b", "--title", "T"
    )["id"]
    second = ask(
        tmp_path,
        "remember",
        "Tea is brewed\nfor five minutes.",
        "--tags",
        "a",
        "--title",
        "T",
        "--metadata",
        '{"source": "wiki"}',
    )["id"]
    told = ask(tmp_path, "compare", first, second)
    assert (told["first"], told["second"], told["same_text"]) == (first, second, False)
    differences = {row["field"]: (row["first"], row["second"]) for row in told["differences"]}
    assert differences["tags"] == ("a, b", "a")
    assert differences["metadata source"] == (None, '"wiki"')
    assert "title" not in differences
    assert "-for three minutes." in told["diff"]
    assert "+for five minutes." in told["diff"]
    assert 0.8 < told["shared_words"] < 1
    shown = cli(tmp_path, "compare", first, second).stdout
    assert "+for five minutes." in shown
    same = ask(tmp_path, "compare", first, first)
    assert (same["same_text"], same["differences"], same["diff"]) == (True, [], "")
