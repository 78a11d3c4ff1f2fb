"""Say that a concept still holds."""

from memolith.domain.items import Patch
from memolith.tools.arguments import ItemId
from memolith.tools.call import Call
from memolith.tools.lookup import find_item
from memolith.tools.manage.dialect import manage
from memolith.tools.results import ChangedItem, changed_item


@manage.tool(example={"concept_id": "foal"})
def review_concept(call: Call, *, concept_id: ItemId) -> ChangedItem:
    """Say that a concept was looked at and still holds, so that its computed certainty starts to
    fade anew.
    """
    concept = find_item(call, "concept", concept_id, "concept_id")
    patch = Patch(attributes={"reviewed_at": call.engine.clock.now()})
    written = call.engine.writing.revise(call.caller, concept.id, patch)
    return changed_item(written)
