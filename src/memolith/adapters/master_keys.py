"""Where the master key of the vault is kept: a setting, the keyring of the system, or a file."""

import base64
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from memolith.adapters.cipher import AesCipher
from memolith.errors import InvalidInput, Unavailable, translated
from memolith.ports.cipher import Cipher
from memolith.private_files import open_private

KEY_BYTES = 32
KEY_HEX_DIGITS = 2 * KEY_BYTES
KEYRING = "keyring"
"""The value of the setting `vault_key` that means the keyring of the system."""

KEYRING_SERVICE = "memolith"
FILE_NAME = "vault.key"


class KeyPlace(Protocol):
    """A place that keeps master keys, the newest first."""

    def load(self) -> list[str]: ...
    def save(self, keys: list[str]) -> None: ...


class KeyFile:
    """A file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[str]:
        if not self._path.is_file():
            return []
        return self._path.read_text(encoding="ascii").split()

    def save(self, keys: list[str]) -> None:
        """Replace the keys; the very first key only if no other process was faster."""
        part = self._path.with_suffix(f".{os.getpid()}")
        with open(part, "w", encoding="ascii", opener=open_private) as file:
            file.write("\n".join(keys) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if self._path.is_file():
            os.replace(part, self._path)
        else:
            # Unlike a replacement, a link fails if the file is there by now.
            with suppress(FileExistsError):
                os.link(part, self._path)
        part.unlink(missing_ok=True)


class SystemKeyring:
    """The keyring of the system; one entry for each data folder."""

    def __init__(self, path: Path) -> None:
        with translated(
            ImportError,
            Unavailable,
            "There is no keyring here; get it with `pip install memolith[keyring]`.",
        ):
            # An extra, which only this place for keys needs.
            import keyring
        self._keyring = keyring
        self._entry = str(path)

    def load(self) -> list[str]:
        return (self._keyring.get_password(KEYRING_SERVICE, self._entry) or "").split()

    def save(self, keys: list[str]) -> None:
        self._keyring.set_password(KEYRING_SERVICE, self._entry, "\n".join(keys))


def load_cipher(vault_key: str, data: Path) -> AesCipher:
    """The cipher with the key of the setting, or with one that is kept and made at first use."""
    place = _place(vault_key, data)
    if place is None:
        return AesCipher([parse_key(vault_key)])
    if not place.load():
        place.save([_random_key()])
    return AesCipher([parse_key(key) for key in place.load()])


def renew_master_key(
    vault_key: str, data: Path, new_key: str, reseal: Callable[[Cipher], int]
) -> int:
    """Seal everything with another master key; returns how many values there were.

    If this is interrupted, both keys are kept, and each value opens with its own.
    """
    place = _place(vault_key, data)
    if place is None:
        return reseal(AesCipher([parse_key(new_key)]))
    key = _random_key()
    place.save([key, *place.load()])
    count = reseal(AesCipher([parse_key(key)]))
    place.save([key])
    return count


def parse_key(text: str) -> bytes:
    """A master key from base64 or hexadecimal digits."""
    with suppress(ValueError):
        if len(text) == KEY_HEX_DIGITS:
            key = bytes.fromhex(text)
        else:
            key = base64.b64decode(text, validate=True)
        if len(key) == KEY_BYTES:
            return key
    raise InvalidInput(
        "A master key is 32 random bytes as base64 or hexadecimal digits.", field="vault_key"
    )


def _place(vault_key: str, data: Path) -> KeyPlace | None:
    """Where we keep the keys; None if the setting is the key itself."""
    path = data / FILE_NAME
    if vault_key == KEYRING:
        return SystemKeyring(path)
    if not vault_key:
        return KeyFile(path)
    return None


def _random_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()
