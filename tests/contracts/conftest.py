"""The fixtures of the contract. Each store's module only has to define `new_address`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from memolith.domain.callers import Caller
from memolith.engine.engine import Engine
from memolith.ports.store import Store
from memolith.ports.vectors import Vectors
from memolith.storage.client_keys import StoredKeys
from tests.contracts.choices import ITEMS, MODEL, vector_of
from tests.stores import engine_on, keys_on, open_store, row_on, vectors_on

pytest.register_assert_rewrite("contracts.store")


@pytest.fixture
def address(new_address: Callable[[], str]) -> str:
    """Where a fresh, empty store is."""
    return new_address()


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    """A fresh, empty store."""
    with closing(open_store(address)) as made:
        yield made


@pytest.fixture
def reopen(address: str) -> Iterator[Callable[[], Store]]:
    """Opens the same data again, as a second process would."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(open_store(address)))


@pytest.fixture
def engine(store: Store) -> Engine:
    """Memory on the fresh store."""
    return engine_on(store)


@pytest.fixture
def keys(store: Store) -> StoredKeys:
    """The client keys of the fresh store."""
    return keys_on(store)


@pytest.fixture
def vectors(store: Store) -> Callable[..., Vectors]:
    """Makes the vector stage of a model."""
    return lambda model=MODEL, dimension=8: vectors_on(store, model, dimension)


@pytest.fixture(scope="module")
def zoo(new_address: Callable[[], str]) -> Iterator[Store]:
    """The items of `choices` with vectors, and copies of them in another tenant; only to read."""
    with closing(open_store(new_address())) as made:
        engine = engine_on(made)
        for caller in (Caller(), Caller("globex")):
            for id, draft in ITEMS.items():
                engine.writing.remember(caller, draft)
                with made.writing(caller.tenant) as rows:
                    row = row_on(made, vector_of(id))
                    for ref, _, _ in rows.unembedded(caller.tenant, id, MODEL):
                        rows.put_vector(ref, MODEL, b"digest of " + id.encode() * 6, row)
        yield made
