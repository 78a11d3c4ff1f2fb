"""Makes the small data folders of tests/upgrades: one per store and schema version.

    python -m scripts.make_upgrade_folder              for the schema of this code
    python -m scripts.make_upgrade_folder --memolith OTHER/bin/memolith --version 0001

The data are written through the command line alone, so that an older installation can make the
folder of its own schema. Run this when you add a migration, and commit what it writes.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.postgres import Cluster, binaries
from tests.upgrades.folders import FOLDERS, archive, versions

NOTES = "Harbour notes\n\nThe crane in dock four lifts ninety tonnes.\n"
SEALED = "not-a-real-key-4711"
PINNED_RESTRICT_KEY = "upgrade"


class Installation:
    """The command line of one version of memolith, on one store."""

    def __init__(self, command: list[str], folder: Path, database: str | None) -> None:
        self._command = command
        self._folder = folder
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        if database:
            self._environment["MEMOLITH_DATABASE"] = database

    def run(self, *arguments: str) -> str:
        """Run one command in the folder; its data are in `data`, its output is returned."""
        ran = subprocess.run(
            [*self._command, *arguments, "--data", "data"],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise SystemExit(f"{arguments}: {ran.stdout}{ran.stderr}")
        return ran.stdout

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call one tool."""
        answer = json.loads(self.run("call", tool, "--json", json.dumps(arguments)))
        assert isinstance(answer, dict)
        return answer


def fill(memolith: Installation, folder: Path) -> dict[str, str]:
    """Write a little of everything; the ids by the names that the tests know."""
    ids: dict[str, str] = {}

    def remember(name: str, content: str, **more: Any) -> None:
        ids[name] = memolith.call("remember", content=content, **more)["id"]

    remember("tea", "Green tea is steeped at seventy degrees.", title="Tea", tags=["kitchen"])
    remember("train", "The night train to Lisbon leaves from platform nine.", project="travel")
    remember(
        "rent", "The rent is due on the first day of each month.", metadata={"source": "lease"}
    )
    remember("bike", "The bicycle has a blue frame and new tyres.")
    remember("piano", "The piano was tuned in the spring.")
    remember("fern", "The fern wants shade and rain water.")
    remember("old", "The old printer is in the cellar.")
    remember("back", "The spare key hangs behind the door.")
    memolith.call("revise", id=ids["bike"], content="The bicycle has a red frame and new tyres.")
    memolith.call("forget", id=ids["old"])
    memolith.call("forget", id=ids["back"])
    memolith.call("restore", id=ids["back"])
    memolith.call("link", source=ids["tea"], target=ids["fern"], type="about")

    ids["deploy"] = memolith.call(
        "create_memory",
        title="Deploys",
        content="A deploy needs the VPN and a second pair of eyes.",
        memory_type="workflow",
        tags=["ops"],
    )["id"]
    conversation = memolith.call(
        "memory_store",
        label="Roof",
        messages=[
            {"role": "user", "content": "Who repairs the roof of the barn?"},
            {"role": "assistant", "content": "The carpenter from the village comes on Monday."},
        ],
    )["data"]
    ids["talk"] = conversation["conversation_id"]
    more = [{"role": "user", "content": "Then order the slates today."}]
    memolith.call("append_messages", conversation_id=ids["talk"], messages=more)

    for name, explanation in (
        ("Photosynthesis", "Leaves turn light, water and air into sugar."),
        ("Chlorophyll", "The green pigment that takes up the light."),
    ):
        created = memolith.call(
            "create_concept", name=name, explanation=explanation, area="Biology"
        )
        ids[name] = created["concept_id"]
    memolith.call(
        "create_relationship",
        source_id=ids["Chlorophyll"],
        target_id=ids["Photosynthesis"],
        relationship_type="prerequisite",
    )
    ids["capture"] = memolith.call(
        "subcog_capture",
        content="We chose PostgreSQL for the billing service.",
        namespace="decisions",
        tags=["database", "billing"],
    )["id"]
    memolith.call("prompt_save", name="greet", content="Say hello to {{name}}.")
    for name in ("Kafka", "Billing"):
        memolith.call("subcog_entities", action="create", name=name, entity_type="Technology")
    memolith.call(
        "subcog_relationships",
        action="create",
        from_entity="Billing",
        to_entity="Kafka",
        relationship_type="Uses",
    )
    ids["project"] = memolith.call("create_project", name="Harbour")["id"]
    ids["key"] = memolith.call(
        "create_api_key",
        name="Crane",
        type="api_key",
        value=SEALED,
        environment="staging",
        project_id=ids["project"],
    )["id"]
    (folder / "harbour.txt").write_text(NOTES, encoding="utf-8")
    memolith.run("ingest", "harbour.txt")
    memolith.call("get_memory", memory_id=ids["deploy"])
    memolith.run("upkeep")
    memolith.run("verify")
    return ids


def dump(database: str) -> bytes:
    """The database as SQL that psql can run."""
    command = [str(binaries() / "pg_dump"), "--no-owner", database]
    ran = subprocess.run(
        [*command, f"--restrict-key={PINNED_RESTRICT_KEY}"], capture_output=True, check=True
    )
    return ran.stdout


def pack(file: Path, folder: Path, extra: dict[str, bytes]) -> None:
    """Write the data folder and some more files, without the names and the times of this machine."""

    def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(file, "w:gz", compresslevel=9) as packed:
        packed.add(folder / "data", "data", filter=anonymous)
        for name, content in extra.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))


def make(command: list[str], store: str, version: str) -> None:
    """Make the folder of one store."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if store == "sqlite":
            ids = fill(Installation(command, folder, None), folder)
            extra = {}
        else:
            cluster = Cluster()
            try:
                database = cluster.create()
                ids = fill(Installation(command, folder, database), folder)
                extra = {"database.sql": dump(database)}
            finally:
                cluster.close()
        extra["ids.json"] = json.dumps(ids, indent=1).encode()
        file = archive(store, version)
        pack(file, folder, extra)
        print(f"{file}: {file.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memolith", help="the command of another installation")
    parser.add_argument("--version", help="the schema version that it makes")
    chosen = parser.parse_args()
    command = [sys.executable, "-m", "memolith.doors.main"]
    if chosen.memolith:
        command = [str(Path(chosen.memolith).absolute())]
    FOLDERS.mkdir(exist_ok=True)
    for store in ("sqlite", "postgres"):
        make(command, store, chosen.version or versions(store)[-1])


if __name__ == "__main__":
    main()
