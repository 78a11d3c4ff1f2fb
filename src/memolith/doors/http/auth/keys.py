"""The key of the person at this machine. How keys are made, `engine/client_keys.py` tells."""

from pathlib import Path

from memolith.domain.callers import SCOPES
from memolith.engine.client_keys import KEY_PREFIX, NewKey, digest, make_key
from memolith.ports.client_keys import ClientKeys
from memolith.private_files import close_to_others, open_private

__all__ = ["KEY_PREFIX", "NewKey", "digest", "local_key", "make_key"]

LOCAL_KEY_FILE = "local.key"


def local_key(folder: Path, keys: ClientKeys, now: str) -> str:
    """The key of the person at this machine, kept in the data folder and readable by them alone.

    It is made at the first start, and again after it was revoked.
    """
    path = folder / LOCAL_KEY_FILE
    if path.is_file():
        close_to_others(str(path))
        secret = path.read_text(encoding="utf-8", errors="replace").strip()
        record = keys.by_digest(digest(secret))
        if record is not None and not record.revoked:
            return secret
        # A new file: a program that has no business with the new key may hold the old one open.
        path.unlink()
    secret, _ = make_key(keys, now, NewKey("local", scopes=tuple(sorted(SCOPES))))
    with open(path, "x", encoding="utf-8", opener=open_private) as file:
        file.write(secret + "\n")
    return secret
