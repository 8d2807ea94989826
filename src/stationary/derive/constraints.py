"""Constraints: which rows say nothing new, and which rows on velocities are rows on coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np
import sympy as sp
from scipy.linalg import null_space
from sympy.integrals.manualintegrate import manualintegrate

from stationary.derive.effort import is_long
from stationary.derive.findings import Finding
from stationary.derive.sampling import compiled, sampled, states_of, vanish
from stationary.model.symbols import Coordinate, Velocity, t

# Random states at which the rank is examined, how many are tried for them, steps of Newton's method
# onto the constraints, and the size, relative to the whole row, of what a row must add to those
# before it.
STATES, _TRIES, _STEPS, _RANK = 3, 12, 60, 1e-8

# Operations of a row that is integrated in closed form.
_SHORT = 60


@dataclass(frozen=True)
class Row:
    """A row on velocities, A(q) q̇ + b = 0, as a form over dq and dt.

    Attributes
    ----------
    name : str
    integrable : bool
        Whether it is, by itself or together with the others, a condition on coordinates.
    integral : Expr or None
        h with h = constant as that condition, where one was found.
    """

    name: str
    integrable: bool
    integral: sp.Expr | None


def form(e: sp.Expr, q: list[Coordinate]) -> list[sp.Expr]:
    """Return the coefficients of dq and dt of a row on velocities."""
    coefficients = [e.diff(x.dot) for x in q]
    rest = e.xreplace({x.dot: sp.S.Zero for x in q})
    return [*coefficients, rest]


def integrability(rows: list[tuple[str, sp.Expr]], held: list[sp.Expr], q: list) -> list[Row]:
    """Decide by Frobenius' theorem which rows on velocities are conditions on coordinates.

    A row ω is integrable by itself if ω ∧ dω = 0. A set of rows is integrable if every dω vanishes
    on the motions that all rows, and the gradients of the constraints `held`, allow.
    """
    if not rows:
        return []
    space = [*q, t]
    forms = [form(e, q) for _, e in rows]
    gradients = [[R.diff(x) for x in space] for R in held]
    jointly_closed = _closed_on(forms, [*forms, *gradients], space)
    verdicts = []
    for (name, _), omega, jointly in zip(rows, forms, jointly_closed):
        alone = _alone(omega, space)
        integral = _integral(omega, space) if alone else None
        verdicts.append(Row(name, alone or (jointly and all(jointly_closed)), integral))
    return verdicts


def _d(omega: list[sp.Expr], space: list, i: int, j: int) -> sp.Expr:
    return omega[j].diff(space[i]) - omega[i].diff(space[j])


def _alone(omega: list[sp.Expr], space: list) -> bool:
    """Tell whether ω ∧ dω = 0."""
    present = [i for i, e in enumerate(omega) if e != 0 or _occurs(omega, space[i])]
    return vanish(
        omega[i] * _d(omega, space, j, k)
        + omega[j] * _d(omega, space, k, i)
        + omega[k] * _d(omega, space, i, j)
        for i, j, k in combinations(present, 3)
    )[0]


def _occurs(omega: list[sp.Expr], symbol: sp.Symbol) -> bool:
    return any(e.has(symbol) for e in omega)


def _closed_on(forms: list, rows: list, space: list) -> list[bool]:
    """Tell for every form whether dω vanishes on the motions that the rows allow."""
    n, pairs = len(space), list(combinations(range(len(space)), 2))
    slopes = [_d(omega, space, i, j) for omega in forms for i, j in pairs]
    numbers = [*(e for row in rows for e in row), *slopes]
    answers = np.ones(len(forms), dtype=bool)
    for values in sampled(numbers):
        split = len(rows) * n
        A = np.array([float(x) for x in values[:split]]).reshape(-1, n)
        size = np.linalg.norm(A, axis=1, keepdims=True)
        free = null_space(A / np.where(size > 0, size, 1), rcond=_RANK)
        S = np.zeros((len(forms), n, n))
        S[:, *np.array(pairs).T] = np.reshape([float(x) for x in values[split:]], (len(forms), -1))
        S -= S.transpose(0, 2, 1)
        left = np.abs(free.T @ S @ free).max(axis=(1, 2), initial=0.0)
        answers &= left <= _RANK * np.abs(S).max(axis=(1, 2))
    return answers.tolist()


def _integral(omega: list[sp.Expr], space: list) -> sp.Expr | None:
    """Return h with dh ∝ ω, trying the form itself and divided by products of its coefficients."""
    if is_long(omega, _SHORT):
        return None
    varying = [e for e in omega if e.free_symbols]
    factors = [sp.S.One, *(1 / e for e in varying)]
    factors += [1 / (a * b) for a, b in combinations_with_replacement(varying, 2)]
    for factor in factors:
        scaled = [sp.simplify(factor * e) for e in omega]
        pairs = combinations(range(len(space)), 2)
        if not vanish(_d(scaled, space, i, j) for i, j in pairs)[0]:
            continue
        h = sp.S.Zero
        for e, x in zip(scaled, space):
            # By rules alone: they end, and what they do not know is no short integral.
            part = manualintegrate(sp.simplify(e - h.diff(x)), x)
            if part.has(sp.Integral):
                return None
            h += part
        return sp.simplify(h)
    return None


def redundant(A: sp.Matrix, R: list[sp.Expr], names: list[str], q: list) -> tuple[list[str], int]:
    """Return names of rows that add nothing to those before them, and at how many states that is.

    The states are random and meet the constraints.
    """
    values = _of_states((*R, *A), q)

    def rows(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = values(q)
        return both[: len(R)], both[len(R) :].reshape(A.shape)

    return redundant_rows(rows, len(q), names)


def definite_where_held(M: sp.Matrix, A: sp.Matrix, R: list[sp.Expr], q: list) -> tuple[float, int]:
    """Return the least eigenvalue of M along what the rows leave free, and at how many states."""
    values, first, last = _of_states((*R, *A, *M), q), len(R), len(R) + len(A)

    def rows(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        every = values(q)
        return every[:first], every[first:last].reshape(A.shape)

    return least_where_held(rows, lambda q: values(q)[last:].reshape(M.shape), len(q))


def _of_states(expressions: Sequence[sp.Expr], q: list) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of q: what has no value takes one that is random, speeds a small one."""
    occurring = {s for e in expressions for s in e.free_symbols}
    symbols = sorted(occurring - {*q, t}, key=str)
    function = compiled([*q, t, *symbols], list(expressions), "numpy")
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(0.5, 1.5) * (0.2 if isinstance(s, Velocity) else 1) for s in symbols]
    chosen = [x if getattr(s, "default", None) is None else s.default
              for s, x in zip(symbols, drawn)]  # fmt: skip
    return lambda q: np.array(function(*q, 0.0, *chosen), dtype=float)


