"""One item: what it says, where it comes from, what it is linked to, and changing it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.page.decide import chosen_kind
from memolith.doors.page.read_words import is_on_page
from memolith.doors.page.rendering import heading, shortened
from memolith.doors.page.site import (
    PAGE_HEADERS,
    Site,
    done,
    item_path,
    redaction_count,
    text_of,
    whole_number,
    words_of,
)
from memolith.engine.validation import checked_word
from memolith.errors import InvalidInput, MemolithError, NotFound, VersionConflict

ITEM_PATH = PAGE_PATH + "/item/{id}"
COMPARE_PATH = PAGE_PATH + "/compare"
SHOWN_BLOCKS = 100
SHOWN_STEPS = 50
SHOWN_READS = 20
SHOWN_TARGETS = 8
LINK_TYPES = (
    "about",
    "depends_on",
    "part_of",
    "caused_by",
    "replaces",
    "contradicts",
    "supports",
    "example_of",
    "see_also",
)
"""What the form for links proposes; any word will do."""
DECIDED_STATUSES = ("superseded", "archived", "deprecated")
"""Items with these are left out of the pairs that wait for a decision."""
NAMED_ID = re.compile(r"\(([^()\s]+)\)$")
"""The id at the end of a proposal such as `Kelp (3f2a)`."""
GONE = "Not found. It may have been erased."
AUDIENCES = {
    "user": "the owner alone",
    "project": "everybody in the project",
    "org": "the whole organisation",
}


class ReviseForm(NamedTuple):
    """What stands in the form for a correction that was not saved."""

    title: str
    content: str | None = None
    """None where the text of the item cannot be changed here."""


class LinkForm(NamedTuple):
    """What stands in the form for a link, and what is wrong with it."""

    target: str = ""
    type: str = "about"
    problem: str = ""
    field: str = ""
    candidates: tuple[dict[str, Any], ...] = ()
    """Items that may be meant by the target."""


EMPTY_LINK_FORM = LinkForm()


class ItemPages:
    """The page of an item, and what can be done there."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(ITEM_PATH, guarded(self.show)),
            Route(ITEM_PATH + "/revise", guarded(self.revise), methods=["POST"]),
            Route(ITEM_PATH + "/tags", guarded(self.tag), methods=["POST"]),
            Route(ITEM_PATH + "/forget", guarded(self.forget), methods=["POST"]),
            Route(ITEM_PATH + "/restore", guarded(self.restore), methods=["POST"]),
            Route(ITEM_PATH + "/link", guarded(self.link), methods=["POST"]),
            Route(ITEM_PATH + "/targets", guarded(self.targets)),
            Route(ITEM_PATH + "/erase", guarded(self.ask_to_erase)),
            Route(ITEM_PATH + "/erase", guarded(self.erase), methods=["POST"]),
            Route(COMPARE_PATH, guarded(self.compare)),
            Route(COMPARE_PATH, guarded(self.keep), methods=["POST"]),
            Route(PAGE_PATH + "/undo", guarded(self.undo), methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        return await self._item_page(request)

    async def _item_page(
        self,
        request: Request,
        *,
        link_form: LinkForm = EMPTY_LINK_FORM,
        unsaved: ReviseForm | None = None,
        status: int = 200,
    ) -> Response:
        id = request.path_params["id"]
        offset = whole_number(request.query_params.get("offset", "")) or 0
        try:
            item = await self.site.run(
                request, "show_item", id=id, limit=SHOWN_BLOCKS, offset=min(offset, 10**9)
            )
        except NotFound as error:
            raise NotFound(GONE, id=id) from error
        history = await self.site.run(request, "history", id=id)
        reads = None
        if self.site.offers(request, "list_reads"):
            reads = elsewhere(await self.site.run(request, "list_reads", id=id, limit=SHOWN_READS))
        steps = [with_link(step, item) for step in history["events"]]
        values = {
            "item": item,
            "here": item_path(item["id"]),
            "steps": steps[::-1][:SHOWN_STEPS],
            "total_steps": len(steps),
            "reads": reads,
            "offset": offset,
            "page_size": SHOWN_BLOCKS,
            "editable": item["total_blocks"] <= 1 and item["kind"] != "document",
            "audiences": AUDIENCES,
            "link_form": link_form,
            "unsaved": unsaved,
            "link_types": LINK_TYPES,
            "waits": waits_for_decision(item),
            "is_title_whole": is_title_whole(item),
        }
        return await self.site.show(request, "item.html", values, status=status)

    async def revise(self, request: Request) -> Response:
        """Save a correction; if somebody was faster, show theirs beside it and ask again."""
        form = await self.site.form(request)
        id = request.path_params["id"]
        content = text_of(form, "content") if "content" in form else None
        given = ReviseForm(text_of(form, "title"), content)
        version = whole_number(text_of(form, "version"))
        try:
            changed = await self.site.run(
                request, "revise", id=id, **given._asdict(), expected_version=version
            )
        except VersionConflict as error:
            return await self._item_page(request, unsaved=given, status=error.status)
        secrets = redaction_count(changed)
        return done(item_path(id), "revised", int(changed["event"]), secrets=secrets)

    async def tag(self, request: Request) -> Response:
        """Add some tags, or take one away."""
        form = await self.site.form(request)
        id = request.path_params["id"]
        item = await self.site.run(request, "show_item", id=id, similar=0, limit=1)
        removed = text_of(form, "remove")
        tags = [tag for tag in item["tags"] if tag != removed]
        tags += [tag for tag in words_of(text_of(form, "add")) if tag not in tags]
        if tags == item["tags"]:
            return done(item_path(id), "tagged")
        changed = await self.site.run(
            request, "revise", id=id, tags=tags, expected_version=item["version"]
        )
        return done(item_path(id), "tagged", int(changed["event"]))

    async def forget(self, request: Request) -> Response:
        await self.site.form(request)
        id = request.path_params["id"]
        changed = await self.site.run(request, "forget", id=id)
        return done(item_path(id), "forgotten", int(changed["event"]))

    async def restore(self, request: Request) -> Response:
        await self.site.form(request)
        id = request.path_params["id"]
        changed = await self.site.run(request, "restore", id=id)
        return done(item_path(id), "restored", int(changed["event"]))

    async def link(self, request: Request) -> Response:
        """Link to the item that an id, an address or a title names; else ask which is meant."""
        form = await self.site.form(request)
        id = request.path_params["id"]
        given = LinkForm(text_of(form, "target").strip(), text_of(form, "type").strip())
        relation = "_".join(given.type.split())
        try:
            # Before the question which item is meant, so that nothing is asked in vain.
            checked_word("type", relation)
            target, candidates = await self._target(request, given.target)
            if not target:
                shown = given._replace(field="target", candidates=tuple(candidates))
                return await self._item_page(request, link_form=shown, status=NotFound.status)
            await self.site.run(request, "link", source=id, target=target, type=relation)
        except (InvalidInput, NotFound) as error:
            shown = given._replace(problem=link_problem(error), field=error.field or "target")
            return await self._item_page(request, link_form=shown, status=error.status)
        told = await self.site.run(
            request, "list_events", item=id, types=["linked", "relinked"], limit=1
        )
        event = told["events"][0]["event"] if told["events"] else None
        return done(item_path(id), "linked", event)

    async def targets(self, request: Request) -> Response:
        """Items that may be meant by what was typed so far, for the script of the form."""
        found = await self._candidates(request, request.query_params.get("q", "").strip())
        return JSONResponse({"items": found}, headers=PAGE_HEADERS)

    async def _target(self, request: Request, text: str) -> tuple[str, list[dict[str, Any]]]:
        """The id that a text names; empty if it names none, with items that may be meant."""
        if not text:
            raise InvalidInput("Say which item to link to.", field="target")
        named = NAMED_ID.search(text)
        id = named.group(1) if named else text
        try:
            item = await self.site.run(request, "show_item", id=id, similar=0, limit=1)
        except MemolithError:
            candidates = await self._candidates(request, text)
            return meant_by(text, candidates), candidates
        return str(item["id"]), []

    async def _candidates(self, request: Request, text: str) -> list[dict[str, Any]]:
        """Other items that fit a text, the best first."""
        if not text:
            return []
        found = await self.site.run(request, "recall", query=text, limit=SHOWN_TARGETS)
        items = {
            hit["id"]: {
                "id": hit["id"],
                "title": shortened(hit["title"] or hit["text"]),
                "has_words": "words" in hit["reasons"],
            }
            for hit in found["hits"]
            if hit["id"] != request.path_params["id"]
        }
        return list(items.values())

    async def ask_to_erase(self, request: Request) -> Response:
        id = request.path_params["id"]
        try:
            item = await self.site.run(request, "show_item", id=id, similar=0, limit=1)
        except NotFound as error:
            raise NotFound(GONE, id=id) from error
        return await self.site.show(request, "erase.html", {"item": item})

    async def erase(self, request: Request) -> Response:
        form = await self.site.form(request)
        if text_of(form, "sure").strip().lower() != "erase":
            raise InvalidInput("Type the word erase to confirm.", field="sure")
        await self.site.run(request, "erase_item", id=request.path_params["id"])
        return done(PAGE_PATH, "erased")

    async def compare(self, request: Request) -> Response:
        """Two items side by side."""
        given = request.query_params
        first = await self._whole(request, given.get("first", ""))
        second = await self._whole(request, given.get("second", ""))
        values = {
            "first": first,
            "second": second,
            # A pair that waits for a decision is decided there, and the page of those comes back.
            "is_pair": given.get("from") == "decide",
            "kind": chosen_kind(given.get("kind", "")),
        }
        return await self.site.show(request, "compare.html", values)

    async def _whole(self, request: Request, id: str) -> dict[str, Any]:
        return await self.site.run(request, "show_item", id=id, similar=0, limit=SHOWN_BLOCKS)

    async def keep(self, request: Request) -> Response:
        """Keep one of two items and forget the other one, which undo brings back."""
        form = await self.site.form(request)
        kept = text_of(form, "keep")
        other = text_of(form, "forget")
        if not kept or not other or kept == other:
            raise InvalidInput("Say which of two items to keep.", field="keep")
        await self.site.run(request, "show_item", id=kept, similar=0, limit=1)
        changed = await self.site.run(request, "forget", id=other)
        return done(item_path(kept), "kept_one", int(changed["event"]))

    async def undo(self, request: Request) -> Response:
        """Take an event back, and return to the page that the button was on."""
        form = await self.site.form(request)
        event = whole_number(text_of(form, "event"))
        if event is None:
            raise InvalidInput("Say which event to undo, by its number.", field="event")
        undone = await self.site.run(request, "undo_event", event=event)
        back = text_of(form, "back")
        if back.startswith(PAGE_PATH):
            return done(back.partition("?")[0], "undone", int(undone["event"]))
        return done(item_path(str(undone["id"])), "undone", int(undone["event"]))


def meant_by(text: str, candidates: Sequence[Mapping[str, Any]]) -> str:
    """The id of the one item that a text can mean: by its whole title, or by words that no other
    has; empty if there are several, or none.
    """
    same = [one for one in candidates if one["title"].casefold() == text.casefold()]
    if not same and len(candidates) == 1:
        same = [one for one in candidates if one["has_words"]]
    return str(same[0]["id"]) if len(same) == 1 else ""


def elsewhere(listed: dict[str, Any]) -> dict[str, Any]:
    """The reads without those on this page, which are the clicks of whoever looks at it."""
    reads = [read for read in listed["reads"] if not is_on_page(read)]
    return {"reads": reads, "total": listed["total"] - len(listed["reads"]) + len(reads)}


def link_problem(error: MemolithError) -> str:
    """What is wrong with a link, in the words of the form."""
    if error.field == "type":
        return "How they are related takes letters, digits and spaces, at most 40 in all."
    if isinstance(error, NotFound):
        return "There is no such item."
    return error.message


def is_title_whole(item: dict[str, Any]) -> bool:
    """Whether the heading of the page says all that the text says."""
    if item["total_blocks"] != 1 or len(item["blocks"]) != 1:
        return False
    block = item["blocks"][0]
    text = block["text"].strip()
    return "speaker" not in block and heading(item["title"], text) == text


def waits_for_decision(item: Mapping[str, Any]) -> bool:
    """Whether a newer item seems to replace this one, and nobody has decided about the two."""
    is_current = not item["forgotten"] and item["status"] not in DECIDED_STATUSES
    return is_current and bool(item.get("superseded_by"))


def with_link(step: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """A step of the history; one of a link names the other end, seen from the item."""
    changes = {change["field"]: change["old"] or change["new"] for change in step["changes"]}
    if "source" not in changes or "target" not in changes:
        return {**step, "link": None}
    outgoing = changes["source"] == item["id"]
    other = changes["target"] if outgoing else changes["source"]
    titles = {link["id"]: link["title"] for link in item["links"]}
    link = {
        "id": other,
        "title": titles.get(other, ""),
        "type": changes["type"],
        "outgoing": outgoing,
    }
    return {**step, "link": link}
