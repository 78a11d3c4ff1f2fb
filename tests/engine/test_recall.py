"""Recall by meaning with the real model: modes, filters, paging, scores, the past, and who may find
what.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Audience, Caller
from memolith.domain.chunking import weigh
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block, PassageRef
from memolith.domain.queries import Condition, Filter, Found, Hit, Query
from memolith.engine import recall
from memolith.engine.packing import LEFT_OUT
from memolith.engine.search import CANDIDATES
from memolith.engine.validation import Intake, Limits
from memolith.errors import InvalidInput
from memolith.ports.ranker import READ_TOGETHER, Ranked
from memolith.retrieval.ranking.ranker import HybridRanker
from tests.conftest import ME, At, note
from tests.stores import each_store

pytestmark = each_store
BOB = Caller(user="bob")
STRANGER = Caller(tenant="elsewhere")
FACTS = {
    "tea": "Maria prefers tea to coffee and never has meetings before ten.",
    "database": "We chose PostgreSQL over MySQL because of row-level security.",
    "key": "The deploy key for staging rotates every Monday at 09:00.",
    "dog": "Our puppy chewed the sofa while we were out.",
    "flight": "The flight to Lisbon was delayed by a thunderstorm.",
    "car": "The mechanic replaced the brakes of the old Volvo.",
    "rent": "The landlord raised the monthly payment for our apartment.",
    "bread": "Let the dough rise overnight before baking it.",
    "exam": "She passed her final examination at medical school.",
    "backup": "Every night a copy of all files is stored in another building.",
}
PARAPHRASES = {
    "what beverage does she like?": "tea",
    "which SQL server are we using?": "database",
    "credential renewal schedule": "key",
    "pet destroyed the furniture": "dog",
    "why was the plane late?": "flight",
    "vehicle repair": "car",
    "housing costs went up": "rent",
    "recipe for loaves": "bread",
    "becoming a doctor": "exam",
    "disaster recovery of data": "backup",
}


def found(app: App, text: str, caller: Caller = ME, **fields: object) -> Found:
    return app.engine.recall.search(caller, Query(text, **fields))  # type: ignore[arg-type]


def ids(app: App, text: str, caller: Caller = ME, **fields: object) -> list[str]:
    return [hit.item.id for hit in found(app, text, caller, **{"limit": 1000} | fields).hits]


def by_meaning(app: App, text: str, caller: Caller = ME, **fields: object) -> list[str]:
    return ids(app, text, caller, **{"mode": "vector"} | fields)


def texts(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.passage.text for hit in hits]


def fill(app: App, drafts: dict[str, Draft], caller: Caller = ME) -> None:
    with app.store.writing(caller.tenant) as rows:
        for id, draft in drafts.items():
            app.engine.writing.remember_in(
                rows, caller, replace(draft, id=id), Intake(Limits(), "allow")
            )
    app.upkeep.run()


@pytest.fixture(scope="module")
def facts(at: At, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Ten facts of daily life; not to be written to."""
    made = open_app(at(tmp_path_factory.mktemp("facts"), "minilm"))
    fill(made, {id: note(text) for id, text in FACTS.items()})
    yield made
    made.close()


# By meaning


@pytest.mark.parametrize("question", PARAPHRASES)
def test_a_paraphrase_without_a_common_word_is_found_first(facts: App, question: Any) -> None:
    wanted = PARAPHRASES[question]
    assert ids(facts, question)[0] == wanted
    assert by_meaning(facts, question)[0] == wanted
    hit = found(facts, question).hits[0]
    assert hit.reasons["meaning"] > 0.2


def test_the_modes_differ_as_documented(facts: App) -> None:
    paraphrase, words = "pet destroyed the furniture", "Volvo"
    assert ids(facts, paraphrase, mode="text") == []
    assert ids(facts, words, mode="text") == ["car"]
    assert set(by_meaning(facts, words, threshold=0.0)) == set(FACTS), (
        "by meaning everything has some distance"
    )
    assert ids(facts, words)[0] == by_meaning(facts, words)[0] == "car"
    assert set(found(facts, words, mode="text").hits[0].reasons) == {"words"}
    assert set(found(facts, words, mode="vector").hits[0].reasons) == {"words", "meaning"}
    vector = found(facts, "deploy key for staging", mode="vector", threshold=0.0).hits
    cosines = [hit.reasons.get("meaning", 0.0) for hit in vector]
    assert cosines[0] == max(cosines)
    scores = [
        hit.score
        for question in ("the key", "the deploy key", "deploy key for staging")
        for hit in found(facts, question).hits
        if hit.item.id == "key"
    ]
    assert scores == sorted(scores), "words and meaning add up"


