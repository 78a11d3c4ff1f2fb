"""The keys of clients, and which programs have called with them."""

from typing import Annotated, Literal, TypedDict

from pydantic import Field

from memolith.engine.client_keys import NewKey, state_of
from memolith.engine.validation import when
from memolith.errors import Conflict, Denied
from memolith.ports.client_keys import ClientKey
from memolith.ports.usage import ClientCalls
from memolith.tools.arguments import Limit
from memolith.tools.call import Call, ScopeName
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.sekha.arguments import Offset

KeyState = Literal["valid", "paused", "expired", "revoked"]
KeyId = Annotated[
    str, Field(min_length=1, max_length=100, description="The id of the key, not the key itself.")
]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class ClientKeyBody(TypedDict):
    """A key without its secret."""

    id: str
    name: str
    user: str
    scopes: list[str]
    projects: Annotated[list[str], Described("Empty: it is bound to none.")]
    state: str
    created_at: str
    expires_at: str | None
    last_used: Annotated[str | None, Described("To ten minutes.")]


class ClientKeyPage(TypedDict):
    """The result of `list_client_keys`."""

    keys: list[ClientKeyBody]
    total: int


class CreatedClientKey(ClientKeyBody):
    """The result of `create_client_key`."""

    key: Annotated[str, Described("The secret. It is shown this once; only its hash is kept.")]


class ChangedClientKey(TypedDict):
    """The result of pausing, resuming or revoking a key."""

    id: str
    name: str
    state: str


class ClientBody(TypedDict):
    """A program that has called with a key."""

    program: Annotated[str, Described("As it names itself; empty if it does not.")]
    user: str
    key_id: Annotated[str, Described("Empty for a program on this machine that needs none.")]
    key_name: str
    state: Annotated[str, Described("Of its key; empty where there is none.")]
    calls: int
    errors: int
    last_error: Annotated[str, Described("The type of the last error.")]
    first_call: str
    last_call: str


class ClientPage(TypedDict):
    """The result of `list_clients`."""

    clients: list[ClientBody]
    total: int


@manage.tool(read_only=True, example={"user": "nobody"})
def list_clients(
    call: Call,
    *,
    user: Annotated[str | None, Field(description="Only programs of this user.")] = None,
    key_id: Annotated[str | None, Field(description="Only programs with this key.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> ClientPage:
    """Which programs have called, with which key, how often, how often in vain and when, the last
    one first. You see your own; with the scope `admin`, all. A program that has not called for 90
    days is forgotten.
    """
    tenant = call.caller.tenant
    chosen = [
        calls
        for calls in call.engine.usage.calls(tenant)
        if (call.is_admin or calls.caller == call.caller.user)
        and user in (None, calls.caller)
        and key_id in (None, calls.key)
    ]
    keys = {key.id: key for key in call.engine.client_keys.all(tenant)}
    now = call.engine.clock.now()
    shown = chosen[offset : offset + limit]
    return {
        "clients": [_client_body(calls, keys.get(calls.key), now) for calls in shown],
        "total": len(chosen),
    }


@manage.tool(read_only=True, scope="admin", example={"state": "paused"})
def list_client_keys(
    call: Call, *, state: KeyState | None = None, limit: Limit = 20, offset: Offset = 0
) -> ClientKeyPage:
    """The keys that let clients in over HTTP, without their secrets, the newest first."""
    now = call.engine.clock.now()
    keys = [
        key
        for key in call.engine.client_keys.all(call.caller.tenant)
        if state in (None, state_of(key, now))
    ]
    shown = keys[offset : offset + limit]
    return {"keys": [_key_body(key, now) for key in shown], "total": len(keys)}


@manage.tool(scope="admin", shows_secret=True, example={"name": "laptop", "scopes": ["admin"]})
def create_client_key(
    call: Call,
    *,
    name: Annotated[Name, Field(description="What the key is for, as `laptop`.")],
    user: Annotated[Name | None, Field(description="Whom it stands for; you, if left out.")] = None,
    scopes: Annotated[
        list[ScopeName], Field(min_length=1, max_length=4, description="No more than you have.")
    ] = ["read", "write"],  # noqa: B006 - a schema shows it, and nothing changes it
    projects: Annotated[
        list[Name] | None,
        Field(max_length=50, description="The only projects that it lets a client into."),
    ] = None,
    expires_at: Annotated[
        str | None, Field(description="When it ends; never, if left out.")
    ] = None,
) -> CreatedClientKey:
    """Make a key that lets a client in over HTTP; its secret is shown this once."""
    missing = sorted(set(scopes) - call.scopes)
    if missing:
        raise Denied(
            f"Your own key has not the scope {missing[0]!r}, so it cannot give it.", field="scopes"
        )
    wanted = NewKey(
        name=name,
        user=user or call.caller.user,
        tenant=call.caller.tenant,
        scopes=tuple(dict.fromkeys(scopes)),
        expires_at=when("expires_at", expires_at) if expires_at else None,
        projects=tuple(projects or ()),
    )
    made = call.engine.client_keys.create(call.caller, wanted)
    return {**_key_body(made.record, call.engine.clock.now()), "key": made.secret}


@manage.tool(destructive=True, idempotent=True, scope="admin", example={"id": "old-key"})
def revoke_client_key(call: Call, *, id: KeyId) -> ChangedClientKey:
    """Let nobody in with a key any more, for good."""
    _refuse_own_key(call, id)
    return _changed(call, call.engine.client_keys.revoke(call.caller, id))


@manage.tool(idempotent=True, scope="admin", example={"id": "zoo-key"})
def pause_client_key(call: Call, *, id: KeyId) -> ChangedClientKey:
    """Let nobody in with a key until it is resumed."""
    _refuse_own_key(call, id)
    return _changed(call, call.engine.client_keys.pause(call.caller, id))


@manage.tool(idempotent=True, scope="admin", example={"id": "paused-key"})
def resume_client_key(call: Call, *, id: KeyId) -> ChangedClientKey:
    """Let a client in again with a key that was paused."""
    return _changed(call, call.engine.client_keys.pause(call.caller, id, paused=False))


def _refuse_own_key(call: Call, id: str) -> None:
    """Nobody locks themselves out by mistake."""
    if call.client is not None and call.client.key == id:
        raise Conflict(
            "This is the key that you call with; use another one, or `memolith keys` on the "
            "machine of the server.",
            field="id",
            id=id,
        )


def _changed(call: Call, key: ClientKey) -> ChangedClientKey:
    return {"id": key.id, "name": key.name, "state": state_of(key, call.engine.clock.now())}


def _key_body(key: ClientKey, now: str) -> ClientKeyBody:
    return {
        "id": key.id,
        "name": key.name,
        "user": key.user,
        "scopes": list(key.scopes),
        "projects": list(key.projects),
        "state": state_of(key, now),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "last_used": key.last_used,
    }


def _client_body(calls: ClientCalls, key: ClientKey | None, now: str) -> ClientBody:
    return {
        "program": calls.program,
        "user": calls.caller,
        "key_id": calls.key,
        "key_name": key.name if key else "",
        "state": state_of(key, now) if key else "",
        "calls": calls.calls,
        "errors": calls.errors,
        "last_error": calls.last_error,
        "first_call": calls.first,
        "last_call": calls.last,
    }
