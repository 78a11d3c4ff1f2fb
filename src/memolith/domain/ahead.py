"""Work done ahead of a write: what it needs of its texts, computed before it takes the lock.

While a program holds the write lock, all others wait. Redacting, cutting and indexing a long text
takes longer than writing it, and depends on nothing but the text.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_kept: ContextVar[dict[object, dict[object, object]] | None] = ContextVar(
    "work done ahead", default=None
)
"""By function, its results by the arguments."""


@contextmanager
def working_ahead() -> Iterator[None]:
    """Keep the results of functions that are marked with `kept_ahead` until the block ends."""
    if _kept.get() is not None:
        yield
        return
    token = _kept.set(defaultdict(dict))
    try:
        yield
    finally:
        _kept.reset(token)


def kept_ahead(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function whose result depends on its arguments alone; callers do not change it."""

    @wraps(function)
    def look_up(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        kept = _kept.get()
        if kept is None:
            return function(*args, **kwargs)
        results = kept[function]
        key = (args, tuple(kwargs.items())) if kwargs else args
        if key not in results:
            results[key] = function(*args, **kwargs)
        return cast(Result, results[key])

    return look_up
