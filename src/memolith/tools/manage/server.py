"""What the owner of a server wants to know: its settings, its tenants, and values of the vault."""

from dataclasses import replace
from typing import Annotated, TypedDict

from pydantic import Field

from memolith.tools.arguments import Limit, bare_id
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.sekha.arguments import Offset

PLACES = ("data", "repo", "files")
"""The settings that may name a folder of the server."""
A_FOLDER = "a folder of the server"


class SettingBody(TypedDict):
    """A setting of the server."""

    name: str
    value: Annotated[str, Described("Dots stand for a secret that is set.")]
    default: str
    source: Annotated[str, Described("default, file, variable or flag")]
    variable: Annotated[str, Described("The variable that sets it.")]
    meaning: str
    secret: bool


class SettingList(TypedDict):
    """The result of `list_settings`."""

    settings: list[SettingBody]


class TenantBody(TypedDict):
    """How much a tenant has."""

    tenant: str
    events: int
    items: int
    client_keys: Annotated[int, Described("Keys that were not revoked.")]


class DiskFile(TypedDict):
    """A file of the store."""

    name: str
    bytes: int


class TenantPage(TypedDict):
    """The result of `list_tenants`."""

    tenants: list[TenantBody]
    total: int
    disk: Annotated[list[DiskFile], Described("What the store takes; only its owner is told.")]


class RevealedKey(TypedDict):
    """The result of `reveal_api_key`."""

    key_id: str
    name: str
    value: str


@manage.tool(read_only=True, scope="admin")
def list_settings(
    call: Call,
    *,
    changed_only: Annotated[bool, Field(description="Leave out what has its default.")] = False,
) -> SettingList:
    """The settings of the server: value, default, where the value comes from, and the meaning.
    Secrets are not told, and folders only on the machine of the server.
    """
    return {
        "settings": [
            {
                "name": setting.name,
                "value": _told(call, setting.name, setting.value),
                "default": _told(call, setting.name, setting.default),
                "source": setting.source,
                "variable": setting.variable,
                "meaning": setting.meaning,
                "secret": setting.secret,
            }
            for setting in call.engine.server_state.settings(call.caller)
            if not changed_only or setting.source != "default"
        ]
    }


@manage.tool(read_only=True, scope="admin")
def list_tenants(call: Call, *, limit: Limit = 20, offset: Offset = 0) -> TenantPage:
    """The tenants of the server and how much each has; admins of a tenant that does not own the
    server see their own only.
    """
    state = call.engine.server_state
    page = state.tenants(call.caller, limit, offset)
    return {
        "tenants": [
            {
                "tenant": size.tenant,
                "events": size.events,
                "items": size.items,
                "client_keys": size.keys,
            }
            for size in page.tenants
        ],
        "total": page.total,
        "disk": [{"name": name, "bytes": size} for name, size in state.sizes(call.caller).items()],
    }


@manage.tool(scope="admin", shows_secret=True, example={"key_id": "key"})
def reveal_api_key(
    call: Call, *, key_id: Annotated[str, Field(description="The id of the key.")]
) -> RevealedKey:
    """Show the value of a key in the vault. The log keeps who did it and when."""
    caller = replace(call.caller, admin=True)
    secret = call.engine.vault.get(caller, bare_id(key_id))
    value = call.engine.vault.reveal(caller, secret.id)
    return {"key_id": secret.id, "name": secret.name, "value": value}


def _told(call: Call, name: str, value: str) -> str:
    """A value as it may be told: where things lie on a server is nobody's business elsewhere."""
    if name in PLACES and value and "://" not in value and not call.local:
        return A_FOLDER
    return value