def redundant_rows(
    rows: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], size: int, names: list[str]
) -> tuple[list[str], int]:
    """Return the same of rows as a function of q: R, and the gradients, those of R first."""
    dependent = [_dependent(rows(q)[1]) for q in _consistent_states(rows, size)]
    always = set.intersection(*dependent) if dependent else set()
    return [names[i] for i in sorted(always)], len(dependent)


def least_where_held(
    rows: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    mass: Callable[[np.ndarray], np.ndarray],
    size: int,
) -> tuple[float, int]:
    """Return the least eigenvalue of M along what the rows leave free, and at how many states.

    M is scaled to a unit diagonal; what has no mass moves as far as the rows let it move with the
    rest, whatever its unit.
    """
    least = [_least(mass(q), rows(q)[1]) for q in _consistent_states(rows, size)]
    return min(least, default=0.0), len(least)


def held_too(alone: Finding, lowest: float, seen: int) -> Finding:
    """Let a mass matrix pass that is definite along what the constraints leave free."""
    if not lowest > 1e-12:
        return alone
    text = f"{alone.text}; along what the constraints leave free its least eigenvalue is"
    return Finding(alone.name, True, f"{text} {lowest:.3g}", f"sampled at {states_of(seen)}")


def _least(M: np.ndarray, A: np.ndarray) -> float:
    over = np.sqrt(np.abs(np.diag(M)))
    light = over == 0
    way = 1 / np.where(light, 1, over)
    A = A * way
    heavy = np.linalg.norm(A * ~light, axis=1)
    whole = np.linalg.norm(A, axis=1)
    A = A / np.where(heavy > 0, heavy, np.where(whole > 0, whole, 1))[:, None]
    reach = np.linalg.norm(A, axis=0)
    reach = np.where(light & (reach > 0), reach, 1)
    free = null_space(A / reach, rcond=_RANK)
    if not free.size:
        return 1.0
    way = way / reach
    return float(np.linalg.eigvalsh(free.T @ (M * np.outer(way, way)) @ free)[0])


def _consistent_states(
    rows: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], size: int
) -> Iterator[np.ndarray]:
    """Yield random states that meet the constraints."""
    rng, count = np.random.default_rng(0), 0
    for _ in range(_TRIES):
        q = _consistent(rows, rng.standard_normal(size))
        if q is not None:
            count += 1
            yield q
        if count == STATES:
            return


def _consistent(
    rows: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], q: np.ndarray
) -> np.ndarray | None:
    """Move a random state onto the constraints by Newton's method, if it gets there."""
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            R, A = rows(q)
            A = A[: len(R)]
            if not (np.all(np.isfinite(R)) and np.all(np.isfinite(A))):
                return None
            if np.all(np.abs(R) <= 1e-12 * (np.abs(A) @ np.abs(q))):
                return q
            q = q - np.linalg.lstsq(A, R, rcond=1e-10)[0]
    return None


def _dependent(A: np.ndarray) -> set[int]:
    basis, dependent = np.zeros((0, A.shape[1])), set()
    for i, row in enumerate(A):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > _RANK * np.linalg.norm(row):
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
        else:
            dependent.add(i)
    return dependent
