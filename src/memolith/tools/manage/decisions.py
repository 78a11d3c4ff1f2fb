"""Pairs that say the same or contradict each other: list them, and decide."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from memolith.engine.decisions import ChosenPair, Decision, Outcome, Proposal, Side
from memolith.tools.arguments import ItemId, Limit, bare_id
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described
from memolith.tools.sekha.arguments import Offset
from memolith.tools.signature import Argument

MAX_PAIRS = 100
MAX_UNDONE_EVENTS = 5 * MAX_PAIRS
"""A merge writes five events, so as many undo the largest call of `decide`."""
MANY_WARNING = "There are more pairs than that; they are counted when these are decided."


class PairArgument(Argument):
    """Two items by their ids."""

    first: ItemId
    second: ItemId


class DecisionSide(TypedDict):
    """One of the two items of a pair."""

    id: str
    kind: str
    title: str
    excerpt: Annotated[str, Described("Its text, or the first 2,000 characters of it.")]
    cut: Annotated[bool, Described("Whether the text goes on.")]
    tags: list[str]
    project: str | None
    owner: str
    version: int
    created_at: str
    updated_at: str


class ProposedPair(TypedDict):
    """Two items that wait for a decision."""

    kind: Annotated[str, Described("`duplicate` or `contradiction`.")]
    first: Annotated[DecisionSide, Described("The older one.")]
    second: DecisionSide
    similarity: Annotated[float | None, Described("Null where an older program did not keep it.")]
    reason: Annotated[str, Described("Why they are proposed, in words.")]


class DecisionPage(TypedDict):
    """The result of `list_decisions`."""

    pairs: list[ProposedPair]
    total: Annotated[int, Described("At most 10,000.")]
    warnings: NotRequired[list[str]]


class DecidedPair(TypedDict):
    """A pair that was decided, and the events to undo it by."""

    first: str
    second: str
    events: list[int]
    merged: NotRequired[str]


class SkippedPair(TypedDict):
    """A pair that needed no decision any more."""

    first: str
    second: str


class Decided(TypedDict):
    """The result of `decide`."""

    outcome: str
    decided: list[DecidedPair]
    skipped: Annotated[
        list[SkippedPair], Described("Decided before, or one of the two is forgotten.")
    ]
    events: Annotated[list[int], Described("All of them, for `undo_events`.")]


class UndoneEvents(TypedDict):
    """The result of `undo_events`: the events that were undone, and those that undid them."""

    undone: list[int]
    events: list[int]


@manage.tool(read_only=True)
def list_decisions(
    call: Call,
    *,
    kind: Annotated[
        Literal["duplicate", "contradiction"] | None,
        Field(description="Pairs that say the same, or that contradict each other."),
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> DecisionPage:
    """Pairs of items that say the same or contradict each other and wait for a person to decide,
    the newest first.
    """
    page = call.engine.decisions.waiting(call.caller, kind or "", limit, offset)
    return {
        "pairs": [_pair_body(proposal) for proposal in page.proposals],
        "total": page.total,
        "warnings": [MANY_WARNING] if page.is_cut else [],
    }


@manage.tool(
    destructive=True,
    example={"pairs": [{"first": "first", "second": "second"}], "outcome": "keep_first"},
)
def decide(
    call: Call,
    *,
    pairs: Annotated[list[PairArgument], Field(min_length=1, max_length=MAX_PAIRS)],
    outcome: Annotated[
        Outcome,
        Field(
            description="Forget the other one, or keep both as two different things, or make one "
            "memory of both."
        ),
    ],
) -> Decided:
    """Decide pairs of items, all the same way and all or none; `undo_events` takes it back."""
    chosen = [ChosenPair(bare_id(pair.first), bare_id(pair.second)) for pair in pairs]
    decisions = call.engine.decisions.decide(call.caller, chosen, outcome)
    return {
        "outcome": outcome,
        "decided": [_decided_body(decision) for decision in decisions if decision.events],
        "skipped": [
            {"first": decision.pair.first, "second": decision.pair.second}
            for decision in decisions
            if not decision.events
        ],
        "events": [event for decision in decisions for event in decision.events],
    }


@manage.tool(example={"events": [1, 2]})
def undo_events(
    call: Call,
    *,
    events: Annotated[
        list[Annotated[int, Field(ge=1)]],
        Field(min_length=1, max_length=MAX_UNDONE_EVENTS, description="The numbers of events."),
    ],
) -> UndoneEvents:
    """Take several events back, the newest first, all or none."""
    newest_first = sorted(set(events), reverse=True)
    made = [call.engine.history.undo(call.caller, event) for event in newest_first]
    return {"undone": newest_first, "events": [event.seq for event in made]}


def _pair_body(proposal: Proposal) -> ProposedPair:
    return {
        "kind": proposal.kind,
        "first": _side_body(proposal.first),
        "second": _side_body(proposal.second),
        "similarity": proposal.similarity,
        "reason": proposal.reason,
    }


def _side_body(side: Side) -> DecisionSide:
    item = side.item
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "excerpt": side.excerpt,
        "cut": side.is_cut,
        "tags": list(item.tags),
        "project": item.project,
        "owner": item.owner,
        "version": item.version,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _decided_body(decision: Decision) -> DecidedPair:
    body: DecidedPair = {
        "first": decision.pair.first,
        "second": decision.pair.second,
        "events": decision.events,
    }
    if decision.merged is not None:
        body["merged"] = decision.merged
    return body
