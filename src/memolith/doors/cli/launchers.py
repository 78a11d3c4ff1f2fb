"""Ways to run the server in the background: systemd, launchd, a Windows task, or a plain process.

launchd and the Windows task are untried: only what they are told is tested.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from xml.sax.saxutils import escape

from memolith.errors import Unavailable
from memolith.private_files import make_private_folder, open_private

STOP_TIMEOUT_S = 15.0
POLL_S = 0.05
COMMAND_TIMEOUT_S = 30
NAME_BYTES = 4


@dataclass(frozen=True)
class Server:
    """A server that is to run in the background."""

    command: tuple[str, ...]
    data: Path

    @property
    def name(self) -> str:
        """One for each data folder, so that several servers can run."""
        digest = hashlib.blake2b(str(self.data).encode(), digest_size=NAME_BYTES).hexdigest()
        return f"memolith-{digest}"

    @property
    def start_file(self) -> Path:
        """What the server prints once it is ready."""
        return self.data / "server-start.json"

    @property
    def log_file(self) -> Path:
        return self.data / "server.log"


class Launcher(Protocol):
    """Starts and stops a server that goes on when the terminal is closed."""

    name: str

    def start(self, server: Server) -> int | None:
        """Start it; returns the number of its process, if that is known."""
        ...

    def stop(self, server: Server, process_id: int | None) -> None:
        """Stop it, and forget what `start` has set up."""
        ...


class ProcessLauncher:
    """A process of its own, which ends with the machine."""

    name = "process"

    def start(self, server: Server) -> int | None:
        with (
            open(server.start_file, "wb", opener=open_private) as start,
            open(server.log_file, "ab", opener=open_private) as log,
        ):
            options: dict[str, object] = {"start_new_session": True}
            if sys.platform == "win32":
                flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
                options = {"creationflags": flags}
            process = subprocess.Popen(
                server.command,
                stdin=subprocess.DEVNULL,
                stdout=start,
                stderr=log,
                cwd=server.data,
                **options,  # type: ignore[call-overload]
            )
        return int(process.pid)

    def stop(self, server: Server, process_id: int | None) -> None:
        if process_id is None or not is_our_server(process_id):
            return
        os.kill(process_id, signal.SIGTERM)
        end = time.monotonic() + STOP_TIMEOUT_S
        while is_our_server(process_id):
            if time.monotonic() > end:
                raise Unavailable(f"Process {process_id} does not end; look at {server.log_file}.")
            time.sleep(POLL_S)


def is_our_server(process_id: int) -> bool:
    """Whether the process is there and a server of memolith, not another one with its number."""
    if sys.platform == "win32":
        listed = output_of(["tasklist", "/fi", f"PID eq {process_id}", "/fo", "csv", "/nh"])
        return str(process_id) in listed
    reap(process_id)
    # Otherwise a COLUMNS in the environment cuts the line, and with it what is looked for.
    command = output_of(["ps", "-ww", "-p", str(process_id), "-o", "stat=,command="])
    is_zombie = command.lstrip().startswith("Z")
    return not is_zombie and "memolith" in command and "serve" in command


def reap(process_id: int) -> None:
    """Take note of the end of a child, which stays in the table of processes otherwise."""
    try:
        os.waitpid(process_id, os.WNOHANG)
    except ChildProcessError:
        # Usually another program has started it.
        return


class SystemdLauncher:
    """A unit of the user's systemd: it starts again after a failure and at the next login."""

    name = "systemd"

    def unit_file(self, server: Server) -> Path:
        config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        return Path(config) / "systemd" / "user" / f"{server.name}.service"

    def unit_text(self, server: Server) -> str:
        command = " ".join(quoted(word) for word in server.command)
        return (
            "[Unit]\n"
            f"Description=memolith on {specifier_free(str(server.data))}\n\n"
            "[Service]\n"
            f"ExecStart={command}\n"
            f"WorkingDirectory={specifier_free(str(server.data))}\n"
            f"StandardOutput=truncate:{specifier_free(str(server.start_file))}\n"
            f"StandardError=append:{specifier_free(str(server.log_file))}\n"
            "UMask=0077\n"
            "Restart=on-failure\n"
            "RestartSec=2\n\n"
            "[Install]\n"
            "WantedBy=default.target\n"
        )

    def start(self, server: Server) -> int | None:
        file = self.unit_file(server)
        write_private(file, self.unit_text(server))
        run_tool(["systemctl", "--user", "daemon-reload"])
        run_tool(["systemctl", "--user", "enable", "--now", file.name])
        shown = output_of(["systemctl", "--user", "show", "-p", "MainPID", "--value", file.name])
        return int(shown) if shown.strip().isdigit() else None

    def stop(self, server: Server, process_id: int | None) -> None:
        file = self.unit_file(server)
        if not file.exists():
            return
        run_tool(["systemctl", "--user", "disable", "--now", file.name])
        file.unlink(missing_ok=True)
        run_tool(["systemctl", "--user", "daemon-reload"])


