"""Each builder makes of a small made-up repository the pairs it promises."""

from pathlib import Path

import pytest
from training.sources import (
    BUILDERS,
    commands,
    crd3,
    friendsqa,
    ikat,
    irc,
    medquad,
    policyqa,
    qamr,
    qmsum,
    strategyqa,
    wikitables,
)
from training.sources.docs import docs

from tests.training.samples import repository, task


def test_friendsqa_takes_the_utterance_with_the_answer(tmp_path: Path) -> None:
    said = [
        "Where is my sandwich ?",
        "Hi all .",
        "I ate your sandwich , sorry .",
        "No !",
        "My sandwich was huge .",
    ]
    scene = {
        "utterances:": [
            {"uid": n, "speakers": [name], "utterance": text}
            for n, (name, text) in enumerate(zip("ABCAA", said, strict=True))
        ],
        "qas": [{"question": "Who ate the sandwich ?", "answers": [{"utterance_id": 2}]}],
    }
    data = {"data": [{"title": "one", "paragraphs": [scene]}]}
    source = repository(tmp_path, {friendsqa.FILES[0]: data, friendsqa.FILES[1]: {"data": []}})
    (pair,) = friendsqa.build(source)
    assert pair.question == "Who ate the sandwich?"
    assert pair.passages == ("C: I ate your sandwich, sorry.",)
    assert pair.before == ("B: Hi all.",)
    assert set(pair.negatives) == {"A: Where is my sandwich?", "A: My sandwich was huge."}


def test_qmsum_takes_turns_of_the_relevant_part(tmp_path: Path) -> None:
    turns = [
        {"speaker": "Chair", "content": f"Let us go on with item number {n} of the list"}
        for n in range(30)
    ]
    turns[2] = {
        "speaker": "Ann",
        "content": "{vocalsound} The remote should be yellow and have big buttons , I think .",
    }
    turns[25] = {"speaker": "Bob", "content": "My own remote at home has lost two of its buttons ."}
    meeting = {
        "topic_list": [],
        "specific_query_list": [
            {
                "query": "What should the buttons of the remote be like?",
                "answer": "Big.",
                "relevant_text_span": [["1", "4"]],
            }
        ],
        "meeting_transcripts": turns,
    }
    (pair,) = qmsum.build(repository(tmp_path, {"data/ALL/train/m1.json": meeting}))
    assert pair.passages == ("Ann: The remote should be yellow and have big buttons, I think.",)
    assert pair.negatives == ("Bob: My own remote at home has lost two of its buttons.",)
    assert pair.before[0].endswith("item number 1 of the list")


def test_irc_takes_replies_of_others(tmp_path: Path) -> None:
    log = [
        "[10:00] <kim> all: how do I mount a usb stick?",
        "=== server notice",
        "[10:01] <lee> kim: try the command mount with the name of the device",
        "[10:01] <kim> which usb device is it then, I wonder",
        "[10:02] <max> my usb keyboard is dead today",
    ]
    source = repository(
        tmp_path,
        {
            "data/train/day.ascii.txt": "\n".join(log),
            "data/train/day.annotation.txt": "0 2 -\n2 3 -\n4 4 -\n",
        },
    )
    (pair,) = irc.build(source)
    assert pair.question == "how do I mount a usb stick?"
    assert pair.passages == ("lee: kim: try the command mount with the name of the device",)
    assert pair.negatives == ("max: my usb keyboard is dead today",)
    assert pair.before == ("kim: all: how do I mount a usb stick?",)


