"""The items that the examples of all tools are about."""

from dataclasses import replace

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Audience
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.documents import key_of
from memolith.engine.session_log import SessionNote, note_session
from memolith.engine.vault import Secret
from memolith.ports.client_keys import ClientKey
from memolith.settings import Settings
from tests.conftest import ME, note


def open_quick(settings: Settings) -> App:
    """An app whose runners load nothing ahead, because here they only start."""
    return open_app(settings.model_copy(update={"runner_preload": ()}))


def fill(settings: Settings) -> None:
    """Make one of everything that the examples of the tools name."""
    app = open_quick(settings)
    app.engine.writing.remember(
        ME, note("The zebra is striped.", id="one", title="Zebras", tags=("animal",))
    )
    app.engine.writing.remember(ME, note("The okapi is shy.", id="two"))
    app.engine.writing.remember(ME, note("gone zebra", id="gone"))
    app.engine.writing.forget(ME, "gone")
    app.engine.writing.remember(ME, note("Hello.", id="talk", kind="conversation"))
    for id, text in (
        ("herd", "Zebras live in herds."),
        ("foal", "A young zebra."),
        ("alone", "One zebra."),
    ):
        app.engine.writing.remember(
            ME, note(text, id=id, kind="concept", title=id, audience=Audience.ORG)
        )
    app.engine.writing.link(ME, "herd", "foal", "includes")
    app.engine.writing.link(ME, "herd", "foal", "relates_to")
    app.engine.writing.remember(ME, note("The quagga is gone.", id="four"))
    for name in ("zebra", "zoo"):
        app.engine.writing.remember(ME, Draft("entity", name, id=name, namespace="Concept"))
    app.engine.writing.remember(
        ME,
        Draft("entity", "quagga", (Block("Is gone."),), id="quagga", namespace="animal"),
    )
    app.engine.writing.link(ME, "quagga", "zoo", "stood_in", attributes={"label": "stood in"})
    for kind in ("project", "topic"):
        app.engine.writing.remember(ME, Draft(kind, kind, id=kind))
    for id in ("first", "second"):
        app.engine.writing.remember(
            ME, note("A foal stands within minutes.", id=id, namespace="testing")
        )
    # A stored file whose text has changed since it was read.
    app.engine.writing.remember(
        ME,
        Draft(
            "document",
            "zoo.txt",
            (Block("An old zebra."),),
            namespace="files",
            id="ds-zoo",
            attributes={
                "type": "txt_file",
                "format": "txt",
                "tables": 0,
                "figures": 0,
                "sheets": [],
                "warnings": [],
                "summary": "An old zebra.",
            },
        ),
    )
    (settings.data / "young.txt").write_text("A young zebra.")
    app.blobs.put(key_of(ME.tenant, ME.user, "ds-zoo"), settings.data / "young.txt")
    for name in ("greet", "bye"):
        app.engine.writing.remember(
            ME, note("Hello {{name}}.", id=f"prompt-{name}", kind="prompt", title=name)
        )
    app.engine.vault.store(
        ME, Secret("Zoo", "api_key", "staging", "project", 90, {}, id="key"), "sk-…"
    )
    for id, paused in (("zoo-key", False), ("old-key", False), ("paused-key", True)):
        app.keys.add(
            ClientKey(id, id, id, ME.tenant, "keeper", ("read",), app.clock.now(), paused=paused)
        )
    given = SessionNote("night-shift", "injected", "SessionStart", ["one", "gone"])
    note_session(app.store, app.engine.history.recorder, ME, given)
    app.engine.projects.add_member(replace(ME, admin=True), "aquarium", "local")
    app.close()
