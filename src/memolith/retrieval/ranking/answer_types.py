"""What kind of answer a question asks for, and whether a passage has anything of that kind.

"How much did the sofa cost?" wants a number: a note without one may be about the sofa, but does not
answer. The rules are plain and lenient, so that hardly any passage that answers breaks them.
"""

import re

_ASKS_FOR = {
    "time": re.compile(
        r"\W*(?:(?:since|until|by) when|when|(?:on |at |in )?(?:what|which) "
        r"(?:time|day|date|week|weekday|month|year))\b",
        re.I,
    ),
    "number": re.compile(
        r"\b(?:how (?:much|many|long|old|far|often|big|tall|heavy|large|fast|high|wide|deep|hot)"
        r"|what (?:price|percentage|amount|temperature|age|number)|number of)\b",
        re.I,
    ),
    "place": re.compile(
        r"\W*(?:where|(?:in|at) (?:which|what) (?:place|city|town|country|room))\b", re.I
    ),
    "person": re.compile(r"\b(?:who|whom|whose)\b", re.I),
}
"""The kinds of answers, in the order in which they are looked for."""

_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen"
    r"|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|dozen|half"
    r"|quarter|third|once|twice|couple|pair|both|none|every|daily|weekly|monthly|yearly"
    r"|minutes?|hours?|days?|weeks?|months?|years?|free)\b"
)
_HAS = {
    "time": re.compile(
        r"\d|\b(?:yesterday|today|tonight|tomorrow|last|next|ago|days?|weeks?|weekends?|months?|years?"
        r"|hours?|minutes?|mornings?|noon|afternoons?|evenings?|nights?|midnight|since|until|before"
        r"|after|recently|now|soon|always|never|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january"
        r"|february|march|april|may|june|july|august|september|october|november|december|spring"
        r"|summer|autumn|fall|winter|christmas|easter|birthday)\b",
        re.I,
    ),
    "number": re.compile(_NUMBER, re.I),
    "place": re.compile(
        r"\b(?:in|at|on|under|behind|near|to|from|inside|beside|above|below|between|opposite|outside"
        r"|next|into|through|around|by|over)\b",
        re.I,
    ),
    "person": re.compile(
        r"\w\W+[A-Z]|(?i:\b(?:mother|father|mum|mom|dad|brother|sister|uncle|aunt|cousin|friends?|boss"
        r"|wife|husband|partner|colleagues?|neighbou?rs?|doctor|teacher|son|daughter|we|our|us|team"
        r"|he|she|they|him|her|them|i|me|my|you)\b)"
    ),
}


def asked_type(question: str) -> str:
    """Return what a question asks for: time, number, place or person; empty if none of them."""
    for kind, pattern in _ASKS_FOR.items():
        found = pattern.match if kind in ("time", "place") else pattern.search
        if found(question):
            return kind
    return ""


def has_type(kind: str, text: str) -> bool:
    """Whether a text has anything that could be an answer of a kind."""
    return _HAS[kind].search(text) is not None