@pytest.mark.parametrize("as_list", [True, False])
def test_ikat_takes_the_statements_used_and_the_answer(tmp_path: Path, as_list: bool) -> None:
    statements = ["I am lactose intolerant.", "I own a dog."]
    turn: dict[str, object] = {
        "resolved_utterance": "Which dessert suits me?",
        "response": "A sorbet has no milk in it and would suit you well.",
    }
    topic: dict[str, object] = {}
    if as_list:
        topic["ptkb"] = statements
        topic["responses"] = [
            turn | {"user_utterance": "And dessert?", "relevant_ptkbs": statements[:1]}
        ]
    else:
        topic["ptkb"] = {"1": statements[0], "2": statements[1]}
        topic["turns"] = [turn | {"utterance": "And dessert?", "ptkb_provenance": [1]}]
    files: dict[str, object] = {path: [] for path in ikat.FILES}
    files[ikat.FILES[0]] = [topic]
    used, answered = ikat.build(repository(tmp_path, files))
    assert used.passages == ("I am lactose intolerant.",)
    assert used.negatives == ("I own a dog.",)
    assert answered.passages == ("Assistant: A sorbet has no milk in it and would suit you well.",)
    assert answered.before == ("User: And dessert?",)


def test_crd3_takes_the_turn_that_the_summary_tells(tmp_path: Path) -> None:
    def turn(number: int, name: str, text: str) -> dict[str, object]:
        return {"NUMBER": number, "NAMES": [name], "UTTERANCES": text.split(", ")}

    chunk = {
        "CHUNK": "Vera and her uncle Tom open the iron gate with the silver key at dawn.",
        "ALIGNMENT": {"ALIGNMENT SCORE": 0.5},
        "TURNS": [
            turn(0, "SAM", "I am hungry, are there any snacks left over there on the table?"),
            turn(1, "LIV", "I take the silver key, and then I open the iron gate very slowly."),
        ],
    }
    poor = {
        "CHUNK": "Vera sleeps.",
        "ALIGNMENT": {"ALIGNMENT SCORE": 0.0},
        "TURNS": [turn(2, "SAM", "I sleep")],
    }
    source = repository(tmp_path, {f"{crd3.FOLDER}/E1{crd3.SUFFIX}": [chunk, poor]})
    (pair,) = crd3.build(source)
    assert pair.passages == (
        "Liv: I take the silver key and then I open the iron gate very slowly.",
    )
    assert pair.before[0].startswith("Sam: I am hungry")


def test_qamr_takes_questions_that_share_two_words(tmp_path: Path) -> None:
    row = "s1\t3\t76\t0\t3\t{}\t0\t-\t-"
    source = repository(
        tmp_path,
        {
            qamr.FILES[0]: row.format("Which valley did the river flood ?")
            + "\n"
            + row.format("When ?"),
            qamr.FILES[1]: row.format("Which valley did the river flood ?"),
            qamr.SENTENCES: "s1\tThe river flooded the valley in May .\ns2\tThe river is long .",
        },
    )
    (pair,) = qamr.build(source)
    assert pair.question == "Which valley did the river flood?"
    assert pair.passages == ("The river flooded the valley in May.",)
    assert pair.negatives == ("The river is long.",)


def test_strategyqa_takes_the_facts(tmp_path: Path) -> None:
    examples = [
        {
            "question": "Could a camel cross Malta in a day?",
            "facts": ["Malta is 27 kilometres long.", "A camel walks 40 kilometres a day."],
        },
        {"question": "Do camels swim?", "facts": ["A camel can swim when it must."]},
    ]
    source = repository(tmp_path, {strategyqa.FILES[0]: examples, strategyqa.FILES[1]: []})
    first, _second = strategyqa.build(source)
    assert len(first.passages) == 2
    assert first.negatives == ("A camel can swim when it must.",)


def test_policyqa_puts_the_segments_of_one_site_together(tmp_path: Path) -> None:
    def paragraph(context: str, *questions: str) -> dict[str, object]:
        asked = [{"question": text, "answers": [{"answer_start": 0}]} for text in questions]
        return {"context": context, "qas": asked}

    question = "Do you share my address?"
    site = {
        "title": "example.org",
        "paragraphs": [
            paragraph("We never sell the address of a user.", question),
            paragraph("Couriers get your street and town.", question),
            paragraph("You may change your address at any time."),
        ],
    }
    source = repository(
        tmp_path, {policyqa.FILES[0]: {"data": [site]}, policyqa.FILES[1]: {"data": []}}
    )
    (pair,) = policyqa.build(source)
    assert len(pair.passages) == 2
    assert pair.negatives == ("You may change your address at any time.",)


