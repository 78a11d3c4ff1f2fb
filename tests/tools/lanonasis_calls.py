"""Ways to call LanOnasis tools in a test."""

from typing import Any

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME

MISSING = "00000000-0000-7000-8000-000000000000"


def run(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine, local=True))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def refused(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> tuple[int, str | None]:
    """The code of an error and the field that it names."""
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine, local=True))
    assert not outcome.ok, outcome.body
    body = body_of(outcome)
    return body["code"], body["data"].get("field")


def create(app: App, content: str = "The zebra is striped.", **more: Any) -> str:
    """The id of a new memory."""
    return str(run(app, "create_memory", **{"title": "Zebras", "content": content, **more})["id"])


def settled(app: App) -> App:
    """The app once its model is loaded and everything has a vector, however busy the machine is."""
    assert app.embedder is not None
    assert app.embedder.wait(60)
    app.upkeep.run()
    return app
