"""What `memolith doctor` looks at."""

from __future__ import annotations

import platform
import shutil
import sys

from memolith import __version__
from memolith.app import App, sqlite_version
from memolith.errors import EmbedderDown

SAFE_SQLITE = (3, 51, 3)


def examine(app: App) -> tuple[dict[str, object], list[str]]:
    """Facts about this installation and its data, and what is wrong with how to mend it."""
    problems: list[str] = []
    version = sqlite_version()
    if tuple(int(part) for part in version.split(".")) < SAFE_SQLITE:
        problems.append(f"SQLite {version} can lose data when several processes write; update the package apsw.")
    free = shutil.disk_usage(app.settings.data).free
    if free < 100_000_000:
        problems.append(f"Only {free:,} bytes are free on the disk of the data folder.")
    facts: dict[str, object] = {
        "memolith": __version__, "python": sys.version.split()[0], "system": platform.platform(),
        "sqlite": version, "data": str(app.settings.data), "secrets": app.settings.secrets,
        "sizes": ", ".join(f"{name} {size:,}" for name, size in app.store.sizes().items())}
    return facts | _contents(app, problems) | _vault(app, problems) | _model(app, problems), problems + _damage(app)


def _contents(app: App, problems: list[str]) -> dict[str, object]:
    with app.store.reading() as rows:
        tenants = {tenant: rows.last_seq(tenant) for tenant in rows.tenants()}
        work = rows.outbox_counts()
        problems += [f"{text}; `memolith upkeep` tries again." for text in rows.outbox_errors()]
    return {"events": ", ".join(f"{tenant} {count:,}" for tenant, count in tenants.items()) or "none",
            "pending": ", ".join(f"{consumer} {status} {count:,}" for (consumer, status), count in work.items())
            or "none"}


def _vault(app: App, problems: list[str]) -> dict[str, object]:
    count, found = app.engine.vault.examine()
    problems += found
    place = {"": "a file of the data folder, the weaker choice; MEMOLITH_VAULT_KEY or the keyring are better",
             "keyring": "the keyring"}.get(app.settings.vault_key, "MEMOLITH_VAULT_KEY")
    return {"vault": f"{count} keys; the master key is in {place}" if count else "empty"}


def _model(app: App, problems: list[str]) -> dict[str, object]:
    if app.settings.embedder == "none":
        return {"model": "none: search by words only"}
    try:
        assert app.embedder is not None
        app.embedder.embed(["ready"])
        state = f"{app.embedder.id} (works)"
    except EmbedderDown as error:
        state = f"{app.settings.embedder} (down)"
        problems.append(error.message)
    with app.store.reading() as rows:
        counts = ", ".join(f"{model} {count:,}" for model, count in rows.models().items()) or "none"
    return {"model": state, "vectors": counts}


def _damage(app: App) -> list[str]:
    return [f"database file: {text}; restore a backup with `memolith restore-backup`." for text in app.store.check()]
