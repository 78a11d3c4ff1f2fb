"""The data are made source by source, without what evaluation sets hold, byte for byte the same."""

import gzip
import json
from pathlib import Path

import pytest
from training.make_pairs import build_source, evaluation_texts, local_folder, main, write
from training.sources import BUILDERS
from training.sources.table import Source, read_table

from tests.training.samples import repository
from training import make_pairs

NL2BASH = Source(
    name="nl2bash",
    repository="somebody/commands",
    commit="0" * 40,
    licence="MIT",
    how="As it is.",
    lines=2,
)
FILES = {
    "data/bash/all.nl": "List all the log files\nDelete the five oldest log files first\n",
    "data/bash/all.cm": "find . -name '*.log'\nfind . -mtime +9 -delete\n",
}


def test_the_table_and_the_builders_name_the_same_sources() -> None:
    assert [source.name for source in read_table()] == list(BUILDERS)


def test_every_source_has_a_licence_and_a_pinned_commit_or_a_folder() -> None:
    for source in read_table():
        assert source.licence
        assert source.how
        assert source.lines > 0
        assert source.folder or len(source.commit) == 40
        if source.max_lines is not None:
            assert source.lines <= source.max_lines


def test_no_source_is_a_set_that_retrieval_is_measured_on() -> None:
    named = " ".join(f"{source.name} {source.repository}" for source in read_table()).lower()
    for benchmark in (
        "locomo",
        "longmemeval",
        "beam",
        "xquad",
        "squad",
        "msc",
        "lifebench",
        "realmem",
    ):
        assert benchmark not in named


def test_a_source_is_built_from_a_folder_at_hand(tmp_path: Path) -> None:
    repository(tmp_path / "somebody+commands", FILES)
    outcome = build_source(NL2BASH, tmp_path, any_commit=False, seen=set())
    assert [pair.question for pair in outcome.pairs] == [
        "List all the log files",
        "Delete the five oldest log files first",
    ]
    assert str(outcome).startswith("nl2bash                   2 lines, 1.0 negatives a line")


@pytest.mark.parametrize("folder", ["somebody+commands", "somebody/commands", "commands"])
def test_a_clone_may_lie_under_several_names(tmp_path: Path, folder: str) -> None:
    assert local_folder(NL2BASH, tmp_path) is None
    (tmp_path / folder).mkdir(parents=True)
    assert local_folder(NL2BASH, tmp_path) == tmp_path / folder


def test_what_an_evaluation_set_holds_is_dropped(tmp_path: Path) -> None:
    repository(tmp_path / "clones" / "commands", FILES)
    sets = {
        "a.json": [{"question": "Now. DELETE the five oldest log files -- first!!", "number": 3}],
        "b.toml": 'text = ["Too short", "The cellar key hangs beside the door."]',
    }
    repository(tmp_path / "sets", sets)
    seen = evaluation_texts([tmp_path / "sets", tmp_path / "absent"])
    assert seen == {"delete five oldest log fil first", "cellar key hang beside door"}
    outcome = build_source(NL2BASH, tmp_path / "clones", any_commit=False, seen=seen)
    assert [pair.question for pair in outcome.pairs] == ["List all the log files"]
    assert outcome.in_evaluation == 1


def test_a_limit_draws_the_same_lines_every_time(tmp_path: Path) -> None:
    lines = [f"Show the last {number} lines of the file" for number in range(50)]
    commands = [f"tail -n {number} file" for number in range(50)]
    repository(
        tmp_path / "commands",
        {"data/bash/all.nl": "\n".join(lines), "data/bash/all.cm": "\n".join(commands)},
    )
    limited = Source(**{**vars(NL2BASH), "max_lines": 7})
    first = build_source(limited, tmp_path, any_commit=False, seen=set())
    second = build_source(limited, tmp_path, any_commit=False, seen=set())
    assert len(first.pairs) == 7
    assert first.pairs == second.pairs
    assert first.found == 50
    assert "drawn from 50" in str(first)


def test_equal_lines_give_an_equal_file(tmp_path: Path) -> None:
    repository(tmp_path / "commands", FILES)
    outcome = build_source(NL2BASH, tmp_path, any_commit=False, seen=set())
    digests = {write([outcome], tmp_path / name) for name in ("one.gz", "two.gz")}
    assert len(digests) == 1
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    with gzip.open(tmp_path / "one.gz", "rt", encoding="utf-8") as file:
        line = json.loads(file.readline())
    assert line["q"] == "List all the log files"
    assert line["s"] == "nl2bash"


def test_a_source_that_cannot_be_had_is_told_and_the_rest_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(tmp_path / "commands", FILES)
    absent = Source(**{**vars(NL2BASH), "name": "qamr", "repository": "nobody/nothing"})
    monkeypatch.setattr(make_pairs, "read_table", lambda: [absent, NL2BASH])
    monkeypatch.setattr(Source, "url", property(lambda source: (tmp_path / "no").as_uri()))
    out = tmp_path / "pairs.jsonl.gz"
    status = main(
        ["--clones", str(tmp_path), "--out", str(out), "--evaluation", str(tmp_path / "none")]
    )
    told = capsys.readouterr().out
    assert status == 1
    assert "qamr                 not built: cannot fetch" in told
    assert "2 lines, 2 negatives in" in told