def test_medquad_drops_the_repeated_question(tmp_path: Path) -> None:
    answer = "What are the signs of blue ear? The ear turns blue, first at the rim and then as a whole, and itches."
    page = f"<Document><QAPairs><QAPair><Question>What are the signs of blue ear ?</Question><Answer>{answer}</Answer></QAPair></QAPairs></Document>"
    (pair,) = medquad.build(repository(tmp_path, {"1_Made_up/1.xml": page}))
    assert pair.question == "What are the signs of blue ear?"
    assert pair.passages[0].startswith("The ear turns blue")


def test_wikitables_takes_the_rows_with_the_answer(tmp_path: Path) -> None:
    rows = [
        "Year\tTeam\tPlace",
        *(f"{year}\tTeam {year}\t{year % 7}" for year in range(2001, 2010)),
    ]
    questions = "id\tutterance\tcontext\ttargetValue\nq1\twhich team played in 2004?\tcsv/1.csv\tTeam 2004\nq2\thow many teams are there?\tcsv/1.csv\t90"
    source = repository(tmp_path, {wikitables.QUESTIONS: questions, "csv/1.tsv": "\n".join(rows)})
    (pair,) = wikitables.build(source)
    assert pair.passages == (
        "Table with columns Year, Team, Place. Year: 2004; Team: Team 2004; Place: 2",
    )
    assert "2004" not in pair.negatives[0]


def test_docs_pair_headings_with_sections(tmp_path: Path) -> None:
    long = (
        "A lock keeps two writers from the same row until the first of them is done with its work. "
        * 2
    )
    page = f"---\ntitle: Locks\n---\nStart.\n\n## Waiting\n\n{long} See [rows](rows.md).\n\n```\n# no heading\n```\n\n## How to find who holds a lock {{#who}}\n\n{{% data variables.product.name %}} lists each holder with `locks`. {long.replace('keeps', 'shows')} It is sorted by age and by table, oldest first, and read-only."
    source = repository(
        tmp_path, {"pages/locks.md": page, "names.yml": "name: 'Bolt'\n", "pages/x.txt": "no"}
    )
    waiting, holders = docs("pages", variables="names.yml")(source)
    assert waiting.question == "Locks: Waiting"
    assert "See rows. # no heading" in waiting.passages[0]
    assert holders.question == "How to find who holds a lock"
    assert holders.passages[0].startswith("Bolt lists each holder with locks")


def test_tldr_pairs_tasks_with_command_lines(tmp_path: Path) -> None:
    page = "# frob\n\n> Turn files round.\n> More information: <https://example.org>.\n\n- [t]urn a file:\n\n`frob {{[-t|--turn]}} {{path/to/file}}`\n\n- Turn a file back:\n\n`frob --back {{path/to/file}}`\n"
    first, second = commands.build_tldr(repository(tmp_path, {"pages/common/frob.md": page}))
    assert first.question == "turn a file"
    assert first.passages == ("frob (Turn files round.): `frob --turn path/to/file`",)
    assert first.negatives == second.passages


def test_nl2bash_pairs_descriptions_with_commands(tmp_path: Path) -> None:
    source = repository(
        tmp_path,
        {
            commands.NL2BASH_SENTENCES: "List all log files\nList all log files\nDelete old log files\n",
            commands.NL2BASH_COMMANDS: "ls *.log\nfind . -name '*.log'\nfind . -mtime +9 -delete\n",
        },
    )
    listed, _deleted = commands.build_nl2bash(source)
    assert listed.passages == ("ls *.log", "find . -name '*.log'")
    assert listed.negatives == ("find . -mtime +9 -delete",)


