"""Which rows of a sorted list make a page."""

from typing import NamedTuple


class PageWindow(NamedTuple):
    """The rows to read, counted from the beginning of the list or from its end."""

    start: int
    limit: int
    from_end: bool


def page_window(total: int, offset: int, limit: int) -> PageWindow:
    """The rows of a page. One in the second half of the list is read from the end, which is nearer.

    A total of 0 means that it is not known.
    """
    if total // 2 < offset < total:
        return PageWindow(
            start=max(0, total - offset - limit), limit=min(limit, total - offset), from_end=True
        )
    return PageWindow(start=offset, limit=limit, from_end=False)
