"""The timeline: what happened on a day, and coding sessions with what their hooks did."""

from datetime import date, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memolith.domain.items import KINDS
from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.page.erased import without_erased
from memolith.doors.page.site import Site, whole_number

TIMELINE_PATH = PAGE_PATH + "/timeline"
SESSION_PATH = TIMELINE_PATH + "/session"
OVERVIEW_DAYS = 42
BAR_STEPS = 10
LISTED_EVENTS = 100
LISTED_SESSIONS = 20
SHOWN_CONVERSATIONS = 5
SHOWN_TURNS = 4
REPLAYED_TURNS = 1000
SESSION_EVENTS = ("injected", "kept")


class TimelinePages:
    """The timeline and the pages of sessions."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(TIMELINE_PATH, guarded(self.show)),
            Route(SESSION_PATH + "/{id:path}", guarded(self.session)),
        ]

    async def show(self, request: Request) -> Response:
        """One day: what happened to which item, and which sessions there were."""
        activity = await self.site.run(request, "activity", days=OVERVIEW_DAYS)
        today = activity["days"][-1]["day"]
        day = chosen_day(request.query_params.get("day", ""), today)
        kinds = [kind for kind in request.query_params.getlist("kind") if kind]
        actor = request.query_params.get("by", "").strip()
        first = f"{day}T00:00:00Z"
        last = f"{day}T23:59:59.999999Z"
        listed = await self.site.run(
            request,
            "list_events",
            since=first,
            until=last,
            kinds=kinds or None,
            actor=actor or None,
            before=whole_number(request.query_params.get("before", "")),
            limit=LISTED_EVENTS,
        )
        groups = grouped(listed["events"])
        values = {
            "day": day,
            "today": today,
            "day_before": shifted(day, -1),
            "day_after": shifted(day, 1) if day < today else None,
            "overview": overview(activity["days"]),
            "groups": groups,
            "next_before": listed.get("next_before"),
            "sessions": await self.site.run(
                request, "list_sessions", since=first, until=last, limit=LISTED_SESSIONS
            ),
            "conversations": await self._conversations(request, groups),
            "kinds": KINDS,
            "chosen_kinds": kinds,
            "actor": actor,
        }
        return await self.site.show(request, "timeline.html", values)

    async def session(self, request: Request) -> Response:
        """What a coding session was given from memory, what was kept of it, and what was said."""
        shown = await self.site.run(request, "show_session", session_id=request.path_params["id"])
        conversation = None
        if "conversation_id" in shown:
            conversation = await self.site.run(
                request,
                "show_item",
                id=shown["conversation_id"],
                similar=0,
                limit=REPLAYED_TURNS,
            )
        values = {**shown, "conversation": conversation}
        return await self.site.show(request, "session.html", values)

    async def _conversations(
        self, request: Request, groups: list[dict[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        """How the conversations of the day begin."""
        ids = [group["id"] for group in groups if group["kind"] == "conversation"]
        return {
            id: await self.site.run(request, "show_item", id=id, similar=0, limit=SHOWN_TURNS)
            for id in ids[:SHOWN_CONVERSATIONS]
        }


def chosen_day(text: str, today: str) -> str:
    """The day that was asked for; today if it is none."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return today


def shifted(day: str, days: int) -> str | None:
    """Another day; None beyond the calendar."""
    try:
        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def overview(days: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The days with the height of their bars, in steps for which there are style rules."""
    largest = max((entry["written"] for entry in days), default=0) or 1
    bars = []
    for entry in days:
        # A day with little written is to be seen, too.
        height = -(-BAR_STEPS * entry["written"] // largest)
        bars.append({"day": entry["day"], "written": entry["written"], "height": height})
    return bars


def grouped(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events by the item that they are about, in the order of its newest event."""
    groups: dict[str, dict[str, Any]] = {}
    for event in without_erased(events):
        if event["type"] in SESSION_EVENTS:
            # Sessions are listed by themselves.
            continue
        erased = event.get("erased_changes", 0)
        key = event["id"] or event["stream"]
        group = groups.setdefault(
            key,
            {
                "id": event["id"],
                "kind": event["kind"],
                "title": event["title"],
                "erased_changes": erased,
                "events": [],
            },
        )
        group["events"].append(event)
    return list(groups.values())
