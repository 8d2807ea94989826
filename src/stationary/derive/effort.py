"""How much algebra a derivation may do, counted in operations: every machine stops at the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any

import sympy as sp

from stationary.errors import DerivationError

#: Terms that one expression may have when its products are multiplied out.
MOST_EXPANDED = 1000

#: Operations and terms of all expressions that one derivation simplifies, and that one step of it
#: does.
WHOLE, STEP = 20_000, 5_000

#: Operations that are differentiated for one derivation.
MOST_DERIVED = 200_000

#: Operations above which an expression is not written down.
LONGEST = 1000


class TooLong(DerivationError):
    """What follows from a statement is too long to be read; numbers need no such form."""


@dataclass
class Effort:
    """What may still be spent on simplifying, and whether something was left as it was."""

    left: int
    stopped: bool = False


_effort: ContextVar[Effort | None] = ContextVar("effort", default=None)


@contextmanager
def bounded(operations: int = STEP) -> Iterator[Effort]:
    """Bound what is spent on simplifying inside; what is left as it was is noted."""
    effort = Effort(operations)
    token = _effort.set(effort)
    try:
        yield effort
    finally:
        _effort.reset(token)


def bounded_in_all(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the same work, bounded also where nothing around it bounds it."""

    @wraps(work)
    def bounded_work(e: Any) -> Any:
        if _effort.get() is not None:
            return work(e)
        with bounded():
            return work(e)

    return bounded_work


def affordable(e: sp.Expr, operations: int) -> bool:
    """Tell whether an expression of so many operations may be simplified, and take the cost off."""
    count = expanded(e)
    effort = _effort.get()
    fine = count <= MOST_EXPANDED and (effort is None or count + operations <= effort.left)
    if effort is not None:
        effort.left -= (count + operations) * fine
        effort.stopped = effort.stopped or not fine
    return fine


def expanded(e: sp.Expr) -> int:
    """Return how many terms an expression has when its products are multiplied out."""
    known: dict[Any, int] = {}

    def terms(e: Any) -> int:
        count = known.get(e)
        if count is None:
            if e.is_Add:
                count = sum(map(terms, e.args))
            elif e.is_Mul:
                count = math.prod(map(terms, e.args))
            elif e.is_Pow and e.exp.is_Integer and e.exp.is_positive:
                count, power = terms(e.base), int(e.exp)
                # Large powers are not worked out: they are beyond every limit.
                many = count > 1 and power > MOST_EXPANDED
                count = MOST_EXPANDED + 1 if many else math.comb(count + power - 1, power)
            else:
                count = 1
            known[e] = count
        return count

    return terms(e)


def operations(several: Any, most: int = LONGEST) -> int:
    """Return how many operations expressions have, counted up to one beyond `most`."""
    walk = (1 for e in several for node in sp.preorder_traversal(e) if node.args)
    return sum(islice(walk, most + 1))


def is_long(several: Any, most: int = LONGEST) -> bool:
    """Tell whether expressions have more operations than anyone reads."""
    return operations(several, most) > most