INSTRUCTIONS: list[tuple[str, dict[str, tuple[str, str]], tuple[str, str]]] = [
    (
        "ni_boolq",
        {
            "task1661_super_glue_classification": (
                "Passage: The toll was abolished in May.\nQuestion: is there a toll",
                "0",
            ),
            "task1660_super_glue_question_generation": (
                "The toll was abolished in May.",
                "is there a toll",
            ),
            "task381_boolq_question_generation": (
                "The toll was abolished in May.",
                "is there a toll",
            ),
        },
        ("is there a toll", "The toll was abolished in May."),
    ),
    (
        "ni_cosmosqa",
        {
            "task024_cosmosqa_answer_generation": (
                "Context: I missed the bus , so I walked . \nQuestion: Why did I miss the bus ?",
                "I was late",
            )
        },
        ("Why did I miss the bus?", "I missed the bus, so I walked."),
    ),
    (
        "ni_finefood",
        {
            "task589_amazonfood_summary_text_generation": (
                "These <br />olives are far too salty.",
                "Olives too salty",
            )
        },
        ("Olives too salty", "These olives are far too salty."),
    ),
    (
        "ni_hippocorpus",
        {
            "task853_hippocorpus_long_text_generation": (
                "My cousin got married by the sea.",
                "We all drove to the coast for the wedding.",
            )
        },
        ("My cousin got married by the sea.", "We all drove to the coast for the wedding."),
    ),
    (
        "ni_iirc",
        {
            "task235_iirc_question_from_subtext_answer_generation": (
                "Context: He played for Brill. Link Information: Brill was founded in 1911 Answer: 1911",
                "When was the club he played for founded?",
            )
        },
        (
            "When was the club he played for founded?",
            "He played for Brill. Brill was founded in 1911",
        ),
    ),
    (
        "ni_mocha",
        {
            "task596_mocha_question_generation": (
                "Jo walked the dog of the neighbour .",
                "Whose dog did Jo walk ?",
            )
        },
        ("Whose dog did Jo walk?", "Jo walked the dog of the neighbour."),
    ),
    (
        "ni_peerread",
        {
            "task1540_parsed_pdfs_summarization": (
                "We count words in a new way.",
                "Counting Words Anew",
            )
        },
        ("Counting Words Anew", "We count words in a new way."),
    ),
    (
        "ni_pubmedqa",
        {
            "task846_pubmedqa_classification": (
                "Question: Does tea help?\nAnswer: Tea had no effect in this study.",
                "no",
            )
        },
        ("Does tea help?", "Tea had no effect in this study."),
    ),
    (
        "ni_qasc",
        {
            "task040_qasc_question_generation": ("Fact: a prism bends light.", "What bends light?"),
            "task1580_eqasc-perturbed_question_generation": (
                "a prism bends light.",
                "What bends light?",
            ),
        },
        ("What bends light?", "a prism bends light."),
    ),
    (
        "ni_qasper",
        {
            "task460_qasper_answer_generation": (
                "We train on ten books. \n Question: On how many books do they train?",
                "ten",
            ),
            "task461_qasper_question_generation": (
                "We train on ten books.",
                "On how many books do they train?",
            ),
        },
        ("On how many books do they train?", "We train on ten books."),
    ),
    (
        "ni_qed",
        {
            "task768_qed_text_span_selection": (
                "Paragraph: The bridge opened in 1902 .\nQuestion: when did the bridge open\n",
                "1902",
            )
        },
        ("when did the bridge open", "The bridge opened in 1902."),
    ),
    (
        "ni_quartz",
        {
            "task223_quartz_explanation_generation": (
                "Question: Is a steeper hill slower to climb? \n Answer: yes",
                "Steep hills take longer.",
            ),
            "task1731_quartz_question_answering": (
                "Paragraph: Steep hills take longer.\n Question: Is a steeper hill slower to climb? \n Choices: A)yes \nB)no",
                "yes",
            ),
        },
        ("Is a steeper hill slower to climb?", "Steep hills take longer."),
    ),
    (
        "ni_ropes",
        {
            "task060_ropes_question_generation": (
                "Background Paragraph: Salt melts ice. \nStory Paragraph: Jim salted his path.",
                "Whose path is free of ice?",
            )
        },
        ("Whose path is free of ice?", "Jim salted his path."),
    ),
    (
        "ni_torque",
        {
            "task389_torque_generate_temporal_question": (
                "Passage: The mayor spoke after the bells rang.",
                "What happened before the mayor spoke?",
            )
        },
        ("What happened before the mayor spoke?", "The mayor spoke after the bells rang."),
    ),
    (
        "ni_tweetqa",
        {
            "task239_tweetqa_answer_generation": (
                "Context: So happy, we won! Ann (@ann) May 1 Question: who won?",
                "ann",
            )
        },
        ("who won?", "So happy, we won! Ann (@ann) May 1"),
    ),
]


