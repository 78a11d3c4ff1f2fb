"""Realistic secrets and harmless texts that look like them, in groups, all made up.

A secret stands between « and »; `{alnum:36}` is filled by tests/secret_text.py.
"""

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from memolith.redaction.rules_file import read_rules
from tests.secret_text import filled

CONTEXTS = {
    "prose": "Use § for now, Ann said.",
    "glued to a letter": "token§ and so on",
    "JSON": '{"a": 1, "value": "§", "b": [2]}',
    "escaped JSON": '{\\"line\\": \\"before\\n§\\"}',
    "YAML": "services:\n  api:\n    value: §\n    port: 80\n",
    "address": "https://api.example.com/v1/items?x=1&k=§&page=2",
    "Markdown": "- **prod**: `§` (rotate soon)",
    "log": "2026-03-01T12:00:00Z INFO request ok auth=§ status=200",
    "shell": "export ACME='§' && ./deploy.sh",
    "invisible characters": "see §",
}
"""The § is the place of the secret."""

GLUED = "glued to a letter"

SECRETS: dict[str, list[str]] = {
    "large vendors": [
        "«AKIA{upper:16}»",
        "«ASIA{upper:16}»",
        "aws_secret_access_key = «{base64:40}»",
        "aws_session_token = «IQoJb3JpZ2luX2Vj{base64:400}»",
        "«ABSKQmVkcm9ja0FQSUtleS{base64:110}»",
        "«AIzaSy{urlsafe:33}»",
        "«AQ.Ab8RN6{urlsafe:44}»",
        "«ya29.a0Af{urlsafe:160}»",
        "«GOCSPX-{urlsafe:28}»",
        "«{alnum:3}8Q~{urlsafe:34}»",
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=«{base64:76}+ASt{alnum:6}==»;X=1",
        "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=r;SharedAccessKey=«{base64:43}=»",
        "«{alnum:52}JQQJ99BAC{alnum:15}AZDO{alnum:4}»",
        "«ghp_{alnum:36}»",
        "«gho_{alnum:36}»",
        "«ghs_1234567_eyJ{urlsafe:33}.eyJ{urlsafe:300}.{urlsafe:86}»",
        "«ghr_{alnum:76}»",
        "«github_pat_11{upper:20}_{alnum:59}»",
        "«glpat-{urlsafe:20}»",
        "«glpat-{urlsafe:27}.01.0{lower:8}»",
        "«glrt-t1_{urlsafe:20}»",
        "«xoxb-2345678901-2345678901234-{alnum:24}»",
        "«xoxp-2345678901-2345678901-2345678901234-{hex:32}»",
        "«xapp-1-A0{upper:9}-2345678901234-{hex:64}»",
        "https://hooks.slack.com/services/«T0{upper:9}/B0{upper:9}/{alnum:24}»",
        "«sk-proj-{urlsafe:74}T3BlbkFJ{urlsafe:74}»",
        "«sk-svcacct-{urlsafe:74}T3BlbkFJ{urlsafe:74}»",
        "«sk-{alnum:20}T3BlbkFJ{alnum:20}»",
        "«sk-ant-api03-{urlsafe:93}AA»",
        "«sk-ant-admin01-{urlsafe:93}AA»",
        "«sk-ant-oat01-{urlsafe:93}AA»",
        "«sk-or-v1-{hex:64}»",
        "«hf_{letters:34}»",
        "«gsk_{alnum:52}»",
        "«xai-{alnum:80}»",
        "«pplx-{alnum:48}»",
        "«r8_{alnum:37}»",
        "«sk_live_51{alnum:97}»",
        "«sk_test_{alnum:24}»",
        "«rk_live_{alnum:99}»",
        "«whsec_{alnum:32}»",
        "«SG.{urlsafe:22}.{urlsafe:43}»",
        "«SK{hex:32}»",
        "«npm_{alnum:36}»",
        "«pypi-AgEIcHlwaS5vcmc{urlsafe:140}»",
        "«dckr_pat_{urlsafe:27}»",
        "«dop_v1_{hex:64}»",
        "«shpat_{hex:32}»",
        "«dapi{hex:32}»",
        "«ATATT3xFfGF0{urlsafe:172}={HEX:8}»",
        "«hvs.CAESI{urlsafe:90}»",
        "«{alnum:14}.atlasv1.{urlsafe:67}»",
        "«cfut_{alnum:40}{hex:8}»",
        "«vcp_{alnum:56}»",
        "«ntn_{digits:11}{alnum:35}»",
        "«lin_api_{alnum:40}»",
        "«figd_{urlsafe:40}»",
        "«NRAK-{upper:27}»",
        "«glsa_{alnum:32}_{hex:8}»",
        "«sntrys_eyJ{base64:120}_{base64:43}»",
        "«EAAG{alnum:180}»",
        "«{digits:10}:AAH{urlsafe:32}»",
        "«MTIz{alnum:22}.G{alnum:5}.{urlsafe:38}»",
        "«eyJ{urlsafe:33}.eyJ{urlsafe:120}.{urlsafe:43}»",
        "«mlk_{urlsafe:43}»",
    ],
    "models and agents": [
        "«fw_{alnum:24}»",
        "«sk_{hex:48}»",
        "«lsv2_pt_{hex:32}_{hex:10}»",
        "«pcsk_{alnum:5}_{alnum:63}»",
        "«pa-{urlsafe:43}»",
        "«jina_{hex:32}{alnum:28}»",
        "«tvly-dev-{alnum:32}»",
        "«fc-{hex:32}»",
        "«csk-{lower:48}»",
        "«nvapi-{urlsafe:64}»",
        "«llx-{alnum:48}»",
        "«e2b_{hex:40}»",
        "«apify_api_{alnum:36}»",
        "«sk-lf-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "«tgp_v1_{urlsafe:43}»",
        "«key_{hex:64}»",
        "«m0-{alnum:40}»",
        "«ctx7sk-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "«bb_live_{urlsafe:27}»",
        "MISTRAL_API_KEY=«{alnum:32}»",
        "COHERE_API_KEY: «{alnum:40}»",
        "wandb key «{hex:40}»",
        "together key: «{hex:64}»",
        "my deepgram api key is «{hex:40}»",
    ],
    "hosting and data": [
        "«LTAI5t{alnum:18}»",
        "«AKID{alnum:32}»",
        "«SCW{upper:17}»",
        "«HRKU-AA{urlsafe:58}»",
        "«nfp_{alnum:36}»",
        "«fo1_{urlsafe:43}»",
        "«rnd_{alnum:28}»",
        "«sbp_{hex:40}»",
        "«sb_secret_{urlsafe:31}»",
        "«pscale_tkn_{urlsafe:43}»",
        "«napi_{lower:64}»",
        "«CCIPAT_{alnum:22}_{hex:40}»",
        "«bkua_{alnum:40}»",
        "«rubygems_{hex:48}»",
        "«cio{alnum:32}»",
        "«oy2{lower:43}»",
        "«pul-{hex:40}»",
        "«dp.pt.{alnum:43}»",
        "«ops_eyJ{base64:400}»",
        "«AGE-SECRET-KEY-1{upper:58}»",
        "«tskey-auth-{alnum:12}CNTRL-{alnum:32}»",
        "«2{alnum:26}_{alnum:21}»",
        "«BBDC-{base64:44}»",
        "«ATBB{alnum:32}»",
        "«squ_{hex:40}»",
        "«AstraCS:{alnum:24}:{hex:64}»",
        "CLOUDFLARE_API_TOKEN=«{alnum:40}»",
        "HEROKU_API_KEY=«{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "LINODE_TOKEN: «{hex:64}»",
        "DD_API_KEY=«{hex:32}»",
        "DD_APP_KEY=«{hex:40}»",
        "SNYK_TOKEN=«{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "HONEYCOMB_KEY=«{alnum:22}»",
    ],
    "payment and messages": [
        "«EAAAE{urlsafe:59}»",
        "«sq0atp-{urlsafe:22}»",
        "«access_token$production${lower:16}${hex:32}»",
        "«access-production-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "«rzp_live_{alnum:14}»",
        "«FLWSECK-{hex:32}-X»",
        "«live_{alnum:30}»",
        "«pdl_live_apikey_{lower:26}_{alnum:22}_{alnum:3}»",
        "«EZAK{alnum:54}»",
        "«shippo_live_{hex:40}»",
        "«key-{hex:32}»",
        "«{hex:32}-us12»",
        "«re_{alnum:8}_{alnum:24}»",
        "«xkeysib-{hex:64}-{alnum:16}»",
        "«PMAK-{hex:24}-{hex:34}»",
        "«pat-na1-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "«pat{alnum:14}.{hex:64}»",
        "«tfp_{alnum:44}_{alnum:14}»",
        "«CFPAT-{urlsafe:43}»",
        "«sk.eyJ{urlsafe:60}.{urlsafe:22}»",
        "«dt0c01.{upper:24}.{upper:64}»",
        "«hcaik_{lower:58}»",
        "«phx_{alnum:43}»",
        "«xaat-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "«sdk-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "https://discord.com/api/webhooks/{digits:18}/«{urlsafe:68}»",
        "https://hooks.zapier.com/hooks/catch/«{digits:7}/{lower:7}»",
        "https://maker.ifttt.com/trigger/door/with/key/«{urlsafe:43}»",
        "TWILIO_AUTH_TOKEN=«{hex:32}»",
        "Authorization: SSWS «00{urlsafe:40}»",
    ],
    "in their context": [
        "postgres://app:«{alnum:16}»@db.example.com:5432/app",
        "mongodb+srv://root:«{alnum:12}»@c0.abc.mongodb.net/?w=majority",
        "redis://default:«{alnum:20}»@cache:6379",
        "amqps://u:«{alnum:12}»@mq.example.com/vhost",
        "jdbc:oracle:thin:scott/«tiger9!»@db:1521:xe",
        "jdbc:mysql://db/app?user=a&password=«{alnum:12}»",
        "mysql -u root -p«{alnum:12}» app",
        "mysqldump -h db -uroot -p'«{alnum:12}!»' app",
        "sshpass -p «{alnum:12}» ssh root@10.0.0.1",
        "sshpass -p '«{alnum:8} {alnum:3}»' ssh root@10.0.0.1",
        "PGPASSWORD=«{alnum:12}» psql -h db",
        "curl -u admin:«{alnum:12}» https://x.example",
        "docker login -u bob -p «{alnum:12}» ghcr.io",
        '{"auths": {"https://index.docker.io/v1/": {"auth": "«{base64:36}»"}}}',
        "    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ{base64:600}==»",
        "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n«{base64:64}\n{base64:40}»\n",
        "«-----BEGIN OPENSSH PRIVATE KEY-----\n{base64:70}\n{base64:70}\n-----END OPENSSH PRIVATE KEY-----»",
        "PrivateKey = «{base64:43}=»",
        "machine api.example.com\nlogin bob\npassword «{alnum:12}»",
        "db.example.com:5432:app:bob:«{alnum:12}»",
        "//registry.npmjs.org/:_authToken=«{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "bob:«$apr1${alnum:8}${alnum:22}»",
        "Cookie: lang=en; sessionid=«{lower:32}»",
        "Authorization: Bearer «{alnum:40}»",
        "Authorization: Basic «{base64:32}»",
        "X-Api-Key: «{alnum:32}»",
        "Ocp-Apim-Subscription-Key: «{hex:32}»",
        "SECRET_KEY = '«django-insecure-{alnum:50}»'",
        "RAILS_MASTER_KEY=«{hex:32}»",
        "define('AUTH_KEY', '«{alnum:32}!{alnum:31}»');",
        "PRIVATE_KEY=«0x{hex:64}»",
        "seed phrase: «ribbon castle ginger matrix velvet onion magnet copper island pepper silver meadow»",
        "card «4539 5787 6362 1486» exp 12/29",
        "paid with «5425233430109903»",
        "amex «3782 822463 10005»",
        "https://«{hex:32}»@o123.ingest.sentry.io/456",
        "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=«{hex:64}»",
        "gmail app password: «abcd efgh ijkl mnop»",
        "openssl rsa -in k.pem -passin pass:«{alnum:12}»",
        "CREATE USER 'bob' IDENTIFIED BY '«{alnum:12}»';",
        "the api key «{alnum:32}» works",
        "user: admin pass: «{alnum:8}!»",
        "login: bob / «Sommer2024!»",
        "Password «Hunter2024!» for staging",
        "smtp password «{lower:16}»",
        "npmrc has _auth=«{base64:24}==»",
        "auth: «{hex:40}»",
        "bearer: «{alnum:40}»",
        'mysql -u root -p"«My P4ss»" db',
        "net user bob «P4ssw0rd!» /add",
        "echo «hunter2!» | sudo -S ls",
        "btc «5KJvsngHeMpm884wtkJNzQGaCErckhHJBGFsvd3VyK5qMZXj3hS»",
        'mnemonic "«legal winner thank year wave sausage worth useful legal winner thank yellow»"',
        '"number":"«4012888888881881»"',
        "otpauth://totp/x?secret=«{upper:32}»&issuer=y",
        "«eyJhdXRocyI6{base64:200}»",
        "https://prod-1.westeurope.logic.azure.com/workflows/x/invoke?sp=%2Ft&sv=1.0&sig=«{urlsafe:43}»",
        "opsgenie GenieKey «{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»",
        "acme_«live_{alnum:32}»",
    ],
}