def test_exact_words_win_over_a_vague_likeness(smart: App) -> None:
    fill(
        smart,
        {
            "code": note("Error E4711 comes from the printer driver."),
            "like": note("Some error came from a device on the desk."),
        },
    )
    assert ids(smart, "E4711")[0] == "code"


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_every_hit_gives_its_reasons(facts: App, mode: str) -> None:
    for hit in found(facts, "the key to the old apartment", mode=mode, limit=50).hits:
        assert "words" in hit.reasons or hit.reasons["meaning"]
        assert all(isinstance(value, float) for value in hit.reasons.values())
        assert 0 <= hit.score <= 1


@pytest.mark.parametrize("question", [*PARAPHRASES, *FACTS.values(), "the colour of the wind"])
def test_a_better_score_is_never_worth_less(facts: App, question: str) -> None:
    worth = {"strong": 2, "likely": 1, "weak": 0}

    hits = found(facts, question, limit=10, threshold=0.0).hits

    worths = [worth[hit.strength] for hit in hits]
    assert worths == sorted(worths, reverse=True)


@pytest.mark.parametrize("text", FACTS.values())
def test_the_text_itself_is_a_strong_hit(facts: App, text: str) -> None:
    assert found(facts, text).hits[0].strength == "strong"


def test_what_is_unrelated_is_no_strong_hit(facts: App) -> None:
    hits = found(facts, "quantum chromodynamics on a lattice").hits

    assert "strong" not in {hit.strength for hit in hits}


def test_only_the_best_hit_can_be_strong(facts: App) -> None:
    hits = found(facts, FACTS["bread"], limit=10, threshold=0.0).hits

    assert [hit.strength for hit in hits].count("strong") == 1


@pytest.mark.parametrize(
    ("question", "strengths"),
    [
        ("what does Maria like to drink?", {"strong"}),
        ("why this database?", {"strong"}),
        ("What must she never eat?", {"likely", "weak"}),
        ("how old is Maria?", {"likely", "weak"}),
    ],
)
def test_a_small_store_makes_no_hit_surer(smart: App, question: str, strengths: set[str]) -> None:
    for name in ("tea", "database", "dog"):
        smart.engine.writing.remember(ME, note(FACTS[name]))

    assert found(smart, question).hits[0].strength in strengths


@pytest.mark.parametrize(("verdict", "is_sure"), [(8.0, True), (-8.0, False)])
def test_in_a_deep_search_the_judge_decides_whether_the_best_hit_is_strong(
    facts: App, verdict: float, is_sure: bool
) -> None:
    best = found(facts, "what does Maria like to drink?").hits[0]
    reasons = {**best.reasons, READ_TOGETHER: verdict}
    ranker = HybridRanker()
    ranked = Ranked(PassageRef(1), best.passage, ranker.deepened(0.3, verdict), reasons)
    assert ranker.is_sure([ranked]) is is_sure


def test_the_note_with_the_only_word_of_a_query_comes_before_short_notes_without_it(
    smart: App,
) -> None:
    for text in ("TODO", "ok", "x", "lk", "My dog is called Rex."):
        smart.engine.writing.remember(ME, note(text))
    assert found(smart, "dog").hits[0].passage.text == "My dog is called Rex."


def test_a_page_does_not_decide_which_hit_is_strong(facts: App) -> None:
    second_page = found(facts, FACTS["bread"], limit=10, offset=1, threshold=0.0).hits

    assert "strong" not in {hit.strength for hit in second_page}


def test_the_same_text_has_the_similarity_one_and_an_unrelated_one_little(facts: App) -> None:
    alike = found(facts, FACTS["bread"], alike=True, threshold=0.0, mode="vector", limit=10)
    hits = {hit.item.id: hit.score for hit in alike.hits}
    assert len(hits) > 1
    assert hits["bread"] > 0.99
    assert max(score for id, score in hits.items() if id != "bread") < 0.7


