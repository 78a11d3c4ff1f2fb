"""Clients: what to paste into each, and which programs have called."""

import os
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memolith.domain.callers import MACHINE_TENANT
from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.install.clients import CLIENTS, Client
from memolith.doors.install.locations import config_files, user_files
from memolith.doors.install.snippets import http_snippet, install_command, stdio_snippet
from memolith.doors.page.site import Site, whole_number
from memolith.doors.request_keys import CALLER_KEY, SHARE_KEY
from memolith.errors import NotFound
from memolith.paths import default_data_folder

CLIENTS_PATH = PAGE_PATH + "/clients"
PAGE_SIZE = 20
KEY_PLACEHOLDER = "YOUR-KEY"
NEW_KEY_SCOPES = ("read", "write")


class ClientPages:
    """The page about clients."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(CLIENTS_PATH, guarded(self.show)),
            Route(CLIENTS_PATH + "/{client}/key", guarded(self.make_key), methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        return await self._page(request, request.query_params.get("client", ""))

    async def make_key(self, request: Request) -> Response:
        """Make a key for one client, and show its lines with the key in them, this once."""
        await self.site.form(request)
        client = CLIENTS.get(request.path_params["client"])
        if client is None:
            raise NotFound("There is no such client.", field="client")
        made = await self.site.run(
            request, "create_client_key", name=client.title, scopes=list(NEW_KEY_SCOPES)
        )
        return await self._page(request, request.path_params["client"], made["key"])

    async def _page(self, request: Request, chosen: str, key: str = "") -> Response:
        offset = whole_number(request.query_params.get("offset", "")) or 0
        values = {
            "called": await self.site.run(request, "list_clients", limit=PAGE_SIZE, offset=offset),
            "offset": offset,
            "page_size": PAGE_SIZE,
            "known": self._known_clients(request, chosen, key),
            "chosen": chosen,
            "new_key": key,
            "placeholder": KEY_PLACEHOLDER,
            "own_key": request.scope[SHARE_KEY].key,
            "may_manage": self.site.offers(request, "pause_client_key"),
            "may_make": self.site.offers(request, "create_client_key"),
        }
        return await self.site.show(request, "clients.html", values)

    def _known_clients(self, request: Request, chosen: str, key: str) -> list[dict[str, Any]]:
        caller = request.scope[CALLER_KEY]
        owns_machine = caller.admin and caller.tenant == MACHINE_TENANT
        url = self.site.app.settings.public_url or str(request.base_url)
        return [
            {
                "name": name,
                "title": client.title,
                "file": file_of(client, on_this_machine=owns_machine),
                "install": install_command(name, self._data(), on_this_machine=owns_machine),
                "starts_bridge": client.http is None,
                "http": http_snippet(
                    client,
                    url.rstrip("/"),
                    key if name == chosen and key else KEY_PLACEHOLDER,
                    on_this_machine=owns_machine,
                ),
                "stdio": stdio_snippet(client, self._data(), on_this_machine=owns_machine),
            }
            for name, client in CLIENTS.items()
        ]

    def _data(self) -> Path | None:
        """The data folder, if it is not the one that memolith takes by itself."""
        data = self.site.app.settings.data
        return None if data == Path(default_data_folder()) else data


def file_of(client: Client, *, on_this_machine: bool) -> str:
    """Where the lines belong, as people write it: on the machine of this server or on any Linux."""
    if on_this_machine:
        file = str(config_files(client, client.servers, "user")[0])
        home = str(Path.home())
        return "~" + file.removeprefix(home) if file.startswith(home + os.sep) else file
    return str(user_files(client.servers, "linux", {}, "~")[0])
