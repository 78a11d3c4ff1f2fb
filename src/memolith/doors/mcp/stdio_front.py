"""The quick front of the stdio door: answers the opening of a session from the cache, importing nothing heavy.

A thread reads the pipe. Each frame is decided once, under one lock: answered here, or kept for the SDK, in order; never
both, except `initialize`, which the SDK must see too (its second answer is dropped). The main thread sleeps until the
list of tools was answered or something came that was not prepared, then opens the app, imports the SDK and takes over
under the same lock. Until then plain calls are tried without the SDK, one by one; it gets those that were not begun,
and whatever looks unusual.
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
    from memolith.doors.mcp.frames import Json
    from memolith.doors.mcp.start_cache import StartAnswers, StartCache
    from memolith.tools.registry import Registry


class Wire:
    """The pipe to the client, as bytes."""

    def __init__(self, inlet: int, outlet: int) -> None:
        self.inlet, self.outlet, self.lock = inlet, outlet, threading.Lock()

    @classmethod
    def of_process(cls) -> Wire:
        """The process's own; from now on its stray reads and prints miss it."""
        inlet, outlet = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, end in enumerate((inlet, outlet)):
            if sys.platform == "win32":
                import msvcrt  # there is no such module elsewhere

                msvcrt.setmode(end, os.O_BINARY)
            else:
                os.set_blocking(end, True)
            os.dup2(nothing, number)
        os.close(nothing)
        return cls(inlet, outlet)

    def write(self, frame: bytes) -> None:
        """Send one frame; `OSError` if the client is gone."""
        data = memoryview(frame + b"\n")
        with self.lock:
            while data:
                data = data[os.write(self.outlet, data) :]


class Front:
    """Decides about each frame until the SDK takes over, and passes all on after that."""

    def __init__(self, wire: Wire, prepared: StartAnswers) -> None:
        self.wire, self.prepared = wire, prepared
        self.lock, self.wake = threading.Lock(), threading.Event()
        self.settled = threading.Event()
        """Set once the SDK has answered all that it was asked so far, or the client is gone."""
        self.kept: list[bytes] = []
        self.requests: SimpleQueue[tuple[bytes, Json]] = SimpleQueue()
        self.feed: Callable[[bytes | None], object] | None = None
        self.ended, self.asked, self.waiting = False, False, 0
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
            if (message := frames.parsed(line)) is None:
                return
            method, answer = (
                message.get("method"),
                frames.answer_to(message, self.version, self.prepared),
            )
            if answer is not None:
                self.wire.write(frames.framed(message, answer))
            if answer is not None and method == "initialize":
                self.version, self.handshake = message["params"]["protocolVersion"], message["id"]
            if answer is None or method == "initialize":
                self.kept.append(line)
            if answer is None and method is not None and "id" in message:
                self.waiting += 1
                self.requests.put((line, message))
                self.asked = True
            if self.waiting or method == "tools/list":
                self.wake.set()

    def try_calls(self, call: Callable[[Json], bytes | None]) -> None:
        """Answer calls in their order, until the SDK takes over or one must be left to it; none overtakes that one."""
        answer: bytes | None = b""
        try:
            while answer is not None:
                line, message = self.requests.get()
                with self.lock:
                    if self.feed is not None or message["method"] != "tools/call":
                        return
                    # A call that is tried is kept no longer, so that it runs once whoever takes over meanwhile.
                    place = self.kept.index(line)
                    del self.kept[place]
                answer = call(message)
                with self.lock:
                    if answer is not None:
                        self.waiting -= 1
                        self.wire.write(frames.framed(message, answer))
                    elif self.feed is not None:
                        self.feed(line)
                    else:
                        self.kept.insert(place, line)
        except OSError:
            self.end()

    def read(self) -> None:
        """Read frames until the client leaves; whatever ends this ends the process."""
        pieces: list[bytes] = []
        try:
            while chunk := os.read(self.wire.inlet, 1 << 16):
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
        self.settled.set()

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


def answer(front: Front, app: App, registry: Registry, message: Json) -> bytes | None:
    """The result of a plain call; None leaves the call to the SDK."""
    # pydantic, which the opening must not wait for
    from memolith.domain.callers import Caller
    from memolith.tools.call import Call, InputNeeded, ignore

    plain = frames.plain_call(registry, message)
    if plain is None or not front.prepared:
        return None
    tool, arguments, meta = plain
    # The results of the oldest versions have other fields.
    old = frames.VERSION_KEY not in meta and (front.version or "") < "2025-06-18"
    if old or (not tool.read_only and (tool.effect == "runs" or "progressToken" in meta)):
        return None

    def leave(*_: object) -> None:
        # Nothing was written, so the SDK, which can do this, may run the call once more.
        raise InputNeeded

    progress = leave if "progressToken" in meta else ignore
    # In the newer protocol only who listens is told, and the SDK hears of him first.
    changed = (
        ignore
        if frames.VERSION_KEY in meta
        else lambda: front.wire.write(
            b'{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}'
        )
    )
    try:
        outcome = registry.attempt(
            tool.name,
            arguments,
            lambda: Call(
                Caller(), app.engine, progress=progress, elicit=leave, changed=changed, local=True
            ),
        )
    except InputNeeded:
        return None
    return frames.worded(
        outcome, frames.description(front.prepared) if frames.VERSION_KEY in meta else {}
    )


def serve(
    open_app: Callable[[], App],
    cache: StartCache,
    profile: str = "all",
    *,
    read_only: bool = False,
) -> None:
    """Serve MCP over stdin and stdout until the client leaves; the app is opened once it is needed."""
    front = Front(Wire.of_process(), cache.read())

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
        trying = threading.Thread(
            target=front.try_calls,
            daemon=True,
            args=(lambda message: answer(front, app, registry, message),),
        )
        trying.start()
        from memolith.doors.mcp import stdio as mcp_stdio

        gc.freeze()
        gc.enable()
        sys.setswitchinterval(0.005)
        keeping = threading.Thread(
            target=mcp_stdio.keep_start_answers, daemon=True, args=(front, cache, registry)
        )
        if not front.prepared:
            keeping.start()
        if not front.idle_end:
            mcp_stdio.serve(front, app, registry)
            trying.join(mcp_stdio.DRAIN_S)
    finally:
        app.close()
    if not front.prepared:
        keeping.join(mcp_stdio.KEEP_START_ANSWERS_S)
    # A call that outlived its client would keep the process; what it wrote is durable or not there.
    os._exit(0)
