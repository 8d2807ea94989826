"""How many processors there are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar

_SHARE: ContextVar[int | None] = ContextVar("share", default=None)


def cores() -> int:
    """Return how many processors this process, or this task, may use."""
    share = _SHARE.get()
    if share is not None:
        return share
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def using(count: int) -> Iterator[None]:
    """Use so many processors: others compute on those that are left."""
    before = _SHARE.set(count)
    try:
        yield
    finally:
        _SHARE.reset(before)
