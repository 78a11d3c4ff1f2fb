"""What counts as a secret, what does not, and that redaction takes exactly the secret.

Every sample is made up and put together at run time, so that scanners of the repository find
nothing here.
"""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.redaction.assignments import SecretMatch
from memolith.redaction.detector import MARK, find, redact
from tests.hostile import CLOCK_STEP_S, cpu_time_of, harmless_text, is_linear

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
NEWLINE = "\\n"


def made_up(length: int, alphabet: str = ALNUM) -> str:
    """Random-looking characters that are the same in every run, with a capital, a digit and a small
    letter.
    """
    chance = random.Random(length * 1000 + len(alphabet))
    body = "".join(chance.choice(alphabet) for _ in range(length - 3))
    return body + "".join(
        chance.choice([c for c in group if c in alphabet] or alphabet)
        for group in (string.ascii_uppercase, string.digits, string.ascii_lowercase)
    )


def pem(label: str, end: str = "\n", closed: bool = True) -> str:
    lines = [f"-----BEGIN {label}-----", *[made_up(64, BASE64)] * 5, made_up(21, BASE64) + "=="]
    return end.join([*lines, f"-----END {label}-----"] if closed else lines)


def jwt(*parts: int) -> str:
    return ".".join(
        [
            "ey" + "J" + made_up(parts[0], URLSAFE),
            "ey" + "J" + made_up(parts[1], URLSAFE),
            *[made_up(part, URLSAFE) for part in parts[2:]],
        ]
    )


RSA, OPENSSH, PKCS8 = "RSA PRIVATE " + "KEY", "OPENSSH PRIVATE " + "KEY", "PRIVATE " + "KEY"
HUMAN = "hun" + "ter2"
WORD = "sword" + "fish"
MIXED = "Tr0ub4" + "dor&3"

