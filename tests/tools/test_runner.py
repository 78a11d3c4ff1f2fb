"""Code runners: the documented results, every limit, who owns them, and what if one dies."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.errors import InvalidInput, MemolithError, NotFound, TooLarge, Unavailable
from memolith.ports.sandbox import Bounds
from memolith.sandbox.linux import LinuxSandbox
from memolith.sandbox.syscalls import (
    ALLOWED,
    CHANGE_FILE_ATTRIBUTES,
    CHECKED_OR_PRIVILEGED,
)
from memolith.settings import Settings, load
from memolith.tools.call import Call
from tests.checked import body_of, error_of, present
from tests.conftest import ME
from tests.programs.children import TIMEOUT_S, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code runs on Linux only")
OWNER = ("local", "local")
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    """Makes apps with some settings of the runner."""
    made: list[App] = []

    def make(**settings: object) -> App:
        given = {
            "runner_preload": (),
            **{f"runner_{name}": value for name, value in settings.items()},
        }
        made.append(
            open_app(
                Settings.model_validate({"data": tmp_path / "data", "embedder": "none", **given})
            )
        )
        return made[-1]

    yield make
    for app in made:
        app.close()


def create(app: App, caller: Caller = ME) -> str:
    outcome = app.registry.run("create_memory_code_runner", {}, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return str(body_of(outcome)["result"]["executor_id"])


def run(app: App, executor: str, code: str) -> dict[str, Any]:
    outcome = app.registry.run(
        "run_memory_code", {"executor_id": executor, "code": code}, Call(ME, app.engine)
    )
    assert outcome.ok, outcome.body
    result: dict[str, Any] = body_of(outcome)["result"]
    return result


def refused(app: App, tool: str, caller: Caller = ME, **arguments: str) -> MemolithError:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine))
    return error_of(outcome)


def test_a_runner_keeps_its_variables_and_answers_in_the_documented_envelope(opened: Any) -> None:
    app = opened()
    executor = create(app)
    assert re.fullmatch(r"executor-[0-9a-f]{32}", executor)
    assert run(app, executor, "x = 6")["error"] is None
    ran = run(app, executor, "import sys\nprint(x * 7)\nprint('aside', file=sys.stderr)")
    assert {
        name: ran[name]
        for name in ("stdout", "stderr", "error", "truncated", "restarted", "warnings")
    } == {
        "stdout": "42\n",
        "stderr": "aside\n",
        "error": None,
        "truncated": False,
        "restarted": False,
        "warnings": [],
    }
    assert ran["duration_ms"] >= 0


def test_an_exception_is_part_of_the_answer_and_shows_the_line(opened: Any) -> None:
    app = opened()
    executor = create(app)
    error = run(app, executor, "def f():\n    return 1 / 0\nprint('before')\nf()")
    assert error["stdout"] == "before\n"
    assert error["error"].startswith("Traceback")
    assert "    return 1 / 0\n" in error["error"]
    assert error["error"].endswith("ZeroDivisionError: division by zero\n")
    assert "SyntaxError" in run(app, executor, "if")["error"]
    assert run(app, executor, "import sys; sys.exit(3)")["error"] == "SystemExit: 3"


def test_a_runner_belongs_to_who_made_it(opened: Any) -> None:
    app = opened()
    executor = create(app)
    for caller in (Caller(user="eve"), Caller(tenant="other")):
        error = refused(app, "run_memory_code", caller, executor_id=executor, code="1")
        assert (error.status, error.field) == (404, "executor_id")
    assert refused(app, "run_memory_code", executor_id="executor-0", code="1").status == 404
    mine, others = run(app, executor, "x = 1"), create(app, Caller(user="eve"))
    assert mine["error"] is None
    assert others != executor


def test_a_runner_that_died_answers_again_under_its_id_and_says_so(opened: Any) -> None:
    app = opened()
    executor = create(app)
    assert run(app, executor, "x = 1\nimport ctypes\nctypes.string_at(0)")["error"] == (
        "The runner was ended because it died; its variables are gone."
    )
    ran = run(app, executor, "print('x' in globals())")
    assert (ran["stdout"], ran["restarted"], len(ran["warnings"])) == ("False\n", True, 1)
    assert run(app, executor, "1")["restarted"] is False


LIMITS = [
    # Not less: on a busy machine, the calls before and after it take a while, too.
    ("wall_s", 5, "import time; time.sleep(600)", "it took more than 5 s.", True),
    ("cpu_s", 0.2, "while True: pass", "it took more than 0.2 s of CPU.", True),
    (
        "memory_mb",
        80,
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "it took more than 80 MB of memory",
        False,
    ),
    (
        "threads",
        5,
        "import threading, time\n"
        "for _ in range(50): threading.Thread(target=time.sleep, args=(9,)).start()",
        "thread",
        False,
    ),
    ("scratch_mb", 1, "open('big', 'wb').write(bytes(3 << 20))", "OSError", True),
]


@pytest.mark.parametrize("name,value,code,reason,kept", LIMITS, ids=[limit[0] for limit in LIMITS])
def test_a_limit_stops_what_passes_it(
    opened: Any, name: Any, value: Any, code: Any, reason: Any, kept: Any
) -> None:
    app = opened(**{name: value})
    executor = create(app)
    run(app, executor, "kept = True")
    error = run(app, executor, code)["error"]
    assert error
    assert reason in error
    if kept:
        assert run(app, executor, "print(kept)")["stdout"] == "True\n"


def test_what_is_printed_is_cut_at_its_limit(opened: Any) -> None:
    app = opened(output_kb=1)
    executor = create(app)
    ran = run(app, executor, "print('x' * 5000)")
    assert (len(ran["stdout"]), ran["truncated"]) == (1024, True)
    assert run(app, executor, "print('y')")["stdout"] == "y\n"


def test_one_runner_too_many_ends_the_one_that_was_not_used_for_longest(opened: Any) -> None:
    app = opened(count=2)
    first, second = create(app), create(app)
    run(app, first, "x = 1")
    create(app)
    assert run(app, first, "print(x)")["stdout"] == "1\n"
    assert run(app, second, "1")["restarted"] is True


def test_a_runner_that_was_not_used_for_long_is_ended(opened: Any) -> None:
    app = opened(idle_s=0)
    executor = create(app)
    assert run(app, executor, "1")["restarted"] is True
    app.sandbox.tidy()
    assert (app.sandbox.runners, app.sandbox.zygotes) == ({}, {})


def test_no_code_runs_where_it_is_switched_off_and_the_answer_says_why(opened: Any) -> None:
    app = opened(mode="off")
    error = refused(app, "create_memory_code_runner")
    assert error.status == 503
    assert "MEMOLITH_RUNNER_MODE is off" in error.message
    assert app.registry.run("get_tool_availability", {}, Call(ME, app.engine)).body[
        "service_status"
    ]["runner_tools"] == {"sandbox": False, "namespace": False, "landlock": False}


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_refuse_and_name_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    mode, reason = LinuxSandbox(tmp_path, Bounds()).state
    assert mode == "none"
    assert f"this is {system}" in reason
    assert "container" in reason


def test_modules_are_loaded_ahead(opened: Any) -> None:
    app = opened(preload=("colorsys", "no_such_module"))
    assert (
        run(app, create(app), "import sys; print('colorsys' in sys.modules)")["stdout"] == "True\n"
    )


def test_settings_come_from_the_environment() -> None:
    chosen = load(
        environ={
            "MEMOLITH_RUNNER_WALL_S": "5",
            "MEMOLITH_RUNNER_MEMORY_MB": "100",
            "MEMOLITH_RUNNER_OUTPUT_KB": "7",
            "MEMOLITH_RUNNER_PRELOAD": "json,csv",
        }
    )
    assert (chosen.runner_wall_s, chosen.runner_memory_mb, chosen.runner_output_kb) == (5.0, 100, 7)
    assert chosen.runner_preload == ("json", "csv")


def test_doctor_and_create_tell_the_mode(opened: Any) -> None:
    app = opened()
    mode = app.sandbox.state[0]
    assert mode in ("namespace", "landlock")
    made = app.registry.run("create_memory_code_runner", {}, Call(ME, app.engine)).body["result"]
    assert (made["mode"], bool(made["warnings"])) == (mode, mode == "landlock")
    shown = subprocess.run(
        [
            sys.executable,
            "-m",
            "memolith.doors.main",
            "doctor",
            "--json",
            "--data",
            str(app.settings.data),
        ],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, "MEMOLITH_EMBEDDER": "none"},
    )
    found = json.loads(shown.stdout)
    assert found["code runner"].startswith(mode)
    assert found["files"] == "read in the sandbox"


def test_doctor_tells_how_files_are_read_without_a_sandbox(opened: Any, tmp_path: Path) -> None:
    assert "MEMOLITH_READ_FILES_UNFENCED=true" in opened(mode="off").sandbox.how_files_are_read()
    unfenced = LinuxSandbox(tmp_path, Bounds(), "off", read_unfenced=True)
    assert unfenced.how_files_are_read().startswith("read without a sandbox")


def test_the_file_of_a_document_can_be_read_and_only_under_its_name(
    tmp_path: Path, opened: Any
) -> None:
    app = opened()
    (tmp_path / "blob").write_text("1,2\n3,4\n")

    @contextmanager
    def locate(id: str) -> Iterator[tuple[str, Path]]:
        if id != "ds-1":
            raise NotFound(f"There is no document {id!r}.")
        yield "sales.csv", tmp_path / "blob"

    executor = app.sandbox.create(OWNER)

    def ask(code: str) -> Any:
        return app.sandbox.run(OWNER, executor, code, locate, lambda: False)

    for _ in range(2):
        ran = ask(
            "path = get_memory_path('ds-1', 'sales.csv')\n"
            "print(path.name, path.read_text().split())"
        )
        assert ran.stdout == "sales.csv ['1,2', '3,4']\n"
    assert "is called 'sales.csv'" in ask("get_memory_path('ds-1', 'other.csv')").error
    assert "There is no document 'ds-2'" in ask("get_memory_path('ds-2', 'sales.csv')").error
    assert (
        "There is no item" in run(app, create(app), "get_memory_path('ds-1', 'sales.csv')")["error"]
    )


def test_a_call_that_is_cancelled_ends_soon_and_keeps_the_variables(opened: Any) -> None:
    app = opened()
    executor = app.sandbox.create(OWNER)
    ran = app.sandbox.run(OWNER, executor, "x = 1\nwhile True: pass", nullcontext, lambda: True)
    assert "it was cancelled" in ran.error
    assert run(app, executor, "print(x)")["stdout"] == "1\n"


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"


def test_nothing_runs_between_calls(opened: Any) -> None:
    app = opened()
    executor = create(app)
    run(
        app,
        executor,
        "import threading\n"
        "def f():\n"
        "    while True: pass\n"
        "threading.Thread(target=f, daemon=True).start()",
    )
    pid = app.sandbox.runners[executor].pid
    wait_for(lambda: state_of(pid) == "T")


def test_no_process_and_no_folder_outlives_its_server(tmp_path: Path, opened: Any) -> None:
    code = """
