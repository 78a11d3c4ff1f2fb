"""Predictive recall: the memories that are likely to be needed for what a user does now.

The score is the one that the SDK documents: likeness to the context, age, reads, and a little for
what lies beside the matter. Feedback on earlier predictions moves it.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from memolith.domain.attributes import Json
from memolith.domain.items import Item, Patch
from memolith.domain.queries import Filter, Query
from memolith.engine.validation import when
from memolith.tools.call import Call
from memolith.tools.lanonasis.arguments import MemoryId
from memolith.tools.lanonasis.intelligence import BUILT_IN, MAX_QUERY_TEXT_LENGTH
from memolith.tools.lanonasis.memory_types import memory_type_of
from memolith.tools.lanonasis.rest.api import lanonasis_api
from memolith.tools.lanonasis.rest.arguments import (
    MemoryContext,
    MemoryTypes,
    QueryScope,
    ResponseFormat,
    days_between,
    for_user,
)
from memolith.tools.lanonasis.rest.intelligence import INTELLIGENCE
from memolith.tools.lanonasis.rest.intelligence_models import (
    FeedbackKept,
    PredictedMemory,
    PredictiveResult,
    ScoreBreakdown,
    ScoringWeights,
)
from memolith.tools.lookup import find_item
from memolith.tools.signature import Argument

WEIGHTS: ScoringWeights = {
    "semantic": 0.4,
    "temporal": 0.3,
    "frequency": 0.2,
    "serendipity": 0.1,
}
HALF_LIFE_DAYS = 14
ADJACENT = (0.3, 0.6)
"""How alike a memory is that lies beside the matter."""
READS_OF_FULL_FREQUENCY = 20
CANDIDATES_BY_LIKENESS = 100
CANDIDATES_BY_AGE = 50
PREVIEW_CHARACTERS = 300
FEEDBACK = "prediction_feedback"
"""The attribute of a memory that counts what users said about predictions of it."""
WEIGHT_OF_FEEDBACK = 0.1
FEEDBACK_BOUNDS = (0.5, 1.3)
SURE = 80
OFTEN = 50
Texts = Annotated[list[str], Field(max_length=100)]


class PredictiveContext(Argument):
    """What the user works on."""

    currentProject: str | None = None
    recentTopics: Texts | None = None
    activeFiles: Texts | None = None
    contextText: str | None = None
    teamContext: str | None = None

    def text(self) -> str:
        """All of it as one text."""
        parts = (
            self.contextText,
            self.currentProject,
            " ".join(self.recentTopics or []),
            self.teamContext,
            " ".join(self.activeFiles or []),
        )
        return "\n".join(part for part in parts if part)[:MAX_QUERY_TEXT_LENGTH]


class Candidate(NamedTuple):
    """A memory that might be needed, and what speaks for it."""

    item: Item
    similarity: float
    reads: int
    last_read: str | None


class Scoring(NamedTuple):
    """What the scores of candidates depend on."""

    now: str
    window_days: int
    weights: ScoringWeights


@lanonasis_api.route("POST", INTELLIGENCE + "/predictive-recall", read_only=True)
def predict_memories(
    call: Call,
    *,
    userId: str,
    context: PredictiveContext,
    limit: Annotated[int, Field(ge=1, le=20)] = 5,
    minConfidence: Annotated[float, Field(ge=0, le=100)] = 40,
    includeSerendipity: bool = True,
    timeWindowDays: Annotated[int, Field(ge=1, le=365)] = 90,
    organizationId: str | None = None,
    topicId: str | None = None,
    memoryTypes: MemoryTypes = None,
    queryScope: QueryScope | None = None,
    responseFormat: ResponseFormat = "markdown",
) -> PredictiveResult:
    """The memories that are likely to be needed, the likeliest first."""
    call = for_user(call, userId, "userId")
    chosen = MemoryContext(organizationId, topicId, memoryTypes, queryScope).chosen(call)
    active = replace(chosen, statuses=("active",))
    candidates, warnings = _candidates(call, active, context.text())
    weights = WEIGHTS
    if not includeSerendipity:
        weights = {**WEIGHTS, "serendipity": 0.0}
    scoring = Scoring(call.engine.clock.now(), timeWindowDays, weights)
    predictions = [_prediction(candidate, scoring) for candidate in candidates]
    likely = [found for found in predictions if found["confidence"] >= minConfidence]
    likely.sort(key=lambda found: found["confidence"], reverse=True)
    shown = likely[:limit]
    ids = [found["id"] for found in shown]
    previews = call.engine.reading.beginnings(call.caller, ids, PREVIEW_CHARACTERS)
    for found in shown:
        found["contentPreview"] = previews.get(found["id"], "")
    call.note_hits(ids)
    _, model = call.engine.recall.state()
    return {
        "predictions": shown,
        "totalPredictions": len(shown),
        "memoriesAnalyzed": len(candidates),
        "contextUsed": {
            "projectContext": bool(context.currentProject),
            "topicsContext": bool(context.recentTopics),
            "filesContext": bool(context.activeFiles),
            "textContext": bool(context.contextText),
            "teamContext": bool(context.teamContext),
        },
        "scoringWeights": weights,
        "algorithmInfo": {
            "version": BUILT_IN,
            "embeddingModel": model,
            "timeWindowDays": timeWindowDays,
        },
        "generatedAt": scoring.now,
        "warnings": warnings,
    }


@lanonasis_api.route("POST", INTELLIGENCE + "/prediction-feedback")
def keep_prediction_feedback(
    call: Call,
    *,
    memoryId: MemoryId,
    userId: str,
    useful: bool,
    action: Literal["clicked", "saved", "dismissed", "ignored"],
    dismissReason: Literal["not_relevant", "already_know", "not_now", "other"] | None = None,
    timestamp: str | None = None,
) -> FeedbackKept:
    """Keep what a user thinks of a prediction; it moves the next ones."""
    call = for_user(call, userId, "userId")
    item = find_item(call, "memory", memoryId, "memoryId")
    feedback = _feedback(item)
    counted = ["useful" if useful else "not_useful", action]
    if dismissReason is not None:
        counted.append(dismissReason)
    for name in counted:
        feedback[name] = _count(feedback, name) + 1
    feedback["last"] = when("timestamp", timestamp) if timestamp else call.engine.clock.now()
    call.engine.writing.revise(call.caller, item.id, Patch(attributes={FEEDBACK: feedback}))
    return {
        "success": True,
        "message": "Kept; it moves the next predictions of this memory.",
        "memory_id": item.id,
    }


def _candidates(call: Call, chosen: Filter, text: str) -> tuple[list[Candidate], list[str]]:
    """The memories that are like the context and the newest ones, with what speaks for them."""
    items: dict[str, Item] = {}
    similarities: dict[str, float] = {}
    warnings: list[str] = []
    if text:
        query = Query(
            text,
            chosen,
            limit=CANDIDATES_BY_LIKENESS,
            threshold=0.0,
            alike=True,
            per_item=True,
        )
        found = call.engine.recall.search(call.caller, query)
        warnings.extend(found.warnings)
        items = {hit.item.id: hit.item for hit in found.hits}
        similarities = {hit.item.id: hit.score for hit in found.hits}
    newest = call.engine.reading.list_items(call.caller, chosen, limit=CANDIDATES_BY_AGE)
    for item in newest.items:
        items.setdefault(item.id, item)
    accesses = call.engine.reading.accesses(call.caller, list(items))
    candidates = []
    for id, item in items.items():
        reads, last_read = accesses.get(id, (0, None))
        candidates.append(Candidate(item, similarities.get(id, 0.0), reads, last_read))
    return candidates, warnings


def _prediction(candidate: Candidate, scoring: Scoring) -> PredictedMemory:
    item = candidate.item
    scores = _scores(candidate, scoring)
    reason_type, reason = _reason(candidate, scores)
    prediction: PredictedMemory = {
        "id": item.id,
        "title": item.title,
        "type": memory_type_of(item.namespace),
        "tags": list(item.tags),
        "contentPreview": "",
        "confidence": scores["combinedScore"],
        "reason": reason,
        "reasonType": reason_type,
        "scoreBreakdown": scores,
        "daysSinceCreated": days_between(item.created_at, scoring.now),
        "suggestedAction": _action(item, scores["combinedScore"], reason_type),
    }
    if candidate.last_read is not None:
        prediction["daysSinceAccessed"] = days_between(candidate.last_read, scoring.now)
    return prediction


def _scores(candidate: Candidate, scoring: Scoring) -> ScoreBreakdown:
    age_days = days_between(candidate.item.created_at, scoring.now)
    temporal = 0.0
    if age_days <= scoring.window_days:
        temporal = math.pow(0.5, age_days / HALF_LIFE_DAYS)
    frequency = min(1.0, math.log1p(candidate.reads) / math.log1p(READS_OF_FULL_FREQUENCY))
    serendipity = _adjacency(candidate.similarity) if scoring.weights["serendipity"] else 0.0
    combined = (
        scoring.weights["semantic"] * candidate.similarity
        + scoring.weights["temporal"] * temporal
        + scoring.weights["frequency"] * frequency
        + scoring.weights["serendipity"] * serendipity
    )
    return {
        "semanticScore": round(100 * candidate.similarity),
        "temporalScore": round(100 * temporal),
        "frequencyScore": round(100 * frequency),
        "serendipityScore": round(100 * serendipity),
        "combinedScore": min(100, round(100 * combined * _factor_of_feedback(candidate.item))),
    }


def _adjacency(similarity: float) -> float:
    """How well a memory lies beside the matter: best in the middle of the range."""
    lowest, highest = ADJACENT
    middle = (lowest + highest) / 2
    return max(0.0, 1 - abs(similarity - middle) / (highest - middle))


def _factor_of_feedback(item: Item) -> float:
    feedback = _feedback(item)
    balance = _count(feedback, "useful") - _count(feedback, "not_useful")
    lowest, highest = FEEDBACK_BOUNDS
    return min(max(1 + WEIGHT_OF_FEEDBACK * balance, lowest), highest)


def _reason(candidate: Candidate, scores: ScoreBreakdown) -> tuple[str, str]:
    """What speaks most for a prediction, as a word of the SDK and as a sentence."""
    if candidate.similarity >= ADJACENT[1]:
        return "semantic_match", "It is about what you work on."
    if scores["frequencyScore"] >= OFTEN:
        return "frequently_used", f"It was read {candidate.reads} times."
    if scores["serendipityScore"]:
        return "adjacent_discovery", "It lies beside what you work on."
    return "recent_related", "It was written lately."


def _action(item: Item, confidence: int, reason_type: str) -> str:
    if confidence >= SURE:
        return "apply"
    if reason_type == "adjacent_discovery":
        return "explore"
    if memory_type_of(item.namespace) in ("reference", "knowledge"):
        return "reference"
    return "review"


def _feedback(item: Item) -> dict[str, Json]:
    kept = item.attributes.get(FEEDBACK)
    return dict(kept) if isinstance(kept, dict) else {}


def _count(feedback: Mapping[str, Json], name: str) -> int:
    count = feedback.get(name)
    return count if isinstance(count, int) else 0
