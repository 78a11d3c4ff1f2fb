"""Consolidation: memories that say the same become one or get a summary.

It is planned first, and then done exactly as planned.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Item
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.insights import (
    MIN_SIMILARITY_IN_THEME,
    Insights,
    grouped,
)
from memolith.engine.reading import Reading
from memolith.engine.recall import Pair, Recall
from memolith.engine.recording import NewEvent, Recorder
from memolith.engine.search import MAX_CANDIDATES_PER_SIDE
from memolith.engine.statements import contradicts, facts, facts_contradict
from memolith.engine.tenant_settings import TenantSettings
from memolith.engine.titles import headline
from memolith.engine.validation import InputRules
from memolith.engine.writing import NewLink, Writing
from memolith.errors import Unavailable, VersionConflict
from memolith.ports.items import MOST_LISTED
from memolith.ports.store import Store, Writer

LINK_TYPES = {"merge": "Supersedes", "dedupe": "Supersedes", "summarize": "RelatesTo"}
"""By strategy: the type of the link from the memory that stands for a group to its members."""
EMBED_BUDGET_S = 30.0
NO_SUCH_ID = "-"


class ConsolidationGroup(NamedTuple):
    """Memories that belong together, the oldest first, and the text that will stand for them."""

    items: list[Item]
    similarity: float
    content: str


class ConsolidationPlan(NamedTuple):
    """What a consolidation would do, and what the caller should know."""

    strategy: str
    groups: list[ConsolidationGroup]
    warnings: list[str]
    forgets_sources: bool = False
    """Whether what is replaced is forgotten, so that lists and searches show one item only."""


class ConsolidationResult(NamedTuple):
    """The memories that stand for the groups, and the numbers of the events, to undo it."""

    ids: list[str]
    events: list[int]


class Rewritten(NamedTuple):
    """A text that an analyst made of others, what the caller should know, and who made it."""

    text: str
    warnings: list[str]
    method: str


@dataclass(frozen=True)
class Consolidation:
    """Plans and carries out consolidations of a caller's own memories."""

    store: Store
    writing: Writing
    recorder: Recorder
    reading: Reading
    recall: Recall
    insights: Insights
    tenant_settings: TenantSettings
    input_rules: InputRules

    def plan(
        self,
        caller: Caller,
        chosen: Filter,
        strategy: str,
        query: str,
        tell: Callable[[int, int], None],
    ) -> ConsolidationPlan:
        """What a consolidation with this strategy would do; nothing is changed."""
        chosen = self._candidates(caller, chosen, strategy, query)
        if strategy == "summarize":
            threshold = MIN_SIMILARITY_IN_THEME
        else:
            threshold = self.tenant_settings.number(caller.tenant, "duplicate_threshold")
        with suppress(Unavailable):
            # Without the newest memories, the plan would not be what is done later.
            self.recall.embed_waiting(caller.tenant, EMBED_BUDGET_S)
        duplicates = self.insights.duplicates(caller, chosen, threshold, tell)
        warnings = list(duplicates.warnings)
        page = self.reading.list_items(caller, chosen, descending=False, limit=MOST_LISTED)
        if page.total > len(page.items):
            warnings.append(
                f"Only the oldest {len(page.items):,} of {page.total:,} memories were compared; "
                "narrow the filter to reach the others."
            )
        items = {item.id: item for item in page.items}
        texts = {
            item.id: "\n".join(block.text for block in blocks)
            for item, blocks in self.reading.read_many(caller, list(items))
        }

        facts_of = {id: facts(text) for id, text in texts.items()}

        def fit(ours: set[str], theirs: set[str]) -> bool:
            """Each memory may be like the next, and yet the last contradict the first."""
            return not any(
                facts_contradict(facts_of[mine], facts_of[other])
                for mine in ours
                for other in theirs
            )

        same_place = [
            pair for pair in duplicates.pairs if _place(pair.first) == _place(pair.second)
        ]
        pairs = [*_equal_pairs(items, texts), *same_place]
        groups = []
        for group in grouped(texts, pairs, fit):
            if len(group.ids) == 1:
                continue
            content, more, _ = self._content(strategy, [texts[id] for id in group.ids])
            members = [items[id] for id in group.ids]
            groups.append(ConsolidationGroup(members, group.similarity, content))
            warnings += [warning for warning in more if warning not in warnings]
        return ConsolidationPlan(strategy, groups, warnings)

    def _candidates(self, caller: Caller, chosen: Filter, strategy: str, query: str) -> Filter:
        """The caller's own memories that are no summaries, about the query where there is one."""
        conditions = [Condition("is_summary", "eq", None)]
        if strategy == "summarize":
            conditions.append(Condition("summarized_in", "eq", None))
        chosen = replace(chosen, owner=caller.user, where=tuple(conditions))
        if query in ("", "*"):
            return chosen
        about = Query(
            query,
            chosen,
            limit=MAX_CANDIDATES_PER_SIDE,
            per_item=True,
        )
        ids = tuple(hit.item.id for hit in self.recall.search(caller, about).hits)
        return replace(chosen, ids=ids or (NO_SUCH_ID,))

    def _content(self, strategy: str, texts: Sequence[str]) -> Rewritten:
        if strategy == "dedupe":
            return Rewritten(texts[0], [], "copy")
        return self.rewrite(strategy, texts)

    def rewrite(self, task: str, texts: Sequence[str]) -> Rewritten:
        """What the analyst makes of texts.

        If it changed a fact, the built-in analyst does it instead.
        """
        answer = self.insights.ask(lambda analyst: analyst.rewrite(task, texts))
        builtin = self.insights.analysts[-1]
        changed_a_fact = any(contradicts(answer.value, text) for text in texts)
        if answer.method == builtin.name or not changed_a_fact:
            return Rewritten(answer.value, answer.warnings, answer.method)
        warning = f"{answer.method} changed a fact; done by the built-in analyst."
        rewritten = builtin.rewrite(task, texts)
        return Rewritten(rewritten, [*answer.warnings, warning], builtin.name)

    def carry_out(self, caller: Caller, plan: ConsolidationPlan) -> ConsolidationResult:
        """Do what was planned, all or nothing."""
        result = ConsolidationResult([], [])
        with self.store.writing(caller.tenant) as rows:
            for group in plan.groups:
                self._carry_out(rows, caller, plan, group, result)
        return result

    def _carry_out(
        self,
        rows: Writer,
        caller: Caller,
        plan: ConsolidationPlan,
        group: ConsolidationGroup,
        result: ConsolidationResult,
    ) -> None:
        strategy = plan.strategy
        if strategy == "dedupe":
            standing, *sources = group.items
        else:
            draft = self._draft(group, strategy)
            written = self.writing.remember_in(rows, caller, draft, self.input_rules.intake())
            standing = written.item
            sources = group.items
            result.events.append(written.seq)
        change: dict[str, Json] = {"status": "superseded"}
        if strategy == "summarize":
            change = {"attributes": {"summarized_in": standing.id}}
        for source in sources:
            now = rows.item(caller.tenant, source.id)
            if now is None or now.version != source.version:
                raise VersionConflict(id=source.id)
            last_seq = rows.last_seq(caller.tenant)
            new_link = NewLink(standing.id, source.id, LINK_TYPES[strategy])
            link = self.writing.link_in(rows, caller, new_link, again=True)
            if link.seq > last_seq:
                # A link that was there already stays when the rest is undone.
                result.events.append(link.seq)
            if plan.forgets_sources:
                new = NewEvent(source.id, "forgotten", {"kept": standing.id}, now)
                event = self.recorder.record(rows, caller, new).event
            else:
                event = self.recorder.tell(rows, caller, source.id, "revised", change, now)
            result.events.append(event.seq)
        result.ids.append(standing.id)

    def _draft(self, group: ConsolidationGroup, strategy: str) -> Draft:
        """The memory that will stand for a group; it keeps what all members have in common."""
        first = group.items[0]
        attributes = {
            name: value
            for name, value in first.attributes.items()
            if all(item.attributes.get(name) == value for item in group.items)
        }
        if strategy == "summarize":
            attributes["is_summary"] = True
        tags = sorted({tag for item in group.items for tag in item.tags})
        return Draft(
            kind="memory",
            title=_shared_title(group.items) or headline(group.content),
            blocks=(Block(group.content),),
            tags=tuple(tags[: self.input_rules.limits.tags]),
            attributes=attributes,
            audience=first.audience,
            project=first.project,
            namespace=first.namespace,
        )


def _place(item: Item) -> tuple[str | None, ...]:
    return item.owner, item.audience, item.project, item.namespace


def _shared_title(items: Sequence[Item]) -> str:
    """The title that all items have; empty if they have different ones."""
    titles = {item.title for item in items}
    return titles.pop() if len(titles) == 1 else ""


def _equal_pairs(items: dict[str, Item], texts: dict[str, str]) -> list[Pair]:
    """Each item with the first one in its place that has the same words."""
    first: dict[tuple[str | None, ...], Item] = {}
    pairs = []
    for id, item in items.items():
        words = " ".join(texts[id].casefold().split())
        pairs.append(Pair(first.setdefault((*_place(item), words), item), item, 1.0))
    return pairs
