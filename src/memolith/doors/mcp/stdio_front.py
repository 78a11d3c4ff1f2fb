"""The quick front of the stdio server: answers the opening of a session without the MCP SDK.

A thread reads the pipe. It decides about each frame once, under one lock: the front answers it, or
keeps it for the SDK, in order. The one exception is `initialize`, which the SDK must see too; its
second answer is dropped.

The main thread sleeps until the list of tools has been answered or until something comes that the
front cannot answer. Then it opens the app, imports the SDK and takes over under the same lock.
Until then another thread tries plain tool calls one by one. The SDK gets those that were not begun,
and everything unusual.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from queue import SimpleQueue

from memolith.doors.mcp import frames

# Not from `typing`, whose import takes a seventh of the whole start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.bootstrap import App
    from memolith.doors.mcp.frames import Json, PlainCall
    from memolith.doors.mcp.start_cache import StartAnswers, StartCache
    from memolith.tools.registry import Registry

READ_BYTES = 1 << 16
CACHE_WRITE_S = 5.0
"""How long a first start may stay after its client has left, to finish writing the cache."""
STDIN = 0
STDOUT = 1
FIRST_VERSION_WITH_STRUCTURED_RESULTS = "2025-06-18"
PROMPTS_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}'
IMPORTING_SWITCH_INTERVAL_S = 0.0005
"""While the main thread imports, the other threads get their turn sooner."""
USUAL_SWITCH_INTERVAL_S = 0.005
LAST_CALL_S = 1.0
"""How long a call that is being tried may take to come back after its client has left."""
HEAD_START_S = 0.25
"""A call that waits already is tried alone for so long; next to the import of the SDK, it would
take twice the time."""


class Wire:
    """The pipe to the client, as bytes."""

    def __init__(self, inlet: int, outlet: int) -> None:
        self.inlet = inlet
        self.outlet = outlet
        self.lock = threading.Lock()

    @classmethod
    def of_process(cls) -> Wire:
        """The pipe of this process; stray reads and prints of a library miss it from now on."""
        inlet = os.dup(STDIN)
        outlet = os.dup(STDOUT)
        prepare_pipe_end(inlet)
        prepare_pipe_end(outlet)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, STDIN)
        os.dup2(nothing, STDOUT)
        os.close(nothing)
        return cls(inlet, outlet)

    def write(self, frame: bytes) -> None:
        """Send one frame; raises `OSError` if the client is gone."""
        unsent = memoryview(frame + b"\n")
        with self.lock:
            while unsent:
                written = os.write(self.outlet, unsent)
                unsent = unsent[written:]


def prepare_pipe_end(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt  # exists only on Windows

        msvcrt.setmode(descriptor, os.O_BINARY)
    else:
        os.set_blocking(descriptor, True)


class Front:
    """Decides about each frame until the SDK takes over, and passes all frames on after that."""

    def __init__(self, wire: Wire, answers: StartAnswers) -> None:
        self.wire = wire
        self.answers = answers
        """The known answers that open a session; empty if this is a first start."""
        self.lock = threading.Lock()
        self.wake = threading.Event()
        """Set when the app and the SDK are needed, or the client is gone."""
        self.settled = threading.Event()
        """Set once the SDK has answered all requests so far, or the client is gone."""
        self.tried = threading.Event()
        """Set once the first call was tried without the SDK."""
        self.kept: list[bytes] = []
        """Frames that the SDK has to see, in order."""
        self.requests: SimpleQueue[tuple[bytes, Json]] = SimpleQueue()
        """Requests that the front has not answered, for the thread that tries calls."""
        self.feed: Callable[[bytes | None], object] | None = None
        """Where frames go once the SDK has taken over."""
        self.is_trying = False
        """Whether a call is being tried; it may come back for the SDK."""
        self.ended = False
        self.left_any_request = False
        self.waiting_requests = 0
        self.version: str | None = None
        """The version of the protocol that the client has shaken hands on."""
        self.program = ""
        """The name of the client, as it told when it shook hands."""
        self.handshake_id: int | str | None = None
        """The id of an `initialize` answered here, until the SDK's answer to it is dropped."""

    def handle_frame(self, line: bytes) -> None:
        if not line.strip():
            return
        with self.lock:
            if self.feed is not None:
                self.feed(line)
                return
            message = frames.parse_frame(line)
            if message is None:
                return
            result = frames.find_start_answer(message, self.version, self.answers)
            if result is None:
                self._keep(line, message)
            else:
                self._answer(line, message, result)

    def _answer(self, line: bytes, message: Json, result: bytes) -> None:
        self.wire.write(frames.result_frame(message, result))
        if message["method"] == "initialize":
            self.version = message["params"]["protocolVersion"]
            self.handshake_id = message["id"]
            self.program = frames.client_name(message["params"].get("clientInfo"))
            self.kept.append(line)
        if message["method"] == "tools/list":
            self.wake.set()

    def _keep(self, line: bytes, message: Json) -> None:
        self.kept.append(line)
        if message.get("method") is not None and "id" in message:
            self.waiting_requests += 1
            self.left_any_request = True
            self.requests.put((line, message))
        if self.waiting_requests:
            self.wake.set()

    def try_calls(self, run: Callable[[Json], bytes | None]) -> None:
        """Answer calls in their order, until the SDK takes over or `run` leaves one to it.

        No call overtakes one that is left to the SDK.
        """
        try:
            while self._try_next_call(run):
                self.tried.set()
        except OSError:
            self.end()
        self.tried.set()

    def _try_next_call(self, run: Callable[[Json], bytes | None]) -> bool:
        """Whether the next call may be tried too."""
        line, message = self.requests.get()
        with self.lock:
            if self.feed is not None or message["method"] != "tools/call":
                return False
            # Not kept while it is tried, so that it runs once whoever takes over meanwhile.
            position = self.kept.index(line)
            del self.kept[position]
            self.is_trying = True
        result = run(message)
        with self.lock:
            self.is_trying = False
            if result is not None:
                self.wire.write(frames.result_frame(message, result))
                self.waiting_requests -= 1
            elif self.feed is not None:
                self.feed(line)
            else:
                self.kept.insert(position, line)
            self._pass_on_end()
        return result is not None

    def read_frames(self) -> None:
        """Read frames until the client leaves."""
        pieces: list[bytes] = []
        try:
            while chunk := os.read(self.wire.inlet, READ_BYTES):
                head, *lines = chunk.split(b"\n")
                pieces.append(head)
                for line in lines:
                    self.handle_frame(b"".join(pieces))
                    pieces = [line]
            self.handle_frame(b"".join(pieces))
        except OSError:
            # The client has closed its end, which is one way to leave.
            pass
        finally:
            self.end()

    def end(self) -> None:
        """The client is gone."""
        with self.lock:
            self.ended = True
            self._pass_on_end()
        self.wake.set()
        self.settled.set()

    def _pass_on_end(self) -> None:
        """Tell the SDK that the client is gone; it reads nothing after that.

        So a call that is being tried is waited for, but not for ever.
        """
        if not self.ended or self.feed is None:
            return
        if self.is_trying:
            timer = threading.Timer(LAST_CALL_S, self._give_up_call)
            timer.daemon = True
            timer.start()
        else:
            self.feed(None)

    def _give_up_call(self) -> None:
        with self.lock:
            self.is_trying = False
            self._pass_on_end()

    def take_over(self, feed: Callable[[bytes | None], object]) -> None:
        """Pass every frame to `feed` from now on, first those that were kept; None is the end."""
        with self.lock:
            for line in self.kept:
                feed(line)
            self.kept = []
            self.feed = feed
            self._pass_on_end()
        # Wakes the thread that tries calls, which ends when it sees `feed`.
        self.requests.put((b"", {}))

    @property
    def is_over(self) -> bool:
        """Whether the client left before the SDK took over, and no request waits for an answer."""
        with self.lock:
            return self.ended and not self.waiting_requests and self.feed is None


