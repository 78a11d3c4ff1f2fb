"""The bundles for desktop apps (`.mcpb`): the wheels, and a manifest that starts them with uv.

uv gets the other packages from the package index when the app starts the bundle for the first time,
so that one bundle serves every platform and every version of Python.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from memolith.bootstrap import families
from scripts.distribution.plugins import as_json
from scripts.distribution.project import NAME, RELEASE, TITLE, project

Json = dict[str, Any]

MANIFESTS = {"0.3": "python", "0.4": "uv"}
"""The versions of the manifest, and the type of server that each calls this.

Version 0.4 is experimental: an app that knows it brings uv along. With 0.3 uv must be installed.
"""
ENTRY_POINT = "server/main.py"
PROFILE = "core"

PYPROJECT = """\
[project]
name = "memolith-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = [{dependencies}]

[tool.uv.sources]
{sources}
"""


def bundle_name(manifest_version: str) -> str:
    """The bundle with the accepted manifest has the plain name."""
    suffix = "" if manifest_version == "0.3" else f"-manifest-{manifest_version}"
    return f"{NAME}-{project().version}{suffix}.mcpb"


def core_tools() -> list[Json]:
    """The tools that the app lists before the server has run."""
    core = next(family for family in families() if family.name == PROFILE)
    return [
        {"name": tool.name, "description": tool.description.splitlines()[0]} for tool in core.tools
    ]


def manifest(version: str) -> Json:
    """The manifest of a bundle, in one of the versions above."""
    facts = project()
    return {
        "manifest_version": version,
        "name": NAME,
        "display_name": TITLE,
        "version": facts.version,
        "description": facts.description,
        "author": {"name": facts.author},
        "homepage": facts.homepage,
        "license": facts.license,
        "keywords": list(facts.keywords),
        "server": {
            "type": MANIFESTS[version],
            "entry_point": ENTRY_POINT,
            "mcp_config": {
                "command": "uv",
                "args": [
                    "run",
                    "--quiet",
                    "--directory",
                    "${__dirname}",
                    ENTRY_POINT,
                    "--tools",
                    "${user_config.tools}",
                ],
            },
        },
        "tools": core_tools(),
        "tools_generated": True,
        "user_config": {
            "tools": {
                "type": "string",
                "title": "Tools",
                "description": "Which tools the app sees: all, or names of families and tools, "
                "separated by commas.",
                "default": PROFILE,
            }
        },
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": ">=3.11"},
        },
    }


def write_bundle_folder(folder: Path, version: str, wheels: list[Path]) -> None:
    """Everything that is packed into a bundle."""
    (folder / "wheels").mkdir(parents=True)
    (folder / "server").mkdir()
    sources = []
    names = []
    for wheel in wheels:
        shutil.copy(wheel, folder / "wheels")
        name = wheel.name.split("-")[0].replace("_", "-")
        names.append(f'"{name}"')
        sources.append(f'{name} = {{ path = "wheels/{wheel.name}" }}')
    text = PYPROJECT.format(
        version=project().version, dependencies=", ".join(names), sources="\n".join(sources)
    )
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    shutil.copy(RELEASE / "bundle" / "main.py", folder / ENTRY_POINT)
    (folder / "manifest.json").write_text(as_json(manifest(version)), encoding="utf-8")
