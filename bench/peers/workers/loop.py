"""The loop of a worker: a request is a line of JSON, and so is its answer.

Runs in the environment of a peer, so it uses nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any


def serve(work: Mapping[str, Callable[..., Any]]) -> None:
    """Answer until the input ends. What the library prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        number, op = request.pop("id"), request.pop("op")
        answer: dict[str, Any] = {"id": number}
        try:
            answer["result"] = work[op](**request)
        except Exception as error:  # noqa: BLE001 - whatever a library raises is its answer
            answer["error"] = f"{type(error).__name__}: {error}"
        answers.write(json.dumps(answer).encode() + b"\n")
