"""Does what can be done of a write before it takes the write lock."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass

from memolith.domain.ahead import working_ahead
from memolith.domain.attributes import Json
from memolith.engine.progress import Progress, no_progress
from memolith.engine.transactions import Transactions
from memolith.engine.validation import InputRules
from memolith.errors import MemolithError
from memolith.redaction.detector import redact

MIN_LONG_CHARACTERS = 1000
"""In a single call, shorter texts are indexed in less time than it takes to prepare for it."""

MIN_BULK_CHARACTERS = 40
"""Among many records, shorter texts are mostly ids and times."""


@dataclass(frozen=True)
class WorkAhead:
    """Redacts, cuts and indexes texts while nobody waits for it."""

    store: Transactions
    input_rules: InputRules
    long_characters: int = MIN_LONG_CHARACTERS

    @contextmanager
    def on(
        self, tenant: str, values: Iterable[object], progress: Progress = no_progress
    ) -> Iterator[None]:
        """Work on every text in these values; what the block does with the texts is then done.

        A value is JSON, or a dataclass that holds such values. What is wrong with one is told by
        whoever keeps it.
        """
        with working_ahead():
            listed = list(values)
            long_texts: list[str] = []
            for done, value in enumerate(listed, start=1):
                plain = _plain(value)
                long_texts += self._redacted(plain)
                progress(done, len(listed))
            if long_texts:
                with self.store.reading(tenant) as rows:
                    rows.work_ahead(tenant, long_texts)
            yield

    def _redacted(self, value: Json) -> list[str]:
        """Redact every text of a value; returns the long ones as they will be kept."""
        redacts = self.input_rules.secrets != "allow"
        if redacts:
            with suppress(MemolithError):
                self.input_rules.intake().without_secrets(value)
        long_texts = [text for text in _texts(value) if len(text) >= self.long_characters]
        # Many tools leave out the blanks around a text.
        long_texts += [text.strip() for text in long_texts if text != text.strip()]
        if redacts:
            return [redact(text)[0] for text in long_texts]
        return long_texts


def _plain(value: object) -> Json:
    """The texts of a value with the names that they stand under."""
    # Most values are texts.
    if isinstance(value, str):
        return value
    # Asking a tuple takes less time than `list | tuple`, and this runs for each value.
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return None


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _texts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