def quoted(word: str) -> str:
    """A word of a command line in a unit file."""
    text = specifier_free(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{text}"'


def specifier_free(text: str) -> str:
    """The text where systemd would fill in what stands behind a percent sign."""
    return text.replace("%", "%%")


class LaunchdLauncher:
    """An agent of launchd on macOS. Untried: there was no Mac at hand."""

    name = "launchd"

    def agent_file(self, server: Server) -> Path:
        return Path.home() / "Library" / "LaunchAgents" / f"dev.memolith.{server.name}.plist"

    def agent_text(self, server: Server) -> str:
        words = "".join(f"    <string>{escape(word)}</string>\n" for word in server.command)
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
            '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
            '<plist version="1.0">\n<dict>\n'
            f"  <key>Label</key>\n  <string>dev.memolith.{server.name}</string>\n"
            f"  <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n"
            "  <key>RunAtLoad</key>\n  <true/>\n"
            "  <key>KeepAlive</key>\n  <dict><key>SuccessfulExit</key><false/></dict>\n"
            "  <key>StandardOutPath</key>\n"
            f"  <string>{escape(str(server.start_file))}</string>\n"
            "  <key>StandardErrorPath</key>\n"
            f"  <string>{escape(str(server.log_file))}</string>\n"
            "</dict>\n</plist>\n"
        )

    def start(self, server: Server) -> int | None:
        file = self.agent_file(server)
        write_private(file, self.agent_text(server))
        server.start_file.unlink(missing_ok=True)
        run_tool(["launchctl", "load", "-w", str(file)])
        return None

    def stop(self, server: Server, process_id: int | None) -> None:
        file = self.agent_file(server)
        if file.exists():
            run_tool(["launchctl", "unload", "-w", str(file)])
            file.unlink(missing_ok=True)


class WindowsTaskLauncher:
    """A task that starts at logon, beside a process for now. Untried: there was no Windows."""

    name = "windows"

    def task_command(self, server: Server) -> list[str]:
        command = subprocess.list2cmdline(server.command)
        return ["schtasks", "/create", "/f", "/sc", "onlogon", "/tn", server.name, "/tr", command]

    def start(self, server: Server) -> int | None:
        run_tool(self.task_command(server))
        return ProcessLauncher().start(server)

    def stop(self, server: Server, process_id: int | None) -> None:
        run_tool(["schtasks", "/delete", "/f", "/tn", server.name])
        ProcessLauncher().stop(server, process_id)


LAUNCHERS: dict[str, Launcher] = {
    launcher.name: launcher
    for launcher in (
        SystemdLauncher(),
        LaunchdLauncher(),
        WindowsTaskLauncher(),
        ProcessLauncher(),
    )
}


def usual_launcher() -> Launcher:
    """The one that suits this machine."""
    if sys.platform == "darwin":
        return LAUNCHERS["launchd"]
    if sys.platform == "win32":
        return LAUNCHERS["windows"]
    if shutil.which("systemctl") and succeeds(["systemctl", "--user", "show-environment"]):
        return LAUNCHERS["systemd"]
    return LAUNCHERS["process"]


def write_private(file: Path, text: str) -> None:
    make_private_folder(str(file.parent))
    with open(file, "w", encoding="utf-8", opener=open_private) as stream:
        stream.write(text)


def succeeds(command: list[str]) -> bool:
    try:
        ran = subprocess.run(command, capture_output=True, timeout=COMMAND_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0


def run_tool(command: list[str]) -> None:
    """Run a program of the system; what it complains about is told."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"`{' '.join(command)}` cannot be run: {error}.") from error
    if ran.returncode:
        raise Unavailable(f"`{' '.join(command)}` failed: {ran.stderr.strip()[:500]}")


def output_of(command: list[str]) -> str:
    """What a program of the system prints; nothing if it cannot be run."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout
