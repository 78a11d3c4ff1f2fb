"""The keys of vendors: what they are for in the open, their values only as ciphertext, every use in the log."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from memolith.domain.attributes import Attributes
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

FOLDER = "vault/"


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
    """Stores, rotates and revokes the keys of a caller; nobody but their owner and admins see them."""

    database: Store
    clock: Clock
    recorder: Recorder
    input_rules: InputRules
    cipher: Callable[[], Cipher]

    def all(self, caller: Caller) -> list[Secret]:
        """The keys that the caller sees, oldest first."""
        with self.database.reading(caller.tenant) as rows:
            return [
                one
                for one in _records(rows, caller.tenant)
                if caller.admin or one.owner == caller.user
            ]

    def get(self, caller: Caller, id: str, live: bool = False) -> Secret:
        """One key; where asked, only if it was not revoked."""
        found = next((one for one in self.all(caller) if one.id == id), None)
        if found is None:
            raise NotFound(f"There is no key {id[:100]!r}.", field="key_id", id=id)
        if live and found.revoked_at:
            raise Conflict("This key was revoked; store a new one.", field="key_id", id=id)
        return found

    def store(self, caller: Caller, draft: Secret, value: str) -> Secret:
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
            return self._put(rows, caller, secret, "stored", value)

    def rotate(self, caller: Caller, id: str) -> tuple[Secret, str]:
        """The key with a new random value, and that value."""
        with self.database.writing(caller.tenant) as rows:
            secret = replace(self.get(caller, id, live=True), last_rotated=self.clock.now())
            value = self.cipher().fresh(secret.type)
            return self._put(rows, caller, secret, "rotated", value), value

    def revoke(self, caller: Caller, id: str) -> Secret:
        """The key, which from now on can be read about but not used."""
        with self.database.writing(caller.tenant) as rows:
            secret = self.get(caller, id)
            return (
                secret
                if secret.revoked_at
                else self._put(
                    rows, caller, replace(secret, revoked_at=self.clock.now()), "revoked"
                )
            )

    def reveal(self, caller: Caller, id: str) -> str:
        """The value itself; for the person at this machine alone."""
        secret = self.get(caller, id, live=True)
        if not secret.sealed:
            raise NotFound("The value of this key was left out when it was brought here.", id=id)
        value = self.cipher().open(secret.sealed, secret.context(caller.tenant))
        with self.database.writing(caller.tenant) as rows:
            self.recorder.tell(rows, caller, f"key/{id}", "revealed", {})
        return value

    def count(self, tenant: str) -> int:
        """How many keys a tenant has."""
        with self.database.reading(tenant) as rows:
            return len(rows.records(tenant, FOLDER))

    def rekey(self, cipher: Cipher) -> int:
        """Seal every value anew, all or none; returns how many."""
        old = self.cipher()
        with self.database.writing(None) as rows:
            every = [(tenant, one) for tenant in rows.tenants() for one in _records(rows, tenant)]
            for tenant, one in every:
                sealed = cipher.seal(old.open(one.sealed, one.context(tenant)), one.context(tenant))
                rows.put_record(
                    tenant, FOLDER + one.id, json.dumps(asdict(replace(one, sealed=sealed)))
                )
        return len(every)

    def examine(self) -> tuple[int, list[str]]:
        """How many keys there are, and what is wrong with them."""
        now, problems = self.clock.now(), []
        with self.database.reading(None) as rows:
            every = [one for tenant in rows.tenants() for one in _records(rows, tenant)]
        if every and not all(self.cipher().fits(one.sealed) for one in every):
            problems.append("The master key is not the one that the vault was sealed with.")
        problems += [
            f"Key {one.id} ({one.name}) should have been rotated by {one.expires_at[:10]}."
            for one in every
            if not one.revoked_at and one.expires_at < now
        ]
        return len(every), problems

    def _put(
        self, rows: Writer, caller: Caller, secret: Secret, type: str, value: str | None = None
    ) -> Secret:
        if value is not None:
            cipher = self.cipher()
            # All of them are sealed with one key, so any tells.
            other = next(iter(rows.records(caller.tenant, FOLDER).values()), None)
            if other and not cipher.fits(json.loads(other)["sealed"]):
                raise Unavailable(
                    "The vault was sealed with another master key; set MEMOLITH_VAULT_KEY to that one."
                )
            secret = replace(secret, sealed=cipher.seal(value, secret.context(caller.tenant)))
        kept = asdict(secret)
        rows.put_record(caller.tenant, FOLDER + secret.id, json.dumps(kept))
        told = {name: field for name, field in kept.items() if name not in ("sealed", "id")}
        self.recorder.tell(rows, caller, f"key/{secret.id}", type, told if type == "stored" else {})
        return secret


def _records(rows: Reader, tenant: str) -> list[Secret]:
    found = [Secret(**json.loads(value)) for value in rows.records(tenant, FOLDER).values()]
    return sorted(found, key=lambda one: (one.created_at, one.id))