# The slot § is where the secret stands.
VENDORS = [
    ("id § in use", "AK" + "IA" + made_up(16, UPPER), "aws-access-key"),
    ("session id §.", "AS" + "IA" + made_up(16, UPPER), "aws-access-key"),
    ("aws_secret_access_key = §", made_up(40, BASE64), "aws-secret-key"),
    ("AWS_SECRET_ACCESS_KEY=§\nAWS_REGION=eu-west-1", made_up(40, BASE64), "aws-secret-key"),
    ('{"SecretAccessKey": "§"}', made_up(40, BASE64), "aws-secret-key"),
    ("use § for CI", "gh" + "p_" + made_up(36), "github-token"),
    ("(§)", "gh" + "o_" + made_up(36), "github-token"),
    ("x=§;", "gh" + "u_" + made_up(36), "github-token"),
    ("https://§@github.com/a/b", "gh" + "s_" + made_up(36), "github-token"),
    ("'§'", "gh" + "r_" + made_up(36), "github-token"),
    ("fine-grained: §", "github" + "_pat_" + made_up(22) + "_" + made_up(59), "github-token"),
    ("gitlab §", "gl" + "pat-" + made_up(20, URLSAFE), "gitlab-token"),
    ("client = OpenAI('§')", "s" + "k-" + made_up(48), "openai-key"),
    ("OPENAI_API_KEY=§", "s" + "k-proj-" + made_up(100, URLSAFE), "openai-key"),
    ("router key §", "s" + "k-or-v1-" + made_up(64, HEX), "openai-key"),
    ("deep key §", "s" + "k-" + made_up(32, HEX), "openai-key"),
    ("claude: §", "s" + "k-ant-api03-" + made_up(93, URLSAFE), "anthropic-key"),
    ("https://maps.example/js?key=§&v=3", "AI" + "za" + made_up(35), "google-key"),
    ("oauth §", "ya" + "29." + made_up(60, URLSAFE), "google-key"),
    ("oauth client §", "GOC" + "SPX-" + made_up(28, URLSAFE), "google-key"),
    ("bot §", "xo" + "xb-" + "123456789012-" + made_up(24), "slack-token"),
    ("user §", "xo" + "xp-" + "123456789012-" + made_up(32, HEX), "slack-token"),
    (
        "post to https://hooks.slack.com/services/§",
        f"T{made_up(8, UPPER)}/B{made_up(8, UPPER)}/{made_up(24)}",
        "slack-webhook",
    ),
    ("pay with §", "s" + "k_live_" + made_up(24), "stripe-key"),
    ("restricted §", "r" + "k_live_" + made_up(24), "stripe-key"),
    ("twilio §", "S" + "K" + made_up(32, HEX), "twilio-key"),
    ("mail by §", "S" + "G." + made_up(22, URLSAFE) + "." + made_up(43, URLSAFE), "sendgrid-key"),
    ("//registry.npmjs.org/:_authToken=§", "np" + "m_" + made_up(36), "npm-token"),
    ("twine upload -u __token__ -p §", "py" + "pi-AgEI" + made_up(120, URLSAFE), "pypi-token"),
    ("login('§')", "h" + "f_" + made_up(34), "huggingface-token"),
    ("AccountName=shop;AccountKey=§;EndpointSuffix=core", made_up(86, BASE64) + "==", "azure-key"),
    ("https://a.blob.core/c?sv=2022&sig=§&se=1", made_up(43) + "%3D", "azure-key"),
    ("doctl auth §", "do" + "p_v1_" + made_up(64, HEX), "digitalocean-token"),
    (
        "https://api.telegram.org/bot: §",
        "110201543:" + "AA" + made_up(33, URLSAFE),
        "telegram-token",
    ),
    (
        "bot.run('§')",
        "MT" + made_up(22) + "." + made_up(6) + "." + made_up(38, URLSAFE),
        "discord-token",
    ),
    (
        "https://discord.com/api/webhooks/123456789012345678/§",
        made_up(68, URLSAFE),
        "discord-webhook",
    ),
    ("mail §", "ke" + "y-" + made_up(32, HEX), "mailgun-key"),
    (
        "mailgun uses § now",
        f"{made_up(32, HEX)}-{made_up(8, HEX)}-{made_up(8, HEX)}",
        "mailgun-key",
    ),
    ("square §", "sq0" + "atp-" + made_up(22, URLSAFE), "square-token"),
    ("square §", "EA" + "AA" + made_up(60, URLSAFE), "square-token"),
    ("shop §", "shp" + "at_" + made_up(32, HEX), "shopify-token"),
    ("bricks §", "da" + "pi" + made_up(32, HEX), "databricks-token"),
    ("linear §", "lin" + "_api_" + made_up(40), "linear-key"),
    ("notion §", "nt" + "n_" + made_up(46), "notion-token"),
    ("old notion §", "sec" + "ret_" + made_up(43), "notion-token"),
    ("vault login §", "hv" + "s." + made_up(90, URLSAFE), "vault-token"),
    ("doppler §", "d" + "p.pt." + made_up(43), "doppler-token"),
    ("# created by age\n§\n", "AGE-SECRET-" + "KEY-1" + made_up(58, UPPER), "age-key"),
    ("groq §", "gs" + "k_" + made_up(52), "groq-key"),
    ("grok §", "xa" + "i-" + made_up(80), "xai-key"),
    ("search §", "ppl" + "x-" + made_up(48), "perplexity-key"),
    ("replicate §", "r" + "8_" + made_up(37), "replicate-token"),
    ("docker login §", "dckr" + "_pat_" + made_up(27), "docker-token"),
    ("grafana §", "gl" + "sa_" + made_up(32) + "_" + made_up(8, HEX), "grafana-token"),
    ("jira §", "ATA" + "TT3" + made_up(180, URLSAFE), "atlassian-token"),
]

