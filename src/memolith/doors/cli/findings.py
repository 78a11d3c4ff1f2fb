"""What `memolith doctor` looks at beside the store, each finding with what to do about it.

A finding is a sentence: what is wrong, and its remedy. Nothing outside of this machine is asked.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from memolith.bootstrap import App
from memolith.doors.cli.addresses import reachable_host
from memolith.doors.cli.background_server import folder_of, read_state
from memolith.doors.cli.human import human_size
from memolith.doors.install.change import content, read
from memolith.doors.install.clients import CLIENTS, Client
from memolith.doors.install.locations import config_files
from memolith.doors.mcp.data_check import unusable_reason
from memolith.ports.client_keys import ClientKey
from memolith.settings import CONFIG_VARIABLE, PREFIX, Settings

MIN_FREE_BYTES = 100_000_000
MIN_SQLITE = (3, 54)
MAX_CLOCK_LEAD = timedelta(minutes=5)
CONNECT_S = 1.0
ANSWER_S = 5.0
"""How long a server of ours may take to tell its health: on a busy machine it may be slow."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
VARIABLES_WITHOUT_SETTING = (CONFIG_VARIABLE, PREFIX + "CACHE", PREFIX + "KEY")


def machine_findings(app: App) -> list[str]:
    """What can be told without a store."""
    settings = app.settings
    return [
        *variable_findings(os.environ),
        *background_findings(app),
        *port_findings(settings),
        *client_findings(CLIENTS),
        *telemetry_findings(settings),
    ]


def store_findings(app: App, sqlite_version: str) -> list[str]:
    """What can be told of a store that is open."""
    findings = []
    if not app.settings.database:
        findings += disk_findings(shutil.disk_usage(app.settings.data).free)
        findings += sqlite_findings(sqlite_version)
    findings += clock_findings(newest_event(app), app.clock.now())
    findings += key_findings(app.keys.all())
    findings += hook_findings(app.settings.data)
    return findings


def disk_findings(free_bytes: int) -> list[str]:
    """Whether there is room for more."""
    if free_bytes >= MIN_FREE_BYTES:
        return []
    return [
        f"Only {human_size(free_bytes)} are free on the disk of the data folder; make room, or "
        "move the folder to another disk and name it with --data or MEMOLITH_DATA."
    ]


def sqlite_findings(version: str) -> list[str]:
    """Whether SQLite has all that we use of it."""
    if tuple(int(part) for part in version.split(".")[:2]) >= MIN_SQLITE:
        return []
    needed = ".".join(str(part) for part in MIN_SQLITE)
    return [
        f"SQLite {version} is older than {needed}; update it with "
        f"`pip install --upgrade 'apsw>={needed}'`."
    ]


def newest_event(app: App) -> str | None:
    """When the last event of the store was written, by the clock of its writer."""
    newest: str | None = None
    with app.store.reading(None) as rows:
        for tenant in rows.tenants():
            event = rows.event_by_seq(tenant, rows.last_seq(tenant))
            if event is not None:
                newest = max(newest or "", event.at)
    return newest


def clock_findings(newest: str | None, now: str) -> list[str]:
    """Whether the clock stands before something that was written already."""
    if newest is None:
        return []
    if datetime.fromisoformat(newest) <= datetime.fromisoformat(now) + MAX_CLOCK_LEAD:
        return []
    return [
        f"The newest event is dated {newest}, but the clock of this machine says {now}; set the "
        "clock, or expiry, `--since` and the order of events go wrong."
    ]


def key_findings(keys: Iterable[ClientKey]) -> list[str]:
    """Which keys let somebody in who then may do nothing."""
    return [
        f"The key {key.name!r} ({key.id}) has no scopes, so every call with it is refused; make "
        f"another with `memolith keys create`, and revoke it with `memolith keys revoke {key.id}`."
        for key in keys
        if not key.scopes and not key.revoked
    ]


def hook_findings(data: Path) -> list[str]:
    """Whether hooks have failed, which no client shows."""
    log = data / "hooks.log"
    try:
        failures = log.read_text(encoding="utf-8", errors="replace").count(" failed with ")
    except OSError:
        return []
    if not failures:
        return []
    calls = "1 call of a hook" if failures == 1 else f"{failures:,} calls of hooks"
    return [
        f"{calls} failed; {log} tells where. Update memolith or report it, and delete the file "
        "when it is settled."
    ]


