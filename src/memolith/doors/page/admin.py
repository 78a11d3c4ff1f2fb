"""Administration: keys, projects, tenants, the vault, settings, copies, and who did what."""

from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from memolith.domain.clock import DAY_S, shifted
from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS, RECORD_EVENTS
from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.http.streamed_file import streamed_file
from memolith.doors.page.search import end_of
from memolith.doors.page.site import (
    PAGE_HEADERS,
    Site,
    View,
    done,
    text_of,
    whole_number,
    words_of,
)
from memolith.doors.request_keys import CALLER_KEY, SCOPES_KEY, SHARE_KEY
from memolith.errors import Denied, InvalidInput

ADMIN_PATH = PAGE_PATH + "/admin"
CLIENTS_PATH = PAGE_PATH + "/clients"
KEYS_PATH = ADMIN_PATH + "/keys"
PROJECTS_PATH = ADMIN_PATH + "/projects"
TENANTS_PATH = ADMIN_PATH + "/tenants"
VAULT_PATH = ADMIN_PATH + "/vault"
SETTINGS_PATH = ADMIN_PATH + "/settings"
COPIES_PATH = ADMIN_PATH + "/copies"
AUDIT_PATH = ADMIN_PATH + "/audit"
READS_PATH = ADMIN_PATH + "/reads"
PAGE_SIZE = 20
AUDIT_PAGE_SIZE = 50
KEY_ACTIONS = {"pause": "paused", "resume": "resumed", "revoke": "revoked"}
"""What can be done with a key, and what the page then says."""

SCOPE_MEANINGS = {
    "read": "see and search",
    "write": "keep, change and forget",
    "run": "run code over files",
    "admin": "everything, also keys and settings",
}
SCOPE_VERBS = {"read": "read", "write": "write", "run": "run code", "admin": "administer"}
"""What a key may do, after "It may"."""
LIFETIMES_DAYS = (7, 30, 90, 365)
EVENT_TYPES = (*ITEM_EVENTS, *LINK_EVENTS, *RECORD_EVENTS)


