"""What is released says the same everywhere, and names only commands and tools that exist."""

from __future__ import annotations

import base64
import json
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from scripts.distribution.build import require_model
from scripts.distribution.bundle import MANIFESTS, manifest, write_bundle_folder
from scripts.distribution.formula import digest, formula
from scripts.distribution.listings import install_links
from scripts.distribution.model_wheel import model_digest, model_release
from scripts.distribution.plugins import GEMINI, PLUGINS
from scripts.distribution.project import RELEASE, ROOT, project
from scripts.snap import files_below, release_files

from memolith import __version__
from memolith.bootstrap import families
from memolith.doors.cli.parser import parse
from memolith.doors.hooks.events import EVENTS
from memolith.retrieval.embedding.minilm import MODEL_FILE, MODEL_PACKAGE, find_model_folder

FILES = release_files()
HOOK_FILES = [path for path in FILES if path.name == "hooks.json"]
SERVER_FILES = [
    path for path in FILES if path.name in (".mcp.json", "mcp.json", "gemini-extension.json")
]
VERSIONED_FILES = [
    path for path in FILES if path.name in ("plugin.json", "gemini-extension.json", "server.json")
]


def place(path: Path) -> str:
    return str(path.relative_to(ROOT))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=place)
def test_a_made_file_is_up_to_date(path: Path) -> None:
    assert path.is_file(), f"{path.name} is missing: run `make snap`"
    assert path.read_text(encoding="utf-8") == FILES[path], f"{path.name} is stale: run `make snap`"


def test_the_folders_of_plugins_have_nothing_else() -> None:
    assert {*files_below(PLUGINS), *files_below(GEMINI)} <= FILES.keys()


@pytest.mark.parametrize("path", VERSIONED_FILES, ids=place)
def test_a_manifest_has_the_version_of_the_package(path: Path) -> None:
    assert read_json(path)["version"] == __version__


def test_the_packages_of_the_registry_entry_have_the_version_of_the_package() -> None:
    assert [package["version"] for package in read_json(ROOT / "server.json")["packages"]] == [
        __version__
    ]


def test_the_typescript_client_has_the_version_of_the_package() -> None:
    assert read_json(ROOT / "clients" / "typescript" / "package.json")["version"] == __version__


def test_the_page_on_typescript_names_the_archive_of_this_version() -> None:
    page = (ROOT / "docs" / "how-to" / "typescript.md").read_text(encoding="utf-8")
    assert set(re.findall(r"memolith-([\d.]+)\.tgz", page)) == {__version__}


def test_the_page_on_installing_builds_the_image_of_this_version() -> None:
    page = (ROOT / "docs" / "how-to" / "installing.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\bmemolith:(\d[\d.]*)", page)) == {__version__}


@pytest.mark.parametrize("name", ["migrate", "server", "worker"])
def test_a_pod_runs_the_image_of_this_version(name: str) -> None:
    text = (ROOT / "deploy" / "kubernetes" / f"{name}.yaml").read_text(encoding="utf-8")
    assert re.findall(r"image: (.*)", text) == [f"memolith:{__version__}"]


