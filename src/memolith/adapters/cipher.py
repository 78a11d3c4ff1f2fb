"""AES-256-GCM for the vault, and where its master key is kept: a setting, the system's keyring, or a file."""

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memolith.errors import InvalidInput, StoreCorrupt, Unavailable, translated
from memolith.ports.cipher import Cipher

NONCE = 12


class AesCipher:
    """Seals with the first key and opens with any."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {
            hashlib.sha256(b"memolith vault" + key).hexdigest()[:16]: AESGCM(key) for key in keys
        }

    def seal(self, value: str, context: str) -> str:
        """The value as text that tells which key opens it."""
        (mark, key), nonce = next(iter(self._keys.items())), os.urandom(NONCE)
        return f"{mark}.{base64.b64encode(nonce + key.encrypt(nonce, value.encode(), context.encode())).decode()}"

    def fits(self, sealed: str) -> bool:
        return sealed.partition(".")[0] in self._keys

    def open(self, sealed: str, context: str) -> str:
        if not self.fits(sealed):
            raise Unavailable(
                "The vault was sealed with another master key; set MEMOLITH_VAULT_KEY to that one."
            )
        mark, _, text = sealed.partition(".")
        with translated(
            (InvalidTag, binascii.Error),
            StoreCorrupt,
            "This value was changed or moved since it was sealed; restore a backup.",
        ):
            data = base64.b64decode(text, validate=True)
            return self._keys[mark].decrypt(data[:NONCE], data[NONCE:], context.encode()).decode()

    def fresh(self, type: str) -> str:
        if type not in ("ssh_key", "certificate"):
            return ("key_" if type == "api_key" else "") + secrets.token_urlsafe(36)
        key, pem = Ed25519PrivateKey.generate(), serialization.Encoding.PEM
        form = (
            serialization.PrivateFormat.OpenSSH
            if type == "ssh_key"
            else serialization.PrivateFormat.PKCS8
        )
        private = key.private_bytes(pem, form, serialization.NoEncryption()).decode()
        if type == "ssh_key":
            return private
        name, now = (
            x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "memolith")]),
            datetime.now(UTC),
        )
        made = x509.CertificateBuilder(
            name,
            name,
            key.public_key(),
            x509.random_serial_number(),
            now,
            now + timedelta(days=365),
        ).sign(key, None)
        return made.public_bytes(pem).decode() + private


def _ring() -> Any:
    with translated(
        ImportError,
        Unavailable,
        "There is no keyring here; get it with `pip install memolith[keyring]`.",
    ):
        # Only who has chosen it needs the package.
        import keyring
    return keyring


def _kept(chosen: str, path: Path) -> list[str]:
    """The master keys, the newest first: in a file for its owner alone, or in the system's keyring."""
    if chosen:
        return (_ring().get_password("memolith", str(path)) or "").split()
    return path.read_text(encoding="ascii").split() if path.is_file() else []


def _keep(chosen: str, path: Path, *keys: str) -> None:
    """Keep these keys; the first of all only if no other process was faster."""
    if chosen:
        _ring().set_password("memolith", str(path), "\n".join(keys))
        return
    part, put = path.with_suffix(f".{os.getpid()}"), os.replace if path.is_file() else os.link
    with open(
        os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii"
    ) as file:
        file.write("\n".join(keys) + "\n")
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        put(part, path)
    part.unlink(missing_ok=True)


def load(chosen: str, folder: Path) -> AesCipher:
    """The cipher with the master key of the settings; where they leave it to us, it is made at first need."""
    if chosen not in ("", "keyring"):
        return AesCipher([parsed(chosen)])
    if not _kept(chosen, path := folder / "vault.key"):
        _keep(chosen, path, base64.b64encode(os.urandom(32)).decode())
    return AesCipher([parsed(key) for key in _kept(chosen, path)])


def renew(chosen: str, folder: Path, given: str, reseal: Callable[[Cipher], int]) -> int:
    """Seal everything with another master key; if this is cut short, both keys are there and both are tried."""
    if chosen not in ("", "keyring"):
        return reseal(AesCipher([parsed(given)]))
    path, key = folder / "vault.key", base64.b64encode(os.urandom(32)).decode()
    _keep(chosen, path, key, *_kept(chosen, path))
    count = reseal(AesCipher([parsed(key)]))
    _keep(chosen, path, key)
    return count


def parsed(text: str) -> bytes:
    with suppress(ValueError):
        key = bytes.fromhex(text) if len(text) == 64 else base64.b64decode(text, validate=True)
        if len(key) == 32:
            return key
    raise InvalidInput(
        "A master key is 32 random bytes as base64 or hexadecimal digits.", field="vault_key"
    )
