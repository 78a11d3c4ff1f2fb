"""Traces and metrics for an OpenTelemetry collector, over OTLP and HTTP.

The SDK of OpenTelemetry is the extra `memolith[otel]`. This file imports it only when an address is
configured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memolith import __version__
from memolith.errors import InvalidInput, translated
from memolith.ports.telemetry import (
    DURATION_BOUNDS_S,
    CallFacts,
    Fact,
    TraceContext,
    Waiting,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import CallbackOptions, Meter, Observation
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span as OtelSpan

SERVICE_NAME = "memolith"
SIGNALS = ("traces", "metrics")
SPOKEN_PROTOCOL = "http/protobuf"
MAX_TRACE_CONTEXT = 512
"""The longest `traceparent` or `tracestate` that is looked at, in characters."""
CLOSE_S = 2.0
"""How long a program that ends waits for a collector that does not answer."""


class Destination(NamedTuple):
    """Where each signal goes: an address, empty for the one in the variables of OpenTelemetry."""

    traces: str | None
    """None if no traces are sent."""
    metrics: str | None

    @property
    def is_off(self) -> bool:
        return self.traces is None and self.metrics is None


def find_destination(url: str, environ: Mapping[str, str]) -> Destination:
    """Where telemetry is sent, by our setting and by the standard variables."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Destination(None, None)
    return Destination(*(address_of(signal, url, environ) for signal in SIGNALS))


def address_of(signal: str, url: str, environ: Mapping[str, str]) -> str | None:
    """Where one signal is sent; None if it is not."""
    exporter = environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp")
    if exporter != "otlp":
        return None
    if url:
        return f"{url.rstrip('/')}/v1/{signal}"
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_"
    if not (environ.get(own + "ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")):
        return None
    protocol = environ.get(own + "PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    return "" if protocol in (None, "", SPOKEN_PROTOCOL) else None


def open_telemetry(
    destination: Destination, waiting: Callable[[], Waiting | None], environ: Mapping[str, str]
) -> OtlpTelemetry:
    """Send traces and metrics from now on.

    `waiting` is asked now and then, in another thread. It tells None while there is no store.
    """
    with translated(
        ImportError,
        InvalidInput,
        "Traces and metrics need OpenTelemetry: pip install 'memolith[otel]'.",
        "telemetry_url",
    ):
        # The SDK is an extra, and takes a third of a second to import.
        from opentelemetry.sdk.resources import Resource

    attributes = {"service.version": __version__}
    named = "service.name" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not named and not environ.get("OTEL_SERVICE_NAME"):
        attributes["service.name"] = SERVICE_NAME
    resource = Resource.create(attributes)
    tracers = None if destination.traces is None else open_tracers(destination.traces, resource)
    meters = None if destination.metrics is None else open_meters(destination.metrics, resource)
    return OtlpTelemetry(tracers, meters, waiting)


def open_tracers(address: str, resource: Resource) -> TracerProvider:
    # Part of the extra.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address or None)))
    return provider


def open_meters(address: str, resource: Resource) -> MeterProvider:
    # Part of the extra.
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=address or None))
    return MeterProvider([reader], resource=resource, shutdown_on_exit=False)


def attribute_name(fact: str) -> str:
    """Names with a dot are those of OpenTelemetry's conventions; all others are ours."""
    return fact if "." in fact else f"{SERVICE_NAME}.{fact}"


class OtlpSpan:
    """A step as OpenTelemetry knows it."""

    def __init__(self, span: OtelSpan) -> None:
        self.span = span

    def note(self, name: str, fact: Fact) -> None:
        self.span.set_attribute(attribute_name(name), fact)


class OtlpCall:
    """A call as OpenTelemetry knows it: a span, and a measurement once it has ended."""

    def __init__(self, span: OtelSpan, measure: Callable[[str, float], None]) -> None:
        self.span = span
        self.measure = measure

    @property
    def trace_id(self) -> str:
        context = self.span.get_span_context()
        return f"{context.trace_id:032x}" if context.is_valid else ""

    def ended(self, outcome: str, seconds: float, *, is_fault: bool) -> None:
        # Part of the extra.
        from opentelemetry.trace import StatusCode

        self.span.set_attribute("memolith.outcome", outcome)
        if outcome != "ok":
            self.span.set_attribute("error.type", outcome)
        if is_fault:
            self.span.set_status(StatusCode.ERROR)
        self.measure(outcome, seconds)


