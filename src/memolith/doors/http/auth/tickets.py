"""Tickets: what a browser holds in place of a key.

A ticket names a key and the time when the ticket ends. It is signed with a secret of this machine
and with the stored digest of the key, so no server has to remember it, and it ends with its key.
The store remembers only those that were used up or signed out, for all servers.
"""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memolith.doors.http.auth.keys import digest
from memolith.ports.client_keys import ClientKey, ClientKeys
from memolith.private_files import close_to_others, open_private

SESSION = "session"
"""The purpose of a ticket that is kept in a cookie while somebody is signed in."""

LINK = "link"
"""The purpose of a ticket in an address, which signs somebody in once."""

LINK_PARAMETER = "token"
SESSION_S = 7 * 24 * 3600
LINK_S = 24 * 3600
SECRET_FILE = "page.secret"
SECRET_BYTES = 32
NONCE_BYTES = 12
MAX_TICKET_LENGTH = 300


class Ticket(NamedTuple):
    """What a ticket says, with its signature."""

    purpose: str
    key_id: str
    expires_s: int
    nonce: str
    signature: str

    @property
    def text(self) -> str:
        return ".".join(
            (self.purpose, self.key_id, str(self.expires_s), self.nonce, self.signature)
        )


def parse(text: str) -> Ticket | None:
    """The ticket that a text claims to be; whether it is genuine is another question."""
    parts = text.split(".")
    if len(text) > MAX_TICKET_LENGTH or len(parts) != len(Ticket._fields):
        return None
    purpose, key_id, expires, nonce, signature = parts
    if not (expires.isascii() and expires.isdigit()):
        return None
    return Ticket(purpose, key_id, int(expires), nonce, signature)


class Tickets:
    """Issues tickets for keys, and tells which key a ticket stands for."""

    def __init__(
        self, secret: bytes, keys: ClientKeys, now_s: Callable[[], float] = time.time
    ) -> None:
        self._secret = secret
        self._keys = keys
        self._now_s = now_s

    def issue(self, key: ClientKey, purpose: str, lifetime_s: int) -> Ticket:
        """A new ticket for a key."""
        expires_s = int(self._now_s()) + lifetime_s
        unsigned = Ticket(purpose, key.id, expires_s, secrets.token_urlsafe(NONCE_BYTES), "")
        return unsigned._replace(signature=self._sign(unsigned, key))

    def key_of(self, text: str, purpose: str) -> ClientKey | None:
        """The key that a genuine ticket for this purpose stands for."""
        ticket = parse(text)
        if ticket is None or ticket.purpose != purpose or ticket.expires_s <= self._now_s():
            return None
        key = self._keys.by_id(ticket.key_id)
        if key is None or not hmac.compare_digest(
            self._sign(ticket, key).encode(), ticket.signature.encode()
        ):
            return None
        if self._keys.is_ticket_ended(key, ticket.nonce):
            return None
        return key

    def end(self, text: str, purpose: str) -> ClientKey | None:
        """Let a ticket count no more on any server; the key it stood for, if it did until now."""
        ticket = parse(text)
        key = self.key_of(text, purpose)
        if ticket is None or key is None:
            return None
        # Of several who come at the same moment, only one ends it.
        is_first = self._keys.end_ticket(key, ticket.nonce, ticket.expires_s, int(self._now_s()))
        return key if is_first else None

    def redeem(self, text: str) -> ClientKey | None:
        """The key that a link signs in with; the link works once."""
        return self.end(text, LINK)

    def form_token(self, text: str) -> str:
        """What every form of a signed-in browser carries, and no foreign page can know."""
        message = f"form.{text}".encode()
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()

    def _sign(self, ticket: Ticket, key: ClientKey) -> str:
        message = ticket._replace(signature=key.digest).text.encode()
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()


def page_secret(folder: Path, chosen: str = "") -> bytes:
    """The secret that tickets are signed with: the one that is set, or that of the data folder."""
    if chosen:
        return chosen.encode()
    path = folder / SECRET_FILE
    if path.is_file() and not path.stat().st_size:
        # Anybody could sign with an empty secret. A program that was killed may have left it.
        path.unlink(missing_ok=True)
    if not path.is_file():
        _make_secret(path)
    close_to_others(str(path))
    return path.read_bytes()


def _make_secret(path: Path) -> None:
    """Write a new secret, whole at once: no other process reads a part of it."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with open(unfinished, "x", encoding="ascii", opener=open_private) as file:
        file.write(secrets.token_urlsafe(SECRET_BYTES))
    try:
        os.link(unfinished, path)
    except FileExistsError:
        # Another process made it at the same moment.
        pass
    except OSError:
        # A file system without hard links.
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def sign_in_address(url: str, folder: Path, chosen_secret: str, keys: ClientKeys, key: str) -> str:
    """An address of the page that signs in whoever opens it first, for a day."""
    record = keys.by_digest(digest(key))
    if record is None:
        return url + "/"
    ticket = Tickets(page_secret(folder, chosen_secret), keys).issue(record, LINK, LINK_S)
    return f"{url}/?{LINK_PARAMETER}={ticket.text}"
