"""The settings of memolith, from four sources.

A later source wins: the defaults below, then `memolith.toml` in the data folder (or the file that
`MEMOLITH_CONFIG` names), then the variables `MEMOLITH_*`, then the flags of a command.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memolith.engine.shown_setting import ShownSetting
from memolith.errors import InvalidInput, translated
from memolith.paths import default_data_folder

PREFIX = "MEMOLITH_"
"""How the name of every variable begins."""

CONFIG_VARIABLE = PREFIX + "CONFIG"
DATA_VARIABLE = PREFIX + "DATA"
CONFIG_FILE = "memolith.toml"
MASK = "••••••"
"""Stands for a secret that is set."""


class Settings(BaseModel):
    """Everything that you can set. `make snap` writes docs/reference/settings.md from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Where the data is.
    data: Path = Field(
        default_factory=lambda: Path(default_data_folder()), description="the data folder"
    )
    repo: str = Field(
        "",
        description="the git repository that captures belong to; empty: the one of the working "
        "directory",
    )
    database: str = Field(
        "",
        repr=False,
        description="the address of a PostgreSQL database; empty: SQLite in the data folder",
    )
    database_connections: int = Field(
        10,
        ge=2,
        description="the most connections that one process opens to PostgreSQL",
    )
    database_pooler: bool = Field(
        False,
        description="whether a pooler such as PgBouncer stands before PostgreSQL; most poolers "
        "are noticed without it",
    )
    database_replicas: tuple[str, ...] = Field(
        (),
        repr=False,
        description="the addresses of replicas of that database, for calls that permit stale "
        "reads; a proxy that chooses a replica is enough",
    )
    max_stale_s: float = Field(
        60.0,
        ge=0,
        description="how old an answer from a replica may be at most, whatever a call permits, in "
        "seconds",
    )
    statement_s: float = Field(
        60.0,
        gt=0,
        description="the longest time for one statement in PostgreSQL, in seconds",
    )
    own_index_from: int = Field(
        20_000,
        ge=1000,
        description="the number of vectors from which a tenant gets its own index in PostgreSQL",
    )
    busy_s: float = Field(
        20.0,
        gt=0,
        description="how long a writer waits for other writers, in seconds",
    )

    # What is stored.
    secrets: Literal["redact", "block", "allow"] = Field(
        "redact",
        description="what happens to secrets in a text: `redact`, `block` or `allow`",
    )
    max_text_bytes: int = Field(
        1_000_000,
        ge=1,
        description="the longest text of one block, in bytes",
    )
    max_title: int = Field(500, ge=1, description="the longest title, in characters")
    max_tag: int = Field(100, ge=1, description="the longest tag, in characters")
    max_tags: int = Field(100, ge=1, description="the most tags of one item")
    vault_key: str = Field(
        "",
        repr=False,
        description="the master key of the vault as base64, or `keyring`; empty: a file in the "
        "data folder",
    )

    # The model that makes vectors.
    embedder: Literal["minilm", "http", "none"] = Field(
        "minilm",
        description="what makes vectors: `minilm` (built in), `http` (an endpoint) or `none` "
        "(search by words only)",
    )
    embedder_url: str = Field(
        "",
        description="the base URL of an OpenAI-compatible embeddings endpoint",
    )
    embedder_model: str = Field("", description="the model at that endpoint")
    embedder_key: str = Field("", repr=False, description="the bearer key for that endpoint")
    embedder_dimension: int = Field(
        0,
        ge=0,
        description="the length of its vectors; 0: ask the endpoint once",
    )
    embedder_timeout_s: float = Field(
        20.0,
        gt=0,
        description="how long to wait for the endpoint, in seconds",
    )

    # Search.
    search_floor: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="the score below which hits are left out; empty: what the ranking has learned",
    )
    deep_families: tuple[str, ...] = Field(
        (),
        description="the families whose searches are deep, as `core`: a second network reads the "
        "best hits",
    )

    # The language model that analyses texts.
    analyst_url: str = Field(
        "",
        description="the base URL of an OpenAI-compatible chat endpoint; empty: the built-in "
        "rules only",
    )
    analyst_model: str = Field("", description="the model at that endpoint")
    analyst_key: str = Field("", repr=False, description="the bearer key for that endpoint")
    analyst_budget: int = Field(
        100_000,
        ge=0,
        description="the most tokens that one process spends there per day",
    )
    analyst_timeout_s: float = Field(
        30.0,
        gt=0,
        description="how long to wait for the endpoint, in seconds",
    )

    # The runner of code.
    runner_mode: Literal["auto", "namespace", "landlock", "off"] = Field(
        "auto",
        description="how code is confined: `namespace`, `landlock`, `off`, or `auto` for the "
        "strongest that works here",
    )
    runner_wall_s: float = Field(
        60.0,
        gt=0,
        description="the longest time for one call, in seconds",
    )
    runner_cpu_s: float = Field(
        120.0,
        gt=0,
        description="the most CPU time for one call, in seconds",
    )
    runner_memory_mb: int = Field(
        2048,
        ge=64,
        description="the most memory of one runner, in megabytes",
    )
    runner_output_kb: int = Field(
        100,
        ge=1,
        description="how much of the output of one call is returned, in kilobytes",
    )
    runner_scratch_mb: int = Field(
        256,
        ge=1,
        description="the space for files in one runner, in megabytes",
    )
    runner_threads: int = Field(64, ge=1, description="the most threads in one runner")
    runner_count: int = Field(
        4,
        ge=1,
        description="the most runners of one user; a new one replaces the oldest",
    )
    runner_idle_s: float = Field(
        1800.0,
        ge=0,
        description="how long a runner without calls is kept, in seconds",
    )
    runner_preload: tuple[str, ...] = Field(
        ("pandas", "openpyxl"),
        description="the modules that are loaded before the first call",
    )

    # The HTTP server.
    host: str = Field("127.0.0.1", description="the address that the server binds to")
    port: int = Field(8724, ge=0, le=65535, description="the port of the server; 0: any free port")
    hosts: tuple[str, ...] = Field(
        ("127.0.0.1:*", "localhost:*", "[::1]:*"),
        description="the Host headers that are accepted",
    )
    origins: tuple[str, ...] = Field(
        ("http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"),
        description="the Origin headers that are accepted",
    )
    page_secret: str = Field(
        "",
        repr=False,
        description="what sessions of the web page are signed with, the same for all servers "
        "behind one address; empty: a file in the data folder",
    )
    public_url: str = Field(
        "",
        description="the address at which clients reach the server; empty: host and port",
    )
    calls_per_minute: int = Field(6000, ge=1, description="the most calls per minute with one key")
    requests_per_key: int = Field(
        100,
        ge=1,
        description="the most requests of one key that are in progress at a time; more are refused",
    )
    calls_per_key: int = Field(
        4,
        ge=1,
        description="the most calls of one key that run at a time; others wait for them",
    )
    files_per_key: int = Field(
        4,
        ge=1,
        description="the most files of one key that are received and read at a time",
    )
    sessions_per_key: int = Field(
        100,
        ge=1,
        description="the most MCP sessions of one key; a new one ends the oldest",
    )
    streams_per_key: int = Field(
        100,
        ge=1,
        description="the most event streams of one key that are open at a time",
    )
    body_bytes: int = Field(4_194_304, ge=1024, description="the largest request, in bytes")
    head_s: float = Field(
        10.0,
        gt=0,
        description="how long a client may take to send the headers of a request, in seconds",
    )
    body_pause_s: float = Field(
        30.0,
        gt=0,
        description="how long a client may stop in the middle of a request or of reading an "
        "answer, in seconds",
    )
    idle_connections: int = Field(
        500,
        ge=1,
        description="the most connections without a request; a new one closes the oldest",
    )
    oauth_issuer: str = Field("", description="the issuer of OAuth tokens; empty: keys only")
    oauth_audience: str = Field(
        "",
        description="the audience that tokens must name: the public URL of this server",
    )
    oauth_jwks_url: str = Field("", description="where the issuer publishes its keys")
    oauth_client_id: str = Field(
        "",
        description="this server as a client of the issuer, so that people can sign in to the web "
        "page there; its redirect address is the public URL and `/ui/sign-in/callback`",
    )
    oauth_client_secret: str = Field(
        "", repr=False, description="the secret of that client, if the issuer wants one"
    )
    oauth_tenant: str = Field(
        "",
        description="the tenant of tokens that name none in `tenant` or `org_id`; empty: each "
        "subject is a tenant of its own",
    )

    # Files that are ingested.
    files: str = Field(
        "",
        description="where files are kept: a folder or s3://BUCKET/PREFIX; empty: the data folder",
    )
    file_bytes: int = Field(
        104_857_600,
        ge=1,
        description="the largest file that is accepted, in bytes",
    )
    file_url_s: int = Field(
        3600,
        ge=1,
        description="how long the address of a file is valid, in seconds",
    )
    read_files_unfenced: bool = Field(
        False,
        description="read files even where there is no sandbox, or it is `off`; a file that "
        "attacks its reader can then do all that your user can do",
    )
    reader_wall_s: float = Field(
        30.0,
        gt=0,
        description="the longest time for reading one file, in seconds",
    )
    reader_memory_mb: int = Field(
        512,
        ge=64,
        description="the most memory for reading one file, in megabytes",
    )

    # Watching it.
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning",
        description="the lowest level that is logged: `debug`, `info`, `warning` or `error`",
    )
    log_format: Literal["text", "json"] = Field(
        "text",
        description="how log lines look: `text` for people, or `json`, an object in each line",
    )
    telemetry_url: str = Field(
        "",
        description="the base URL of an OpenTelemetry collector (OTLP over HTTP), as "
        "`http://127.0.0.1:4318`; empty: the one in OTEL_EXPORTER_OTLP_ENDPOINT, or none",
    )


