"""The comparison with other memories: its page, its results, and the client that talks to them."""

import json
import sys
from pathlib import Path

import pytest
from bench.peers.charts import Bar, bar_chart
from bench.peers.environments import size_of
from bench.peers.lines import LINES, Line, at
from bench.peers.measures import (
    FULL,
    MEASURES,
    Bench,
    delete_data,
    run_measure,
    spread,
    without_paths,
)
from bench.peers.page import GROUPS, load_results, page_files, page_text
from bench.peers.recall import paragraphs_of, score
from bench.peers.registry import PEERS
from bench.peers.results import Figures, Results
from bench.programs import McpProgram, Program, ProgramError, Refused, kill_running

ANSWERS = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request.get("op") == "end":
        print("the disk is full", file=sys.stderr)
        sys.exit(3)
    print("a line that is no JSON")
    print(json.dumps({"id": request["id"], "result": request.get("text")}), flush=True)
"""
MCP = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        refused = request.get("params", {}).get("name") == "refuse"
        result = {"content": [{"type": "text", "text": "no room"}], "isError": refused}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


def results(value: float, is_server: bool = True) -> Figures:
    """A result file with one figure."""
    outcome = {
        "figures": {"cpu_s": value},
        "day": "2026-11-18",
        "busy": 0.02,
        "machine": {"system": "Linux", "cores": 2, "memory_gb": 8, "python": "3.11"},
    }
    described = dict.fromkeys(("title", "version", "link", "bulk", "search", "notes"), "x")
    return {**described, "is_server": is_server, "measures": {"start": outcome}}


def test_the_page_and_its_charts_agree_with_the_result_files() -> None:
    for path, text in page_files(load_results()).items():
        assert path.read_text(encoding="utf-8") == text, f"run `make bench-peers-page`: {path.name}"


def test_every_result_file_belongs_to_a_peer_and_its_measures() -> None:
    for name, known in load_results().items():
        assert known["peer"] == name
        assert known["version"] == PEERS[name].version or name.startswith("memolith")
        assert set(known["measures"]) <= set(MEASURES)


def test_every_line_is_in_one_group_of_the_page() -> None:
    assert [line for lines in GROUPS.values() for line in lines] == list(LINES)


def test_a_peer_that_is_ahead_is_named() -> None:
    known = {"memolith": results(0.5), "official": results(0.2), "mempalace": results(0.9)}
    line = Line("CPU s to the list of tools", at("start", "cpu_s"), digits=2)
    assert line.ahead_of_us(known) == {"official": 0.2}
    page = page_text(known)
    assert "| CPU s to the list of tools | 0.50 | x 0.20 |" in page
    assert "**0.20**" in page


def test_a_busy_machine_is_told() -> None:
    known = {"memolith": results(0.5)}
    assert "busy" not in page_text(known).split("\n## ")[0]
    known["memolith"]["measures"]["start"]["busy"] = 0.9
    assert "1 of 1 measures began while the machine was busy" in page_text(known)


def test_results_are_added_one_by_one(tmp_path: Path) -> None:
    file = Results(tmp_path / "official.json")
    file.keep(PEERS["official"], "start", {"figures": {"cpu_s": 1}})
    file.keep(PEERS["official"], "install", {"figures": {"mb": 2}})
    assert file.has("start")
    assert not file.has("write")
    assert list(json.loads(file.path.read_text(encoding="utf-8"))["measures"]) == [
        "install",
        "start",
    ]


def test_a_measure_that_fails_gives_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(bench: Bench) -> Figures:
        raise ProgramError(f"cannot open {bench.folder}/x")

    monkeypatch.setitem(MEASURES, "start", MEASURES["start"]._replace(run=fail))
    outcome = run_measure(PEERS["official"], "start", FULL)
    assert outcome["failed"] == "ProgramError: cannot open DATA/x"


def test_folders_of_the_machine_are_not_kept() -> None:
    told = {"failed": "no file /root/.pyenv/versions/3.11/lib/x.py"}
    assert without_paths(told, Path("/somewhere")) == {"failed": "no file …"}


def test_deleting_the_data_leaves_the_model(tmp_path: Path) -> None:
    for name in ("store/a.db", "home/.cache/model.onnx", "home/.notes/b.md", "memory.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    delete_data(tmp_path)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [tmp_path / "home/.cache/model.onnx"]


def test_recall_counts_turns_and_their_sessions() -> None:
    sessions = {"a": "S1", "b": "S1", "c": "S2"}
    found = score(["b", "c"], {"a", "c"}, sessions, "turn")
    assert found["turn@5"] == 0.5
    assert found["session@1"] == 0.5
    assert found["session@5"] == 1.0


def test_paragraphs_as_published_become_a_set_whose_questions_are_spread_over_it() -> None:
    articles = [
        {
            "paragraphs": [
                {"context": f"text {n}", "qas": [{"question": f"q{n}-{m}"} for m in (0, 1)]}
            ]
        }
        for n in range(60)
    ]
    made = paragraphs_of({"data": articles})
    assert [turn["text"] for turn in made["turns"][:2]] == ["text 0", "text 1"]
    assert sorted(q["question"] for q in made["questions"]) == sorted(
        f"q{n}-{m}" for n in range(60) for m in (0, 1)
    )
    assert all(q["question"].startswith(f"q{q['evidence'][0][1:]}-") for q in made["questions"])
    assert len({q["evidence"][0] for q in made["questions"][:20]}) > 15


def test_percentiles() -> None:
    assert spread([float(n) for n in range(1, 101)]) == {"p50_ms": 50.5, "p95_ms": 96.0, "n": 100}


def test_sizes_are_without_byte_code(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"12345")
    (tmp_path / "a.py").write_bytes(b"123")
    assert size_of(tmp_path) == 3


def test_a_chart_has_a_bar_for_each_value() -> None:
    drawn = bar_chart("a & b", [Bar("ours", 1.0, "1.00", True), Bar("<x>", 2.0, "2.00", False)])
    assert drawn.count("<rect") == 2
    assert "a &amp; b" in drawn
    assert "&lt;x&gt;" in drawn


def test_other_lines_of_a_program_are_passed_over() -> None:
    with Program([sys.executable, "-c", ANSWERS]) as program:
        assert program.ask({"id": 1, "text": "hello"}, 60)["result"] == "hello"


def test_a_program_that_ends_says_what_it_printed() -> None:
    with (
        Program([sys.executable, "-c", ANSWERS]) as program,
        pytest.raises(ProgramError, match="the disk is full"),
    ):
        program.ask({"id": 1, "op": "end"}, 60)


def test_a_program_that_is_silent_is_not_waited_for() -> None:
    with (
        Program([sys.executable, "-c", "input(); input()"]) as program,
        pytest.raises(ProgramError, match="no answer within"),
    ):
        program.ask({"id": 1}, 0.2)


def test_what_a_bench_left_behind_is_ended() -> None:
    program = Program([sys.executable, "-c", ANSWERS])
    kill_running()
    assert program.process.returncode is not None


def test_a_tool_that_fails_is_a_refusal() -> None:
    with McpProgram([sys.executable, "-c", MCP]) as server:
        assert server.call("keep", {}, 60) == "no room"
        with pytest.raises(Refused, match="no room"):
            server.call("refuse", {}, 60)
