"""Prompts and templates: find them, edit them with a preview, try them, bring old versions back."""

import json
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.page.site import Site, done, text_of, whole_number, words_of
from memolith.engine.validation import parsed_json
from memolith.errors import AlreadyExists, InvalidInput, MemolithError, PromptNotFound

PROMPTS_PATH = PAGE_PATH + "/prompts"
PROMPT_PATH = PROMPTS_PATH + "/{kind}/{name}"
KINDS = ("prompt", "template")
DOMAINS = {"user": "only you", "project": "the project", "org": "the whole organisation"}
"""The domains, and who sees what is in them."""
PAGE_SIZE = 20
DEFAULT_LIMIT = 10
FORMATS = ("markdown", "json", "xml")
VALUE_PREFIX = "value:"
DESCRIPTION_PREFIX = "description:"
DEFAULT_PREFIX = "default:"
OWN_EVENTS = ("remembered", "revised", "tagged", "forgotten", "restored")
"""The events of an item itself; its history also has those of its links."""


class Draft(NamedTuple):
    """A prompt as it stands in the editor."""

    kind: str
    name: str
    domain: str
    content: str
    description: str
    tags: list[str]
    descriptions: dict[str, str]
    """What each variable means."""
    defaults: dict[str, str]
    """What each variable has where no value is given."""
    is_new: bool


