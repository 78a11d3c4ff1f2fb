"""REST: `POST /mcp/tools/NAME` for every tool."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from memolith.bootstrap import App
from memolith.doors.http.auth.challenge import challenge
from memolith.doors.http.auth.tokens import TokenIssuer
from memolith.doors.request_keys import CALLER_KEY, REQUEST_ID_KEY, SCOPES_KEY
from memolith.engine.validation import json_object
from memolith.errors import InvalidInput, NotFound
from memolith.tools.call import Call
from memolith.tools.registry import Registry


class RestTools:
    """The route that runs a tool."""

    def __init__(self, app: App, registry: Registry, issuer: TokenIssuer | None) -> None:
        self.app = app
        self.registry = registry
        self.issuer = issuer

    async def run(self, request: Request) -> Response:
        """Run one tool; errors are worded as the tool's family does."""
        name = request.path_params["tool"]
        tool = self.registry.find(name)
        if tool is None:
            raise NotFound("There is no such tool.", field="tool")
        arguments = await json_body(request)
        call = Call(
            request.scope[CALLER_KEY],
            self.app.engine,
            request.scope[REQUEST_ID_KEY],
            request.headers.get("idempotency-key"),
            request.scope[SCOPES_KEY],
        )
        outcome = await run_in_threadpool(self.registry.run, name, arguments, call)
        status = 200
        headers: dict[str, str] = {}
        scopes = tool.signature.scopes_for(arguments)
        if not scopes <= call.scopes:
            headers["www-authenticate"] = challenge(
                self.issuer, request.url.path, "insufficient_scope", scopes
            )
        if outcome.error is not None:
            status = outcome.error.status
            if outcome.error.retry_s:
                headers["retry-after"] = str(outcome.error.retry_s)
        return Response(outcome.text, status, headers, "application/json")


async def json_body(request: Request) -> dict[str, Any]:
    """The arguments of a call; an empty body means none."""
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise InvalidInput("The request ended in the middle.") from error
    if not body.strip():
        return {}
    return json_object(body, "The body", "body")