PRIVATE_KEYS = [
    ("my key:\n§\nkeep it", pem(RSA)),
    ("§", pem(PKCS8)),
    ("a § b", pem("EC PRIVATE " + "KEY")),
    ("§\n", pem(OPENSSH)),
    ("§\n", pem("ENCRYPTED PRIVATE " + "KEY")),
    ("§\n", pem("PGP PRIVATE " + "KEY BLOCK")),
    (
        "§\n",
        pem(RSA).replace(
            "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n", 1
        ),
    ),
    ('{"type": "service_account", "key": "§", "x": 1}', pem(PKCS8, NEWLINE)),
    ('{"type": "service_account", "private_key": "§\\n"}', pem(PKCS8, NEWLINE)),
    ("private_key: |\n  §", pem(RSA, "\n  ")),
    ("§", pem(RSA, closed=False)),
    ("cut off: § \nand then the log went on for a while", pem(OPENSSH, closed=False)),
    (
        "§\n\nNote: the rest is lost\n" + "and so on\n" * 3 + "-----BEGIN CERTIFICATE-----",
        pem(RSA, closed=False),
    ),
]

CONTEXTS = [
    ("it was § then", jwt(33, 90, 43), "jwt"),
    ("cut §", jwt(33, 90), "jwt"),
    ("encrypted §", ".".join(["ey" + "J" + made_up(40), *[made_up(20, URLSAFE)] * 4]), "jwt"),
    ("Authorization: Bearer §", made_up(32), "bearer-token"),
    ("authorization: bearer §\r\nAccept: */*", made_up(12), "bearer-token"),
    (
        "curl -H 'Authorization: Bearer §' https://api.example.com",
        made_up(40, URLSAFE),
        "bearer-token",
    ),
    ('{"Authorization": "Bearer §"}', jwt(33, 90, 43), "jwt"),
    ("Authorization: Token §", made_up(40, HEX), "bearer-token"),
    ("send Bearer § with it", made_up(40), "bearer-token"),
    ("Authorization: Basic §", made_up(24, BASE64) + "==", "basic-auth"),
    ('"authorization": "Basic §"', made_up(24, BASE64), "basic-auth"),
    ("curl -u admin:§ http://localhost", HUMAN, "basic-auth"),
    ("postgres://bob:§@db.example.com:5432/app", HUMAN, "url-password"),
    ("redis://:§@cache:6379/0", WORD, "url-password"),
    ("git clone https://bob:§@github.com/a/b.git@main", made_up(20), "url-password"),
    ("mysql://root:§@10.0.0.1/db", "p@ss" + "w:rd!", "url-password"),
    ("amqp://guest:§@mq", "sl/a" + "sh#1", "url-password"),
    ("DATABASE_URL=postgresql+asyncpg://app:§@localhost/app?ssl=1", MIXED, "url-password"),
    ("secret=mongodb+srv://u:§@c0.example.net/?w=1", HUMAN, "url-password"),
    ("machine example.com login bob password §", WORD, "password"),
    ("card §", "4111 1111 1111 " + "1111", "card-number"),
    ("seed phrase: §", "ribbon castle ginger matrix velvet onion", "password"),
]