@pytest.mark.parametrize(
    "name, tasks, expected", INSTRUCTIONS, ids=[row[0] for row in INSTRUCTIONS]
)
def test_an_instruction_task_gives_question_and_passage(
    name: str, tasks: dict[str, tuple[str, str]], expected: tuple[str, str], tmp_path: Path
) -> None:
    files = {f"tasks/{file}.json": task([(shown, [out])]) for file, (shown, out) in tasks.items()}
    pairs = list(BUILDERS[name](repository(tmp_path, files)))
    assert {(pair.question, pair.passages) for pair in pairs} == {(expected[0], (expected[1],))}


def test_doqa_takes_both_questions_unless_one_has_no_answer(tmp_path: Path) -> None:
    shown = "CONTEXT: Soak the beans overnight. <sep>  Q: How long do I soak them? A: overnight  <sep> FOLLOWUP_Q: And the rice?"
    names = ["1438_doqa_cooking_answer_generation", "1439_doqa_cooking_isanswerable"]
    names += ["1441_doqa_movies_answer_generation", "1442_doqa_movies_isanswerable"]
    files = {f"tasks/task{name}.json": task([(shown, ["No"])]) for name in names}
    (pair,) = BUILDERS["ni_doqa"](repository(tmp_path, files))
    assert pair.question == "How long do I soak them?"
    assert pair.passages == ("Soak the beans overnight.",)


def test_circa_puts_the_replies_into_a_mouth(tmp_path: Path) -> None:
    rows = [
        ("Do you like jazz?", ["I play it.", "I never listen to it."]),
        ("Is it late?", ["The jazz bar is shut."]),
    ]
    source = repository(tmp_path, {"tasks/task565_circa_answer_generation.json": task(rows)})
    first, _second = BUILDERS["ni_circa"](source)
    assert first.passages == ("Sam: I play it.", "Sam: I never listen to it.")
    assert first.negatives == ("Sam: The jazz bar is shut.",)
    assert first.before == ("A: Do you like jazz?",) * 2


def test_key_points_take_arguments_that_match(tmp_path: Path) -> None:
    row = "Topic: Cars in towns<sep>Argument: {}<sep>Keypoint: Cars are loud"
    rows = [
        (row.format("One cannot sleep for the noise."), ["True"]),
        (row.format("Cars take up space."), ["False"]),
    ]
    source = repository(tmp_path, {"tasks/task1285_kpa_keypoint_matching.json": task(rows)})
    (pair,) = BUILDERS["ni_argkp"](source)
    assert pair.passages == ("One cannot sleep for the noise.",)
    assert pair.negatives == ("Cars take up space.",)


def test_paraphrases_have_sentences_of_the_same_words_as_negatives(tmp_path: Path) -> None:
    rows = [
        ("Ann saw Bob .\nBob was seen by Ann .", ["Paraphrase"]),
        ("Ann saw Bob .\nBob saw Ann .", ["Not paraphrase"]),
    ]
    source = repository(tmp_path, {"tasks/task400_paws_paraphrase_classification.json": task(rows)})
    (pair,) = BUILDERS["ni_paws"](source)
    assert (pair.question, pair.passages) == ("Ann saw Bob.", ("Bob was seen by Ann.",))
    assert pair.negatives == ("Bob saw Ann.",)
