"""Searching: as you type, with the reasons, the funnel, and a context to copy."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memolith.domain.items import KINDS
from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.page.rendering import percent
from memolith.doors.page.site import Site, whole_number, words_of

PAGE_SIZE = 20
SHOWN_BELOW_FLOOR = 10
DEFAULT_BUDGET_TOKENS = 1000
MIN_BUDGET_TOKENS = 20
MAX_BUDGET_TOKENS = 200_000
MODES = ("hybrid", "text", "vector")
STATUSES = ("active", "draft", "archived", "deprecated", "forgotten")
DATE_LENGTH = len("2026-11-16")
END_OF_DAY = "T23:59:59.999999"
REASON_WORDS = {
    "meaning": "close in meaning",
    "words": "has words of the question",
    "quoted words": "has the quoted words",
    "entities": "names the same things",
    "speaker": "said by whom you name",
    "date": "of the date you name",
    "words of time": "tells a time",
    "after a question on it": "follows a question on it",
    "passage before": "what comes before fits",
    "passage after": "what comes after fits",
    "same session": "its session fits",
    "read together": "read together with the question",
}
"""The reasons of a hit in words that a percentage goes after."""
DRAWBACK_WORDS = {
    "another speaker": "lowers the score: said by somebody else",
    "superseded": "lowers the score: a newer item seems to replace it",
    "no such answer": "less certain: has nothing of the kind that you ask for",
}
"""What speaks against a hit."""


class SearchPages:
    """The search page."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(PAGE_PATH + "/search", guarded(self.search)),
            Route(PAGE_PATH + "/context", guarded(self.context)),
        ]

    async def search(self, request: Request) -> Response:
        """Hits for the question, or the newest items if there is none."""
        chosen = chosen_filters(request)
        query = request.query_params.get("q", "").strip()
        offset = whole_number(request.query_params.get("offset", "")) or 0
        explain = bool(request.query_params.get("explain"))
        values: dict[str, Any] = {
            "query": query,
            "chosen": chosen,
            "is_filtered": any(chosen[name] for name in chosen if name != "mode"),
            "offset": offset,
            "page_size": PAGE_SIZE,
            "kinds": KINDS,
            "modes": MODES,
            "statuses": STATUSES,
            "explain": explain,
            "deep": bool(request.query_params.get("deep")),
            "found": None,
            "listed": None,
            "budget": DEFAULT_BUDGET_TOKENS,
            "reason_words": reason_words,
        }
        if not query:
            values["listed"] = await self._newest(request, chosen, offset)
        elif explain:
            values["found"] = await self._explained(request, query, chosen, offset, values["deep"])
        else:
            values["found"] = await self._hits(request, query, chosen, offset, values["deep"])
        return await self.site.show(request, "search.html", values)

    async def context(self, request: Request) -> Response:
        """The best passages on a question, ready to be pasted into a prompt."""
        chosen = chosen_filters(request)
        query = request.query_params.get("q", "").strip()
        budget = whole_number(request.query_params.get("budget", "")) or DEFAULT_BUDGET_TOKENS
        packed = None
        if query:
            packed = await self.site.run(
                request,
                "context",
                query=query,
                budget_tokens=min(max(budget, MIN_BUDGET_TOKENS), MAX_BUDGET_TOKENS),
                kinds=chosen["kinds"] or None,
                project=chosen["project"] or None,
            )
        values = {"packed": packed, "query": query, "budget": budget, "chosen": chosen}
        return await self.site.show(request, "context.html", values)

    async def _hits(
        self, request: Request, query: str, chosen: dict[str, Any], offset: int, deep: bool
    ) -> dict[str, Any]:
        return await self.site.run(
            request,
            "recall",
            **search_arguments(query, chosen, offset),
            depth="deep" if deep else 0,
        )

    async def _explained(
        self, request: Request, query: str, chosen: dict[str, Any], offset: int, deep: bool
    ) -> dict[str, Any]:
        return await self.site.run(
            request,
            "explain_search",
            **search_arguments(query, chosen, offset),
            deep=deep,
            below=SHOWN_BELOW_FLOOR,
        )

    async def _newest(
        self, request: Request, chosen: dict[str, Any], offset: int
    ) -> dict[str, Any]:
        forgotten = chosen["status"] == "forgotten"
        return await self.site.run(
            request,
            "list_items",
            kinds=chosen["kinds"] or None,
            tags=chosen["tags"] or None,
            project=chosen["project"] or None,
            status=None if forgotten else chosen["status"] or None,
            forgotten=forgotten,
            since=chosen["since"] or None,
            until=end_of(chosen["until"]),
            limit=PAGE_SIZE,
            offset=offset,
        )


def search_arguments(query: str, chosen: Mapping[str, Any], offset: int) -> dict[str, Any]:
    """The arguments that `recall` and `explain_search` share."""
    return {
        "query": query,
        "kinds": chosen["kinds"] or None,
        "tags": chosen["tags"] or None,
        "project": chosen["project"] or None,
        "since": chosen["since"] or None,
        "until": end_of(chosen["until"]),
        "status": chosen["status"] or None,
        "mode": chosen["mode"],
        "limit": PAGE_SIZE,
        "offset": offset,
    }


def chosen_filters(request: Request) -> dict[str, Any]:
    """What the form on the page limits a search to."""
    given = request.query_params
    mode = given.get("mode", "")
    status = given.get("status", "")
    return {
        "kinds": [kind for kind in given.getlist("kind") if kind in KINDS],
        "tags": words_of(given.get("tags", "")),
        "project": given.get("project", "").strip(),
        "status": status if status in STATUSES else "",
        "since": given.get("since", "").strip(),
        "until": given.get("until", "").strip(),
        "mode": mode if mode in MODES else MODES[0],
    }


def end_of(until: str) -> str | None:
    """The last moment that a day or a time stands for."""
    if len(until) == DATE_LENGTH:
        return until + END_OF_DAY
    return until or None


def reason_words(reasons: Mapping[str, float]) -> list[str]:
    """Why something was found, in plain words, the strongest first; then what speaks against it."""
    lines = []
    drawbacks = [words for name, words in DRAWBACK_WORDS.items() if name in reasons]
    for name, value in sorted(reasons.items(), key=lambda reason: -reason[1]):
        if name == "links":
            lines.append(f"{value:.0f} link{'s' if value > 1 else ''} away from a hit")
        elif name not in DRAWBACK_WORDS:
            lines.append(f"{REASON_WORDS.get(name, name)}: {percent(value)}")
    return lines + drawbacks
