"""The builders of the training data, by the name of their source."""

from __future__ import annotations

from training.sources import (
    commands,
    crd3,
    friendsqa,
    ikat,
    irc,
    medquad,
    notes,
    policyqa,
    qamr,
    qmsum,
    strategyqa,
    wikitables,
    written,
)
from training.sources.docs import docs
from training.sources.instructions import (
    Task,
    build_key_points,
    build_paraphrases,
    build_replies,
    explained_answer,
    follow_up_questions,
    multiple_choice,
    question_is_expected,
    question_is_shown,
    questions_about_passages,
    story_after_background,
    summary_is_shown,
    title_is_expected,
    two_facts,
)
from training.sources.pair import Builder

BUILDERS: dict[str, Builder] = {
    "notes": notes.build,
    "changes": notes.build_changes,
    "turns": notes.build_turns,
    "written": written.build,
    "friendsqa": friendsqa.build,
    "qmsum": qmsum.build,
    "irc": irc.build,
    "ikat": ikat.build,
    "crd3": crd3.build,
    "qamr": qamr.build,
    "strategyqa": strategyqa.build,
    "policyqa": policyqa.build,
    "medquad": medquad.build,
    "wikitablequestions": wikitables.build,
    "docs_kubernetes": docs("content/en/docs"),
    "docs_docker": docs("content"),
    "docs_github": docs("content", variables="data/variables/product.yml"),
    "tldr": commands.build_tldr,
    "nl2bash": commands.build_nl2bash,
    "ni_argkp": build_key_points,
    "ni_circa": build_replies,
    "ni_paws": build_paraphrases,
    "ni_boolq": questions_about_passages(
        Task(
            "task1661_super_glue_classification",
            question_is_shown(r"Passage: (?P<passage>.+)\n *Question: (?P<question>.+)"),
        ),
        Task("task1660_super_glue_question_generation", question_is_expected()),
        Task("task381_boolq_question_generation", question_is_expected()),
        negatives=1,
    ),
    "ni_cosmosqa": questions_about_passages(
        Task(
            "task024_cosmosqa_answer_generation",
            question_is_shown(r"Context: (?P<passage>.+)\n *Question: (?P<question>.+)"),
        ),
        negatives=1,
        min_shared=1,
    ),
    "ni_doqa": questions_about_passages(
        Task("task1438_doqa_cooking_answer_generation", follow_up_questions),
        Task("task1439_doqa_cooking_isanswerable", follow_up_questions),
        Task("task1441_doqa_movies_answer_generation", follow_up_questions),
        Task("task1442_doqa_movies_isanswerable", follow_up_questions),
        negatives=2,
        min_shared=1,
    ),
    "ni_finefood": questions_about_passages(
        Task("task589_amazonfood_summary_text_generation", title_is_expected),
        negatives=0,
        min_shared=2,
    ),
    "ni_hippocorpus": questions_about_passages(
        Task("task853_hippocorpus_long_text_generation", summary_is_shown), negatives=3
    ),
    "ni_iirc": questions_about_passages(
        Task("task235_iirc_question_from_subtext_answer_generation", two_facts),
        negatives=1,
        min_shared=1,
    ),
    "ni_mocha": questions_about_passages(
        Task("task596_mocha_question_generation", question_is_expected()),
        negatives=1,
        min_shared=2,
    ),
    "ni_peerread": questions_about_passages(
        Task("task1540_parsed_pdfs_summarization", title_is_expected), negatives=0
    ),
    "ni_pubmedqa": questions_about_passages(
        Task(
            "task846_pubmedqa_classification",
            question_is_shown(r"Question: *(?P<question>.+?)\n *Answer: *(?P<passage>.+)"),
        ),
        negatives=0,
    ),
    "ni_qasc": questions_about_passages(
        Task("task040_qasc_question_generation", question_is_expected(r"Fact: (?P<passage>.+)")),
        Task("task1580_eqasc-perturbed_question_generation", question_is_expected()),
        negatives=2,
    ),
    "ni_qasper": questions_about_passages(
        Task(
            "task460_qasper_answer_generation",
            question_is_shown(r"(?P<passage>.+)\n *Question: *(?P<question>.+)"),
        ),
        Task("task461_qasper_question_generation", question_is_expected()),
        negatives=2,
        min_shared=1,
    ),
    "ni_qed": questions_about_passages(
        Task(
            "task768_qed_text_span_selection",
            question_is_shown(r"Paragraph: (?P<passage>.+)\n *Question: *(?P<question>.+)"),
        ),
        negatives=1,
    ),
    "ni_quartz": questions_about_passages(
        Task("task223_quartz_explanation_generation", explained_answer),
        Task("task1731_quartz_question_answering", multiple_choice),
        negatives=2,
    ),
    "ni_ropes": questions_about_passages(
        Task("task060_ropes_question_generation", story_after_background), negatives=1
    ),
    "ni_torque": questions_about_passages(
        Task(
            "task389_torque_generate_temporal_question",
            question_is_expected(r"Passage: *(?P<passage>.+)", limit=20),
        ),
        negatives=0,
        min_shared=2,
    ),
    "ni_tweetqa": questions_about_passages(
        Task(
            "task239_tweetqa_answer_generation",
            question_is_shown(r"Context: *(?P<passage>.+) Question: *(?P<question>.+)"),
        ),
        negatives=2,
    ),
}
"""One entry for every source in sources.toml."""
