"""An embedder behind HTTP: a small real server that speaks OpenAI's protocol, and all that goes
wrong with one.
"""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memolith.analysts.openai import client as openai_client
from memolith.analysts.openai import embedder as openai_embedder
from memolith.analysts.openai.embedder import MAX_TEXTS_PER_REQUEST, HttpEmbedder
from memolith.bootstrap import App, open_app
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.errors import EmbedderDown
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.retrieval.embedding.worker import EmbedWorker
from memolith.retrieval.vectors.encoding import quantised
from memolith.settings import Settings
from tests.checked import present
from tests.conftest import ME, note
from tests.programs.children import TIMEOUT_S, wait_for

KEY = "sk-very-secret-4711"
WORDS = 96
Answer = tuple[int, dict[str, str], bytes]


def bag(text: str, dimension: int = WORDS) -> list[float]:
    """A vector that texts with the same words share, and nothing else does."""
    row = [0.001] * dimension
    for word in text.lower().replace(".", " ").replace(":", " ").split():
        row[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % dimension] += 1.0
    return row


def answered(texts: list[str], dimension: int = WORDS) -> dict[str, Any]:
    rows = [
        {"object": "embedding", "index": n, "embedding": bag(text, dimension)}
        for n, text in enumerate(texts)
    ]
    return {
        "object": "list",
        "data": rows,
        "model": "test",
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


class Server:
    """Answers with what `script` says, one entry per request, and then as it should."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.script: list[Callable[[list[str]], Answer]] = []
        self.always: Callable[[list[str]], Answer] = lambda texts: (
            200,
            {},
            json.dumps(answered(texts)).encode(),
        )
        self.let_go = threading.Event()
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                assert self.path == "/v1/embeddings"
                served.requests.append(
                    ({name.lower(): value for name, value in self.headers.items()}, body)
                )
                answer = served.script.pop(0) if served.script else served.always
                code, headers, sent = answer(body["input"])
                try:
                    self.send_response(code)
                    for name, value in {"content-type": "application/json", **headers}.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(sent)))
                    self.end_headers()
                    self.wfile.write(sent)
                except OSError:
                    return

            def log_message(self, *_: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def hang(self, _: list[str]) -> Answer:
        """Say nothing until the test is over."""
        self.let_go.wait(TIMEOUT_S)
        return 200, {}, b"{}"

    def close(self) -> None:
        self.let_go.set()
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches wait longer than a user would, because a busy machine is slow."""
    monkeypatch.setattr(openai_embedder, "SEARCH_TIMEOUT_S", TIMEOUT_S)


class Watch:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def says(code: int, body: Any = None, **headers: str) -> Callable[[list[str]], Answer]:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: (
        code,
        {name.replace("_", "-"): value for name, value in headers.items()},
        sent,
    )


def embedder(server: Server, **fields: Any) -> HttpEmbedder:
    return HttpEmbedder(
        server.url, "test", **{"key": KEY, "dimension": WORDS, "timeout_s": TIMEOUT_S, **fields}
    )


# The protocol


def test_vectors_come_back_in_the_order_of_the_texts_whatever_the_order_of_the_answer(
    server: Server,
) -> None:
    def shuffled(texts: list[str]) -> Answer:
        made = answered(texts)
        made["data"].reverse()
        return 200, {}, json.dumps(made).encode()

    server.script = [shuffled]
    texts = ["one", "two words", "three more words"]
    for text, vector in zip(texts, embedder(server).embed(texts), strict=True):
        row, wanted = np.frombuffer(present(vector), "<f4"), np.array(bag(text))
        assert row @ row == pytest.approx(1.0, abs=1e-5)
        assert row @ wanted == pytest.approx(np.linalg.norm(wanted), rel=1e-5)


def test_the_key_is_sent_as_a_bearer_and_the_model_by_name(server: Server) -> None:
    embedder(server).embed(["text"])
    headers, body = server.requests[0]
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body == {"model": "test", "input": ["text"]}
    embedder(server, key="").embed(["text"])
    assert "authorization" not in server.requests[1][0]


def test_many_texts_go_in_batches_and_empty_ones_not_at_all(server: Server) -> None:
    texts = [f"text {n}" for n in range(MAX_TEXTS_PER_REQUEST + 5)] + ["", "  \n"]
    made = embedder(server).embed(texts)
    assert [len(body["input"]) for _, body in server.requests] == [MAX_TEXTS_PER_REQUEST, 5]
    assert made[-2:] == [None, None]
    assert all(made[:-2])


def test_the_dimension_is_asked_for_once_where_it_is_not_set(server: Server) -> None:
    made = embedder(server, dimension=0)
    assert (made.dimension, made.id) == (WORDS, f"http/test/{WORDS}")
    made.embed(["text"])
    assert len(server.requests) == 2


def test_models_of_one_name_and_two_lengths_are_two_models(server: Server) -> None:
    assert embedder(server).id != embedder(server, dimension=WORDS * 2).id


def test_a_vector_without_direction_is_none(server: Server) -> None:
    server.script = [says(200, {"data": [{"index": 0, "embedding": [0.0] * WORDS}]})]
    assert embedder(server).embed(["text"]) == [None]


# What goes wrong


@pytest.mark.parametrize("wait", ["0", "0.01", "-3", "nan", "Wed, 21 Oct 2026 07:28:00 GMT", ""])
def test_a_busy_server_is_asked_again_when_it_says(server: Server, wait: str) -> None:
    server.script = [says(429, {}, retry_after=wait)]
    assert embedder(server).embed(["text"])[0] is not None
    assert len(server.requests) == 2


def test_a_long_pause_is_cut_short_and_a_server_that_stays_busy_is_given_up(server: Server) -> None:
    server.always = says(429, {"error": "slow down"}, retry_after="0.01")
    with pytest.raises(EmbedderDown, match="429"):
        embedder(server).embed(["text"])
    assert len(server.requests) == 3


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_a_server_that_stumbles_is_asked_again(server: Server, code: int) -> None:
    server.script = [says(code, {}, retry_after="0.01")]
    assert embedder(server).embed(["text"])[0] is not None
    server.always = says(code, {}, retry_after="0.01")
    with pytest.raises(EmbedderDown, match=str(code)):
        embedder(server).embed(["text"])


GOOD = [0.5] * WORDS
WRONG: dict[str, Callable[[list[str]], Answer]] = {
    "no key": says(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
    "no right": says(403, {}),
    "no such path": says(404, b"not found"),
    "too long": says(400, {"error": "too many tokens"}),
    "elsewhere": says(307, b"", location="http://127.0.0.1:1/"),
    "no JSON": says(200, b"<html>welcome</html>"),
    "half a JSON": says(200, b'{"data": [{"index": 0, "embedd'),
    "not UTF-8": says(200, b'{"data": "\xff\xfe"}'),
    "a list": says(200, []),
    "nothing": says(200, None),
    "no data": says(200, {"object": "list"}),
    "data that is none": says(200, {"data": None}),
    "rows that are none": says(200, {"data": [1]}),
    "a word for a number": says(200, {"data": [{"index": 0, "embedding": ["x"] * WORDS}]}),
    "null for a number": says(200, {"data": [{"index": 0, "embedding": [None] * WORDS}]}),
    "base64": says(200, {"data": [{"index": 0, "embedding": "AAAA"}]}),
    "no index": says(200, {"data": [{"embedding": GOOD}]}),
    "not a number": says(
        200, b'{"data": [{"index": 0, "embedding": [' + b"NaN," * (WORDS - 1) + b"1]}]}"
    ),
    "endless": says(
        200, b'{"data": [{"index": 0, "embedding": [' + b"Infinity," * (WORDS - 1) + b"1]}]}"
    ),
    "too few": says(200, {"data": []}),
    "an empty one": says(200, {"data": [{"index": 0, "embedding": []}]}),
    "too many": says(
        200, {"data": [{"index": 0, "embedding": GOOD}, {"index": 1, "embedding": GOOD}]}
    ),
    "another length": says(200, {"data": [{"index": 0, "embedding": GOOD + GOOD}]}),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_answer_is_refused_in_plain_words_without_the_key(
    server: Server, what: Any
) -> None:
    server.always = WRONG[what]
    with pytest.raises(EmbedderDown) as caught:
        embedder(server).embed(["text"])
    told = [caught.value.message]
    error: BaseException | None = caught.value
    while error is not None:
        told.append(str(error))
        error = error.__cause__ or error.__context__
    assert KEY not in "".join(told)
    assert caught.value.message.endswith(".")


def test_a_wrong_length_is_told_with_both_numbers(server: Server) -> None:
    server.always = WRONG["another length"]
    with pytest.raises(EmbedderDown, match=rf"{2 * WORDS}.*{WORDS}"):
        embedder(server).embed(["text"])


def test_a_silent_server_is_given_up_in_time_and_left_alone_for_a_while(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch()
    monkeypatch.setattr(openai_client, "time", watch)

    def hang(texts: list[str]) -> Answer:
        watch.now_s += 3
        return server.hang(texts)

    made = embedder(server, timeout_s=0.2)
    server.script = [hang]
    assert made.wait(0.0)
    with pytest.raises(EmbedderDown, match="in time"):
        made.embed(["text"])
    assert not server.let_go.is_set()
    # Three seconds were lost, and twice as many go by without it.
    watch.now_s += 5
    assert not made.wait(5.0), "the next search does not wait for it again"
    watch.now_s += 2
    assert made.wait(0.0)
    made._client.endpoint = made._client.endpoint._replace(timeout_s=TIMEOUT_S)
    assert made.embed(["text"])[0] is not None


def test_nobody_there_is_told_in_plain_words() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(EmbedderDown, match="reached"):
            HttpEmbedder(url, "test", KEY, WORDS).embed(["text"])


@pytest.mark.parametrize(
    "url", ["", "no url", "ftp://127.0.0.1/v1", "http://", "http://[", "http://127.0.0.1:99999/v1"]
)
def test_an_address_that_is_none_is_told_in_plain_words(url: str) -> None:
    with pytest.raises(EmbedderDown):
        HttpEmbedder(url, "test", KEY, WORDS, 1.0).embed(["text"])


@pytest.mark.parametrize("key", ["ключ", "two\nlines", "a\r\nx-evil: 1"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(server: Server, key: str) -> None:
    with pytest.raises(EmbedderDown) as caught:
        embedder(server, key=key).embed(["text"])
    assert key not in str(caught.value)
    assert not server.requests


# Through the app


def settings(server: Server, data: Path, **fields: Any) -> Settings:
    return Settings(
        data=data,
        embedder="http",
        embedder_url=server.url,
        embedder_model="test",
        embedder_key=KEY,
        **{"embedder_dimension": WORDS, "embedder_timeout_s": TIMEOUT_S} | fields,
    )


@contextmanager
def opened(chosen: Settings) -> Iterator[App]:
    app = open_app(chosen)
    try:
        yield app
    finally:
        app.close()


TEXTS = (
    "Apples grow on trees.",
    "The auditor asked for invoices.",
    "Rain fell on the tent all night.",
)


def vectors(app: App) -> dict[str, int]:
    with app.store.reading(None) as rows:
        return rows.models()


def best(app: App, text: str, mode: str = "vector") -> str:
    return app.engine.recall.search(ME, Query(text, mode=mode)).hits[0].passage.text


def in_words_only(app: App) -> bool:
    """Whether a search finds by words, and says that it does not find by meaning."""
    found = app.engine.recall.search(ME, Query("invoices of the auditor"))
    assert found.hits[0].passage.text == TEXTS[1]
    return "meaning" not in found.hits[0].reasons and any(
        "words only" in warning for warning in found.warnings
    )


@pytest.mark.parametrize("dimension", [WORDS, 0])
def test_recall_works_with_the_vectors_of_a_server(
    server: Server, tmp_path: Path, dimension: Any
) -> None:
    with opened(settings(server, tmp_path, embedder_dimension=dimension)) as app:
        for text in TEXTS:
            app.engine.writing.remember(ME, note(text))
        assert best(app, "auditor invoices") == TEXTS[1]
        assert vectors(app) == {f"http/test/{WORDS}": 3}
        found = app.engine.recall.search(ME, Query("rain tent"))
        assert found.hits[0].passage.text == TEXTS[2]
        assert found.hits[0].reasons["meaning"] > 0.5
        assert not found.warnings


@pytest.mark.parametrize("dimension", [WORDS, 0])
@pytest.mark.parametrize("fault", ["refused", "500", "wrong length"])
def test_while_the_server_is_down_words_serve_with_a_warning_and_recovery_needs_no_help(
    server: Server, tmp_path: Path, dimension: Any, fault: str
) -> None:
    good = server.always
    server.always = {
        "refused": says(401, {}),
        "500": says(500, {}, retry_after="0"),
        "wrong length": WRONG["another length"] if dimension else says(200, {"data": []}),
    }[fault]
    with opened(settings(server, tmp_path, embedder_dimension=dimension)) as app:
        for text in TEXTS:
            app.engine.writing.remember(ME, note(text))
        for _ in range(10):
            assert in_words_only(app)
        with pytest.raises(EmbedderDown):
            app.engine.recall.search(ME, Query("invoices", mode="vector"))
        server.always = good
        asked = Query("auditor invoices", mode="vector", threshold=0.0)
        wait_for(lambda: len(app.engine.recall.search(ME, asked).hits) == 3)
        assert not app.engine.recall.search(ME, Query("auditor invoices")).warnings


def test_a_server_that_went_away_between_two_searches_costs_only_the_meaning(
    server: Server, tmp_path: Path
) -> None:
    with opened(settings(server, tmp_path)) as app:
        for text in TEXTS:
            app.engine.writing.remember(ME, note(text))
        assert best(app, "auditor invoices") == TEXTS[1]
        server.close()
        assert in_words_only(app)
        app.engine.writing.remember(ME, note("A pilot lost a key."))
        found = app.engine.recall.search(ME, Query("which pilot?"))
        assert found.hits[0].passage.text == "A pilot lost a key."
        assert found.warnings


# The worker


class Later:
    """A clock that can be put forward."""

    def __init__(self) -> None:
        self.hour = 0

    def now(self) -> str:
        return f"2099-01-{1 + self.hour // 24:02d}T{self.hour % 24:02d}:00:00.000000Z"


def statuses(app: App) -> dict[str, int]:
    with app.store.reading(None) as rows:
        return {
            status: count
            for (consumer, status), count in rows.outbox_counts().items()
            if consumer == "embed"
        }


def test_no_work_is_given_up_however_long_the_server_is_down(
    server: Server, tmp_path: Path
) -> None:
    good, server.always = server.always, says(503, {}, retry_after="0")
    with opened(settings(server, tmp_path)) as app:
        for text in TEXTS:
            app.engine.writing.remember(ME, note(text))
        clock = Later()
        worker = EmbedWorker(app.store, embedder(server), clock, quantised)
        for clock.hour in range(24):
            asked = len(server.requests)
            assert worker.drain() == 0
            assert len(server.requests) - asked <= 6, (
                "one batch and one proof are tried, not every text"
            )
        assert statuses(app) == {"pending": 3}
        server.always, clock.hour = good, 30
        assert worker.drain() == 3
        assert statuses(app) == {"processed": 3}


def test_one_text_that_the_server_refuses_stops_no_other(server: Server, tmp_path: Path) -> None:
    good = server.always
    server.always = lambda texts: (
        says(400, {})(texts) if any("poison" in text for text in texts) else good(texts)
    )
    with opened(settings(server, tmp_path)) as app:
        for text in (*TEXTS, "This is poison."):
            app.engine.writing.remember(ME, note(text))
        clock = Later()
        worker = EmbedWorker(app.store, embedder(server), clock, quantised)
        for clock.hour in range(24):
            worker.drain()
        assert statuses(app) == {"processed": 3, "failed": 1}
        with app.store.reading(None) as rows:
            assert ["400" in error for error in rows.outbox_errors()] == [True]


class Slow:
    """An embedder during whose work something else happens."""

    id, digest, dimension, ready = f"http/test/{WORDS}", "", WORDS, True

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self.meanwhile = meanwhile

    def wait(self, timeout_s: float) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return [np.array(bag(text), "<f4").tobytes() for text in texts]


@pytest.mark.parametrize("change", ["edit", "shorten", "forget", "erase"])
def test_a_slow_worker_does_not_overwrite_what_a_faster_one_made_of_a_newer_text(
    server: Server, tmp_path: Path, change: str
) -> None:
    with opened(settings(server, tmp_path)) as app:
        draft = Draft(
            kind="conversation", blocks=(Block("old words", "Ann"), Block("more old words", "Ann"))
        )
        id = app.engine.writing.remember(ME, draft).item.id

        def meanwhile() -> None:
            if change == "edit":
                app.engine.writing.revise(
                    ME, id, Patch(blocks=(Block("fresh ideas", "Ann"), Block("more ideas", "Ann")))
                )
            elif change == "shorten":
                app.engine.writing.revise(ME, id, Patch(blocks=(Block("fresh ideas", "Ann"),)))
            elif change == "forget":
                app.engine.writing.forget(ME, id)
            else:
                app.engine.writing.erase(ME, id)
            EmbedWorker(app.store, Slow(lambda: None), app.clock, quantised).drain()

        EmbedWorker(app.store, Slow(meanwhile), app.clock, quantised).drain()
        if change in ("forget", "erase"):
            assert not app.engine.recall.search(ME, Query("old words", mode="vector")).hits
        else:
            hit = app.engine.recall.search(ME, Query("fresh ideas", mode="vector")).hits[0]
            assert (hit.passage.text, hit.reasons["meaning"] > 0.7) == ("fresh ideas", True)
        with app.store.reading(None) as rows:
            left = rows.unembedded(ME.tenant, id, Slow.id)
        assert all(digest for _, _, digest in left)
        assert len(left) == {"edit": 2, "shorten": 1, "forget": 2, "erase": 0}[change]


# A change of the model


def test_a_change_of_model_lets_the_old_vectors_serve_until_the_new_ones_are_there(
    server: Server, tmp_path: Path
) -> None:
    with opened(Settings(data=tmp_path)) as app:
        for text in TEXTS:
            app.engine.writing.remember(ME, note(text))
        app.upkeep.run()
        assert vectors(app) == {MiniLM.id: 3}
    good, server.always = server.always, says(503, {}, retry_after="0")
    with opened(settings(server, tmp_path)) as app:
        assert best(app, "bookkeeping and paying bills") == TEXTS[1], (
            "only MiniLM knows what an invoice is"
        )
        assert vectors(app) == {MiniLM.id: 3}
        server.always = good
        wait_for(lambda: app.upkeep.run() and vectors(app) == {f"http/test/{WORDS}": 3})
        assert best(app, "auditor invoices") == TEXTS[1]
        scores = {
            hit.passage.text: hit.reasons["meaning"]
            for hit in app.engine.recall.search(
                ME, Query("bookkeeping and paying bills", mode="vector", threshold=0.0)
            ).hits
        }
        assert scores[TEXTS[1]] < 0.2, "a bag of words does not"
    with opened(settings(server, tmp_path)) as app:
        assert best(app, "auditor invoices") == TEXTS[1]
        assert statuses(app).get("pending", 0) == 0


def test_a_change_of_model_with_work_still_pending_embeds_everything_anew(
    server: Server, tmp_path: Path
) -> None:
    with opened(Settings(data=tmp_path)) as app:
        for text in TEXTS[:2]:
            app.engine.writing.remember(ME, note(text))
        app.upkeep.run()
        app.engine.writing.remember(ME, note(TEXTS[2]))
    with opened(settings(server, tmp_path)) as app:
        for _ in range(3):
            app.upkeep.run()
        assert vectors(app) == {f"http/test/{WORDS}": 3}


def test_the_way_back_to_the_model_in_the_package_works_as_well(
    server: Server, tmp_path: Path
) -> None:
    with opened(settings(server, tmp_path)) as app:
        for text in TEXTS:
            app.engine.writing.remember(ME, note(text))
        app.upkeep.run()
    with opened(Settings(data=tmp_path)) as app:
        app.engine.recall.search(ME, Query("anything"))
        app.upkeep.run()
        assert vectors(app) == {MiniLM.id: 3}
        assert best(app, "bookkeeping and paying bills") == TEXTS[1]


@pytest.mark.parametrize("down", [True, False])
def test_background_work_begins_whether_the_server_is_up_or_not(
    server: Server, tmp_path: Path, down: bool
) -> None:
    good = server.always
    if down:
        server.always = says(401, {})
    with opened(settings(server, tmp_path, embedder_dimension=0)) as app:
        app.engine.writing.remember(ME, note(TEXTS[0]))
        app.start_background()
        server.always = good
        wait_for(lambda: vectors(app) == {f"http/test/{WORDS}": 1})
