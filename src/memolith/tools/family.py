"""A tool is a typed function; a family is the tools of one dialect."""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeVar

from memolith.engine.idempotency import Request
from memolith.errors import Denied
from memolith.tools.argument_checks import check_clean
from memolith.tools.call import Call, ScopeName
from memolith.tools.dialect import PLAIN, Dialect
from memolith.tools.resources import Prompts, Resources
from memolith.tools.schema import Body, Effect, Schema
from memolith.tools.signature import Actions, Function, Signature, scopes_of

Decorated = TypeVar("Decorated", bound=Function | Actions)
KEY_ARGUMENT = "idempotency_key"
"""The argument by which a tool can take the idempotency key, for clients that can send no other."""
NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool:
    """One tool as all doors see it. Its schemas are built when they are first asked for."""

    name: str
    family: str
    description: str
    dialect: Dialect
    signature: Signature | Actions
    read_only: bool
    destructive: bool
    idempotent: bool
    effect: Effect
    shows_secret: bool = False
    """Whether the result shows a secret, which is then nowhere kept in clear."""
    inert: frozenset[str] = frozenset()
    """Parameters that change nothing, by decision."""
    route: str = ""
    """The method and path of a REST route of another system; empty for a tool that has a name."""
    reads_files: bool = False
    """Whether it reads a whole file in the sandbox, which takes long."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of a good call, for the tests that are derived from every tool."""

    @cached_property
    def input_schema(self) -> Schema:
        return self.dialect.arguments(self.signature.input_schema)

    @cached_property
    def output_schema(self) -> Schema:
        return self.dialect.schema(self.signature.output_schema)

    @cached_property
    def whole_output_schema(self) -> Schema:
        """The output schema with all that lists of tools leave out to be brief."""
        return self.dialect.schema(self.signature.whole_output_schema)

    def is_usable_with(self, scopes: frozenset[str]) -> bool:
        """Whether a key with these scopes can call it, or one of its actions."""
        return any(needed <= scopes for needed in self.signature.scope_choices)

    def __call__(self, arguments: Mapping[str, Any], call: Call) -> Body:
        """Check the rights and the arguments, run the function, word the result."""
        missing = self.signature.scopes_for(arguments) - call.scopes
        if missing:
            raise Denied(f"`{self.name}` needs a key with the scope: {', '.join(sorted(missing))}.")
        check_clean(arguments)
        signature, values = self.signature.prepare(arguments)
        entered = self.dialect.enter(replace(call, tool=f"{self.family}.{self.name}"))

        def run() -> Mapping[str, object]:
            return signature.function(entered, **values)

        def word(result: Mapping[str, object]) -> Body:
            return self.dialect.success(signature.without_empty_additions(result))

        if signature.effect == "reads":
            return word(run())
        return call.engine.once.run(call.caller, self._request(arguments, call), run, word)

    def can_be_repeated(self, arguments: Mapping[str, Any], call: Call) -> bool:
        """Whether a second call with the same arguments does no harm."""
        return self.read_only or self._request(arguments, call).key is not None

    def _request(self, arguments: Mapping[str, Any], call: Call) -> Request:
        """The call as its repetition is recognised, without the key itself."""
        rest = dict(arguments)
        key = rest.pop(KEY_ARGUMENT, None)
        if key is None:
            key = call.idempotency_key
        # A key with fewer rights must not be told what a key with more was answered.
        rights = (call.may_read, *call.caller.bound_to)
        return Request(
            # A route may be called like a tool and answer in another form.
            self.route or self.name,
            self.signature.without_defaults(rest),
            key,
            rights,
            self.shows_secret,
            as_given=rest,
        )


@dataclass(eq=False)
class Family:
    """The tools of one dialect."""

    name: str
    dialect: Dialect = PLAIN
    _: KW_ONLY
    modules: tuple[str, ...] = ()
    """The modules that define its tools. They are imported when the tools are first asked for,
    because a call of one family should not wait for all of them."""
    order: tuple[str, ...] = ()
    """The names of tools in the order in which clients see them. Others follow as written."""
    listed_over_mcp: bool = True
    apart: bool = False
    """Served at its own path only, because other families use the same tool names."""
    resources: Resources | None = None
    prompts: Prompts | None = None
    instructions: str = ""
    """What an MCP client is told about the family at the start of a session."""
    purpose: str = ""
    """What it is for, in one sentence without an end."""
    stands_for: str = ""
    """The client or system whose tools these are; empty for those of memolith itself."""

    _tools: list[Tool] = field(default_factory=list, init=False)

    @property
    def path(self) -> str:
        """Where it is served over HTTP."""
        return f"/mcp/{self.name}" if self.listed_over_mcp else "/mcp/tools/NAME"

    @property
    def is_in_default_profile(self) -> bool:
        """Whether a client that chooses nothing gets its tools."""
        return self.listed_over_mcp and not self.apart

    @property
    def tools(self) -> list[Tool]:
        """Its tools in the order in which clients see them."""
        for module in self.modules:
            import_module(module)
        return self._tools

    @property
    def known_names(self) -> set[str]:
        """The names of tools that are known before any module is imported."""
        return {*self.order, *(tool.name for tool in self._tools)}

    def find(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def tool(
        self,
        *,
        name: str | None = None,
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        effect: Effect | None = None,
        scope: ScopeName | None = None,
        needs_read: bool = False,
        shows_secret: bool = False,
        inert: Iterable[str] = (),
        reads_files: bool = False,
        example: Mapping[str, Any] = NO_ARGUMENTS,
    ) -> Callable[[Decorated], Decorated]:
        """Make a tool of a typed function, or of `Actions`; its signature says the rest.

        `needs_read` is for a tool that writes or runs and also tells what was stored before. The
        actions of `Actions` have scopes of their own.
        """
        if effect is None:
            effect = "reads" if read_only else "writes"
        actual_effect = effect
        scopes = frozenset((scope,)) if scope else scopes_of(effect, needs_read=needs_read)

        def add(decorated: Decorated) -> Decorated:
            if isinstance(decorated, Actions):
                signature: Signature | Actions = decorated
                tool_name = decorated.name
                description = decorated.description
            else:
                signature = Signature(decorated, actual_effect, scopes, self.dialect.open_arguments)
                tool_name = name or decorated.__name__
                description = decorated.__doc__ or ""
            insort(
                self._tools,
                Tool(
                    name=tool_name,
                    family=self.name,
                    description=" ".join(description.split()),
                    dialect=self.dialect,
                    signature=signature,
                    read_only=read_only,
                    destructive=destructive,
                    idempotent=idempotent or read_only,
                    effect=actual_effect,
                    shows_secret=shows_secret,
                    inert=frozenset(inert),
                    reads_files=reads_files,
                    example=example,
                ),
                key=self._place,
            )
            return decorated

        return add

    def _place(self, tool: Tool) -> int:
        """The place of a tool in the list; equal places keep the order of definition."""
        if tool.name in self.order:
            return self.order.index(tool.name)
        return len(self.order)
