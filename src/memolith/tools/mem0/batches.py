"""Change or delete several memories at once."""

from typing import Annotated

from pydantic import Field

from memolith.errors import NotFound
from memolith.tools.call import Call
from memolith.tools.mem0.api import mem0_api
from memolith.tools.mem0.memories import update
from memolith.tools.mem0.models import BatchDelete, BatchUpdate, Message

MAX_BATCH = 1000


@mem0_api.route("PUT", "/v1/batch/", idempotent=True, needs_read=True)
def batch_update(
    call: Call, *, memories: Annotated[list[BatchUpdate], Field(max_length=MAX_BATCH)]
) -> Message:
    """Change all of these memories, or none if one of them is not there."""
    for memory in memories:
        update(call, memory_id=memory.memory_id, text=memory.text, metadata=memory.metadata)
    return {"message": f"Successfully updated {len(memories)} memories"}


@mem0_api.route("DELETE", "/v1/batch/", destructive=True)
def batch_delete(
    call: Call, *, memories: Annotated[list[BatchDelete], Field(max_length=MAX_BATCH)]
) -> Message:
    """Forget all of these memories, or none if one of them is not there."""
    ids = [memory.memory_id for memory in memories]
    found = call.engine.reading.read_many(call.caller, ids)
    known = {item.id for item, _ in found if item.kind == "memory"}
    for id in ids:
        if id not in known:
            raise NotFound(f"There is no memory {id[:100]!r}.", field="memories", id=id)
    call.engine.writing.forget_all(call.caller, ids, "memory")
    return {"message": f"Successfully deleted {len(known)} memories"}
