"""The parts of the engine that even the quickest door needs: to search, to read and to write.

These parts are no dataclasses: making each of those takes half a millisecond, and a client waits
for every hook.
"""

from collections.abc import Callable
from typing import NamedTuple

from memolith.domain.items import Item
from memolith.engine.context import ContextBuilder
from memolith.engine.reading import Reading
from memolith.engine.recall import Recall
from memolith.engine.recording import Recorder
from memolith.engine.transactions import Transactions
from memolith.engine.validation import InputRules
from memolith.engine.writing import Writing
from memolith.ports.clock import Clock


class Core(NamedTuple):
    """What the other capabilities are built from; the hooks use it as it is."""

    store: Transactions
    clock: Clock
    input_rules: InputRules
    recorder: Recorder
    writing: Writing
    reading: Reading
    recall: Recall
    context: ContextBuilder


def build_core(
    store: Transactions,
    clock: Clock,
    recall: Recall,
    input_rules: InputRules,
    before_erase: Callable[[Item], None],
    after_erase: Callable[[], None],
) -> Core:
    recorder = Recorder(clock)
    return Core(
        store=store,
        clock=clock,
        input_rules=input_rules,
        recorder=recorder,
        writing=Writing(store, clock, input_rules, recorder, before_erase, after_erase),
        reading=Reading(store, clock),
        recall=recall,
        context=ContextBuilder(store, recall),
    )
