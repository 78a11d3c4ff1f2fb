"""Checks every file of a release with the validator of its format, and starts what can be started."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from scripts.conformance import find_node, install
from scripts.distribution.build import Release, mcpb
from scripts.distribution.bundle import MANIFESTS
from scripts.distribution.plugins import GEMINI, PLUGINS
from scripts.distribution.programs import (
    CheckFailed,
    Command,
    empty_environment,
    no_network,
    node_program,
    path_with_memolith,
    run,
    tool,
    tools_folder,
    try_server,
)
from scripts.distribution.project import NAME, ROOT, project

CLAUDE_CODE = ("@anthropic-ai/claude-code", "2.1.325", "bin/claude.exe")
GEMINI_CLI = ("@google/gemini-cli", "0.61.0", "bundle/gemini.js")
CODEX = ("@openai/codex", "0.169.0", "bin/codex.js")
PRISM = ("@ruby/prism", "1.9.0", "src/index.js")
REGISTRY_SCHEMA = "skillsaw/schemas/mcp_registry/v2025_12_11/server.schema.json"
DEPLOY = ROOT / "deploy"


@dataclass(frozen=True)
class Check:
    """One check; `run` gives what the validator said, or raises CheckFailed."""

    name: str
    run: Callable[[Release, Path], str]
    """Takes the release and an empty folder to work in."""


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "no complaints"


def check_packages(release: Release, work: Path) -> str:
    printed = run([tool("twine"), "check", "--strict", *release.wheels, release.sdist])
    return f"{printed.count('PASSED')} files passed"


def check_clean_install(release: Release, work: Path) -> str:
    """Install the wheels into an empty environment and use them from there."""
    programs = empty_environment(work / "venv")
    run([programs / "python", "-m", "pip", "install", "--quiet", *release.wheels], work)
    shown = run([programs / NAME, "--version"], work).strip()
    if shown != f"{NAME} {project().version}":
        raise CheckFailed(f"`memolith --version` printed {shown!r}")
    return try_server([programs / NAME, "stdio", "--tools", "core"])


def check_bundle_manifests(release: Release, work: Path) -> str:
    said = []
    for version in MANIFESTS:
        folder = work / version
        run(mcpb("unpack", release.bundles[version], folder))
        said.append(f"{version}: " + last_line(run(mcpb("validate", folder / "manifest.json"))))
    return ", ".join(said)


def check_bundle_starts(release: Release, work: Path) -> str:
    """Unpack each bundle and start it as an app would."""
    said = ""
    for version in MANIFESTS:
        folder = work / version
        run(mcpb("unpack", release.bundles[version], folder))
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        config = manifest["server"]["mcp_config"]
        tools = manifest["user_config"]["tools"]["default"]
        arguments = [
            word.replace("${__dirname}", str(folder)).replace("${user_config.tools}", tools)
            for word in config["args"]
        ]
        said = try_server([tool(config["command"]), *arguments])
    return f"{len(MANIFESTS)} bundles started: {said}"


def check_registry_entries(release: Release, work: Path) -> str:
    """Against the schema of the registry, which skillsaw has a copy of."""
    schema = next(tools_folder().parent.rglob(REGISTRY_SCHEMA))
    files = [ROOT / "server.json", release.registry_entry]
    return last_line(run([tool("check-jsonschema"), "--schemafile", schema, *files]))


def check_plugins_with_skillsaw(release: Release, work: Path) -> str:
    """The plugins and catalogues of Claude Code, Codex and Cursor, and server.json."""
    for name in (".claude-plugin", ".agents", ".cursor-plugin", "plugins"):
        shutil.copytree(ROOT / name, work / name)
    shutil.copy(ROOT / "server.json", work)
    return last_line(run([tool("skillsaw"), "lint", "--strict", work]))


def check_claude_code(release: Release, work: Path) -> str:
    """Claude Code validates the plugin, installs it from the catalogue and starts its server."""
    claude = [*no_network(), claude_program()]
    home = client_home(work, CLAUDE_CONFIG_DIR=str(work / ".claude"), TERM="dumb")
    for place in (ROOT, PLUGINS / "claude-code"):
        run([*claude, "plugin", "validate", "--strict", place], work, **home)
    run([*claude, "plugin", "marketplace", "add", ROOT], work, **home)
    run([*claude, "plugin", "install", f"{NAME}@{NAME}"], work, **home)
    listed = json.loads(run([*claude, "plugin", "list", "--json"], work, **home))
    expect([plugin["version"] for plugin in listed], [project().version], "claude plugin list")
    expect_connected(run([*claude, "mcp", "list"], work, **home))
    return f"valid, installed {listed[0]['id']} {listed[0]['version']}, server connected"


def client_home(work: Path, **more: str) -> dict[str, str]:
    """The variables of a client whose home is empty and which finds memolith."""
    return {
        "HOME": str(work),
        "MEMOLITH_DATA": str(work / "data"),
        "PATH": path_with_memolith(),
        **more,
    }


def expect_connected(servers: str) -> None:
    """The list of servers that a client prints has one, which answers."""
    expect(len(re.findall(rf"{NAME}.*Connected", servers)), 1, servers)


def claude_program() -> Path:
    _, folder = install(*CLAUDE_CODE[:2])
    return folder / CLAUDE_CODE[2]


def check_gemini(release: Release, work: Path) -> str:
    """Gemini CLI validates the extension, installs the archive and starts its server."""
    gemini: Command = [*no_network(), *node_program(*GEMINI_CLI)]
    home = client_home(work, GEMINI_CLI_HOME=str(work))
    run([*gemini, "extensions", "validate", GEMINI], work, **home)
    folder = work / NAME
    with tarfile.open(release.gemini) as archive:
        archive.extractall(folder, filter="data")
    # It asks whether a folder can be trusted, unless this file says so.
    trusted = work / ".gemini" / "trustedFolders.json"
    trusted.parent.mkdir(exist_ok=True)
    trusted.write_text(
        json.dumps({str(place): "TRUST_FOLDER" for place in (work, folder)}), encoding="utf-8"
    )
    run([*gemini, "extensions", "install", folder, "--consent"], work, **home)
    listed = run([*gemini, "extensions", "list"], work, **home)
    expect(f"{NAME} ({project().version})" in listed, True, listed)
    expect_connected(run([*gemini, "mcp", "list"], work, **home))
    return f"valid, installed {NAME} {project().version}, server connected"


def check_codex(release: Release, work: Path) -> str:
    """Codex installs the plugin from the catalogue and knows its server."""
    codex: Command = [*no_network(), *node_program(*CODEX)]
    home = client_home(work, CODEX_HOME=str(work / ".codex"))
    (work / ".codex").mkdir()
    run([*codex, "plugin", "marketplace", "add", ROOT], work, **home)
    run([*codex, "plugin", "add", f"{NAME}@{NAME}"], work, **home)
    servers = run([*codex, "mcp", "list"], work, **home)
    expect(NAME in servers, True, servers)
    return f"installed {NAME}@{NAME}, and `codex mcp list` shows its server"


def check_smithery(release: Release, work: Path) -> str:
    """Run the function that tells Smithery how to start memolith."""
    start = yaml.safe_load((ROOT / "smithery.yaml").read_text(encoding="utf-8"))["startCommand"]
    node, _ = find_node()
    config = json.dumps(start["exampleConfig"])
    program = f"console.log(JSON.stringify(({start['commandFunction']})({config})))"
    made = json.loads(run([node, "--eval", program]))
    expect(made["args"][0], NAME, "smithery.yaml")
    return " ".join([made["command"], *made["args"]])


def check_container_file(release: Release, work: Path) -> str:
    """Lint it. There is no container engine among the tools, so no image is built."""
    return f"hadolint: {last_line(run([tool('hadolint'), DEPLOY / 'Containerfile']))}"


def check_kubernetes(release: Release, work: Path) -> str:
    files = [
        file
        for file in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
        if file.name != "kustomization.yaml"
    ]
    printed = run([tool("kubernetes-validate"), "--strict", *files])
    return f"{printed.count(' passed ')} resources passed"


def check_formula(release: Release, work: Path) -> str:
    """Parse it. Homebrew itself is not among the tools."""
    node, folder = install(*PRISM[:2])
    script = ROOT / "scripts" / "distribution" / "parse_ruby.mjs"
    return "prism: " + last_line(
        run([node, "--no-warnings", script, folder / PRISM[2], release.formula])
    )


def expect(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise CheckFailed(f"{what}: expected {wanted!r}, found {found!r}")


CHECKS = [
    Check("wheels and sdist (twine)", check_packages),
    Check("wheels in an empty environment", check_clean_install),
    Check("bundle manifests (mcpb)", check_bundle_manifests),
    Check("bundles, unpacked and started", check_bundle_starts),
    Check("server.json (registry schema)", check_registry_entries),
    Check("plugins and catalogues (skillsaw)", check_plugins_with_skillsaw),
    Check("Claude Code plugin (claude)", check_claude_code),
    Check("Gemini extension (gemini)", check_gemini),
    Check("Codex plugin (codex)", check_codex),
    Check("smithery.yaml", check_smithery),
    Check("Containerfile (hadolint)", check_container_file),
    Check("Kubernetes (kubernetes-validate)", check_kubernetes),
    Check("Homebrew formula", check_formula),
]


def run_check(check: Check, release: Release) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return check.run(release, Path(folder))
