"""Secrets that are assigned to a word like `password`: the word, a separator, and the value."""

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import NamedTuple

from memolith.redaction.checks import mixed, random
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

MIN_BARE_TOKEN_CHARS = 16
"""A token after nothing but a space, as in "the token 5f3a…", is at least this long."""

MIN_ENV_KEY_CHARS = 16
"""The value of an environment variable like `VENDOR_KEY` is at least this long."""

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
    "application",
    "subscription",
    "server",
    "service",
    "license",
    "licence",
    "session",
    "storage",
    "write",
    "hmac",
    "jwt",
    "cookie",
    "webhook",
    "bot",
    "root",
    "user",
    "integration",
    "ingest",
    "deploy",
    "wallet",
    "genie",
)
"""A `key` is a secret if one of these words is directly before it."""

HARMLESS_OWNERS = (
    "public_",
    "publishable_",
    "anon_",
    "primary_",
    "foreign_",
    "partition_",
    "sort_",
    "cache_",
    "row_",
    "idempotency_",
    "object_",
    "s3_",
    "unique_",
    "dedup_",
    "lookup_",
    "index_",
    "site_",
    "measurement_",
    "routing_",
    "group_",
    "shard_",
    "hash_",
)
"""What is before a `KEY` that opens nothing."""

VENDORS = (
    "datadog",
    "mistral",
    "cohere",
    "together",
    "deepgram",
    "assemblyai",
    "wandb",
    "algolia",
    "fastly",
    "cloudflare",
    "heroku",
    "railway",
    "linode",
    "hetzner",
    "vultr",
    "ovh",
    "ibm",
    "twilio",
    "plaid",
    "pagerduty",
    "opsgenie",
    "rollbar",
    "bugsnag",
    "amplitude",
    "segment",
    "mixpanel",
    "splunk",
    "zendesk",
    "asana",
    "trello",
    "todoist",
    "codecov",
    "snyk",
    "travis",
    "jenkins",
    "gitea",
    "okta",
    "auth0",
    "mailjet",
    "mailgun",
    "postmark",
    "pusher",
    "vonage",
    "infura",
    "alchemy",
    "etherscan",
    "binance",
    "kraken",
    "serpapi",
    "serper",
    "exa",
    "giphy",
    "steam",
    "dropbox",
    "zoom",
    "paypal",
    "braintree",
    "azure",
    "openai",
    "anthropic",
    "gemini",
    "google",
    "aws",
    "stripe",
    "github",
    "gitlab",
    "slack",
    "discord",
    "elastic",
    "redis",
    "snowflake",
    "confluent",
    "kafka",
    "unsplash",
    "bitly",
)
"""A `key` is a secret after the name of a vendor, too: most of these have keys without a prefix."""


SAYING_VERBS = ("is", "was", "set", "now", "to", "ist", "lautet", "est", "es", "è", "é")
"""What stands between a key and its value in a sentence: "the password is now set to …"."""


STEMS = (
    "pass",
    "pw",
    "secret",
    "token",
    "key",
    "credential",
    "kennwort",
    "contrase",
    "senha",
    "parol",
    "wachtwoord",
    "hasło",
    "heslo",
    "lösenord",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "_auth",
)
"""How keys begin. Most texts have none of them, and looking for a plain word is quick; a pattern
then looks closer."""


class SecretMatch(NamedTuple):
    """A secret in a text: its kind, and where its own characters begin and end."""

    kind: str
    start: int
    end: int


