"""The clients that `memolith install` knows, as `clients.toml` describes them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ConfigFile:
    """A file in which a client lists its servers or its hooks."""

    section: str
    user_files: tuple[str, ...]
    project_file: str | None = None
    format: str = "JSON"


@dataclass(frozen=True)
class HttpFields:
    """How a client writes down a server that it reaches over HTTP."""

    address_field: str = "url"
    headers_field: str = "headers"
    type: str = ""


@dataclass(frozen=True)
class Client:
    """A program that can start memolith."""

    title: str
    servers: ConfigFile
    hooks: ConfigFile | None = None
    profile: str = "core"
    states_type: bool = False
    http: HttpFields | None = None
    """None if its file can only name programs to start."""
    install_link: str = ""
    """The kind of link that adds a server to it; empty if it has none."""


def config_file(fields: dict[str, Any]) -> ConfigFile:
    user_files = tuple(fields.pop("user_files"))
    return ConfigFile(user_files=user_files, **fields)


def client(fields: dict[str, Any]) -> Client:
    servers = config_file(fields.pop("servers"))
    hooks = config_file(fields.pop("hooks")) if "hooks" in fields else None
    http = HttpFields(**fields.pop("http")) if "http" in fields else None
    return Client(servers=servers, hooks=hooks, http=http, **fields)


def read_clients(file: Path) -> dict[str, Client]:
    """The clients of a file by name; a misspelt key is a TypeError."""
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {name: client(fields) for name, fields in tables.items()}


CLIENTS = read_clients(Path(__file__).with_name("clients.toml"))
