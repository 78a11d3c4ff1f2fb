"""One frozen set of settings: defaults, then a TOML file, then MEMOLITH_* variables, then flags."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memolith.errors import InvalidInput, translated
from memolith.paths import default_data_folder

PREFIX = "MEMOLITH_"


class Settings(BaseModel):
    """Everything that can be chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: Path = Field(
        default_factory=lambda: Path(default_data_folder()), description="the data folder"
    )
    repo: str = Field(
        "", description="the git repository that captures belong to; empty: the working directory"
    )
    database: str = Field(
        "", repr=False, description="address of a PostgreSQL database; empty: SQLite in the folder"
    )
    database_connections: int = Field(
        10, ge=2, description="how many connections one process opens at most"
    )
    database_pooler: bool = Field(
        False, description="whether a pooler such as PgBouncer stands in between"
    )
    statement_s: float = Field(60.0, gt=0, description="how long one statement may take there")
    own_index_from: int = Field(
        20_000, ge=1000, description="vectors from which a tenant gets an index of its own"
    )
    secrets: Literal["redact", "block", "allow"] = Field(
        "redact", description="what happens to secrets in a text"
    )
    max_text_bytes: int = Field(1_000_000, ge=1, description="the longest text of one block")
    max_title: int = Field(500, ge=1, description="the longest title, in characters")
    max_tag: int = Field(100, ge=1, description="the longest tag, in characters")
    max_tags: int = Field(100, ge=1, description="how many tags an item may have")
    vault_key: str = Field(
        "", repr=False, description="master key of the vault as base64, or `keyring`; empty: a file"
    )
    busy_s: float = Field(20.0, gt=0, description="how long a writer waits for others")
    embedder: Literal["minilm", "http", "none"] = Field("minilm", description="who makes vectors")
    embedder_url: str = Field(
        "", description="base URL of an OpenAI-compatible embeddings endpoint"
    )
    embedder_model: str = Field("", description="the model asked for there")
    embedder_key: str = Field("", description="the bearer key sent there", repr=False)
    embedder_dimension: int = Field(
        0, ge=0, description="the dimension expected from there; 0 asks for it once"
    )
    embedder_timeout_s: float = Field(20.0, gt=0, description="how long to wait for it")
    analyst_url: str = Field(
        "", description="base URL of an OpenAI-compatible chat endpoint; empty: built-in only"
    )
    analyst_model: str = Field("", description="the model asked for there")
    analyst_key: str = Field("", description="the bearer key sent there", repr=False)
    analyst_budget: int = Field(
        100_000, ge=0, description="how many tokens one process may spend there in a day"
    )
    analyst_timeout_s: float = Field(30.0, gt=0, description="how long to wait for it")
    runner_mode: Literal["auto", "namespace", "landlock", "off"] = Field(
        "auto", description="what fences code in"
    )
    runner_wall_s: float = Field(60.0, gt=0, description="how long one call may take")
    runner_cpu_s: float = Field(120.0, gt=0, description="how much CPU time one call may take")
    runner_memory_mb: int = Field(2048, ge=64, description="how much memory a runner may take")
    runner_output_kb: int = Field(
        100, ge=1, description="how much of what one call prints is given back"
    )
    runner_scratch_mb: int = Field(256, ge=1, description="how much room for files a runner has")
    runner_threads: int = Field(64, ge=1, description="how many threads a runner may start")
    runner_count: int = Field(
        4, ge=1, description="how many runners one user has at once; the oldest makes room"
    )
    runner_idle_s: float = Field(
        1800.0, ge=0, description="after how long without a call a runner is ended"
    )
    runner_preload: tuple[str, ...] = Field(
        ("pandas", "openpyxl"), description="modules loaded before the first call"
    )
    host: str = Field("127.0.0.1", description="the address that the server binds to")
    port: int = Field(8724, ge=0, le=65535, description="the port; 0 takes a free one")
    hosts: tuple[str, ...] = Field(
        ("127.0.0.1:*", "localhost:*", "[::1]:*"), description="Host headers let in"
    )
    origins: tuple[str, ...] = Field(
        ("http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"),
        description="Origin headers let in",
    )
    public_url: str = Field(
        "", description="the address that clients reach the server at; empty: host and port"
    )
    calls_per_minute: int = Field(6000, ge=1, description="how often one key may call")
    body_bytes: int = Field(4_194_304, ge=1024, description="the largest request")
    file_bytes: int = Field(104_857_600, ge=1, description="the largest file that is taken in")
    files: str = Field(
        "",
        description="where files are kept: a folder or s3://BUCKET/PREFIX; empty: the data folder",
    )
    file_url_s: int = Field(3600, ge=1, description="how long the address of a file is good")
    reader_wall_s: float = Field(30.0, gt=0, description="how long reading a file may take")
    reader_memory_mb: int = Field(512, ge=64, description="how much memory reading a file may take")
    oauth_issuer: str = Field("", description="issuer of OAuth tokens; empty for keys only")
    oauth_audience: str = Field(
        "", description="the audience that tokens must be for: this server's public URL"
    )
    oauth_jwks_url: str = Field("", description="where the issuer publishes its keys")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="how much is logged"
    )


def load(
    flags: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """The settings in force; an unknown name or a bad value is refused by name."""
    folder = Path(
        str((flags or {}).get("data") or environ.get(PREFIX + "DATA") or default_data_folder())
    )
    file = Path(environ.get(PREFIX + "CONFIG") or folder / "memolith.toml")
    with translated(ValueError, InvalidInput, f"{file} is not valid TOML: {{error}}.", "config"):
        values: dict[str, object] = (
            tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        )
    for name, field in Settings.model_fields.items():
        if given := environ.get(PREFIX + name.upper()):
            values[name] = tuple(given.split(",")) if "tuple" in str(field.annotation) else given
    values |= {name: value for name, value in (flags or {}).items() if value is not None}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"The setting {name!r} is not valid: {first['msg']}.", field=name
        ) from error
