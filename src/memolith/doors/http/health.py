"""Whether the server works, and its figures."""

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from memolith import __version__
from memolith.bootstrap import App
from memolith.doors.http.metrics import CONTENT_TYPE, CallMetrics
from memolith.errors import MemolithError


class HealthRoutes:
    """The routes `/health` and `/metrics`."""

    def __init__(self, app: App, metrics: CallMetrics) -> None:
        self.app = app
        self.call_metrics = metrics

    def health(self, request: Request) -> Response:
        """Open to everybody, so it tells no more than that."""
        try:
            state = self.app.engine.maintenance.health()
        except MemolithError as error:
            return JSONResponse({"status": "unhealthy", "error": error.type}, 503)
        return JSONResponse(
            {"status": "healthy", "version": __version__, "embeddings": state["embeddings"]}
        )

    def metrics(self, request: Request) -> Response:
        state = self.app.engine.maintenance.health()
        text = self.call_metrics.text(int(state["pending"]), int(state["failed"]))
        return PlainTextResponse(text, media_type=CONTENT_TYPE)
