"""Replies without a language model: sentences of a chat that fit its last message."""

from collections.abc import Sequence

from memolith.analysts.builtin.phrases import phrases, weight_of, whole_sentences
from memolith.domain.chunking import weigh
from memolith.ports.analyst import ChatMessage

MAX_QUOTED_SENTENCES = 5
LEAD = "No language model is set up here. This is said about it:"
NOTHING_SAID = "No language model is set up here, and nothing in the messages is about this."


def quote_what_fits(messages: Sequence[ChatMessage], max_tokens: int | None) -> str:
    """Quote what the earlier messages say about the last one, in their order."""
    *earlier, last = messages
    weights = phrases(last.content)
    sentences: list[str] = []
    for message in earlier:
        sentences += whole_sentences(message.content)
    fitting = [sentence for sentence in sentences if weight_of(sentence, weights)]
    fitting.sort(key=lambda sentence: -weight_of(sentence, weights))
    best = fitting[:MAX_QUOTED_SENTENCES]
    lines = [sentence for sentence in dict.fromkeys(sentences) if sentence in best]
    reply = "\n".join([LEAD, *lines]) if lines else NOTHING_SAID
    return reply if max_tokens is None else _cut(reply, max_tokens)


def _cut(text: str, max_tokens: int) -> str:
    """As many whole words of a text as fit, and at least the first."""
    while weigh(text) > max_tokens and " " in text:
        text = text.rsplit(None, 1)[0]
    return text
