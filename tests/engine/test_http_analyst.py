"""An analyst behind HTTP: a small real server that speaks the chat-completions protocol, and all
that goes wrong.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.engine.insights import Answer
from memolith.ports.analyst import ChatMessage, ReplyOptions
from memolith.settings import Settings
from tests.programs.children import TIMEOUT_S
from tests.tools.lanonasis_calls import create, run

KEY = "sk-very-secret-4711"


class Server:
    """Answers with what `script` holds, one entry per request: a status and a body, or `hang`."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.script: list[Any] = []
        self.let_go = threading.Event()
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                served.requests.append((dict(self.headers), body))
                assert self.path == "/v1/chat/completions"
                step = served.script.pop(0)
                if step == "hang":
                    served.let_go.wait(TIMEOUT_S)
                    return
                status, answer = step
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.send_header("retry-after", "0")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def said(
    findings: list[dict[str, Any]] | str, tokens: int = 10, **message: Any
) -> tuple[int, dict[str, Any]]:
    content = (
        findings
        if isinstance(findings, str)
        else json.dumps({"findings": findings, "summary": "In short."})
    )
    return 200, {
        "id": "c",
        "object": "chat.completion",
        "usage": {"total_tokens": tokens},
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
    }


def tag(label: str, confidence: float = 0.8) -> dict[str, Any]:
    return {"label": label, "text": "because", "confidence": confidence, "support": []}


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.let_go.set()
    made.http.shutdown()
    made.http.server_close()


@pytest.fixture
def timeout_s() -> float:
    """How long an answer is waited for: on a busy machine even a small server may be slow."""
    return TIMEOUT_S


@pytest.fixture
def asked(server: Server, tmp_path: Path, timeout_s: float) -> Iterator[App]:
    app = open_app(
        Settings(
            data=tmp_path,
            embedder="none",
            analyst_url=server.url,
            analyst_model="m",
            analyst_key=KEY,
            analyst_budget=100,
            analyst_timeout_s=timeout_s,
        )
    )
    yield app
    app.close()


def suggest(app: App, **more: Any) -> dict[str, Any]:
    id = create(app, "Zebra crossings are painted white.", tags=["old"])
    return run(app, "intelligence_suggest_tags", memory_id=id, user_id="local", **more)


def test_tags_come_from_the_endpoint_which_is_asked_for_json(asked: App, server: Server) -> None:
    server.script = [said([tag("later", 0.5), tag("streets", 0.9), tag("old", 1.0)])]
    body = suggest(asked, max_suggestions=2)
    assert [one["tag"] for one in body["suggestions"]] == ["streets", "later"], (
        "surest first, without what it has"
    )
    assert body["method"] == "http/m"
    assert "warnings" not in body
    headers, sent = server.requests[0]
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert sent["model"] == "m"
    assert sent["response_format"]["type"] == "json_schema"
    assert "Zebra crossings" in sent["messages"][1]["content"]
    assert run(asked, "intelligence_health_check")["services"]["analysis"] == "http/m"


def test_an_insight_must_name_memories_that_are_there(asked: App, server: Server) -> None:
    id = create(asked)
    good = {"label": "theme", "text": "Stripes.", "confidence": 0.7, "support": [id]}
    server.script = [said([good, {**good, "support": ["invented"]}, {**good, "support": []}])]
    body = run(asked, "intelligence_extract_insights", user_id="local")
    assert [one["supporting_memories"] for one in body["insights"]] == [[id]]
    assert (body["summary"], body["method"]) == ("In short.", "http/m")


@pytest.mark.parametrize(
    "script,why",
    [
        ([(429, {})] * 3, "HTTP 429"),
        ([(500, b"oops")] * 3, "HTTP 500"),
        ([(401, {"error": "no"})], "HTTP 401"),
        ([said("not json")], "not in the form"),
        ([(200, b"<html>")], "not in the form"),
        ([said([{"label": "x"}])], "not in the form"),
        ([said([tag("x", 7)])], "not in the form"),
        ([(200, {"choices": []})], "not in the form"),
        ([(200, {"choices": [{"message": {"content": None}}]})], "not in the form"),
        ([said("", refusal="I will not.")], "refused"),
    ],
    ids=str,
)
def test_whatever_goes_wrong_the_built_in_analyst_answers_and_says_so(
    asked: App, server: Server, script: list[Any], why: str
) -> None:
    check_built_in(asked, server, script, why)


@pytest.mark.parametrize("timeout_s", [0.5])
def test_where_the_endpoint_is_silent_the_built_in_analyst_answers_and_says_so(
    asked: App, server: Server
) -> None:
    check_built_in(asked, server, ["hang"], "did not answer in time")


def check_built_in(asked: App, server: Server, script: list[Any], why: str) -> None:
    server.script = list(script)
    body = suggest(asked)
    assert body["method"] == "built-in"
    assert why in body["warnings"][0]
    assert KEY not in json.dumps(body)
    assert {"zebra", "crossings"} <= {one["tag"] for one in body["suggestions"]}
    assert not server.script, "all of them were needed"


def test_a_busy_endpoint_is_asked_again(asked: App, server: Server) -> None:
    server.script = [(429, {}), said([tag("streets")])]
    assert suggest(asked)["method"] == "http/m"


def test_what_was_spent_is_counted_and_the_budget_ends_it(asked: App, server: Server) -> None:
    server.script = [said([tag("streets")], tokens=100)]
    assert suggest(asked)["method"] == "http/m"
    body = suggest(asked)
    assert "budget" in body["warnings"][0]
    assert len(server.requests) == 1


