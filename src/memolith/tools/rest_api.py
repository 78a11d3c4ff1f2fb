"""REST routes of another memory system, so that its own clients work with memolith.

A route is a typed function, checked and run exactly as a tool is. What is different is how it is
reached: by a method and a path, with arguments in the path, in the query and in the body.
"""

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from importlib import import_module
from typing import TypeVar

from memolith.tools.call import ScopeName
from memolith.tools.dialect import PLAIN, Dialect, unchanged
from memolith.tools.family import Family, Tool
from memolith.tools.schema import Body, Effect
from memolith.tools.signature import Function

Decorated = TypeVar("Decorated", bound=Function)
EventSource = Callable[[Body], Iterable[Body]]
"""Cuts a result into the server-sent events of a streamed answer."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RestRoute:
    """One route, as the clients of the other system call it."""

    method: str
    path: str
    """A path of Starlette without the prefix of the API, as `/api/v1/conversations/{id}`.

    What stands in braces is an argument of the function.
    """
    tool: Tool
    status: int = 200
    """The HTTP status of a good answer."""
    body_field: str | None = None
    """The field of the result that is sent alone, where clients expect no object."""
    events: EventSource | None = None
    """How the result is streamed when the argument `stream` is true."""


@dataclass(eq=False)
class RestApi:
    """The routes of one system, served below `/NAME`.

    So the address that a user gives to a client is the one of the server with `/NAME` behind it.
    """

    name: str
    dialect: Dialect = PLAIN
    _: KW_ONLY
    modules: tuple[str, ...] = ()
    """The modules that define its routes, imported when the routes are first asked for."""
    health: Callable[[Body], Body] = unchanged
    """Words what memolith tells of its health, at `/NAME/health`, which needs no key."""
    at_root: tuple[str, ...] = ()
    """The beginnings of paths that answer without the prefix, too."""
    _routes: list[RestRoute] = field(default_factory=list, init=False)

    @property
    def prefix(self) -> str:
        return f"/{self.name}"

    @property
    def root_routes(self) -> tuple[RestRoute, ...]:
        """The routes that answer without the prefix, too."""
        return tuple(route for route in self.routes if route.path.startswith(self.at_root))

    @property
    def health_path(self) -> str:
        return self.prefix + "/health"

    @property
    def routes(self) -> tuple[RestRoute, ...]:
        """Its routes in the order in which they are tried."""
        for module in self.modules:
            import_module(module)
        return tuple(self._routes)

    def route(
        self,
        method: str,
        path: str,
        *,
        status: int = 200,
        body_field: str | None = None,
        events: EventSource | None = None,
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        effect: Effect | None = None,
        scope: ScopeName | None = None,
        needs_read: bool = False,
    ) -> Callable[[Decorated], Decorated]:
        """Serve a typed function `(call, *, arguments) -> TypedDict` at a path.

        The arguments that follow `events` mean what they mean in `Family.tool`.
        """

        def add(function: Decorated) -> Decorated:
            family = Family(self.name, self.dialect)
            decorate = family.tool(
                read_only=read_only,
                destructive=destructive,
                idempotent=idempotent,
                effect=effect,
                scope=scope,
                needs_read=needs_read,
            )
            decorate(function)
            (tool,) = family.tools
            tool = replace(tool, route=f"{method} {self.prefix}{path}")
            self._routes.append(
                RestRoute(
                    method=method,
                    path=path,
                    tool=tool,
                    status=status,
                    body_field=body_field,
                    events=events,
                )
            )
            return function

        return add
