"""The vault: keys of vendors, their values only as ciphertext, and every use in the log."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from memolith.domain.attributes import Attributes, Json
from memolith.domain.callers import Caller
from memolith.domain.clock import DAY_S, shifted
from memolith.domain.ids import new_id
from memolith.engine.recording import Recorder
from memolith.engine.validation import InputRules
from memolith.engine.visibility import visible
from memolith.errors import Conflict, NotFound, Unavailable
from memolith.ports.cipher import Cipher
from memolith.ports.clock import Clock
from memolith.ports.store import Reader, Store, Writer

RECORD_FOLDER = "vault/"


@dataclass(frozen=True, slots=True)
class Secret:
    """A key of a vendor; `sealed` is its value as ciphertext, bound to this record."""

    name: str
    type: str
    environment: str
    project_id: str
    rotation_frequency: int
    metadata: Attributes
    id: str = ""
    owner: str = ""
    created_at: str = ""
    last_rotated: str | None = None
    revoked_at: str | None = None
    sealed: str = ""

    @property
    def expires_at(self) -> str:
        """When the value should be replaced."""
        return shifted(self.last_rotated or self.created_at, DAY_S * self.rotation_frequency)

    def context(self, tenant: str) -> str:
        """What the ciphertext is bound to: in another record or tenant it cannot be opened."""
        return "\n".join((tenant, self.id, self.type, self.environment))


@dataclass(frozen=True)
class Vault:
    """Stores, rotates and revokes keys; only their owner and admins see them."""

    database: Store
    clock: Clock
    recorder: Recorder
    input_rules: InputRules
    cipher: Callable[[], Cipher]

    def all(self, caller: Caller) -> list[Secret]:
        """The keys that the caller may see, oldest first."""
        with self.database.reading(caller.tenant) as rows:
            secrets = _records(rows, caller.tenant)
        if caller.admin:
            return secrets
        return [secret for secret in secrets if secret.owner == caller.user]

    def get(self, caller: Caller, id: str, live: bool = False) -> Secret:
        """One key; with `live`, only if it was not revoked."""
        for secret in self.all(caller):
            if secret.id == id:
                break
        else:
            raise NotFound(f"There is no key {id[:100]!r}.", field="key_id", id=id)
        if live and secret.revoked_at:
            raise Conflict("This key was revoked; store a new one.", field="key_id", id=id)
        return secret

    def store(self, caller: Caller, draft: Secret, value: str) -> Secret:
        """Keep a new key of a project."""
        intake = self.input_rules.intake()
        secret = replace(
            draft,
            name=intake.title(draft.name),
            metadata=intake.attributes(draft.metadata),
            id=draft.id or new_id(),
            owner=caller.user,
            created_at=self.clock.now(),
        )
        with self.database.writing(caller.tenant) as rows:
            if visible(rows, caller, draft.project_id).kind != "project":
                raise NotFound("There is no such project.", field="project_id", id=draft.project_id)
            secret = self._sealed(rows, caller.tenant, secret, value)
            self._put(rows, caller.tenant, secret)
            self._log(rows, caller, secret.id, "stored", _open_fields(secret))
        return secret

    def rotate(self, caller: Caller, id: str) -> tuple[Secret, str]:
        """Give a key a new random value; returns the key and the value."""
        with self.database.writing(caller.tenant) as rows:
            secret = replace(self.get(caller, id, live=True), last_rotated=self.clock.now())
            value = self.cipher().fresh(secret.type)
            secret = self._sealed(rows, caller.tenant, secret, value)
            self._put(rows, caller.tenant, secret)
            self._log(rows, caller, id, "rotated")
        return secret, value

    def revoke(self, caller: Caller, id: str) -> Secret:
        """Revoke a key: it can still be read about, but not used."""
        with self.database.writing(caller.tenant) as rows:
            secret = self.get(caller, id)
            if secret.revoked_at:
                return secret
            secret = replace(secret, revoked_at=self.clock.now())
            self._put(rows, caller.tenant, secret)
            self._log(rows, caller, id, "revoked")
        return secret

    def reveal(self, caller: Caller, id: str) -> str:
        """The value itself; that it was shown is told in the log."""
        secret = self.get(caller, id, live=True)
        if not secret.sealed:
            raise NotFound("The value of this key was left out when it was brought here.", id=id)
        value = self.cipher().open(secret.sealed, secret.context(caller.tenant))
        with self.database.writing(caller.tenant) as rows:
            self._log(rows, caller, id, "revealed")
        return value

    def count(self, tenant: str) -> int:
        """How many keys a tenant has."""
        with self.database.reading(tenant) as rows:
            return len(rows.records(tenant, RECORD_FOLDER))

    def rekey(self, cipher: Cipher) -> int:
        """Seal every value with another cipher, all or none; returns how many."""
        old_cipher = self.cipher()
        count = 0
        with self.database.writing(None) as rows:
            for tenant in rows.tenants():
                for secret in _records(rows, tenant):
                    context = secret.context(tenant)
                    value = old_cipher.open(secret.sealed, context)
                    self._put(rows, tenant, replace(secret, sealed=cipher.seal(value, context)))
                    count += 1
        return count

    def examine(self) -> tuple[int, list[str]]:
        """How many keys there are, and what is wrong with them."""
        now = self.clock.now()
        with self.database.reading(None) as rows:
            secrets = [secret for tenant in rows.tenants() for secret in _records(rows, tenant)]
        problems = []
        if secrets:
            cipher = self.cipher()
            if not all(cipher.fits(secret.sealed) for secret in secrets):
                problems.append("The master key is not the one that the vault was sealed with.")
        for secret in secrets:
            if not secret.revoked_at and secret.expires_at < now:
                problems.append(
                    f"Key {secret.id} ({secret.name}) should have been rotated by "
                    f"{secret.expires_at[:10]}."
                )
        return len(secrets), problems

    def _sealed(self, rows: Reader, tenant: str, secret: Secret, value: str) -> Secret:
        """The key with its value sealed, if the vault was sealed with the same master key."""
        cipher = self.cipher()
        # All of them are sealed with one key, so any of them tells.
        for record in rows.records(tenant, RECORD_FOLDER).values():
            if not cipher.fits(json.loads(record)["sealed"]):
                raise Unavailable(
                    "The vault was sealed with another master key; set MEMOLITH_VAULT_KEY to that "
                    "one."
                )
            break
        return replace(secret, sealed=cipher.seal(value, secret.context(tenant)))

    def _put(self, rows: Writer, tenant: str, secret: Secret) -> None:
        rows.put_record(tenant, RECORD_FOLDER + secret.id, json.dumps(asdict(secret)))

    def _log(
        self,
        rows: Writer,
        caller: Caller,
        id: str,
        type: str,
        data: dict[str, Json] | None = None,
    ) -> None:
        self.recorder.tell(rows, caller, f"key/{id}", type, data or {})


def _open_fields(secret: Secret) -> dict[str, Json]:
    """What the log may hold about a key: all but its value."""
    fields = asdict(secret)
    del fields["sealed"]
    del fields["id"]
    return fields


def _records(rows: Reader, tenant: str) -> list[Secret]:
    records = rows.records(tenant, RECORD_FOLDER).values()
    secrets = [Secret(**json.loads(record)) for record in records]
    return sorted(secrets, key=lambda secret: (secret.created_at, secret.id))