class Sample(NamedTuple):
    """A text, and the secret in it that must not be left over."""

    group: str
    context: str
    text: str
    secret: str


def secret_samples() -> Iterator[Sample]:
    """Every secret as it stands; a bare token in every context; and those of the rules."""
    for group, templates in SECRETS.items():
        for template in templates:
            yield from _in_contexts(group, filled(template))
    for rule in read_rules()["tokens"]:
        for example in rule["examples"]:
            text = filled(example, "other")
            if not re.compile(rule["pattern"]).groups:
                text = f"«{re.split('[«»]', text)[1]}»"
            yield from _in_contexts("every rule", text)


def _in_contexts(group: str, text: str) -> Iterator[Sample]:
    before, secret, after = re.split("[«»]", text)
    if before or after:
        yield Sample(group, "its own", before + secret + after, secret)
        return
    for name, context in CONTEXTS.items():
        if name == GLUED and not _is_distinctive(secret):
            continue
        shown = secret
        if name == "invisible characters":
            shown = secret[:9] + "\u200b" + secret[9:]
        yield Sample(group, name, context.replace("§", shown), secret)


def _is_distinctive(token: str) -> bool:
    """Whether the token begins with a prefix that is looked for inside a word, too."""
    return token.startswith(tuple(_glued_prefixes()))


