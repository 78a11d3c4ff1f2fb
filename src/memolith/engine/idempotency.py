"""Every write once: a call that is repeated under its idempotency key gets its first answer again.

The answer is kept in the transaction of the write. So whoever repeats a call, because the answer
was lost or the server was killed, finds the write together with its answer, or neither.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar, cast

from memolith.domain.attributes import exact
from memolith.domain.callers import Caller
from memolith.domain.clock import DAY_S, shifted
from memolith.engine.transactions import CallTransaction, Transactions
from memolith.engine.validation import checked_text
from memolith.engine.work_ahead import WorkAhead
from memolith.errors import Conflict, InvalidInput, MemolithError
from memolith.ports.answers import KeptAnswer
from memolith.ports.cipher import Cipher
from memolith.ports.clock import Clock
from memolith.ports.store import Reader, Writer

log = logging.getLogger(__name__)

MAX_KEY_LENGTH = 200
DAYS_KEPT = 30
"""How long a call can be repeated under its key."""

Body = dict[str, object]
Result = TypeVar("Result")


class Request(NamedTuple):
    """A call as its repetition is recognised: the tool, the arguments, the rights, the key."""

    tool: str
    arguments: Mapping[str, object]
    """Without those that have their default, which one client spells out and another leaves out."""
    key: str | None
    rights: tuple[object, ...] = ()
    """What the caller may see, which the answer depends on."""
    shows_secret: bool = False
    """Whether the answer shows a secret, so that it is kept as ciphertext only."""
    as_given: Mapping[str, object] | None = None
    """The arguments with defaults that are spelled out. Version 0.1.0 kept answers by these."""


class _Signature(NamedTuple):
    """Digests of a key and of the request that came with it."""

    key: str
    request: str
    as_given: str
    """That of the request with its arguments as they were given."""


class _Repeated(Exception):
    """The call was carried out by somebody else in the meantime; carries its answer."""

    def __init__(self, body: Body) -> None:
        super().__init__("repeated")
        self.body = body


class Once:
    """Runs a writing call as one transaction, and at most once under its key."""

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        cipher: Callable[[], Cipher],
        ahead: WorkAhead,
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._cipher = cipher
        self._ahead = ahead

    def run(
        self,
        caller: Caller,
        request: Request,
        action: Callable[[], Result],
        word: Callable[[Result], Body],
    ) -> Body:
        """The result of the action in words, or what the first call under this key was answered."""
        signature = _sign(request)
        if signature is None:
            return self._run(caller, request, None, action, word)
        with self._transactions.reading(caller.tenant) as rows:
            first = self._first_answer(rows, caller, signature)
        if first is not None:
            return first
        try:
            return self._run(caller, request, signature, action, word)
        except _Repeated as repeated:
            return repeated.body

    def _run(
        self,
        caller: Caller,
        request: Request,
        signature: _Signature | None,
        action: Callable[[], Result],
        word: Callable[[Result], Body],
    ) -> Body:
        def stop_if_repeated(rows: Writer) -> None:
            # Another call may have come first since the look before this one.
            if signature is not None:
                first = self._first_answer(rows, caller, signature)
                if first is not None:
                    raise _Repeated(first)

        with (
            self._ahead.on(caller.tenant, [request.arguments]),
            self._transactions.call(stop_if_repeated) as call,
        ):
            result = action()
            body = word(result)
            if signature is not None:
                self._keep(call, caller, request, signature, body)
            has_more_to_do = call.has_more_to_do
        if not has_more_to_do:
            return body
        # What was left to do after the commit may have found something to tell.
        final_body = word(result)
        if signature is not None and final_body != body:
            self._keep_again(caller, request, signature, final_body)
        return final_body

    def _first_answer(self, rows: Reader, caller: Caller, signature: _Signature) -> Body | None:
        """What the first call under this key was answered; None if there was none."""
        kept = rows.answer(caller.tenant, caller.user, signature.key)
        if kept is None or kept.at < self._oldest_kept():
            return None
        if kept.request not in (signature.request, signature.as_given):
            raise Conflict(
                "This idempotency key was used for another call; take a new key for each call.",
                field="idempotency_key",
            )
        if not kept.body:
            raise Conflict(
                "This call was carried out before. Its answer quoted an item that was erased "
                "since, so it is gone.",
                field="idempotency_key",
            )
        text = kept.body
        if kept.sealed:
            text = self._cipher().open(text, _context(caller, signature))
        return cast(Body, json.loads(text))

    def _keep(
        self,
        call: CallTransaction,
        caller: Caller,
        request: Request,
        signature: _Signature,
        body: Body,
    ) -> None:
        """Keep the answer in the transaction of the call, or in a new one if it wrote nothing."""
        answer = self._answer(caller, request, signature, body)
        if call.writer is not None:
            call.writer.put_answer(caller.tenant, answer)
            return
        with self._transactions.writing(caller.tenant) as rows:
            rows.put_answer(caller.tenant, answer)

    def _keep_again(
        self, caller: Caller, request: Request, signature: _Signature, body: Body
    ) -> None:
        try:
            with self._transactions.writing(caller.tenant) as rows:
                answer = self._answer(caller, request, signature, body)
                rows.put_answer(caller.tenant, answer)
        except MemolithError as error:
            # The write is done and told. A repeated call gets the answer without the addition.
            log.warning("the addition to an answer was not kept: %s", error)

    def _answer(
        self, caller: Caller, request: Request, signature: _Signature, body: Body
    ) -> KeptAnswer:
        text = json.dumps(body, ensure_ascii=False)
        if request.shows_secret:
            text = self._cipher().seal(text, _context(caller, signature))
        return KeptAnswer(
            actor=caller.user,
            key=signature.key,
            request=signature.request,
            body=text,
            sealed=request.shows_secret,
            at=self._clock.now(),
        )

    def after_commit(self, action: Callable[[], None]) -> None:
        """Do this when the call has written, and not if it fails."""
        self._transactions.after_commit(action)

    def forget_old_answers(self) -> None:
        """Remove the answers that are older than a call can be repeated."""
        oldest_kept = self._oldest_kept()
        while self._has_answers(oldest_kept):
            with self._transactions.writing(None) as rows:
                rows.delete_answers(oldest_kept)

    def _has_answers(self, before: str) -> bool:
        with self._transactions.reading(None) as rows:
            return rows.has_answers(before)

    def _oldest_kept(self) -> str:
        return shifted(self._clock.now(), -DAYS_KEPT * DAY_S)


def _sign(request: Request) -> _Signature | None:
    """The signature of a request; None where the caller gave no key."""
    key = request.key
    if key is None:
        return None
    if not checked_text("idempotency_key", key).strip() or len(key) > MAX_KEY_LENGTH:
        raise InvalidInput(
            f"An idempotency key has 1 to {MAX_KEY_LENGTH} characters.", field="idempotency_key"
        )
    as_given = request.arguments if request.as_given is None else request.as_given
    return _Signature(
        _digest(key),
        _digest(exact((request.tool, request.arguments, request.rights))),
        _digest(exact((request.tool, as_given, request.rights))),
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _context(caller: Caller, signature: _Signature) -> str:
    """What a sealed answer is bound to: under another key it cannot be opened."""
    return "\n".join(("answer", caller.tenant, caller.user, signature.key))
