"""REST: `POST /mcp/tools/NAME` for every tool."""

import asyncio
import threading
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from memolith.bootstrap import App
from memolith.doors.http.auth.challenge import challenge
from memolith.doors.http.auth.tokens import TokenIssuer
from memolith.doors.request_keys import CALLER_KEY, REQUEST_ID_KEY, SCOPES_KEY, SHARE_KEY
from memolith.doors.worker_pools import WorkerPools
from memolith.engine.validation import json_object
from memolith.errors import InvalidInput, NotFound, RateLimited
from memolith.tools.call import Call
from memolith.tools.registry import Registry


class RestTools:
    """The route that runs a tool."""

    def __init__(
        self, app: App, registry: Registry, issuer: TokenIssuer | None, pools: WorkerPools
    ) -> None:
        self.app = app
        self.pools = pools
        self.registry = registry
        self.issuer = issuer

    async def run(self, request: Request) -> Response:
        """Run one tool; errors are worded as the tool's family does."""
        name = request.path_params["tool"]
        tool = self.registry.find(name)
        if tool is None:
            raise NotFound("There is no such tool.", field="tool")
        arguments = await json_body(request)
        gone = threading.Event()
        call = Call(
            request.scope[CALLER_KEY],
            self.app.engine,
            request.scope[REQUEST_ID_KEY],
            request.headers.get("idempotency-key"),
            request.scope[SCOPES_KEY],
            cancelled=gone.is_set,
        )
        try:
            outcome = await self.pools.of(tool).run(
                request.scope[SHARE_KEY], lambda: self.registry.run(name, arguments, call)
            )
        except RateLimited as error:
            outcome = self.registry.refuse(name, error)
        except asyncio.CancelledError:
            # The server is ending, which code in a runner must not hold up.
            gone.set()
            raise
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