class AdminPages:
    """The pages for admins."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        view = self._for_admins
        return [
            Route(ADMIN_PATH, view(self.enter)),
            Route(KEYS_PATH, view(self.keys)),
            Route(KEYS_PATH, view(self.make_key), methods=["POST"]),
            Route(KEYS_PATH + "/{id}/{action}", view(self.change_key), methods=["POST"]),
            Route(PROJECTS_PATH, view(self.projects)),
            Route(PROJECTS_PATH, view(self.make_project), methods=["POST"]),
            Route(PROJECTS_PATH + "/members", view(self.change_members), methods=["POST"]),
            Route(TENANTS_PATH, view(self.tenants)),
            Route(VAULT_PATH, view(self.vault)),
            Route(VAULT_PATH + "/{id}/reveal", view(self.reveal), methods=["POST"]),
            Route(VAULT_PATH + "/{id}/revoke", view(self.revoke_secret), methods=["POST"]),
            Route(SETTINGS_PATH, view(self.settings)),
            Route(COPIES_PATH, view(self.copies)),
            Route(COPIES_PATH, view(self.start_copy), methods=["POST"]),
            Route(COPIES_PATH + "/{id}", view(self.download)),
            Route(COPIES_PATH + "/{id}/delete", view(self.delete_copy), methods=["POST"]),
            Route(AUDIT_PATH, view(self.audit)),
            Route(READS_PATH, view(self.reads)),
        ]

    def _for_admins(self, view: View) -> View:
        async def checked(request: Request) -> Response:
            if not self.site.may(request, "admin"):
                raise Denied("This page needs a key with the scope: admin.")
            return await view(request)

        return self.site.guarded(checked)

    async def enter(self, request: Request) -> Response:
        return RedirectResponse(KEYS_PATH, 303, PAGE_HEADERS)

    # Keys

    async def keys(self, request: Request) -> Response:
        return await self._keys_page(request)

    async def make_key(self, request: Request) -> Response:
        """Make a key and show it. It is in no address, and a reload asks to send the form again."""
        form = await self.site.form(request)
        made = await self.site.run(
            request,
            "create_client_key",
            name=text_of(form, "name").strip(),
            user=text_of(form, "user").strip() or None,
            scopes=[scope for scope in SCOPE_MEANINGS if scope in form.getlist("scope")],
            projects=words_of(text_of(form, "projects")) or None,
            expires_at=self._expiry(text_of(form, "lifetime"), text_of(form, "expires_at")),
        )
        return await self._keys_page(request, made)

    async def change_key(self, request: Request) -> Response:
        form = await self.site.form(request)
        action = request.path_params["action"]
        if action not in KEY_ACTIONS:
            raise InvalidInput("A key can be paused, resumed or revoked.", field="action")
        await self.site.run(request, f"{action}_client_key", id=request.path_params["id"])
        back = CLIENTS_PATH if text_of(form, "back") == CLIENTS_PATH else KEYS_PATH
        return done(back, KEY_ACTIONS[action])

    async def _keys_page(self, request: Request, made: dict[str, Any] | None = None) -> Response:
        offset = _offset(request)
        state = request.query_params.get("state", "")
        scopes = request.scope[SCOPES_KEY]
        values = {
            "found": await self.site.run(
                request, "list_client_keys", state=state or None, limit=PAGE_SIZE, offset=offset
            ),
            "state": state,
            "states": ("valid", "paused", "expired", "revoked"),
            "offset": offset,
            "page_size": PAGE_SIZE,
            "made": made,
            "own_key": request.scope[SHARE_KEY].key,
            "may_change": self.site.offers(request, "create_client_key"),
            "scope_meanings": {
                scope: meaning for scope, meaning in SCOPE_MEANINGS.items() if scope in scopes
            },
            "scope_verbs": SCOPE_VERBS,
            "lifetimes": LIFETIMES_DAYS,
        }
        return await self.site.show(request, "admin_keys.html", values)

    def _expiry(self, lifetime: str, date: str) -> str | None:
        """When a key ends: on a date, after some days, or never."""
        if date.strip():
            return date.strip()
        if not lifetime:
            return None
        days = whole_number(lifetime)
        if days not in LIFETIMES_DAYS:
            raise InvalidInput("Choose one of the lifetimes of the form.", field="lifetime")
        return shifted(self.site.app.clock.now(), days * DAY_S)

    # Projects and tenants

    async def projects(self, request: Request) -> Response:
        offset = _offset(request)
        listed = await self.site.run(request, "list_projects")
        names = list(dict.fromkeys(project["name"] for project in listed["projects"]))
        shown = [
            await self.site.run(request, "list_project_members", project=name)
            for name in names[offset : offset + PAGE_SIZE]
        ]
        values = {
            "projects": shown,
            "total": len(names),
            "offset": offset,
            "page_size": PAGE_SIZE,
            "may_change": self.site.offers(request, "add_project_member"),
        }
        return await self.site.show(request, "admin_projects.html", values)

    async def make_project(self, request: Request) -> Response:
        form = await self.site.form(request)
        caller = request.scope[CALLER_KEY]
        await self.site.run(
            request,
            "create_project",
            name=text_of(form, "name"),
            description=text_of(form, "description") or None,
            organization_id=caller.tenant,
        )
        return done(PROJECTS_PATH, "saved")

    async def change_members(self, request: Request) -> Response:
        form = await self.site.form(request)
        tool = "remove_project_member" if text_of(form, "remove") else "add_project_member"
        changed = await self.site.run(
            request,
            tool,
            project=text_of(form, "project"),
            user=text_of(form, "user").strip(),
        )
        return done(PROJECTS_PATH, "saved", int(changed["event"]))

    async def tenants(self, request: Request) -> Response:
        offset = _offset(request)
        values = {
            "found": await self.site.run(request, "list_tenants", limit=PAGE_SIZE, offset=offset),
            "offset": offset,
            "page_size": PAGE_SIZE,
        }
        return await self.site.show(request, "admin_tenants.html", values)

    # The vault

    async def vault(self, request: Request) -> Response:
        return await self._vault_page(request)

    async def reveal(self, request: Request) -> Response:
        """Show a value. It is in no address, and the log tells who saw it."""
        await self.site.form(request)
        revealed = await self.site.run(request, "reveal_api_key", key_id=request.path_params["id"])
        return await self._vault_page(request, revealed)

    async def revoke_secret(self, request: Request) -> Response:
        await self.site.form(request)
        await self.site.run(request, "revoke_api_key", key_id=request.path_params["id"])
        return done(VAULT_PATH, "revoked")

    async def _vault_page(
        self, request: Request, revealed: dict[str, Any] | None = None
    ) -> Response:
        offset = _offset(request)
        keys = (await self.site.run(request, "list_api_keys"))["keys"]
        values = {
            "secrets": keys[offset : offset + PAGE_SIZE],
            "total": len(keys),
            "offset": offset,
            "page_size": PAGE_SIZE,
            "revealed": revealed,
            "may_reveal": self.site.offers(request, "reveal_api_key"),
            "may_revoke": self.site.offers(request, "revoke_api_key"),
        }
        return await self.site.show(request, "admin_vault.html", values)

    # Settings

    async def settings(self, request: Request) -> Response:
        changed_only = bool(request.query_params.get("changed"))
        found = await self.site.run(request, "list_settings", changed_only=changed_only)
        values = {
            "settings": found["settings"],
            "changed_only": changed_only,
            "data": self.site.app.settings.data,
        }
        return await self.site.show(request, "admin_settings.html", values)

    # Backup and export

    async def copies(self, request: Request) -> Response:
        found = await self.site.run(request, "list_copies")
        values = {
            "copies": found["copies"],
            "is_running": any(copy["state"] == "running" for copy in found["copies"]),
            "may_start": self.site.offers(request, "start_copy"),
        }
        return await self.site.show(request, "admin_copies.html", values)

    async def start_copy(self, request: Request) -> Response:
        form = await self.site.form(request)
        await self.site.run(request, "start_copy", kind=text_of(form, "kind"))
        return RedirectResponse(COPIES_PATH, 303, PAGE_HEADERS)

    async def delete_copy(self, request: Request) -> Response:
        await self.site.form(request)
        await self.site.run(request, "delete_copy", id=request.path_params["id"])
        return done(COPIES_PATH, "deleted")

    async def download(self, request: Request) -> Response:
        """The copy itself, streamed from its file."""
        # Asked for by the tool first, which checks the scopes.
        await self.site.run(request, "list_copies")
        copy, file = await anyio.to_thread.run_sync(
            self.site.app.engine.copying.open,
            request.scope[CALLER_KEY],
            request.path_params["id"],
        )
        ending = "jsonl" if copy.kind == "export" else "tar"
        name = f"memolith-{copy.kind}-{copy.started_at[:10]}.{ending}"
        return streamed_file(file, name, "application/octet-stream")

    # Who did what

    async def audit(self, request: Request) -> Response:
        given = request.query_params
        chosen = {name: given.get(name, "").strip() for name in ("actor", "type", "since", "until")}
        found, problem = await self._listed(
            request,
            "list_events",
            actor=chosen["actor"] or None,
            types=[chosen["type"]] if chosen["type"] else None,
            since=chosen["since"] or None,
            until=end_of(chosen["until"]),
            before=whole_number(given.get("before", "")),
            limit=AUDIT_PAGE_SIZE,
        )
        values = {
            "found": found or {"events": []},
            "chosen": chosen,
            "problem": problem,
            "types": EVENT_TYPES,
        }
        status = problem.status if problem else 200
        return await self.site.show(request, "admin_audit.html", values, status=status)

    async def reads(self, request: Request) -> Response:
        offset = _offset(request)
        chosen = {name: request.query_params.get(name, "").strip() for name in ("user", "since")}
        found, problem = await self._listed(
            request,
            "list_reads",
            user=chosen["user"] or None,
            since=chosen["since"] or None,
            limit=AUDIT_PAGE_SIZE,
            offset=offset,
        )
        values = {
            "found": found or {"reads": [], "total": 0},
            "chosen": chosen,
            "problem": problem,
            "offset": offset,
            "page_size": AUDIT_PAGE_SIZE,
        }
        status = problem.status if problem else 200
        return await self.site.show(request, "admin_reads.html", values, status=status)

    async def _listed(
        self, request: Request, tool: str, **arguments: Any
    ) -> tuple[dict[str, Any] | None, InvalidInput | None]:
        """What a tool lists, or what is wrong with a date of the form."""
        try:
            return await self.site.run(request, tool, **arguments), None
        except InvalidInput as error:
            if error.field not in ("since", "until"):
                raise
            return None, error


def _offset(request: Request) -> int:
    return whole_number(request.query_params.get("offset", "")) or 0
