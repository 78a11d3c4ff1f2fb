"""Whether the server works, and its figures."""

from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from memolith import __version__
from memolith.bootstrap import App
from memolith.domain.callers import MACHINE_TENANT, Caller
from memolith.doors.http.metrics import CONTENT_TYPE, CallMetrics
from memolith.doors.request_keys import CALLER_KEY
from memolith.errors import MemolithError
from memolith.tools.dialect import unchanged
from memolith.tools.rest_api import RestApi
from memolith.tools.schema import Body

MAX_CHECKS = 4


class HealthRoutes:
    """The routes `/health` and `/metrics`."""

    def __init__(self, app: App, metrics: CallMetrics) -> None:
        self.app = app
        self.call_metrics = metrics
        # Threads of its own: it is answered whatever else goes on.
        self.checks = anyio.CapacityLimiter(MAX_CHECKS)

    async def health(self, request: Request) -> Response:
        """Open to everybody, so it tells no more than that."""
        return await self.health_as(unchanged)

    def routes_of(self, api: RestApi) -> list[Route]:
        """The same for the clients of another system; the health is in its words."""

        async def health(request: Request) -> Response:
            return await self.health_as(api.health)

        return [Route(api.health_path, health), Route(api.prefix + "/metrics", self.metrics)]

    async def health_as(self, word: Callable[[Body], Body]) -> Response:
        state = await anyio.to_thread.run_sync(self.check_health, limiter=self.checks)
        return JSONResponse(word(state), 200 if state["status"] == "healthy" else 503)

    def check_health(self) -> Body:
        try:
            state = self.app.engine.maintenance.health()
        except MemolithError as error:
            return {"status": "unhealthy", "error": error.type}
        return {"status": "healthy", "version": __version__, "embeddings": state["embeddings"]}

    def metrics(self, request: Request) -> Response:
        """The figures of the caller's tenant; for the admin of this machine, those of all."""
        caller: Caller = request.scope[CALLER_KEY]
        is_machine_admin = caller.admin and caller.tenant == MACHINE_TENANT
        tenant = None if is_machine_admin else caller.tenant
        waiting = self.app.engine.maintenance.waiting_embeddings(tenant)
        text = self.call_metrics.text(tenant, waiting)
        return PlainTextResponse(text, media_type=CONTENT_TYPE)
