"""Servers that speak OpenAI's protocol (OpenAI, Ollama, vLLM, LM Studio and others): an embedder and an analyst."""

import json
import math
import struct
import time
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, get_args

import httpx2
from pydantic import BaseModel, Field, FiniteFloat, TypeAdapter

from memolith.domain.links import EntityType, RelationType
from memolith.errors import AnalystDown, EmbedderDown, MemolithError, translated
from memolith.ports.analyst import Finding

BATCH, SEARCH_S, LONGEST = 64, 5.0, 2000
TRIES, BUSY, LONGEST_PAUSE_S, QUIET_FACTOR = 3, (429, 500, 502, 503, 504), 5.0, 2
VECTORS = TypeAdapter(list[Annotated[list[FiniteFloat], Field(min_length=1)]])
TASKS = tomllib.loads(Path(__file__).with_name("tasks.toml").read_text(encoding="utf-8"))


class Endpoint:
    """Posts JSON, asks again while the server is busy, gives up when it is gone; its settings are named by its part."""

    part: str
    failure: type[MemolithError]
    quiet_until = 0.0

    def __init__(self, url: str, model: str, key: str, timeout_s: float) -> None:
        self._url, self._model, self._key, self._timeout_s = url, model, key, timeout_s

    @cached_property
    def _client(self) -> httpx2.Client:
        if not self._key.isascii() or not self._key.isprintable():
            raise self.failure(
                f"{self.part}_key has characters that no HTTP header can carry; check it."
            )
        return httpx2.Client(
            base_url=self._url.rstrip("/"),
            trust_env=False,
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
        )

    def post(self, path: str, body: dict[str, object], timeout_s: float) -> bytes:
        part = self.part
        for attempt in range(1, TRIES + 1):
            started = time.monotonic()
            try:
                answer = self._client.post(
                    path, json={"model": self._model, **body}, timeout=timeout_s
                )
            except httpx2.TimeoutException as error:
                # Searches go on without it for a while, so that not every one of them waits as long.
                self.quiet_until = time.monotonic() + QUIET_FACTOR * (time.monotonic() - started)
                raise self.failure(f"The {part} did not answer in time.") from error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise self.failure(
                    f"The {part} cannot be reached; check {part}_url and that it runs."
                ) from error
            if answer.status_code not in BUSY or attempt == TRIES:
                break
            asked = answer.headers.get("retry-after", "")
            seconds = float(asked) if asked.replace(".", "", 1).isdecimal() else 0.2 * 2**attempt
            time.sleep(min(seconds, LONGEST_PAUSE_S))
        if answer.status_code != 200:
            raise self.failure(
                f"The {part} answered HTTP {answer.status_code}; check {part}_url, {part}_model and "
                f"{part}_key."
            )
        return answer.content


class HttpEmbedder(Endpoint):
    """Asks `POST {url}/embeddings` for vectors."""

    part, failure = "embedder", EmbedderDown

    def __init__(
        self, url: str, model: str, key: str = "", dimension: int = 0, timeout_s: float = 20.0
    ) -> None:
        super().__init__(url, model, key, timeout_s)
        self._given_dimension = dimension

    @cached_property
    def dimension(self) -> int:
        """How long the vectors are; asked for once, if the settings do not say."""
        return self._given_dimension or len(self._vectors(["dimension"])[0])

    @property
    def id(self) -> str:
        """The model's name; vectors of another length are those of another model, whatever the server calls it."""
        return f"http/{self._model}/{self.dimension}"

    def wait(self, timeout_s: float) -> bool:
        """Whether the embedder has not just failed; there is nothing to load."""
        return time.monotonic() >= self.quiet_until

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """One unit vector per text; None for a text that is empty or means nothing to the model."""
        units: list[bytes | None] = [None] * len(texts)
        wanted = [n for n, text in enumerate(texts) if text.strip()]
        made = [
            vector
            for start in range(0, len(wanted), BATCH)
            for vector in self._vectors([texts[n] for n in wanted[start : start + BATCH]])
        ]
        for n, vector in zip(wanted, made, strict=True):
            if len(vector) != self.dimension:
                raise EmbedderDown(
                    f"{self.id} gave a vector of {len(vector)} numbers where {self.dimension} were "
                    "expected; set embedder_dimension or use another model."
                )
            if length := math.hypot(*vector):
                units[n] = struct.pack(f"<{len(vector)}f", *(number / length for number in vector))
        return units

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        # Somebody waits for a search; a bulk may take its time.
        patience = min(self._timeout_s, SEARCH_S) if len(texts) <= 4 else self._timeout_s
        answer = self.post("/embeddings", {"input": texts}, patience)
        with translated(
            (ValueError, KeyError, TypeError),
            EmbedderDown,
            "The embedder's answer is not in OpenAI's form.",
        ):
            found = sorted(
                (int(row["index"]), row["embedding"]) for row in json.loads(answer)["data"]
            )
            vectors = VECTORS.validate_python([vector for _, vector in found])
        if len(vectors) != len(texts):
            raise EmbedderDown(f"The embedder gave {len(vectors)} vectors for {len(texts)} texts.")
        return vectors


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


