"""What the LangGraph store does, checked with the real package."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp, SearchOp

from memolith import Memory
from memolith.errors import InvalidInput, TooLarge
from memolith.integrations.langgraph import MemolithStore
from tests.integrations.checking import refused, run_checks


def check_a_value_is_kept_and_replaced(memory: Memory) -> None:
    store: BaseStore = MemolithStore(memory)
    place = ("users", "maría")
    store.put(place, "drink", {"text": "Maria prefers tea.", "sure": True, "list": [1, None]})
    first = store.get(place, "drink")
    assert first is not None
    assert first.value == {"text": "Maria prefers tea.", "sure": True, "list": [1, None]}
    assert (first.namespace, first.key) == (place, "drink")
    store.put(place, "drink", {"text": "Maria prefers coffee."})
    second = store.get(place, "drink")
    assert second is not None
    assert second.value == {"text": "Maria prefers coffee."}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    assert store.get(("users",), "drink") is None
    assert store.get(place, "food") is None


def check_search_finds_by_words_within_a_namespace_with_a_score(memory: Memory) -> None:
    store = MemolithStore(memory)
    store.put(("trips", "anna"), "1", {"text": "Anna sails to Iceland in June.", "year": 2024})
    store.put(("trips", "anna"), "2", {"text": "Anna hikes in Norway.", "year": 2025})
    store.put(("trips", "bert"), "1", {"text": "Bert sails to Iceland in May.", "year": 2026})
    found = store.search(("trips", "anna"), query="Who sails to Iceland?")
    assert [item.key for item in found][:1] == ["1"]
    assert {item.namespace for item in found} == {("trips", "anna")}
    assert found[0].score is not None
    assert 0 < found[0].score <= 1
    assert found[0].value["year"] == 2024
    both = store.search(("trips",), query="Who sails to Iceland?")
    assert {item.namespace[1] for item in both[:2]} == {"anna", "bert"}
    late = store.search(("trips",), query="Who sails to Iceland?", filter={"year": {"$gt": 2025}})
    assert [item.namespace[1] for item in late] == ["bert"]


def check_search_without_a_query_lists_and_filters(memory: Memory) -> None:
    store = MemolithStore(memory)
    for number in range(7):
        store.put(
            ("list",), str(number), {"number": number, "even": number % 2 == 0, "a": {"b": 1}}
        )
    assert [item.key for item in store.search(("list",), limit=3)] == ["6", "5", "4"]
    assert [item.key for item in store.search(("list",), limit=3, offset=6)] == ["0"]
    assert [i.key for i in store.search(("list",), filter={"even": True}, limit=2)] == ["6", "4"]
    assert [i.key for i in store.search(("list",), filter={"number": {"$gte": 2, "$lt": 4}})] == [
        "3",
        "2",
    ]
    assert len(store.search(("list",), filter={"a": {"b": 1}})) == 7
    assert store.search(("list",), filter={"number": {"$gt": "x"}}) == []
    unknown = {"number": {"$near": 2}}
    error = refused(InvalidInput, lambda: store.search(("list",), filter=unknown))
    assert error.field == "filter"


def check_what_is_not_indexed_is_not_found_by_a_query(memory: Memory) -> None:
    store = MemolithStore(memory)
    store.put(("quiet",), "zebra", {"text": "The zebra is asleep."}, index=False)
    store.put(("quiet",), "title", {"title": "Zebra stripes", "body": "Giraffes."}, index=["title"])
    assert [item.key for item in store.search(("quiet",), query="zebra")] == ["title"]
    assert store.search(("quiet",), query="giraffes") == []
    assert len(store.search(("quiet",))) == 2


def check_delete_takes_an_item_away_and_put_brings_a_new_one(memory: Memory) -> None:
    store = MemolithStore(memory)
    store.put(("gone",), "one", {"text": "Quagga"})
    store.delete(("gone",), "one")
    assert store.get(("gone",), "one") is None
    assert store.search(("gone",)) == []
    store.delete(("gone",), "one")
    store.put(("gone",), "one", {"text": "Dodo"})
    again = store.get(("gone",), "one")
    assert again is not None
    assert again.value == {"text": "Dodo"}


def check_namespaces_are_listed(memory: Memory) -> None:
    store = MemolithStore(memory)
    for namespace in (("n", "a", "x"), ("n", "a", "y"), ("n", "b", "x")):
        store.put(namespace, "1", {"text": "one"})
        store.put(namespace, "2", {"text": "two"})
    assert store.list_namespaces(prefix=("n",)) == [
        ("n", "a", "x"),
        ("n", "a", "y"),
        ("n", "b", "x"),
    ]
    assert store.list_namespaces(prefix=("n",), max_depth=2) == [("n", "a"), ("n", "b")]
    assert store.list_namespaces(prefix=("n", "*", "x")) == [("n", "a", "x"), ("n", "b", "x")]
    assert store.list_namespaces(prefix=("n",), suffix=("y",)) == [("n", "a", "y")]
    assert store.list_namespaces(prefix=("n",), limit=1, offset=1) == [("n", "a", "y")]


def check_a_batch_reads_before_it_writes(memory: Memory) -> None:
    store = MemolithStore(memory)
    results = store.batch(
        [
            PutOp(("batch",), "k", {"text": "first"}),
            GetOp(("batch",), "k"),
            PutOp(("batch",), "k", {"text": "last"}),
            SearchOp(("batch",)),
        ]
    )
    assert results == [None, None, None, []]
    assert [item.value for item in store.search(("batch",))] == [{"text": "last"}]


async def check_the_awaited_methods_do_the_same(memory: Memory) -> None:
    store = MemolithStore(memory)
    await store.aput(("awaited",), "k", {"text": "Maria prefers tea."})
    found = await store.asearch(("awaited",), query="tea")
    assert [item.key for item in found] == ["k"]
    await store.adelete(("awaited",), "k")
    assert await store.aget(("awaited",), "k") is None
    assert await store.alist_namespaces(prefix=("awaited",)) == []


def check_bad_input_is_refused_and_leaves_no_trace(memory: Memory) -> None:
    store = MemolithStore(memory)
    wrong: list[tuple[PutOp, type[Exception]]] = [
        (PutOp(("bad.label",), "k", {"text": "x"}), InvalidNamespaceError),
        (PutOp(("bad",), "k", {"text": object()}), InvalidInput),
        (PutOp(("bad",), "k", {"text": "x"}, ttl=5), NotImplementedError),
    ]
    for op, kind in wrong:
        ops = [PutOp(("bad",), "good", {"text": "x"}), op]
        refused(kind, partial(store.batch, ops))
    assert store.search(("bad",)) == []


def check_a_value_that_is_too_large_is_refused(memory: Memory) -> None:
    store = MemolithStore(memory)
    refused(TooLarge, lambda: store.put(("large",), "k", {"text": "word " * 30_000}))
    assert store.get(("large",), "k") is None


def check_keys_and_namespaces_of_any_length_and_script(memory: Memory) -> None:
    store = MemolithStore(memory)
    namespace = ("n" * 300, "名前", "a/b")
    for key in ("k" * 1000, "ключ", "sk-proj-Zx81pQ", " "):
        store.put(namespace, key, {"text": key})
        kept = store.get(namespace, key)
        assert kept is not None
        assert kept.namespace == namespace
    assert len(store.search(namespace)) == 4


def check_many_programs_put_one_key(memory: Memory) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda number: MemolithStore(memory).put(("race",), "k", {"number": number}),
                range(8),
            )
        )
    store = MemolithStore(memory)
    assert len(store.search(("race",))) == 1
    kept = store.get(("race",), "k")
    assert kept is not None
    assert kept.value["number"] in range(8)


if __name__ == "__main__":
    run_checks(globals())
