"""AES-256-GCM, which seals the values of the vault, and new values for it."""

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memolith.errors import StoreCorrupt, Unavailable, translated

NONCE_BYTES = 12
KEY_ID_CHARACTERS = 16
TOKEN_BYTES = 36
CERTIFICATE_DAYS = 365


class AesCipher:
    """Seals with the first key and opens with any of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {_key_id(key): AESGCM(key) for key in keys}
        self._sealing_key_id = _key_id(keys[0])

    def seal(self, value: str, context: str) -> str:
        """The value as `KEY_ID.BASE64`, which opens only in the same context."""
        nonce = os.urandom(NONCE_BYTES)
        cipher = self._ciphers[self._sealing_key_id]
        encrypted = cipher.encrypt(nonce, value.encode(), context.encode())
        return f"{self._sealing_key_id}.{base64.b64encode(nonce + encrypted).decode()}"

    def fits(self, sealed: str) -> bool:
        """Whether one of the keys sealed this value."""
        key_id = sealed.partition(".")[0]
        return key_id in self._ciphers

    def open(self, sealed: str, context: str) -> str:
        if not self.fits(sealed):
            raise Unavailable(
                "The vault was sealed with another master key; set MEMOLITH_VAULT_KEY to that one."
            )
        key_id, _, text = sealed.partition(".")
        with translated(
            (InvalidTag, binascii.Error),
            StoreCorrupt,
            "This value was changed or moved since it was sealed; restore a backup.",
        ):
            data = base64.b64decode(text, validate=True)
            nonce = data[:NONCE_BYTES]
            encrypted = data[NONCE_BYTES:]
            return self._ciphers[key_id].decrypt(nonce, encrypted, context.encode()).decode()

    def fresh(self, type: str) -> str:
        """A new random value for a secret of this type."""
        if type == "ssh_key":
            return _private_key(Ed25519PrivateKey.generate(), serialization.PrivateFormat.OpenSSH)
        if type == "certificate":
            return _self_signed_certificate()
        if type == "api_key":
            return f"key_{secrets.token_urlsafe(TOKEN_BYTES)}"
        return secrets.token_urlsafe(TOKEN_BYTES)


def _key_id(key: bytes) -> str:
    """Tells keys apart without saying anything about them."""
    return hashlib.sha256(b"memolith vault" + key).hexdigest()[:KEY_ID_CHARACTERS]


def _private_key(key: Ed25519PrivateKey, format: serialization.PrivateFormat) -> str:
    no_password = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, format, no_password).decode()


def _self_signed_certificate() -> str:
    """A certificate for a year and its private key, both as PEM."""
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "memolith")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now,
        not_valid_after=now + timedelta(days=CERTIFICATE_DAYS),
    )
    certificate = builder.sign(key, algorithm=None)
    pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
    return pem + _private_key(key, serialization.PrivateFormat.PKCS8)
