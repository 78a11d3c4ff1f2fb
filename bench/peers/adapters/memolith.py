"""memolith itself, with its own model and with the stock weights."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.peers.environments import (
    CACHE,
    ROOT,
    STOCK,
    Footprint,
    find_python,
    fingerprint,
    make_environment,
    make_stock_weights,
    venv_footprint,
)
from bench.peers.peer import McpPeer, McpSession, Message
from bench.programs import ProgramError
from memolith import __version__

COMMAND_S = 600.0
PAGE = 10_000


class MemolithSession(McpSession):
    """The tools of `core`, and the command line for what is done in bulk."""

    def write(self, text: str, tag: str = "") -> str:
        made = self.call("remember", content=text, **({"tags": [tag]} if tag else {}))
        return str(made["id"])

    def write_conversation(self, messages: Sequence[Message]) -> list[str]:
        """A tool of another family than the server lists: it is called on the command line."""
        said = [
            {"role": message.speaker, "content": message.text, "timestamp": message.at}
            for message in messages
        ]
        arguments = json.dumps({"label": "-", "messages": said})
        made = json.loads(self.command("call", "memory_store", "--json", arguments))
        return [f"{made['data']['id']}, message {number + 1}" for number in range(len(messages))]

    def load(self, texts: Sequence[str], tags: Sequence[str]) -> None:
        """`memolith import`, which makes the vectors as well."""
        entries = [
            {"content": text, "tags": [tag] if tag else []}
            for text, tag in zip(texts, tags, strict=True)
        ]
        self.command("import", stdin="".join(json.dumps(entry) + "\n" for entry in entries))

    def settle(self) -> None:
        """Vectors are made in the background; `upkeep` comes back when there are all."""
        self.command("upkeep")

    def search(self, query: str, limit: int = 10, tag: str = "") -> list[str]:
        tags = {"tags": [tag]} if tag else {}
        found = self.call("recall", query=query, limit=limit, **tags)
        return list(dict.fromkeys(map(self.place, found["hits"])))

    @staticmethod
    def place(hit: dict[str, str]) -> str:
        """The item of a hit, and which of its messages if it is a conversation."""
        message = re.match(r"message \d+", hit["cite"])
        return f"{hit['id']}, {message[0]}" if message else hit["id"]

    def search_sure(self, query: str, limit: int = 10) -> list[str]:
        found = self.call("recall", query=query, limit=limit)
        return list(dict.fromkeys(hit["id"] for hit in found["hits"] if hit["strength"] != "weak"))

    def stored(self) -> set[str]:
        found: set[str] = set()
        while True:
            part = ("--limit", str(PAGE), "--offset", str(len(found)))
            listed = json.loads(self.command("list", "--json", *part))["items"]
            found |= {item["id"] for item in listed}
            if len(listed) < PAGE:
                return found

    def command(self, *arguments: str, stdin: str = "") -> str:
        """What a command of the command line prints."""
        program = [
            str(CACHE / "memolith" / "venv" / "bin" / "python"),
            "-m",
            "memolith.doors.main",
        ]
        ran = subprocess.run(
            [*program, *arguments, "--data", str(self.data / "memolith")],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.data,
            timeout=COMMAND_S,
            check=False,
        )
        if ran.returncode:
            raise ProgramError(ran.stderr[-1000:])
        return ran.stdout


class Memolith(McpPeer):
    """This checkout, built and installed as a user would."""

    name = "memolith"
    title = "memolith"
    version = __version__
    link = "https://github.com/example/memolith"
    session = MemolithSession
    bulk = "memolith import"
    search_is = "meaning and words"
    has_conversations = True

    def install(self) -> None:
        mark = fingerprint(ROOT / "src")
        make_environment("memolith", find_python(self.python), ((str(ROOT),),), mark)

    def footprint(self) -> Footprint:
        return venv_footprint(CACHE / "memolith" / "venv")

    def command(self, data: Path) -> list[str]:
        python = str(CACHE / "memolith" / "venv" / "bin" / "python")
        place = str(data / "memolith")
        return [python, "-m", "memolith.doors.main", "stdio", "--tools", "core", "--data", place]

    def environment(self, data: Path) -> dict[str, str]:
        cache = str(CACHE / self.name / "start-cache")
        return {**super().environment(data), "MEMOLITH_CACHE": cache}


class MemolithStock(Memolith):
    """The same program with the published weights of all-MiniLM-L6-v2 in place of its own."""

    name = "memolith-stock"
    title = "memolith, stock MiniLM"
    notes = "the weights that the others use, and the score that was fitted to the own model"
    # In all else it is the same program.
    only = ("scale", "unanswered", "recall")

    def install(self) -> None:
        """A copy of the installed package with the other network in it."""
        super().install()
        make_stock_weights()
        shutil.rmtree(self.place / "source", ignore_errors=True)
        [package] = (CACHE / "memolith" / "venv").glob("lib/python*/site-packages/memolith")
        copied = self.place / "source" / "memolith"
        shutil.copytree(package, copied)
        network = copied / "retrieval" / "embedding" / "model" / "embedder.onnx"
        old = hashlib.sha256(network.read_bytes()).hexdigest()
        shutil.copyfile(STOCK / "memolith.onnx", network)
        new = hashlib.sha256(network.read_bytes()).hexdigest()
        code = copied / "retrieval" / "embedding" / "minilm.py"
        text = code.read_text(encoding="utf-8")
        if old not in text:
            raise ProgramError(f"the digest of {network.name} is not in {code.name}")
        code.write_text(text.replace(old, new), encoding="utf-8")

    def environment(self, data: Path) -> dict[str, str]:
        return {**super().environment(data), "PYTHONPATH": str(self.place / "source")}
