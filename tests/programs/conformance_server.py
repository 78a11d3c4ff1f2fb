"""The conformance fixtures alone, on a port of the loopback device: `conformance_server.py PORT`."""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette

from memolith.doors.conformance import Conformance

if __name__ == "__main__":
    fixtures = Conformance()
    web = Starlette(routes=fixtures.routes, lifespan=lambda _: fixtures.run())
    uvicorn.run(web, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", timeout_graceful_shutdown=1)