# Threshold, order, one per item


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_a_threshold_drops_what_is_below_it_and_from_the_total(facts: App, mode: str) -> None:
    every = found(facts, "the deploy key to the apartment", mode=mode, limit=100, threshold=0.0)
    for threshold in (0.2, 0.4, 0.7, 0.99):
        kept = found(
            facts, "the deploy key to the apartment", mode=mode, limit=100, threshold=threshold
        )
        wanted = [hit for hit in every.hits if hit.score >= threshold]
        assert [hit.item.id for hit in kept.hits] == [hit.item.id for hit in wanted]
        assert kept.total == len(wanted)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_what_is_alike_is_in_the_order_of_its_scores(facts: App, mode: str) -> None:
    scores = [
        hit.score
        for hit in found(facts, "the old key", mode=mode, alike=True, threshold=0.0, limit=100).hits
    ]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_one_hit_per_item_is_the_best_of_each(smart: App, mode: str) -> None:
    talk = tuple(Block(f"message {n} about sailing boats", "Ann") for n in range(6))
    fill(
        smart,
        {"talk": Draft("conversation", blocks=talk), "other": note("A boat sailing on the lake.")},
    )
    every = found(smart, "sailing boats", mode=mode, limit=50)
    one = found(smart, "sailing boats", mode=mode, limit=50, per_item=True)
    assert (every.total, one.total) == (7, 2)
    firsts: dict[str, Hit] = {}
    for hit in every.hits:
        firsts.setdefault(hit.item.id, hit)
    assert [hit.passage for hit in one.hits] == [hit.passage for hit in firsts.values()]


# Paging


