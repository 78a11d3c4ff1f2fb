"""Find the item that an argument names, or raise the error that says which argument named none."""

from memolith.domain.items import Item
from memolith.errors import NotFound
from memolith.tools.arguments import bare_id
from memolith.tools.call import Call

MAX_SHOWN_ID_LENGTH = 100


def find_item(
    call: Call,
    kind: str,
    id: str,
    field: str | None = None,
    *,
    forgotten: bool = False,
    namespace: str | None = None,
) -> Item:
    """The item of that kind; `NotFound` names the field if there is none that the caller sees."""
    item = call.engine.reading.find(
        call.caller, kind, bare_id(id), namespace=namespace, forgotten=forgotten
    )
    if item is None:
        raise NotFound(f"There is no {kind} {id[:MAX_SHOWN_ID_LENGTH]!r}.", field=field, id=id)
    return item
