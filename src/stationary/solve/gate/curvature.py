"""A state of rest is a minimum, a saddle or a family as its signs say, and has its energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import null_space

from stationary.derive.balance import Balance
from stationary.lower.kernel import numeric
from stationary.lower.rounding import rounding
from stationary.result.equilibrium import Equilibrium
from stationary.solve.factors import stiffnesses
from stationary.solve.gate.finding import Finding
from stationary.solve.gate.state import State
from stationary.solve.linear import dense, orthonormal
from stationary.solve.scales import tied_digits

# Systems of more coordinates take longer to look at than to solve.
_LARGEST = 60
# Stiffnesses this much smaller than the stiffest may have either sign, as those of flat minima do.
_FLAT = 1e-7
# Rows whose gradients are this nearly alike say the same; energies so near are the same.
_SAME = 1e-9
_ROUNDINGS = 64.0
# Last digits of a place by which its gradients are not known, and how often they are looked at.
_DIGITS, _SHAKEN = 16.0, 3
# A place is known to this share of the moves of the statement, or to its last digits.
_KNOWN = 1e-7
# So often rows and columns are made alike in turn.
_ROUNDS = 8


def curvature(rest: Equilibrium, state: State) -> list[Finding]:
    """Count the signs of the Hessian on the tangent of what holds, beside those that are told."""
    n = len(rest.q)
    turned = len(rest.graph.layout.kinematics.quaternions)
    if not sum(rest.inertia) or n > _LARGEST or turned or _feeds_back(rest):
        return []
    values, _, rows = state.holds
    small = state.scales.rows(rows) * 1e-9 + 1e3 * state.scales.rows_rounding(rows)
    holds = np.arange(len(values)) < state.rows
    # A contact that pushes holds as a constraint does; of one that only touches nothing is known.
    push = np.abs(state.lam) > 1e-9 * np.abs(state.lam).max(initial=0.0)
    touching = ~holds & (np.abs(values) <= small)
    if np.any(touching & ~push):
        return []
    at = (state.t, state.q, state.u, state.params)
    balance = Balance(state.graph)
    K = numeric(balance, "tangent")(*at)[0].toarray()
    bent = np.zeros_like(K)
    if len(state.lam):
        bent = numeric(balance, "curvature")(*at, state.lam)[0].toarray()
    # In moves that count alike: those that bend the stiffest spring by one force.
    stiff = np.sqrt(stiffnesses(np.abs(K) + np.abs(bent)))
    stiffest = stiff.max(initial=0.0) or 1.0
    scale = 1 / np.where(stiff > 1e-6 * stiffest, stiff, stiffest)
    H = scale[:, None] * ((K - bent) + (K - bent).T) / 2 * scale
    A = _clear(state)[holds | touching]
    Z = orthonormal(_free(A, state.alike, sum(rest.inertia)) / scale[:, None])
    signs = np.linalg.eigvalsh(Z.T @ H @ Z) if Z.shape[1] else np.zeros(0)
    positive, negative, zero = rest.inertia
    largest = float(np.abs(scale[:, None] * (np.abs(K) + np.abs(bent)) * scale).max(initial=0.0))
    claims = [Finding("every free direction has a sign", "in inertia",
                     float(abs(positive + negative + zero - len(signs))), 0.5)]  # fmt: skip
    if not claims[0].holds or not np.all(np.isfinite(signs)):
        return claims
    allowed = _FLAT * largest
    # The eigenvalues that are told to be positive come last, the negative ones first.
    falls = -float(np.min(signs[negative + zero :], initial=0.0))
    rises = float(np.max(signs[:negative], initial=0.0))
    claims.append(Finding("stiffness is positive in", f"{positive} directions", falls, allowed))
    claims.append(Finding("stiffness is negative in", f"{negative} directions", rises, allowed))
    rates = np.real(rest.eigenvalues)
    if len(rates):
        beyond = np.sum(rates < 0) - negative - zero, np.sum(rates > 0) - positive - zero
        claims.append(
            Finding("eigenvalues have the signs", "that are told", float(max(beyond)), 0.5)
        )
    return claims


def _clear(state: State) -> np.ndarray:
    """Return the gradients of what holds, without entries made of last digits of places."""
    A = dense(state.holds[2])
    own = np.spacing(np.abs(state.q))
    # What is tied by entries of nothing but last digits is known to a share of its moves at least.
    tied = np.minimum(tied_digits(A, own, _even(A)), _KNOWN * state.alike)
    digits = _DIGITS * np.maximum(own, tied)
    signs = np.random.default_rng(8).choice([-1.0, 1.0], (_SHAKEN, len(state.q)))
    beside = [dense(replace(state, q=state.q + digits * x).holds[2]) for x in signs]
    change = np.max([np.abs(near - A) for near in beside], axis=0)
    return np.where(np.abs(A) <= change, 0.0, A)


def _free(A: np.ndarray, alike: np.ndarray, count: int) -> np.ndarray:
    """Return the directions in which no row changes, one per column; `count` of them are claimed.

    Rows are compared in moves of the statement: their own forces turn no row. Where one is straight
    at an inflection, as that of X − l sin θ at θ = 0, it tells no length: if there are other
    directions than are claimed, moves count in which all columns are as large.
    """
    free = _unchanged(A, alike)
    if free.shape[1] != count:
        even = _unchanged(A, _even(A))
        free = even if even.shape[1] == count else free
    return free


def _unchanged(A: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return the null space of rows that are compared in such moves."""
    if not len(A):
        return np.diag(moves)
    rows = A * moves
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return moves[:, None] * null_space(rows / np.where(lengths > 0, lengths, 1.0), rcond=_SAME)


def _even(A: np.ndarray) -> np.ndarray:
    """Return moves with which the largest entries of all rows and columns are alike."""
    rows, moves = np.abs(A), np.ones(A.shape[1])
    for _ in range(_ROUNDS):
        sizes = (rows * moves).max(axis=1, initial=0.0)
        rows = rows / np.where(sizes > 0, sizes, 1.0)[:, None]
        columns = rows.max(axis=0, initial=0.0)
        moves = 1 / np.where(columns > 0, columns, 1.0)
    return moves


def energy(rest: Equilibrium, state: State) -> list[Finding]:
    """Measure U − W beside the work that the forces at work would do, and beside its rounding."""
    if rest.energy is None or _feeds_back(rest):
        return []
    at = (state.t, state.q, state.u, state.params)
    balance = Balance(state.graph)
    force, value = numeric(balance, "forces")(*at)
    slope = numeric(balance, "slope")(*at)[0]
    if np.any(np.abs(force - slope) > _SAME * state.pulls):
        # Forces beside the energy that is stated: theirs is found by adding up their work.
        return []
    value, lost = float(np.ravel(value)[0]), rounding(balance, "forces", list(at), output=1)
    allowed = _SAME * abs(value) + _ROUNDINGS * (0.0 if lost is None else float(lost[0]))
    return [Finding("the energy is that of", "the place", abs(value - rest.energy), allowed)]


def _feeds_back(rest: Equilibrium) -> bool:
    """Tell whether an input follows the coordinates: stiffness is that of the inputs as well."""
    return any(not isinstance(value, (int, float)) for value in rest.inputs.values())
