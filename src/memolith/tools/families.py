"""Every family of tools."""

from memolith.tools.basic_memory.dialect import basic_memory
from memolith.tools.chatgpt.dialect import chatgpt
from memolith.tools.core.dialect import core
from memolith.tools.family import Family
from memolith.tools.knowledge.dialect import knowledge
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.manage.dialect import manage
from memolith.tools.memorylake.dialect import memorylake
from memolith.tools.official.dialect import official
from memolith.tools.openmemory.dialect import openmemory
from memolith.tools.sekha.dialect import sekha
from memolith.tools.subcog.dialect import subcog

FAMILIES: tuple[Family, ...] = (
    core,
    lanonasis,
    sekha,
    memorylake,
    knowledge,
    subcog,
    manage,
    chatgpt,
    official,
    openmemory,
    basic_memory,
)
"""In the order in which clients see them."""