def variable_findings(environ: Mapping[str, str]) -> list[str]:
    """Which variables look like settings and are none."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    known += VARIABLES_WITHOUT_SETTING
    findings = []
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in known:
            continue
        near = get_close_matches(name, known, 1)
        meant = f"did you mean {near[0]}?" if near else "docs/reference/settings.md lists them all."
        findings.append(f"The variable {name} is no setting of memolith; {meant}")
    return findings


def background_findings(app: App) -> list[str]:
    """Whether a server that `up` has started is gone, and only its file is left."""
    state = read_state(folder_of(app))
    if state is None or state.answers:
        return []
    return [
        f"`memolith up` started a server at {state.url}, which does not answer; look at `memolith "
        "logs`, then `memolith down` and `memolith up`."
    ]


def port_findings(settings: Settings) -> list[str]:
    """Whether another program has the port of the server."""
    host = reachable_host(settings.host)
    if not settings.port or not is_listening(host, settings.port):
        return []
    shown_host = f"[{host}]" if ":" in host else host
    if is_memolith(f"http://{shown_host}:{settings.port}"):
        return []
    return [
        f"Another program listens on port {settings.port}; stop it, or choose another port with "
        "MEMOLITH_PORT or `memolith serve --port`."
    ]


def is_listening(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except OSError:
        return False
    return True


def is_memolith(url: str) -> bool:
    """Whether the server there answers as one of ours."""
    # A proxy of the environment is for other machines.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{url}/health", timeout=ANSWER_S) as answer:
            health = json.loads(answer.read(10_000))
    except (URLError, OSError, ValueError):
        return False
    return isinstance(health, dict) and "embeddings" in health


def telemetry_findings(settings: Settings) -> list[str]:
    """Whether traces and metrics that were asked for can be sent."""
    if not settings.telemetry_url:
        return []
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return [
            "`telemetry_url` is set, but OpenTelemetry is not installed: pip install "
            "'memolith[otel]'."
        ]
    address = urlsplit(settings.telemetry_url)
    if address.hostname not in LOOPBACK or is_listening(address.hostname, address.port or 4318):
        return []
    return [
        f"Nothing listens at {settings.telemetry_url}; start the collector, or mend the setting "
        "`telemetry_url`."
    ]


def client_findings(clients: Mapping[str, Client]) -> list[str]:
    """Which clients of this user are told to start or reach a memolith that is not there."""
    findings = []
    for name, client in clients.items():
        for file in config_files(client, client.servers, "user"):
            for entry in our_entries(client, file):
                fault = entry_fault(client, entry)
                if fault is not None:
                    findings.append(
                        f"{client.title} is told in {file} to {fault}; write it anew with "
                        f"`memolith install {name}`."
                    )
    return findings


def our_entries(client: Client, file: Path) -> list[dict[str, Any]]:
    """The entries for memolith in a file; none if it cannot be read, which its client tells."""
    try:
        section = read(client.servers, content(file)).section
    except (ValueError, OSError):
        return []
    return [
        entry
        for name, entry in section.items()
        if isinstance(entry, dict)
        and "memolith" in f"{name} {entry.get('command')} {entry.get('args')}".lower()
    ]


def entry_fault(client: Client, entry: Mapping[str, Any]) -> str | None:
    """What an entry wants that is not there; None if all is."""
    program = entry.get("command")
    if isinstance(program, str):
        if shutil.which(os.path.expanduser(program)) is None:
            return f"start {program}, which is not there"
        data = named_folder(entry.get("args"))
        # A folder that is not there yet is made by the first call.
        if data is not None and unusable_reason(os.path.abspath(os.path.expanduser(data))):
            return f"use the data folder {data}, which cannot be used"
        return None
    url = entry.get(client.http.address_field) if client.http else None
    address = urlsplit(url) if isinstance(url, str) else None
    if address is None or address.hostname not in LOOPBACK or address.port is None:
        return None
    if is_listening(address.hostname, address.port):
        return None
    return f"reach {url}, where nothing listens (`memolith up` starts a server)"


def named_folder(arguments: object) -> str | None:
    """What stands after `--data`."""
    if not isinstance(arguments, Sequence) or isinstance(arguments, str):
        return None
    words = [str(word) for word in arguments]
    if "--data" not in words[:-1]:
        return None
    return words[words.index("--data") + 1]