def run_plain_call(front: Front, app: App, registry: Registry, message: Json) -> bytes | None:
    """The result of a plain call; None leaves the call to the SDK."""
    # pydantic comes with these, which the opening of a session must not wait for.
    from memolith.domain.callers import Caller
    from memolith.doors.trace_context import trace_of_meta
    from memolith.engine.usage import Client
    from memolith.tools.call import Call, InputNeeded, ignore

    plain = frames.find_plain_call(registry, message)
    if plain is None or not can_run_without_sdk(front, plain):
        return None

    def leave_to_sdk(*_: object) -> None:
        # Nothing is written yet, so the SDK, which can do this, may run the call again.
        raise InputNeeded

    def tell_changed() -> None:
        front.wire.write(PROMPTS_CHANGED)

    def make_call() -> Call:
        return Call(
            Caller(),
            app.engine,
            progress=leave_to_sdk if plain.wants_progress else ignore,
            elicit=leave_to_sdk,
            # In the modern protocol only clients that listen are told, and the SDK knows those.
            changed=ignore if plain.is_modern else tell_changed,
            local=True,
            client=Client(program=plain.program or front.program),
            in_working_folder=True,
            door="mcp-stdio",
            trace=trace_of_meta(plain.meta),
        )

    try:
        outcome = registry.attempt(plain.tool.name, plain.arguments, make_call)
    except InputNeeded:
        return None
    server_meta = frames.server_meta_of(front.answers) if plain.is_modern else None
    return frames.encode_outcome(outcome, server_meta)


