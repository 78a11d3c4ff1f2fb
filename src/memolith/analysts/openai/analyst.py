"""A language model behind HTTP that reads texts."""

import json
import time
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, Field

from memolith.analysts.openai.client import Endpoint, OpenAIClient
from memolith.domain.links import EntityType, RelationType
from memolith.errors import AnalystDown, translated
from memolith.ports.analyst import Finding

TASKS_FILE = Path(__file__).parents[1] / "data" / "model_tasks.toml"
MAX_TEXT_CHARS = 20_000
MAX_MEMORY_CHARS = 2_000
"""How much of each memory is read where several are."""

MAX_SENT_TAGS = 100
MAX_SENT_ENTITIES = 100


class ModelFinding(BaseModel):
    """A finding as the model is asked to write it; data/model_tasks.toml says what is what."""

    label: str = Field(min_length=1, max_length=100)
    text: str
    confidence: float = Field(ge=0, le=1)
    support: list[str]


class ModelAnswer(BaseModel):
    """What the model is asked for."""

    findings: list[ModelFinding]
    summary: str


class HttpAnalyst:
    """Asks `POST {url}/chat/completions`, within a budget of tokens a day."""

    def __init__(self, url: str, model: str, key: str, budget: int, timeout_s: float) -> None:
        self.name = f"http/{model}"
        self._client = OpenAIClient(Endpoint(url, model, key, timeout_s), "analyst", AnalystDown)
        self._budget = budget
        self._day = ""
        self._spent_tokens = 0
        self._rewritten: dict[tuple[str, ...], str] = {}

    def tags(self, text: str, known: Sequence[str], most: int) -> list[Finding]:
        listed = ", ".join(known[:MAX_SENT_TAGS])
        task = _task("tags").format(most=most, known=listed)
        found = _findings(self._ask(task, text[:MAX_TEXT_CHARS]))
        return sorted(found, key=lambda finding: -finding.confidence)[:most]

    def insights(
        self, groups: Sequence[Sequence[tuple[str, str]]], topic: str
    ) -> tuple[list[Finding], str]:
        """Return the insights that name memories which are really there."""
        memories = {id: text[:MAX_MEMORY_CHARS] for group in groups for id, text in group}
        about = f" about {topic}" if topic else ""
        answer = self._ask(
            _task("insights").format(about=about), json.dumps(memories, ensure_ascii=False)
        )
        supported = [
            finding
            for finding in _findings(answer)
            if finding.support and memories.keys() >= set(finding.support)
        ]
        return supported, answer.summary

    def entities(self, text: str, known: Mapping[str, str]) -> list[Finding]:
        """Return the entities and relations whose names and sentences are really in the text."""
        familiar = dict(list(known.items())[:MAX_SENT_ENTITIES])
        task = _task("entities").format(
            entities=", ".join(get_args(EntityType)),
            relations=", ".join(get_args(RelationType)),
            known=json.dumps(familiar, ensure_ascii=False),
        )
        found = _findings(self._ask(task, text[:MAX_TEXT_CHARS]))
        return [finding for finding in found if _is_in_text(finding, text)]

    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        """Return the text that the model wrote.

        The same texts are sent once, so that a plan is carried out as it was shown.
        """
        key = (task, *texts)
        if key not in self._rewritten:
            aim = _tasks()["rewrite_aims"][task]
            answer = self._ask(_task("rewrite").format(aim=aim), json.dumps(texts))
            self._rewritten[key] = answer.summary.strip() or texts[0]
        return self._rewritten[key]

    def _ask(self, task: str, text: str) -> ModelAnswer:
        today = time.strftime("%Y-%m-%d", time.gmtime())
        if today != self._day:
            self._day = today
            self._spent_tokens = 0
        if self._spent_tokens >= self._budget:
            raise AnalystDown("The budget of tokens for today is spent.")
        body: dict[str, object] = {
            "messages": [
                {"role": "system", "content": task},
                {"role": "user", "content": text},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": ModelAnswer.model_json_schema()},
            },
        }
        answer = self._client.post("/chat/completions", body, self._client.endpoint.timeout_s)
        with translated(
            (ValueError, KeyError, IndexError, TypeError, AttributeError),
            AnalystDown,
            "The analyst's answer is not in the form that was asked for.",
        ):
            completion = json.loads(answer)
            usage = completion.get("usage") or {}
            self._spent_tokens += int(usage.get("total_tokens") or 0)
            message = completion["choices"][0]["message"]
            if message.get("refusal"):
                raise AnalystDown("The analyst refused.")
            return ModelAnswer.model_validate_json(message["content"])


@cache
def _tasks() -> dict[str, Any]:
    return tomllib.loads(TASKS_FILE.read_text(encoding="utf-8"))


def _task(name: str) -> str:
    return str(_tasks()[name])


def _findings(answer: ModelAnswer) -> list[Finding]:
    return [
        Finding(finding.label, finding.text, finding.confidence, tuple(finding.support))
        for finding in answer.findings
    ]


def _is_in_text(finding: Finding, text: str) -> bool:
    """Whether the model did not make up a type, a name or a sentence."""
    if len(finding.support) == 2:
        types = get_args(RelationType)
    elif not finding.support:
        types = get_args(EntityType)
    else:
        return False
    return finding.label in types and all(part in text for part in (finding.text, *finding.support))
