"""Secrets in text: where they stand, and the same text without them."""

import re
from collections import Counter
from typing import NamedTuple

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


# Kind, hints, pattern. A hint is a plain word that must occur before the pattern is tried: `in` is far cheaper than a
# regex. A pattern takes the whole run of its characters or is bounded, so that none reads a text many times.
_VENDORS = (
    ("aws-access-key", "AKIA ASIA", r"A[KS]IA[A-Z0-9]{16}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?:gh[pousr]_\w{30,}|github_pat_\w{22,})"),
    ("gitlab-token", "glpat- gldt- glrt- glptt- glcbt-", r"gl(?:pat|dt|rt|ptt|cbt)-[\w.-]{20,}"),
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}"),
    ("openai-key", "sk-", r"sk-(?!ant-)(?=[\w-]{0,80}?[A-Z])(?=[\w-]{0,80}?\d)[\w-]{20,}"),
    ("openai-key", "sk-", r"sk-(?:or-v1-)?(?=[a-z]{0,40}\d)[a-z0-9]{32,}"),
    ("google-key", "AIza ya29. GOCSPX-", r"(?:AIza[\w-]{35}|(?:ya29\.|GOCSPX-)[\w-]{20,})"),
    ("slack-token", "xox xapp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{10,}"),
    ("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,})"),
    ("stripe-key", "k_live_ k_test_ whsec_", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}"),
    ("twilio-key", "SK", r"SK[0-9a-f]{32}"),
    ("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("pypi-token", "pypi-", r"pypi-A[\w-]{40,}"),
    ("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("azure-key", "AccountKey= SharedAccessKey=", r"(?:Account|SharedAccess)Key=([\w/+]{40,88}={0,2})"),
    ("azure-key", "sig=", r"sig=([\w%/+-]{40,90}(?:%3[Dd]|=))"),
    ("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("telegram-token", ":AA", r"\d{8,10}:AA[\w-]{33}"),
    ("discord-token", ".", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"),
    ("discord-webhook", "/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{15,22}/([\w-]{50,})"),
    ("mailgun-key", "key-", r"(?<![\w-])key-[0-9a-f]{32}"),
    ("square-token", "sq0 EAAA", r"(?:sq0(?:atp|csp)-[\w-]{22,43}|EAAA[\w-]{60})"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("notion-token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    ("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,}"),
    ("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{40,44}"),
    ("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}"),
    ("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    ("docker-token", "dckr_pat_", r"dckr_pat_[\w-]{27,}"),
    ("grafana-token", "glsa_ glc_", r"gl(?:sa|c)_[\w+/]{32,}={0,2}"),
    ("atlassian-token", "ATATT3", r"ATATT3[\w-]{60,}(?:=\w{8})?"),
    ("jwt", "eyJ", r"(?<![\w-])eyJ[\w-]{8,}+\.(?:eyJ[\w-]{8,}+(?:\.[\w-]*+)?|[\w-]*+(?:\.[\w-]++){3})"))
_PEM = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_PEM_BODY = r"(?:[^-]|-(?!----))"
_PEM_WHOLE = rf"(?={_PEM_BODY}{{0,400}}?[\w+/]{{16}}){_PEM_BODY}{{1,40000}}+-----END [A-Z0-9 ]{{0,40}}-----"
_PEM_GAP = r"(?:\s|\\[nr])"
_PEM_CUT = (rf"(?:{_PEM_GAP}*+[\w-]{{3,20}}: [^\n\\]{{1,80}}){{0,4}}+(?:{_PEM_GAP}*+[A-Za-z0-9+/=]{{16,}}+)++"
            rf"(?:{_PEM_GAP}++[A-Za-z0-9+/=]{{1,15}}+(?=[ \t]{{0,8}}(?:[\r\n\"'\\]|\Z)))?")
_HEADER = r"(?i)authorization\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}\\?[\"']?"
_NOT_A_WORD = r"(?-i:(?![A-Z]?[a-z.-]++(?![\w~+/=:])))"
_URL_USER = r"://[^\s/?#:@\"'<>`]{0,100}+:(?!//|\d{1,5}[/?#,])"
_URL_PASSWORD = r"(?:([^\s/?#\"'<>`]+)|([^\s@\"'<>`]{1,128}))@(?=[\w\[$.{<-])"
_CONTEXTS = (
    ("private-key", "private", f"{_PEM}(?:{_PEM_WHOLE}|{_PEM_CUT})"),
    ("aws-secret-key", "akia asia", r"A[KS]IA[A-Z0-9]{16}[\s,:;|\"']{1,8}([\w/+]{40})(?![\w/+=])"),
    ("bearer-token", "authorization",
     _HEADER + r"(?:bearer|token|api-?key)[ \t:=]{1,3}" + _NOT_A_WORD + r"([\w.~+/=:-]{8,})"),
    ("bearer-token", "bearer", r"(?i)bearer[ \t]{1,3}(?=[a-z._~+/=-]{0,200}\d)([\w.~+/=-]{16,})"),
    ("basic-auth", "authorization", _HEADER + r"basic[ \t]{1,3}" + _NOT_A_WORD + r"([\w+/]{8,}={0,2})"),
    ("basic-auth", "curl", r" (?:-u|--user)[ =]{0,2}[\"']?[^\s:\"']{1,80}:(?!\d{1,9}\b)([^\s\"']{3,200})"),
    ("url-password", "://", _URL_USER + _URL_PASSWORD),
    ("mailgun-key", "mailgun", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    ("password", "machine",
     r"\bmachine\s{1,4}\S{1,80}\s{1,4}login\s{1,4}\S{1,80}\s{1,4}password\s{1,4}[\"']?([^\s\"']{4,200})"),
    ("password", "phrase mnemonic", r"(?im)(?:passphrase|mnemonic|(?:seed|recovery) phrase)(?: is)?[ ]?[:=][ ]?"
     r"((?:[a-z]{3,12} ){3,23}[a-z]{3,12})(?=[.\"']?[ ]{0,4}$)"))
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
    r"(?:(?:page|next|sync|cancell?ation|continuation|pad|eos|bos|unk|sep|cls|mask|public.?key)[ _.-]?|:[\w*-]*:)\Z")
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
_PLACEHOLDER = re.compile(r"""(?xis)
    [\[({<].*[\])}>]s? | \[REDACTED.* | %[a-z_]+%? | \$(?:env:)?[a-z_]+\d?(?:/.*)?
  | .*(?: \$\{ | \$\( | \{\{ | \{[a-z_][\w.]*\} | <[a-z][\w\ -]*> | x{6} | \*{3} | \.{3} | … ).*
  | (.)\1* | your.* | (?:.*[\W_])?(?:your|placeholder|redacted|change[-_ ]?me|example|dummy|sample|todo)(?:[\W_].*)?
  | (?:[a-z.>$_-]*[._>-])?(?:password|passwd|pass|pwd|pw|passphrase|secret|token|api[-_]?key|key|credentials?)
""")
_WORDS = frozenset("""
    str string bytes text any object self this none null nil undefined true false n/a yes no on off empty unset missing
    hidden masked required mandatory optional invalid incorrect wrong valid expired denied failed stored hashed
    encrypted disabled enabled unknown default basic bearer bcrypt scrypt input value prompt varchar bool boolean
    integer number include omit same-origin never always see 1password bitwarden keychain keyring vault
""".split())
_REFERENCE = re.compile(r"""(?xs)
    (?i: (?:sha|md|aes|rsa|hs|rs|es|ed|base|utf|pbkdf|argon|oauth)(?:-?\d{1,5}){1,2}(?:-[a-z]+)* )
  | (?:u?int|bytes|float|[uif])\d{1,3} | [vx]\d+(?:\.\d+)* | 0x[0-9a-fA-F]{1,40} | \d{1,3}[A-Z]{0,3}(?:-[a-z]{3,})+
  | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+ | [A-Za-z_$]+(?:(?:\.|->|::)[A-Za-z_$]+)+ | [a-z]+(?:Password|Token|Secret|Key)
  | [a-z][a-z0-9+.-]*://.* | (?:arn|op|ssm|file|env|data):.* | ENC\[.*
  | (?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\]{1,2}+(?:[A-Z](?=[a-z]))?+[a-z0-9_.-]{0,32}+)++
  | [\w./-]+\.(?:pem|key|txt|json|ya?ml|env|crt|p12|pub|toml|ini|conf)
""")
_CODE = re.compile(r"[$A-Za-z_][\w.:>-]*[(\[{]|[&*!][A-Za-z_]+\Z|[A-Z][a-z]+(?:[A-Z][a-z]+)+\Z")
_STRONG = re.compile(r"(?s)(?=.*[^\W\d_])(?=.*[\d!@#$%^&~])")
_PROSE = re.compile(r"(?i)(?<!\S)(?:the|is|are|be|of|to|your?|must|enter|for|and|or|not|it|an?|in|with|was)\s")
_PLAIN = re.compile(r"[A-Za-z][a-z]+(?:-[a-z]+)*|[A-Z]+|\d+")
_LINE_ENDS = re.compile(r"""[ \t.]{0,8}(?:[\r\n#;&"'`}]|,["']|</|<br|\\[nr]|\Z)""")
_VENDOR_HINTS = [(hint, (kind, rf"(?a)(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])"))
                 for kind, hints, pattern in _VENDORS for hint in hints.split()]
_CONTEXT_HINTS = [(hint, (kind, pattern)) for kind, hints, pattern in _CONTEXTS for hint in hints.split()]


def find(text: str) -> list[Finding]:
    """The secrets in a text, in order and without overlap."""
    # This one letter grows when lowered, and positions in both texts must agree.
    lowered = text.replace("İ", "i").lower()
    words = " ".join([word for word in text.split() if len(word) >= _SHORTEST_TOKEN])
    vendors = dict.fromkeys([rule for hint, rule in _VENDOR_HINTS if hint in words])
    contexts = dict.fromkeys([rule for hint, rule in _CONTEXT_HINTS if hint in lowered])
    rules = [*(rule for rule in vendors if re.search(rule[1], words)), *contexts]
    found = [Finding(kind, *match.span(match.lastindex or 0)) for kind, pattern in rules
             for match in re.finditer(pattern, text) if not _stands_in(match[match.lastindex or 0])]
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
        kept = [text[end:finding.start] for end, finding in zip(ends, findings, strict=False)]
        text = MARK.join([*kept, text[ends[-1]:]])
    return text, dict(counts)


def _assigned(text: str, lowered: str, key: re.Match[str]) -> Finding | None:
    """The value after a word like `password`, if it can be believed to be a secret."""
    before, separator = (max(0, key.start() - 24), key.start()), _SEPARATOR.match(text, key.end())
    if not separator or _NO_CREDENTIAL.search(lowered, *before):
        return None
    value = _VALUE.match(text, separator.end())
    if not value or (separator["loose"] == " " and value["bare"] and not _FLAG.search(lowered, *before)):
        return None
    kind, secret = str(key.lastgroup).replace("_", "-"), value[str(value.lastgroup)]
    found = Finding(kind, *value.span(str(value.lastgroup)))
    if len(secret) > _LONGEST_WEIGHED:
        return found if len(secret.split()) == 1 else None
    if len(secret) < _SHORTEST_VALUE[kind] or (" " in secret and kind != "password"):
        return None
    # What stands between two strings begins or ends like this, a string does not.
    between = secret[0] in " ,);:}]" or secret[-1] == " " or (value["bare"] and _CODE.match(secret))
    if between or _stands_in(secret) or secret.lower() in _WORDS or _REFERENCE.fullmatch(secret):
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
    return len(secret) <= _LONGEST_WEIGHED and bool(_PLACEHOLDER.fullmatch(secret) or _PROSE.search(secret))
