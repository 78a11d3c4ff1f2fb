"""List items of any kind, and show one with all that is known about it."""

from typing import Annotated, NotRequired, TypedDict, cast

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.domain.blocks import block_data
from memolith.domain.items import Item, Superseded
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.engine.item_view import Related, Relations, ShownLink
from memolith.tools.arguments import ItemId, Limit, bare_id
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import AN_OBJECT, Described
from memolith.tools.results import Replaced, replaced
from memolith.tools.sekha.arguments import Offset

EXCERPT_CHARACTERS = 200


class ListedItem(Replaced):
    """An item as lists show it."""

    id: str
    kind: str
    title: str
    excerpt: Annotated[str, Described("How its text begins.")]
    status: str
    tags: list[str]
    project: str | None
    owner: str
    audience: str
    version: int
    created_at: str
    updated_at: str
    forgotten: bool


class ShownBlock(TypedDict):
    """A piece of the text of an item."""

    text: str
    speaker: NotRequired[str]
    at: NotRequired[str]
    locator: NotRequired[Annotated[str, Described("Where it stands in a file.")]]
    attributes: NotRequired[Annotated[dict[str, Json], AN_OBJECT]]


class ShownLinkBody(TypedDict):
    """A link of the item, and the item at its other end."""

    link_id: str
    type: str
    direction: Annotated[str, Described("`out` from the item, or `in` to it.")]
    strength: float
    id: str
    kind: str
    title: str


class RelatedItem(TypedDict):
    """Another item on the same matter."""

    id: str
    kind: str
    title: str
    similarity: NotRequired[float]
    created_at: str


class ReadCount(TypedDict):
    """How often the item was read."""

    count: int
    last: str | None


class WholeItemView(Replaced):
    """The result of `show_item`."""

    id: str
    kind: str
    title: str
    status: str
    tags: list[str]
    project: str | None
    namespace: str | None
    owner: str
    audience: str
    version: int
    created_at: str
    updated_at: str
    forgotten: bool
    metadata: NotRequired[Annotated[dict[str, Json], AN_OBJECT]]
    blocks: list[ShownBlock]
    total_blocks: int
    links: list[ShownLinkBody]
    total_links: int
    reads: ReadCount
    superseding: Annotated[list[RelatedItem], Described("Older items that it replaced.")]
    similar: Annotated[list[RelatedItem], Described("Items that say nearly the same.")]
    conflicting: Annotated[list[RelatedItem], Described("Those that say something else.")]
    undoable: Annotated[list[int], Described("The events that undo would take back now.")]


class ItemList(TypedDict):
    """The result of `list_items`."""

    items: list[ListedItem]
    total: int


@manage.tool(read_only=True)
def list_items(
    call: Call,
    *,
    kinds: Annotated[list[str] | None, Field(description="Only these kinds.")] = None,
    tags: Annotated[list[str] | None, Field(description="Only with all of these tags.")] = None,
    project: Annotated[str | None, Field(description="Only of this project.")] = None,
    status: Annotated[str | None, Field(description="Only in this status.")] = None,
    forgotten: Annotated[bool, Field(description="Those that were forgotten instead.")] = False,
    since: Annotated[str | None, Field(description="Written at this time or later.")] = None,
    until: Annotated[str | None, Field(description="Written at this time or earlier.")] = None,
    owner: Annotated[str | None, Field(description="Only what belongs to this user.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> ItemList:
    """A page of the items that you may see, of any kind, the newest first."""
    chosen = Filter(
        kinds=tuple(kinds or ()),
        tags_all=tuple(tags or ()),
        projects=(project,) if project else (),
        statuses=(status,) if status else (),
        forgotten=forgotten,
        since=since,
        until=until,
        owner=owner,
    )
    page = call.engine.reading.list_items(call.caller, chosen, limit=limit, offset=offset)
    ids = [item.id for item in page.items]
    excerpts = call.engine.reading.beginnings(call.caller, ids, EXCERPT_CHARACTERS)
    marks = call.engine.reading.superseded(call.caller, ids)
    return {
        "items": [
            listed_item(item, excerpts.get(item.id, ""), marks.get(item.id)) for item in page.items
        ],
        "total": page.total,
    }


@manage.tool(read_only=True, example={"id": "one"})
def show_item(
    call: Call,
    *,
    id: ItemId,
    similar: Annotated[
        int, Field(ge=0, le=20, description="How many items that are like it; 0 for none.")
    ] = 5,
    limit: Annotated[int, Field(ge=1, le=1000, description="How many pieces of its text.")] = 200,
    offset: Offset = 0,
) -> WholeItemView:
    """Everything about one item, forgotten or not: its text piece by piece, its links both ways,
    what is like it or contradicts it, and how often it was read.
    """
    view = call.engine.item_view
    shown = view.show(call.caller, bare_id(id), limit, offset)
    item = shown.item
    call.note_read(item.id)
    relations = Relations([], [])
    if similar:
        relations = view.relations(call.caller, item.id, similar)
    body: WholeItemView = {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "status": item.status,
        "tags": list(item.tags),
        "project": item.project,
        "namespace": item.namespace,
        "owner": item.owner,
        "audience": item.audience.value,
        "version": item.version,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "forgotten": item.forgotten,
        "blocks": [_shown_block(block) for block in shown.blocks],
        "total_blocks": item.blocks,
        "links": [_shown_link(link) for link in shown.links],
        "total_links": shown.total_links,
        "reads": {"count": shown.reads.times, "last": shown.reads.last},
        "superseding": [_related_item(other) for other in shown.superseding],
        "similar": [_related_item(other) for other in relations.similar],
        "conflicting": [_related_item(other) for other in relations.conflicting],
        "undoable": call.engine.history.undoable(call.caller, item.id),
    }
    if shown.superseded is not None:
        body["superseded_at"] = shown.superseded.at
        body["superseded_by"] = shown.superseded.by
    if item.attributes:
        body["metadata"] = dict(item.attributes)
    return body


def _shown_block(block: Block) -> ShownBlock:
    return cast(ShownBlock, block_data(block))


def _shown_link(link: ShownLink) -> ShownLinkBody:
    return {
        "link_id": link.id,
        "type": link.type,
        "direction": "out" if link.outgoing else "in",
        "strength": link.strength,
        "id": link.other.id,
        "kind": link.other.kind,
        "title": link.other_title,
    }


def _related_item(related: Related) -> RelatedItem:
    body: RelatedItem = {
        "id": related.item.id,
        "kind": related.item.kind,
        "title": related.title,
        "created_at": related.item.created_at,
    }
    if related.similarity is not None:
        body["similarity"] = related.similarity
    return body


def listed_item(item: Item, excerpt: str, mark: Superseded | None) -> ListedItem:
    """An item as lists show it."""
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "excerpt": excerpt,
        "status": item.status,
        "tags": list(item.tags),
        "project": item.project,
        "owner": item.owner,
        "audience": item.audience.value,
        "version": item.version,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "forgotten": item.forgotten,
        **replaced(mark),
    }
