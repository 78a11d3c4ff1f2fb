"""Listening and serving: the HTTP server as a process."""

import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from memolith.bootstrap import App
from memolith.doors.http.app import build
from memolith.doors.http.connections import GuardedProtocol, IdleConnections
from memolith.errors import Unavailable
from memolith.settings import Settings

SHUTDOWN_S = 5
"""How long running calls may take when the server is stopped."""

SWITCH_INTERVAL_S = 0.0001
"""How long a thread computes before another one has its turn.

With Python's 5 ms, every step of a small call waits that long for each heavy call that runs. At
0.1 ms, threads that only compute need a fourteenth more time in all.
"""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that the address is known before anything is announced."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise Unavailable(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    # Every connection inherits it: with Nagle's algorithm an answer in two writes waits 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def server_config(served: ASGIApp, settings: Settings, shutdown_s: int) -> uvicorn.Config:
    """How uvicorn serves the app."""
    idle = IdleConnections(settings.idle_connections, settings.head_s)
    protocol: Any = partial(GuardedProtocol, idle, settings.body_pause_s)
    return uvicorn.Config(
        served,
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=shutdown_s,
        server_header=False,
        http=protocol,
        ws="none",
    )


def run(
    app: App,
    listener: socket.socket,
    ready: Callable[[], None],
    *,
    read_only: bool = False,
    conformance: bool = False,
) -> None:
    """Serve until a signal ends it; running calls are finished first."""
    config = server_config(
        build(app, read_only=read_only, conformance=conformance), app.settings, SHUTDOWN_S
    )
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    ready()
    # uvicorn raises the signal again when it is done, which would end the process before the store
    # is closed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.Server(config).run(sockets=[listener])