class PromptPages:
    """The list of prompts and templates, the page of one, and the editor."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(PROMPTS_PATH, guarded(self.list_prompts)),
            Route(PROMPTS_PATH + "/new", guarded(self.new)),
            Route(PROMPTS_PATH + "/preview", guarded(self.preview), methods=["POST"]),
            Route(PROMPTS_PATH + "/save", guarded(self.save), methods=["POST"]),
            Route(PROMPT_PATH, guarded(self.show)),
            Route(PROMPT_PATH + "/edit", guarded(self.edit)),
            Route(PROMPT_PATH + "/try", guarded(self.try_out), methods=["POST"]),
            Route(PROMPT_PATH + "/restore", guarded(self.restore), methods=["POST"]),
            Route(PROMPT_PATH + "/delete", guarded(self.delete), methods=["POST"]),
        ]

    async def list_prompts(self, request: Request) -> Response:
        given = request.query_params
        chosen = {
            "q": given.get("q", "").strip(),
            "kind": given.get("kind", "") if given.get("kind", "") in KINDS else "",
            "tags": words_of(given.get("tags", "")),
            "domain": given.get("domain", "") if given.get("domain", "") in DOMAINS else "",
        }
        offset = whole_number(given.get("offset", "")) or 0
        listed = await self.site.run(
            request,
            "list_prompts",
            kind=chosen["kind"] or None,
            query=chosen["q"],
            tags=chosen["tags"] or None,
            domain=chosen["domain"] or None,
            limit=PAGE_SIZE,
            offset=offset,
        )
        values = {
            "listed": listed,
            "chosen": chosen,
            "offset": offset,
            "page_size": PAGE_SIZE,
            "kinds": KINDS,
            "domains": DOMAINS,
            "may_save": self._may_save(request),
        }
        return await self.site.show(request, "prompts.html", values)

    async def show(self, request: Request) -> Response:
        values = await self._prompt_values(request)
        return await self.site.show(request, "prompt.html", values)

    async def try_out(self, request: Request) -> Response:
        """The text with the values of the form in it."""
        form = await self.site.form(request)
        values = await self._prompt_values(request)
        tried = fields_with(form, VALUE_PREFIX)
        arguments: dict[str, Any] = {
            "name": request.path_params["name"],
            "domain": chosen_domain(request),
            "variables": {name: typed_value(text) for name, text in tried.items() if text},
        }
        if values["kind"] == "template":
            arguments["query"] = text_of(form, "query").strip() or None
            arguments["limit"] = whole_number(text_of(form, "limit")) or DEFAULT_LIMIT
            arguments["format"] = text_of(form, "format") or FORMATS[0]
        values |= {
            "tried": tried,
            "query": text_of(form, "query"),
            "format": text_of(form, "format") or FORMATS[0],
            "limit": arguments.get("limit", DEFAULT_LIMIT),
        }
        try:
            action = "run" if values["kind"] == "prompt" else "render"
            values["result"] = await self._call(request, values["kind"], action, **arguments)
        except InvalidInput as error:
            values["problem"] = error.message
        return await self.site.show(request, "prompt.html", values)

    async def new(self, request: Request) -> Response:
        kind = chosen_kind(request.query_params.get("kind", KINDS[0]))
        draft = Draft(kind, "", "user", "", "", [], {}, {}, True)
        return await self._editor(request, draft)

    async def edit(self, request: Request) -> Response:
        kind = chosen_kind(request.path_params["kind"])
        prompt = await self._get(request, kind, request.path_params["name"])
        variables = prompt["variables_def"]
        draft = Draft(
            kind=kind,
            name=prompt["name"],
            domain=prompt["domain"],
            content=prompt["content"],
            description=prompt["description"],
            tags=prompt["tags"],
            descriptions={entry["name"]: entry.get("description", "") for entry in variables},
            defaults={entry["name"]: shown_value(entry.get("default")) for entry in variables},
            is_new=False,
        )
        return await self._editor(request, draft)

    async def preview(self, request: Request) -> Response:
        """The editor again, with what the text would become."""
        return await self._editor(request, draft_of(await self.site.form(request)))

    async def save(self, request: Request) -> Response:
        draft = draft_of(await self.site.form(request))
        try:
            before = await self._version(request, draft)
            if draft.is_new and before is not None:
                raise AlreadyExists(
                    f"There is a {draft.kind} {draft.name!r} already; edit that one.", field="name"
                )
            saved = await self._save(request, draft)
        except MemolithError as error:
            return await self._editor(request, draft, error)
        return await self._saved(request, draft.kind, saved, before, "saved")

    async def restore(self, request: Request) -> Response:
        """Save what an old version says as the newest one."""
        form = await self.site.form(request)
        kind = chosen_kind(request.path_params["kind"])
        version = whole_number(text_of(form, "version"))
        now = await self._get(request, kind, request.path_params["name"])
        old = await self._get(request, kind, request.path_params["name"], version)
        saved = await self._call(
            request,
            kind,
            "save",
            name=old["name"],
            domain=old["domain"],
            content=old["content"],
            description=old["description"],
            tags=old["tags"],
            variables_def=old["variables_def"],
        )
        return await self._saved(request, kind, saved, now["version"], "restored")

    async def delete(self, request: Request) -> Response:
        await self.site.form(request)
        kind = chosen_kind(request.path_params["kind"])
        prompt = await self._get(request, kind, request.path_params["name"])
        await self._call(request, kind, "delete", name=prompt["name"], domain=prompt["domain"])
        return done(PROMPTS_PATH, "deleted", await self._last_event(request, prompt["id"]))

    async def _prompt_values(self, request: Request) -> dict[str, Any]:
        kind = chosen_kind(request.path_params["kind"])
        prompt = await self._get(request, kind, request.path_params["name"])
        history = await self.site.run(request, "history", id=prompt["id"])
        versions = [event for event in history["events"] if event["type"] in OWN_EVENTS]
        return {
            "kind": kind,
            "prompt": prompt,
            "variables": prompt["variables_def"],
            "versions": list(reversed(versions)),
            "domains": DOMAINS,
            "place": prompt_path(kind, prompt["name"]),
            "may_save": self._may_save(request),
            "tried": {},
            "query": "",
            "limit": DEFAULT_LIMIT,
            "format": FORMATS[0],
            "formats": FORMATS,
            "result": None,
            "problem": "",
        }

    async def _editor(
        self, request: Request, draft: Draft, error: MemolithError | None = None
    ) -> Response:
        """The form with a draft, and what its text would become."""
        preview: dict[str, Any] = {"rendered": None, "variables": [], "missing": []}
        if draft.content.strip():
            try:
                preview = await self._preview(request, draft)
            except InvalidInput as problem:
                preview["problem"] = problem.message
        values = {
            "draft": draft,
            "preview": preview,
            "kinds": KINDS,
            "domains": DOMAINS,
            "error": error,
            "may_save": self._may_save(request),
        }
        status = 200 if error is None else error.status
        return await self.site.show(request, "prompt_edit.html", values, status=status)

    async def _preview(self, request: Request, draft: Draft) -> dict[str, Any]:
        values = {name: typed_value(text) for name, text in draft.defaults.items() if text}
        return await self.site.run(
            request, "preview_prompt", content=draft.content, kind=draft.kind, variables=values
        )

    async def _saved(
        self, request: Request, kind: str, saved: dict[str, Any], before: int | None, outcome: str
    ) -> Response:
        """The page of what was saved; without an undo if nothing has changed."""
        event = None
        if saved["version"] != before:
            event = await self._last_event(request, saved["id"])
        return done(prompt_path(kind, saved["name"]), outcome, event, domain=saved["domain"])

    async def _save(self, request: Request, draft: Draft) -> dict[str, Any]:
        preview = await self._preview(request, draft)
        variables = [
            {
                "name": variable["name"],
                "required": variable["required"],
                "description": draft.descriptions.get(variable["name"], ""),
                "default": typed_value(draft.defaults.get(variable["name"], "")),
            }
            for variable in preview["variables"]
        ]
        return await self._call(
            request,
            draft.kind,
            "save",
            name=draft.name,
            domain=draft.domain,
            content=draft.content,
            description=draft.description or None,
            tags=draft.tags,
            variables_def=variables,
        )

    async def _version(self, request: Request, draft: Draft) -> int | None:
        """The version of what is saved under the name of a draft; None if nothing is."""
        try:
            saved = await self._call(
                request, draft.kind, "get", name=draft.name, domain=draft.domain
            )
        except PromptNotFound:
            return None
        return int(saved["version"])

    async def _get(
        self, request: Request, kind: str, name: str, version: int | None = None
    ) -> dict[str, Any]:
        domain = chosen_domain(request)
        return await self._call(request, kind, "get", name=name, domain=domain, version=version)

    async def _call(
        self, request: Request, kind: str, action: str, **arguments: Any
    ) -> dict[str, Any]:
        """Call the tool of prompts or of templates that does this."""
        if kind == "prompt":
            return await self.site.run(request, f"prompt_{action}", **arguments)
        return await self.site.run(request, "subcog_templates", action=action, **arguments)

    async def _last_event(self, request: Request, id: str) -> int:
        """The number of the newest event of an item, to undo it by."""
        history = await self.site.run(request, "history", id=id)
        own = [event["event"] for event in history["events"] if event["type"] in OWN_EVENTS]
        return int(own[-1])

    def _may_save(self, request: Request) -> bool:
        return self.site.offers(request, "prompt_save")


def draft_of(form: FormData) -> Draft:
    """What stands in the editor."""
    domain = text_of(form, "domain")
    return Draft(
        kind=chosen_kind(text_of(form, "kind")),
        name=text_of(form, "name").strip(),
        domain=domain if domain in DOMAINS else "user",
        content=text_of(form, "content"),
        description=text_of(form, "description").strip(),
        tags=words_of(text_of(form, "tags")),
        descriptions=fields_with(form, DESCRIPTION_PREFIX),
        defaults=fields_with(form, DEFAULT_PREFIX),
        is_new=text_of(form, "is_new") == "1",
    )


def fields_with(form: FormData, prefix: str) -> dict[str, str]:
    """The fields whose name begins so, by the rest of the name."""
    return {
        name.removeprefix(prefix): text_of(form, name) for name in form if name.startswith(prefix)
    }


def typed_value(text: str) -> Any:
    """The value that a field stands for: a list or an object as JSON, else the text itself."""
    if not text:
        return None
    if text.lstrip()[:1] in ("[", "{"):
        try:
            return parsed_json(text, "The value", "variables")
        except InvalidInput:
            return text
    return text


def shown_value(value: object) -> str:
    """A value as a field shows it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def chosen_kind(kind: str) -> str:
    if kind not in KINDS:
        raise PromptNotFound("There are prompts and templates, and nothing else.", field="kind")
    return kind


def chosen_domain(request: Request) -> str | None:
    """The domain that the address names; None for the nearest."""
    domain = request.query_params.get("domain", "")
    return domain if domain in DOMAINS else None


def prompt_path(kind: str, name: str) -> str:
    return f"{PROMPTS_PATH}/{kind}/{quote(name, safe='')}"
