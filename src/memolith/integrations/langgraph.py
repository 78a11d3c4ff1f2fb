"""LangGraph: a store whose items are items of a memory, searched by `recall`."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from memolith.doors.library import results
from memolith.doors.library.memory import Memory
from memolith.errors import Conflict, InvalidInput, NotFound
from memolith.integrations.transcripts import (
    MAX_TITLE_CHARACTERS,
    NO_TEXT,
    digest_tag,
    list_items,
    read_items,
)

FRAMEWORK = "langgraph"
PLACE_PREFIX = "langgraph-at"
"""Tags that stand for one namespace and key begin with this."""
RECALL_LIMIT = 100
"""How many hits one call returns."""
Namespace = tuple[str, ...]
Place = tuple[Namespace, str]

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class Text(NamedTuple):
    """What an item of LangGraph says in words, and whether searches find it by that."""

    content: str
    is_indexed: bool


class MemolithStore(BaseStore):
    """A store for graphs: `builder.compile(store=MemolithStore(memory))`.

    Each item is a memory with the value in its metadata, so its history is kept, and what is
    deleted is forgotten and can be restored. `search` with a query is a `recall` with its score;
    what does not answer the query is left out. A value may have 100 kB, and secrets in it are
    redacted as everywhere.
    """

    def __init__(self, memory: Memory, *, fields: Sequence[str] | None = None) -> None:
        """`fields` are the paths of a value that are searched; without them all of it is."""
        self.memory = memory
        self.fields = fields

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of the operations. All reads come before the writes."""
        known = list(ops)
        for op in known:
            check(op)
        answers: list[Result] = [self._read(op) for op in known]
        writes: dict[Place, PutOp] = {}
        for op in known:
            if isinstance(op, PutOp):
                writes[op.namespace, op.key] = op
        for write in writes.values():
            self._write(write)
        return answers

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._recalled(op) if op.query else self._listed(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _get(self, op: GetOp) -> Item | None:
        for listed in self._at(op.namespace, op.key):
            for item in read_items(self.memory, [listed.id]):
                return Item(**fields_of(item))
        return None

    def _write(self, op: PutOp) -> None:
        if op.value is None:
            for listed in self._at(op.namespace, op.key):
                self._forget(listed.id)
            return
        text = text_of(op, self.fields)
        metadata = {
            "namespace": list(op.namespace),
            "name": op.key,
            "value": dict(op.value),
            "indexed": text.is_indexed,
        }
        present = self._at(op.namespace, op.key)
        if present:
            self.memory.revise(present[0].id, text.content, metadata=metadata)
            return
        made = self.memory.remember(
            text.content,
            title="/".join([*op.namespace, op.key])[:MAX_TITLE_CHARACTERS],
            tags=tags_of(op.namespace, op.key),
            metadata=metadata,
        )
        # Another program may have put the same key at the same moment: the older item stays.
        oldest = self._at(op.namespace, op.key)[0]
        if oldest.id != made.id:
            self.memory.revise(oldest.id, text.content, metadata=metadata)
            self._forget(made.id)

    def _forget(self, id: str) -> None:
        try:
            self.memory.forget(id)
        except (NotFound, Conflict):
            # It is forgotten already.
            return

    def _at(self, namespace: Namespace, key: str) -> list[results.ListedItem]:
        """The item with a key, and any copies that other programs made just now, oldest first."""
        found = list(list_items(self.memory, [place_tag(namespace, key)]))
        return sorted(found, key=lambda item: (item.created_at, item.id))

    def _listed(self, op: SearchOp) -> list[SearchItem]:
        """A page of the items in a namespace, the newest first."""
        ids = [item.id for item in list_items(self.memory, [namespace_tag(op.namespace_prefix)])]
        if not op.filter:
            page = ids[op.offset : op.offset + op.limit]
            return [SearchItem(**fields_of(item)) for item in read_items(self.memory, page)]
        passing = [item for item in read_items(self.memory, ids) if passes(item, op.filter)]
        return [SearchItem(**fields_of(item)) for item in passing[op.offset :][: op.limit]]

    def _recalled(self, op: SearchOp) -> list[SearchItem]:
        """The items that answer a query, the best first."""
        found: list[SearchItem] = []
        for scores in self._scores(str(op.query), namespace_tag(op.namespace_prefix)):
            for item in read_items(self.memory, list(scores)):
                if value_of(item)["indexed"] and passes(item, op.filter or {}):
                    found.append(SearchItem(**fields_of(item), score=scores[item.id]))
            if len(found) >= op.offset + op.limit:
                break
        return found[op.offset :][: op.limit]

    def _scores(self, query: str, tag: str) -> Iterator[dict[str, float]]:
        """The scores of items that answer a query, page by page, each by its best passage."""
        known: set[str] = set()
        offset = 0
        while True:
            hits = self.memory.recall(query, tags=[tag], limit=RECALL_LIMIT, offset=offset)
            scores: dict[str, float] = {}
            for hit in hits:
                if hit.id not in known:
                    known.add(hit.id)
                    scores[hit.id] = hit.score
            yield scores
            offset += len(hits)
            if len(hits) < RECALL_LIMIT:
                return

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        # Items of one namespace have the same tags, so that one of them is enough.
        examples: dict[frozenset[str], str] = {}
        for listed in list_items(self.memory, [FRAMEWORK]):
            tags = frozenset(tag for tag in listed.tags if not tag.startswith(PLACE_PREFIX))
            examples[tags] = listed.id
        namespaces: set[Namespace] = set()
        for item in read_items(self.memory, list(examples.values())):
            namespace = tuple(value_of(item)["namespace"])
            if all(matches(condition, namespace) for condition in conditions):
                namespaces.add(namespace if op.max_depth is None else namespace[: op.max_depth])
        return sorted(namespaces)[op.offset :][: op.limit]


def check(op: Op) -> None:
    """Refuse what cannot be done, before anything is."""
    if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
        raise InvalidInput(f"There is no operation {type(op).__name__}.", field="ops")
    validate_op_namespace(op)
    if not isinstance(op, PutOp):
        return
    if op.ttl is not None:
        raise NotImplementedError("MemolithStore keeps items for ever; leave `ttl` out.")
    try:
        json.dumps(op.value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The value of {op.key!r} is not JSON: {error}.", field="value"
        ) from error


def text_of(op: PutOp, fields: Sequence[str] | None) -> Text:
    """The text by which an item is found, if it is to be found by one."""
    paths = fields if op.index is None else op.index
    if paths is False:
        return Text(NO_TEXT, False)
    if paths is None or list(paths) == ["$"]:
        texts = list(words_of(op.value))
    else:
        texts = [text for path in paths for text in get_text_at_path(op.value, path)]
    content = "\n".join(text for text in texts if text.strip())
    return Text(content or NO_TEXT, bool(content))


def words_of(value: Any, name: str = "") -> Iterator[str]:
    """What a value says, line by line; the names of its fields unless it has only one."""
    if isinstance(value, Mapping):
        for inner_name, inner in value.items():
            yield from words_of(inner, inner_name if len(value) > 1 or name else "")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from words_of(inner, name)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)


