"""One judgement of stability: by the linearized motion, and by the energy where that decides."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
from scipy.linalg import eig

from stationary.derive.graph import Graph
from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import SLOTS, lowered
from stationary.lower.kernel import numeric
from stationary.model.symbols import Velocity
from stationary.model.symbols import t as time_symbol
from stationary.result.stability import Stability, spectrum, word_of
from stationary.result.status import Status
from stationary.solve.linear import Saddle, rank_of, share_of, tangent_basis

if TYPE_CHECKING:
    from stationary.solve.rest.at_rest import AbstractAtRest

# Up to this many coordinates all growth rates are found.
_ALL_RATES_UP_TO = 150

# Stiffness, inertia and damping whose size is this small beside the others are none.
_NONE = 1e-12

# Rounding of a stiffness, relative to the largest.
_CANCELLED = 16 * np.finfo(float).eps

# Of many coordinates, damping below zero by this part of the largest feeds motions.
_CLEARLY_FED = 1e-9

# Growth of which rounding is this share of the whole rate is not known.
_SLOW = 1e-6

# Times at which it is looked whether a statement that names time changes with it, in periods.
_LATER = (0.137, 0.719, 3.313, 23.77)


def rates_of(K: np.ndarray, M: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return growth rates of M ẍ + D ẋ + K x = 0, and how far rounding may have moved each.

    Directions without inertia follow their damping; those with neither follow at once, and add no
    rate. Where nothing has inertia or damping, rates are those against a drag.
    """
    k = len(K)
    if not k or not np.all(np.isfinite(K)):
        return np.zeros(0, dtype=complex), np.zeros(0)
    # Metres and radians alike: every direction has a unit of inertia, damping or stiffness.
    sizes = [np.abs(np.diag(X)) for X in (M, D, K)]
    unit = next((np.sqrt(s) for s in sizes if np.all(s > 0)), np.ones(k))
    K, M, D = (X / np.outer(unit, unit) for X in (K, M, D))
    stiff = np.abs(K).max()
    if not np.any(M) and not np.any(D):
        values, _, moved = spectrum(-K)
        return values, moved
    if np.any(M) and rank_of(M, _NONE) == k:
        solved = np.linalg.solve(M, np.hstack([-K, -D]))
        # In units of the motion's own time, so that K and D are alike in size.
        pace = np.sqrt(np.linalg.norm(solved[:, :k], 2)) or 1.0
        solved = np.hstack([solved[:, :k] / pace**2, solved[:, k:] / pace])
        # The stiffness of a direction may be what is left of larger ones that cancel.
        entries = np.zeros((2 * k, 2 * k))
        entries[k:, :k] = _CANCELLED * np.abs(solved[:, :k]).max()
        values, _, moved = spectrum(np.vstack([np.eye(k, 2 * k, k), solved]), entries)
        return values * pace, moved * pace
    return _massless(K, M, D, stiff)


