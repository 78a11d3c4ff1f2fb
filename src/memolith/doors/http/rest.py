"""REST: `POST /mcp/tools/NAME` for every tool."""

import asyncio
import threading
from typing import Any, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from memolith.bootstrap import App
from memolith.doors.http.auth.challenge import challenge
from memolith.doors.http.auth.tokens import TokenIssuer
from memolith.doors.http.error_headers import error_headers
from memolith.doors.request_keys import (
    CALLER_KEY,
    REQUEST_ID_KEY,
    SCOPES_KEY,
    SHARE_KEY,
    STALE_READS_KEY,
)
from memolith.doors.trace_context import trace_of_headers
from memolith.doors.worker_pools import WorkerPools
from memolith.engine.usage import Client, program_of
from memolith.engine.validation import json_object
from memolith.errors import InvalidInput, NotFound, RateLimited
from memolith.tools.call import Call
from memolith.tools.dialect import plain_failure
from memolith.tools.family import Tool
from memolith.tools.registry import Outcome, Registry


class RestAnswer(NamedTuple):
    """What came of a call over REST, and the headers that go with it."""

    outcome: Outcome
    headers: dict[str, str]

    def response(self) -> Response:
        """The body of the outcome, with the status of its error if it has one."""
        error = self.outcome.error
        status = 200 if error is None else error.status
        return Response(self.outcome.text, status, self.headers, "application/json")


class RestTools:
    """Runs tools of a registry for requests."""

    def __init__(
        self, app: App, registry: Registry, issuer: TokenIssuer | None, pools: WorkerPools
    ) -> None:
        self.app = app
        self.pools = pools
        self.registry = registry
        self.issuer = issuer

    async def run(self, request: Request) -> Response:
        """Run the tool that the path names; errors are worded as the tool's family does."""
        tool = self.registry.find(request.path_params["tool"])
        if tool is None:
            raise NotFound("There is no such tool.", field="tool")
        answer = await self.run_tool(request, tool, await json_body(request))
        if answer.outcome.error is not None and tool.dialect.failure is plain_failure:
            body = {**answer.outcome.body, "request_id": request.scope[REQUEST_ID_KEY]}
            answer = answer._replace(outcome=answer.outcome._replace(body=body))
        return answer.response()

    async def run_tool(self, request: Request, tool: Tool, arguments: dict[str, Any]) -> RestAnswer:
        """Run one tool for the caller of a request."""
        gone = threading.Event()
        call = Call(
            request.scope[CALLER_KEY],
            self.app.engine,
            request.scope[REQUEST_ID_KEY],
            request.headers.get("idempotency-key"),
            request.scope[SCOPES_KEY],
            cancelled=gone.is_set,
            client=Client(
                request.scope[SHARE_KEY].key, program_of(request.headers.get("user-agent", ""))
            ),
            door="rest",
            trace=trace_of_headers(request.scope["headers"]),
            stale_reads=request.scope.get(STALE_READS_KEY),
        )
        try:
            outcome = await self.pools.of(tool).run(
                request.scope[SHARE_KEY], lambda: self.registry.run(tool.name, arguments, call)
            )
        except RateLimited as error:
            outcome = self.registry.refuse(tool.name, error)
        except asyncio.CancelledError:
            # The server is ending, which code in a runner must not hold up.
            gone.set()
            raise
        headers: dict[str, str] = {}
        scopes = tool.signature.scopes_for(arguments)
        if not scopes <= call.scopes:
            headers["www-authenticate"] = challenge(
                self.issuer, request.url.path, "insufficient_scope", scopes
            )
        if outcome.error is not None:
            headers.update(error_headers(outcome.error))
        return RestAnswer(outcome, headers)


async def json_body(request: Request) -> dict[str, Any]:
    """The arguments of a call; an empty body means none."""
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise InvalidInput("The request ended in the middle.") from error
    if not body.strip():
        return {}
    return json_object(body, "The body", "body")
