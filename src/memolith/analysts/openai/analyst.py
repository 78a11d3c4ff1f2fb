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
from memolith.ports.analyst import (
    ChatMessage,
    EntityReport,
    FoundEntity,
    FoundInsight,
    FoundRelation,
    FoundTag,
    InsightReport,
    Memory,
    ReplyOptions,
)

TASKS_FILE = Path(__file__).parents[1] / "data" / "model_tasks.toml"
MAX_TEXT_CHARS = 20_000
MAX_MEMORY_CHARS = 2_000
"""How much of each memory is read where several are."""

MAX_SENT_TAGS = 100
MAX_SENT_ENTITIES = 100
WRONG_FORM = "The analyst's answer is not in the form that was asked for."


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

    def tags(self, text: str, own_tags: Sequence[str], limit: int) -> list[FoundTag]:
        """Suggest tags for a text, the surest first."""
        listed = ", ".join(own_tags[:MAX_SENT_TAGS])
        task = _task("tags").format(most=limit, known=listed)
        answer = self._ask(task, text[:MAX_TEXT_CHARS])
        tags = [
            FoundTag(finding.label, finding.text, finding.confidence) for finding in answer.findings
        ]
        tags.sort(key=lambda found: -found.confidence)
        return tags[:limit]

    def insights(self, groups: Sequence[Sequence[Memory]], topic: str) -> InsightReport:
        """Return the insights that name memories which are really there."""
        memories = {
            memory.id: memory.text[:MAX_MEMORY_CHARS] for group in groups for memory in group
        }
        about = f" about {topic}" if topic else ""
        answer = self._ask(
            _task("insights").format(about=about), json.dumps(memories, ensure_ascii=False)
        )
        insights = [
            FoundInsight(finding.label, finding.text, finding.confidence, tuple(finding.support))
            for finding in answer.findings
            if finding.support and memories.keys() >= set(finding.support)
        ]
        return InsightReport(insights, answer.summary)

    def entities(self, text: str, familiar_types: Mapping[str, str]) -> EntityReport:
        """Return the entities and relations whose names and sentences are really in the text."""
        familiar = dict(list(familiar_types.items())[:MAX_SENT_ENTITIES])
        task = _task("entities").format(
            entities=", ".join(get_args(EntityType)),
            relations=", ".join(get_args(RelationType)),
            known=json.dumps(familiar, ensure_ascii=False),
        )
        answer = self._ask(task, text[:MAX_TEXT_CHARS])
        report = EntityReport([], [])
        for finding in answer.findings:
            # A model may make up names and sentences.
            if not all(part in text for part in (finding.text, *finding.support)):
                continue
            if not finding.support and finding.label in get_args(EntityType):
                entity = FoundEntity(finding.text, finding.label, finding.confidence)
                report.entities.append(entity)
            if len(finding.support) == 2 and finding.label in get_args(RelationType):
                source, target = finding.support
                relation = FoundRelation(
                    finding.label, source, target, finding.text, finding.confidence
                )
                report.relations.append(relation)
        return report

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

    def facts(self, messages: Sequence[ChatMessage]) -> list[str]:
        """Return the facts that the model found, each once."""
        talk = "\n".join(f"{message.role}: {message.content}" for message in messages)
        answer = self._ask(_task("facts"), talk[:MAX_TEXT_CHARS])
        texts = (finding.text.strip() for finding in answer.findings)
        return list(dict.fromkeys(text for text in texts if text))

    def reply(self, messages: Sequence[ChatMessage], options: ReplyOptions) -> str:
        """Return what the model says to the messages."""
        body: dict[str, object] = {"messages": [message._asdict() for message in messages]}
        chosen = {name: value for name, value in options._asdict().items() if value is not None}
        return self._complete({**body, **chosen})

    def _ask(self, task: str, text: str) -> ModelAnswer:
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
        content = self._complete(body)
        with translated((ValueError,), AnalystDown, WRONG_FORM):
            return ModelAnswer.model_validate_json(content)

    def _complete(self, body: dict[str, object]) -> str:
        """What the model says to a request, within the budget of the day."""
        today = time.strftime("%Y-%m-%d", time.gmtime())
        if today != self._day:
            self._day = today
            self._spent_tokens = 0
        if self._spent_tokens >= self._budget:
            raise AnalystDown("The budget of tokens for today is spent.")
        answer = self._client.post("/chat/completions", body, self._client.endpoint.timeout_s)
        with translated(
            (ValueError, KeyError, IndexError, TypeError, AttributeError), AnalystDown, WRONG_FORM
        ):
            completion = json.loads(answer)
            usage = completion.get("usage") or {}
            self._spent_tokens += int(usage.get("total_tokens") or 0)
            message = completion["choices"][0]["message"]
            if message.get("refusal"):
                raise AnalystDown("The analyst refused.")
            return str(message["content"] or "")


@cache
def _tasks() -> dict[str, Any]:
    return tomllib.loads(TASKS_FILE.read_text(encoding="utf-8"))


def _task(name: str) -> str:
    return str(_tasks()[name])
