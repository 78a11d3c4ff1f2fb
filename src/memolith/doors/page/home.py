"""The first page: what is there, what came lately, what waits."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.http.metrics import LatestSearch
from memolith.doors.page.erased import without_erased
from memolith.doors.page.rendering import day, static_files
from memolith.doors.page.site import Site, done, item_path, redaction_count, text_of, words_of
from memolith.doors.request_keys import CALLER_KEY
from memolith.errors import NotFound

SHOWN_EVENTS = 12
LISTED_EVENTS = 40
"""More than are shown, because those of an erased item make one row."""
SHOWN_DAYS = 30
MAX_CLIENTS = 20
PLOT_HEIGHT = 60


class Plot(NamedTuple):
    """The bars of a plot as shares of its height, and what it says in words."""

    heights: list[float]
    labels: list[str]
    summary: str


class HomePages:
    """The first page, and keeping a new memory."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(PAGE_PATH, guarded(self.home)),
            Route(PAGE_PATH + "/remember", guarded(self.remember), methods=["POST"]),
            Route(PAGE_PATH + "/static/{name}", self.static),
        ]

    async def home(self, request: Request) -> Response:
        activity = await self.site.run(request, "activity", days=SHOWN_DAYS)
        searches = self.site.metrics.latest_searches(request.scope[CALLER_KEY].tenant)
        decisions = None
        if self.site.offers(request, "list_decisions"):
            decisions = await self.site.run(request, "list_decisions", limit=1)
        clients = None
        if self.site.offers(request, "list_clients"):
            clients = await self.site.run(request, "list_clients", limit=MAX_CLIENTS)
        listed = await self.site.run(request, "list_events", limit=LISTED_EVENTS)
        values = {
            "clients": clients_of_today(clients, activity["days"][-1]["day"]),
            "overview": await self.site.run(request, "overview"),
            "activity": activity,
            "events": without_erased(listed["events"])[:SHOWN_EVENTS],
            "decisions": decisions,
            "written_plot": written_plot(activity["days"]),
            "growth_plot": growth_plot(activity["days"]),
            "search_plot": search_plot(searches),
            "plot_height": PLOT_HEIGHT,
        }
        return await self.site.show(request, "home.html", values)

    async def remember(self, request: Request) -> Response:
        form = await self.site.form(request)
        kept = await self.site.run(
            request,
            "remember",
            content=text_of(form, "content"),
            title=text_of(form, "title"),
            tags=words_of(text_of(form, "tags")),
        )
        alike = None
        if kept.get("conflicts"):
            alike = "contradicts"
        elif kept.get("similar"):
            alike = "repeats"
        event = None
        if self.site.may(request, "read"):
            told = await self.site.run(request, "list_events", item=str(kept["id"]), limit=1)
            event = told["events"][0]["event"]
        return done(
            item_path(str(kept["id"])),
            "remembered",
            event,
            secrets=redaction_count(kept),
            alike=alike,
        )

    async def static(self, request: Request) -> Response:
        found = static_files().get(request.path_params["name"])
        if found is None:
            raise NotFound("There is no such file.")
        headers = {
            "cache-control": "max-age=300",
            "x-content-type-options": "nosniff",
        }
        return Response(found.content, 200, headers, found.content_type)


def clients_of_today(clients: dict[str, Any] | None, today: str) -> list[dict[str, Any]]:
    """The programs that have called today, the last one first; none if nobody counts them."""
    if clients is None:
        return []
    return [client for client in clients["clients"] if day(client["last_call"]) == today]


def written_plot(days: Sequence[dict[str, Any]]) -> Plot:
    """How much was written on each day and is still there."""
    counts = [each["written"] for each in days]
    labels = [f"{each['day']}: {each['written']:,}" for each in days]
    summary = f"{sum(counts):,} in {len(days)} days, without forgotten ones"
    return Plot(heights(counts), labels, summary)


def growth_plot(days: Sequence[dict[str, Any]]) -> Plot:
    """How much of what is still there was there at the end of each day."""
    totals = [each["total"] for each in days]
    labels = [f"{each['day']}: {each['total']:,}" for each in days]
    summary = f"from {totals[0]:,} to {totals[-1]:,}, without forgotten ones"
    return Plot(heights(totals), labels, summary)


def search_plot(searches: Sequence[LatestSearch]) -> Plot | None:
    """How long the latest searches took; None if there was none."""
    if not searches:
        return None
    times = [search.ms for search in searches]
    middle = sorted(times)[len(times) // 2]
    labels = [f"{search.tool}: {search.ms:.0f} ms" for search in searches]
    summary = f"half of {len(times)} within {middle:.0f} ms, the slowest {max(times):.0f} ms"
    return Plot(heights(times), labels, summary)


def heights(values: Sequence[float]) -> list[float]:
    """The heights of bars: the largest value fills the plot."""
    largest = max(values, default=0) or 1
    return [round(PLOT_HEIGHT * value / largest, 2) for value in values]
