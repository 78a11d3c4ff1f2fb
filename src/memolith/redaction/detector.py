"""Secrets in text: where they stand, and the same text without them."""

import re
from collections import Counter
from functools import reduce
from typing import NamedTuple

from memolith.engine.tables import entries, parts

MARK = "[REDACTED]"
# Taking one secret away may bare its neighbour; two passes were always enough, and a bound ends any surprise.
_PASSES = 4
# A longer value without a space is a secret unweighed: nobody writes such placeholders, and weighing a long value
# once for every key inside it would let a hostile text cost quadratic time.
_LONGEST_WEIGHED = 200
# No vendor issues a shorter token, so a text without a word of this length needs no look at the vendors.
_SHORTEST_TOKEN = 20
_SHORTEST_VALUE = {"password": 4, "secret": 6, "token": 8, "aws-secret-key": 8}


class Finding(NamedTuple):
    """One secret: its kind, and the span of its own characters."""

    kind: str
    start: int
    end: int


# Alternatives that begin with a letter each are what the regex engine scans for fastest; _KEY then looks closer.
_STEM = re.compile("pass|pw|secret|token|key|credential|kennwort|contrase|senha|пароль|密码|:_auth")
_KEY_OWNERS = "api access private encryption signing auth master account shared admin app"
_KEY = re.compile(rf"""(?x)
    (?P<aws_secret_key>secret[ _-]?access[ _-]?key)
  | (?P<password>pass(?:word|wort|wd|phrase|code) | (?<=_)pass(?![a-z]) | (?<![a-z])pass(?=\\?["']?\s?[:=]\s?\\?["'])
      | pwd | (?<![a-z])pw(?![a-z]) | kennwort | contraseña | senha | (?<=mot[ ]de[ ])passe | пароль | 密码)
  | (?P<secret>secret(?:[ _-]?key)? | credentials?
      | (?:{"|".join(f"(?<={owner})|(?<={owner}[ _-])" for owner in _KEY_OWNERS.split())})key)
  | (?P<token>token|:_auth)
""")
# The tokens of pages and language models are no credentials, nor is a part of a resource name with many colons.
_NO_CREDENTIAL = re.compile(
    r"(?:(?:page|next|sync|cancell?ation|continuation|pad|eos|bos|unk|sep|cls|mask|public.?key)[ _.-]?|:[\w*-]*:)\Z"
)
_FLAG = re.compile(r"--[a-z-]*\Z")
_SEPARATOR = re.compile(r"""(?xi)
    (?:[_-]?(?:\d{1,2}|prod|production|dev|staging|test|live|base|value|old|new|root|admin)(?![a-z]))?
    (?:[ ](?:for|of|on|at)(?:[ ][\w@.'-]{1,30}){1,3}? | [ ]?\([^()\n]{1,30}\))?
    (?: (?<=\w)>(?=[^<>\s]{1,200}</)
      | (?:\\?["'`] | [\]*?!]){0,4}
        (?: [ \t]{0,8}(?: :[ ]?[&a-z][\w.\[\], |<>&?]{0,40}=(?=[ ]?["'])
                        | [=!]={1,2}(?=[ ]?["'`]) | =>|:=|=(?!=)|[:：→] )[ \t]{0,8}(?:\*\*[ ])?
          | ,?\s{0,20}["']?value["']?[ ]{0,3}[:=][ ]{0,3}
          | (?P<loose>[ ](?:(?:is|was|set|now|to):?[ ]){1,3} | [ ]{0,20}\|[ ]{0,20} | [ ]) )
    )
""")
# Punctuation ends a bare value only where something else begins after it: passwords hold commas and dots, too.
_VALUE = re.compile(r"""(?xs)
    [bfru]{0,2} (?: \\"(?P<escaped>(?:[^"\\\n]|\\[^"\n])++)\\" | "(?P<double>(?:[^"\\\n]|\\.)++)"
                  | '(?P<single>(?:[^'\\\n]|\\.)++)' | `(?P<tick>[^`\n]++)` )
  | ["'`]?(?P<bare>(?![\[({<])
      (?: [^\s"'`,;&.:)\]}|*<\\]++
        | (?! [,;&.:)\]}|*]{1,8}(?:\s|\Z|["'`<]|\\[nrt"']) | [,;&)\]}|]{1,8}\w{1,40}["']?[=:] | <[/a-zA-Z] | \\[nrt"'])
          [^\s"'`] )++ )
""")
_CODE = re.compile(r"[$A-Za-z_][\w.:>-]*[(\[{]|[&*!][A-Za-z_]+\Z|[A-Z][a-z]+(?:[A-Z][a-z]+)+\Z")
_STRONG = re.compile(r"(?s)(?=.*[^\W\d_])(?=.*[\d!@#$%^&~])")
_PROSE = re.compile(
    r"(?i)(?<!\S)(?:the|is|are|be|of|to|your?|must|enter|for|and|or|not|it|an?|in|with|was)\s"
)
_PLAIN = re.compile(r"[A-Za-z][a-z]+(?:-[a-z]+)*|[A-Z]+|\d+")
_LINE_ENDS = re.compile(r"""[ \t.]{0,8}(?:[\r\n#;&"'`}]|,["']|</|<br|\\[nr]|\Z)""")
_TABLES = parts("redaction/secrets.txt")
_HARMLESS = frozenset(_TABLES["harmless"].split())
_PLACEHOLDER, _REFERENCE = (
    re.compile(flags + "|".join(_TABLES[name].strip().split("\n")))
    for name, flags in (("placeholders", "(?is)"), ("references", "(?s)"))
)
_CONTEXTS = reduce(
    lambda text, piece: text.replace(f"{{{piece[0]}}}", piece[1]),
    entries(_TABLES["pieces"]),
    _TABLES["contexts"],
)
_VENDOR_HINTS = [
    (hint, (kind, rf"(?a)(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])"))
    for kind, hints, pattern in entries(_TABLES["vendors"])
    for hint in hints.split()
]
_CONTEXT_HINTS = [
    (hint, (kind, pattern)) for kind, hints, pattern in entries(_CONTEXTS) for hint in hints.split()
]


