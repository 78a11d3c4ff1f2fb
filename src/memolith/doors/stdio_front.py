"""The quick front of the stdio door: answers the opening of a session from a prepared file, importing nothing heavy.

A thread reads the pipe. Each frame is decided once, under one lock: answered here, or kept for the SDK, in order; never
both, except `initialize`, which the SDK must see too (its second answer is dropped). The main thread sleeps until the
list of tools was answered or something came that was not prepared, then opens the app, imports the SDK and takes over
under the same lock. Until then plain calls are tried without the SDK, one by one; it gets those that were not begun,
and whatever looks unusual.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from queue import SimpleQueue

from memolith import __version__

# Not from `typing`, whose import takes a seventh of the whole start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from memolith.app import App

    Answers = dict[str, dict[str, bytes]]
    Json = dict[str, Any]

PREPARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prepared.jsonl")
MODERN = "2026-07-28"
IDEMPOTENCY_KEY = "memolith/idempotency-key"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
INFO_KEY = "io.modelcontextprotocol/clientInfo"
HANDSHAKE_PARAMS = {"protocolVersion", "capabilities", "clientInfo", "_meta"}
CHUNK = 1 << 16


def parsed(line: bytes) -> Json | None:
    """The frame as an object; what is none is dropped without an answer, as the SDK does."""
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def is_request(message: Json) -> bool:
    return type(message.get("id")) in (int, str) and message.get("jsonrpc") == "2.0"


def is_envelope(meta: Json) -> bool:
    return (meta[VERSION_KEY] == MODERN and are_capabilities(meta.get(CAPABILITIES_KEY))
            and (INFO_KEY not in meta or is_info(meta[INFO_KEY])))


def is_info(value: object) -> bool:
    return (isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("version"), str)
            and all(isinstance(part, str) for part in value.values()))


def are_capabilities(value: object) -> bool:
    """Only plain ones: the SDK looks deeper, and what it would refuse must not be accepted here."""
    return isinstance(value, dict) and all(
        isinstance(part, dict) and all(isinstance(flag, bool | dict) for flag in part.values())
        for part in value.values())


def framed(message: Json, result: bytes) -> bytes:
    """The answer to a request."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(message["id"]).encode(), result)


def entry_name(profile: str, read_only: bool) -> str:
    """The name under which the answers of a profile are kept."""
    return profile + (" read-only" if read_only else "")


def installed(package: str, version: str) -> bool:
    """Whether exactly this version is installed; importlib.metadata would cost more than the whole front."""
    folder = f"{package.replace('-', '_')}-{version}.dist-info"
    return any(os.path.isdir(os.path.join(path, folder)) for path in sys.path)


def prepared_answers(path: str, profile: str, read_only: bool) -> Answers:
    """What the real server answered when this version was built; nothing for other versions or another profile."""
    try:
        with open(path, "rb") as file:
            head, *answers = file.read().split(b"\n")
        header = json.loads(head)
        if header["product"] != __version__ or not all(installed(*each) for each in header["packages"].items()):
            return {}
        chosen = header["profiles"][entry_name(profile, read_only)]
        return {version: {method: answers[number] for method, number in methods.items()}
                for version, methods in chosen.items()}
    except (OSError, ValueError, LookupError):
        return {}


class Wire:
    """The pipe to the client, as bytes."""

    def __init__(self, inlet: int, outlet: int) -> None:
        self.inlet = inlet
        self.outlet = outlet
        self.lock = threading.Lock()

    @classmethod
    def of_process(cls) -> Wire:
        """The process's own; from now on its stray reads and prints miss it."""
        inlet, outlet = os.dup(0), os.dup(1)
        if sys.platform == "win32":
            import msvcrt  # there is no such module elsewhere

            msvcrt.setmode(inlet, os.O_BINARY)
            msvcrt.setmode(outlet, os.O_BINARY)
        else:
            os.set_blocking(inlet, True)
            os.set_blocking(outlet, True)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:
            os.dup2(nothing, 1)
        os.close(nothing)
        return cls(inlet, outlet)

    def write(self, frame: bytes) -> None:
        """Send one frame; `OSError` if the client is gone."""
        data = memoryview(frame + b"\n")
        with self.lock:
            while data:
                data = data[os.write(self.outlet, data):]


