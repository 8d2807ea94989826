"""Starts: outside of every body, or moved there by the little that rounded numbers ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.solve.touch.at_state import Facts, shares
from stationary.solve.touch.margins import ROUNDINGS

# A start is mended that is inside a body by less than these parts of what its coordinates make of
# the gap, and of the way that they would make.
_TYPED, _WAY = 1e-2, 1e-3

# Newton steps out of a body.
_STEPS = 8


def outside(
    look: Callable[[np.ndarray], Facts], y: np.ndarray, span: float, repair: bool
) -> tuple[np.ndarray, float]:
    """Return a state that is inside no body, and how far it was moved.

    Numbers that were rounded when they were typed leave contacts a little closed: these are opened
    by the smallest move. A start that is further inside is refused.
    """
    facts = look(y)
    _refuse(facts, _near(facts, span) if repair else 0.0)
    n, moved = len(facts.q), 0.0
    shut = facts.value[facts.gaps] < -facts.value_rounding[facts.gaps]
    if not shut.any():
        return y, moved
    rows = [*range(facts.fixed), *(facts.fixed + np.flatnonzero(shut)).tolist()]
    start = y
    for _ in range(_STEPS):
        G, value = facts.C[rows], facts.value[rows]
        lengths = np.linalg.solve(facts.M, G.T)
        step = -lengths @ shares(G @ lengths, value)
        y = np.concatenate([y[:n] + step, y[n:]])
        facts = look(y)
        if np.all(np.abs(facts.value[rows]) <= facts.value_rounding[rows]):
            break
    _refuse(facts, 0.0)
    way = y[:n] - start[:n]
    return y, float(np.sqrt(way @ facts.M @ way / 2))


def _near(facts: Facts, span: float) -> np.ndarray:
    return mended_of(facts.C[facts.gaps], facts.q, facts.v, facts.free, span)


def mended_of(G: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray, span: float) -> np.ndarray:
    """Return how far inside a start may be to be mended; a are accelerations without contact."""
    way = np.abs(v) * span + np.abs(a) * span**2
    return np.minimum(_TYPED * (abs(G) @ np.abs(q)), _WAY * (abs(G) @ way))


def _refuse(facts: Facts, near: np.ndarray | float) -> None:
    """Refuse a start inside a body."""
    rounding = np.maximum(facts.value_rounding[facts.gaps], near)
    refuse_inside(facts.value[facts.gaps], rounding, lambda i: facts.touch.names[i])


def refuse_inside(gaps: np.ndarray, rounding: np.ndarray, name: Callable[[int], str]) -> None:
    """Refuse gaps that are more negative than rounding makes them."""
    deep = np.flatnonzero(gaps < -rounding)
    if len(deep):
        i = int(deep[np.argmin(gaps[deep])])
        raise StatementError(
            f"the start is inside a body: contact '{name(i)}' is closed too far.",
            f"Found a gap of {gaps[i]:.6g}, expected zero or more.",
            "Start where every gap is open, or just closed.",
        )


def moved_by_action(was: Facts, now: Facts) -> np.ndarray:
    """Return which contacts an action has moved; refuse one that leads inside a body.

    A gap that the action leaves alone is as closed as it was.
    """
    at, gaps = now.gaps, now.value[now.gaps]
    room = ROUNDINGS * np.maximum(was.value_rounding[at], now.value_rounding[at])
    moved = np.abs(gaps - was.value[at]) > room
    for i in np.flatnonzero(moved & (gaps < -room))[:1]:
        raise StatementError(
            f"the action of an event at t = {now.t:.6g} leads inside a body: contact "
            f"'{now.touch.names[i]}' is closed too far.",
            f"Found a gap of {gaps[i]:.6g} after it, expected zero or more.",
            "Jump to where every gap is open, or just closed.",
        )
    return moved


def refuse_coefficients(
    restitution: np.ndarray, limits: np.ndarray, contact: Callable[[int], str],
    rub: Callable[[int], tuple[str, bool]],
) -> None:  # fmt: skip
    """Refuse coefficients that no contact has; a rub has a name, and may be that of a contact."""
    wrong = np.flatnonzero(~((restitution >= 0) & (restitution <= 1)))
    if len(wrong):
        i = int(wrong[0])
        raise StatementError(
            f"the restitution of contact '{contact(i)}' is not between 0 and 1.",
            f"Found {restitution[i]:g} with these parameters.",
            "Give 0 for an impact without rebound, 1 for one without loss.",
        )
    wrong = np.flatnonzero(~(limits >= 0))
    if len(wrong):
        name, at_contact = rub(int(wrong[0]))
        what = "friction coefficient of contact" if at_contact else "limit of friction"
        raise StatementError(
            f"the {what} '{name}' is negative at the start.",
            f"Found {limits[wrong[0]]:g} with these parameters; friction acts against the motion.",
            "Give zero or a positive number; the direction follows from the motion.",
        )
