"""Search by words: filters inside the search, paging, languages, common words, and tenants that
share nothing.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.search import CANDIDATES, MAX_CANDIDATES_PER_SIDE
from tests.conftest import ME, At, note
from tests.contracts.choices import FILTERS, ITEMS, PASSAGES
from tests.stores import each_store

pytestmark = each_store
BOB = Caller(user="bob")
CROWD = 10_000


def ids(app: App, text: str, caller: Caller = ME, **fields: Any) -> set[str]:
    query = Query(text, **{"mode": "text", "limit": 1000, **fields})
    found = app.engine.recall.search(caller, query)
    return {hit.item.id for hit in found.hits}


def fill(app: App, *texts: str) -> list[str]:
    return [app.engine.writing.remember(ME, note(text)).item.id for text in texts]


# Filters


@pytest.fixture(scope="module")
def small(at: At, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, str]]:
    """The items of the contract, a time at which they were so, and a change to each after it."""
    made = open_app(at(tmp_path_factory.mktemp("small")))
    for draft in ITEMS.values():
        made.engine.writing.remember(ME, draft)
    then = made.clock.now()
    for id in ITEMS:
        made.engine.writing.tag(ME, id, add=["later"])
    yield made, then
    made.close()


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_keeps_the_same_in_a_search_of_the_present_and_of_the_past(
    small: tuple[App, str], name: Any
) -> None:
    (app, then), (chosen, wanted) = small, FILTERS[name]
    assert (
        ids(app, "zebra", filter=chosen)
        == ids(app, "zebra", filter=chosen, mode="hybrid")
        == set(wanted)
    )
    assert chosen.where or ids(app, "zebra", filter=chosen, as_of=then) == set(wanted)


@pytest.mark.parametrize("name", PASSAGES)
def test_times_and_speakers_filter_passages(small: tuple[App, str], name: Any) -> None:
    (app, then), (chosen, wanted) = small, PASSAGES[name]
    assert (
        ids(app, "zebra", filter=chosen)
        == ids(app, "zebra", filter=chosen, mode="hybrid")
        == set(wanted)
    )
    assert ids(app, "zebra", filter=chosen, as_of=then) == set(wanted)


def test_forgotten_items_are_found_only_where_asked_for(app: App) -> None:
    kept, gone = fill(app, "zebra", "zebra too")
    app.engine.writing.forget(ME, gone)
    for forgotten, wanted in ((False, {kept}), (True, {gone}), (None, {kept, gone})):
        assert ids(app, "zebra", filter=Filter(forgotten=forgotten)) == wanted
        assert app.engine.reading.list_items(ME, Filter(forgotten=forgotten)).total == len(wanted)


def test_a_filter_sees_what_an_item_has_become(app: App) -> None:
    id = app.engine.writing.remember(
        ME, note("zebra", tags=("old",), namespace="old", project="old")
    ).item.id
    app.engine.writing.revise(
        ME, id, Patch(tags=("new",), namespace="new", project="new", status="done")
    )
    for name in ("tags_all", "tags_any", "namespaces", "projects"):
        before: dict[str, Any] = {name: ("old",)}
        after: dict[str, Any] = {name: ("new",)}
        assert ids(app, "zebra", filter=Filter(**before)) == set()
        assert ids(app, "zebra", filter=Filter(**after)) == {id}


# A crowd: 10,000 items in one import


@pytest.fixture(scope="module")
def crowd(at: At, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Every item says report; one in 10,000 has what a filter asks for; one of another user says
    okapi.
    """
    made = open_app(at(tmp_path_factory.mktemp("crowd")))
    odd = {
        "tags": ["needle"],
        "namespace": "haystack",
        "project": "haystack",
        "kind": "concept",
        "metadata": {"mark": 7},
        "title": "the needle",
    }
    words = {0: " alpha", 1: " beta"}  # each in a quarter of all, both together in 20
    made.engine.maintenance.import_(
        ME,
        (
            json.dumps(
                {
                    "content": f"report number{n}{words.get(n % 4, '')}"
                    f"{' alpha' if n % 1000 == 1 else ' beta' if n % 1000 == 500 else ''}"
                }
                | (odd if n == 7_777 else {})
            )
            for n in range(CROWD)
        ),
    )
    made.engine.writing.remember(BOB, note("okapi"))
    made.engine.writing.remember(BOB, note("report for all", audience=Audience.ORG, status="rare"))
    yield made
    made.close()


@pytest.mark.parametrize("mode", ["text", "hybrid"])
@pytest.mark.parametrize(
    "chosen",
    [
        Filter(tags_all=("needle",)),
        Filter(tags_any=("needle", "pin")),
        Filter(namespaces=("haystack",)),
        Filter(projects=("haystack",)),
        Filter(kinds=("concept",)),
        Filter(where=(Condition("mark", "eq", 7),)),
    ],
    ids=["tags all", "tags any", "namespace", "project", "kind", "where"],
)
def test_a_filter_that_keeps_one_in_ten_thousand_finds_it(
    crowd: App, chosen: Any, mode: str
) -> None:
    found = crowd.engine.recall.search(ME, Query("report", chosen, mode=mode))
    assert [hit.item.title for hit in found.hits] == ["the needle"]
    assert (found.total, found.warnings[:-1] if mode == "hybrid" else found.warnings) == (1, ())
    assert crowd.engine.reading.list_items(ME, chosen).total == 1


