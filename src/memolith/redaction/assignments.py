"""Secrets that are assigned to a word like `password`: the word, a separator, and the value."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from memolith.redaction.rules import load_rules

MAX_WEIGHED_CHARS = 200
"""A longer value without a space is a secret without a closer look.

Nobody writes placeholders that long, and weighing such a value once for every key inside it would
let a hostile text cost quadratic time.
"""

MIN_VALUE_CHARS = {"password": 4, "secret": 6, "token": 8, "aws-secret-key": 8}
"""Shorter values are no secrets, by the kind of the key."""

MAX_CHARS_BEFORE_KEY = 24
"""How far before the key words are looked at that tell whether it is about a credential."""

KEY_OWNERS = (
    "api",
    "access",
    "private",
    "encryption",
    "signing",
    "auth",
    "master",
    "account",
    "shared",
    "admin",
    "app",
)
"""A `key` is a secret if one of these words is directly before it."""


STEM = re.compile("pass|pw|secret|token|key|credential|kennwort|contrase|senha|пароль|密码|:_auth")
"""How keys begin. The regex engine scans fastest for alternatives that each begin with a letter; a
second pattern then looks closer."""


class SecretMatch(NamedTuple):
    """A secret in a text: its kind, and where its own characters begin and end."""

    kind: str
    start: int
    end: int


class _Patterns:
    """The patterns of keys, separators and values."""

    def __init__(self) -> None:
        owned = "|".join(f"(?<={owner})|(?<={owner}[ _-])" for owner in KEY_OWNERS)
        self.key = re.compile(rf"""(?x)
            (?P<aws_secret_key>secret[ _-]?access[ _-]?key)
          | (?P<password>
                pass(?:word|wort|wd|phrase|code)
              | (?<=_)pass(?![a-z])
              | (?<![a-z])pass(?=\\?["']?\s?[:=]\s?\\?["'])
              | pwd
              | (?<![a-z])pw(?![a-z])
              | kennwort | contraseña | senha | (?<=mot[ ]de[ ])passe | пароль | 密码
            )
          | (?P<secret>secret(?:[ _-]?key)? | credentials? | (?:{owned})key)
          | (?P<token>token|:_auth)
        """)
        # The tokens of pages and language models are no credentials, nor is a part of a resource
        # name with many colons.
        self.no_credential = re.compile(
            r"""(?x)(?:
                (?:page|next|sync|cancell?ation|continuation|pad|eos|bos|unk|sep|cls|mask
                  |public.?key)[ _.-]?
              | :[\w*-]*:
            )\Z"""
        )
        self.command_line_flag = re.compile(r"--[a-z-]*\Z")
        self.separator = re.compile(r"""(?xi)
            # The rest of the key: DB_PASSWORD_PROD.
            (?:[_-]?(?:\d{1,2}|prod|production|dev|staging|test|live|base|value|old|new|root|admin)
               (?![a-z]))?
            # Whose it is: "password for bob", "password (root)".
            (?:[ ](?:for|of|on|at)(?:[ ][\w@.'-]{1,30}){1,3}? | [ ]?\([^()\n]{1,30}\))?
            (?:
                # <password>…</password>
                (?<=\w)>(?=[^<>\s]{1,200}</)
              | (?:\\?["'`] | [\]*?!]){0,4}
                (?:
                    [ \t]{0,8}
                    (?:
                        # A type before the value: `password: str = "…"`.
                        :[ ]?[&a-z][\w.\[\], |<>&?]{0,40}=(?=[ ]?["'])
                      | [=!]={1,2}(?=[ ]?["'`])
                      | => | := | =(?!=) | [:：→]
                    )
                    [ \t]{0,8}(?:\*\*[ ])?
                    # {"name": "DB_PASSWORD", "value": "…"}
                  | ,?\s{0,20}["']?value["']?[ ]{0,3}[:=][ ]{0,3}
                    # "the password is …", a column of a table, or just a space.
                  | (?P<loose>[ ](?:(?:is|was|set|now|to):?[ ]){1,3} | [ ]{0,20}\|[ ]{0,20} | [ ])
                )
            )
        """)
        # Punctuation ends a bare value only where something else begins after it: passwords hold
        # commas and dots, too.
        self.value = re.compile(r"""(?xs)
            [bfru]{0,2}
            (?:
                \\"(?P<escaped>(?:[^"\\\n]|\\[^"\n])++)\\"
              | "(?P<double>(?:[^"\\\n]|\\.)++)"
              | '(?P<single>(?:[^'\\\n]|\\.)++)'
              | `(?P<tick>[^`\n]++)`
            )
          | ["'`]?
            (?P<bare>(?![\[({<])
                (?:
                    [^\s"'`,;&.:)\]}|*<\\]++
                  | (?!
                        [,;&.:)\]}|*]{1,8}(?:\s|\Z|["'`<]|\\[nrt"'])
                      | [,;&)\]}|]{1,8}\w{1,40}["']?[=:]
                      | <[/a-zA-Z]
                      | \\[nrt"']
                    )
                    [^\s"'`]
                )++
            )
        """)
        self.code = re.compile(
            r"[$A-Za-z_][\w.:>-]*[(\[{]|[&*!][A-Za-z_]+\Z|[A-Z][a-z]+(?:[A-Z][a-z]+)+\Z"
        )
        self.strong = re.compile(r"(?s)(?=.*[^\W\d_])(?=.*[\d!@#$%^&~])")
        self.ordinary_word = re.compile(r"[A-Za-z][a-z]+(?:-[a-z]+)*|[A-Z]+|\d+")
        self.line_end = re.compile(r"""[ \t.]{0,8}(?:[\r\n#;&"'`}]|,["']|</|<br|\\[nr]|\Z)""")
        self.prose = re.compile(
            r"(?i)(?<!\S)"
            r"(?:the|is|are|be|of|to|your?|must|enter|for|and|or|not|it|an?|in|with|was)\s"
        )


@cache
def _patterns() -> _Patterns:
    """The patterns, compiled when a text first has a key: that takes 5 ms."""
    return _Patterns()


class _Assignment(NamedTuple):
    """A key, a separator and a value, as they stand in the text."""

    key: re.Match[str]
    separator: re.Match[str]
    value: re.Match[str]

    @property
    def kind(self) -> str:
        return str(self.key.lastgroup).replace("_", "-")

    @property
    def secret(self) -> str:
        """The value without its quotes."""
        return self.value[str(self.value.lastgroup)]

    @property
    def is_bare(self) -> bool:
        """Whether the value has no quotes around it."""
        return self.value["bare"] is not None

    @property
    def is_loose(self) -> bool:
        """Whether words or a space stand between key and value, not `=` or `:`."""
        return self.separator["loose"] is not None

    @property
    def is_tight(self) -> bool:
        """Whether the value follows directly after `=`, as in an env file."""
        separator = self.separator[0]
        return separator.endswith("=") and " " not in separator

    def match(self) -> SecretMatch:
        return SecretMatch(self.kind, *self.value.span(str(self.value.lastgroup)))


def find_assigned(text: str, lowered: str) -> Iterator[SecretMatch]:
    """Yield the values that are assigned to a key and look like secrets.

    `lowered` is the text in lower case, with the same positions.
    """
    end_of_last = 0
    for stem in STEM.finditer(lowered):
        if stem.start() < end_of_last:
            continue
        key = _patterns().key.match(lowered, stem.start())
        if key is None:
            continue
        assignment = _assignment(text, lowered, key)
        if assignment is not None and _is_secret(text, assignment):
            match = assignment.match()
            yield match
            end_of_last = match.end


def stands_in(secret: str) -> bool:
    """Whether a value stands in for a secret: a placeholder or a piece of prose."""
    if len(secret) > MAX_WEIGHED_CHARS:
        return False
    if load_rules().harmless.placeholder.fullmatch(secret):
        return True
    return _patterns().prose.search(secret) is not None


def _assignment(text: str, lowered: str, key: re.Match[str]) -> _Assignment | None:
    """The separator and the value after a key, if the key is about a credential at all."""
    patterns = _patterns()
    separator = patterns.separator.match(text, key.end())
    if separator is None:
        return None
    start = max(0, key.start() - MAX_CHARS_BEFORE_KEY)
    if patterns.no_credential.search(lowered, start, key.start()):
        return None
    value = patterns.value.match(text, separator.end())
    if value is None:
        return None
    # A space alone assigns a bare value on the command line only: `--password hunter2`.
    is_word_after_word = separator["loose"] == " " and value["bare"] is not None
    if is_word_after_word and not patterns.command_line_flag.search(lowered, start, key.start()):
        return None
    return _Assignment(key, separator, value)


def _is_secret(text: str, assignment: _Assignment) -> bool:
    secret = assignment.secret
    if len(secret) > MAX_WEIGHED_CHARS:
        return len(secret.split()) == 1
    if len(secret) < MIN_VALUE_CHARS[assignment.kind]:
        return False
    if " " in secret and assignment.kind != "password":
        return False
    if _is_no_value(assignment) or _is_harmless(secret):
        return False
    if _patterns().strong.match(secret):
        return True
    return _is_secret_word(text, assignment)


def _is_no_value(assignment: _Assignment) -> bool:
    """Whether the quotes found belong to two other strings, or the value is code."""
    secret = assignment.secret
    # What stands between two strings begins or ends like this; a string does not.
    if secret[0] in " ,);:}]" or secret[-1] == " ":
        return True
    return assignment.is_bare and _patterns().code.match(secret) is not None


def _is_harmless(secret: str) -> bool:
    if stands_in(secret):
        return True
    harmless = load_rules().harmless
    if secret.lower() in harmless.words:
        return True
    return harmless.reference.fullmatch(secret) is not None


def _is_secret_word(text: str, assignment: _Assignment) -> bool:
    """Whether an ordinary word is a secret after all.

    It is where it is quoted, in an env file, or with nothing after it on its line.
    """
    if assignment.kind == "token" or assignment.is_loose:
        return False
    if not assignment.is_bare:
        return True
    if assignment.is_tight and text[assignment.key.start()].isupper():
        return True
    if not assignment.is_tight and assignment.kind != "password":
        return False
    patterns = _patterns()
    if not patterns.ordinary_word.fullmatch(assignment.secret):
        return False
    return patterns.line_end.match(text, assignment.value.end()) is not None
