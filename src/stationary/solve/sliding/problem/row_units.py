"""In which units rows are written: constraints, gaps, and what friction acts along.

A constraint c·R = 0 says the same for every c, and so does a limit F/c along c times a slip. Rows
that change very differently from what rubs are taken times a power of two, which changes no digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stationary.derive.sliding import Factors
from stationary.solve.sliding.problem.numbers import Problem, by_columns, by_rows, most_of

# Rows that change this many times faster or slower than what rubs are written in other units.
_OTHER = 2.0**10
# A gradient that changes by its size within this share of the coordinates vanishes at the place:
# it tells nothing about units.
_VANISHES = 1e-8

#: The second derivatives of a row, by its number among rates, constraints and gaps.
Bends = Callable[[int], Any]


def factors_of(problem: Problem, rubs: np.ndarray, q: np.ndarray, bends: Bends) -> Factors | None:
    """Return the factors of all rows of a problem with all contacts; None where none has any.

    `rubs` is for each friction term the contact that presses it, or −1.
    """
    slips = _slip_factors(problem, rubs, q, bends)
    if slips.any():
        problem = replace(problem, B=by_rows(2.0 ** slips[problem.term], problem.B))
    rates, rows = len(problem.c), len(problem.b)
    sizes = np.append(problem.row_sizes, problem.sizes_of(problem.matrices[2]))
    exponents = np.zeros(len(sizes), dtype=int)
    for i in np.flatnonzero(_other(sizes)).tolist():
        matrix, k = (problem.matrices[1], i) if i < rows else (problem.matrices[2], i - rows)
        size = _size(abs(matrix[[k]]), problem.levers, q, bends, rates + i)
        exponents[i] = _exponent(size) if _other(size) else 0
    if not slips.any() and not exponents.any():
        return None
    presses = np.where(rubs >= 0, np.append(exponents[rows:], 0)[rubs], 0)[problem.term]
    parts = slips[problem.term], exponents[:rows], exponents[rows:], presses
    return Factors(*(tuple(x.tolist()) for x in parts))


def _slip_factors(problem: Problem, rubs: np.ndarray, q: np.ndarray, bends: Bends) -> np.ndarray:
    """Return for each friction term the power of two in which its slip is that of others.

    Slips that change as their coordinates do are as they should be; without any, as most of them.
    """
    exponents, B = np.zeros(problem.terms, dtype=int), abs(problem.matrices[0])
    if not problem.terms:
        return exponents
    sizes = np.maximum.reduceat(most_of(B, 1), problem.starts)
    if not np.any(_other(sizes)):
        return exponents
    usual = 1.0 if not np.all(_other(sizes) | (sizes == 0)) else float(np.median(sizes[sizes > 0]))
    known = ~_other(sizes / usual) & (sizes > 0)
    arms = most_of(B[known[problem.term]], 0)
    # Without pressure of contacts a coefficient is what limits are compared with.
    limit = float(problem.size[known & (problem.power == 0) & (rubs < 0)].max(initial=0.0))
    for k in np.flatnonzero(~known & (sizes > 0)).tolist():
        first = int(problem.starts[k])
        rows = B[problem.part(k)]
        shared = (most_of(rows, 0) > 0) & (arms > 0)
        levers = np.where(shared, arms, np.inf) if shared.any() else np.full(len(arms), usual)
        size = max(
            _size(rows[[i]], levers, q, bends, first + i) for i in range(int(problem.widths[k]))
        )
        exponent = _exponent(size) if _other(size) else 0
        if not shared.any():
            # A lever of its own, or a unit: that is a unit which makes limits more alike.
            other = limit if rubs[k] < 0 else 1.0
            apart = np.log2(problem.size[k] / other) if problem.size[k] and other else 0.0
            alike = abs(apart - exponent * (problem.power[k] + 1)) < abs(apart)
            exponent = exponent if alike else 0
        exponents[k] = exponent
    return exponents


def _other(sizes: Any) -> Any:
    """Tell which sizes are those of other units."""
    return (sizes > 0) & ((sizes > _OTHER) | (sizes < 1 / _OTHER))


def _exponent(size: float) -> int:
    return -int(np.round(np.log2(size)))


def _size(row: Any, levers: np.ndarray, q: np.ndarray, bends: Bends, number: int) -> float:
    """Return how fast a row without signs changes with velocities of what rubs, near the place."""
    size = float(most_of(by_columns(row, 1 / levers), 1)[0])
    bent = np.asarray(abs(bends(number)) @ np.abs(q)).ravel() / levers
    change = float(bent.max(initial=0.0))
    return size if size > _VANISHES * change else change
