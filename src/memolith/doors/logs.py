"""How log lines look: a line of text for people, or an object of JSON for programs.

Neither has anything that people have stored: our messages hold names and numbers, and of an
exception only its kind and its place are written.
"""

import json
import logging
import sys
import time
import traceback
from types import TracebackType

from memolith.engine.telemetry import current_request

TEXT_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
ExceptionInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class PrivateFormatter(logging.Formatter):
    """Lines of text. The message of an exception is left out: it may hold people's data."""

    def formatException(self, ei: ExceptionInfo) -> str:
        kind, _, frames = ei
        if kind is None:
            return ""
        return "".join(traceback.format_tb(frames)) + kind.__name__


class JsonFormatter(PrivateFormatter):
    """Each record as an object in a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{second}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        ids = current_request.get()
        if ids is not None:
            line["request_id"] = ids.request_id
            if ids.trace_id:
                line["trace_id"] = ids.trace_id
        line.update(getattr(record, "facts", {}))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure_logging(level: str, log_format: str) -> None:
    """Log to standard error: our messages from this level on, warnings of libraries."""
    handler = logging.StreamHandler(sys.stderr)
    if log_format == "json":
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(PrivateFormatter(TEXT_FORMAT))
    logging.basicConfig(level="WARNING", handlers=[handler])
    # Only our own messages: libraries that log whole answers would log people's memories.
    logging.getLogger("memolith").setLevel(level.upper())