PASSWORD_TEMPLATES = [
    "password = §",
    "password=§",
    "password: §",
    "Password: §\nNext line",
    "PASSWORD=§",
    "export DB_PASSWORD=§",
    'password = "§"',
    "password = '§'",
    '{"password": "§"}',
    '{"password":"§","user":"bob"}',
    "passwd: §",
    "pwd=§;",
    "Server=db;Uid=bob;Pwd=§;",
    "passphrase: '§'",
    "PGPASSWORD=§ psql",
    "db.password=§",
    "DB_PASS=§",
    '{\\"password\\": \\"§\\"}',
    "'password' => '§',",
    'password := "§"',
    'password: str = "§"',
    "const pwd = `§`;",
    "<password>§</password>",
    "**Password:** §",
    "**Password**: `§`",
    "config['password'] = '§'",
    "user=bob&password=§&x=1",
    "https://a.example/?password=§",
    '- name: DB_PASSWORD\n  value: "§"',
    '{"name": "DB_PASSWORD", "value": "§"}',
    "Passwort: §",
    "contraseña: §",
    "пароль: §",
    "密码：§",
    "ADMIN_PASSWORD_PROD=§",
    "password1 = '§'",
    'if password == "§":',
    "auth: {user: 'bob', pass: '§'}",
    "password: § # change soon",
    '"cmd": "export PASSWORD=§"',
    "password: §.",
    "İ password: §",
    "pw: §",
    "let password: &str = '§';",
    "Password (root): §",
    "password for bob@db1: §",
    "password → §",
    "connect(host='h', password='§')",
    "foo(token=bar(password='§'))",
]
STRONG_PASSWORD_TEMPLATES = [
    "the wifi password is § for guests",
    "I set the password to § today",
    "the password of the printer is §",
    "the password of the printer in the hall is § and works",
    "root password on the old router was §.",
    "the passphrase of the server: § (ask first)",
    "das Passwort ist § und gilt",
    "The password for bob is §",
    "mysql --password § -u bob",
    "ALTER USER bob WITH PASSWORD '§';",
    "| password | § |",
    "password: § and more words",
    "connect(password=§)",
    "{user: bob, password: §, host: db}",
    "password=§, host=db",
    'line = "password=§\\nuser=bob"',
]
SECRET_TEMPLATES = [
    'api_key = "§"',
    "API_KEY=§",
    "apiKey: '§',",
    '"api-key": "§"',
    "X-Api-Key: §",
    "client_secret=§",
    '"clientSecret": "§"',
    "secret: §",
    "secret=§",
    'SECRET_KEY = "§"',
    "private_key=§",
    "api key: §",
    "ENCRYPTION_KEY=§",
    "webhook_secret: §",
    "SECRET_KEY_BASE=§",
    "credentials: '§'",
    "--api-key §",
]
TOKEN_TEMPLATES = [
    "export TOKEN=§",
    "token: §",
    'token = "§"',
    '{"access_token": "§", "expires_in": 3600}',
    "refreshToken: '§'",
    "https://a.example/cb?token=§&state=1",
    "auth_token=§",
    "GITLAB_TOKEN: §",
    "the token is § for now",
    "--token §",
    "//registry.example/:_auth=§",
    "os.environ['API_TOKEN'] = '§'",
    "token=§) and so on",
]

POSITIVE = [
    *VENDORS,
    *[(template, secret, "private-key") for template, secret in PRIVATE_KEYS],
    *CONTEXTS,
    *[(template, HUMAN, "password") for template in PASSWORD_TEMPLATES + STRONG_PASSWORD_TEMPLATES],
    *[(template, WORD, "password") for template in PASSWORD_TEMPLATES],
    *[(template, MIXED, "password") for template in PASSWORD_TEMPLATES + STRONG_PASSWORD_TEMPLATES],
    *[(template, made_up(24), "secret") for template in SECRET_TEMPLATES],
    *[(template, made_up(20), "token") for template in TOKEN_TEMPLATES],
    ('passphrase = "§"', "ribbon castle ginger matrix", "password"),
    ('password = "§"', 'quo\\"te' + "d-1", "password"),
    ("password: §", "2468" + "13", "password"),
    ('{"password":§}', "2468" + "13", "password"),
    ("token=§", made_up(900, BASE64), "token"),
    ("SECRET=§", WORD, "secret"),
    ("DB_PASSWORD=§\nDB_HOST=db", "correct_" + "horse_battery", "password"),
    ("token: §", "-".join(made_up(n, HEX) for n in (8, 4, 4, 4, 12)), "token"),
]

