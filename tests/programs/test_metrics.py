"""The figures at /metrics, read by the parser of Prometheus' own client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from memolith.doors.http.metrics import Durations
from tests.programs.served import Served, thread


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with thread(tmp_path) as server:
        yield server


def read(served: Served) -> dict[str, Metric]:
    text = served.ask("GET", "/metrics", served.admin).text
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_each_metric_has_its_type_and_a_description(served: Served) -> None:
    served.tool("overview", {})
    families = read(served)
    assert {name: family.type for name, family in families.items()} == {
        "memolith_build_info": "gauge",
        "memolith_calls": "counter",
        "memolith_call_duration_seconds": "histogram",
        "memolith_embeddings_pending": "gauge",
        "memolith_embeddings_failed": "gauge",
    }
    assert all(family.documentation for family in families.values())


def test_the_content_type_is_that_of_the_text_format(served: Served) -> None:
    answer = served.ask("GET", "/metrics", served.admin)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_calls_are_counted_by_tool_and_outcome(served: Served) -> None:
    served.tool("remember", {"content": "Tea."})
    served.tool("remember", {"content": ""})
    counted = {
        (sample.labels["tool"], sample.labels["outcome"]): sample.value
        for sample in read(served)["memolith_calls"].samples
    }
    assert counted == {("remember", "ok"): 1, ("remember", "validation_error"): 1}


def test_every_call_is_in_the_histogram_of_its_tool(served: Served) -> None:
    served.tool("overview", {})
    served.tool("overview", {})
    samples = read(served)["memolith_call_duration_seconds"].samples
    buckets = [sample.value for sample in samples if sample.name.endswith("_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 2
    assert samples[-1].name == "memolith_call_duration_seconds_count"
    assert samples[-1].value == 2


def test_a_duration_falls_into_the_bucket_that_ends_with_it() -> None:
    durations = Durations()
    durations.record(0.01)
    lines = durations.lines("recall")
    assert lines[0].endswith('le="0.005"} 0')
    assert lines[1].endswith('le="0.01"} 1')


def test_a_text_without_a_vector_waits(served: Served) -> None:
    served.tool("remember", {"content": "Tea."})
    assert read(served)["memolith_embeddings_pending"].samples[0].value == 1
