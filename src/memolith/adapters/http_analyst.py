"""An analyst behind an OpenAI-compatible endpoint: asked for JSON, believed only as far as it can be checked."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import get_args

from pydantic import BaseModel, Field, ValidationError

from memolith.adapters.endpoint import Endpoint
from memolith.engine.model import EntityType, RelationType
from memolith.engine.ports import Finding
from memolith.errors import AnalystDown

LONGEST = 2000


class Found(BaseModel):
    """One finding as the model is asked to write it."""

    label: str = Field(min_length=1, max_length=100)
    text: str
    confidence: float = Field(ge=0, le=1)
    support: list[str]


class Answer(BaseModel):
    """What the model is asked for."""

    findings: list[Found]
    summary: str


class HttpAnalyst:
    """Asks `POST {url}/chat/completions`, within a budget of tokens a day."""

    def __init__(self, url: str, model: str, key: str, budget: int, timeout_s: float) -> None:
        self.name = f"http/{model}"
        self._endpoint = Endpoint("analyst", url, key, AnalystDown)
        self._model, self._budget, self._timeout_s = model, budget, timeout_s
        self._day, self._spent = "", 0

    def tags(self, text: str, known: Sequence[str], most: int) -> list[Finding]:
        """Tags that suit a text."""
        answer = self._ask(f"Suggest at most {most} short lower-case tags for the text, best first: the tag as label, "
                           f"the reason as text, nothing as support. Prefer tags of this list where they fit: "
                           f"{', '.join(known[:100])}", text[:10 * LONGEST])
        return sorted((Finding(one.label, one.text, one.confidence) for one in answer.findings),
                      key=lambda one: -one.confidence)[:most]

    def insights(self, groups: Sequence[Sequence[tuple[str, str]]], topic: str) -> tuple[list[Finding], str]:
        """Insights that name memories which are really there."""
        notes = {id: text[:LONGEST] for group in groups for id, text in group}
        answer = self._ask("Find themes, decisions, open questions and gaps in these memories (an object of texts by "
                           f"id){f' about {topic}' if topic else ''}: the category as label, the insight as text, the "
                           "ids behind it as support. Then sum up.", json.dumps(notes, ensure_ascii=False))
        return [Finding(one.label, one.text, one.confidence, tuple(one.support)) for one in answer.findings
                if one.support and notes.keys() >= set(one.support)], answer.summary

    def entities(self, text: str, known: Mapping[str, str]) -> list[Finding]:
        """Entities and relations whose names and sentences are really in the text."""
        answer = self._ask(
            f"Find entities: the type ({', '.join(get_args(EntityType))}) as label, the name as written as text, "
            f"no support. Then what sentences say of two of them: the type ({', '.join(get_args(RelationType))}) as "
            "label, the sentence word for word as text, both names as support. Known already, as types by name: "
            + json.dumps(dict(list(known.items())[:100]), ensure_ascii=False), text[:10 * LONGEST])
        return [Finding(one.label, one.text, one.confidence, tuple(one.support)) for one in answer.findings
                if one.label in get_args(RelationType if one.support else EntityType) and len(one.support) in (0, 2)
                and all(part in text for part in (one.text, *one.support))]

    def _ask(self, task: str, text: str) -> Answer:
        today = time.strftime("%Y-%m-%d", time.gmtime())
        self._day, self._spent = today, self._spent if today == self._day else 0
        if self._spent >= self._budget:
            raise AnalystDown("The budget of tokens for today is spent.")
        body = {"model": self._model, "messages": [{"role": "system", "content": task},
                                                   {"role": "user", "content": text}],
                "response_format": {"type": "json_schema", "json_schema": {
                    "name": "answer", "schema": Answer.model_json_schema()}}}
        answer = self._endpoint.post("/chat/completions", body, self._timeout_s)
        try:
            whole = json.loads(answer)
            self._spent += int((whole.get("usage") or {}).get("total_tokens") or 0)
            message = whole["choices"][0]["message"]
            if message.get("refusal"):
                raise AnalystDown("The analyst refused.")
            return Answer.model_validate_json(message["content"])
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, ValidationError):
            raise AnalystDown("The analyst's answer is not in the form that was asked for.") from None