def can_run_without_sdk(front: Front, call: PlainCall) -> bool:
    if not front.answers:
        return False
    if not call.is_modern and (front.version or "") < FIRST_VERSION_WITH_STRUCTURED_RESULTS:
        # The results of the oldest versions have other fields.
        return False
    if call.tool.read_only:
        return True
    return call.tool.effect != "runs" and not call.wants_progress


def serve(
    open_app: Callable[[], App],
    cache: StartCache,
    profile: str = "all",
    *,
    read_only: bool = False,
    notice: str | None = None,
) -> None:
    """Serve MCP over stdin and stdout until the client leaves; opens the app once it is needed.

    A notice is told at the handshake.
    """
    if notice is not None:
        # The kept answers say nothing of it.
        cache.disable()
    front = Front(Wire.of_process(), cache.read())
    threading.Thread(target=read_until_end, args=(front,), daemon=True).start()
    if front.answers:
        front.wake.wait()
    if front.is_over:
        # The thread that reads may still run, and an interpreter that ends beside it can crash.
        os._exit(0)
    sys.setswitchinterval(IMPORTING_SWITCH_INTERVAL_S)
    # Most of what an import makes stays, so collecting garbage meanwhile would only take time.
    gc.disable()
    app = open_app()
    cache_writer = None
    try:
        registry = app.registry.choose(profile, read_only=read_only)
        cache_writer = serve_with_sdk(front, app, registry, cache, notice)
    finally:
        app.close()
    if cache_writer is not None:
        cache_writer.join(CACHE_WRITE_S)
    # A call that outlives its client would keep the process. What it wrote is durable or not there.
    os._exit(0)


def read_until_end(front: Front) -> None:
    front.read_frames()
    if front.is_over and not front.left_any_request:
        # Nothing was begun, so the process need not wait for the end of an import.
        os._exit(0)


def serve_with_sdk(
    front: Front, app: App, registry: Registry, cache: StartCache, notice: str | None
) -> threading.Thread | None:
    """Try plain calls while the SDK is imported, and then let the SDK serve.

    Returns the thread that fills the cache, if this is a first start.
    """

    def run(message: Json) -> bytes | None:
        return run_plain_call(front, app, registry, message)

    calls = threading.Thread(target=front.try_calls, args=(run,), daemon=True)
    calls.start()
    if front.waiting_requests:
        front.tried.wait(HEAD_START_S)
    # Takes half a second, in which plain calls are answered already.
    from memolith.doors.mcp import stdio

    gc.freeze()
    gc.enable()
    sys.setswitchinterval(USUAL_SWITCH_INTERVAL_S)
    if front.is_over:
        return None
    cache_writer = None
    if not front.answers:
        cache_writer = threading.Thread(
            target=stdio.fill_cache, args=(front, registry, cache), daemon=True
        )
        cache_writer.start()
    stdio.serve(front, app, registry, notice)
    calls.join(stdio.DRAIN_S)
    return cache_writer