def test_a_status_or_an_owner_that_one_in_ten_thousand_has_is_found(crowd: App) -> None:
    for chosen in (Filter(statuses=("rare",)), Filter(owner="bob")):
        assert [
            hit.passage.text for hit in crowd.engine.recall.search(ME, Query("report", chosen)).hits
        ] == ["report for all"]
    assert {hit.passage.text for hit in crowd.engine.recall.search(BOB, Query("report")).hits} == {
        "report for all"
    }


def test_a_very_common_word_does_not_choose_beside_a_rare_one_but_is_found_alone(
    crowd: App,
) -> None:
    assert crowd.engine.recall.search(ME, Query("report number5", mode="text")).total == 1
    alone = crowd.engine.recall.search(ME, Query("report", mode="text"))
    assert (len(alone.hits), alone.total) == (10, MAX_CANDIDATES_PER_SIDE)
    assert "the best of them" in alone.warnings[0]
    for text in ("the report of a", "report unheard"):
        found = crowd.engine.recall.search(ME, Query(text, mode="text", threshold=0.0))
        assert found.total >= CANDIDATES[0]


def test_a_common_word_is_found_where_the_rare_one_is_filtered_out(crowd: App) -> None:
    query = Query("number5 report", Filter(tags_all=("needle",)), mode="text", threshold=0.0)
    assert crowd.engine.recall.search(ME, query).total == 1


def test_a_word_that_only_another_user_has_does_not_hide_ones_own_hits(crowd: App) -> None:
    query = Query("okapi report", mode="text", threshold=0.0)
    assert crowd.engine.recall.search(ME, query).total >= CANDIDATES[0]


@pytest.mark.parametrize("mode", ["text", "hybrid"])
@pytest.mark.parametrize("size", [90, 100, 250])
def test_pages_neither_overlap_nor_skip_also_in_a_crowd(crowd: App, mode: str, size: int) -> None:
    pages = [
        crowd.engine.recall.search(ME, Query("report", mode=mode, limit=size, offset=offset))
        for offset in range(0, 1001, size)
    ]
    seen = [hit.passage.item for page in pages for hit in page.hits]
    assert {page.total for page in pages} == {MAX_CANDIDATES_PER_SIDE}
    assert len(seen) == len(set(seen)) == MAX_CANDIDATES_PER_SIDE
    assert pages[-1].warnings == pages[0].warnings


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_the_total_of_several_common_words_is_the_same_on_every_page(crowd: App, mode: str) -> None:
    pages = [
        crowd.engine.recall.search(ME, Query("alpha beta", mode=mode, limit=8, offset=offset))
        for offset in range(0, 64, 8)
    ]
    assert len({page.total for page in pages}) == 1
    both = [hit.passage.text for page in pages for hit in page.hits][:20]
    assert all("alpha" in text and "beta" in text for text in both)


def test_pages_follow_one_order_with_falling_scores(app: App) -> None:
    fill(app, *("zebra " * (n % 5 + 1) + "filler " * (n % 7) for n in range(260)))
    whole = app.engine.recall.search(ME, Query("zebra", mode="text", limit=1000))
    parts = [
        app.engine.recall.search(ME, Query("zebra", mode="text", limit=20, offset=n))
        for n in range(0, 280, 20)
    ]
    assert [hit for part in parts for hit in part.hits] == list(whole.hits)
    assert {part.total for part in parts} == {260}
    scores = [hit.score for hit in whole.hits]
    assert scores == sorted(scores, reverse=True)


def test_one_hit_per_item_where_asked(app: App) -> None:
    talk = Draft(kind="conversation", blocks=tuple(Block(f"zebra {n}") for n in range(5)))
    app.engine.writing.remember(ME, talk)
    fill(app, "zebra")
    found = app.engine.recall.search(ME, Query("zebra", mode="text", per_item=True))
    assert (len(found.hits), found.total) == (2, 2)
    assert app.engine.recall.search(ME, Query("zebra", mode="text")).total == 6


# Words


