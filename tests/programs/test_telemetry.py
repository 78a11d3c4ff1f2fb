"""Traces and metrics: what the real SDK of OpenTelemetry sends to a collector over a socket."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memolith import Memory
from memolith.adapters.telemetry import find_destination
from tests.programs.children import cli, environment, wait_for
from tests.programs.collector import Collector, ReceivedSpan, collecting
from tests.programs.served import ENVELOPE, MODERN, Served, process

SECRET = "the walrus sleeps at noon"
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "100"}


class Watched(NamedTuple):
    """A server, and the collector that it tells."""

    server: Served
    collector: Collector

    def call(self, request_id: str) -> ReceivedSpan:
        """The span of a call, once it has come."""
        span = wait_for(lambda: self.collector.call_of(request_id))
        assert isinstance(span, ReceivedSpan)
        return span


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    with (
        collecting() as collector,
        process(
            folder, MEMOLITH_TELEMETRY_URL=collector.url, MEMOLITH_EMBEDDER="minilm", **SOON
        ) as server,
    ):
        yield Watched(server, collector)


def test_a_call_is_a_span_with_its_tool_family_tenant_door_outcome_and_request_id(
    watched: Watched,
) -> None:
    answer = watched.server.tool("remember", {"content": SECRET})
    span = watched.call(answer.headers["x-request-id"])
    assert span.name == "call remember"
    assert span.attributes == {
        "memolith.tool": "remember",
        "memolith.family": "core",
        "memolith.tenant": "local",
        "memolith.door": "rest",
        "memolith.outcome": "ok",
        "memolith.request_id": answer.headers["x-request-id"],
    }


def test_the_service_has_a_name_and_a_version(watched: Watched) -> None:
    watched.call(watched.server.tool("overview", {}).headers["x-request-id"])
    assert watched.collector.resource["service.name"] == "memolith"
    assert watched.collector.resource["service.version"]


def test_a_write_shows_its_transaction(watched: Watched) -> None:
    answer = watched.server.tool("remember", {"content": "A write is one transaction."})
    call = watched.call(answer.headers["x-request-id"])
    assert "store.write" in watched.collector.inside(call)


def test_a_write_that_fails_in_its_transaction_fails_as_without_traces(watched: Watched) -> None:
    id = watched.server.tool("remember", {"content": "Version one."}).json()["id"]
    revised = {"id": id, "content": "Version two.", "expected_version": 7}
    answer = watched.server.tool("revise", revised)
    assert answer.status_code == 409
    call = watched.call(answer.headers["x-request-id"])
    assert call.attributes["memolith.outcome"] == answer.json()["error"]
    assert "store.write" in watched.collector.inside(call)
    kept = watched.server.tool("fetch", {"ids": [id]}).json()["items"][0]
    assert kept["content"] == "Version one."


def test_a_search_shows_its_stages(watched: Watched) -> None:
    watched.server.tool("remember", {"content": SECRET})
    answer = watched.server.tool("recall", {"query": "walrus", "depth": "deep"})
    call = watched.call(answer.headers["x-request-id"])
    assert watched.collector.inside(call) >= {
        "search",
        "store.read",
        "embed",
        "search.by_words",
        "search.by_meaning",
        "search.read",
        "search.rank",
        "search.judge",
    }


def test_a_refused_call_names_the_kind_of_its_error_and_is_no_fault_of_the_server(
    watched: Watched,
) -> None:
    answer = watched.server.tool("remember", {"content": ""})
    span = watched.call(answer.headers["x-request-id"])
    assert span.attributes["memolith.outcome"] == "validation_error"
    assert span.attributes["error.type"] == "validation_error"
    assert not span.is_error


def test_nothing_that_people_wrote_is_sent(watched: Watched) -> None:
    watched.server.tool("remember", {"content": SECRET, "title": "walrus"})
    answer = watched.server.tool("recall", {"query": "when does the walrus sleep?"})
    watched.call(answer.headers["x-request-id"])
    assert b"walrus" not in watched.collector.raw
    assert watched.server.admin.encode() not in watched.collector.raw


def test_a_call_over_rest_belongs_to_the_span_of_its_headers(watched: Watched) -> None:
    answer = watched.server.tool("overview", {}, traceparent=TRACEPARENT)
    span = watched.call(answer.headers["x-request-id"])
    assert (span.trace_id, span.parent_id) == (TRACE_ID, SPAN_ID)


@pytest.mark.parametrize("name", ["overview", "remember"])
def test_a_call_over_mcp_belongs_to_the_span_of_its_meta(watched: Watched, name: str) -> None:
    """One is answered without the SDK of MCP, the other with it."""
    arguments = {"content": "A call has a parent."} if name == "remember" else {}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": name,
            "arguments": arguments,
            "_meta": {**ENVELOPE, "traceparent": TRACEPARENT},
        },
    }
    answer = watched.server.ask(
        "POST",
        "/mcp",
        watched.server.admin,
        message,
        Accept="application/json, text/event-stream",
        Content_Type="application/json",
        MCP_Protocol_Version=MODERN,
        Mcp_Method="tools/call",
        Mcp_Name=name,
        traceparent=TRACEPARENT.replace(SPAN_ID, "1" * 16),
    )
    span = watched.call(answer.headers["x-request-id"])
    assert (span.trace_id, span.parent_id) == (TRACE_ID, SPAN_ID)
    assert span.attributes["memolith.door"] == "mcp-http"


@pytest.mark.parametrize(
    "bad", ["", "nonsense", "00-" + "0" * 32 + "-" + SPAN_ID + "-01", "1" * 4000]
)
def test_a_bad_traceparent_begins_a_trace_of_its_own(watched: Watched, bad: str) -> None:
    answer = watched.server.tool("overview", {}, traceparent=bad)
    assert answer.status_code == 200
    assert watched.call(answer.headers["x-request-id"]).parent_id == ""


def test_the_metrics_are_the_numbers_of_the_metrics_page(watched: Watched) -> None:
    watched.server.tool("fetch", {"ids": ["none"]})
    page = watched.server.ask("GET", "/metrics", watched.server.admin).text
    samples = {
        (sample.name, sample.labels.get("tool"), sample.labels.get("outcome")): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }
    calls = samples["memolith_calls_total", "fetch", "not_found"]
    assert calls == 1
    wait_for(
        lambda: (
            watched.collector.figure("memolith.calls", tool="fetch", outcome="not_found") == calls
        )
    )
    wait_for(
        lambda: (
            watched.collector.figure("memolith.call.duration", tool="fetch")
            == samples["memolith_call_duration_seconds_count", "fetch", None]
        )
    )
    wait_for(
        lambda: (
            watched.collector.figure("memolith.embeddings.failed")
            == samples["memolith_embeddings_failed", None, None]
        )
    )


def test_a_command_sends_what_it_did_before_it_ends(tmp_path: Path) -> None:
    with collecting() as collector:
        ran = cli(tmp_path, "remember", "Tea at four.", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
        assert ran.returncode == 0, ran
        assert "call remember" in {span.name for span in collector.spans}
        assert collector.figure("memolith.calls", tool="remember", outcome="ok") == 1


def test_a_collector_that_is_away_fails_no_command(tmp_path: Path) -> None:
    ran = cli(tmp_path, "remember", "Tea.", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert ran.returncode == 0, ran


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x",
            "OTEL_TRACES_EXPORTER": "none",
            "OTEL_METRICS_EXPORTER": "none",
        },
    ],
)
def test_nothing_is_sent_without_a_collector_that_we_can_speak_to(
    variables: dict[str, str],
) -> None:
    assert find_destination("", variables).is_off


def test_one_signal_can_be_switched_off() -> None:
    found = find_destination("http://x/", {"OTEL_METRICS_EXPORTER": "none"})
    assert found == ("http://x/v1/traces", None)


def test_nothing_of_opentelemetry_is_loaded_for_a_call_without_a_collector(tmp_path: Path) -> None:
    program = (
        "import json, sys; from memolith import Memory\n"
        f"with Memory({str(tmp_path)!r}, embedder='none') as memory: memory.remember('Tea.')\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('opentelemetry')]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        env=environment(),
        timeout=60,
    )
    assert json.loads(ran.stdout) == []


def test_without_the_extra_an_address_is_refused_with_what_to_install(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "opentelemetry").mkdir()
    (hidden / "opentelemetry" / "__init__.py").touch()
    path = f"{hidden}:{environment()['PYTHONPATH']}"
    ran = cli(
        tmp_path / "data",
        "remember",
        "Tea.",
        PYTHONPATH=path,
        MEMOLITH_TELEMETRY_URL="http://127.0.0.1:9",
    )
    assert ran.returncode == 2
    assert "pip install 'memolith[otel]'" in ran.stderr
    assert "telemetry_url" in ran.stderr


def test_a_memory_that_is_closed_leaves_the_traces_of_another_alone(tmp_path: Path) -> None:
    with collecting() as collector:
        settings: dict[str, Any] = {"embedder": "none", "telemetry_url": collector.url}
        first = Memory(tmp_path / "first", **settings)
        first.remember("Tea.")
        with Memory(tmp_path / "second", **settings) as second:
            second.remember("Coffee.")
            first.close()
            second.recall("coffee")
        names = {span.name for span in collector.spans}
    assert "call recall" in names