def find(text: str) -> list[Finding]:
    """The secrets in a text, in order and without overlap."""
    # This one letter grows when lowered, and positions in both texts must agree.
    lowered = text.replace("İ", "i").lower()
    words = " ".join([word for word in text.split() if len(word) >= _SHORTEST_TOKEN])
    vendors = dict.fromkeys([rule for hint, rule in _VENDOR_HINTS if hint in words])
    contexts = dict.fromkeys([rule for hint, rule in _CONTEXT_HINTS if hint in lowered])
    rules = [*(rule for rule in vendors if re.search(rule[1], words)), *contexts]
    found = [
        Finding(kind, *match.span(match.lastindex or 0))
        for kind, pattern in rules
        for match in re.finditer(pattern, text)
        if not _stands_in(match[match.lastindex or 0])
    ]
    done = 0
    for stem in _STEM.finditer(lowered):
        key = _KEY.match(lowered, stem.start()) if stem.start() >= done else None
        if key and (assigned := _assigned(text, lowered, key)):
            found.append(assigned)
            done = assigned.end
    merged: list[Finding] = []
    for finding in sorted(found, key=lambda each: each.start):
        if merged and finding.start < merged[-1].end:
            other = merged.pop()
            kind = finding.kind if other.kind in ("password", "secret", "token") else other.kind
            finding = Finding(kind, other.start, max(other.end, finding.end))
        merged.append(finding)
    return merged


def redact(text: str) -> tuple[str, dict[str, int]]:
    """The text with a mark in place of every secret, and how many of each kind there were."""
    counts: Counter[str] = Counter()
    for _ in range(_PASSES):
        if not (findings := find(text)):
            break
        counts.update(finding.kind for finding in findings)
        ends = [0, *(finding.end for finding in findings)]
        kept = [text[end : finding.start] for end, finding in zip(ends, findings, strict=False)]
        text = MARK.join([*kept, text[ends[-1] :]])
    return text, dict(counts)


def _assigned(text: str, lowered: str, key: re.Match[str]) -> Finding | None:
    """The value after a word like `password`, if it can be believed to be a secret."""
    before, separator = (max(0, key.start() - 24), key.start()), _SEPARATOR.match(text, key.end())
    if not separator or _NO_CREDENTIAL.search(lowered, *before):
        return None
    value = _VALUE.match(text, separator.end())
    if not value or (
        separator["loose"] == " " and value["bare"] and not _FLAG.search(lowered, *before)
    ):
        return None
    kind, secret = str(key.lastgroup).replace("_", "-"), value[str(value.lastgroup)]
    found = Finding(kind, *value.span(str(value.lastgroup)))
    if len(secret) > _LONGEST_WEIGHED:
        return found if len(secret.split()) == 1 else None
    if len(secret) < _SHORTEST_VALUE[kind] or (" " in secret and kind != "password"):
        return None
    # What stands between two strings begins or ends like this, a string does not.
    between = secret[0] in " ,);:}]" or secret[-1] == " " or (value["bare"] and _CODE.match(secret))
    if between or _stands_in(secret) or secret.lower() in _HARMLESS or _REFERENCE.fullmatch(secret):
        return None
    if _STRONG.match(secret):
        return found
    # An ordinary word is a secret after all where it is quoted, in an env file, or with nothing after it on its line.
    if kind == "token" or separator["loose"]:
        return None
    tight = separator[0].endswith("=") and " " not in separator[0]
    if not value["bare"] or (tight and text[key.start()].isupper()):
        return found
    ends_line = _PLAIN.fullmatch(secret) and _LINE_ENDS.match(text, value.end())
    return found if ends_line and (tight or kind == "password") else None


def _stands_in(secret: str) -> bool:
    return len(secret) <= _LONGEST_WEIGHED and bool(
        _PLACEHOLDER.fullmatch(secret) or _PROSE.search(secret)
    )
