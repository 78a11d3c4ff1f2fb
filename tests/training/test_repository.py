"""Repositories are read the same way from a clone, a bare git directory and a plain folder."""

import subprocess
from pathlib import Path

import pytest
from training.sources import repository as repositories
from training.sources.repository import SourceError, clone, git_directory, open_repository


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "notes").mkdir()
    (folder / "notes" / "b.txt").write_text("second\r\nline", encoding="utf-8", newline="")
    (folder / "notes" / "a.txt").write_text("first", encoding="utf-8")
    (folder / "notes" / "c.md").write_text("other", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Add notes")
    return folder


def test_a_clone_is_read_at_the_commit_and_not_as_it_lies(work_tree: Path) -> None:
    commit = git(work_tree, "rev-parse", "HEAD")
    (work_tree / "notes" / "a.txt").write_text("changed since", encoding="utf-8")
    with open_repository(work_tree, commit) as repository:
        assert repository.paths("notes", ".txt") == ["notes/a.txt", "notes/b.txt"]
        assert repository.text("notes/a.txt") == "first"
        assert repository.text("notes/b.txt") == "second\nline"


def test_a_plain_folder_is_read_as_it_lies(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.txt").write_text("here", encoding="utf-8")
    with open_repository(tmp_path / "plain", "any") as repository:
        assert repository.all_paths() == ["a.txt"]
        assert repository.text("a.txt") == "here"


def test_one_commit_is_fetched_into_a_bare_directory(work_tree: Path, tmp_path: Path) -> None:
    commit = git(work_tree, "rev-parse", "HEAD")
    clone(work_tree.as_uri(), commit, tmp_path / "fetched")
    assert git_directory(tmp_path / "fetched") == tmp_path / "fetched"
    with open_repository(tmp_path / "fetched", commit) as repository:
        assert repository.text("notes/c.md") == "other"


def test_a_commit_that_is_not_at_hand_is_named(work_tree: Path) -> None:
    absent = "0" * 40
    with (
        pytest.raises(SourceError, match=f"{absent}.*--any-commit"),
        open_repository(work_tree, absent),
    ):
        pass


def test_a_repository_that_cannot_be_fetched_is_named(tmp_path: Path) -> None:
    url = (tmp_path / "nowhere").as_uri()
    with pytest.raises(SourceError, match=url):
        clone(url, "1" * 40, tmp_path / "fetched")


@pytest.mark.parametrize("with_git", [True, False])
def test_large_files_are_passed_over(
    work_tree: Path, with_git: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(repositories, "MAX_FILE_BYTES", 6)
    folder = work_tree
    if not with_git:
        folder = tmp_path / "plain"
        git(work_tree, "worktree", "add", "--quiet", str(folder))
        (folder / ".git").unlink()
    with open_repository(folder, "HEAD") as repository:
        assert repository.paths("notes") == ["notes/a.txt", "notes/c.md"]
        if with_git:
            with pytest.raises(SourceError, match=r"notes/b\.txt"):
                repository.text("notes/b.txt")