NEGATIVE = [
    "",
    "Just a sentence about nothing in particular.",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "fixed in 3f78685",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "550e8400-e29b-41d4-a716-446655440000",
    "id=550e8400-e29b-41d4-a716-446655440000",
    "Donaudampfschifffahrtsgesellschaftskapitaen",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    '"integrity": "sha512-' + made_up(86, BASE64) + '=="',
    "<img src='data:image/png;base64,iVBORw0KGgo" + made_up(400, BASE64) + "=='>",
    "the password is stored hashed",
    "The password is sha256-hashed and salted.",
    "the token is base64-encoded",
    "password: required",
    "Password: at least 8 characters",
    "password: 8-64 characters",
    "password reset mail sent",
    "Forgot your password? Enter the token we sent.",
    "password: never store it in plain text",
    "the secret is to start early",
    "Secret: patience",
    "a secret ingredient: 2 eggs",
    "token: the unit of text",
    "password=<your password>",
    "password = ${DB_PASSWORD}",
    "password=$PASSWORD",
    "TOKEN=$(cat token.txt)",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    'password = os.environ["X"]',
    "token = os.getenv('TOKEN')",
    "api_key: process.env.API_KEY,",
    "password = xxxx",
    "password: ****",
    'api_key = "xxxxxxxxxxxxxxxx"',
    "password=changeme",
    "password: change-me",
    'token = "your-token-here"',
    "api_key=YOUR_API_KEY",
    'client_secret: "<client secret>"',
    "password: example",
    "secret = placeholder",
    "API_KEY=...",
    "token: sk-...",
    "password = getpass()",
    "password = getpass.getpass('Password: ')",
    "token = create_token(user)",
    "token = tokens[3]",
    'input("Enter password: ", end="")',
    'print("password: " + mask(value) + "!")',
    "password: str",
    "password: str,",
    "token: Optional[str] = None",
    "password: SecretStr",
    "password?: string;",
    "api_key: str | None = None",
    "token: &str",
    "token: u64",
    "def f(password: bytes, token: bytes32): ...",
    "self.password = password",
    "connect(password=password, token=token)",
    "user.password = form.password.data",
    "f(api_key=settings.api_key)",
    "password = user_input",
    "password=config.db.password",
    "max_tokens=4096",
    "token_count: 15",
    "tokens: 1500",
    "total_tokens=123456",
    "token: 42",
    "tokenizer=cl100k_base",
    "token_type: bearer",
    "next_page_token: CAEQAA12345678",
    'pad_token = "<pad>"',
    "eos_token: endoftext1",
    "password_file: /run/secrets/db_password",
    "password: /run/secrets/db",
    "PWD=/home/bob/work",
    "pwd: ~/notes",
    "private_key: ./keys/id_rsa",
    "api_key: secrets/key.txt",
    'private_key = "C:\\\\keys\\\\id.pem"',
    "password: null",
    "password: true",
    '"password": ""',
    "password: ''",
    "password=",
    "password:",
    "password: none",
    "secretName: tls-cert-2024",
    "secret_name=db-creds-v2",
    "password_hash: abc123def456",
    "password: [REDACTED]",
    'token = "[REDACTED]"',
    "postgres://bob:[REDACTED]@db/app",
    "Bearer [REDACTED]",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "Authorization: Basic authentication.",
    "Authorization: Bearer tokens are used here",
    "Bearer authentication is described in the standard document",
    "postgres://user:password@localhost/db",
    "postgres://bob:${DB_PASS}@db/app",
    "https://user:<password>@host",
    "http://localhost:8080/users/@me",
    "http://host:3000/?mail=a@b.example",
    "ssh://git@github.com:22/a/b.git",
    "git@github.com:acme/app.git",
    "see https://example.com/a:b and mail bob@example.com",
    "class='sk-folding-cube-container-spinner'",
    "sk-container-id-1 sk-estimator-doc-link-label",
    "task_test_something_very_long_indeed_here",
    "npm_config_registry_and_more_words_in_a_row_here",
    "-----BEGIN PUBLIC KEY-----\n" + made_up(64, BASE64) + "\n-----END PUBLIC KEY-----",
    f"A file starts with -----BEGIN {PKCS8}----- and goes on.",
    f"-----BEGIN {PKCS8}-----\n...\n-----END {PKCS8}-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + made_up(43, BASE64) + " bob@laptop",
    "gh" + "p_" + "x" * 36,
    "AK" + "IA" + "X" * 16,
    "cache-key-" + made_up(32, HEX),
    "eyJ is how every one of them begins",
    "card 4111 1111 1111 1112",
    "docker run -u 1000:1000 curl",
    "primary_key = user_id2",
    "public_key: " + made_up(40),
    "the key: value pairs",
    "PASS: test_secrets2 in 3 s",
    '"password": "The password of the account"',
    "label: 'Password', placeholder: 'Enter your password'",
    "password VARCHAR(64) NOT NULL",
    "use --password to set it",
    "use --token TOKEN",
    "secret: !vault abc",
    "password: Option<String>",
    "if password1 == password2:",
    "token !== expectedToken1",
    "$password = $_POST['x1'];",
    "the password for staging is required",
    "the password of the printer is stored in the vault",
    "the password of the old router is in the drawer of the desk",
    "the password to the archive was changed on 2026-11-18",
    "a token for each user: 15",
    "password: see 1Password",
    "def sign(credentials: Credentials) -> SigV4Auth:",
    "token: https://example.com/token",
    "secret: arn:aws:secretsmanager:eu:1:secret:a1",
]

