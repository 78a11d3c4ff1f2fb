"""A small store as people have it: notes of a household and a project, people, concepts, a talk."""

from __future__ import annotations

from tests.page.visitor import agent_call
from tests.programs.served import Served

NOTES = (
    ("Maria prefers tea to coffee and never has meetings before ten.", ["people"]),
    ("We chose PostgreSQL over MySQL because of row-level security.", ["decisions"]),
    ("The staging server needs the VPN; ask Tomas for an account.", ["operations"]),
    ("Releases go out on Tuesday mornings, after the backup was checked.", ["operations"]),
    ("The invoice number starts with the year and has five digits.", ["billing"]),
    ("Customers in Norway get their invoices in kroner.", ["billing"]),
    ("The dentist moved to Harbour Street 12; the next visit is in March.", ["home"]),
    ("The boiler is serviced every September by Nordvik Heating.", ["home"]),
    ("Tests of the importer need the sample workbook from the shared folder.", ["project"]),
    ("Retries of the payment service wait one, two and four seconds.", ["project"]),
)
CONTRADICTION = ("The office closes at five o'clock.", "The office closes at six o'clock.")
TALK = (
    ("user", "Which cache should the importer use?"),
    ("assistant", "An in-memory one is enough: a workbook is read once per run."),
    ("user", "Good. Write down that we revisit this when files exceed 50 MB."),
    ("assistant", "Noted: revisit the cache when files exceed 50 MB."),
)
CONCEPTS = (
    ("Idempotency", "Repeating a request has the same effect as sending it once."),
    ("Retry", "A failed request is sent again after a pause."),
    ("Transaction", "Several changes happen together or not at all."),
)


def fill_sample(served: Served) -> dict[str, str]:
    """Fill a store through the tools that agents call; the ids of some items by what they are."""
    ids: dict[str, str] = {}
    for text, tags in NOTES:
        ids[tags[0]] = agent_call(served, "remember", content=text, tags=tags)["id"]
    for text in CONTRADICTION:
        agent_call(served, "remember", content=text, tags=["office"])
    ids["talk"] = agent_call(
        served,
        "memory_store",
        label="Cache of the importer",
        folder="/project",
        messages=[{"role": role, "content": text} for role, text in TALK],
    )["data"]["conversation_id"]
    concepts = [
        agent_call(
            served,
            "create_concept",
            name=name,
            explanation=text,
            area="Engineering",
            topic="Networks",
        )["concept_id"]
        for name, text in CONCEPTS
    ]
    agent_call(
        served,
        "create_relationship",
        source_id=concepts[0],
        target_id=concepts[1],
        relationship_type="prerequisite",
    )
    agent_call(
        served,
        "create_relationship",
        source_id=concepts[0],
        target_id=concepts[2],
        relationship_type="relates_to",
    )
    agent_call(
        served,
        "prompt_save",
        name="review",
        content="Review {{file}} for {{concern}}.",
        description="Asks for a review with one concern in mind.",
    )
    ids["concept"] = concepts[0]
    return ids
