"""Pairs that say the same or contradict each other: one by one or several at once, and undo."""

from collections.abc import Sequence
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.page.site import (
    DONE,
    PAGE_HEADERS,
    Site,
    done,
    text_of,
    wants_json,
    whole_number,
)
from memolith.engine.validation import parsed_json
from memolith.errors import Denied, InvalidInput

DECIDE_PATH = PAGE_PATH + "/decide"
PAGE_SIZE = 10
KINDS = ("duplicate", "contradiction")
OUTCOMES = {
    "keep_first": "the older one was kept",
    "keep_second": "the newer one was kept",
    "keep_both": "both were kept",
    "merge": "both became one",
}
"""What a page says after a decision."""
MAX_EVENTS = 500
"""As many as `undo_events` takes."""


class DecidePages:
    """The page of decisions."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(DECIDE_PATH, guarded(self.show)),
            Route(DECIDE_PATH, guarded(self.decide), methods=["POST"]),
            Route(DECIDE_PATH + "/undo", guarded(self.undo), methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        kind = chosen_kind(request.query_params.get("kind", ""))
        offset = whole_number(request.query_params.get("offset", "")) or 0
        page = await self.site.run(
            request, "list_decisions", kind=kind or None, limit=PAGE_SIZE, offset=offset
        )
        values = {
            "page": page,
            "kind": kind,
            "offset": offset,
            "page_size": PAGE_SIZE,
            "may_decide": self.site.offers(request, "decide"),
            # The page has a place of its own for what was done, because a script changes it.
            "done": None,
            "notice": DONE.get(request.query_params.get("done", ""), ""),
            "undo_events": request.query_params.get("events", ""),
        }
        return await self.site.show(request, "decide.html", values)

    async def decide(self, request: Request) -> Response:
        form = await self.site.form(request)
        outcome = text_of(form, "decision")
        if not outcome:
            raise InvalidInput("Choose what to do with the pairs first.", field="decision")
        decided = await self.site.run(request, "decide", pairs=chosen_pairs(form), outcome=outcome)
        events = event_ranges(decided["events"])
        if wants_json(request):
            told = {"message": decision_words(decided), "events": events}
            return JSONResponse(told, headers=PAGE_HEADERS)
        kind = chosen_kind(text_of(form, "kind"))
        return done(DECIDE_PATH, "decided", kind=kind, events=events)

    async def undo(self, request: Request) -> Response:
        """Take a decision back, with all that it wrote."""
        form = await self.site.form(request)
        if not self.site.offers(request, "undo_events"):
            raise Denied("This needs a key with the scope: write.")
        events = events_of_ranges(text_of(form, "events"))
        undone = await self.site.run(request, "undo_events", events=events)
        again = event_ranges(undone["events"])
        if wants_json(request):
            told = {"message": DONE["undone"], "events": again}
            return JSONResponse(told, headers=PAGE_HEADERS)
        return done(DECIDE_PATH, "undone", kind=chosen_kind(text_of(form, "kind")), events=again)


def chosen_kind(text: str) -> str:
    """The kind of pairs that is asked for; empty for all."""
    return text if text in KINDS else ""


def chosen_pairs(form: FormData) -> list[dict[str, Any]]:
    """The pair of a button, or all pairs that are ticked."""
    if "first" in form:
        return [{"first": text_of(form, "first"), "second": text_of(form, "second")}]
    pairs = []
    for value in form.getlist("pair"):
        pair = parsed_json(str(value), "This pair", "pair")
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidInput("This pair cannot be read; open the page again.", field="pair")
        pairs.append({"first": pair[0], "second": pair[1]})
    if not pairs:
        raise InvalidInput("Tick the pairs that you want to decide first.", field="pair")
    return pairs


def decision_words(decided: dict[str, Any]) -> str:
    """What a decision did, in a sentence."""
    pairs = len(decided["decided"])
    if not pairs:
        return "Nothing was left to decide: this was decided before."
    words = OUTCOMES[decided["outcome"]]
    if pairs == 1:
        return f"Decided: {words}."
    return f"{pairs} pairs decided: {words} each time."


def event_ranges(events: Sequence[int]) -> str:
    """Numbers as an address can carry them: `3-5,8`."""
    ranges: list[list[int]] = []
    for event in sorted(events):
        if ranges and event == ranges[-1][1] + 1:
            ranges[-1][1] = event
        else:
            ranges.append([event, event])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def events_of_ranges(text: str) -> list[int]:
    """The numbers again; a text that is no such list is refused."""
    events: list[int] = []
    for part in text.split(","):
        first_text, _, last_text = part.partition("-")
        first = whole_number(first_text)
        last = whole_number(last_text or first_text)
        if first is None or last is None or not 0 <= last - first < MAX_EVENTS:
            raise InvalidInput("Say which events to undo, by their numbers.", field="events")
        events += range(first, last + 1)
        if len(events) > MAX_EVENTS:
            raise InvalidInput(f"At most {MAX_EVENTS} events are undone at once.", field="events")
    return events