@cache
def _glued_prefixes() -> list[str]:
    rules = [rule for rule in read_rules()["tokens"] if not rule.get("alone", False)]
    return [
        hint
        for rule in rules
        for hint in rule["hints"]
        if len(hint) > 3 and rule["pattern"].lstrip("(?:").startswith(hint[0])
    ]


def harmless_samples() -> Iterator[tuple[str, str]]:
    """Texts without a secret, by group."""
    for group, templates in HARMLESS.items():
        for number, template in enumerate(templates):
            yield group, filled(template, str(number))
    yield from _made_of_code()
    yield from _numbers()


def _made_of_code() -> Iterator[tuple[str, str]]:
    """Minified code, lock files and pictures, each with other names and hashes."""
    for seed in range(12):
        chance = random.Random(seed)
        names = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=3)) for _ in range(60)]
        calls = ";".join(
            f"function {name}(e,t){{return e.{name}_key(t)||t[{n}]}}"
            for n, name in enumerate(names)
        )
        yield (
            "minified code",
            f"!function(){{'use strict';{calls}}}();//# sourceMappingURL=main.{filled('{hex:8}', str(seed))}.js.map",
        )
        yield (
            "base64 pictures",
            filled("![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUg{base64:4000}==)", str(seed)),
        )
        yield (
            "base64 pictures",
            filled("<img src='data:font/woff2;base64,d09GMgABAAAAA{base64:2000}'>", str(seed)),
        )
        yield "base64 pictures", filled("{urlsafe:3000}", str(seed))
        yield (
            "lock files",
            filled(
                '"node_modules/abc": {"version": "1.2.3", "resolved": "https://registry.npmjs.org/abc/-/abc-1.2.3.tgz", "integrity": "sha512-{base64:86}=="}',
                str(seed),
            ),
        )
        yield (
            "lock files",
            filled('checksum = "{hex:64}"\nname = "serde"\nversion = "1.0.200"', str(seed)),
        )
        yield "lock files", filled("github.com/pkg/errors v0.9.1 h1:{base64:43}=\n", str(seed))
        yield (
            "lock files",
            filled("    --hash=sha256:{hex:64} \\\n    --hash=sha256:{hex:64}", str(seed)),
        )