def _massless(K, M, D, stiff: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the finite rates of a motion in which some directions have no inertia."""
    k = len(K)
    left = np.block([[np.zeros((k, k)), np.eye(k)], [-K / (stiff or 1.0), -D / (stiff or 1.0)]])
    right = np.block([[np.eye(k), np.zeros((k, k))], [np.zeros((k, k)), M / (stiff or 1.0)]])
    above, below = eig(left, right, right=False, homogeneous_eigvals=True)
    finite = np.abs(below) > 1e-10 * np.abs(above)
    values = above[finite] / below[finite]
    return values, 1e-8 * np.abs(values).max(initial=0.0) * np.ones(len(values))


def judged(
    rest: AbstractAtRest,
    q: np.ndarray,
    K: Any,
    A: Any,
    minimum: bool | None,
    changes: str | None,
    maximum: bool = False,
) -> Status:
    """Return a word for the stability of a state of rest, and why.

    Parameters
    ----------
    rest : AbstractAtRest
    q : ndarray
    K, A : sparse matrices
        The stiffness, and the gradients of what holds.
    minimum : bool or None
        Whether the energy has a minimum there; None where the forces have none.
    changes : str or None
        What changes as time goes on: the motion is then not that of the frozen statement.
    maximum : bool
        Whether the energy has a maximum there.
    """
    word = _judged(rest, q, K, A, minimum, changes)
    if not maximum or word != Stability.SADDLE:
        return word
    # In the plane of places and velocities it is a saddle; the energy alone has more to say.
    highest = "the energy has a maximum there"
    return Status(word, highest if word.message == _NO_MINIMUM else f"{word.message}; {highest}")


def _judged(
    rest: AbstractAtRest, q: np.ndarray, K: Any, A: Any, minimum: bool | None, changes: str | None
) -> Status:
    M, D = inertia_and_damping(rest, q)
    moves = abs(M).max() > 0 if M.nnz else False
    if moves and changes:
        return Status(Stability.UNDECIDED, frozen_at(rest.t, changes, minimum))
    damped = bool(D.nnz) and abs(D).max() > 0
    if not moves and not damped and minimum is not None:
        return _by_energy(minimum, Stability.STABLE)
    skew = damped and share_of(D - D.T, D) > _NONE
    if len(q) > _ALL_RATES_UP_TO:
        return _judged_large(rest, q, D, minimum, damped, skew)
    Z = tangent_basis(A, rest.moves(q))
    if not Z.shape[1] and minimum is not None:
        return _by_energy(minimum, Stability.STABLE)
    reduced = [Z.T @ X.toarray() @ Z for X in (K, M, D)]
    rates, moved = rates_of(*reduced)
    word = word_of(rates, moved)
    if word in (Stability.SADDLE, Stability.FLUTTER) or minimum is None:
        return word
    slow = (np.abs(np.real(rates)) <= moved) & (moved > _SLOW * np.abs(rates)) & (moved > 0)
    if damped and slow.any() and _feeds(reduced[2]):
        return Status(
            Stability.UNDECIDED,
            "damping feeds motions whose growth is lost in the rounding of faster ones",
        )
    if not minimum and not skew:
        # The converse of Lagrange's and Dirichlet's theorem, where stiffness alone does not tell.
        return _by_energy(False, Stability.SADDLE)
    if not minimum:
        return Status(
            str(word),
            "no small motion grows though the energy has no minimum there: gyroscopic forces hold "
            "it, and damping would let it go",
        )
    return _by_energy(True, Stability(str(word)))


def _feeds(D: np.ndarray) -> bool:
    """Tell whether damping gives energy to some motion."""
    values = np.linalg.eigvalsh((D + D.T) / 2)
    return bool(values[0] < -_NONE * np.abs(values).max())


_NO_MINIMUM = "the energy has no minimum there"


def _by_energy(minimum: bool, word: Stability) -> Status:
    """Return the word of Lagrange's and Dirichlet's theorem, or of its converse."""
    if not minimum:
        return Status(Stability.SADDLE, _NO_MINIMUM)
    more = ", and all small motions die out" if word is Stability.ASYMPTOTIC else ""
    return Status(word, f"the energy has a minimum there{more}")


def _judged_large(
    rest: AbstractAtRest, q: np.ndarray, D: Any, minimum: bool | None, damped: bool, skew: bool
) -> Status:
    """Judge by the energy alone: where nothing feeds motions, a minimum is stable."""
    feeds = damped and _feeds_some(rest, q, D)
    if minimum is None or feeds or (skew and not minimum):
        return Status(
            Stability.UNDECIDED,
            f"{D.shape[0]} coordinates are too many for all growth rates, and the energy alone "
            "does not decide",
        )
    return _by_energy(minimum, Stability.STABLE if damped else Stability.MARGINAL)


def _feeds_some(rest: AbstractAtRest, q: np.ndarray, D: Any) -> bool:
    """Tell the same of many coordinates, by the signs of sparse factors."""
    moves = rest.moves(q)
    W = sparse.diags(moves / np.median(moves))
    X = (W @ (D + D.T) @ W).tocsc()
    shift = _CLEARLY_FED * float(abs(X).sum(axis=1).max())
    return Saddle(X, sparse.csc_matrix((0, len(q)))).shifted(shift).negative > 0


# -- time -----------------------------------------------------------------------------------------


def frozen_at(t: float, changes: str, minimum: bool | None) -> str:
    """Say that a statement which changes with time is looked at as if it did not."""
    least = f"; the energy has {'a' if minimum else 'no'} minimum there at that time"
    return f"{changes} changes with time, which is frozen at t = {t:g}" + (
        "" if minimum is None else least
    )


def changes_with_time(rest: AbstractAtRest, q: np.ndarray) -> str | None:
    """Return what changes as time goes on, or None where the statement stays the same.

    What names time may well not change with it, as in a frame that turns.
    """
    driven = any(
        kind == "samples" or kind == "expression" and content.has(time_symbol)
        for kind, content in rest.signature
    )
    written = _names_time(rest.balance.graph)
    if not driven and not written:
        return None
    moves = rest.moves(q)
    now = _statement(rest, q, moves)
    K, M = now[1:3]
    pace = np.sqrt(_size(K) / _size(M)) if _size(K) and _size(M) else 1.0
    for periods in _LATER:
        then = _statement(replace(rest, t=rest.t + 2 * np.pi * periods / pace), q, moves)
        small = [1e-9 * max(_size(a), _size(b)) for a, b in zip(now, then)]
        # Forces that balance are as small as what stiffness makes of the last digits of a place.
        digits = np.spacing(np.abs(q)) / moves
        small[0] = max(small[0], 1e3 * np.max(abs(K) @ digits, initial=0.0))
        if any(_size(b - a) > least for a, b, least in zip(now, then, small)):
            return "the statement" if written else "an input"
    return None


def _statement(rest: AbstractAtRest, q: np.ndarray, moves: np.ndarray) -> tuple[Any, ...]:
    """Return all that a statement says about small motions at a place, by moves that are alike."""
    c, A = rest.limits(q, np.arange(rest.balance.rows + rest.balance.gaps))
    own, matrices = sparse.diags(moves), (rest.tangent(q), *inertia_and_damping(rest, q))
    return moves * rest.forces(q)[0], *(own @ X @ own for X in matrices), c, A @ own


def _size(X: Any) -> float:
    return float(abs(X).max()) if 0 not in X.shape and getattr(X, "nnz", 1) else 0.0


@lru_cache(maxsize=64)
def _names_time(graph: Graph) -> bool:
    """Tell whether any term of a statement is written in time."""
    for e in graph.whole.elements:
        parts = ca.vertcat(*map(ca.vec, (e.T, e.U, e.W, e.D, e.loaded, e.R, e.gap, e.slip_size)))
        if ca.depends_on(parts, e.t):
            return True
    return False


# -- inertia and damping --------------------------------------------------------------------------


def inertia_and_damping(rest: AbstractAtRest, q: np.ndarray) -> tuple[Any, Any]:
    """Return M and −∂force/∂v at rest, sparse; inputs that follow velocities damp, too."""
    graph, u = rest.balance.graph, rest.inputs(q)
    M = numeric(graph, "mass")(rest.t, q, np.zeros(len(q)), u, rest.params)[0]
    D = numeric(rest.balance, "damping")(rest.t, q, u, rest.params)[0]
    if _follows_velocities(rest.signature):
        at = (rest.t, q, u, rest.params, rest.slots)
        D = D + _fed_back(graph, rest.signature)(*at)[0]
    return M.tocsc(), D.tocsc()


def inertia_and_damping_graph(rest: AbstractAtRest, q: Any, u: Any, p: Any) -> list[Any]:
    """Return the same as graphs, where a parameter moves."""
    graph = rest.balance.graph
    v = type(q).zeros(q.numel())
    D = rest.balance.damping(rest.t, q, u, p)
    if _follows_velocities(rest.signature):
        D = D + _fed_back_graph(graph, rest.signature)(rest.t, q, u, p, ca.DM(rest.slots))
    return [graph.mass(rest.t, q, v, u, p), D]


def _follows_velocities(signature: tuple) -> bool:
    return any(kind == "expression" and content.atoms(Velocity) for kind, content in signature)


@lru_cache(maxsize=32)
def _fed_back_graph(graph: Graph, signature: tuple) -> ca.Function:
    """Return what inputs that follow velocities add to −∂force/∂v, over (t, q, u, p, slots)."""
    kind: Any = ca.SX if graph.scalar else ca.MX
    sizes = [x.numel() for x in graph.whole.arguments]
    t, q, v, u, p = (kind.sym(name, size) for name, size in zip("tqvup", sizes))
    slots = kind.sym("slots", sum(SLOTS[k] for k, _ in signature))
    _, force = graph.dynamics(t, q, v, u, p)
    followed = lowered(signature, graph.layout, t, q, v, p, slots)
    damping = -ca.mtimes(ca.jacobian(force, u), ca.jacobian(followed, v))
    at_rest = kind.zeros(v.numel())
    whole = ca.Function("fed_back", [t, q, v, u, p, slots], [damping])
    return ca.Function("fed_back", [t, q, u, p, slots], [whole(t, q, at_rest, u, p, slots)])


@lru_cache(maxsize=32)
def _fed_back(graph: Graph, signature: tuple) -> Numeric:
    return Numeric(_fed_back_graph(graph, signature), frozenset({0}))