@pytest.mark.parametrize("path", HOOK_FILES, ids=place)
def test_the_commands_of_hooks_exist(path: Path) -> None:
    commands = [
        shlex.split(hook["command"])
        for groups in read_json(path)["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    ]
    assert commands
    for program, command, event in commands:
        assert (program, command) == ("memolith", "hook")
        assert event in EVENTS


@pytest.mark.parametrize("path", SERVER_FILES, ids=place)
def test_a_plugin_starts_a_command_that_exists(path: Path) -> None:
    server = read_json(path)["mcpServers"]["memolith"]
    assert server["command"] == "memolith"
    assert parse(server["args"]).command == "stdio"


def test_the_arguments_of_the_registry_entry_are_a_command_that_exists() -> None:
    positional, named = read_json(ROOT / "server.json")["packages"][0]["packageArguments"]
    parsed = parse([positional["value"], named["name"], named["default"]])
    assert (parsed.command, parsed.tools) == ("stdio", "core")


def test_smithery_names_a_command_that_exists() -> None:
    start = yaml.safe_load((ROOT / "smithery.yaml").read_text(encoding="utf-8"))["startCommand"]
    words = re.findall(r'"(\S+?)"', start["commandFunction"])
    assert words[:2] == ["uvx", "memolith"]
    assert parse(words[2:]).command == "stdio"


def test_the_links_add_an_entry_that_starts_a_command_that_exists() -> None:
    for name, link in install_links().items():
        config = parse_qs(urlsplit(link).query)["config"][0]
        entry = json.loads(base64.b64decode(config) if name == "Cursor" else config)
        assert [entry["command"], entry["args"][0]] == ["uvx", "memolith"]
        assert parse(entry["args"][1:]).command == "stdio"


@pytest.mark.parametrize("version", MANIFESTS)
def test_the_arguments_of_a_bundle_are_options_of_the_server(version: str) -> None:
    made = manifest(version)
    arguments = made["server"]["mcp_config"]["args"]
    options = arguments[arguments.index(made["server"]["entry_point"]) + 1 :]
    assert options == ["--tools", "${user_config.tools}"]
    chosen = made["user_config"]["tools"]["default"]
    assert parse(["stdio", "--tools", chosen]).tools == chosen


def test_a_bundle_lists_the_tools_that_it_shows_by_default() -> None:
    core = next(family for family in families() if family.name == "core")
    assert [tool["name"] for tool in manifest("0.3")["tools"]] == [tool.name for tool in core.tools]


def test_a_bundle_has_the_wheels_that_it_installs(tmp_path: Path) -> None:
    wheel = tmp_path / "memolith_model-1.0.0-py3-none-any.whl"
    wheel.touch()
    write_bundle_folder(tmp_path / "bundle", "0.3", [wheel])
    text = (tmp_path / "bundle" / "pyproject.toml").read_text(encoding="utf-8")
    named = re.findall(r'memolith-model = \{ path = "(.*)" \}', text)
    assert [(tmp_path / "bundle" / path).is_file() for path in named] == [True]


@pytest.mark.parametrize("name", ["commands.toml", "skill.md"])
def test_the_tools_that_agents_are_told_to_use_exist(name: str) -> None:
    text = (RELEASE / name).read_text(encoding="utf-8")
    core = next(family for family in families() if family.name == "core")
    told = set(re.findall(r"tool `(\w+)`|(?:Call|^-) `(\w+)`", text, re.M))
    names = {first or second for first, second in told}
    assert names
    assert names <= {tool.name for tool in core.tools}


def test_the_readme_has_the_name_that_the_registry_looks_for() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"mcp-name: (\S+)", readme) == [project().registry_name]


def test_the_description_is_short_enough_for_the_registry() -> None:
    assert len(project().description) <= 100


def test_a_changed_model_has_a_new_version() -> None:
    assert model_digest() == model_release().sha256, (
        "the model has changed: give it a new version and this digest in release/model.toml"
    )


def test_a_release_needs_its_model() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"memolith-model=={model_release().version}",\n' in require_model(text)


def test_a_project_file_without_the_expected_list_is_refused() -> None:
    with pytest.raises(ValueError, match="no list of dependencies"):
        require_model("dependencies = []")


def test_the_model_beside_the_code_is_used_first(tmp_path: Path) -> None:
    (tmp_path / MODEL_FILE).touch()
    assert find_model_folder(tmp_path) == tmp_path


def test_without_it_the_model_comes_from_its_own_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / MODEL_PACKAGE
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert find_model_folder(tmp_path / "nothing") == package


def test_without_both_the_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    assert find_model_folder(tmp_path / "nothing") == tmp_path / "nothing"


def test_the_formula_names_the_digests_of_both_wheels(tmp_path: Path) -> None:
    wheel = tmp_path / "memolith-0-py3-none-any.whl"
    model = tmp_path / "memolith_model-0-py3-none-any.whl"
    wheel.write_text("program", encoding="utf-8")
    model.write_text("model", encoding="utf-8")
    made = formula(wheel, model)
    assert re.findall(r'sha256 "(\w+)"', made) == [digest(wheel), digest(model)]
