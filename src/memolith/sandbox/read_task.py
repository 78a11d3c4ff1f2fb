"""Runs a function on one open file, inside a child of the sandbox."""

import json
from pkgutil import resolve_name


def print_result(task: str, file_descriptor: int) -> None:
    """Print as JSON what a function, named as `module:function`, returns for the file."""
    function = resolve_name(task)
    with open(file_descriptor, "rb") as file:
        print(json.dumps(function(file), ensure_ascii=False))
