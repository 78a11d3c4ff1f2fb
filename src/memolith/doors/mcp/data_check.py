"""A quick look at the data folder, so that a client hears at the handshake what is wrong with it.

It is made before the first answer, so it only asks the file system and opens no database.
"""

import os

DATABASE_FILE = "memolith.db"
DATABASE_HEADER = b"SQLite format 3\x00"
READ_ONLY = (
    "memolith can only read: the data folder {folder} cannot be written. What is there can be "
    "recalled, but nothing can be remembered. Tell the user to check the permissions of the "
    "folder."
)
UNUSABLE = (
    "memolith cannot work: {reason} Every call of a tool will fail until the user mends that or "
    "chooses another folder with --data or MEMOLITH_DATA; `memolith doctor` tells more."
)


def data_notice(folder: str) -> str | None:
    """What a model has to know about the data folder; None if it can be used."""
    folder = os.path.abspath(os.path.expanduser(folder))
    reason = unusable_reason(folder)
    if reason is not None:
        return UNUSABLE.format(reason=reason)
    if is_read_only(folder):
        return READ_ONLY.format(folder=folder)
    return None


def unusable_reason(folder: str) -> str | None:
    """Why neither reading nor writing can work there; None if there is no such reason."""
    if not os.path.isdir(folder):
        return _why_not_made(folder)
    if not os.access(folder, os.R_OK | os.X_OK):
        return f"the data folder {folder} is closed to this user."
    return _database_problem(os.path.join(folder, DATABASE_FILE))


def is_read_only(folder: str) -> bool:
    """Whether there is a store that this user can only read."""
    file = os.path.join(folder, DATABASE_FILE)
    if not os.path.exists(file):
        return False
    return not (os.access(folder, os.W_OK) and os.access(file, os.W_OK))


def _why_not_made(folder: str) -> str | None:
    """Why a folder that is not there cannot be made."""
    if os.path.lexists(folder):
        return f"{folder} is not a folder."
    parent = os.path.dirname(folder)
    while not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent):
        return f"the data folder {folder} cannot be made, because {parent} is not a folder."
    if not os.access(parent, os.W_OK | os.X_OK):
        return f"the data folder {folder} cannot be made, because {parent} cannot be written."
    return None


def _database_problem(file: str) -> str | None:
    folder = os.path.dirname(file)
    if not os.path.exists(file):
        if os.access(folder, os.W_OK):
            return None
        return f"the data folder {folder} is empty and cannot be written."
    try:
        with open(file, "rb") as database:
            header = database.read(len(DATABASE_HEADER))
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}."
    # A file without a byte is that of a store that was never begun.
    if header and header != DATABASE_HEADER:
        return f"{file} is not a database, or it is damaged."
    return None