def test_an_endpoint_that_is_not_there_is_no_obstacle(tmp_path: Path) -> None:
    app = open_app(
        Settings(
            data=tmp_path, embedder="none", analyst_url="http://127.0.0.1:9/v1", analyst_model="m"
        )
    )
    assert "cannot be reached" in suggest(app)["warnings"][0]
    app.close()


def test_entities_come_from_the_endpoint_as_far_as_the_text_holds_them(
    asked: App, server: Server
) -> None:
    text = "Zork talks to Mim. Bim sleeps."
    said_so = {
        "label": "RelatesTo",
        "text": "Zork talks to Mim.",
        "confidence": 0.9,
        "support": ["Zork", "Mim"],
    }
    server.script = [
        said(
            [
                {**tag("Person", 0.9), "text": "Zork"},
                {**tag("Concept", 0.7), "text": "Mim"},
                {**tag("Concept", 0.9), "text": "invented"},
                {**tag("Animal", 0.9), "text": "Bim"},
                said_so,
                {**said_so, "label": "Likes"},
                {**said_so, "support": ["Zork"]},
                {**said_so, "text": "Mim is old."},
                {**said_so, "support": ["Zork", "invented"]},
            ]
        )
    ]
    body = run(asked, "subcog_entities", action="extract", content=text)
    assert [(one["entity_type"], one["name"]) for one in body["entities"]] == [
        ("Person", "Zork"),
        ("Concept", "Mim"),
    ]
    assert [(one["relationship_type"], one["evidence"]) for one in body["relationships"]] == [
        ("RelatesTo", "Zork talks to Mim.")
    ]
    assert body["method"] == "http/m"
    assert "Zork" in server.requests[0][1]["messages"][1]["content"]
    server.script = [said("not json")]
    body = run(asked, "subcog_entities", action="extract", content="Maria uses Redis.")
    assert (body["method"], body["entity_count"]) == ("built-in", 2)
    assert "not in the form" in body["warnings"][0]


def wrote(text: str) -> tuple[int, dict[str, Any]]:
    return said(json.dumps({"findings": [], "summary": text}))


def captured(app: App, *texts: str) -> list[str]:
    return [run(app, "subcog_capture", content=text, namespace="decisions")["id"] for text in texts]


def test_a_merge_is_written_by_the_endpoint_once_so_that_the_plan_is_what_is_done(
    asked: App, server: Server
) -> None:
    captured(asked, "The cache runs on 2 nodes.", "the cache  runs on 2 nodes.")
    server.script = [wrote(" The cache runs on 2 nodes, all of them. ")]
    planned, done = (
        run(asked, "subcog_consolidate", namespace="decisions", dry_run=dry_run)
        for dry_run in (True, False)
    )
    assert planned["candidate_merges"] == done["candidate_merges"]
    assert run(asked, "subcog_get", memory_id=done["results"][0])["content"] == (
        "The cache runs on 2 nodes, all of them."
    )
    (sent,) = [body["messages"] for _, body in server.requests]
    assert "the cache  runs on 2 nodes." in sent[1]["content"]


@pytest.mark.parametrize(
    "answer,why",
    [
        (wrote("The cache runs on 3 nodes."), "changed a fact"),
        (said("not json"), "not in the form"),
        ((401, {}), "HTTP 401"),
    ],
    ids=str,
)
def test_a_rewriting_that_cannot_be_trusted_is_done_by_the_built_in_analyst(
    asked: App, server: Server, answer: Any, why: str
) -> None:
    (id,) = captured(asked, "The cache runs on 2 nodes.")
    server.script = [answer]
    body = run(asked, "subcog_enrich", memory_id=id, enrich_tags=False)
    assert why in " ".join(body["warnings"])
    assert "2 nodes" in run(asked, "subcog_get", memory_id=id)["content"]


def reply(app: App, **options: Any) -> Answer[str]:
    messages = [ChatMessage("system", "Be brief."), ChatMessage("user", "Which way?")]
    return app.engine.insights.ask(lambda analyst: analyst.reply(messages, ReplyOptions(**options)))


def test_a_reply_is_what_the_model_says_to_the_messages(server: Server, asked: App) -> None:
    server.script = [said("North.")]
    answer = reply(asked, temperature=0.5, max_tokens=7)
    assert (answer.value, answer.method) == ("North.", "http/m")
    _, sent = server.requests[0]
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which way?"},
    ]
    assert (sent["temperature"], sent["max_tokens"]) == (0.5, 7)


def test_options_that_nobody_chose_are_left_to_the_model(server: Server, asked: App) -> None:
    server.script = [said("North.")]
    reply(asked)
    assert server.requests[0][1].keys() == {"model", "messages"}


def test_a_reply_of_a_model_that_fails_is_given_by_the_built_in_analyst(
    server: Server, asked: App
) -> None:
    server.script = [(400, b"")]
    answer = reply(asked)
    assert answer.method == "built-in"
    assert "Done by the built-in analyst." in answer.warnings[0]


def test_the_facts_of_a_talk_are_those_that_the_model_writes(asked: App, server: Server) -> None:
    tea = {"label": "fact", "text": "Ann drinks tea.", "confidence": 0.9, "support": []}
    server.script = [said([tea, tea, {**tea, "text": " "}])]
    talk = [ChatMessage("user", "I'm Ann, and I drink tea.")]
    assert asked.analysts[0].facts(talk) == ["Ann drinks tea."]
    sent = server.requests[0][1]["messages"][-1]["content"]
    assert sent == "user: I'm Ann, and I drink tea."
