"""Suggest conversations to archive or to delete."""

from typing import Annotated

from pydantic import Field

from memolith.tools.call import Call
from memolith.tools.sekha.dialect import sekha
from memolith.tools.sekha.models import PruneSuggestions

MAX_SUGGESTIONS = 1000


@sekha.tool(read_only=True, example={"threshold_days": 0})
def memory_prune(
    call: Call,
    *,
    threshold_days: Annotated[
        int, Field(ge=0, le=36_500, description="Not looked at for so many days.")
    ] = 30,
    importance_threshold: Annotated[
        float, Field(ge=0, le=10, description="At most so important.")
    ] = 5.0,
) -> PruneSuggestions:
    """Suggest conversations to archive or to delete; nothing is changed."""
    report = call.engine.conversations.prune(
        call.caller, threshold_days, importance_threshold, MAX_SUGGESTIONS
    )
    warnings = []
    if len(report.candidates) < report.total:
        warnings.append(f"The first {len(report.candidates):,} are shown.")
    return {
        "threshold_days": threshold_days,
        "importance_threshold": importance_threshold,
        "total_suggestions": report.total,
        "estimated_token_savings": report.total_tokens,
        "suggestions": [
            {
                "conversation_id": candidate.item.id,
                "conversation_label": candidate.item.title,
                "last_accessed": candidate.last_accessed,
                "message_count": candidate.item.blocks,
                "token_estimate": candidate.tokens,
                "preview": candidate.preview,
                "importance_score": candidate.importance,
                "recommendation": candidate.recommendation,
            }
            for candidate in report.candidates
        ],
        "warnings": warnings,
    }
