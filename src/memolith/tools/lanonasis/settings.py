"""Settings that an organisation may change while the server runs."""

from typing import Annotated

from pydantic import Field

from memolith.engine.tenant_settings import KEYS, known_key
from memolith.tools.call import Call
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.lanonasis.models import SettingChanged, SettingValue

SettingName = Annotated[str, Field(description=", ".join(KEYS))]


@lanonasis.tool(read_only=True, example={"key": "max_tags"})
def get_config(call: Call, *, key: SettingName) -> SettingValue:
    """What a setting is now, and who set it before."""
    setting = known_key(key)
    tenant = call.caller.tenant
    value = call.engine.tenant_settings.values(tenant)[key]
    if key == "embedding_model":
        _, value = call.engine.recall.state()
    return {
        "key": key,
        "value": value,
        "type": type(setting.default).__name__,
        "description": setting.about,
        "history": [
            {"value": event.data["value"], "at": event.at, "by": event.actor}
            for event in call.engine.tenant_settings.history(tenant, key)
        ],
    }


@lanonasis.tool(idempotent=True, scope="admin", example={"key": "max_tags", "value": "30"})
def set_config(call: Call, *, key: SettingName, value: str) -> SettingChanged:
    """Change a setting for the whole organisation, at once and in every process."""
    event = call.engine.tenant_settings.set(call.caller, key, value)
    return {
        "key": key,
        "value": event.data["value"],
        "previous_value": event.data["before"],
        "updated_at": event.at,
    }