def load(
    flags: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """The settings in force. An unknown name or a bad value is refused by its name."""
    chosen = {name: value for name, value in (flags or {}).items() if value is not None}
    folder = chosen.get("data") or environ.get(DATA_VARIABLE) or default_data_folder()
    values = values_of_file(config_file(folder, environ))
    values.update(values_of_environment(environ))
    values.update(chosen)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"The setting {name!r} is not valid: {first['msg']}.", field=name
        ) from error


def values_of_file(file: Path) -> dict[str, object]:
    """What the TOML file sets; nothing if there is no file."""
    if not file.is_file():
        return {}
    with translated(ValueError, InvalidInput, f"{file} is not valid TOML: {{error}}.", "config"):
        return tomllib.loads(file.read_text(encoding="utf-8"))


def values_of_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """What the variables set; an empty variable sets nothing, and a list is written with commas."""
    values: dict[str, object] = {}
    for name, field in Settings.model_fields.items():
        text = environ.get(PREFIX + name.upper())
        if not text:
            continue
        is_list = field.annotation == tuple[str, ...]
        values[name] = tuple(text.split(",")) if is_list else text
    return values


def shown_settings(chosen: Settings, environ: Mapping[str, str] = os.environ) -> list[ShownSetting]:
    """Every setting with its meaning and where its value comes from; secrets are not shown."""
    in_file = values_of_file(config_file(chosen.data, environ))
    in_environment = values_of_environment(environ)
    shown = []
    for name, field in Settings.model_fields.items():
        is_secret = not field.repr
        value = setting_text(getattr(chosen, name))
        default = setting_text(field.get_default(call_default_factory=True))
        if name not in chosen.model_fields_set or value == default:
            source = "default"
        elif name in in_environment:
            source = "variable"
        elif name in in_file:
            source = "file"
        else:
            source = "flag"
        shown.append(
            ShownSetting(
                name=name,
                value=MASK if is_secret and value else without_password(value),
                default=default,
                source=source,
                variable=PREFIX + name.upper(),
                meaning=field.description or "",
                secret=is_secret,
            )
        )
    return shown


def config_file(folder: object, environ: Mapping[str, str]) -> Path:
    """The file with settings of a data folder."""
    return Path(environ.get(CONFIG_VARIABLE) or Path(str(folder)) / CONFIG_FILE)


def setting_text(value: object) -> str:
    """A value as one writes it in a variable."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def without_password(value: str) -> str:
    """An address without the name and password that it may carry."""
    return re.sub(r"//[^/@\s]*@", f"//{MASK}@", value)
