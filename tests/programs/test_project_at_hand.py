"""The project of the repository that somebody works in: what is saved there, and found first."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.settings import Settings
from memolith.tools.call import Call
from tests.programs.children import CLI, ask, environment, forked

ME = Caller()
WIDGETS = "github.com/acme/widgets"
GEARS = "github.com/acme/gears"


def repository(folder: Path, name: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (folder / ".git" / "config").write_text(
        f'[remote "origin"]\n\turl = https://{name}.git\n', encoding="utf-8"
    )
    return folder


@pytest.fixture
def widgets(tmp_path: Path) -> Path:
    return repository(tmp_path / "widgets", WIDGETS)


@pytest.fixture
def gears(tmp_path: Path) -> Path:
    return repository(tmp_path / "gears", GEARS)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def within(folder: Path, data: Path, *arguments: str) -> Any:
    """Run a command in a folder, and read its JSON."""
    ran = forked([*arguments, "--json", "--data", str(data)], b"", environment(), folder)
    assert ran.returncode == 0, ran
    return json.loads(ran.stdout)


def test_a_memory_belongs_to_the_repository_that_it_was_saved_in(
    widgets: Path, data: Path, tmp_path: Path
) -> None:
    (widgets / "src").mkdir()
    saved = within(widgets / "src", data, "remember", "The build takes an hour.")["id"]
    assert ask(data, "show", saved)["project"] == WIDGETS
    loose = within(widgets, data, "remember", "Jo likes tea.", "--project", "")["id"]
    assert ask(data, "show", loose)["project"] is None
    named = within(widgets, data, "remember", "The gears turn.", "--project", GEARS)["id"]
    assert ask(data, "show", named)["project"] == GEARS
    outside = within(tmp_path, data, "remember", "It rains in November.")["id"]
    assert ask(data, "show", outside)["project"] is None
    concept = within(widgets, data, "remember", "A wheel with teeth.", "--kind", "concept")["id"]
    assert ask(data, "show", concept)["project"] is None


def test_a_hit_tells_its_project(widgets: Path, data: Path, tmp_path: Path) -> None:
    within(widgets, data, "remember", "The build takes an hour.")
    [hit] = within(tmp_path, data, "recall", "build")["hits"]
    assert hit["project"] == WIDGETS
    within(tmp_path, data, "remember", "Zebras sleep standing.")
    [hit] = within(tmp_path, data, "recall", "zebras")["hits"]
    assert "project" not in hit


def test_hits_of_the_project_at_hand_get_the_places_and_scores_keep_their_order(
    widgets: Path, gears: Path, data: Path
) -> None:
    for number in range(6):
        within(gears, data, "remember", f"deploy deploy script number {number}")
    for number in range(2):
        within(widgets, data, "remember", f"Before you deploy, read the long list {number} twice.")
    everything = within(
        widgets, data, "recall", "deploy script number", "--project", "", "--limit", "20"
    )["hits"]
    scores = {hit["id"]: hit["score"] for hit in everything}
    assert [hit.get("project") for hit in everything[:4]] == [GEARS] * 4, "they are better hits"
    found = within(widgets, data, "recall", "deploy script number", "--limit", "4")
    projects = [hit["project"] for hit in found["hits"]]
    assert sorted(projects) == [GEARS, GEARS, WIDGETS, WIDGETS]
    assert {hit["id"]: hit["score"] for hit in found["hits"]}.items() <= scores.items()
    shown = [hit["score"] for hit in found["hits"]]
    assert shown == sorted(shown, reverse=True)
    assert any("other projects made room" in warning for warning in found["warnings"])
    all_of_them = within(widgets, data, "recall", "deploy script number", "--limit", "20")
    assert all_of_them["hits"] == everything, "where there is room for all, nothing changes"
    assert not any("made room" in warning for warning in all_of_them["warnings"])
    only = within(widgets, data, "recall", "deploy script number", "--project", WIDGETS)["hits"]
    assert {hit["project"] for hit in only} == {WIDGETS}


def test_a_session_over_stdio_knows_the_repository_too(widgets: Path, data: Path) -> None:
    handshake = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    call = {"name": "remember", "arguments": {"content": "The build takes an hour."}}
    frames = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    lines = "".join(json.dumps(frame) + "\n" for frame in frames)
    # The second start answers from what the first has kept, without the SDK.
    for _ in range(2):
        subprocess.run(
            [*CLI, "stdio", "--tools", "core", "--data", str(data)],
            input=lines,
            capture_output=True,
            text=True,
            env=environment(),
            cwd=widgets,
            check=True,
            timeout=60,
        )
    listed = ask(data, "list")
    assert [item["project"] for item in listed["items"]] == [WIDGETS, WIDGETS]


def test_a_call_from_elsewhere_belongs_to_no_project(
    widgets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(widgets)
    app = open_app(Settings(data=tmp_path / "data", embedder="none"))
    for call in (Call(ME, app.engine), Call(ME, app.engine, local=True)):
        made = app.registry.run("remember", {"content": "From a client over HTTP."}, call).body
        item, _ = app.engine.reading.read(ME, str(made["id"]))
        assert item.project is None
    app.close()