class _Patterns:
    """The patterns of keys, separators and values, each compiled at its first use."""

    @cached_property
    def key(self) -> re.Pattern[str]:
        """The words that say that a secret follows."""
        return re.compile(r"""(?x)
            (?P<aws_secret_key>secret[ _-]?access[ _-]?key)
          | (?P<password>
                pass(?:word|wort|wd|phrase|code)
              | (?<=_)pass(?![a-z])
              | (?<![a-z])pass(?=\\?["']?\s?[:=]\s?\\?["'])
              | pwd
              | (?<![a-z])pw(?![a-z])
              | kennwort | contraseña | senha | (?<=mot[ ]de[ ])passe | пароль | 密[码碼]
              | parola | wachtwoord | hasło | heslo | lösenord | パスワード | 비밀번호
            )
          | (?P<secret>secret(?:[ _-]?key)? | credentials?)
          | (?P<token>token|(?<![a-z0-9])_auth(?![a-z]))
          | (?P<key>key(?![a-z]))
        """)

    @cached_property
    def no_credential(self) -> re.Pattern[str]:
        """What is before a word that is about something else."""
        # The tokens of pages and language models are no credentials, nor is a part of a resource
        # name with many colons.
        return re.compile(
            r"""(?x)(?:
                (?:page|next|sync|cancell?ation|continuation|pad|eos|bos|unk|sep|cls|mask
                  |public.?key)[ _.-]?
              | :[\w*-]*:
            )\Z"""
        )

    @cached_property
    def command_line_flag(self) -> re.Pattern[str]:
        """The beginning of an option."""
        return re.compile(r"--[a-z-]*\Z")

    @cached_property
    def separator(self) -> re.Pattern[str]:
        """What is between a key and its value."""
        pattern = r"""(?xi)
            # The rest of the key: DB_PASSWORD_PROD.
            (?:[_-]?(?:\d{1,2}|prod|production|dev|staging|test|live|base|value|old|new|root|admin)
               (?![a-z]))?
            (?:
                # "the password of the old printer is …"; here a space alone is no separator,
                # because "of the" has one, too.
                [ ](?:for|of|on|at|to)(?:[ ][\w@.'-]{1,30}){1,5}?
                (?: [ ]?(?:=(?!=)|[:：→])[ ]? | (?P<said>[ ](?:(?:VERBS):?[ ]){1,3}) )
              |
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
                      | (?P<loose>[ ](?:(?:VERBS):?[ ]){1,3} | [ ]{0,20}\|[ ]{0,20} | [ ])
                    )
                )
            )
        """
        return re.compile(pattern.replace("VERBS", "|".join(SAYING_VERBS)))

    @cached_property
    def value(self) -> re.Pattern[str]:
        """A value with or without quotes."""
        # Punctuation ends a bare value only where something else begins after it: passwords hold
        # commas and dots, too.
        return re.compile(r"""(?xs)
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

    @cached_property
    def code(self) -> re.Pattern[str]:
        """A bare value that is code."""
        return re.compile(
            r"[$A-Za-z_][\w.:>-]*[(\[{]|[&*!][A-Za-z_]+\Z|[A-Z][a-z]+(?:[A-Z][a-z]+)+\Z"
        )

    @cached_property
    def strong(self) -> re.Pattern[str]:
        """A value with a letter, and a digit or a sign."""
        return re.compile(r"(?s)(?=.*[^\W\d_])(?=.*[\d!@#$%^&~])")

    @cached_property
    def strong_password(self) -> re.Pattern[str]:
        """A word of at least eight characters with a letter, a digit and a sign."""
        return re.compile(
            r"(?=[^\s\d]{0,40}\d)(?=[^\sa-zA-Z]{0,40}[a-zA-Z])(?=\S{0,40}?[!@#$%^&*~])\S{8,64}"
        )

    @cached_property
    def token(self) -> re.Pattern[str]:
        """A value with the characters of tokens only."""
        return re.compile(r"(?a)[\w+/~-]+={0,2}")

    @cached_property
    def ordinary_word(self) -> re.Pattern[str]:
        """A value that is a word or a number."""
        return re.compile(r"[A-Za-z][a-z]+(?:-[a-z]+)*|[A-Z]+|\d+")

    @cached_property
    def line_end(self) -> re.Pattern[str]:
        """What is after a value at the end of its line."""
        return re.compile(r"""[ \t.]{0,8}(?:[\r\n#;&"'`}]|,["']|</|<br|\\[nr]|\Z)""")

    @cached_property
    def prose(self) -> re.Pattern[str]:
        """A word that only sentences have."""
        return re.compile(
            r"(?i)(?<!\S)"
            r"(?:the|is|are|be|of|to|your?|must|enter|for|and|or|not|it|an?|in|with|was)\s"
        )


@cache
def _stem_pattern(stems: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(stems))


@cache
def _patterns() -> _Patterns:
    """The patterns; compiling them all takes 5 ms, and few texts need all."""
    return _Patterns()


class _Assignment(NamedTuple):
    """A key, a separator and a value, as they stand in the text."""

    key: re.Match[str]
    separator: re.Match[str]
    value: re.Match[str]

    @property
    def kind(self) -> str:
        if self.key.lastgroup == "key":
            return "secret"
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
        return self.separator["loose"] is not None or self.separator["said"] is not None

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
    stems = tuple([stem for stem in STEMS if stem in lowered])
    if not stems:
        return
    end_of_last = 0
    for stem in _stem_pattern(stems).finditer(lowered):
        if stem.start() < end_of_last:
            continue
        key = _patterns().key.match(lowered, stem.start())
        if key is None or not _opens_something(text, key):
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
    assignment = _Assignment(key, separator, value)
    # A space alone assigns a bare value on the command line only: `--password hunter2`. Elsewhere
    # the value must look like a token.
    if separator["loose"] != " " or not assignment.is_bare:
        return assignment
    if patterns.command_line_flag.search(lowered, start, key.start()):
        return assignment
    return assignment if _is_bare_token(assignment) else None


def _is_bare_token(assignment: _Assignment) -> bool:
    """Whether a word after a key is a secret by its own look, as in "the api key 5f3a… works"."""
    secret = assignment.secret
    patterns = _patterns()
    if assignment.kind == "password" and patterns.strong_password.fullmatch(secret):
        return True
    if len(secret) < MIN_BARE_TOKEN_CHARS or patterns.token.fullmatch(secret) is None:
        return False
    return mixed(secret, 0, len(secret)) or random(secret, 0, len(secret))


def _opens_something(text: str, key: re.Match[str]) -> bool:
    """Whether the key is about a credential; a bare `key` is only with the right word before it."""
    return key.lastgroup != "key" or _has_owner(key) or _is_env_key(text, key)


def _has_owner(key: re.Match[str]) -> bool:
    """Whether the word before `key` says that it opens something: `api_key`, "datadog key"."""
    before = key.string[max(0, key.start() - MAX_CHARS_BEFORE_KEY) : key.start()]
    if before and before[-1] in " _-":
        before = before[:-1]
    return before.endswith(KEY_OWNERS + VENDORS)


def _is_env_key(text: str, key: re.Match[str]) -> bool:
    """Whether the key ends the name of an environment variable like `VENDOR_KEY`."""
    start = key.start()
    if not text[start : key.end()].isupper() or not text.endswith("_", 0, start):
        return False
    before = key.string[max(0, start - MAX_CHARS_BEFORE_KEY) : start]
    return not before.endswith(HARMLESS_OWNERS)


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
    if assignment.key.lastgroup == "key" and not _has_owner(assignment.key):
        return _is_env_value(assignment)
    if _patterns().strong.match(secret):
        return True
    return _is_secret_word(text, assignment)


def _is_env_value(assignment: _Assignment) -> bool:
    """Whether the value of a variable like `VENDOR_KEY` looks random."""
    secret = assignment.secret
    if assignment.is_loose or len(secret) < MIN_ENV_KEY_CHARS:
        return False
    return random(secret, 0, len(secret))


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
