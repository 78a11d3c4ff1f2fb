"""The embedding model as a wheel of its own, because it changes less often than the program.

`python -m scripts.distribution.model_wheel` prints the digest of the model in this checkout.
"""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from memolith.retrieval.embedding.judge import JUDGE_FILE
from memolith.retrieval.embedding.minilm import MODEL_FILE, VOCAB_FILE
from scripts.distribution.project import RELEASE, ROOT, project

MODEL_SOURCE = Path("src/memolith/retrieval/embedding/model")
"""The folder of the model in a checkout."""
NETWORK_FILES = (MODEL_FILE, JUDGE_FILE, VOCAB_FILE)
"""What is in the wheel of the model alone; the card and the licences are in both wheels."""
TEXT_FILES = ("LICENSE", "NOTICE", "README.md")
DISTRIBUTION = "memolith-model"
PACKAGE = "memolith_model"

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.25"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "{version}"
description = "The embedding model of memolith."
readme = "README.md"
requires-python = ">=3.11"
license = "{license}"
license-files = ["LICENSE", "NOTICE"]

[tool.hatch.build.targets.wheel]
packages = ["{package}"]
"""


@dataclass(frozen=True)
class ModelRelease:
    """The version of the model that memolith needs, and the digest of its files."""

    version: str
    sha256: str

    @property
    def requirement(self) -> str:
        return f"{DISTRIBUTION}=={self.version}"


def model_release() -> ModelRelease:
    """What release/model.toml says."""
    return ModelRelease(**tomllib.loads((RELEASE / "model.toml").read_text(encoding="utf-8")))


def model_digest() -> str:
    """The digest of the networks and the vocabulary of this checkout, in a fixed order."""
    whole = hashlib.sha256()
    for name in NETWORK_FILES:
        whole.update(hashlib.sha256((ROOT / MODEL_SOURCE / name).read_bytes()).digest())
    return whole.hexdigest()


def write_model_project(folder: Path) -> None:
    """A folder from which the wheel of the model can be built."""
    package = folder / PACKAGE
    package.mkdir()
    shutil.copy(RELEASE / "model" / PACKAGE / "__init__.py", package)
    for name in NETWORK_FILES:
        shutil.copy(ROOT / MODEL_SOURCE / name, package)
    for name in TEXT_FILES:
        shutil.copy(ROOT / MODEL_SOURCE / name, folder)
    text = PYPROJECT.format(
        name=DISTRIBUTION,
        version=model_release().version,
        license=project().license,
        package=PACKAGE,
    )
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    print(model_digest())
