"""The commands of Claude's memory tool on a memory, without the package that calls them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith import Memory
from memolith.errors import TooLarge
from memolith.integrations import memory_files
from memolith.integrations.memory_files import CommandRefused, MemoryFiles, check_command
from tests.secret_text import filled


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path, embedder="none") as memory:
        yield memory


@pytest.fixture
def files(memory: Memory) -> MemoryFiles:
    return MemoryFiles(memory)


def test_a_file_is_created_and_viewed_with_line_numbers(files: MemoryFiles) -> None:
    created = files.create("/memories/notes.txt", "Hello\nThis is line two")
    assert created == "File created successfully at: /memories/notes.txt"
    assert files.view("/memories/notes.txt") == (
        "Here's the content of /memories/notes.txt with line numbers:\n"
        "     1\tHello\n"
        "     2\tThis is line two"
    )


@pytest.mark.parametrize(
    "view_range, numbers", [([2, 3], [2, 3]), ([3, -1], [3, 4]), ([4, 99], [4])]
)
def test_a_range_of_lines_is_viewed(
    files: MemoryFiles, view_range: list[int], numbers: list[int]
) -> None:
    files.create("/memories/a", "1\n2\n3\n4")
    shown = files.view("/memories/a", view_range).splitlines()[1:]
    assert shown == [f"     {number}\t{number}" for number in numbers]


@pytest.mark.parametrize("view_range", [[0, 2], [3, 2], [5, 9], [1]])
def test_a_range_that_is_not_in_the_file_is_refused(
    files: MemoryFiles, view_range: list[int]
) -> None:
    files.create("/memories/a", "1\n2\n3\n4")
    with pytest.raises(CommandRefused, match="view_range"):
        files.view("/memories/a", view_range)


def test_the_empty_directory_is_there_from_the_start(files: MemoryFiles) -> None:
    assert files.view("/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden "
        "items and node_modules:\n0B\t/memories"
    )


def test_a_directory_is_listed_two_levels_deep_with_sizes(files: MemoryFiles) -> None:
    files.create("/memories/b.txt", "x" * 1536)
    files.create("/memories/a/one.txt", "1234")
    files.create("/memories/a/deep/two.txt", "12")
    files.create("/memories/.hidden", "1")
    files.create("/memories/node_modules/x.js", "1")
    assert files.view("/memories").splitlines()[1:] == [
        "1.5K\t/memories",
        "6B\t/memories/a/",
        "2B\t/memories/a/deep/",
        "4B\t/memories/a/one.txt",
        "1.5K\t/memories/b.txt",
    ]
    assert files.view("/memories/a/").splitlines()[1:] == [
        "6B\t/memories/a",
        "2B\t/memories/a/deep/",
        "2B\t/memories/a/deep/two.txt",
        "4B\t/memories/a/one.txt",
    ]


def test_a_hidden_file_can_be_viewed_by_its_path(files: MemoryFiles) -> None:
    files.create("/memories/.hidden", "still there")
    assert "still there" in files.view("/memories/.hidden")


def test_an_existing_file_is_not_overwritten(files: MemoryFiles) -> None:
    files.create("/memories/a", "first")
    with pytest.raises(CommandRefused, match=r"^Error: File /memories/a already exists$"):
        files.create("/memories/a", "second")
    assert "first" in files.view("/memories/a")


def test_a_file_cannot_take_the_place_of_a_directory(files: MemoryFiles) -> None:
    files.create("/memories/a/b", "text")
    with pytest.raises(CommandRefused, match="already exists"):
        files.create("/memories/a", "text")


def test_nothing_can_be_in_a_file(files: MemoryFiles) -> None:
    files.create("/memories/a", "text")
    with pytest.raises(CommandRefused, match="/memories/a is a file"):
        files.create("/memories/a/b", "text")


@pytest.mark.parametrize("text", ["", "\n", " \t\n\n", "a", "a\n", "\n\n a \r\n\u2028b\n\n"])
def test_a_file_says_exactly_what_was_written(files: MemoryFiles, text: str) -> None:
    files.create("/memories/a", text)
    lines = files.view("/memories/a").split("\n")[1:]
    assert "\n".join(line.split("\t", 1)[1] for line in lines) == text


def test_a_blank_file_can_be_filled_and_emptied(files: MemoryFiles) -> None:
    files.create("/memories/a", "")
    files.insert("/memories/a", 0, "text")
    assert files.view("/memories/a").endswith("     1\ttext\n     2\t")
    files.str_replace("/memories/a", "text\n", "")
    assert files.view("/memories/a").endswith("     1\t")


def test_a_text_is_replaced_and_the_lines_around_it_are_shown(files: MemoryFiles) -> None:
    files.create("/memories/a", "1\n2\n3\n4 blue\n5\n6\n7\n")
    assert files.str_replace("/memories/a", "blue", "green\nred") == (
        "The memory file has been edited.\n"
        "     2\t2\n"
        "     3\t3\n"
        "     4\t4 green\n"
        "     5\tred\n"
        "     6\t5\n"
        "     7\t6"
    )


def test_a_text_that_is_not_there_is_not_replaced(files: MemoryFiles) -> None:
    files.create("/memories/a", "one")
    with pytest.raises(CommandRefused) as refused:
        files.str_replace("/memories/a", "two", "three")
    assert refused.value.message == (
        "No replacement was performed, old_str `two` did not appear verbatim in /memories/a."
    )


def test_a_text_that_stands_there_twice_is_not_replaced(files: MemoryFiles) -> None:
    files.create("/memories/a", "two\none two\n")
    with pytest.raises(CommandRefused) as refused:
        files.str_replace("/memories/a", "two", "three")
    assert refused.value.message == (
        "No replacement was performed. Multiple occurrences of old_str `two` in lines: 1, 2. "
        "Please ensure it is unique"
    )


@pytest.mark.parametrize(
    "line, after",
    [(0, "new\n1\n2\n"), (1, "1\nnew\n2\n"), (2, "1\n2\nnew\n")],
)
def test_a_text_is_inserted_below_a_line(files: MemoryFiles, line: int, after: str) -> None:
    files.create("/memories/a", "1\n2\n")
    assert files.insert("/memories/a", line, "new\n") == "The file /memories/a has been edited."
    lines = files.view("/memories/a").split("\n")[1:]
    assert "\n".join(line.split("\t", 1)[1] for line in lines) == after


def test_a_text_is_inserted_below_a_last_line_that_has_no_end(files: MemoryFiles) -> None:
    files.create("/memories/a", "1")
    files.insert("/memories/a", 1, "2")
    assert files.view("/memories/a").endswith("     1\t1\n     2\t2\n     3\t")


@pytest.mark.parametrize("line", [-1, 3])
def test_a_line_that_is_not_there_is_refused(files: MemoryFiles, line: int) -> None:
    files.create("/memories/a", "1\n2\n")
    with pytest.raises(CommandRefused) as refused:
        files.insert("/memories/a", line, "new\n")
    assert refused.value.message == (
        f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines "
        "of the file: [0, 2]"
    )


def test_a_deleted_file_can_be_restored(files: MemoryFiles, memory: Memory) -> None:
    files.create("/memories/a", "text")
    id = memory.list(kinds=["memory"])[0].id
    assert files.delete("/memories/a") == "Successfully deleted /memories/a"
    with pytest.raises(CommandRefused, match="does not exist"):
        files.view("/memories/a")
    memory.restore(id)
    assert "text" in files.view("/memories/a")


def test_a_directory_is_deleted_with_all_that_is_in_it(files: MemoryFiles) -> None:
    files.create("/memories/a/b/c", "text")
    files.create("/memories/ab", "text")
    files.delete("/memories/a")
    assert files.view("/memories").splitlines()[2:] == ["4B\t/memories/ab"]


def test_a_file_is_renamed(files: MemoryFiles) -> None:
    files.create("/memories/draft.txt", "text")
    answer = files.rename("/memories/draft.txt", "/memories/done/final.txt")
    assert answer == "Successfully renamed /memories/draft.txt to /memories/done/final.txt"
    assert files.view("/memories").splitlines()[2:] == [
        "4B\t/memories/done/",
        "4B\t/memories/done/final.txt",
    ]


def test_a_directory_is_renamed(files: MemoryFiles) -> None:
    files.create("/memories/a/one", "1")
    files.create("/memories/a/b/two", "2")
    files.rename("/memories/a", "/memories/c")
    assert files.view("/memories/c").splitlines()[2:] == [
        "1B\t/memories/c/b/",
        "1B\t/memories/c/b/two",
        "1B\t/memories/c/one",
    ]
    with pytest.raises(CommandRefused, match="does not exist"):
        files.view("/memories/a")


def test_a_rename_does_not_overwrite(files: MemoryFiles) -> None:
    files.create("/memories/a", "1")
    files.create("/memories/b/c", "2")
    with pytest.raises(
        CommandRefused, match=r"^Error: The destination /memories/b already exists$"
    ):
        files.rename("/memories/a", "/memories/b")


def test_a_directory_cannot_be_moved_into_itself(files: MemoryFiles) -> None:
    files.create("/memories/a/one", "1")
    with pytest.raises(CommandRefused, match="into itself"):
        files.rename("/memories/a", "/memories/a/b")


def test_a_renamed_file_keeps_the_tags_of_people(files: MemoryFiles, memory: Memory) -> None:
    files.create("/memories/a", "1")
    item = memory.list(kinds=["memory"])[0]
    memory.revise(item.id, tags=[*item.tags, "important"])
    files.rename("/memories/a", "/memories/b")
    assert "important" in memory.get(item.id).tags


def test_if_one_file_cannot_be_renamed_none_is(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.create("/memories/a/1", "1")
    files.create("/memories/a/2", "2")
    revise = files.memory.revise

    def refuse_the_second(id: str, **changes: object) -> object:
        if changes["title"] == "/memories/b/2":
            raise TooLarge("No.")
        return revise(id, **changes)  # type: ignore[arg-type]

    monkeypatch.setattr(files.memory, "revise", refuse_the_second)
    with pytest.raises(TooLarge):
        files.rename("/memories/a", "/memories/b")
    assert files.view("/memories/a").splitlines()[2:] == ["1B\t/memories/a/1", "1B\t/memories/a/2"]


@pytest.mark.parametrize("command", ["view", "delete"])
def test_a_path_that_is_not_there_is_refused(files: MemoryFiles, command: str) -> None:
    with pytest.raises(CommandRefused, match="The path /memories/none does not exist"):
        getattr(files, command)("/memories/none")


def test_a_directory_cannot_be_edited(files: MemoryFiles) -> None:
    files.create("/memories/a/b", "1")
    with pytest.raises(CommandRefused, match="The path /memories/a does not exist"):
        files.str_replace("/memories/a", "1", "2")
    with pytest.raises(CommandRefused, match="The path /memories/a does not exist"):
        files.insert("/memories/a", 0, "2")


def test_what_is_not_there_cannot_be_renamed(files: MemoryFiles) -> None:
    with pytest.raises(CommandRefused, match=r"^Error: The path /memories/none does not exist$"):
        files.rename("/memories/none", "/memories/a")


@pytest.mark.parametrize("change", ["delete", "rename"])
def test_the_directory_itself_stays(files: MemoryFiles, change: str) -> None:
    rest = ["/memories/a"] if change == "rename" else []
    with pytest.raises(CommandRefused, match="the /memories directory itself"):
        getattr(files, change)("/memories", *rest)


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../etc/passwd",
        "/memories/./a",
        "/memories/a/..",
        "/memories/..\\a",
        "/memories/%2e%2e%2fetc",
        "/memories/%2E%2E/etc",
        "/etc/passwd",
        "/memoriesx/a",
        "memories/a",
        "",
        "/memories/a\x00b",
        "/memories/a\nb",
        "/memories/" + "a" * 500,
        "/memories" + "/a" * 50,
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(files: MemoryFiles, path: str) -> None:
    with pytest.raises(CommandRefused, match=r"^Error: "):
        files.create(path, "text")
    assert files.memory.list().total == 0


def test_a_file_is_found_by_recall(files: MemoryFiles, memory: Memory) -> None:
    files.create("/memories/people/maria.md", "Maria prefers tea.")
    hit = memory.recall("Maria tea")[0]
    assert (hit.title, hit.text) == ("/memories/people/maria.md", "Maria prefers tea.")


def test_every_edit_is_in_the_history_and_can_be_undone(files: MemoryFiles, memory: Memory) -> None:
    files.create("/memories/a", "blue\n")
    files.str_replace("/memories/a", "blue", "green")
    id = memory.list(kinds=["memory"])[0].id
    events = memory.history(id)
    assert len(events) == 2
    memory.undo(events[-1].event)
    assert "blue" in files.view("/memories/a")


def test_spaces_have_different_files(memory: Memory) -> None:
    MemoryFiles(memory, "maria").create("/memories/a", "hers")
    other = MemoryFiles(memory, "omar")
    assert other.view("/memories").endswith("0B\t/memories")
    other.create("/memories/a", "his")
    assert "hers" in MemoryFiles(memory, "maria").view("/memories/a")


def test_clear_forgets_the_files_of_its_space_only(memory: Memory) -> None:
    MemoryFiles(memory, "maria").create("/memories/a", "hers")
    other = MemoryFiles(memory, "omar")
    other.create("/memories/a/b", "his")
    assert other.clear() == "All memory cleared"
    assert other.view("/memories").endswith("0B\t/memories")
    assert "hers" in MemoryFiles(memory, "maria").view("/memories/a")


def test_more_files_than_one_page_are_listed(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.integrations.transcripts.LIST_LIMIT", 2)
    monkeypatch.setattr("memolith.integrations.transcripts.FETCH_LIMIT", 2)
    for number in range(5):
        files.create(f"/memories/{number}", "text")
    assert len(files.view("/memories").splitlines()) == 7


def test_an_edit_that_somebody_else_came_before_is_made_on_the_newer_text(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.create("/memories/a", "1\n")
    original = memory_files.with_inserted
    others = iter(["other\n"])

    def after_somebody_else(text: str, line: int, inserted: str) -> str:
        for other in others:
            files.insert("/memories/a", 1, other)
        return original(text, line, inserted)

    monkeypatch.setattr(memory_files, "with_inserted", after_somebody_else)
    files.insert("/memories/a", 0, "mine\n")
    assert files.view("/memories/a").endswith("     1\tmine\n     2\t1\n     3\tother\n     4\t")


def test_of_two_files_made_at_the_same_moment_the_first_stays(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = MemoryFiles(files.memory)

    def make_it_meanwhile(path: str) -> None:
        first.create(path, "first")

    monkeypatch.setattr(files, "_refuse_file_above", make_it_meanwhile)
    with pytest.raises(CommandRefused, match="already exists"):
        files.create("/memories/a", "second")
    assert "first" in files.view("/memories/a")
    assert files.memory.list().total == 1


def test_the_model_is_told_that_a_secret_was_taken_out(files: MemoryFiles) -> None:
    answer = files.create("/memories/a", filled("The key is AKIA{upper:16} today."))
    assert answer == (
        "File created successfully at: /memories/a\nNote: 1 secret was replaced by [REDACTED]."
    )


@pytest.mark.parametrize(
    "command, named",
    [
        ({}, "command"),
        ("view", "command"),
        ({"command": "erase", "path": "/memories/a"}, "erase"),
        ({"command": "view"}, "path"),
        ({"command": "create", "path": "/memories/a"}, "file_text"),
        ({"command": "insert", "path": "/memories/a", "insert_line": "1"}, "insert_line"),
        ({"command": "rename", "old_path": "/memories/a"}, "new_path"),
    ],
)
def test_a_command_that_lacks_something_is_refused(command: object, named: str) -> None:
    with pytest.raises(CommandRefused, match=f"`{named}`|'{named}'"):
        check_command(command)