class OtlpTelemetry:
    """Sends spans and measurements in the background."""

    def __init__(
        self,
        tracers: TracerProvider | None,
        meters: MeterProvider | None,
        waiting: Callable[[], Waiting | None],
    ) -> None:
        # Part of the extra.
        from opentelemetry.metrics import NoOpMeterProvider
        from opentelemetry.trace import NoOpTracerProvider

        self._providers = [provider for provider in (tracers, meters) if provider is not None]
        self._tracer = (tracers or NoOpTracerProvider()).get_tracer(SERVICE_NAME, __version__)
        meter = (meters or NoOpMeterProvider()).get_meter(SERVICE_NAME, __version__)
        self._calls = meter.create_counter(
            "memolith.calls", unit="{call}", description="Calls of tools."
        )
        self._durations = meter.create_histogram(
            "memolith.call.duration",
            unit="s",
            description="How long calls of tools took.",
            explicit_bucket_boundaries_advisory=DURATION_BOUNDS_S,
        )
        watch_waiting(meter, waiting)

    @contextmanager
    def call(self, facts: CallFacts) -> Iterator[OtlpCall]:
        # Part of the extra.
        from opentelemetry.trace import SpanKind

        attributes: dict[str, str] = {
            "memolith.tool": facts.tool,
            "memolith.family": facts.family,
            "memolith.tenant": facts.tenant,
            "memolith.door": facts.door,
            "memolith.request_id": facts.request_id,
        }

        def measure(outcome: str, seconds: float) -> None:
            self._calls.add(1, {"tool": facts.tool, "outcome": outcome})
            self._durations.record(seconds, {"tool": facts.tool})

        # The text of an exception may hold what people have written.
        with self._tracer.start_as_current_span(
            f"call {facts.tool}",
            remote_parent(facts.trace),
            SpanKind.SERVER,
            attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield OtlpCall(span, measure)

    @contextmanager
    def step(self, name: str, facts: dict[str, Fact], *, encloses: bool) -> Iterator[OtlpSpan]:
        # Part of the extra.
        from opentelemetry.trace import use_span

        attributes = {attribute_name(fact): value for fact, value in facts.items()}
        span = self._tracer.start_span(name, attributes=attributes)
        try:
            if encloses:
                with use_span(span, record_exception=False, set_status_on_exception=False):
                    yield OtlpSpan(span)
            else:
                yield OtlpSpan(span)
        finally:
            span.end()

    def close(self) -> None:
        """Send what has not been sent, unless the collector takes too long to answer."""

        def shut_down() -> None:
            for provider in self._providers:
                provider.shutdown()

        closing = threading.Thread(target=shut_down, daemon=True)
        closing.start()
        closing.join(CLOSE_S)


def remote_parent(trace: TraceContext | None) -> Context | None:
    """The span of another program that a call belongs to; None if it names none."""
    if trace is None or max(len(trace.parent), len(trace.state)) > MAX_TRACE_CONTEXT:
        return None
    # Part of the extra.
    from opentelemetry.trace import get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {"traceparent": trace.parent, "tracestate": trace.state}
    context = TraceContextTextMapPropagator().extract(carrier)
    # Otherwise it would hide the span of the program that uses memolith as a library.
    return context if get_current_span(context).get_span_context().is_valid else None


def watch_waiting(meter: Meter, waiting: Callable[[], Waiting | None]) -> None:
    """Two gauges that ask when metrics are sent."""
    # Part of the extra.
    from opentelemetry.metrics import Observation

    def pending(_: CallbackOptions) -> list[Observation]:
        counts = waiting()
        return [] if counts is None else [Observation(counts.pending)]

    def failed(_: CallbackOptions) -> list[Observation]:
        counts = waiting()
        return [] if counts is None else [Observation(counts.failed)]

    meter.create_observable_gauge(
        "memolith.embeddings.pending",
        [pending],
        unit="{text}",
        description="Texts that wait for a vector.",
    )
    meter.create_observable_gauge(
        "memolith.embeddings.failed",
        [failed],
        unit="{text}",
        description="Texts that could not get a vector.",
    )
