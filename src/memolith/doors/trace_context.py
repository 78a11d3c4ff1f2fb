"""W3C Trace Context: which span of its client a request belongs to."""

from collections.abc import Iterable, Mapping

from memolith.ports.telemetry import TraceContext

PARENT = "traceparent"
STATE = "tracestate"


def trace_of_meta(meta: Mapping[str, object]) -> TraceContext | None:
    """The span that the `_meta` of an MCP request names; None if it names none."""
    parent = meta.get(PARENT)
    state = meta.get(STATE)
    if not isinstance(parent, str):
        return None
    return TraceContext(parent, state if isinstance(state, str) else "")


def trace_of_headers(headers: Iterable[tuple[bytes, bytes]]) -> TraceContext | None:
    """The span that the headers of an HTTP request name; None if they name none."""
    found = {name: value for name, value in headers if name in (b"traceparent", b"tracestate")}
    if b"traceparent" not in found:
        return None
    state = found.get(b"tracestate", b"")
    return TraceContext(found[b"traceparent"].decode("latin-1"), state.decode("latin-1"))