class HttpAnalyst(Endpoint):
    """Asks `POST {url}/chat/completions`, within a budget of tokens a day."""

    part, failure = "analyst", AnalystDown

    def __init__(self, url: str, model: str, key: str, budget: int, timeout_s: float) -> None:
        super().__init__(url, model, key, timeout_s)
        self.name, self._budget, self._day, self._spent = f"http/{model}", budget, "", 0
        self._written: dict[tuple[str, ...], str] = {}

    def tags(self, text: str, known: Sequence[str], most: int) -> list[Finding]:
        found, _ = self._ask("tags", text[: 10 * LONGEST], most=most, known=", ".join(known[:100]))
        return sorted(found, key=lambda one: -one.confidence)[:most]

    def insights(
        self, groups: Sequence[Sequence[tuple[str, str]]], topic: str
    ) -> tuple[list[Finding], str]:
        """Insights that name memories which are really there."""
        notes = {id: text[:LONGEST] for group in groups for id, text in group}
        found, summary = self._ask(
            "insights", json.dumps(notes, ensure_ascii=False), about=topic and f" about {topic}"
        )
        return [one for one in found if one.support and notes.keys() >= set(one.support)], summary

    def entities(self, text: str, known: Mapping[str, str]) -> list[Finding]:
        """Entities and relations whose names and sentences are really in the text."""
        found, _ = self._ask(
            "entities",
            text[: 10 * LONGEST],
            entities=", ".join(get_args(EntityType)),
            relations=", ".join(get_args(RelationType)),
            known=json.dumps(dict(list(known.items())[:100]), ensure_ascii=False),
        )
        return [
            one
            for one in found
            if len(one.support) in (0, 2)
            and one.label in get_args(RelationType if one.support else EntityType)
            and all(part in text for part in (one.text, *one.support))
        ]

    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        """The text that was asked for; asked once, so that a plan is carried out as it was shown."""
        if (task, *texts) not in self._written:
            _, said = self._ask("rewrite", json.dumps(texts), aim=TASKS["rewritings"][task])
            self._written[task, *texts] = said.strip() or texts[0]
        return self._written[task, *texts]

    def _ask(self, task: str, text: str, **named: object) -> tuple[list[Finding], str]:
        """What the model found, and its summary."""
        today = time.strftime("%Y-%m-%d", time.gmtime())
        self._day, self._spent = today, self._spent if today == self._day else 0
        if self._spent >= self._budget:
            raise AnalystDown("The budget of tokens for today is spent.")
        form = {"name": "answer", "schema": Answer.model_json_schema()}
        answer = self.post(
            "/chat/completions",
            {
                "messages": [
                    {"role": "system", "content": TASKS[task].format(**named)},
                    {"role": "user", "content": text},
                ],
                "response_format": {"type": "json_schema", "json_schema": form},
            },
            self._timeout_s,
        )
        with translated(
            (ValueError, KeyError, IndexError, TypeError, AttributeError),
            AnalystDown,
            "The analyst's answer is not in the form that was asked for.",
        ):
            whole = json.loads(answer)
            self._spent += int((whole.get("usage") or {}).get("total_tokens") or 0)
            message = whole["choices"][0]["message"]
            if message.get("refusal"):
                raise AnalystDown("The analyst refused.")
            made = Answer.model_validate_json(message["content"])
        return [
            Finding(one.label, one.text, one.confidence, tuple(one.support))
            for one in made.findings
        ], made.summary
