"""Files and folders are made by `private_files.py`, so that nobody else can use them."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "memolith"
ELSEWHERE = {
    "private_files.py": "the place itself",
    "doors/install/change.py": "configuration files of other programs keep their permissions",
    "sandbox/breakouts.py": "an attempt to write that must fail",
    "sandbox/child.py": "a sandboxed process writes to files of the kernel",
    "sandbox/namespaces.py": "a sandboxed process makes its own file system",
    "sandbox/modes.py": "the bait for attempts to break out is open on purpose",
    "sandbox/runner.py": "the folders of a runner may belong to the user `nobody`",
}
MAKING_CALLS = {"mkdir", "makedirs", "write_text", "write_bytes", "touch", "copytree"}
OTHERS = {
    "store_copy.py": {"copytree"},
}
"""Calls that are followed by `close_folder_to_others`."""


def name_of(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return getattr(function, "id", "")


def writes_openly(call: ast.Call) -> bool:
    """Whether this opens a file for writing and leaves its permissions to the umask."""
    is_builtin = isinstance(call.func, ast.Name) and call.func.id == "open"
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "open"
    if not is_builtin and not is_method:
        return False
    modes = [argument for argument in call.args if isinstance(argument, ast.Constant)]
    texts = [mode.value for mode in modes if isinstance(mode.value, str)]
    is_write = any(set(text) <= set("rwaxbt+") and set(text) & set("wax") for text in texts)
    return is_write and "opener" not in {keyword.arg for keyword in call.keywords}


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda path: path.stem)
def test_what_is_written_is_written_for_its_owner_alone(path: Path) -> None:
    file = path.relative_to(SRC).as_posix()
    if file in ELSEWHERE:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            forbidden = MAKING_CALLS - OTHERS.get(file, set())
            assert name_of(node) not in forbidden, f"{file}:{node.lineno}"
            assert not writes_openly(node), f"{file}:{node.lineno}"


def test_every_exception_is_needed() -> None:
    for file in (*ELSEWHERE, *OTHERS):
        assert (SRC / file).is_file(), file