import sys
from pathlib import Path
from memolith.ports.sandbox import Bounds
from memolith.sandbox.linux import LinuxSandbox
sandbox = LinuxSandbox(Path(sys.argv[1]), Bounds())
sandbox.create(("a", "b"))
runners = [runner.pid for runner in sandbox.runners.values()]
zygotes = [zygote.pid for zygote in sandbox.zygotes.values()]
print(runners + zygotes, flush=True)
sys.stdin.read()
"""
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    pids = json.loads(present(server.stdout).readline())
    assert len(pids) == 2
    server.send_signal(signal.SIGKILL)
    server.communicate()
    wait_for(lambda: {state_of(pid) for pid in pids} <= {"gone", "Z"})
    (tmp_path / "data" / "runners" / "memolith-other-thing").mkdir()
    app = opened()
    create(app)
    left = [path.name for path in (tmp_path / "data" / "runners").iterdir()]
    left.remove("memolith-other-thing")
    assert [name for name in left if not name.startswith(f"memolith-runner-{os.getpid()}-")] == []


def test_a_file_is_read_by_a_function_that_sees_nothing_else(tmp_path: Path, opened: Any) -> None:
    sandbox, file = opened().sandbox, tmp_path / "a.json"
    file.write_text('{"a": [1, 2], "b": "é"}')
    assert json.loads(sandbox.run_on_file("json:load", file, Bounds())) == {"a": [1, 2], "b": "é"}
    file.write_text("{")
    with pytest.raises(InvalidInput, match="cannot be read: json") as caught:
        sandbox.run_on_file("json:load", file, Bounds())
    assert caught.value.field == "file"
    file.write_text("[" + "1," * 6_000_000 + "1]")
    with pytest.raises(TooLarge, match="more than 40 MB of memory"):
        sandbox.run_on_file("json:load", file, Bounds(memory_mb=40))
    with pytest.raises(TooLarge, match=r"more than 0\.05 s"):
        sandbox.run_on_file("json:load", file, Bounds(wall_s=0.05))
    file.write_text(json.dumps("x" * 5000))
    with pytest.raises(TooLarge, match="too much"):
        sandbox.run_on_file("json:load", file, Bounds(output_kb=1))


def test_files_are_refused_where_there_is_no_sandbox_and_the_answer_names_the_setting(
    tmp_path: Path, opened: Any
) -> None:
    app, file = opened(mode="off"), tmp_path / "a.txt"
    file.write_text("some words")
    with pytest.raises(Unavailable) as refused:
        app.engine.documents.ingest(ME, file, "a.txt")
    assert "MEMOLITH_RUNNER_MODE is off" in refused.value.message
    assert "MEMOLITH_READ_FILES_UNFENCED=true" in refused.value.message
    assert not (app.settings.data / "files").exists()


def test_files_are_read_in_a_plain_child_where_a_setting_allows_it(
    tmp_path: Path,
) -> None:
    settings = {
        "MEMOLITH_DATA": str(tmp_path / "data"),
        "MEMOLITH_EMBEDDER": "none",
        "MEMOLITH_RUNNER_MODE": "off",
        "MEMOLITH_READ_FILES_UNFENCED": "true",
    }
    app = open_app(load(environ=settings))
    sandbox, file = app.sandbox, tmp_path / "a.json"
    file.write_text("[1]")
    assert json.loads(sandbox.run_on_file("json:load", file, Bounds())) == [1]
    file.write_text("[")
    with pytest.raises(InvalidInput, match="JSONDecodeError"):
        sandbox.run_on_file("json:load", file, Bounds())
    with pytest.raises(TooLarge, match=r"more than 0\.001 s"):
        sandbox.run_on_file("json:load", file, Bounds(wall_s=0.001))
    file.write_text("[" + "1," * 6_000_000 + "1]")
    with pytest.raises(TooLarge, match="more than 40 MB of memory"):
        sandbox.run_on_file("json:load", file, Bounds(memory_mb=40))
    file.write_text(json.dumps("x" * 5000))
    with pytest.raises(TooLarge, match="too much"):
        sandbox.run_on_file("json:load", file, Bounds(output_kb=1))
    app.close()


@pytest.mark.parametrize("machine", HEADERS)
def test_the_table_of_calls_is_that_of_the_kernel(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("the headers of the kernel are not here")
    text = HEADERS[machine].read_text()
    kernel = {
        name: int(number)
        for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)
    }
    # The generic header calls it by its older name.
    kernel.setdefault("newfstatat", kernel.get("fstatat", 0))
    table = {**ALLOWED, **CHANGE_FILE_ATTRIBUTES, **CHECKED_OR_PRIVILEGED}
    ours = {name: getattr(numbers, machine) for name, numbers in table.items()}
    present = {name: number for name, number in ours.items() if number is not None}
    assert present == {name: kernel.get(name) for name in present}


@pytest.mark.full
def test_the_promised_packages_are_there_and_matplotlib_is_not(opened: Any) -> None:
    app = opened()
    executor = create(app)
    code = "import numpy, openpyxl, pandas, scipy, sklearn, xgboost, xlrd\nprint('all')"
    assert run(app, executor, code)["stdout"] == "all\n"
    work = """
frame = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
frame.to_excel("b.xlsx")
model = xgboost.XGBRegressor(n_estimators=2).fit(frame[["a"]], frame.b)
print(pandas.read_excel("b.xlsx").b.sum(), model.predict(frame[["a"]]).shape)
"""
    ran = run(app, executor, work)
    assert (ran["stdout"], ran["error"]) == ("7 (2,)\n", None)
    assert "ModuleNotFoundError" in run(app, executor, "import matplotlib")["error"]
