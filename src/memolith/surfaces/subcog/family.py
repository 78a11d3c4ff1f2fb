"""The Subcog family, its words for errors, and whose a thing of a domain is."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from memolith import errors
from memolith.engine.model import Audience, Caller
from memolith.engine.ports import Checkout
from memolith.registry import Call, Family
from memolith.surfaces.items import coded

Domain = Literal["project", "user", "org"]
CODES = {errors.Malformed: (-32602, "Invalid parameters"), errors.BlockedContent: (-32605, "Content blocked"),
         errors.PromptNotFound: (-32607, "Prompt not found"), errors.NotFound: (-32604, "Memory not found"),
         errors.AnalystDown: (-32606, "LLM provider error"), errors.Denied: (-32600, "Permission denied")}

subcog = Family("subcog", coded(CODES, (-32608, "Validation error")),
                instructions="Memories of coding sessions by namespace, prompts and templates, a graph of entities.")


def checkout_of(call: Call, path: str = "") -> Checkout | None:
    """The repository around a local server, or around a folder of its machine; over HTTP no folder counts."""
    return call.engine.repository(path) if call.local else None


def here(call: Call) -> Call:
    """The call of somebody who works in the project that he states, else in that of the repository around him."""
    around = None if call.caller.project else checkout_of(call)
    return replace(call, caller=replace(call.caller, project=around.project)) if around else call


def placed(call: Call, domain: Domain) -> tuple[Caller, Audience, str | None]:
    """Who acts for a domain, who sees what he writes there, and in which project; outside of one it is the user's."""
    caller = here(call).caller
    audience = Audience.USER if domain == "project" and caller.project is None else Audience(domain)
    return caller, audience, caller.project if audience is Audience.PROJECT else None