@pytest.fixture(scope="module")
def crowd(at: At, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """2,400 short notes with vectors, so that a side is full, and one that is unlike the others."""
    made = open_app(at(tmp_path_factory.mktemp("crowd"), "minilm"))
    animals, deeds, times = ("cat", "horse", "goat", "duck"), ("ate", "saw", "lost"), range(200)
    drafts = {
        f"n{n}-{a}-{d}": note(
            f"The {a} {d} number {n}.", tags=("even",) if n % 2 == 0 else (), attributes={"n": n}
        )
        for n in times
        for a in animals
        for d in deeds
    }
    drafts["one"] = Draft(
        "concept",
        blocks=(Block("The horse of a different colour.", "Zoe", "2020-05-05"),),
        tags=("rare", "odd"),
        status="draft",
        project="p",
        namespace="ns",
        audience=Audience.ORG,
        attributes={"path": "a/b/c", "list": ["x"]},
    )
    fill(made, drafts)
    yield made
    made.close()


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
@pytest.mark.parametrize("size", [7, 60])
def test_pages_fit_together_without_gap_or_overlap(crowd: App, mode: str, size: int) -> None:
    whole = found(crowd, "which horse was lost?", mode=mode, limit=1000)
    places = [(hit.item.id, hit.passage.ordinal) for hit in whole.hits]
    assert len(set(places)) == len(places) >= 200
    for offset in (0, size, 90, 98, 180, len(places) - 3):
        page = found(crowd, "which horse was lost?", mode=mode, limit=size, offset=offset)
        shown = [(hit.item.id, hit.passage.ordinal) for hit in page.hits]
        assert shown[: len(places) - offset] == places[offset : offset + size]
        assert len(shown) == min(size, whole.total - offset)
        assert page.total == whole.total
    assert found(crowd, "which horse was lost?", mode=mode, offset=100_000).hits == ()


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_the_same_question_gets_the_same_answer(crowd: App, mode: str) -> None:
    first = found(crowd, "goat", mode=mode, limit=100)
    assert all(found(crowd, "goat", mode=mode, limit=100) == first for _ in range(2))


def test_the_total_counts_what_passes_the_filter(crowd: App) -> None:
    chosen = Filter(where=(Condition("n", "lt", 3),))
    for mode in ("hybrid", "vector"):
        assert found(crowd, "horse", mode=mode, filter=chosen, threshold=0.0).total == 36
        assert len(ids(crowd, "horse", mode=mode, filter=chosen, threshold=0.0)) == 36
        of_horses = found(crowd, "horse", mode=mode, filter=chosen, limit=100)
        assert of_horses.total == len(of_horses.hits) >= 9


# Filters inside the vector side

RARE: dict[str, Filter] = {
    "kinds": Filter(kinds=("concept",)),
    "tags_all": Filter(tags_all=("rare", "odd")),
    "tags_any": Filter(tags_any=("rare", "none")),
    "tags_none": Filter(tags_none=("even",), kinds=("concept",)),
    "statuses": Filter(statuses=("draft",)),
    "since": Filter(since="2020-01-01", until="2020-12-31"),
    "until": Filter(until="2020-12-31"),
    "projects": Filter(projects=("p", "q")),
    "namespaces": Filter(namespaces=("ns",)),
    "speakers": Filter(speakers=("Zoe",)),
    "ids": Filter(ids=("one",)),
    "where": Filter(where=(Condition("path", "under", "a/b"),)),
    "where list": Filter(where=(Condition("list", "has", "x"),)),
    "owner": Filter(owner="local", kinds=("concept",)),
    "forgotten": Filter(forgotten=None, kinds=("concept",)),
}


@pytest.mark.parametrize("name", RARE)
@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_one_among_thousands_is_found_by_meaning_under_every_filter(
    crowd: App, name: Any, mode: str
) -> None:
    """The question is far from it, so that it is not among the nearest without the filter."""
    question = "feathers and quacking near a pond"
    page = found(crowd, question, mode=mode, filter=RARE[name], threshold=0.0)
    assert ([hit.item.id for hit in page.hits], page.total) == (["one"], 1)


@pytest.mark.parametrize(
    "chosen",
    [
        Filter(kinds=("entity",)),
        Filter(tags_all=("rare", "even")),
        Filter(owner="bob"),
        Filter(forgotten=True),
        Filter(since="2020-06-01", until="2020-12-31"),
        Filter(speakers=("Yan",)),
        Filter(ids=("two",)),
        Filter(statuses=("done",)),
        Filter(where=(Condition("n", "gt", 500),)),
        Filter(tags_any=("none",)),
        Filter(projects=("q",)),
        Filter(namespaces=("p",)),
    ],
)
def test_a_filter_that_fits_nothing_finds_nothing(crowd: App, chosen: Any) -> None:
    for mode in ("hybrid", "vector"):
        assert found(crowd, "a horse", mode=mode, filter=chosen) == Found((), 0)


@pytest.mark.parametrize(
    ("chosen", "is_even"),
    [(Filter(tags_none=("even",)), False), (Filter(tags_any=("even",)), True)],
)
def test_every_hit_passes_a_wide_filter(crowd: App, chosen: Filter, is_even: bool) -> None:
    hits = found(crowd, "duck", mode="vector", filter=chosen, limit=1000, threshold=0.0).hits
    assert len(hits) >= CANDIDATES[0]
    assert all(("even" in hit.item.tags) is is_even for hit in hits)


# Who may find what


def test_nobody_finds_by_meaning_what_he_may_not_see(smart: App) -> None:
    drafts = {
        "mine": note("My salary is high."),
        "team": note("The wages of the team.", audience=Audience.PROJECT, project="p"),
        "all": note("Everybody gets paid on Friday.", audience=Audience.ORG),
    }
    fill(smart, drafts)
    fill(smart, {"his": note("His income is secret.")}, BOB)
    fill(smart, {"far": note("Their earnings are elsewhere.")}, STRANGER)
    wanted = {
        ME: {"mine", "team", "all"},
        BOB: {"his", "all"},
        replace(BOB, project="p"): {"his", "team", "all"},
        STRANGER: {"far"},
        replace(BOB, admin=True): {"mine", "team", "all", "his"},
        replace(STRANGER, user="nobody"): set(),
        replace(BOB, project="q"): {"his", "all"},
    }
    for caller, visible in wanted.items():
        for mode in ("hybrid", "vector"):
            assert (
                set(ids(smart, "how much money do people earn?", caller, mode=mode)) == visible
            ), caller
        made = smart.engine.context.pack(caller, "salary income wages pay", 1000)
        assert {citation.id for citation in made.citations} <= visible
    assert smart.engine.recall.similar(BOB, "My salary is high.") == []
    assert smart.engine.recall.similar(STRANGER, "My salary is high.") == []


def test_the_words_of_another_tenant_do_not_move_ones_ranking(smart: App) -> None:
    fill(smart, {id: note(text) for id, text in FACTS.items()})
    before = found(smart, "deploy key for the apartment").hits
    fill(smart, {f"s{n}": note("deploy key apartment deploy key") for n in range(50)}, STRANGER)
    assert found(smart, "deploy key for the apartment").hits == before


# At once


def test_a_write_is_found_by_meaning_at_the_next_search(smart: App) -> None:
    for id in ("dog", "flight", "bread"):
        smart.engine.writing.remember(ME, replace(note(FACTS[id]), id=id))
        question = next(text for text, wanted in PARAPHRASES.items() if wanted == id)
        page = found(smart, question, mode="vector")
        assert (page.hits[0].item.id, page.warnings) == (id, ())


def test_forgotten_and_edited_items_leave_the_vector_side_at_once(smart: App) -> None:
    fill(smart, {id: note(text) for id, text in FACTS.items()})
    assert by_meaning(smart, "pet destroyed the furniture")[0] == "dog"
    smart.engine.writing.forget(ME, "dog")
    assert "dog" not in by_meaning(smart, "pet destroyed the furniture")
    smart.engine.writing.restore(ME, "dog")
    assert by_meaning(smart, "pet destroyed the furniture")[0] == "dog"
    smart.engine.writing.revise(
        ME, "dog", Patch(blocks=(Block("Interest rates fell by half a point."),))
    )
    page = found(smart, "pet destroyed the furniture", mode="vector")
    assert "strong" not in {hit.strength for hit in page.hits if hit.item.id == "dog"}
    assert by_meaning(smart, "central bank policy", threshold=0.0)[0] == "dog"
    smart.engine.writing.erase(ME, "dog")
    assert "dog" not in by_meaning(smart, "central bank policy", threshold=0.0)


def test_a_new_title_is_part_of_the_meaning(smart: App) -> None:
    fill(smart, {"a": note("It was green."), "b": note("It was blue.")})
    smart.engine.writing.revise(ME, "b", Patch(title="The bicycle that was stolen"))
    assert by_meaning(smart, "theft of a bike")[0] == "b"


def test_a_second_app_on_the_folder_finds_a_write_by_meaning_at_its_next_search(smart: App) -> None:
    fill(smart, {id: note(text) for id, text in list(FACTS.items())[:5]})
    other = open_app(smart.settings)
    assert by_meaning(other, "pet destroyed the furniture")[0] == "dog"
    smart.engine.writing.remember(ME, replace(note(FACTS["exam"]), id="exam"))
    assert by_meaning(other, "becoming a doctor")[0] == "exam"
    other.engine.writing.forget(ME, "exam")
    assert "exam" not in by_meaning(smart, "becoming a doctor")
    other.close()


# Without a model, or with less of it than there should be


def test_without_a_model_words_serve_and_it_is_said(app: App) -> None:
    app.engine.writing.remember(ME, replace(note(FACTS["car"]), id="car"))
    page = found(app, "the Volvo")
    assert [hit.item.id for hit in page.hits] == ["car"]
    assert len(page.warnings) == 1
    assert "words only" in page.warnings[0]
    assert found(app, "the Volvo", mode="text").warnings == ()
    with pytest.raises(InvalidInput, match="switched off"):
        found(app, "the Volvo", mode="vector")


def test_pending_embeddings_are_told_and_what_waits_is_found_by_words(
    smart: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "SMALL_BACKLOG_BUDGET_S", 0.1)
    long = Draft(
        "conversation",
        blocks=tuple(Block(f"part {n} of a very long saga " * 8, "Ann") for n in range(200)),
    )
    for n in range(8):
        smart.engine.writing.remember(ME, replace(long, id=f"saga{n}"))
    smart.engine.writing.remember(ME, replace(note("A zeppelin over the harbour."), id="newest"))
    page = found(smart, "zeppelin")
    assert page.hits[0].item.id == "newest"
    assert "no vector yet" in page.warnings[0]
    assert ids(smart, "saga", per_item=True), "by words"


def test_chinese_is_found_by_words_without_a_vector(smart: App) -> None:
    fill(
        smart,
        {
            "zh": note("上海的天气今天很好，我们去公园散步。"),
            "zh2": note("他昨天在北京买了一本关于历史的书。"),
            "en": note("The weather is fine."),
        },
    )
    page = found(smart, "公园散步")
    assert page.hits[0].item.id == "zh"
    assert "meaning" not in page.hits[0].reasons
    with smart.store.reading(None) as rows:
        assert sum(rows.models().values()) == 1
    page = found(smart, "历史书", mode="vector")
    assert page.hits[0].item.id == "zh2"
    assert "understands too little" in page.warnings[0]


# Conversations


@pytest.fixture
def talk(smart: App) -> App:
    """Two conversations of which every line begins with a name."""
    trip = [
        ("Caroline", "Where did you go last weekend?", "2023-05-08"),
        ("Melanie", "To the lake!", "2023-05-08"),
        ("Caroline", "I painted a sunrise.", "2023-05-09"),
        ("Melanie", "The pottery class is on.", "2023-05-09"),
    ]
    job = [
        ("Caroline", "I applied to an adoption agency.", "2023-07-20"),
        ("Melanie", "How are the kids?", "2023-07-20"),
        ("user", "What is the capital of Peru?", "2023-07-21"),
        ("assistant", "Lima.", "2023-07-21"),
    ]
    fill(
        smart,
        {
            name: Draft(
                "conversation", blocks=tuple(Block(text, who, at) for who, text, at in lines)
            )
            for name, lines in (("trip", trip), ("job", job))
        },
    )
    return smart


def test_speakers_names_are_left_out_of_the_dense_query(talk: App) -> None:
    """The name alone is near to whatever its bearer said; the same question without it must be as
    near to the rest.
    """
    named = {
        hit.passage.text: hit.reasons.get("meaning", 0.0)
        for hit in found(
            talk, "Did Caroline's brush paint the sun coming up?", mode="vector", threshold=0.0
        ).hits
    }
    bare = {
        hit.passage.text: hit.reasons.get("meaning", 0.0)
        for hit in found(
            talk, "Did brush paint the sun coming up?", mode="vector", threshold=0.0
        ).hits
    }
    assert named == bare
    assert max(named, key=named.__getitem__) == "I painted a sunrise."


def test_a_query_of_nothing_but_a_name_still_means_the_name(talk: App) -> None:
    assert found(talk, "Melanie", mode="vector", threshold=0.0).total == 8
    assert all(hit.passage.speaker == "Melanie" for hit in found(talk, "Melanie", limit=2).hits)


def test_roles_are_no_names(talk: App) -> None:
    cosines = [
        found(talk, f"{word} by the lake", mode="vector", threshold=0.0).hits[0].reasons["meaning"]
        for word in ("user", "zebra")
    ]
    assert cosines[0] != cosines[1]
    of_user = found(talk, "user by the lake", mode="vector", threshold=0.0).hits
    assert of_user != found(talk, "by the lake", mode="vector", threshold=0.0).hits


def test_a_reply_inherits_from_its_question_and_says_so(talk: App) -> None:
    hits = {
        hit.passage.text: hit
        for hit in found(talk, "Where did you go at the weekend?", limit=8).hits
    }
    assert list(hits)[:2] == ["Where did you go last weekend?", "To the lake!"]
    reply = hits["To the lake!"].reasons
    assert reply["after a question on it"] > 0.3
    assert reply["same session"] > 0


def test_words_that_stand_a_little_before_or_after_count_and_are_told(talk: App) -> None:
    hits = {
        hit.passage.text: hit.reasons
        for hit in found(talk, "adoption agency", limit=8, threshold=0.0).hits
    }
    assert "words nearby" not in hits["I applied to an adoption agency."]
    assert hits["How are the kids?"]["words nearby"] == 1.0
    assert hits["What is the capital of Peru?"]["words nearby"] == 1.0
    assert "words nearby" not in hits["Lima."]


def test_a_hit_without_the_kind_of_answer_that_is_asked_for_says_so(talk: App) -> None:
    hits = {
        hit.passage.text: hit.reasons
        for hit in found(talk, "When did you paint a sunrise?", limit=8, threshold=0.0).hits
    }
    assert hits["I painted a sunrise."]["no such answer"] == 1.0
    assert "no such answer" not in hits["Where did you go last weekend?"]


def test_the_named_speaker_and_the_named_day_lift_a_hit_and_say_so(talk: App) -> None:
    hits = {
        hit.passage.text: hit.reasons
        for hit in found(talk, "What did Melanie say on 20 July 2023?", limit=8, threshold=0.0).hits
    }
    assert hits["How are the kids?"]["speaker"] == 1.0
    assert hits["How are the kids?"]["date"] == 1.0
    assert "speaker" not in hits["I applied to an adoption agency."]
    assert hits["I applied to an adoption agency."]["another speaker"] == 1.0
    assert hits["To the lake!"]["date"] < 0.01
    assert next(iter(hits)) == "How are the kids?"


def test_a_question_for_a_time_lifts_what_tells_one(talk: App) -> None:
    hits = {
        hit.passage.text: hit.reasons
        for hit in found(talk, "When did you go away?", limit=8, threshold=0.0).hits
    }
    assert hits["Where did you go last weekend?"]["words of time"] == 1.0
    assert "words of time" not in hits["I painted a sunrise."]


# The past


def test_the_past_is_searched_by_meaning_too(smart: App) -> None:
    fill(smart, {id: note(text) for id, text in FACTS.items()})
    at = smart.clock.now()
    smart.engine.writing.revise(
        ME, "dog", Patch(blocks=(Block("Interest rates fell by half a point."),))
    )
    smart.engine.writing.forget(ME, "exam")
    smart.engine.writing.remember(ME, replace(note("A kitten scratched the armchair."), id="new"))
    smart.upkeep.run()
    for mode in ("hybrid", "vector"):
        past: dict[str, Any] = {"mode": mode, "as_of": at}
        page = found(smart, "pet destroyed the furniture", **past)
        assert (page.hits[0].item.id, page.hits[0].passage.text) == ("dog", FACTS["dog"])
        assert page.hits[0].reasons["meaning"] > 0.2
        assert "new" not in ids(smart, "pet destroyed the furniture", **past)
        assert ids(smart, "becoming a doctor", **past)[0] == "exam"
        assert ids(smart, "vehicle repair", **past)[0] == "car", (
            "unchanged items come from the index"
        )
        assert ids(smart, "pet destroyed the furniture", mode=mode)[0] == "new"
        assert "exam" not in ids(smart, "becoming a doctor", mode=mode)
        assert ids(smart, "central bank policy", threshold=0.0, **past)[0] != "dog"


def test_a_search_of_the_past_scores_as_a_search_then_did(smart: App) -> None:
    fill(
        smart,
        {"t": note("We want to see the sea.", title="Holiday plans"), "u": note(FACTS["car"])},
    )
    then = found(smart, "a trip to the coast", mode="vector").hits[0]
    at = smart.clock.now()
    smart.engine.writing.revise(ME, "t", Patch(title="Cancelled"))
    past = found(smart, "a trip to the coast", mode="vector", as_of=at).hits[0]
    assert (past.item.title, past.passage.text) == ("Holiday plans", then.passage.text)
    assert past.score == pytest.approx(then.score, abs=0.01)


# A pack of context


@pytest.mark.parametrize("budget", [20, 45, 120, 1000])
def test_a_pack_stays_within_its_budget(talk: App, budget: int) -> None:
    for n in range(30):
        talk.engine.writing.remember(
            ME, note(f"Weekend plan {n}: go to the lake with {n} friends and paint the sunrise.")
        )
    talk.upkeep.run()
    pack = talk.engine.context.pack(ME, "weekend at the lake", budget)
    assert pack.tokens <= budget
    assert weigh(pack.text) <= budget
    assert pack.text or budget < 40
    if budget == 1000:
        assert len(pack.citations) > 5


def test_the_citations_of_a_pack_are_where_its_parts_come_from(talk: App) -> None:
    talk.engine.writing.remember(
        ME, replace(note("The lake has a camp site.", title="Camping"), id="camp")
    )
    pack = talk.engine.context.pack(ME, "camping at the lake, what did they say?", 1000)
    parts = pack.text.split("\n\n")
    assert [citation.number for citation in pack.citations] == list(range(1, len(parts) + 1))
    for citation, part in zip(pack.citations, parts, strict=True):
        head, body = part.split("\n", 1)
        assert head.startswith(f"[{citation.number}]")
        assert citation.title in head
        assert citation.cite in head
        _, blocks = talk.engine.reading.read(ME, citation.id)
        spoken = [
            f"{block.speaker}: {block.text}" if block.speaker else block.text for block in blocks
        ]
        assert citation.score >= talk.engine.recall.floor
        lines = [line for line in body.split("\n") if line != LEFT_OUT]
        assert lines == [line for line in spoken if line in lines], "in reading order"
        if citation.id != "camp":
            assert re.fullmatch(
                r"messages? [\d, -]+, 2023-0\d-\d\d( to 2023-0\d-\d\d)?", citation.cite
            )
            assert spoken[int(citation.cite.split()[1][0]) - 1] == lines[0]
    assert "camp" in [citation.id for citation in pack.citations]
    scores = [citation.score for citation in pack.citations]
    assert scores == sorted(scores, reverse=True)


def test_a_pack_says_nothing_twice(smart: App) -> None:
    text = "The night train to Vienna leaves at nine from the western station and arrives at seven in the morning."
    longer = text + " Breakfast is served from six on and costs nothing for those who have a bed."
    fill(
        smart,
        {
            "a": note(text),
            "b": note(text.upper()),
            "c": note(text.replace(" and ", ", and ")),
            "d": note(longer),
            "e": note("The train to Graz has no beds."),
        },
    )
    pack = smart.engine.context.pack(ME, "night train to Vienna", 2000)
    assert pack.text.lower().count("leaves at nine from the western") <= 2
    cited = [citation.id for citation in pack.citations]
    assert len(set(cited) & {"a", "b", "c"}) <= 1
    assert "d" in cited


def test_a_pack_keeps_both_sides_of_a_contradiction(smart: App) -> None:
    text = (
        "The night train to Vienna leaves every day at {} from the western station, has beds and a bar, and "
        "arrives in the early morning at the main station of the city, where the tram stops."
    )
    fill(smart, {"a": note(text.format("21:15")), "b": note(text.format("22:40"))})
    pack = smart.engine.context.pack(ME, "when does the night train to Vienna leave?", 2000)
    assert {citation.id for citation in pack.citations} == {"a", "b"}


def test_a_pack_leaves_out_what_is_clearly_unrelated(facts: App) -> None:
    pack = facts.engine.context.pack(ME, "which SQL server are we using?", 2000)
    assert "PostgreSQL" in pack.text
    assert "puppy" not in pack.text
    assert facts.engine.context.pack(ME, "who won the election in Peru?", 1000).text == ""


@pytest.mark.parametrize("budget", [-5, 0, 19, 200_001])
def test_a_budget_without_sense_is_refused(facts: App, budget: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        facts.engine.context.pack(ME, "anything", budget)
    assert caught.value.field == "budget_tokens"


def test_a_pack_passes_on_what_the_search_warned_of(app: App) -> None:
    app.engine.writing.remember(ME, note("The lake is cold."))
    pack = app.engine.context.pack(ME, "the lake", 100)
    assert "words only" in pack.warnings[0]


# Duplicates

ORIGINAL = (
    "On Friday, Maria Lopez paid 40 euros for the train ticket to Berlin because the bus was full."
)
SAME = (
    "on friday, maria lopez paid 40 euros for the train ticket to berlin because the bus was full",
    "Maria Lopez paid 40 euros for the train ticket to Berlin on Friday because the bus was full.",
    "On Friday, Maria Lopez paid 40 euros for the rail ticket to Berlin because the bus was full.",
    "On Friday, Maria Lopez paid 40 euros for the ticket to Berlin because the bus was full.",
)
OTHER = {
    "number": "On Friday, Maria Lopez paid 45 euros for the train ticket to Berlin because the bus was full.",
    "date": "On Monday, Maria Lopez paid 40 euros for the train ticket to Berlin because the bus was full.",
    "name": "On Friday, Maria Gomez paid 40 euros for the train ticket to Berlin because the bus was full.",
    "place": "On Friday, Maria Lopez paid 40 euros for the train ticket to Munich because the bus was full.",
    "negation": ORIGINAL.replace("was full", "was not full"),
    "contraction": ORIGINAL.replace("was full", "wasn’t full"),
}


@pytest.mark.parametrize("text", SAME)
def test_nearly_the_same_text_is_found(smart: App, text: Any) -> None:
    fill(smart, {"first": note(ORIGINAL), **{id: note(fact) for id, fact in FACTS.items()}})
    same = smart.engine.recall.similar(ME, text)
    assert [(one.id, one.exact) for one in same] == [("first", False)]
    assert same[0].similarity >= 0.9


@pytest.mark.parametrize("what", OTHER)
def test_a_contradiction_is_no_duplicate(smart: App, what: Any) -> None:
    fill(smart, {"first": note(ORIGINAL)})
    assert smart.engine.recall.similar(ME, OTHER[what]) == []


def test_the_very_same_text_is_marked_as_exact(smart: App) -> None:
    fill(smart, {"first": note(ORIGINAL), "second": note("  " + ORIGINAL.upper() + "\n")})
    assert {(one.id, one.exact) for one in smart.engine.recall.similar(ME, ORIGINAL)} == {
        ("first", True),
        ("second", True),
    }


def test_a_text_that_names_a_speaker_is_compared_with_the_name(smart: App) -> None:
    hello = Draft("conversation", blocks=(Block("Hello there!", "Maria Lopez"),))
    fill(smart, {"talk": hello, "first": note(ORIGINAL)})
    assert [one.id for one in smart.engine.recall.similar(ME, ORIGINAL)] == ["first"]
    assert smart.engine.recall.similar(ME, ORIGINAL)[0].similarity > 0.99


def test_a_filter_and_a_limit_hold_for_duplicates(smart: App) -> None:
    fill(smart, {f"d{n}": note(ORIGINAL, tags=("odd",) if n % 2 else ()) for n in range(6)})
    assert len(smart.engine.recall.similar(ME, ORIGINAL, limit=4)) == 4
    odd = smart.engine.recall.similar(ME, ORIGINAL, chosen=Filter(tags_all=("odd",)))
    assert {one.id for one in odd} == {"d1", "d3", "d5"}


def test_a_write_reports_what_is_there_in_nearly_the_same_words(smart: App) -> None:
    fill(smart, {"first": note(ORIGINAL), **{id: note(fact) for id, fact in FACTS.items()}})
    written = smart.engine.writing.remember(ME, note(ORIGINAL.replace("train ", "rail ")))
    assert [(one.id, one.exact) for one in written.similar] == [("first", False)]
    assert 0.6 <= written.similar[0].similarity < 1
    assert (
        smart.engine.writing.remember(
            ME, note("Something else altogether, about nothing known.")
        ).similar
        == ()
    )
    assert [
        (one.id, one.exact) for one in smart.engine.writing.remember(ME, note(FACTS["car"])).similar
    ] == [("car", True)]
    assert smart.engine.writing.remember(BOB, note(ORIGINAL)).similar == ()


# What cannot be asked


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"mode": "magic"}, "mode"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"offset": -1}, "offset"),
        ({"threshold": 1.01}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"as_of": "soon"}, "as_of"),
    ],
)
def test_a_question_without_sense_is_refused_by_the_name_of_its_fault(
    facts: App, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        found(facts, "anything", **fields)
    assert caught.value.field == field
    for text in ("", "  \n", "x" * 10_001):
        with pytest.raises(InvalidInput):
            found(facts, text)