class Front:
    """Decides about each frame until the SDK takes over, and passes all on after that."""

    def __init__(self, wire: Wire, prepared: Answers) -> None:
        self.wire = wire
        self.prepared = prepared
        self.lock = threading.Lock()
        self.wake = threading.Event()
        self.kept: list[bytes] = []
        self.requests: SimpleQueue[tuple[bytes, Json]] = SimpleQueue()
        self.feed: Callable[[bytes | None], object] | None = None
        self.ended = self.asked = False
        self.waiting = 0
        self.version: str | None = None
        self.handshake: int | str | None = None
        """The id of the `initialize` that was answered here, until the SDK's answer to it has been dropped."""

    def frame(self, line: bytes) -> None:
        if not line.strip():
            return
        with self.lock:
            if self.feed is not None:
                self.feed(line)
                return
            message = parsed(line)
            if message is None:
                return
            method = message.get("method")
            answer = self.answer(message)
            if answer is not None:
                self.wire.write(framed(message, answer))
            if answer is None or method == "initialize":
                self.kept.append(line)
            if answer is None and method is not None and "id" in message:
                self.waiting += 1
                self.requests.put((line, message))
                self.asked = True
            if self.waiting or method == "tools/list":
                self.wake.set()

    def try_calls(self, call: Callable[[Json], bytes | None]) -> None:
        """Answer calls in their order, until the SDK takes over or one must be left to it; none overtakes that one.

        A call that is tried is kept no longer, so that it runs once whoever takes over meanwhile.
        """
        answer: bytes | None = b""
        try:
            while answer is not None:
                line, message = self.requests.get()
                with self.lock:
                    if self.feed is not None or message["method"] != "tools/call":
                        return
                    place = self.kept.index(line)
                    del self.kept[place]
                answer = call(message)
                with self.lock:
                    if answer is not None:
                        self.waiting -= 1
                        self.wire.write(framed(message, answer))
                    elif self.feed is not None:
                        self.feed(line)
                    else:
                        self.kept.insert(place, line)
        except OSError:
            self.end()

    def answer(self, message: Json) -> bytes | None:
        """The prepared result for this request, or None when it is not ours to answer."""
        method, params = message.get("method"), message.get("params", {})
        if not is_request(message) or not isinstance(params, dict):
            return None
        meta = params.get("_meta", {})
        if not isinstance(method, str) or not isinstance(meta, dict):
            return None
        if method == "initialize":
            return self.shake_hands(message["id"], params)
        if params.keys() - {"_meta"}:
            return None
        if VERSION_KEY in meta:
            return self.prepared.get(MODERN, {}).get(method) if is_envelope(meta) else None
        return self.prepared.get(self.version or "", {}).get(method)

    def shake_hands(self, request: int | str, params: Json) -> bytes | None:
        version = params.get("protocolVersion")
        if self.version is not None or params.keys() - HANDSHAKE_PARAMS or not isinstance(version, str):
            return None
        if not are_capabilities(params.get("capabilities")) or not is_info(params.get("clientInfo")):
            return None
        answer = self.prepared.get(version, {}).get("initialize")
        if answer is not None:
            self.version, self.handshake = version, request
        return answer

    def read(self) -> None:
        """Read frames until the client leaves; whatever ends this ends the process."""
        pieces: list[bytes] = []
        try:
            while chunk := os.read(self.wire.inlet, CHUNK):
                head, *lines = chunk.split(b"\n")
                pieces.append(head)
                for line in lines:
                    self.frame(b"".join(pieces))
                    pieces = [line]
            self.frame(b"".join(pieces))
        except OSError:
            pass
        finally:
            self.end()

    def end(self) -> None:
        with self.lock:
            self.ended = True
            if self.feed is not None:
                self.feed(None)
        self.wake.set()

    def take_over(self, feed: Callable[[bytes | None], object]) -> None:
        """From now on every frame goes to `feed`, first those that were kept; None is the end."""
        with self.lock:
            for line in self.kept:
                feed(line)
            if self.ended:
                feed(None)
            self.kept, self.feed = [], feed
        # Lets who tries calls see that it is over.
        self.requests.put((b"", {}))

    @property
    def idle_end(self) -> bool:
        """The client is gone before the SDK took over, and nobody waits for an answer."""
        return self.ended and not self.waiting and self.feed is None


def serve(open_app: Callable[[], App], profile: str = "all", *, read_only: bool = False,
          prepared: str = PREPARED) -> None:
    """Serve MCP over stdin and stdout until the client leaves; the app is opened once it is needed."""
    front = Front(Wire.of_process(), prepared_answers(prepared, profile, read_only))

    def read() -> None:
        front.read()
        if front.idle_end and not front.asked:
            # Nothing was begun, so nobody need wait for the end of an import.
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    if front.prepared:
        front.wake.wait()
    if front.idle_end:
        return
    # While the main thread imports, the others shall get their turn sooner; and what it makes is there to stay.
    sys.setswitchinterval(0.0005)
    gc.disable()
    app = open_app()
    try:
        registry = app.registry.choose(profile, read_only=read_only)
        from memolith.doors.plain_calls import answer  # pydantic, which the opening must not wait for

        trying = threading.Thread(target=front.try_calls, daemon=True,
                                  args=(lambda message: answer(front, app, registry, message),))
        trying.start()
        from memolith.doors import mcp_stdio  # the SDK, half a CPU second that the first calls must not wait for

        gc.freeze()
        gc.enable()
        sys.setswitchinterval(0.005)
        if not front.idle_end:
            mcp_stdio.serve(front, app, registry)
            trying.join(mcp_stdio.DRAIN_S)
    finally:
        app.close()
    # A call that outlived its client would keep the process; what it wrote is durable or not there.
    os._exit(0)
