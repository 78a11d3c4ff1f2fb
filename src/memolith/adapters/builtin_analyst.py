"""The analyst that is always there: counts words and knows a few turns of phrase; the same text, the same answer."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from memolith.adapters.builtin_entities import find
from memolith.engine.duplicates import NEAR, overlap
from memolith.engine.ports import Finding

EACH = 10
_WORD = re.compile(r"[^\W\d_][\w+#-]*[\w+#]")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_CUES = {"decision": re.compile(r"\b(decided|decision|chose|chosen|agreed|settled on|going with|will use)\b", re.I),
         "open question": re.compile(r"\?\s*$|\b(todo|tbd|open question|unclear|not sure|to be decided)\b", re.I)}
_PLAIN = frozenset("""
    the and for are but not you all any can had her was one our out day get has him his how man new now old see two way
    who did its let put say she too use that with have this will your from they know want been good much some time very
    when come here just like long make many more only over such take than them well were what into about after again
    before being below between both could does doing down during each few further having itself most myself nor off once
    other own same should so their theirs then there these those through under until up which while whom why would also
    because said since still used using always never every we our us it is as at be by do he if in me my no of on or to
""".split())


class BuiltinAnalyst:
    """Finds tags and themes by the words that stand out."""

    name = "built-in"

    def tags(self, text: str, known: Sequence[str], most: int) -> list[Finding]:
        """Words the user tags with and the text names, then what the text itself speaks of most."""
        words = {word.lower() for word in _WORD.findall(text)}
        found = [Finding(tag, "You use this tag, and the text names it.", 0.9) for tag in known
                 if set(_WORD.findall(tag.lower())) <= words and _WORD.search(tag)]
        taken = {one.label.casefold() for one in found}
        for phrase, weight in _phrases(text).most_common(most + len(taken)):
            if (tag := phrase.replace(" ", "-")) not in taken:
                confidence = round(0.4 + 0.4 * weight / (weight + 3), 3)
                found.append(Finding(tag, f"The text speaks of “{phrase}”.", confidence))
        return sorted(found, key=lambda one: -one.confidence)[:most]

    def insights(self, groups: Sequence[Sequence[tuple[str, str]]], topic: str) -> tuple[list[Finding], str]:
        """A theme for each group, a gap for what stands alone, decisions and open questions word for word."""
        everywhere = Counter(phrase for group in groups for _, text in group for phrase in set(_phrases(text)))
        found: list[Finding] = []
        for group in groups:
            weights = sum((_phrases(text) for _, text in group), Counter[str]())
            telling = sorted(weights, key=lambda phrase: (-weights[phrase] / everywhere[phrase] ** 0.5, phrase))[:3]
            names, ids = ", ".join(telling), tuple(id for id, _ in group)
            if len(group) > 1:
                best = max((one for _, text in group for one in _sentences(text)),
                           key=lambda one: sum(weights[phrase] for phrase in set(_phrases(one))) / (len(one) + 40))
                found.append(Finding("theme", f"{len(group)} memories are about {names}: {best}",
                                     round(1 - 1 / (len(group) + 1), 3), ids))
            elif names:
                found.append(Finding("gap", f"Only one memory is about {names}.", 0.3, ids))
        found += [Finding(label, sentence, 0.6, (id,)) for label, cue in _CUES.items() for group in groups
                  for id, text in group for sentence in _sentences(text) if cue.search(sentence)]
        counts = Counter(one.label for one in found)
        told = ", ".join(f"{count} {label}{'s' * (count > 1)}" for label, count in counts.items()) or "nothing"
        kept = [one for label in counts for one in [one for one in found if one.label == label][:EACH]]
        about = f" about {topic}" if topic else ""
        return kept, f"{sum(map(len, groups))} memories{about}: {told}."

    def rewrite(self, task: str, texts: Sequence[str]) -> str:
        """What the texts say, each thing once; a structure is a list, a summary has the most telling sentences."""
        if task == "structure":
            lead, *rest = re.split(r"(?<=[.!?])\s+", texts[0].strip())
            plain = len(rest) < 2 or "\n" in texts[0].strip()
            return texts[0] if plain else "\n".join([lead, "", *(f"- {one}" for one in rest)])
        first, *others = texts[1:] if task == "context" else sorted(texts, key=len, reverse=True)
        said: list[str] = []
        for one in (sentence for text in others for sentence in _sentences(text)):
            if all(overlap(one, other) < NEAR / 2 for other in (*_sentences(first), *said)):
                said.append(one)
        if task != "summarize":
            return "\n".join([first, *said])
        weights = sum((_phrases(text) for text in texts), Counter[str]())
        telling = sorted((*_sentences(first), *said), key=lambda one: -sum(weights[it] for it in set(_phrases(one))))
        return "\n".join(telling[:3])

    entities = staticmethod(find)


def _phrases(text: str) -> Counter[str]:
    """Words that mean something, names counted double, and pairs of such words that come again or are a name."""
    found: Counter[str] = Counter()
    for one, two in pairwise([*_WORD.findall(text), ""]):
        if one.lower() not in _PLAIN and len(one) > 2:
            found[one.lower()] += 1 + one[0].isupper()
            if two and two.lower() not in _PLAIN and (
                    text.count(f"{one} {two}") > 1 or (one[0].isupper() and two[0].isupper())):
                found[f"{one} {two}".lower()] += 2
    return found


def _sentences(text: str) -> list[str]:
    return [one for match in _SENTENCE.findall(text) if len(one := match.strip()) > 10] or [text[:200]]
