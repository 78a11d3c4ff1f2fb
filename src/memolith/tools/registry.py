"""The tools of some families, and the one way to run them."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from memolith.engine.stale_reads import permitting
from memolith.engine.telemetry import RequestIds, call_span, current_request
from memolith.errors import (
    InvalidInput,
    MemolithError,
    NotFound,
    OutcomeUnknown,
    StoreGone,
    TenantMoving,
)
from memolith.ports.telemetry import CallFacts
from memolith.tools.call import Call, InputNeeded, ignore
from memolith.tools.dialect import PLAIN, compact_json
from memolith.tools.family import Family, Tool
from memolith.tools.schema import Body

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")
RETRY_PAUSES_S = (0.1, 0.4, 1.0, 2.0)
RETRIED_FOR_S = 10.0
"""A call that has taken this long is not repeated any more: its client waits."""

RETRIED_ERRORS = (StoreGone, OutcomeUnknown, TenantMoving)


class Outcome(NamedTuple):
    """What came of a call: the body to show, and the error behind it if it failed."""

    ok: bool
    body: Body
    error: MemolithError | None = None
    wording: Callable[[Body], str] = compact_json

    @property
    def text(self) -> str:
        """The body as text, the same through every door."""
        return self.wording(self.body)


class Registry:
    """The tools of some families, and the one way to run them."""

    def __init__(
        self,
        families: Iterable[Family],
        tools: Iterable[Tool] | None = None,
        observe: Callable[[str, str, str, float], None] = ignore,
    ) -> None:
        """Without `tools` it has those of all families, which are imported when they are needed.

        `observe` is told the tenant, the tool, the outcome and the seconds of every call.
        """
        self.families = tuple(families)
        self.observe = observe
        self._chosen = None if tools is None else tuple(tools)
        self._together = [family for family in self.families if not family.apart]
        if self._chosen is None:
            refuse_twins([name for family in self._together for name in family.known_names])

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """All its tools."""
        if self._chosen is None:
            return tuple(shared_tools(self.families))
        return self._chosen

    @cached_property
    def by_name(self) -> dict[str, Tool]:
        """All its tools by their names."""
        refuse_twins([tool.name for tool in self.tools])
        return {tool.name: tool for tool in self.tools}

    def find(self, name: str) -> Tool | None:
        """The tool of this name. A family that lists it is imported without the others."""
        if self._chosen is None:
            for family in self._together:
                if name in family.order:
                    return family.find(name)
        return self.by_name.get(name)

    @cached_property
    def shown(self) -> tuple[Family, ...]:
        """The families with a tool here; their resources and prompts are offered too."""
        names = {tool.family for tool in self.tools}
        return tuple(family for family in self.families if family.name in names)

    def choose(self, profile: str = "all", *, read_only: bool = False) -> Registry:
        """What an MCP client sees: `all`, or families and tools by name, separated by commas."""
        listed = [family for family in self.families if family.listed_over_mcp]
        if profile == "all" and not read_only:
            return Registry([family for family in listed if not family.apart], observe=self.observe)
        tools_by_name: dict[str, list[Tool]] = {"all": shared_tools(listed)}
        for tool in shared_tools(listed):
            tools_by_name[tool.name] = [tool]
        for family in listed:
            tools_by_name[family.name] = family.tools
        chosen: dict[Tool, None] = {}
        for part in profile.split(","):
            name = part.strip()
            if name not in tools_by_name:
                names = ", ".join(family.name for family in listed)
                raise InvalidInput(
                    f"There is no family or tool named {name!r}; families: all, {names}.",
                    field="tools",
                )
            chosen.update(dict.fromkeys(tools_by_name[name]))
        tools = [tool for tool in chosen if tool.read_only or not read_only]
        return Registry(self.families, tools, self.observe)

    def run(self, name: str, arguments: Mapping[str, Any], call: Call) -> Outcome:
        """Check, call and word the result or the error; only `InputNeeded` gets out."""
        tool = self.find(name)
        if tool is None:
            return self.refuse(name, NotFound(f"There is no tool named {name!r}.", id=name))
        facts = CallFacts(
            name, tool.family, call.caller.tenant, call.door, call.request_id, call.trace
        )
        with call_span(facts) as span:
            known = current_request.set(RequestIds(call.request_id, span.trace_id))
            started = time.perf_counter()
            try:
                # What a tool writes must not rest on what is old.
                with permitting(call.stale_reads if tool.read_only else None):
                    outcome = self._run_patiently(tool, arguments, call)
                seconds = time.perf_counter() - started
                result = outcome.error.type if outcome.error else "ok"
                is_fault = outcome.error is not None and outcome.error.status >= 500
                span.ended(result, seconds, is_fault=is_fault)
                log_call(facts, result, seconds)
            finally:
                current_request.reset(known)
        self.observe(call.caller.tenant, name, result, seconds)
        if call.client is not None and call.client.counted:
            told = outcome.error.type if outcome.error else ""
            call.engine.usage.note_call(call.caller, call.client, told)
        return outcome

    def _run_patiently(self, tool: Tool, arguments: Mapping[str, Any], call: Call) -> Outcome:
        deadline = time.monotonic() + RETRIED_FOR_S
        outcome = self._run_once(tool, arguments, call)
        # A database fails over in seconds. A call that can be repeated without harm need not
        # fail with it.
        if tool.can_be_repeated(arguments, call):
            for pause_s in RETRY_PAUSES_S:
                if not isinstance(outcome.error, RETRIED_ERRORS) or time.monotonic() > deadline:
                    break
                time.sleep(pause_s)
                outcome = self._run_once(tool, arguments, call)
        return outcome

    def _run_once(self, tool: Tool, arguments: Mapping[str, Any], call: Call) -> Outcome:
        try:
            body = hide_unexpected(tool.name, call, lambda: tool(arguments, call))
        except MemolithError as error:
            return self.refuse(tool.name, error)
        return Outcome(True, body, wording=tool.dialect.text)

    def attempt(self, name: str, arguments: Mapping[str, Any], make: Callable[[], Call]) -> Outcome:
        """Run a call that may fail to be made.

        A store that cannot be opened is reported in the words of the tool's family.
        """
        try:
            return self.run(name, arguments, make())
        except MemolithError as error:
            return self.refuse(name, error)

    def refuse(self, name: str, error: MemolithError) -> Outcome:
        """The error, worded by the family of the tool."""
        tool = self.find(name)
        dialect = tool.dialect if tool else PLAIN
        return Outcome(False, dialect.failure(error), error, dialect.text)


def refuse_twins(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError("two tools have the same name")


def shared_tools(families: Iterable[Family]) -> list[Tool]:
    """The tools of the families that are served together."""
    return [tool for family in families if not family.apart for tool in family.tools]


def log_call(facts: CallFacts, outcome: str, seconds: float) -> None:
    """One line for each call: names and numbers, never arguments or texts."""
    if not log.isEnabledFor(logging.INFO):
        return
    told = {
        "tool": facts.tool,
        "family": facts.family,
        "door": facts.door,
        "tenant": facts.tenant,
        "outcome": outcome,
        "ms": round(1000 * seconds, 1),
    }
    log.info(
        "request %s: %s %s in %.0f ms",
        facts.request_id,
        facts.tool,
        outcome,
        1000 * seconds,
        extra={"facts": told},
    )


def hide_unexpected(name: str, call: Call, action: Callable[[], Answer]) -> Answer:
    """Run the action; log an error that is not ours and raise one that does not show its text."""
    try:
        return action()
    except (MemolithError, InputNeeded):
        raise
    except Exception as error:  # noqa: BLE001 - the last resort of every door
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error(
            "request %s: %s failed with %s\n%s", call.request_id, name, type(error).__name__, frames
        )
        # The text may hold the caller's data, so it is written only at the level that asks for it.
        log.debug("request %s: %s", call.request_id, error)
        raise MemolithError(
            f"Something went wrong here; the log has it under request {call.request_id}."
        ) from None
