"""The keys of HTTP clients: making them, and the key of the person at this machine."""

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path

from memolith.domain.ids import new_id
from memolith.engine.validation import identifier
from memolith.errors import InvalidInput
from memolith.ports.client_keys import ClientKey, ClientKeys
from memolith.private_files import close_to_others, open_private
from memolith.tools.call import SCOPES

KEY_PREFIX = "mlk_"
"""How every key begins; other credentials are tokens of an OAuth issuer."""

KEY_BYTES = 32
LOCAL_KEY_FILE = "local.key"


@dataclass(frozen=True)
class NewKey:
    """What a new key is for."""

    name: str
    user: str = "local"
    tenant: str = "local"
    scopes: tuple[str, ...] = ("read", "write")
    expires_at: str | None = None
    projects: tuple[str, ...] = ()


def digest(key: str) -> str:
    """What is stored of a key. It has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(key.encode()).hexdigest()


def make_key(keys: ClientKeys, now: str, wanted: NewKey) -> tuple[str, ClientKey]:
    """A new key, to be shown once, and its record."""
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
    secret = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
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
    return secret, record


def local_key(folder: Path, keys: ClientKeys, now: str) -> str:
    """The key of the person at this machine, kept in the data folder and readable by them alone.

    It is made at the first start, and again after it was revoked.
    """
    path = folder / LOCAL_KEY_FILE
    if path.is_file():
        close_to_others(str(path))
        secret = path.read_text(encoding="utf-8", errors="replace").strip()
        record = keys.by_digest(digest(secret))
        if record is not None and not record.revoked:
            return secret
        # A new file: a program that has no business with the new key may hold the old one open.
        path.unlink()
    secret, _ = make_key(keys, now, NewKey("local", scopes=tuple(sorted(SCOPES))))
    with open(path, "x", encoding="utf-8", opener=open_private) as file:
        file.write(secret + "\n")
    return secret
