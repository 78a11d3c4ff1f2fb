"""Checks of mem0's own client. They run in an environment with `mem0ai`, without memolith and
without pytest, and print the name of each check that passed.

Where the package does not do what its own documentation says, a comment tells how.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable
from typing import Any

import httpx
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.types import AddMemoryOptions, SearchMemoryOptions, UpdateMemoryOptions
from mem0.exceptions import MemoryNotFoundError, ValidationError

SERVER = os.environ["CHECK_URL"]
HOST = SERVER + "/mem0"
KEY = os.environ["CHECK_KEY"]
NOBODY = "123e4567-e89b-12d3-a456-426614174000"
PUBLIC = {
    "add",
    "batch_delete",
    "batch_update",
    "chat",
    "create_memory_export",
    "create_webhook",
    "delete",
    "delete_all",
    "delete_users",
    "delete_webhook",
    "feedback",
    "generate_profile",
    "get",
    "get_all",
    "get_memory_export",
    "get_profile",
    "get_profile_job",
    "get_profile_settings",
    "get_project",
    "get_summary",
    "get_webhooks",
    "history",
    "reset",
    "sample_profiles",
    "search",
    "update",
    "update_profile_settings",
    "update_project",
    "update_webhook",
    "users",
}


def client() -> MemoryClient:
    return MemoryClient(api_key=KEY, host=HOST)


def core(tool: str, **arguments: Any) -> Any:
    """What a tool of memolith answers: the one store behind all of this."""
    answer = httpx.post(
        f"{SERVER}/mcp/tools/{tool}",
        json=arguments,
        headers={"X-API-Key": KEY},
        trust_env=False,
        timeout=120,
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def item_of(id: str) -> Any:
    return core("fetch", ids=[id])["items"][0]


def added(text: str, user: str, **more: Any) -> str:
    """The id of a memory that is kept word for word."""
    (result,) = client().add(text, user_id=user, infer=False, **more)["results"]
    return str(result["id"])


def raises(kind: type[Exception], call: Callable[[], object]) -> Exception:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def check_every_public_method_is_known() -> None:
    public = {name for name in dir(MemoryClient) if not name.startswith("_")}
    assert public == PUBLIC, public ^ PUBLIC


def check_a_wrong_key_is_refused() -> None:
    error = raises(ValueError, lambda: MemoryClient(api_key="m0-" + "0" * 64, host=HOST))
    assert "key" in str(error)


def check_add_infers_facts() -> None:
    messages = [
        {"role": "user", "content": "Hi, I'm Alex. I'm a vegetarian and I'm allergic to nuts."},
        {"role": "assistant", "content": "Hello Alex! I've noted that you are vegetarian."},
        {"role": "user", "content": "What should I cook tonight?"},
    ]
    answer = client().add(messages, user_id="alex", metadata={"channel": "chat"})
    assert answer["status"] == "SUCCEEDED"
    assert answer["method"] == "built-in"
    texts = [result["memory"] for result in answer["results"]]
    assert texts == ["I'm a vegetarian and I'm allergic to nuts."], texts
    item = item_of(answer["results"][0]["id"])
    assert item["metadata"]["user_id"] == "alex"
    assert item["metadata"]["channel"] == "chat"
    again = client().add(messages, user_id="alex", metadata={"channel": "chat"})
    assert again["results"] == []


def check_add_verbatim() -> None:
    answer = client().add(
        [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}],
        AddMemoryOptions(filters={"user_id": "verbatim"}, infer=False),
    )
    assert [result["memory"] for result in answer["results"]] == ["Why?", "Because."]
    assert item_of(answer["results"][1]["id"])["content"] == "Because."


def check_add_of_an_agent() -> None:
    messages = [
        {"role": "user", "content": "I want to know how you work."},
        {"role": "assistant", "content": "I answer in short sentences."},
    ]
    answer = client().add(messages, agent_id="helper")
    assert [result["memory"] for result in answer["results"]] == ["I answer in short sentences."]


def check_add_without_a_user_is_refused() -> None:
    error = raises(ValidationError, lambda: client().add("A fact about nobody."))
    assert "user_id" in str(error)


def check_add_refuses_what_is_not_offered() -> None:
    options = AddMemoryOptions(custom_instructions="Only food.")
    error = raises(ValidationError, lambda: client().add("I like tea.", options, user_id="a"))
    assert "custom_instructions" in str(error)


def check_get() -> None:
    id = added("Alice moved to Oslo.", "alice", metadata={"city": "Oslo"})
    memory = client().get(id)
    assert memory["memory"] == "Alice moved to Oslo."
    assert memory["user_id"] == "alice"
    assert memory["metadata"] == {"city": "Oslo"}
    assert raises(MemoryNotFoundError, lambda: client().get(NOBODY))


def check_get_all() -> None:
    ids = [added(f"Fact number {number}.", "lister") for number in range(3)]
    page = client().get_all(filters={"user_id": "lister"}, page=1, page_size=2)
    assert page["count"] == 3
    assert [memory["id"] for memory in page["results"]] == ids[:0:-1]
    assert page["next"] is not None
    rest = client().get_all(filters={"user_id": "lister"}, page=2, page_size=2)
    assert [memory["id"] for memory in rest["results"]] == ids[:1]
    raises(ValueError, lambda: client().get_all(user_id="lister"))
    raises(ValidationError, lambda: client().get_all(filters={"channel": "chat"}))


def check_search() -> None:
    tea = added("Bo drinks green tea in the morning.", "bo", metadata={"topic": "drinks"})
    added("Bo rides a red bicycle.", "bo")
    added("Kim drinks green tea, too.", "kim")
    answer = client().search("What does Bo drink?", filters={"user_id": "bo"}, top_k=5)
    assert answer["results"][0]["id"] == tea
    assert {memory["user_id"] for memory in answer["results"]} == {"bo"}
    assert 0 < answer["results"][0]["score"] <= 1
    recalled = core("recall", query="What does Bo drink?")["hits"]
    assert tea in [hit["id"] for hit in recalled]


def check_search_with_filters() -> None:
    drink = added("Green tea is what Ola drinks.", "ola", metadata={"cups": 3})
    added("Ola drinks coffee on Sundays.", "ola", metadata={"cups": 1})
    filters = {"AND": [{"user_id": "ola"}, {"cups": {"gte": 2}}]}
    options = SearchMemoryOptions(filters=filters, fields=["memory"], threshold=0.0)
    answer = client().search("What does Ola drink?", options)
    assert [memory["id"] for memory in answer["results"]] == [drink]
    assert set(answer["results"][0]) == {"id", "memory", "score"}
    either = {"OR": [{"user_id": "ola"}, {"user_id": "bo"}], "NOT": [{"cups": 1}]}
    found = client().get_all(filters=either)["results"]
    assert {memory["user_id"] for memory in found} <= {"ola", "bo"}
    assert drink in [memory["id"] for memory in found]


def check_update() -> None:
    id = added("Dee lives in Rome.", "dee", metadata={"room": "a"})
    changed = client().update(id, text="Dee lives in Paris.", metadata={"floor": 2})
    assert changed["memory"] == "Dee lives in Paris."
    assert changed["metadata"] == {"room": "a", "floor": 2}
    assert item_of(id)["content"] == "Dee lives in Paris."
    dated = client().update(id, UpdateMemoryOptions(expiration_date="2999-12-31"))
    assert dated["expiration_date"] == "2999-12-31"
    assert client().update(id, expiration_date=None)["expiration_date"] is None


def check_expired_memories_are_hidden() -> None:
    id = added("A sale until yesterday.", "shopper", expiration_date="2020-01-01")
    assert client().get_all(filters={"user_id": "shopper"})["results"] == []
    shown = client().get_all(filters={"user_id": "shopper"}, show_expired=True)["results"]
    assert [memory["id"] for memory in shown] == [id]


def check_delete() -> None:
    id = added("Eve likes jazz.", "eve")
    assert client().delete(id) == {"message": "Memory deleted successfully!"}
    raises(MemoryNotFoundError, lambda: client().get(id))
    core("restore", id=id)
    assert client().get(id)["memory"] == "Eve likes jazz."


def check_delete_all() -> None:
    added("Fay likes rock.", "fay")
    kept = added("Gus likes pop.", "gus")
    client().delete_all(user_id="fay")
    assert client().get_all(filters={"user_id": "fay"})["count"] == 0
    assert client().get(kept)["memory"] == "Gus likes pop."
    raises(ValidationError, lambda: client().delete_all())


def check_history() -> None:
    id = added("Hal is five.", "hal")
    client().update(id, text="Hal is six.")
    events = client().history(id)
    assert [event["event"] for event in events] == ["ADD", "UPDATE"]
    assert (events[1]["old_memory"], events[1]["new_memory"]) == ("Hal is five.", "Hal is six.")


def check_batches() -> None:
    first = added("Ivy has a cat.", "ivy")
    second = added("Ivy has a dog.", "ivy")
    answer = client().batch_update(
        [
            {"memory_id": first, "text": "Ivy has two cats."},
            {"memory_id": second, "metadata": {"a": 1}},
        ]
    )
    assert answer["message"] == "Successfully updated 2 memories"
    assert item_of(first)["content"] == "Ivy has two cats."
    answer = client().batch_delete([{"memory_id": first}, {"memory_id": second}])
    assert answer["message"] == "Successfully deleted 2 memories"
    assert client().get_all(filters={"user_id": "ivy"})["count"] == 0


def check_feedback() -> None:
    id = added("Jo plays chess.", "jo")
    answer = client().feedback(id, feedback="positive", feedback_reason="It is true.")
    assert answer["feedback"] == "POSITIVE"
    assert item_of(id)["metadata"]["feedback_reason"] == "It is true."


def check_users() -> None:
    added("Lea likes figs.", "lea", app_id="kitchen")
    users = client().users()["results"]
    assert {("user", "lea"), ("app", "kitchen")} <= {(one["type"], one["name"]) for one in users}
    client().delete_users(user_id="lea")
    assert "lea" not in [one["name"] for one in client().users()["results"]]
    raises(MemoryNotFoundError, lambda: client().delete_users(user_id="lea"))


async def check_the_asynchronous_client() -> None:
    async with AsyncMemoryClient(api_key=KEY, host=HOST) as remote:
        made = await remote.add("Mia has a red boat.", user_id="mia", infer=False)
        id = made["results"][0]["id"]
        assert (await remote.get(id))["memory"] == "Mia has a red boat."
        found = await remote.search("Which boat has Mia?", filters={"user_id": "mia"})
        assert found["results"][0]["id"] == id
        assert (await remote.get_all(filters={"user_id": "mia"}))["count"] == 1
        await remote.update(id, text="Mia has a blue boat.")
        assert len(await remote.history(id)) == 2
        await remote.delete(id)
        assert (await remote.get_all(filters={"user_id": "mia"}))["count"] == 0


def check_what_is_not_offered_is_told() -> None:
    raises(NotImplementedError, lambda: client().chat())
    for call in (
        lambda: client().get_project(),
        lambda: client().update_project(custom_instructions="Only food."),
        lambda: client().project.get(),
        lambda: client().create_memory_export(schema="{}", user_id="alex"),
        lambda: client().get_memory_export(user_id="alex"),
        lambda: client().get_summary(filters={"user_id": "alex"}),
        lambda: client().get_profile("alex"),
        lambda: client().generate_profile("alex"),
        lambda: client().get_profile_settings(),
        lambda: client().sample_profiles(),
        lambda: client().get_webhooks("project"),
        lambda: client().create_webhook("http://127.0.0.1", "name", "project", ["memory_add"]),
        lambda: client().delete_webhook(1),
    ):
        assert "There is no such path." in str(raises(MemoryNotFoundError, call))


def check_reset() -> None:
    added("Ned is gone soon.", "ned")
    assert "reset successful" in client().reset()["message"]
    assert client().users()["results"] == []


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            if inspect.iscoroutinefunction(check):
                asyncio.run(check())
            else:
                check()
            print(name, flush=True)
