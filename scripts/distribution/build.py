"""Builds everything that is released into `dist`: `make dist` runs this and then the checks."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scripts.distribution.bundle import MANIFESTS, bundle_name, write_bundle_folder
from scripts.distribution.formula import digest, formula
from scripts.distribution.listings import registry_entry
from scripts.distribution.model_wheel import (
    MODEL_SOURCE,
    NETWORK_FILES,
    model_release,
    write_model_project,
)
from scripts.distribution.plugins import GEMINI, as_json
from scripts.distribution.programs import Command, node_program, run, tool
from scripts.distribution.project import NAME, ROOT, project, release_url

DIST = ROOT / "dist"
MCPB = ("@anthropic-ai/mcpb", "2.1.2", "dist/cli/cli.js")
DEPENDENCIES = "\ndependencies = [\n"
SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Release:
    """The files of a release."""

    folder: Path
    wheel: Path
    sdist: Path
    model: Path
    bundles: dict[str, Path]
    formula: Path
    registry_entry: Path
    gemini: Path

    @property
    def wheels(self) -> list[Path]:
        return [self.wheel, self.model]


def mcpb(*arguments: str | Path) -> Command:
    """A command of the bundle tool."""
    return [*node_program(*MCPB), *arguments]


def stage_source(folder: Path) -> None:
    """Copy what git knows of this checkout, without the networks, which the other wheel has."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    left_out = {str(MODEL_SOURCE / name) for name in NETWORK_FILES}
    for name in filter(None, listed.split("\0")):
        if name in left_out or not (ROOT / name).is_file():
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    pyproject = folder / "pyproject.toml"
    text = pyproject.read_text(encoding="utf-8")
    pyproject.write_text(require_model(text), encoding="utf-8")


def require_model(pyproject: str) -> str:
    """The project file of a release, which needs the wheel of the model."""
    if pyproject.count(DEPENDENCIES) != 1:
        raise ValueError("pyproject.toml has no list of dependencies that begins on a line alone")
    requirement = f'    "{model_release().requirement}",\n'
    return pyproject.replace(DEPENDENCIES, DEPENDENCIES + requirement)


def build_packages(work: Path, target: Path) -> None:
    """The wheel and the sdist of memolith, and the wheel of the model."""
    stage_source(work / "source")
    (work / "model").mkdir()
    write_model_project(work / "model")
    builder: Command = [tool("python"), "-m", "build", "--outdir", target]
    run([*builder, work / "source"])
    run([*builder, "--wheel", work / "model"])


def build_bundles(work: Path, target: Path, wheels: list[Path]) -> dict[str, Path]:
    bundles = {}
    for version in MANIFESTS:
        folder = work / f"bundle-{version}"
        write_bundle_folder(folder, version, wheels)
        bundles[version] = target / bundle_name(version)
        run(mcpb("pack", folder, bundles[version]))
    return bundles


def pack_gemini(target: Path) -> Path:
    """The extension as an archive with its manifest at the top, as Gemini CLI wants it."""
    path = target / f"{NAME}-{project().version}-gemini.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file in sorted(GEMINI.rglob("*")):
            if file.is_file():
                archive.add(file, file.relative_to(GEMINI).as_posix())
    return path


def write_registry_entry(target: Path, bundle: Path) -> Path:
    """server.json with the bundle and its digest, ready for the registry."""
    package = {
        "registryType": "mcpb",
        "identifier": release_url(bundle.name),
        "version": project().version,
        "fileSha256": digest(bundle),
        "transport": {"type": "stdio"},
    }
    path = target / "server.json"
    path.write_text(as_json(registry_entry(package)), encoding="utf-8")
    return path


def build(target: Path = DIST) -> Release:
    """Build everything anew into a folder."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        build_packages(work, target)
        wheel = next(target.glob(f"{NAME}-{project().version}-*.whl"))
        model = next(target.glob("memolith_model-*.whl"))
        bundles = build_bundles(work, target, [wheel, model])
    homebrew = target / f"{NAME}.rb"
    homebrew.write_text(formula(wheel, model), encoding="utf-8")
    release = Release(
        folder=target,
        wheel=wheel,
        sdist=next(target.glob("*.tar.gz")),
        model=model,
        bundles=bundles,
        formula=homebrew,
        registry_entry=write_registry_entry(target, bundles["0.3"]),
        gemini=pack_gemini(target),
    )
    write_sums(target)
    return release


def write_sums(target: Path) -> None:
    lines = [f"{digest(file)}  {file.name}\n" for file in sorted(target.iterdir())]
    (target / SUMS).write_text("".join(lines), encoding="utf-8")