def namespace_tag(namespace: Namespace) -> str:
    """The tag of everything in a namespace and below; the empty one has all items."""
    return digest_tag(FRAMEWORK, *namespace) if namespace else FRAMEWORK


def place_tag(namespace: Namespace, key: str) -> str:
    return digest_tag(PLACE_PREFIX, *namespace, key)


def tags_of(namespace: Namespace, key: str) -> list[str]:
    """The tags of an item: one for each namespace that it is in, and one of its own."""
    prefixes = [namespace[:depth] for depth in range(len(namespace) + 1)]
    return [*(namespace_tag(prefix) for prefix in prefixes), place_tag(namespace, key)]


def value_of(item: results.Item) -> dict[str, Any]:
    """What `_write` put into the metadata."""
    return item.metadata or {}


def fields_of(item: results.Item) -> dict[str, Any]:
    """The fields of an item of LangGraph."""
    kept = value_of(item)
    return {
        "namespace": tuple(kept["namespace"]),
        "key": kept["name"],
        "value": kept["value"],
        "created_at": datetime.fromisoformat(item.created_at),
        "updated_at": datetime.fromisoformat(item.updated_at),
    }


def passes(item: results.Item, wanted: Mapping[str, Any]) -> bool:
    """Whether the value of an item passes a filter."""
    value = value_of(item)["value"]
    return all(agrees(value.get(name), condition) for name, condition in wanted.items())


def agrees(value: Any, condition: Any) -> bool:
    """Whether a value is the one wanted, or compares with it as the operators say."""
    if not isinstance(condition, Mapping):
        return bool(value == condition)
    if any(name.startswith("$") for name in condition):
        return all(compares(value, name, other) for name, other in condition.items())
    if not isinstance(value, Mapping):
        return False
    return all(agrees(value.get(name), inner) for name, inner in condition.items())


def compares(value: Any, name: str, other: Any) -> bool:
    """Whether a comparison holds; values that cannot be compared do not pass."""
    if name not in COMPARISONS:
        raise InvalidInput(
            f"There is no operator {name}; use one of {', '.join(COMPARISONS)}.", field="filter"
        )
    try:
        return bool(COMPARISONS[name](value, other))
    except TypeError:
        return False


def matches(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace begins or ends as a condition says; `*` stands for any label."""
    path = condition.path
    if len(path) > len(namespace):
        return False
    if condition.match_type == "suffix":
        compared = namespace[len(namespace) - len(path) :]
    else:
        compared = namespace[: len(path)]
    return all(wanted in ("*", label) for wanted, label in zip(path, compared, strict=True))
