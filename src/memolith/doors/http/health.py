"""Whether the server works, and its figures."""

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from memolith import __version__
from memolith.bootstrap import App
from memolith.domain.callers import MACHINE_TENANT, Caller
from memolith.doors.http.metrics import CONTENT_TYPE, CallMetrics
from memolith.doors.request_keys import CALLER_KEY
from memolith.errors import MemolithError

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
        return await anyio.to_thread.run_sync(self.check_health, limiter=self.checks)

    def check_health(self) -> Response:
        try:
            state = self.app.engine.maintenance.health()
        except MemolithError as error:
            return JSONResponse({"status": "unhealthy", "error": error.type}, 503)
        return JSONResponse(
            {"status": "healthy", "version": __version__, "embeddings": state["embeddings"]}
        )

    def metrics(self, request: Request) -> Response:
        """The figures of the caller's tenant; for the admin of this machine, those of all."""
        caller: Caller = request.scope[CALLER_KEY]
        maintenance = self.app.engine.maintenance
        tenant: str | None
        if caller.admin and caller.tenant == MACHINE_TENANT:
            tenant = None
            state = maintenance.health()
            pending = int(state["pending"])
            failed = int(state["failed"])
        else:
            tenant = caller.tenant
            counts = maintenance.outbox_counts(tenant)
            pending = counts["pending"]
            failed = counts["failed"]
        text = self.call_metrics.text(tenant, pending, failed)
        return PlainTextResponse(text, media_type=CONTENT_TYPE)
