"""The vault: keys of vendors, kept encrypted."""

from typing import Annotated, Literal

from pydantic import Field

from memolith.engine.vault import Secret
from memolith.tools.arguments import JsonObject, bare_id
from memolith.tools.call import Call
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.lanonasis.models import ApiKey, ApiKeys, KeyRevoked, KeyRotated
from memolith.tools.lookup import find_item

KeyId = Annotated[str, Field(description="The id of the key.")]
KeyType = Literal["api_key", "oauth_token", "certificate", "ssh_key"]
Environment = Literal["development", "staging", "production"]


@lanonasis.tool(
    example={
        "name": "Zoo",
        "type": "api_key",
        "value": "sk-…",
        "environment": "staging",
        "project_id": "project",
    }
)
def create_api_key(
    call: Call,
    *,
    name: Annotated[str, Field(min_length=1, max_length=255)],
    type: KeyType,
    value: Annotated[str, Field(min_length=1, max_length=100_000, description="Kept encrypted.")],
    environment: Environment,
    project_id: str,
    rotation_frequency: Annotated[int, Field(ge=1, le=365, description="Days.")] = 90,
    metadata: JsonObject | None = None,
) -> ApiKey:
    """Keep the key of a vendor in the vault; its value is never shown again."""
    project = find_item(call, "project", project_id, "project_id")
    draft = Secret(
        name=name,
        type=type,
        environment=environment,
        project_id=project.id,
        rotation_frequency=rotation_frequency,
        metadata=metadata or {},
    )
    return _api_key(call.engine.vault.store(call.caller, draft, value))


@lanonasis.tool(read_only=True)
def list_api_keys(
    call: Call,
    *,
    project_id: str | None = None,
    environment: Environment | None = None,
    type: KeyType | None = None,
) -> ApiKeys:
    """The keys in the vault, without their values."""
    chosen = [
        secret
        for secret in call.engine.vault.all(call.caller)
        if project_id in (None, secret.project_id)
        and environment in (None, secret.environment)
        and type in (None, secret.type)
    ]
    return {"keys": [_api_key(secret) for secret in chosen]}


@lanonasis.tool(read_only=True, example={"key_id": "key"})
def get_api_key(call: Call, *, key_id: KeyId) -> ApiKey:
    """One key in the vault, without its value."""
    return _api_key(call.engine.vault.get(call.caller, bare_id(key_id)))


@lanonasis.tool(destructive=True, shows_secret=True, example={"key_id": "key"})
def rotate_api_key(call: Call, *, key_id: KeyId) -> KeyRotated:
    """Give a key a new random value, which is shown this once; the old one is gone."""
    secret, value = call.engine.vault.rotate(call.caller, bare_id(key_id))
    return {"key_id": secret.id, "rotated_at": secret.last_rotated, "new_value": value}


@lanonasis.tool(destructive=True, idempotent=True, example={"key_id": "key"})
def revoke_api_key(call: Call, *, key_id: KeyId) -> KeyRevoked:
    """Make a key unusable; its record stays."""
    secret = call.engine.vault.revoke(call.caller, bare_id(key_id))
    return {"id": secret.id, "is_active": False, "revoked_at": secret.revoked_at}


def _api_key(secret: Secret) -> ApiKey:
    return {
        "id": secret.id,
        "name": secret.name,
        "type": secret.type,
        "environment": secret.environment,
        "project_id": secret.project_id,
        "created_at": secret.created_at,
        "last_rotated": secret.last_rotated,
        "expires_at": secret.expires_at,
        "rotation_frequency": secret.rotation_frequency,
        "is_active": not secret.revoked_at,
        "metadata": dict(secret.metadata),
    }
