"""Where the config file of a client is on this machine."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from glob import glob
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from memolith.doors.install.clients import Client, ConfigFile
from memolith.errors import InvalidInput

PLACEHOLDER = re.compile(r"{(\w+)}")


def config_files(client: Client, config: ConfigFile, scope: str) -> list[Path]:
    """Where the file may be for a user or a project, the likeliest place first."""
    if scope == "user":
        home = str(Path.home())
        return existing_first(user_files(config, sys.platform, os.environ, home))
    if config.project_file is None:
        raise InvalidInput(
            f"{client.title} has no file for a project; leave --scope out.", field="scope"
        )
    return existing_first([Path.cwd() / config.project_file])


def user_files(
    config: ConfigFile, platform: str, environ: Mapping[str, str], home: str
) -> list[PurePath]:
    """Where the user's file may be on a platform, in the order of `clients.toml`.

    A `*` in a path stands for a part that differs by machine.
    """
    path_type = PureWindowsPath if platform == "win32" else PurePosixPath
    folders = platform_folders(platform, environ, home)
    found: list[PurePath] = []
    for template in config.user_files:
        names = PLACEHOLDER.findall(template)
        if not all(name in folders for name in names):
            continue
        found.append(path_type(template.format_map(folders)))
        if len(found) == 1 and names[0].isupper():
            # The user set this variable, and then the client looks nowhere else.
            return found
    return found


def platform_folders(platform: str, environ: Mapping[str, str], home: str) -> dict[str, str]:
    """What the placeholders stand for: every variable that is set, and the usual folders."""
    folders = {name: value for name, value in environ.items() if value}
    folders["home"] = home
    if platform == "win32":
        roaming = environ.get("APPDATA") or f"{home}/AppData/Roaming"
        folders["apps"] = roaming
        folders["config"] = roaming
        folders["local"] = environ.get("LOCALAPPDATA") or f"{home}/AppData/Local"
    elif platform == "darwin":
        folders["apps"] = f"{home}/Library/Application Support"
        folders["config"] = f"{home}/.config"
    else:
        folders["apps"] = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
        folders["config"] = f"{home}/.config"
    return folders


def existing_first(places: Sequence[PurePath]) -> list[Path]:
    """The places with every `*` filled in and links followed; folders that exist come first."""
    files = []
    for place in places:
        folders = [str(place.parent)]
        if "*" in str(place):
            folders = sorted(glob(str(place.parent)))
        for folder in folders:
            files.append(Path(os.path.realpath(os.path.join(folder, place.name))))
    return sorted(files, key=lambda file: not file.parent.is_dir())