# Each would take much longer than harmless text if any pattern read its text over and over again.
MARGIN = 30
"""Linear work on hostile text is up to 17 times as much: most of its words may begin a secret."""

each_length = pytest.mark.parametrize(
    "length", [100_000, pytest.param(1_100_000, marks=pytest.mark.full)]
)
HOSTILE_BUT_CLEAN = [
    "a" * 1_000_000,
    "password " * 100_000,
    '"' * 1_000_000,
    "eyJ" * 300_000,
    "-eyJ" * 250_000,
    "." * 1_000_000,
    "://" * 300_000,
    "://a:" * 200_000 + "@",
    "://a:@" * 160_000,
    "sk-" * 300_000,
    "sk-a1" * 200_000,
    "=" * 1_000_000,
    f"-----BEGIN {PKCS8}-----" * 37_000,
    f"-----BEGIN {PKCS8}-----\n" * 36_000,
    "]" * 1_000_000,
    "password: " * 100_000,
    "password is " * 80_000,
    "password of the printer " * 40_000,
    "password: str[" * 70_000,
    "token=[" * 140_000,
    " " * 1_000_000,
    "MNO." * 250_000,
    "İ" * 1_000_000,
    "AKIA" * 250_000,
    "secret_" * 140_000,
    "page_token=" * 90_000,
    "/" * 1_000_000,
    "password (" * 100_000,
    "password for a b c " * 52_000,
    "secret: str | None " * 52_000,
    "bearer " * 140_000,
]
HOSTILE = [
    "token=https://" * 70_000,
    "password='" * 100_000,
    'password=\\"' * 90_000,
    "password:" + "," * 1_000_000,
    "curl -u a:" * 100_000,
    "authorization: bearer " * 45_000,
    "passphrase: word word word word " * 30_000,
    "machine a login b password " * 37_000,
    ("ey" + "Jaaaaaaaa.") * 80_000,
    "password=" + "a" * 1_000_000,
]


@pytest.mark.parametrize(("template", "secret", "kind"), POSITIVE)
def test_a_secret_is_taken_out_and_the_rest_stays(template: str, secret: str, kind: str) -> None:
    clean, counts = redact(template.replace("§", secret))
    assert secret not in clean
    assert clean == template.replace("§", MARK)
    assert counts == {kind: 1}


@pytest.mark.parametrize(("template", "secret", "kind"), POSITIVE)
def test_a_redacted_text_has_no_secret_left(template: str, secret: str, kind: str) -> None:
    clean, _ = redact(template.replace("§", secret))
    assert find(clean) == []
    assert redact(clean) == (clean, {})


@pytest.mark.parametrize("text", NEGATIVE)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == (text, {})


def test_a_finding_is_the_span_of_the_secret_alone() -> None:
    text = f"ftp://bob:{HUMAN}@host and password = '{WORD}'"
    first, second = text.index(HUMAN), text.index(WORD)
    assert find(text) == [
        SecretMatch("url-password", first, first + len(HUMAN)),
        SecretMatch("password", second, second + len(WORD)),
    ]


def test_overlapping_finds_become_one_with_the_more_telling_kind() -> None:
    token = "gh" + "p_" + made_up(36)
    text = f"Authorization: Bearer {token}\nGITHUB_TOKEN={token}"
    assert redact(text) == (
        f"Authorization: Bearer {MARK}\nGITHUB_TOKEN={MARK}",
        {"github-token": 2},
    )


def test_both_halves_of_an_aws_key_pair_are_found_side_by_side() -> None:
    text = "AK" + "IA" + made_up(16, UPPER) + "," + made_up(40, BASE64) + "\n"
    assert redact(text) == (f"{MARK},{MARK}\n", {"aws-access-key": 1, "aws-secret-key": 1})


