"""Calls of Subcog tools in this process: what they give, or how they are refused."""

from typing import Any

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME


def run(
    app: App, tool: str, caller: Caller = ME, local: bool = False, **arguments: Any
) -> dict[str, Any]:
    outcome = app.registry.run(f"subcog_{tool}", arguments, Call(caller, app.engine, local=local))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def refused(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> tuple[int, str, str]:
    """The code, the argument and the words of an error."""
    outcome = app.registry.run(f"subcog_{tool}", arguments, Call(caller, app.engine))
    assert not outcome.ok, outcome.body
    body = body_of(outcome)
    return body["code"], body["data"].get("field"), body["message"]


def capture(app: App, content: str, namespace: str = "decisions", **more: Any) -> str:
    return str(run(app, "capture", content=content, namespace=namespace, **more)["id"])


def found(app: App, **arguments: Any) -> list[str]:
    return [row["id"] for row in run(app, "recall", **arguments)["results"]]
