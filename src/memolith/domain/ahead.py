"""Work done ahead of a write: what it needs of its texts, computed before it takes the lock.

While a program holds the write lock, all others wait. Redacting, cutting and indexing a long text
takes longer than writing it, and depends on nothing but the text.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_kept: ContextVar[dict[object, object] | None] = ContextVar("work done ahead", default=None)


@contextmanager
def working_ahead() -> Iterator[None]:
    """Keep the results of functions that are marked with `kept_ahead` until the block ends."""
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
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
        key = (function, args, tuple(kwargs.items()))
        if key not in kept:
            kept[key] = function(*args, **kwargs)
        return cast(Result, kept[key])

    return look_up