def _numbers() -> Iterator[tuple[str, str]]:
    """Numbers that are no cards: wrong check digit, other lengths, other labels."""
    chance = random.Random(7)
    for _ in range(12):
        number = "".join(chance.choices("0123456789", k=15))
        yield "numbers", f"card 4{number}0" if _luhn_sum(f"4{number}0") % 10 else f"card 4{number}1"
        yield "numbers", f"order no. {chance.randrange(10**15, 10**16)} shipped"
        yield (
            "numbers",
            f"call +49 30 {chance.randrange(10**6, 10**8)} or 0171 {chance.randrange(10**6, 10**7)}",
        )
        yield (
            "numbers",
            f"ts={chance.randrange(1_600_000_000_000, 1_900_000_000_000)} id={chance.randrange(10**17, 10**18)}",
        )
        yield "numbers", f"ISBN 978-3-16-{chance.randrange(100000, 999999)}-{chance.randrange(9)}"
        yield (
            "numbers",
            json.dumps({"tweet": chance.randrange(10**18, 2 * 10**18), "price": chance.random()}),
        )


def _luhn_sum(digits: str) -> int:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total


HARMLESS: dict[str, list[str]] = {
    "hashes and ids": [
        "commit {hex:40}",
        "fixed in {hex:7} and {hex:12}",
        "md5 {hex:32}  file.iso",
        "sha256:{hex:64}",
        "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        "request_id={hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        "trace {hex:32} span {hex:16}",
        'ETag: "{hex:32}"',
        "image nginx@sha256:{hex:64}",
        "pod web-7d4b9c6f5d-x2k8p on node ip-10-0-0-1",
        "cus_{alnum:14} paid pi_{alnum:24} for price_{alnum:24}",
        "chatcmpl-{alnum:29} and msg_01{alnum:22} and toolu_01{alnum:22} and call_{alnum:24}",
        "file-{alnum:24} run_{alnum:24} thread_{alnum:24} asst_{alnum:24} resp_{hex:48}",
        "req_011{alnum:21} evt_1{alnum:23} sub_1{alnum:23}",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV is a ULID",
        "doc 5f8d0d55b54764421b7156c1 in mongo",
        "youtube.com/watch?v={urlsafe:11}",
        "arn:aws:iam::123456789012:role/deploy-{hex:8}",
        "tx 0x{hex:64} to 0x{hex:40}",
        "1BoatSLRHtKNngkdXEeobR76b53LETtpyT is an address",
        "bc1q{lower:38} is an address",
        "CID Qm{base58:44}",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{base64:43} bob@laptop",
        "SHA256:{base64:43} bob@laptop (ED25519)",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ{base64:340} bob",
        "-----BEGIN CERTIFICATE-----\n{base64:64}\n{base64:64}\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n{base64:64}\n-----END PUBLIC KEY-----",
        "-----BEGIN PGP SIGNATURE-----\n{base64:64}\n-----END PGP SIGNATURE-----",
        "age1{lower:58} is a recipient",
        "pk_live_{alnum:24} is published",
        "sb_publishable_{alnum:31}",
        "GTM-{upper:7} and G-{upper:10} and UA-12345678-1",
        "s3://bucket/2024/01/{hex:32}.parquet",
        "/assets/index-{alnum:8}.js and /assets/vendor-{alnum:8}.css",
        "https://example.com/a/{hex:24}/b?utm_source=x&cid={digits:10}.{digits:10}",
        "v1.2.3-0.20240101120000-{hex:12}",
        "Docker container {hex:64} exited",
        "cache-key-{hex:32} cache_key={hex:40}",
        "idempotency_key: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}",
        "etag W/\"{hex:24}\" and nonce in CSP 'sha256-{base64:43}='",
        "JSESSION is a name; session {hex:8} ended",
        "task-{hex:32} disk-{hex:40} risk-{hex:12}",
        "the key {hex:12} in the map",
        "public_key: {hex:64}",
        "kid: {alnum:20}",
        "partition_key={alnum:32}",
        "S3_KEY=uploads/2024/report-final.pdf",
        "PRIMARY_KEY=user_id",
    ],
    "prose": [
        "the password is stored hashed with bcrypt",
        "Reset your password if you forgot it.",
        "Passwords must have at least 12 characters and a digit.",
        "The secret to good bread is time.",
        "A token is a unit of text; this model reads 8192 tokens.",
        "Please rotate the API keys every 90 days.",
        "The API key is in the vault, ask Ann.",
        "my token expired yesterday",
        "We use OAuth 2.0 with PKCE and short-lived access tokens.",
        "Bearer authentication is described in the standard document",
        "He kept the key under the mat.",
        "the key insight is that caching helps",
        "The secret ingredient: 2 eggs",
        "Authorization: Basic authentication is off by default.",
        "Use a password manager such as 1Password or Bitwarden.",
        "The private key never leaves the device.",
        "credit cards are accepted; the card number has 16 digits",
        "Key: value pairs are separated by a colon.",
        "token budget for the summary: 4000 words",
        "the wifi password is on the fridge",
        "A seed phrase has twelve or twenty-four words.",
        "The cookie banner says that cookies are needed.",
        "mysql -u root -p asks for the password",
        "sshpass is a program that types a password",
        "docker login asks for user and password",
        "The session was long, and the tokens ran out.",
        "Das Passwort steht im Tresor.",
        "le mot de passe est obligatoire",
        "She authorised the payment with her card.",
        "The passphrase must be a sentence.",
        "Set the password to something long.",
        "an access token for each service account is created",
        "pass the token to the next handler",
        "password strength: strong",
        "We decided to put the token behind a cache, because the latency of run 12 was too high.",
        "The kubeconfig has client-certificate-data and client-key-data.",
        "git clone https://github.com/acme/app.git",
        "ping me at bob@example.com or https://example.com/@bob",
        "the secret was found by the scanner in commit {hex:40}",
        "secret_santa_assignment_generator_for_your_team",
        "the password protected2 page was moved to the archive",
        "Basic understanding of internationalization is enough.",
        "a password manager2go review",
        "auth: oauth2-with-authorization-code-and-pkce",
        "login: see the page / ask Ann",
    ],
    "placeholders": [
        "OPENAI_API_KEY=sk-xxxx",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "api_key = <your key>",
        "export TOKEN=$TOKEN",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "password: changeme",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ANTHROPIC_API_KEY=sk-ant-...",
        "Authorization: Bearer YOUR_TOKEN",
        "Authorization: Bearer <token>",
        "curl -H 'Authorization: Bearer $TOKEN' https://api.example.com",
        "postgres://user:password@localhost:5432/db",
        "postgres://USER:PASSWORD@HOST/DB",
        "redis://:${REDIS_PASSWORD}@cache:6379",
        'password = "********"',
        "token=[REDACTED]",
        "SLACK_TOKEN=xoxb-your-token",
        "password: {{ vault_password }}",
        'api_key: "{api_key}"',
        "SECRET_KEY=changeme-please",
        "key = os.environ['API_KEY']",
        "const token = process.env.TOKEN;",
        "password=%PASSWORD%",
        "apiKey: 'your-api-key-here',",
        "token: !vault |",
        "password: op://vault/item/password",
        "DB_PASSWORD_FILE=/run/secrets/db_password",
        "mysql -uroot -p$MYSQL_ROOT_PASSWORD app",
        'sshpass -p "$PASS" ssh root@host',
        "https://user:<password>@host/path",
        "STRIPE_KEY=sk_live_...",
        "STRIPE_KEY=sk_test_your_key_goes_here",
        "define('DB_PASSWORD', 'password_here');",
        "sk-ant-api03-your-key-here-your-key-here",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "card number 4XXX XXXX XXXX XXXX",
    ],
    "code and configuration": [
        "def login(user: str, password: str) -> Token:",
        "if (password !== confirmPassword) return;",
        "max_tokens=4096, temperature=0.2",
        "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')",
        "pad_token_id=0, eos_token_id=50256",
        "<input type='password' name='password' autocomplete='new-password'>",
        "password VARCHAR(255) NOT NULL,",
        "CREATE TABLE api_keys (id uuid PRIMARY KEY, key_hash bytea NOT NULL);",
        "class='sk-folding-cube-container-spinner sk-child-1'",
        ".btn-primary{background:#0d6efd;border-color:#0d6efd}",
        "@keyframes spin{to{transform:rotate(360deg)}}",
        "import { createHash, randomBytes } from 'node:crypto';",
        "secretName: tls-cert-2024",
        "kind: Secret\nmetadata:\n  name: db-creds-v2",
        "valueFrom:\n  secretKeyRef:\n    name: db\n    key: password",
        "token_type: bearer, expires_in: 3600",
        "next_page_token: CAEQAA12345678",
        "self.password = password",
        "password: Optional[str] = None",
        "jwt.verify(token, publicKey, { algorithms: ['RS256'] })",
        "SELECT * FROM users WHERE password_hash = $1",
        "ports:\n  - 127.0.0.1:5432:5432\n  - 6379:6379",
        "docker run -p 8080:80 -e TZ=UTC nginx",
        "ssh -p 2222 bob@example.com",
        "rsync -avz -e 'ssh -p 22' a/ b/",
        "test_that_the_long_name_of_a_function_is_no_key_2024",
        "def test_KNeighborsClassifier_raise_on_all_zero_weights():",
        "def test_0d_and_1d_array_hashing_is_different():",
        "npm_config_registry_and_more_words_in_a_row_here",
        "live_stream_of_the_conference_in_berlin_2024_part_2",
        "api_v2_users_list_with_filters_and_pagination_2",
        "x-request-id: {hex:32}",
        "x-amz-date: 20240101T000000Z",
        "Set-Cookie: theme=dark; Path=/; HttpOnly",
        "const KEY_LENGTH = 32; const KEY_PREFIX = 'mlk_';",
        "keyboard.key('Enter')",
        "foreign_key: orders.customer_id_2",
        "--token-limit 200000 --max-keys 1000",
        "hf_hub_download(repo_id='bert-base-uncased')",
        "re_compile_every_pattern_of_the_file_again_and_again",
        "sha256sum -c SHA256SUMS",
        "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'",
        "com.fasterxml.jackson.databind.deser.std.StdDeserializer2",
        "org.springframework.security.authentication.UsernamePasswordAuthenticationToken",
        "AbstractSingletonProxyFactoryBean2ConfigurationPropertiesBindingPostProcessor",
        "pat-the-dog-and-the-cat-in-the-garden-today",
        "key-value-store-with-ttl-and-eviction-v2",
    ],
    "logs": [
        "2024-05-01 12:00:00,123 INFO [main] Started in 3.2 s (pid 4321)",
        '10.0.0.1 - - [01/May/2024:12:00:00 +0000] "GET /token HTTP/1.1" 200 512 "-" "curl/8.5.0"',
        'ERROR: password authentication failed for user "bob"',
        "WARN token expired at 2024-05-01T12:00:00Z for user 42",
        'level=info msg="key rotated" key_id={hex:16} took=12ms',
        "E0501 12:00:00.000000 1 reflector.go:147] failed to list *v1.Secret: secrets is forbidden",
        "sshd[1234]: Accepted publickey for bob from 10.0.0.1 port 50522 ssh2: ED25519 SHA256:{base64:43}",
        "kernel: [12345.678901] usb 1-1: new high-speed USB device number 4",
        "GET /api/v1/keys?limit=100&cursor={alnum:24} 200",
        "[{hex:8}] PASS: 120 tests in 3 s",
        'Traceback (most recent call last):\n  File "/srv/app/auth/token.py", line 42, in verify',
        "npm WARN deprecated har-validator@5.1.5: this library is no longer supported",
        "Pulling fs layer {hex:12}: Download complete",
        "Received 4096 tokens in 2.1 s (1950 tokens/s)",
        "oom-killer: task=python,pid=4321,uid=1000 total-vm:1234567kB",
        "HTTP/2 200 server: cloudflare cf-ray: {hex:16}-FRA",
    ],
}
"""Texts in which nothing must be found."""
