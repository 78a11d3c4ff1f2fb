"""Every family of tools. A module registers its tools when it is imported."""

# ruff: noqa: F401 - the modules are imported for the tools that they register
from memolith.tools.chatgpt import search as chatgpt_search
from memolith.tools.chatgpt.dialect import chatgpt
from memolith.tools.core import items, search
from memolith.tools.core.dialect import core
from memolith.tools.family import Family
from memolith.tools.knowledge import concepts, relationships, server
from memolith.tools.knowledge import search as concept_search
from memolith.tools.knowledge.dialect import knowledge
from memolith.tools.lanonasis import api_keys, intelligence, memories, projects, settings, topics
from memolith.tools.lanonasis import server as lanonasis_server
from memolith.tools.lanonasis.dialect import lanonasis
from memolith.tools.manage import concepts as managed_concepts
from memolith.tools.manage import conversations as managed_conversations
from memolith.tools.manage import files as managed_files
from memolith.tools.manage import items as managed_items
from memolith.tools.manage import members as project_members
from memolith.tools.manage import topics as managed_topics
from memolith.tools.manage.dialect import manage
from memolith.tools.memorylake import files, runners
from memolith.tools.memorylake.dialect import memorylake
from memolith.tools.sekha import conversations, pruning
from memolith.tools.sekha import search as message_search
from memolith.tools.sekha.dialect import sekha
from memolith.tools.subcog import captures, entities, graph, prompts, resources, templates, upkeep
from memolith.tools.subcog import relationships as entity_relationships
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
)
"""In the order in which clients see them."""
