"""A small OpenTelemetry collector: takes what the real SDK sends over a socket, and keeps it."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class ReceivedSpan(NamedTuple):
    """One span as it came in."""

    name: str
    trace_id: str
    id: str
    parent_id: str
    attributes: dict[str, Any]
    is_error: bool


class Collector:
    """Everything that was sent to `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[ReceivedSpan] = []
        self.figures: dict[tuple[str, frozenset[tuple[str, Any]]], float] = {}
        """The latest value of each metric, by its name and attributes."""
        self.resource: dict[str, Any] = {}
        self.raw = b""

    def take(self, path: str, body: bytes) -> None:
        self.raw += body
        if path == "/v1/traces":
            self.take_traces(ExportTraceServiceRequest.FromString(body))
        else:
            assert path == "/v1/metrics"
            self.take_metrics(ExportMetricsServiceRequest.FromString(body))

    def take_traces(self, sent: ExportTraceServiceRequest) -> None:
        for resource in sent.resource_spans:
            self.resource = plain(resource.resource.attributes)
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.spans.append(
                        ReceivedSpan(
                            span.name,
                            span.trace_id.hex(),
                            span.span_id.hex(),
                            span.parent_span_id.hex(),
                            plain(span.attributes),
                            span.status.code == span.status.STATUS_CODE_ERROR,
                        )
                    )

    def take_metrics(self, sent: ExportMetricsServiceRequest) -> None:
        for resource in sent.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.sum.data_points or metric.gauge.data_points:
                        self.keep(metric.name, point, point.as_int or point.as_double)
                    for bucket in metric.histogram.data_points:
                        self.keep(metric.name, bucket, bucket.count)

    def keep(self, name: str, point: Any, value: float) -> None:
        self.figures[name, frozenset(plain(point.attributes).items())] = value

    def figure(self, name: str, **attributes: str) -> float | None:
        """The latest value of a metric; None if it has not come."""
        return self.figures.get((name, frozenset(attributes.items())))

    def call_of(self, request_id: str) -> ReceivedSpan | None:
        """The span of the call with this request id; None if it has not come."""
        for span in self.spans:
            if span.attributes.get("memolith.request_id") == request_id:
                return span
        return None

    def inside(self, call: ReceivedSpan) -> set[str]:
        """The names of all steps of a call."""
        return {span.name for span in self.spans if span.trace_id == call.trace_id} - {call.name}


def plain(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            collector.take(self.path, body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
