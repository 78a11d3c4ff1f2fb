"""Ways of working over REST: what was done on which occasion, and what to do next.

A pattern is a memory of the type workflow. Its text is the occasion, so that searches find it as
they find every memory; the actions are attributes of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

from pydantic import ConfigDict, Field, JsonValue

from memolith.domain.attributes import Json
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.engine.statements import contradicts
from memolith.engine.validation import when
from memolith.tools.arguments import JsonObject
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import Threshold, own_memories, tenant_number
from memolith.tools.lanonasis.intelligence import BUILT_IN, MAX_QUERY_TEXT_LENGTH
from memolith.tools.lanonasis.memories import memory_quota
from memolith.tools.lanonasis.memory_types import BEHAVIOR_NAMESPACE
from memolith.tools.lanonasis.rest.api import lanonasis_api
from memolith.tools.lanonasis.rest.arguments import Offset, for_user
from memolith.tools.lanonasis.rest.intelligence import INTELLIGENCE
from memolith.tools.lanonasis.rest.intelligence_models import (
    ActionSuggestion,
    ActionSuggestions,
    PatternBody,
    PatternList,
    PatternRecorded,
    RecalledPattern,
    RecalledPatterns,
)
from memolith.tools.signature import STRICT, Argument

ATTRIBUTE = "behavior"
"""Where a pattern keeps its actions, its context and how it ended."""
DUPLICATE_THRESHOLD = 0.95
TITLE_CHARACTERS = 80
PATTERNS_LOOKED_AT = 20
DOUBT_OF_OUTCOME = {"partial": 0.7, "failed": 0.3}
"""What a way of working is worth that did not end well; 1 for any other outcome."""
Outcome = Literal["success", "partial", "failed"]
Occasion = Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"\S")]
ManyPatterns = Annotated[int, Field(ge=1, le=1000)]


class BehaviorAction(Argument):
    """One step of a way of working."""

    tool: Annotated[str, Field(min_length=1, max_length=200)]
    parameters: JsonObject | None = None
    outcome: Outcome | None = None
    timestamp: str | None = None
    duration_ms: Annotated[float, Field(ge=0)] | None = None


class StepDone(Argument):
    """A step that is done, as an object."""

    tool: Annotated[str, Field(min_length=1)]
    parameters: JsonObject | None = None
    params: JsonObject | None = None


class TaskContext(Argument):
    """The task at hand, and whatever else a client tells of it."""

    model_config = ConfigDict({**STRICT, "extra": "allow"})
    __pydantic_extra__: dict[str, JsonValue]

    current_task: Occasion


class TaskState(Argument):
    """The task at hand, what is done of it, and whatever else a client tells."""

    model_config = ConfigDict({**STRICT, "extra": "allow"})
    __pydantic_extra__: dict[str, JsonValue]

    task_description: Occasion
    completed_steps: list[Annotated[str, Field(min_length=1)] | StepDone] | None = None

    def steps(self) -> list[str]:
        """The steps that are done, as texts."""
        return [step if isinstance(step, str) else step.tool for step in self.completed_steps or []]


class PatternHit(NamedTuple):
    """A pattern that fits a task, and how well."""

    item: Item
    similarity: float


class PatternHits(NamedTuple):
    """The patterns that fit a task, and what the client should know."""

    hits: list[PatternHit]
    total: int
    warnings: list[str]


class NextAction(NamedTuple):
    """What came next in a pattern."""

    tool: str
    action: str
    confidence: float
    pattern: str


@lanonasis_api.route("POST", INTELLIGENCE + "/behavior-record", needs_read=True)
def record_behavior(
    call: Call,
    *,
    user_id: str,
    trigger: Occasion,
    actions: Annotated[list[BehaviorAction], Field(min_length=1, max_length=1000)],
    final_outcome: Annotated[str, Field(min_length=1, max_length=1000)],
    context: JsonObject | None = None,
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.7,
) -> PatternRecorded:
    """Keep a way of working; the same occasion again renews the pattern that is there."""
    call = for_user(call, user_id, "user_id")
    recorded: dict[str, Json] = {
        "context": context or {},
        "actions": [_kept_action(action) for action in actions],
        "final_outcome": final_outcome,
        "confidence": confidence,
        "recorded": 1,
    }
    known = _known_pattern(call, trigger)
    if known is not None:
        recorded["recorded"] = _times_recorded(known) + 1
        patch = Patch(attributes={ATTRIBUTE: recorded})
        written = call.engine.writing.revise(call.caller, known.id, patch)
        message = "This is a duplicate of a pattern that was there, which is now renewed."
    else:
        draft = Draft(
            title=trigger.strip().splitlines()[0][:TITLE_CHARACTERS],
            blocks=(Block(trigger),),
            namespace=BEHAVIOR_NAMESPACE,
            attributes={ATTRIBUTE: recorded},
        )
        written = call.engine.writing.remember(call.caller, draft, memory_quota(call))
        message = "The pattern is recorded."
    [body] = _pattern_bodies(call, [written.item.id])
    return {"data": body, "message": message, "redactions": dict(written.redactions)}


@lanonasis_api.route("POST", INTELLIGENCE + "/behavior-recall", read_only=True)
def recall_behavior(
    call: Call,
    *,
    user_id: str,
    context: TaskContext,
    limit: Annotated[int, Field(ge=1, le=20)] = 5,
    similarity_threshold: Threshold = None,
) -> RecalledPatterns:
    """The patterns that fit a task, the nearest first; counts as a use of each."""
    call = for_user(call, user_id, "user_id")
    found = _patterns_for(call, context.current_task, limit, similarity_threshold)
    for hit in found.hits:
        call.note_read(hit.item.id)
    bodies = _pattern_bodies(call, [hit.item.id for hit in found.hits])
    similarity_of = {hit.item.id: hit.similarity for hit in found.hits}
    patterns: list[RecalledPattern] = [
        {
            "pattern": body,
            "similarity_score": similarity_of[body["id"]],
            "relevance_reason": f"Its occasion is {similarity_of[body['id']]:.0%} like the task.",
        }
        for body in bodies
    ]
    return {"patterns": patterns, "total_found": found.total, "warnings": found.warnings}


@lanonasis_api.route("POST", INTELLIGENCE + "/behavior-suggest", read_only=True)
def suggest_action(
    call: Call,
    *,
    user_id: str,
    current_state: TaskState,
    max_suggestions: Annotated[int, Field(ge=1, le=10)] = 3,
) -> ActionSuggestions:
    """What came next in patterns that fit the task, the surest first."""
    call = for_user(call, user_id, "user_id")
    found = _patterns_for(call, current_state.task_description, PATTERNS_LOOKED_AT, None)
    steps = current_state.steps()
    by_tool: dict[str, list[NextAction]] = {}
    for hit in found.hits:
        following = _next_action(hit, steps)
        if following is not None:
            by_tool.setdefault(following.tool, []).append(following)
    suggestions = [_suggestion(following) for following in by_tool.values()]
    suggestions.sort(key=lambda suggestion: suggestion["confidence"], reverse=True)
    return {
        "suggestions": suggestions[:max_suggestions],
        "method": BUILT_IN,
        "warnings": found.warnings,
    }


@lanonasis_api.route("GET", INTELLIGENCE + "/behavior-patterns", read_only=True)
def list_behavior_patterns(
    call: Call, *, user_id: str, limit: ManyPatterns = 50, offset: Offset = 0
) -> PatternList:
    """The patterns of a user, the newest first."""
    call = for_user(call, user_id, "user_id")
    page = call.engine.reading.list_items(
        call.caller, _own_patterns(call), limit=limit, offset=offset
    )
    bodies = _pattern_bodies(call, [item.id for item in page.items])
    return {"patterns": bodies, "total": page.total}


def _own_patterns(call: Call) -> Filter:
    return replace(own_memories(call.caller), namespaces=(BEHAVIOR_NAMESPACE,))


def _kept_action(action: BehaviorAction) -> dict[str, JsonValue]:
    kept = action.model_dump(exclude_none=True)
    if action.timestamp is not None:
        kept["timestamp"] = when("actions.timestamp", action.timestamp)
    return kept


def _patterns_for(call: Call, task: str, limit: int, threshold: float | None) -> PatternHits:
    """The patterns whose occasion is like a task."""
    query = Query(
        task[:MAX_QUERY_TEXT_LENGTH],
        _own_patterns(call),
        limit=limit,
        threshold=tenant_number(call, "related_threshold", threshold),
        alike=True,
        per_item=True,
    )
    found = call.engine.recall.search(call.caller, query)
    hits = [PatternHit(hit.item, hit.score) for hit in found.hits]
    return PatternHits(hits, found.total, list(found.warnings))


def _known_pattern(call: Call, trigger: str) -> Item | None:
    """The pattern that has this occasion already, in other words perhaps."""
    hits = _patterns_for(call, trigger, 1, DUPLICATE_THRESHOLD).hits
    if not hits:
        return None
    known = hits[0].item
    _, blocks = call.engine.reading.read(call.caller, known.id)
    if contradicts(trigger, "\n".join(block.text for block in blocks)):
        return None
    return known


def _recorded(item: Item) -> dict[str, Json]:
    kept = item.attributes.get(ATTRIBUTE)
    return dict(kept) if isinstance(kept, dict) else {}


def _times_recorded(item: Item) -> int:
    times = _recorded(item).get("recorded")
    return times if isinstance(times, int) else 1


def _pattern_bodies(call: Call, ids: Sequence[str]) -> list[PatternBody]:
    """The patterns as they are now, in the order of the ids."""
    accesses = call.engine.reading.accesses(call.caller, ids)
    bodies: list[PatternBody] = []
    for item, blocks in call.engine.reading.read_many(call.caller, ids):
        recorded = _recorded(item)
        recalled, _ = accesses.get(item.id, (0, None))
        bodies.append(
            {
                "id": item.id,
                "user_id": item.owner,
                "trigger": "\n".join(block.text for block in blocks),
                "context": recorded.get("context", {}),
                "actions": recorded.get("actions", []),
                "final_outcome": recorded.get("final_outcome"),
                "confidence": recorded.get("confidence"),
                "use_count": recalled + _times_recorded(item),
                "created_at": item.created_at,
                "updated_at": item.updated_at,
            }
        )
    return bodies


def _next_action(hit: PatternHit, steps: Sequence[str]) -> NextAction | None:
    """What follows in a pattern after the last step that is done; None if nothing does."""
    recorded = _recorded(hit.item)
    kept = recorded.get("actions")
    actions = (
        [action for action in kept if isinstance(action, dict)] if isinstance(kept, list) else []
    )
    done = -1
    for number, action in enumerate(actions):
        if any(_is_done(str(action["tool"]), step) for step in steps):
            done = number
    ahead = [action for action in actions[done + 1 :] if action.get("outcome") != "failed"]
    if not ahead:
        return None
    following = ahead[0]
    tool = str(following["tool"])
    confidence = recorded.get("confidence")
    sure = confidence if isinstance(confidence, int | float) else 1.0
    sure *= DOUBT_OF_OUTCOME.get(str(recorded.get("final_outcome")), 1.0)
    return NextAction(
        tool=tool,
        action=_described(tool, following.get("parameters")),
        confidence=round(hit.similarity * sure, 3),
        pattern=hit.item.id,
    )


def _is_done(tool: str, step: str) -> bool:
    """Whether a step names a tool, with or without words around it."""
    return tool.casefold() in step.casefold()


def _described(tool: str, parameters: Json) -> str:
    if not isinstance(parameters, dict) or not parameters:
        return tool
    listed = ", ".join(f"{name}: {value}" for name, value in parameters.items())
    return f"{tool} ({listed})"


def _suggestion(following: Sequence[NextAction]) -> ActionSuggestion:
    """One suggestion of all patterns in which the same tool came next."""
    best = max(following, key=lambda action: action.confidence)
    count = len(following)
    patterns = "1 pattern" if count == 1 else f"{count} patterns"
    return {
        "action": best.action,
        "tool": best.tool,
        "confidence": best.confidence,
        "based_on_patterns": [action.pattern for action in following],
        "reasoning": f"It came next in {patterns} like this task.",
    }
