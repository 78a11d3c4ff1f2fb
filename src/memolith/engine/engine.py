"""The engine: every capability of memory by its name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memolith.domain.callers import Caller
from memolith.domain.items import Conflict, Draft
from memolith.engine.activity import Activity
from memolith.engine.branch_cleanup import BranchCleanup
from memolith.engine.chat_import import ChatImport
from memolith.engine.client_keys import ClientKeyring
from memolith.engine.concepts import Concepts
from memolith.engine.consolidation import Consolidation
from memolith.engine.context import ContextBuilder
from memolith.engine.conversations import Conversations
from memolith.engine.copying import Copying
from memolith.engine.core import Core
from memolith.engine.decisions import Decisions
from memolith.engine.documents import Documents, Shelf
from memolith.engine.enrichment import Enrichment
from memolith.engine.entities import Entities
from memolith.engine.facts import Facts
from memolith.engine.foreign_import import ForeignImport
from memolith.engine.graph.picture import Pictures
from memolith.engine.graph.walking import Graph
from memolith.engine.history import History
from memolith.engine.idempotency import Once
from memolith.engine.insights import Insights
from memolith.engine.item_view import ItemView
from memolith.engine.maintenance import Maintenance
from memolith.engine.manual import Manual
from memolith.engine.named_graph import NamedGraph
from memolith.engine.notes import Notes
from memolith.engine.projects import Projects
from memolith.engine.reading import Reading
from memolith.engine.recall import Recall
from memolith.engine.runners import Runners
from memolith.engine.server_state import ServerState
from memolith.engine.sessions import Sessions
from memolith.engine.shown_setting import ShownSetting
from memolith.engine.tenant_settings import TenantSettings
from memolith.engine.usage import Usage
from memolith.engine.validation import InputRules
from memolith.engine.vault import Vault
from memolith.engine.work_ahead import MIN_BULK_CHARACTERS, WorkAhead
from memolith.engine.writing import Writing
from memolith.errors import NotFound
from memolith.ports.analyst import Analyst
from memolith.ports.cipher import Cipher
from memolith.ports.client_keys import ClientKeys
from memolith.ports.clock import Clock
from memolith.ports.copies import Copies
from memolith.ports.repository import Checkout
from memolith.ports.sandbox import Sandbox


def _no_conflicts(caller: Caller, draft: Draft) -> Sequence[Conflict]:
    """Stands in where drafts are not compared with what is stored."""
    return ()


def _no_keys() -> ClientKeys:
    """Stands in where no client comes over HTTP."""
    raise NotFound("There are no client keys here.")


def _no_copies() -> Copies:
    """Stands in where nobody downloads anything."""
    raise NotFound("No copies are made here.")


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What the tools and the doors call. It holds the capabilities and does nothing itself."""

    once: Once
    """Runs what writes as one transaction, and once under its idempotency key."""
    writing: Writing
    reading: Reading
    recall: Recall
    context: ContextBuilder
    history: History
    activity: Activity
    item_view: ItemView
    graph: Graph
    pictures: Pictures
    entities: Entities
    named_graph: NamedGraph
    facts: Facts
    notes: Notes
    concepts: Concepts
    conversations: Conversations
    chat_import: ChatImport
    foreign_import: ForeignImport
    documents: Documents
    runners: Runners
    vault: Vault
    conflicts: Callable[[Caller, Draft], Sequence[Conflict]]
    """Tells which items a draft would replace; ask before it is written."""
    sessions: Sessions
    insights: Insights
    consolidation: Consolidation
    decisions: Decisions
    enrichment: Enrichment
    branch_cleanup: BranchCleanup
    tenant_settings: TenantSettings
    maintenance: Maintenance
    manual: Manual
    clock: Clock
    input_rules: InputRules
    projects: Projects
    usage: Usage
    client_keys: ClientKeyring
    copying: Copying
    server_state: ServerState
    repository: Callable[[str], Checkout | None]
    """Finds the repository around a folder; an empty path stands for where this server works."""


@dataclass(frozen=True, kw_only=True)
class Outside:
    """What the engine is given beside the store: each part is opened when it is first used."""

    cipher: Callable[[], Cipher]
    shelf: Callable[[], Shelf]
    sandbox: Callable[[], Sandbox]
    repository: Callable[[str], Checkout | None]
    analysts: Callable[[], Sequence[Analyst]]
    manual_folder: Path
    keys: Callable[[], ClientKeys] = _no_keys
    copies: Callable[[], Copies] = _no_copies
    settings: Callable[[], Sequence[ShownSetting]] = tuple
    sizes: Callable[[], dict[str, int]] = dict
    """How many bytes the store has on disk, by file."""
    address: Callable[[], str] = str
    """Where clients reach the server; empty if there is none."""
    conflicts: Callable[[Caller, Draft], Sequence[Conflict]] = _no_conflicts
    """Compares a draft with what is stored; see `engine/superseding.py`."""


def build_engine(core: Core, outside: Outside) -> Engine:
    """Put the capabilities together; each gets exactly what it needs."""
    store = core.store
    clock = core.clock
    recorder = core.recorder
    input_rules = core.input_rules
    writing = core.writing
    reading = core.reading
    recall = core.recall
    ahead = WorkAhead(store, input_rules)
    bulk_ahead = WorkAhead(store, input_rules, MIN_BULK_CHARACTERS)
    history = History(store, recorder)
    insights = Insights(store, clock, recall, outside.analysts)
    tenant_settings = TenantSettings(store, recorder)
    consolidation = Consolidation(
        store, writing, recorder, reading, recall, insights, tenant_settings, input_rules
    )
    entities = Entities(store, writing, recorder, recall, insights, input_rules)
    notes = Notes(store, writing, reading, ahead)
    documents = Documents(store, writing, input_rules, outside.shelf, outside.cipher, clock)
    return Engine(
        once=Once(store, clock, outside.cipher, ahead),
        writing=writing,
        reading=reading,
        recall=recall,
        context=core.context,
        history=history,
        activity=Activity(store, history, clock),
        item_view=ItemView(store, reading, recall),
        graph=Graph(store),
        pictures=Pictures(store),
        entities=entities,
        named_graph=NamedGraph(store, writing, entities, input_rules),
        facts=Facts(writing, reading, insights),
        notes=notes,
        concepts=Concepts(store, clock),
        conversations=Conversations(store, clock, reading, history),
        chat_import=ChatImport(store, writing, input_rules, bulk_ahead),
        foreign_import=ForeignImport(store, clock, writing, notes, input_rules, bulk_ahead),
        documents=documents,
        runners=Runners(outside.sandbox, documents),
        vault=Vault(store, clock, recorder, input_rules, outside.cipher),
        conflicts=outside.conflicts,
        sessions=Sessions(store),
        insights=insights,
        consolidation=consolidation,
        decisions=Decisions(store, writing, recorder, consolidation),
        enrichment=Enrichment(reading, writing, recall, insights, consolidation),
        branch_cleanup=BranchCleanup(reading, writing, clock),
        tenant_settings=tenant_settings,
        maintenance=Maintenance(store, writing, input_rules, recall, bulk_ahead),
        manual=Manual(writing, outside.manual_folder),
        clock=clock,
        input_rules=input_rules,
        projects=Projects(store, writing, recorder, input_rules),
        usage=Usage(store, clock),
        client_keys=ClientKeyring(store, recorder, clock, outside.keys),
        copying=Copying(store, recorder, clock, outside.copies),
        server_state=ServerState(
            store, outside.keys, outside.settings, outside.sizes, outside.address
        ),
        repository=outside.repository,
    )
