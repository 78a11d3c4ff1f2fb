"""Signal words: they tell that a text may be worth saving, and in which namespace."""

import re

from memolith.engine.namespaces import NAMESPACES

MIN_CHARACTERS = 20
"""A text that is not longer says too little to be saved."""


def signals(text: str) -> list[str]:
    """The namespaces whose signal words stand in a text, as whole words in any case."""
    words = " ".join(re.findall(r"[^\W_]+", text.lower()))
    spaced = f" {words} "
    found = []
    for namespace, (_, signal_words) in NAMESPACES.items():
        if any(f" {word.lower()} " in spaced for word in signal_words):
            found.append(namespace)
    return found


def advice(text: str | None) -> str:
    """A hint to save the text, if it has signal words; else nothing."""
    if not text or len(text) <= MIN_CHARACTERS:
        return ""
    namespaces = signals(text)
    if not namespaces:
        return ""
    return f"This may be worth keeping with subcog_capture ({', '.join(namespaces)})."
