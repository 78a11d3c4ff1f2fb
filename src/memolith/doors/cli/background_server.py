"""Commands that run the server in the background: `up`, `down`, `status` and `logs`.

`memolith serve` leaves a record in the data folder, too, so that `status` knows it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from memolith.bootstrap import App
from memolith.doors.cli.command import Command, Options, choices_metavar
from memolith.doors.cli.human import human_duration
from memolith.doors.cli.launchers import (
    LAUNCHERS,
    Server,
    is_our_server,
    usual_launcher,
)
from memolith.doors.cli.output import note, out
from memolith.doors.cli.style import without_controls
from memolith.doors.install.launch import launch_command
from memolith.errors import Conflict, InvalidInput, MemolithError, NotFound, Unavailable
from memolith.private_files import make_private_folder, open_private

START_TIMEOUT_S = 60.0
HEALTH_TIMEOUT_S = 5.0
POLL_S = 0.05
FOLLOW_S = 0.3
SHOWN_LINES = 50
FAILURE_LINES = 5
FOREGROUND = "serve"
"""Stands for the launcher of a server that somebody has started with `memolith serve`."""


@dataclass(frozen=True)
class RunningServer:
    """What is kept about a server while it runs."""

    url: str
    launcher: str
    process: int | None
    started: float

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self.process is not None and is_our_server(self.process)

    @property
    def answers(self) -> bool:
        """Whether somebody can reach it."""
        # A proxy of the environment is for other machines.
        opener = build_opener(ProxyHandler({}))
        try:
            with opener.open(f"{self.url}/health", timeout=HEALTH_TIMEOUT_S) as answer:
                return int(answer.status) == 200
        except (URLError, OSError):
            return False


def up(app: App, options: Options) -> object:
    """Start the server, and wait until it answers."""
    data = folder_of(app)
    present = read_state(data)
    if present is not None and present.answers:
        raise Conflict(
            f"A server runs on {data} already, at {present.url}; stop it with `memolith down`.",
            field="data",
        )
    make_private_folder(str(data))
    launcher = LAUNCHERS[options.launcher] if options.launcher else usual_launcher()
    server = background_server(data, options)
    server.start_file.unlink(missing_ok=True)
    started = time.time()
    process = launcher.start(server)
    ready = wait_until_ready(server, process)
    state = RunningServer(ready["url"], launcher.name, process, started)
    write_state(data, state)
    if not state.answers:
        raise Unavailable(f"The server does not answer at {state.url}; look at {server.log_file}.")
    return {
        "url": state.url,
        "page": ready["page"],
        "data": str(data),
        "launcher": launcher.name,
        "process": process,
        "log": str(server.log_file),
    }


@contextmanager
def recorded(data: Path, url: str) -> Iterator[None]:
    """Keep a record of this process while it serves, so that `status` and others find it."""
    for old in serving_files(data):
        record = read_record(old)
        if record is None or not record.is_alive:
            remove(old)
    file = data / f"serving-{os.getpid()}.json"
    # A folder that cannot be written to is served all the same.
    with suppress(OSError):
        write_record(file, RunningServer(url, FOREGROUND, os.getpid(), time.time()))
    try:
        yield
    finally:
        remove(file)


def remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


def serving_files(data: Path) -> list[Path]:
    return sorted(data.glob("serving-*.json"))


def running_server(data: Path) -> RunningServer | None:
    """The server on this folder that answers, whoever has started it."""
    state = read_state(data)
    if state is not None and state.answers:
        return state
    for file in serving_files(data):
        record = read_record(file)
        # After a kill the record stays, and another server may have the port.
        if record is not None and record.is_alive and record.answers:
            return record
    return None


def background_server(data: Path, options: Options) -> Server:
    arguments = ["serve", "--json"]
    if options.host:
        arguments += ["--host", options.host]
    if options.port is not None:
        arguments += ["--port", str(options.port)]
    return Server(tuple(launch_command(arguments, data)), data)


def wait_until_ready(server: Server, process: int | None) -> dict[str, str]:
    """What the server prints when it is ready."""
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        if server.start_file.exists():
            line = server.start_file.read_text(encoding="utf-8").partition("\n")
            if line[1]:
                # The link to the page works once, and is not for the log.
                server.start_file.unlink(missing_ok=True)
                ready: dict[str, str] = json.loads(line[0])
                return ready
        if process is not None and not is_our_server(process):
            break
        time.sleep(POLL_S)
    tail = " ".join(last_lines(server.log_file, FAILURE_LINES))
    raise Unavailable(f"The server did not start. Its log ends so: {tail or 'nothing'}")


def down(app: App, options: Options) -> object:
    """Stop the server that `up` has started."""
    data = folder_of(app)
    state = read_state(data)
    if state is None:
        raise not_ours(data)
    LAUNCHERS[state.launcher].stop(Server((), data), state.process)
    state_file(data).unlink(missing_ok=True)
    return {"stopped": state.url, "data": str(data)}


def not_ours(data: Path) -> MemolithError:
    """Why there is nothing to stop."""
    other = running_server(data)
    if other is None:
        return NotFound(f"No server was started on {data} with `memolith up`.", field="data")
    return Conflict(
        f"The server at {other.url} was started with `memolith serve`, not with `memolith up`. "
        f"End it with Ctrl-C where it runs, or end its process, {other.process}.",
        field="data",
    )


def status(app: App, options: Options) -> object:
    """Tell whether a server runs, where, and since when."""
    data = folder_of(app)
    running = running_server(data)
    state = running or read_state(data)
    if state is None:
        return {"running": False, "data": str(data)}
    report: dict[str, object] = {
        "running": running is not None,
        "url": state.url,
        "data": str(data),
        "launcher": state.launcher,
        "process": state.process,
    }
    if state.launcher != FOREGROUND:
        report["log"] = str(Server((), data).log_file)
    uptime_s = max(0.0, time.time() - state.started)
    report["uptime_s" if options.json else "up for"] = (
        round(uptime_s, 1) if options.json else human_duration(uptime_s)
    )
    if running is None:
        report["problems"] = [
            "It was started and does not answer; look at `memolith logs`, then `memolith down` and "
            "`memolith up`."
        ]
    return report


def running_url(app: App) -> str | None:
    """Where the server on this folder is, if there is one that answers."""
    running = running_server(folder_of(app))
    return running.url if running else None


def logs(app: App, options: Options) -> object:
    """Show the end of the log, and what is added to it."""
    if options.lines < 1:
        raise InvalidInput("Show one line at least.", field="lines")
    file = Server((), folder_of(app)).log_file
    if not file.exists():
        raise NotFound(f"There is no log at {file}; `memolith up` begins one.", field="data")
    lines = last_lines(file, options.lines)
    if options.json:
        return {"file": str(file), "lines": lines}
    for line in lines:
        out(without_controls(line))
    if not lines:
        note("The log is empty. With MEMOLITH_LOG_LEVEL=info a server writes a line for each call.")
    if options.follow:
        follow(file)
    return None


def follow(file: Path) -> None:
    """Print what is added, until Ctrl-C."""
    with file.open(encoding="utf-8", errors="replace") as stream:
        stream.seek(0, 2)
        while True:
            line = stream.readline()
            if line:
                out(without_controls(line.rstrip("\n")))
            else:
                time.sleep(FOLLOW_S)


def last_lines(file: Path, count: int) -> list[str]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", errors="replace") as stream:
        return [line.rstrip("\n") for line in deque(stream, maxlen=count)]


def folder_of(app: App) -> Path:
    return app.settings.data.expanduser().absolute()


def state_file(data: Path) -> Path:
    return data / "server.json"


def read_state(data: Path) -> RunningServer | None:
    """What `up` has kept about the server it started."""
    return read_record(state_file(data))


def read_record(file: Path) -> RunningServer | None:
    try:
        return RunningServer(**json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, NotADirectoryError):
        note(f"{file} cannot be read and is ignored.")
        return None


def write_state(data: Path, state: RunningServer) -> None:
    write_record(state_file(data), state)


def write_record(file: Path, record: RunningServer) -> None:
    with open(file, "w", encoding="utf-8", opener=open_private) as stream:
        json.dump(asdict(record), stream)


def add_up_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="the address to bind to (127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port (8724); 0 takes a free one")
    parser.add_argument(
        "--launcher",
        choices=tuple(LAUNCHERS),
        metavar=choices_metavar(tuple(LAUNCHERS)),
        help="what runs it; by default systemd where the user has one, else what the system has",
    )


def add_logs_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lines", type=int, default=SHOWN_LINES, help=f"how many lines to show ({SHOWN_LINES})"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")


COMMANDS = (
    Command("up", up, add_up_options),
    Command("down", down),
    Command("status", status),
    Command("logs", logs, add_logs_options),
)
