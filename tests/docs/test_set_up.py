"""The set-up of a fresh clone: what `make` installs, what CI runs, what is pinned."""

import re
import tomllib
from pathlib import Path

import yaml
from scripts import lock

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"[a-z0-9._-]+==[0-9][A-Za-z0-9.]*")


def locked_names() -> set[str]:
    lines = lock.LOCK.read_text(encoding="utf-8").splitlines()
    return {line.split("==")[0].replace("_", "-") for line in lines if not line.startswith("#")}


def test_the_lock_holds_names_and_versions_and_no_address() -> None:
    comment, *pins = lock.LOCK.read_text(encoding="utf-8").splitlines()
    assert comment.startswith("# Made by `make lock`")
    assert [pin for pin in pins if not PINNED.fullmatch(pin)] == []


def test_the_lock_pins_every_package_that_is_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"]]
    for extra in ("docs", "office", "postgres", "runner", "s3", "test"):
        wanted += extras[extra]
    names = {re.split(r"[\[<>=;]", requirement)[0].lower() for requirement in wanted}
    assert names - {"memolith"} - locked_names() == set()


def test_the_lock_is_written_in_the_order_of_the_names() -> None:
    text = lock.render({"b": "2", "a": "1.0"})
    assert text.splitlines()[1:] == ["a==1.0", "b==2"]


def test_every_page_of_the_docs_is_in_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    pages = [page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md")]
    missing = [page for page in pages if not {str(page), str(page.parent)} & included.keys()]
    assert missing == []


def test_nothing_installs_packages_of_the_system() -> None:
    for name in ("Makefile", ".ci/run"):
        assert "apt" not in (ROOT / name).read_text(encoding="utf-8").split()


def test_ci_checks_before_it_tests() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[-3:] == ["make check", "make test", "make bench-quick"]


def test_the_commit_hooks_need_no_network() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    for repository in yaml.safe_load(text)["repos"]:
        assert repository["repo"] == "local"
        assert {hook["language"] for hook in repository["hooks"]} == {"system"}
