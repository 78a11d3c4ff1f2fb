"""The architecture, held by tests: which way imports point, where drivers live, what names say."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "memolith"
FILES = sorted(SRC.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

INNER = {"errors", "domain", "ports", "redaction", "engine"}
"""The engine and what it is made of. Everything else may import these."""

ADAPTERS = {"storage", "retrieval", "analysts", "adapters", "readers", "sandbox"}
"""What implements the ports. No adapter imports another one, except as listed in LAYERS."""

LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "paths": set(),
    "private_files": set(),
    "domain": {"errors"},
    "ports": {"errors", "domain"},
    "redaction": {"errors", "domain"},
    "engine": INNER,
    "settings": {"errors", "engine", "paths"},
    "storage": INNER | {"private_files"},
    "retrieval": INNER | {"private_files"},
    "analysts": INNER,
    "adapters": INNER | {"private_files"},
    "readers": INNER,
    "sandbox": INNER | {"private_files", "readers"},
    "interchange": INNER | {"private_files"},
    "tools": INNER,
    "background": INNER | ADAPTERS,
    "store_copy": INNER | ADAPTERS | {"private_files", "settings"},
    "bootstrap": INNER
    | ADAPTERS
    | {"background", "private_files", "settings", "store_copy", "tools"},
    "doors": INNER
    | {
        "bootstrap",
        "interchange",
        "paths",
        "private_files",
        "settings",
        "store_copy",
        "tools",
    },
    # Adapters of agent frameworks use the library as any program would.
    "integrations": {"errors", "doors"},
    # The library is imported when a program asks for it.
    "__init__": {"doors"},
    "__main__": {"doors"},
}
"""For every part of the package: the parts that it may import."""

DRIVERS = {
    "apsw": "storage",
    "psycopg": "storage",
    "mcp": "doors",
    "starlette": "doors",
    "uvicorn": "doors",
    "onnxruntime": "retrieval",
    "httpx2": "analysts",
    "httpx": "analysts",
    "opentelemetry": "adapters",
}
"""The one folder in which a driver may be imported."""
FRAMEWORKS = {
    "agents": "integrations/openai_agents.py",
    "langgraph": "integrations/langgraph.py",
    "llama_index": "integrations/llama_index.py",
    "pydantic_ai": "integrations/pydantic_ai.py",
}
"""The one file in which an agent framework may be imported."""
HTTP_CLIENT = "doors/library/http_transport.py"
"""The library's own client of a server, beside the analysts' client of a model."""

STANDARD_LIBRARY_ONLY = {
    "errors",
    "paths",
    "private_files",
    "domain",
    "ports",
    "redaction",
    "engine",
}

LAZY_PARTS = {
    "__init__",
    "bootstrap",
    "doors",
    "adapters",
    "analysts",
    "readers",
    "redaction",
    "retrieval",
    "sandbox",
}
"""Where an import may stand inside a function, with a comment that says why."""

BROAD_EXCEPTS = {
    "sandbox/child.py": "whatever the code of a user raises is part of its answer",
    "tools/registry.py": "the last resort of every door: an unexpected error becomes a clear one",
    "doors/hooks/run.py": "a hook must never get in the way of its client; failures are logged",
    "retrieval/embedding/worker.py": "one text that breaks the model must not stop the others",
}
"""The only places where every exception is caught, and why."""

VAGUE_NAMES = {
    "utils",
    "helpers",
    "common",
    "base",
    "manager",
    "service",
    "handler",
    "factory",
    "impl",
}


def part_of(path: Path) -> str:
    """The top-level part of the package that a file belongs to."""
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def relative(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def functions(path: Path) -> Iterator[FunctionNode]:
    for node in ast.walk(TREES[path]):
        if isinstance(node, FunctionNode):
            yield node


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Each import statement with each dotted name that it brings in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node, node.module
            for alias in node.names:
                yield node, f"{node.module}.{alias.name}"


def type_checking_only(tree: ast.Module) -> set[ast.stmt]:
    """The statements that only a type checker sees."""
    found: set[ast.stmt] = set()
    for node in tree.body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            found.update(inner for inner in ast.walk(node) if isinstance(inner, ast.stmt))
    return found


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether a handler only tidies up and lets the exception go on."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or getattr(handler.type, "id", "") in ("Exception", "BaseException")


def test_every_part_has_its_place_in_the_layers() -> None:
    parts = {part_of(path) for path in FILES}
    assert parts == set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_point_inward(path: Path) -> None:
    own = part_of(path)
    allowed = LAYERS.get(own, set()) | {own, "__version__"}
    targets = {
        name.split(".")[1] for _, name in imports(TREES[path]) if name.startswith("memolith.")
    }
    assert targets - allowed == set()


def test_the_engine_imports_only_the_standard_library() -> None:
    foreign = []
    for path in FILES:
        if part_of(path) in STANDARD_LIBRARY_ONLY:
            for _, name in imports(TREES[path]):
                top = name.split(".")[0]
                if top != "memolith" and top not in sys.stdlib_module_names:
                    foreign.append((relative(path), name))
    assert foreign == []


def test_a_driver_appears_in_one_folder() -> None:
    wrong = []
    for path in FILES:
        for _, name in imports(TREES[path]):
            home = DRIVERS.get(name.split(".")[0])
            if relative(path) == HTTP_CLIENT and name == "httpx2":
                continue
            if home is not None and part_of(path) != home:
                wrong.append((relative(path), name))
    assert wrong == []


def test_a_framework_is_imported_by_its_adapter_alone() -> None:
    found = {
        (name.split(".")[0], relative(path))
        for path in FILES
        for _, name in imports(TREES[path])
        if name.split(".")[0] in FRAMEWORKS
    }
    assert found == set(FRAMEWORKS.items())


def test_adapters_of_frameworks_use_nothing_but_the_library() -> None:
    wrong = [
        (relative(path), name)
        for path in FILES
        if part_of(path) == "integrations"
        for _, name in imports(TREES[path])
        if name.startswith("memolith.doors.") and not name.startswith("memolith.doors.library")
    ]
    assert wrong == []


def test_adapters_of_frameworks_have_no_patterns() -> None:
    """The test of hostile texts cannot import them to look for any."""
    found = [
        relative(path)
        for path in FILES
        if part_of(path) == "integrations"
        for _, name in imports(TREES[path])
        if name == "re"
    ]
    assert found == []


def test_there_are_no_import_cycles() -> None:
    modules = {".".join(["memolith", *p.relative_to(SRC).with_suffix("").parts]): p for p in FILES}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        ignored = type_checking_only(TREES[path])
        graph[name] = {
            target
            for node, target in imports(TREES[path])
            if target in modules and target != name and node not in ignored
        }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path, name])
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_an_import_inside_a_function_gives_its_reason(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    for function in functions(path):
        for number in sorted({node.lineno for node, _ in imports(function)})[:1]:
            assert part_of(path) in LAZY_PARTS, f"line {number}: import at the top of the file"
            assert "#" in lines[number - 1] or "#" in lines[number - 2], f"line {number}: say why"


def test_module_names_say_something() -> None:
    vague = [
        relative(path)
        for path in FILES
        if set(path.stem.split("_")) & VAGUE_NAMES or re.search(r"v2|^new_|^legacy_", path.stem)
    ]
    assert vague == []


def test_names_carry_no_history() -> None:
    dated = [
        (relative(path), node.name)
        for path in FILES
        for node in ast.walk(TREES[path])
        if isinstance(node, FunctionNode | ast.ClassDef)
        and re.search(r"v2$|^new_(?!id$)|legacy_", node.name, re.I)
    ]
    assert dated == []


def test_broad_excepts_stand_only_where_they_are_listed() -> None:
    found = [
        relative(path)
        for path in FILES
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.ExceptHandler) and is_broad(node) and not raises_again(node)
    ]
    assert sorted(found) == sorted(BROAD_EXCEPTS)


def test_nothing_private_is_imported_from_another_module() -> None:
    private = [
        (relative(path), alias.name)
        for path in FILES
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_") and alias.name != "__version__"
    ]
    assert private == []


def test_every_public_class_is_described() -> None:
    bare = [
        (relative(path), node.name)
        for path in FILES
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert bare == []
