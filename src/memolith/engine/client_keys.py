"""The keys that let clients in over HTTP: making, pausing and revoking them, each in the log."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.callers import SCOPES, Caller
from memolith.domain.ids import new_id
from memolith.engine.recording import Recorder
from memolith.engine.validation import identifier
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.ports.client_keys import ClientKey, ClientKeys
from memolith.ports.clock import Clock
from memolith.ports.store import Store

KEY_PREFIX = "mlk_"
"""How keys begin, unless they are made for the client of another system."""

KEY_FORMS = {"memolith": KEY_PREFIX, "sekha": "sk-sekha-", "lanonasis": "lano_", "mem0": "m0-"}
"""How a key begins, by the system whose clients accept it: some look at a key before they send it.
"""

KEY_PREFIXES = tuple(KEY_FORMS.values())
"""How every key begins; other credentials are tokens of an OAuth issuer."""

KEY_BYTES = 32
STREAM_PREFIX = "client-key/"
"""How the streams of events about client keys begin."""


@dataclass(frozen=True)
class NewKey:
    """What a new key is for."""

    name: str
    user: str = "local"
    tenant: str = "local"
    scopes: tuple[str, ...] = ("read", "write")
    expires_at: str | None = None
    projects: tuple[str, ...] = ()
    like: str = "memolith"
    """The system whose clients have to accept the key: one of `KEY_FORMS`."""


class MadeKey(NamedTuple):
    """A new key: what is shown once, and its record."""

    secret: str
    record: ClientKey


def digest(key: str) -> str:
    """What is stored of a key. It has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(key.encode()).hexdigest()


def make_key(keys: ClientKeys, now: str, wanted: NewKey) -> MadeKey:
    """Make and store a key, without a word in the log."""
    unknown = sorted(set(wanted.scopes) - SCOPES)
    if unknown:
        raise InvalidInput(
            f"There is no scope {unknown[0]!r}; use {', '.join(sorted(SCOPES))}.", field="scopes"
        )
    if wanted.projects and "admin" in wanted.scopes:
        raise InvalidInput(
            "An admin sees all projects, so a key with the scope 'admin' cannot be bound to some.",
            field="projects",
        )
    if wanted.like not in KEY_FORMS:
        raise InvalidInput(
            f"There is no form of keys {wanted.like!r}; use {', '.join(KEY_FORMS)}.", field="like"
        )
    secret = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    if wanted.like != "memolith":
        # Digits and letters alone, which every client takes.
        secret = KEY_FORMS[wanted.like] + secrets.token_hex(KEY_BYTES)
    record = ClientKey(
        id=new_id(),
        digest=digest(secret),
        name=identifier(wanted.name, "name"),
        tenant=identifier(wanted.tenant, "tenant"),
        user=identifier(wanted.user, "user"),
        scopes=wanted.scopes,
        created_at=now,
        expires_at=wanted.expires_at,
        projects=tuple(identifier(project, "project") for project in wanted.projects),
    )
    keys.add(record)
    return MadeKey(secret, record)


def state_of(key: ClientKey, now: str) -> str:
    """Whether a key lets a client in: valid, paused, expired or revoked."""
    if key.revoked:
        return "revoked"
    if key.expires_at is not None and key.expires_at <= now:
        return "expired"
    if key.paused:
        return "paused"
    return "valid"


@dataclass(frozen=True)
class ClientKeyring:
    """The client keys of a tenant.

    They lie in the first database, also those of a tenant that lives in another one. So a change
    of a key and the event that tells of it are two transactions, the key first.
    """

    store: Store
    recorder: Recorder
    clock: Clock
    keys: Callable[[], ClientKeys]

    def all(self, tenant: str) -> list[ClientKey]:
        """The keys of a tenant, the newest first."""
        own = [key for key in self.keys().all() if key.tenant == tenant]
        return own[::-1]

    def get(self, tenant: str, id: str) -> ClientKey:
        key = self.keys().by_id(id)
        if key is None or key.tenant != tenant:
            raise NotFound(
                "There is no such key; `list_client_keys` shows them.", field="id", id=id
            )
        return key

    def create(self, caller: Caller, wanted: NewKey) -> MadeKey:
        """Make a key of the caller's tenant. Its secret is kept nowhere."""
        now = self.clock.now()
        if wanted.expires_at is not None and wanted.expires_at <= now:
            raise InvalidInput("A key has to expire in the future.", field="expires_at")
        if not wanted.scopes:
            raise InvalidInput("A key without a scope could do nothing.", field="scopes")
        made = make_key(self.keys(), now, wanted)
        record = made.record
        try:
            self._tell(
                caller,
                record.id,
                "stored",
                {
                    "name": record.name,
                    "user": record.user,
                    "scopes": list(record.scopes),
                    "projects": list(record.projects),
                    "expires_at": record.expires_at,
                },
            )
        except BaseException:
            # Nobody has seen its secret.
            self.keys().remove(record.id)
            raise
        return made

    def revoke(self, caller: Caller, id: str) -> ClientKey:
        """Let nobody in with this key any more."""
        key = self.get(caller.tenant, id)
        if not key.revoked:
            self.keys().revoke(id)
            self._tell(caller, id, "revoked", {"name": key.name})
        return key._replace(revoked=True)

    def pause(self, caller: Caller, id: str, paused: bool = True) -> ClientKey:
        """Let nobody in with this key until it is resumed, or resume it."""
        key = self.get(caller.tenant, id)
        if key.revoked:
            raise Conflict("This key was revoked; make a new one.", field="id", id=id)
        if key.paused != paused:
            self.keys().pause(id, paused)
            self._tell(caller, id, "paused" if paused else "resumed", {"name": key.name})
        return key._replace(paused=paused)

    def _tell(self, caller: Caller, id: str, type: str, data: dict[str, Json]) -> None:
        with self.store.writing(caller.tenant) as rows:
            self.recorder.tell(rows, caller, STREAM_PREFIX + id, type, data)
