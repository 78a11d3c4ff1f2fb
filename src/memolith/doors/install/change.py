"""Plans the change of a config file and its backup, and writes both.

The first change keeps the original as a backup. When everything of ours is taken out again and
nothing else has changed, the file gets its original bytes back and the backup goes.
"""

import difflib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memolith.doors.install.clients import Client, ConfigFile
from memolith.doors.install.entries import Entries, Section
from memolith.doors.install.formats import FORMATS
from memolith.errors import Conflict, InvalidInput


@dataclass(frozen=True)
class ConfigText:
    """The text of a config file and what it says."""

    text: str
    whole: dict[str, Any]
    section: Section


@dataclass(frozen=True)
class Change:
    """What a file and its backup hold before and after; None stands for no file."""

    file: Path
    before: bytes | None
    after: bytes | None
    backup_after: bytes | None

    @property
    def changes_file(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        before_name = str(self.file) if self.before is not None else "no file"
        after_name = str(self.file) if self.after is not None else "no file"
        before = (self.before or b"").decode().splitlines()
        after = (self.after or b"").decode().splitlines()
        lines = difflib.unified_diff(before, after, before_name, after_name, lineterm="", n=2)
        return "\n".join(lines)

    def write(self, mode: int) -> None:
        """Write the file and its backup; at every moment one of the two holds the original."""
        if content(self.file) != self.before:
            raise Conflict(
                f"{self.file} was changed by another program just now; run the command again."
            )
        make_folder_of(self.file)
        backup = backup_of(self.file)
        if self.backup_after is None:
            replace(self.file, self.after, like=self.file, mode=mode)
            replace(backup, None, like=self.file, mode=mode)
        else:
            replace(backup, self.backup_after, like=self.file, mode=mode)
            replace(self.file, self.after, like=self.file, mode=mode)
        if self.after is None:
            remove_made_folders(self.file)


def plan_install(client: Client, config: ConfigFile, file: Path, entries: Entries) -> Change:
    return plan(client, config, file, entries, install=True)


def plan_uninstall(client: Client, config: ConfigFile, file: Path, entries: Entries) -> Change:
    return plan(client, config, file, entries, install=False)


def plan(
    client: Client, config: ConfigFile, file: Path, entries: Entries, *, install: bool
) -> Change:
    before = content(file)
    backup = content(backup_of(file))
    try:
        present = read(config, before)
        without = entries.removed_from(present.section)
        wanted = entries.added_to(present.section) if install else without
    except ValueError as error:
        raise InvalidInput(
            f"{file} is not a valid {config.format} file of {client.title} ({error}); mend it "
            "first. Nothing was changed.",
            field="file",
        ) from error
    if wanted == present.section:
        return Change(file, before, before, backup)
    if is_original(config, backup, present, wanted):
        return Change(file, before, backup, None)
    after = edited(config, present.text, present.section, wanted)
    check_edit(config, file, after, {**present.whole, config.section: wanted})
    # A backup from before our first entry is kept; an older one holds what nobody wants back.
    is_first = backup is None or without == present.section
    backup_after = before if install and is_first else backup
    return Change(file, before, after.encode(), backup_after)


def read(config: ConfigFile, data: bytes | None) -> ConfigText:
    """The content of a file; ValueError if the client could not read it."""
    text = (data or b"").decode()
    whole = FORMATS[config.format].read(text)
    section = whole.get(config.section, {})
    if not isinstance(section, dict):
        raise ValueError(f"{config.section!r} is not an object")
    return ConfigText(text, whole, section)


def is_original(
    config: ConfigFile, backup: bytes | None, present: ConfigText, wanted: Section
) -> bool:
    """Whether the backup says what is wanted, and only our entries tell the file from it."""
    try:
        original = read(config, backup)
    except ValueError:
        return False
    if original.section != wanted:
        return False
    return edited(config, original.text, original.section, present.section) == present.text


def edited(config: ConfigFile, text: str, before: Section, after: Section) -> str:
    """The text with every entry that differs put in or taken out."""
    edit = FORMATS[config.format].edit
    # An entry that is put comes first in the file, so the last one is put first.
    for name in reversed(before | after):
        if before.get(name) != after.get(name):
            text = edit(text, config.section, name, after.get(name))
    return text


def check_edit(config: ConfigFile, file: Path, text: str, expected: Section) -> None:
    """Refuse an edit that would change anything but our entries."""
    try:
        # Encoded too, because a path may hold what UTF-8 does not.
        whole = read(config, text.encode()).whole
    except ValueError:
        whole = None
    if whole is None or {config.section: {}, **whole} != expected:
        raise Conflict(
            f"{file} is written in a way that this command cannot edit safely; change it by hand. "
            "Nothing was changed."
        )


def made_folders_of(file: Path) -> Path:
    """The file that tells how many of the folders around a config file were made for it."""
    return file.with_name(file.name + ".memolith-folders")


def make_folder_of(file: Path) -> None:
    """Make the folders that a config file needs, and keep in mind how many were not there."""
    missing = [folder for folder in file.parents if not folder.exists()]
    file.parent.mkdir(parents=True, exist_ok=True)
    if missing:
        replace(made_folders_of(file), b"%d\n" % len(missing), like=file, mode=0o600)


def remove_made_folders(file: Path) -> None:
    """Remove the folders that were made for a config file, as far as nothing else is in them."""
    count = content(made_folders_of(file))
    if count is None or not count.strip().isdigit():
        return
    made_folders_of(file).unlink(missing_ok=True)
    for folder in list(file.parents)[: int(count)]:
        try:
            folder.rmdir()
        except OSError:
            # Somebody uses it, so it and those around it stay.
            return


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + ".memolith-backup")


def content(file: Path) -> bytes | None:
    if not file.exists():
        return None
    return file.read_bytes()


def replace(file: Path, data: bytes | None, *, like: Path, mode: int) -> None:
    """Write a file in one step, or remove it if there is no data.

    It gets the permissions of `like`, or `mode` where `like` does not exist.
    """
    if data is None:
        file.unlink(missing_ok=True)
        return
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            if like.exists():
                shutil.copymode(like, temporary)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
