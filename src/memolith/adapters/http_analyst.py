"""An analyst behind an OpenAI-compatible endpoint: asked for JSON, believed only as far as it can be checked."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from memolith.adapters.http_embedder import TRIES, pause
from memolith.engine.ports import Finding
from memolith.errors import Unavailable

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
        # httpx2 costs 0.1 CPU seconds to import, and only this analyst needs it.
        import httpx2
        self._errors = httpx2
        self.name = f"http/{model}"
        self._model, self._budget = model, budget
        self._day, self._spent = "", 0
        self._client = httpx2.Client(base_url=url.rstrip("/"), timeout=timeout_s, trust_env=False,
                                     headers={"Authorization": f"Bearer {key}"} if key else {})

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

    def _ask(self, task: str, text: str) -> Answer:
        today = time.strftime("%Y-%m-%d", time.gmtime())
        self._day, self._spent = today, self._spent if today == self._day else 0
        if self._spent >= self._budget:
            raise Unavailable("The budget of tokens for today is spent.")
        body = {"model": self._model, "messages": [{"role": "system", "content": task},
                                                   {"role": "user", "content": text}],
                "response_format": {"type": "json_schema", "json_schema": {
                    "name": "answer", "schema": Answer.model_json_schema()}}}
        for attempt in range(1, TRIES + 1):
            try:
                answer = self._client.post("/chat/completions", json=body)
            except (self._errors.HTTPError, self._errors.InvalidURL) as error:
                slow = isinstance(error, self._errors.TimeoutException)
                raise Unavailable("It did not answer in time." if slow else "It cannot be reached.") from None
            if answer.status_code not in (429, 500, 502, 503, 504) or attempt == TRIES:
                break
            time.sleep(pause(answer.headers.get("retry-after"), attempt))
        if answer.status_code != 200:
            raise Unavailable(f"It answered HTTP {answer.status_code}.")
        return self._read(answer)

    def _read(self, answer: Any) -> Answer:
        try:
            whole = answer.json()
            self._spent += int((whole.get("usage") or {}).get("total_tokens") or 0)
            message = whole["choices"][0]["message"]
            if message.get("refusal"):
                raise Unavailable("It refused.")
            return Answer.model_validate_json(message["content"])
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, ValidationError):
            raise Unavailable("Its answer is not in the form that was asked for.") from None
