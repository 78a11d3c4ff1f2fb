"""The demo family as a program: `stdio CACHE [PROFILE]`, `modules`, `prepare` or `http`."""

from __future__ import annotations

import os
import sys

# Not from `typing`: the front's start is measured with this program.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from starlette.applications import Starlette

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class App:
    """An application without an engine, which the demo family does not need."""

    def __init__(self) -> None:
        from tests.demo_engine import DemoEngine
        from tests.demo_family import (
            registry,  # pydantic comes with it, and the front must start without
        )

        self.registry = registry()
        self.engine: Any = DemoEngine()
        print("a stray word on stdout")
        self.note("opened")

    def close(self) -> None:
        self.note("closed")

    def note(self, word: str) -> None:
        if path := os.environ.get("DEMO_LOG"):
            with open(path, "a", encoding="utf-8") as file:
                file.write(word + "\n")


def open_app() -> Any:
    """The demo instead of the real app: the front asks for nothing else of it."""
    return App()


def serve_stdio(folder: str, profile: str = "all", *flags: str) -> None:
    from memolith.doors.mcp import stdio_front
    from memolith.doors.mcp.start_cache import StartCache

    read_only = "--read-only" in flags
    cache = StartCache(folder, profile, read_only)
    stdio_front.serve(open_app, cache, profile, read_only=read_only)


def show_modules(folder: str) -> None:
    """Be the front until it would wake the SDK, and then tell what has been imported so far."""
    import threading

    from memolith.doors.mcp.start_cache import StartCache
    from memolith.doors.mcp.stdio_front import Front, Wire

    front = Front(Wire.of_process(), StartCache(folder, "all", False).read())
    threading.Thread(target=front.read_frames, daemon=True).start()
    front.wake.wait()
    print("\n".join(sys.modules), file=sys.stderr)


def prepare(folder: str) -> None:
    """Fill the cache as a first start would."""
    from memolith.doors.mcp.start_cache import StartCache
    from memolith.doors.mcp.start_recorder import record_start_answers
    from tests.demo_family import registry

    StartCache(folder, "all", False).write(record_start_answers(registry().choose("all")))


class DemoAccess:
    """Stands in for the access layer: two headers say who calls and what he may do."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name: value.decode() for name, value in scope.get("headers", [])}
        if user := headers.get(b"x-demo-user"):
            from memolith.domain.callers import Caller

            scopes = headers.get(b"x-demo-scopes", "read write admin run").split()
            scope = {
                **scope,
                "memolith.caller": Caller(user=user),
                "memolith.scopes": frozenset(scopes),
            }
        await self.app(scope, receive, send)


def serve_http(*flags: str) -> None:
    """Serve on a port that the system chooses, and print the address."""
    import socket
    from contextlib import AsyncExitStack, asynccontextmanager

    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Route

    from memolith.doors.http.mcp_paths import mcp_paths

    app = App()
    paths = mcp_paths(app.registry, lambda: app.engine, read_only="--read-only" in flags)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for endpoint in paths.values():
                await stack.enter_async_context(endpoint.manager.run())
            yield

    web = Starlette(
        routes=[Route(path, endpoint) for path, endpoint in paths.items()],
        middleware=[Middleware(DemoAccess)],
        lifespan=lifespan,
    )
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(web, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    mode, *arguments = sys.argv[1:]
    modes: dict[str, Callable[..., None]] = {
        "stdio": serve_stdio,
        "modules": show_modules,
        "prepare": prepare,
        "http": serve_http,
    }
    modes[mode](*arguments)