@pytest.mark.parametrize(
    "text, query",
    [
        ("東京都に住んでいます", "東京"),
        ("東京都に住んでいます", "住んで"),
        ("会議は明日です", "明日"),
        ("我们选择了数据库", "数据"),
        ("서울에서 만나요", "서울"),
        ("テストケース", "ケース"),
        ("人々の声", "人々"),
        ("Meeting 会議 tomorrow", "会議"),
        ("Café crème", "cafe creme"),
        ("cafe creme", "CAFÉ"),
        ("naïve Ångström", "angstrom"),
        ("re\u0301sume\u0301", "résumé"),
        ("résumé", "re\u0301sume\u0301"),
        ("naive", "nai\u0308ve"),
        ("Straße", "straße"),
        ("ИВАН Грозный", "иван"),
        ("running quickly", "runs"),
        ("don't panic", "don't"),
        ("error_code_42", "error_code_42"),
        ("C3PO and R2D2", "r2d2"),
        ("a-b-c", "a-b-c"),
        ("ﬁle ﬂow", "ﬁle"),
        ("İstanbul", "istanbul"),
        ("हिन्दी भाषा", "भाषा"),
        ("สวัสดีครับ", "สวัสดีครับ"),
    ],
    ids=ascii,
)
def test_a_word_is_found_in_its_language(app: App, text: str, query: str) -> None:
    id, _ = fill(app, text, "something else entirely")
    assert ids(app, query) == {id}


def test_other_words_of_two_characters_are_not_found(app: App) -> None:
    fill(app, "東京都に住んでいます", "会議は明日です")
    for query in ("京東", "大阪", "明会"):
        assert ids(app, query) == set()


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_a_phrase_in_quotes_is_preferred_and_may_be_demanded(app: App, mode: str) -> None:
    exact, other = fill(app, "the quick brown fox jumps", "the brown quick fox jumps")
    for text in ('"quick brown"', 'fox "quick brown" jumps', '"the quick" "fox jumps"'):
        found = app.engine.recall.search(ME, Query(text, mode=mode))
        assert [hit.item.id for hit in found.hits] == [exact, other]
        assert found.hits[0].score > found.hits[1].score
        assert ids(app, text, mode=mode, needs_phrases=True) == {exact}
    assert ids(app, '"quick fox"', mode=mode, needs_phrases=True) == {other}
    assert ids(app, "quick brown", mode=mode) == {exact, other}
    chinese, _ = fill(app, "我们选择数据库", "数据选择我们")
    assert ids(app, '"选择数据"', mode=mode, needs_phrases=True) == {chinese}


def test_titles_and_speakers_are_searched_too(app: App) -> None:
    titled = app.engine.writing.remember(ME, note("text", title="The okapi file")).item.id
    said = app.engine.writing.remember(
        ME, Draft(kind="conversation", blocks=(Block("text", "Zoltan"),))
    ).item.id
    assert (ids(app, "okapi"), ids(app, "zoltan")) == ({titled}, {said})


@pytest.mark.parametrize(
    "query",
    [
        'zebra"',
        '"zebra',
        '""',
        '"',
        "zebra AND",
        "AND zebra",
        "zebra OR okapi",
        "NOT zebra",
        "NEAR(zebra giraffe, 2)",
        "zebra*",
        "*",
        "(zebra",
        "zebra)",
        "()",
        "body:zebra",
        "scope : see",
        "zebra:giraffe",
        "^zebra",
        "zebra + giraffe",
        "-zebra",
        "{body extra} : zebra",
        "1qzebra",
        "'; drop table item; --",
        "zebra; select",
        "%",
        "_",
        "\\",
        "zebra\n\r\tgiraffe",
        "\ufeff",
        "a" * 9_999,
        "\U0001f993",
        "\u202e",
        "zebra\u200bgiraffe",
        '"' * 999,
        "?!.",
        "$.n",
        "the",
        "NULL",
    ],
    ids=lambda query: ascii(query[:24]),
)
def test_query_syntax_does_no_harm(app: App, query: str) -> None:
    id, other = fill(app, "zebra and giraffe", "elephant")
    for mode in ("text", "hybrid"):
        assert other not in ids(app, query, mode=mode)
        if "zebra" in query and "1q" not in query and "\u200b" not in query:
            assert id in ids(app, query, mode=mode)
    assert app.engine.reading.list_items(ME).total == 2


def test_a_query_of_very_many_words_is_answered(app: App) -> None:
    words = " ".join(f"w{n:04d}" for n in range(1600))
    id, _ = fill(app, words, "else")
    assert ids(app, words) == {id}
    assert ids(app, " ".join(f'"{word}"' for word in words.split()[:20])) == {id}


# Tenants


def test_the_words_of_another_tenant_do_not_change_ones_hits_scores_and_order(app: App) -> None:
    fill(
        app,
        *("zebra " * (n % 3 + 1) + "okapi " * (n % 2) + "filler " * (n % 11) for n in range(180)),
    )
    queries = [Query("zebra okapi", mode="text", limit=limit) for limit in (10, 180)]
    before = [app.engine.recall.search(ME, query) for query in queries]
    texts = (
        ("zebra " if n % 4 else "okapi ") + "padding of other people " * 30 for n in range(300)
    )
    app.engine.maintenance.import_(
        Caller(tenant="globex"), (json.dumps({"content": text}) for text in texts)
    )
    assert [app.engine.recall.search(ME, query) for query in queries] == before
    assert app.engine.recall.search(ME, Query("padding", mode="text")).total == 0
    assert app.engine.recall.search(Caller(tenant="nobody"), Query("zebra", mode="text")).total == 0
