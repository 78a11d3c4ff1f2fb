"""A search finds by meaning what was just written, if not too much waits."""

from dataclasses import replace
from itertools import pairwise
from threading import Thread

import pytest

from memolith.bootstrap import App
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Found, Query
from memolith.engine import recall
from memolith.engine.validation import Intake, Limits
from memolith.retrieval.embedding import worker
from memolith.retrieval.embedding.worker import EmbedWorker
from tests.conftest import ME, note
from tests.programs.children import wait_for
from tests.stores import each_store

pytestmark = each_store
PUPPY = "Our puppy chewed the sofa while we were out."
FLIGHT = "The flight to Lisbon was delayed by a thunderstorm."
ABOUT_PUPPY = "pet destroyed the furniture"
ABOUT_FLIGHT = "why was the plane late?"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a busy machine more time than a user would."""
    monkeypatch.setattr(recall, "SMALL_BACKLOG_BUDGET_S", 60.0)
    monkeypatch.setattr(worker, "MAX_WAIT_FOR_OTHERS_S", 60.0)


def entry(n: int) -> str:
    return f"Entry {n} of the ship's log: {n * 7} barrels of salt on board, {n + 3} sailors."


def write_quickly(app: App, count: int) -> None:
    """Remember so many notes; the first and the last tell something of their own."""
    app.engine.writing.remember(ME, replace(note(PUPPY), id="first"))
    for n in range(count - 2):
        app.engine.writing.remember(ME, note(entry(n)))
    app.engine.writing.remember(ME, replace(note(FLIGHT), id="last"))


def write_in_bulk(app: App, count: int) -> None:
    with app.store.writing(ME.tenant) as rows:
        for n in range(count):
            app.engine.writing.remember_in(rows, ME, note(entry(n)), Intake(Limits(), "allow"))


def found(app: App, text: str) -> Found:
    return app.engine.recall.search(ME, Query(text, mode="vector"))


def assert_all_is_found_by_meaning(app: App) -> None:
    page = found(app, ABOUT_FLIGHT)
    assert (page.hits[0].item.id, page.warnings) == ("last", ())
    page = found(app, ABOUT_PUPPY)
    assert (page.hits[0].item.id, page.warnings) == ("first", ())


def leased(app: App) -> int:
    with app.store.reading(ME.tenant) as rows:
        return rows.count_leased(ME.tenant, "embed", app.clock.now())


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("count", [24, 200])
def test_after_quick_writes_the_first_and_the_last_are_found_by_meaning(
    smart: App, count: int
) -> None:
    write_quickly(smart, count)
    assert_all_is_found_by_meaning(smart)


@pytest.mark.usefixtures("patient")
def test_a_search_waits_for_what_another_worker_has_leased(smart: App) -> None:
    write_quickly(smart, 100)
    other_worker = Thread(target=smart.embeddings.embed_waiting)
    other_worker.start()
    wait_for(lambda: leased(smart) or not other_worker.is_alive())
    assert_all_is_found_by_meaning(smart)
    other_worker.join()


@pytest.mark.usefixtures("patient")
def test_writes_are_found_by_meaning_while_the_background_works(smart: App) -> None:
    smart.start_background()
    write_quickly(smart, 60)
    assert_all_is_found_by_meaning(smart)


def test_a_search_does_not_wait_long_for_a_worker_that_is_gone(
    smart: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "SMALL_BACKLOG_BUDGET_S", 60.0)
    monkeypatch.setattr(worker, "MAX_WAIT_FOR_OTHERS_S", 0.05)
    write_quickly(smart, 24)
    with smart.store.writing(ME.tenant) as rows:
        rows.lease_jobs("embed", smart.clock.now(), 4, 60, ME.tenant)
    page = found(smart, ABOUT_PUPPY)
    assert page.hits[0].item.id == "first"
    assert page.warnings == ("4 items have no vector yet; they are found by words only.",)


def test_of_a_long_backlog_the_newest_is_found_by_meaning_and_the_rest_is_told(smart: App) -> None:
    write_in_bulk(smart, 2000)
    smart.engine.writing.remember(ME, replace(note(FLIGHT), id="last"))
    page = found(smart, ABOUT_FLIGHT)
    assert page.hits[0].item.id == "last"
    warning = "1,000 items or more have no vector yet; they are found by words only."
    assert page.warnings == (warning,)


def test_when_the_time_is_over_a_long_text_keeps_its_vectors_and_goes_on_later(
    smart: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MAX_TEXTS_BETWEEN_LOOKS", 8)
    blocks = tuple(Block(entry(n)) for n in range(40))
    smart.engine.writing.remember(ME, Draft("conversation", blocks=blocks, id="long"))
    embedder = smart.embedder
    assert embedder is not None
    assert embedder.wait(60.0)
    embed_worker = EmbedWorker(smart.store, embedder, smart.clock, smart.stage.row)
    done = 0
    counts = []
    while not done:
        done = embed_worker.drain(ME.tenant, budget_s=0.005)
        assert leased(smart) == 0
        with smart.store.reading(None) as rows:
            counts.append(sum(rows.models().values()))
    assert counts == sorted(set(counts)), "each step makes some"
    assert (counts[0] < 40, counts[-1], done) == (True, 40, 1)


@pytest.mark.parametrize("failed", [0, 40])
def test_a_lease_takes_a_part_of_what_is_left_and_failed_jobs_are_not_left(
    smart: App, monkeypatch: pytest.MonkeyPatch, failed: int
) -> None:
    monkeypatch.setattr(worker, "MAX_JOBS_PER_LEASE", 2)
    monkeypatch.setattr(worker, "MAX_JOBS_PER_BULK_LEASE", 8)
    write_in_bulk(smart, failed)
    with smart.store.writing(None) as rows:
        for job in rows.lease_jobs("embed", smart.clock.now(), failed, 60):
            rows.postpone_job(job, smart.clock.now(), "out of luck", tries=1)
    write_in_bulk(smart, 20)
    embedder = smart.embedder
    assert embedder is not None
    assert embedder.wait(60.0)
    embed_worker = EmbedWorker(smart.store, embedder, smart.clock, smart.stage.row)
    done = [0]
    embed_worker.drain(tell=done.append)
    # After the first two 18 are left, of which a quarter is 4.
    assert [after - before for before, after in pairwise(done)] == [2, 4, 3, 2, 2, 2, 2, 2, 1]


def test_the_best_hits_by_words_are_compared_by_meaning_though_their_vectors_wait(
    smart: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smart.engine.recall, "embed_waiting", lambda tenant, budget_s: None)
    write_quickly(smart, 3)
    page = smart.engine.recall.search(ME, Query("the puppy and the sofa", limit=1))
    (hit,) = page.hits
    assert hit.item.id == "first"
    assert hit.reasons["meaning"] > 0.3
    assert "no vector yet" in page.warnings[0]
