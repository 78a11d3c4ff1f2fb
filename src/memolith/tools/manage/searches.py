"""Tell how a search came to its hits."""

from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from memolith.domain.queries import Query
from memolith.engine.recall import Explained
from memolith.tools.arguments import Limit, SearchMode
from memolith.tools.call import Call
from memolith.tools.core.models import RecallHit
from memolith.tools.core.search import hit_body, recall_filter
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import OBJECTS, Described
from memolith.tools.sekha.arguments import Offset

STEPS = {
    "visible": ("item can be seen by you", "items can be seen by you"),
    "fitting": ("of them passes the filters", "of them pass the filters"),
    "by_words": ("passage has the telling words", "passages have the telling words"),
    "by_meaning": ("passage is nearest by meaning", "passages are nearest by meaning"),
    "by_date": (
        "passage is of the days that the question names",
        "passages are of the days that the question names",
    ),
    "neighbours": ("passage stands beside the best ones", "passages stand beside the best ones"),
    "scored": ("passage was scored", "different passages were scored"),
    "judged": (
        "of the best was read together with the question",
        "of the best were read together with the question",
    ),
    "below": (
        "scored below the floor and was left out",
        "scored below the floor and were left out",
    ),
    "unquoted": (
        "lacks what the question quotes and was left out",
        "lack what the question quotes and were left out",
    ),
    "ranked": ("hit is ranked by its score", "hits are ranked by their score"),
}
"""What each step of a search did, said of one and of several."""


class FunnelStep(TypedDict):
    """One step of a search."""

    step: str
    count: int
    what: Annotated[str, Described("What was counted, in words that follow the number.")]


class ExplainedSearch(TypedDict):
    """The result of `explain_search`."""

    steps: list[FunnelStep]
    floor: Annotated[float, Described("The score below which hits are left out.")]
    hits: Annotated[list[RecallHit], OBJECTS]
    below: Annotated[list[RecallHit], OBJECTS]
    total: int
    warnings: NotRequired[list[str]]


@manage.tool(read_only=True, example={"query": "zebra"})
def explain_search(
    call: Call,
    *,
    query: str,
    kinds: list[str] | None = None,
    tags: list[str] | None = None,
    project: str | None = None,
    since: str | None = None,
    until: str | None = None,
    status: str | None = None,
    mode: SearchMode = "hybrid",
    deep: Annotated[bool, Field(description="Let a second network read the best hits.")] = False,
    min_score: Annotated[float | None, Field(ge=0, le=1)] = None,
    below: Annotated[
        int, Field(ge=0, le=50, description="How many of the best that were left out.")
    ] = 5,
    limit: Limit = 10,
    offset: Offset = 0,
) -> ExplainedSearch:
    """The hits of `recall`, with how many candidates each step of the search had, and the best of
    those that fell below the floor.
    """
    asked = Query(
        text=query,
        filter=recall_filter(kinds, tags, project, since, until, status),
        mode=mode,
        limit=limit,
        offset=offset,
        threshold=min_score,
        deep=True if deep else None,
        family="core",
    )
    explained = call.engine.recall.explain(call.caller, asked, below)
    found = explained.found
    shown = [*found.hits, *explained.below]
    marks = call.engine.reading.superseded(call.caller, [hit.item.id for hit in shown])
    return {
        "steps": _steps(explained, asked),
        "floor": explained.floor,
        "hits": [hit_body(hit, marks.get(hit.item.id)) for hit in found.hits],
        "below": [hit_body(hit, marks.get(hit.item.id)) for hit in explained.below],
        "total": found.total,
        "warnings": list(found.warnings),
    }


def _steps(explained: Explained, asked: Query) -> list[FunnelStep]:
    """The steps of a search that had something to do, in words."""
    funnel = explained.funnel
    steps = [_step("visible", explained.visible)]
    if explained.fitting != explained.visible:
        steps.append(_step("fitting", explained.fitting))
    if asked.mode != "vector":
        steps.append(_step("by_words", funnel.by_words))
    if asked.mode != "text":
        steps.append(_step("by_meaning", funnel.by_meaning))
    optional = (_step("by_date", funnel.by_date), _step("neighbours", funnel.neighbours))
    steps += [step for step in optional if step["count"]]
    steps.append(_step("scored", funnel.scored))
    later = (
        _step("judged", funnel.judged),
        _step("below", len(funnel.below)),
        _step("unquoted", funnel.unquoted),
    )
    steps += [step for step in later if step["count"]]
    steps.append(_step("ranked", explained.found.total))
    return steps


def _step(name: str, count: int) -> FunnelStep:
    one, several = STEPS[name]
    return {"step": name, "count": count, "what": one if count == 1 else several}
