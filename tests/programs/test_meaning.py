"""Recall by meaning as programs meet it: without a network or a home, under kill -9, and with a
damaged model.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import ORDINAL_BITS, Block
from memolith.domain.queries import Filter, Query
from memolith.engine.validation import Intake, Limits
from memolith.retrieval.embedding.minilm import MODEL_FILE, MODEL_FOLDER, VOCAB_FILE, MiniLM
from memolith.retrieval.embedding.worker import EmbedWorker
from memolith.retrieval.vectors.encoding import quantised
from memolith.settings import Settings
from tests.programs.children import CLI, HERE, Child, ask, environment, wait_for

ME = Caller()
TALES = 400
"""So many that a search does not embed what a killed worker has left of them."""
SMART = {"MEMOLITH_EMBEDDER": "minilm"}
FACTS = (
    "Our puppy chewed the sofa while we were out.",
    "The flight to Lisbon was delayed by a thunderstorm.",
    "We chose PostgreSQL over MySQL because of row-level security.",
)
MEANT = {
    "pet destroyed the furniture": FACTS[0],
    "why was the plane late?": FACTS[1],
    "which SQL server are we using?": FACTS[2],
}


# Without a network and without a home


def cut_off(*command: str) -> list[str] | None:
    """The command line that runs a program without any network; None where the system does not let
    us.
    """
    for flags in ("-n", "-Urn"):
        try:
            if (
                subprocess.run(
                    ["unshare", flags, "true"], capture_output=True, timeout=60, check=False
                ).returncode
                == 0
            ):
                return ["unshare", flags, *command]
        except OSError:
            return None
    return None


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[Any]:
    """Runs commands with no network and an empty home, which must be empty afterwards too."""
    if cut_off() is None:
        pytest.skip("the network cannot be cut here: neither root nor user namespaces (unshare -n)")
    home = tmp_path / "home"
    home.mkdir()
    env = environment(HOME=str(home), **SMART)

    def run(*arguments: str, program: list[str] = CLI) -> str:
        ran = subprocess.run(
            cut_off(*program, *arguments) or [],
            capture_output=True,
            text=True,
            timeout=120,
            env=env,
            check=False,
        )
        assert ran.returncode == 0, ran
        return ran.stdout

    yield run
    assert list(home.rglob("*")) == []


def test_without_a_network_and_a_home_what_was_remembered_is_found_by_meaning(
    lonely: Any, tmp_path: Path
) -> None:
    probe = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    with pytest.raises(AssertionError, match=r"unreachable|refused|assign"):
        lonely("-c", probe, program=[sys.executable])
    data = ["--data", str(tmp_path / "data"), "--json"]
    for text in FACTS:
        lonely("remember", text, *data)
    for question, text in MEANT.items():
        answer = json.loads(lonely("recall", question, *data))
        assert answer["hits"][0]["text"] == text
        assert answer["hits"][0]["reasons"]["meaning"] > 0.2
        assert not answer.get("warnings"), answer
    pack = json.loads(lonely("context", "pet destroyed the furniture", *data))
    assert FACTS[0] in pack["text"]
    same = json.loads(lonely("similar", FACTS[0].replace("out", "away"), *data))
    assert len(same) == 1
    facts = json.loads(lonely("doctor", *data))
    assert (facts["model"], facts["problems"]) == (f"{MiniLM.id} (works)", [])
    assert facts["vectors"] == {MiniLM.id: 3}


def test_a_write_in_one_process_is_found_by_meaning_in_another_at_its_next_search(
    tmp_path: Path,
) -> None:
    with Child(HERE / "asker.py", tmp_path, **SMART) as asker:
        assert asker.line() == "ready"
        for question, text in MEANT.items():
            written = ask(tmp_path, "remember", text, **SMART)
            asker.say(question)
            answer = json.loads(asker.line())
            assert (answer["ids"][0], answer["warnings"]) == (written["id"], [])
        ask(tmp_path, "forget", written["id"], **SMART)
        asker.say(question)
        assert written["id"] not in json.loads(asker.line())["ids"]
        assert asker.end() == 0


# Kill -9


def vector_count(app: App) -> int:
    with app.store.reading(None) as rows:
        return sum(rows.models().values())


class InAnHour:
    """A clock for which every lease has run out."""

    def now(self) -> str:
        return "2099-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("after", [40, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 90))])
def test_a_kill_during_embedding_loses_nothing(tmp_path: Path, after: Any) -> None:
    app = open_app(Settings(data=tmp_path))
    with app.store.writing(ME.tenant) as rows:
        for n in range(TALES):
            text = f"Tale {n}: a long story about the sea and {n * 7} sailors in it."
            draft = Draft(id=f"i{n}", blocks=(Block(text),))
            app.engine.writing.remember_in(rows, ME, draft, Intake(Limits(), "allow"))
    for n, text in enumerate(FACTS):
        app.engine.writing.remember(ME, Draft(id=f"f{n}", blocks=(Block(text),)))
    with Child(*CLI[1:], "upkeep", "--data", str(tmp_path), **SMART) as worker:
        wait_for(lambda: vector_count(app) >= after)
        worker.kill()
    made = vector_count(app)
    assert after <= made < TALES + 3, "it was killed in the middle"
    assert app.engine.maintenance.verify() == []
    page = app.engine.recall.search(ME, Query("pet destroyed the furniture chewed"))
    assert page.hits[0].passage.text == FACTS[0]
    assert "no vector yet" in page.warnings[0]
    EmbedWorker(app.store, MiniLM(), InAnHour(), quantised).drain()
    assert vector_count(app) == TALES + 3
    for question, text in MEANT.items():
        page = app.engine.recall.search(ME, Query(question, mode="vector"))
        assert page.hits[0].passage.text == text
        assert not [warning for warning in page.warnings if "no vector" in warning]
    assert app.engine.maintenance.verify() == []
    app.close()


def shelved(folder: Path, count: int) -> App:
    """An app whose one long conversation has that many vectors, each with its own direction."""
    app = open_app(Settings(data=folder))
    item = app.engine.writing.remember(
        ME, Draft("conversation", blocks=tuple(Block(f"m {n}") for n in range(count)))
    ).item
    rows = np.random.default_rng(1).normal(size=(count, 384)).astype("<f4")
    with app.store.writing(ME.tenant) as store:
        for (ref, _, _), row in zip(
            store.unembedded(ME.tenant, item.id, MiniLM.id), rows, strict=True
        ):
            store.put_vector(ref, MiniLM.id, os.urandom(16), quantised(row.tobytes()))
        for job in store.lease_jobs("embed", app.clock.now(), 10, 60):
            store.finish_job(job)
    return app


def nearest(app: App, row: np.ndarray) -> int:
    index = app.stage.vectors(MiniLM())
    with app.store.reading(None) as store:
        passage = index.nearest(store, ME, Filter(), row.tobytes(), 1)[0][0]
        ordinal: int = passage & 2**ORDINAL_BITS - 1
        return ordinal


@pytest.mark.parametrize("attempt", [0, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 2))])
def test_a_kill_during_a_snapshot_leaves_the_old_one_in_force(tmp_path: Path, attempt: Any) -> None:
    count = 5000
    app = shelved(tmp_path, count)
    app.embeddings.renew_index(always=True)
    before = {path.name for path in tmp_path.glob("vectors-*")}
    rows = np.random.default_rng(1).normal(size=(count, 384)).astype("<f4")
    with Child(HERE / "snapper.py", tmp_path, **SMART) as snapper:
        assert snapper.line() == "ready"
        snapper.say()
        for _ in range(1 + attempt):
            wait_for(lambda: list(tmp_path.glob("*.partial")))
        snapper.kill()
    left = {path.name for path in tmp_path.glob("vectors-*.snap")}
    assert before & left or left, "there is a snapshot"
    other = open_app(Settings(data=tmp_path))
    for n in (0, 17, count - 1):
        assert nearest(app, rows[n]) == nearest(other, rows[n]) == n
    for partial in tmp_path.glob("*.partial"):
        os.utime(partial, (1, 1))
    assert other.embeddings.renew_index(always=True)
    assert len(list(tmp_path.glob("vectors-*"))) == 1, "and what the killed one left is gone"
    for n in (0, 17, count - 1):
        assert nearest(app, rows[n]) == nearest(other, rows[n]) == n
    assert other.engine.maintenance.verify() == []
    other.close()
    app.close()


# A damaged model


def damaged(folder: Path, what: str) -> Path:
    """A copy of the package whose model has one wrong bit, is cut off or is missing."""
    package = folder / "package"
    # With its bytecode, which fits the copies too: to compile them takes longer than all the rest.
    shutil.copytree(MODEL_FOLDER.parents[2], package / "memolith")
    model = package / "memolith" / "retrieval" / "embedding" / "model"
    if what == "bit":
        data = bytearray((model / MODEL_FILE).read_bytes())
        data[len(data) // 2] ^= 1
        (model / MODEL_FILE).write_bytes(data)
    elif what == "cut":
        os.truncate(model / MODEL_FILE, 1000)
    elif what == "vocabulary":
        (model / VOCAB_FILE).write_text("\n".join(map(str, range(30522))))
    else:
        (model / MODEL_FILE).unlink()
    return package


@pytest.mark.parametrize(
    "what",
    [
        "bit",
        *(pytest.param(n, marks=pytest.mark.full) for n in ("cut", "vocabulary", "missing")),
    ],
)
def test_a_model_that_fails_its_digest_is_not_used_and_words_serve(
    tmp_path: Path, what: str
) -> None:
    package, data = damaged(tmp_path, what), tmp_path / "data"
    ask(data, "remember", FACTS[0], **SMART)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*CLI, *arguments, "--data", str(data), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment(PYTHONPATH=str(package), **SMART),
        )

    assert run("remember", FACTS[1]).returncode == 0
    answer = json.loads(run("recall", "the puppy and the flight").stdout)
    assert {hit["text"] for hit in answer["hits"]} == set(FACTS[:2])
    assert "words only" in answer["warnings"][0]
    assert all("meaning" not in hit["reasons"] for hit in answer["hits"])
    failed = run("recall", "pet destroyed the furniture", "--mode", "vector")
    assert (failed.returncode, json.loads(failed.stderr)["error"]) == (1, "embedder_down")
    doctor = run("doctor")
    assert doctor.returncode == 1
    assert "reinstall memolith" in json.loads(doctor.stdout)["problems"][0]
    assert "Traceback" not in failed.stderr + doctor.stderr
    run("upkeep")
    app = open_app(Settings(data=data))
    asked = Query("pet destroyed the furniture", mode="vector", threshold=0.0)
    found = wait_for(
        lambda: hits if len(hits := app.engine.recall.search(ME, asked).hits) == 2 else None
    )
    assert found[0].passage.text == FACTS[0], (
        "with a good model all is as it should be, without help"
    )
    app.close()