def test_every_kind_is_counted() -> None:
    text = f"password={HUMAN}\npassword={MIXED}\nredis://:{HUMAN}@cache"
    assert redact(text)[1] == {"password": 2, "url-password": 1}


def test_a_value_with_brackets_and_punctuation_goes_as_a_whole() -> None:
    awkward = ["a,b;c.d:" + "e1", "x)y]z}" + "9", "9k(p[q" + "{w!", "a&b|c<1" + "d"]
    for secret in [*awkward, "+" + made_up(20), "/" + made_up(39)]:
        assert redact(f"PASSWORD={secret}\nHOST=db")[0] == f"PASSWORD={MARK}\nHOST=db", secret


def test_the_length_of_a_lowered_letter_does_not_shift_the_span() -> None:
    assert redact("İ" * 9 + f" password={HUMAN} İ")[0] == "İ" * 9 + f" password={MARK} İ"


def test_odd_characters_do_no_harm() -> None:
    assert redact(f"\x00\ud800 password={HUMAN}\x00")[0].startswith(f"\x00\ud800 password={MARK}")


PIECES = st.one_of(
    st.sampled_from([secret for _, secret, _ in POSITIVE]),
    st.sampled_from([template for template, _, _ in POSITIVE]),
    st.sampled_from(NEGATIVE),
    st.sampled_from(
        [
            "password",
            "token",
            "secret=",
            "api_key",
            "value",
            "Bearer ",
            "Authorization: ",
            "curl -u ",
            " is ",
            "://a:",
            "@h",
            "ey" + "J",
            f"-----BEGIN {RSA}-----",
            f"-----END {RSA}-----",
            MARK,
            "REDACTED",
        ]
    ),
    st.sampled_from([": ", "\\n", '\\"', "--", *"=\"'`\\\n .,;&|(){}[]<>*/_-@"]),
    st.text(max_size=6),
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_redaction_twice_is_redaction_once(text: str) -> None:
    clean, _ = redact(text)
    assert redact(clean) == (clean, {})


@given(st.text(), st.sampled_from(VENDORS), st.text())
def test_a_vendor_key_is_found_between_any_words(
    before: str, sample: tuple[str, str, str], after: str
) -> None:
    template, secret, _ = sample
    assert secret not in redact(f"{before} {template.replace('§', secret)} {after}")[0]


@given(st.lists(PIECES, max_size=12).map("".join))
def test_findings_are_in_order_and_do_not_overlap(text: str) -> None:
    ends = 0
    for finding in find(text):
        assert ends <= finding.start < finding.end <= len(text)
        ends = finding.end


def shortened(text: str, length: int) -> str:
    """The text at most that long, with its own end: some patterns fail only there."""
    if len(text) <= length:
        return text
    return text[: length - 1] + text[-1]


def redacted_in_time(text: str) -> tuple[str, dict[str, int]]:
    """What `redact` makes of a text, in about as much CPU time as of harmless text of its size."""
    results: list[tuple[str, dict[str, int]]] = []
    harmless = harmless_text(len(text))
    limit_s = 1.5 * MARGIN * max(cpu_time_of(lambda: redact(harmless)), CLOCK_STEP_S)

    def hostile_s() -> float:
        return cpu_time_of(lambda: results.append(redact(text)), limit_s)

    assert is_linear(hostile_s, lambda: cpu_time_of(lambda: redact(harmless)), MARGIN)
    return results[0]


@each_length
@pytest.mark.parametrize("text", HOSTILE_BUT_CLEAN, ids=lambda text: text[:16])
def test_a_hostile_text_without_a_secret_comes_back_as_it_was(text: str, length: int) -> None:
    text = shortened(text, length)
    assert redacted_in_time(text) == (text, {})


@each_length
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:16])
def test_a_hostile_text_full_of_secrets_comes_back_clean(text: str, length: int) -> None:
    clean, counts = redacted_in_time(shortened(text, length))
    assert counts
    assert find(clean) == []
