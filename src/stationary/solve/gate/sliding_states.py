"""Which of many states of one sliding motion are plainly right, found for all of them at once.

The measures are those of one state with the least that each of them allows, so that whatever is not
plainly right is looked at by itself.
"""

from __future__ import annotations

import numpy as np

from stationary.derive.graph import Graph
from stationary.derive.sliding import Sliding
from stationary.solve.gate.constraints import ROUNDINGS as LAST_DIGITS
from stationary.solve.gate.contacts import ROUNDINGS as CLOSED
from stationary.solve.gate.friction import STILL
from stationary.solve.sliding.problem.question import evaluated, in_rows, terms_of


def plainly_right(
    graph: Graph, t: np.ndarray, y: np.ndarray, u: np.ndarray, params: np.ndarray,
    forces: np.ndarray, moves: bool, rtol: float,
) -> np.ndarray:  # fmt: skip
    """Tell which times are: y are coordinates and velocities, forces those of friction first."""
    n, sliding = graph.system.size, Sliding(graph)
    q, v = y[:, :n], y[:, n : 2 * n]
    at = list(zip(t.tolist(), q, np.asarray(u), [params] * len(t)))
    slips, holds = (in_rows(sliding, name, at) for name in ("slips", "holds"))
    if slips is None or holds is None:
        return np.zeros(len(t), dtype=bool)
    (_, c, B, size, power), (R, b, A, gap, _, G) = slips, holds
    force = evaluated(sliding, "force")
    pushes = np.array([force(*given, speed)[0] for given, speed in zip(at, v)])
    friction, lam = forces[:, : c.shape[1]], forces[:, c.shape[1] :]
    push, rows = lam[:, A.shape[1] :], np.concatenate([A, G], axis=1)
    starts, pressed, _ = terms_of(sliding)

    def sizes(vectors: np.ndarray) -> np.ndarray:
        return np.sqrt(np.add.reduceat(vectors**2, starts, axis=1)) if len(starts) else vectors

    term = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, c.shape[1])))
    resists, rates = sizes(friction), _times(B, v) + c
    # Forces balance.
    left = np.abs(pushes + _over(rows, lam) - _over(B, friction))
    pulls = np.abs(pushes) + _over(np.abs(rows), np.abs(lam)) + _over(np.abs(B), resists[:, term])
    right = np.all(left <= rtol * pulls, axis=1)
    # Constraints hold, and so do their rates.
    last = np.spacing(np.abs(q))[:, None, :]
    holonomic = np.array([x for r in graph.layout.rows for x in [r.holonomic] * r.places.size])
    off = np.where(holonomic, np.abs(R), 0.0) if A.shape[1] else R
    right &= np.all(off <= LAST_DIGITS * np.abs(A * last).max(axis=2, initial=0.0), axis=1)
    if moves:
        terms = _times(np.abs(A), np.abs(v)) + np.abs(b)
        right &= np.all(np.abs(_times(A, v) + b) <= rtol * terms, axis=1)
    # Contacts push where they touch, and are outside.
    small = CLOSED * np.abs(G * last).max(axis=2, initial=0.0)
    right &= np.all((gap >= -small) & (push >= 0) & ((gap <= small) | (push == 0)), axis=1)
    # Friction is within its limit, and against the slip.
    size, speeds = size[:, starts], sizes(rates)
    size[:, pressed >= 0] *= push[:, pressed[pressed >= 0]]
    allowed = rtol * size
    right &= ~power.any(axis=1) & np.all(resists - size <= allowed, axis=1)
    if moves:
        slop = sizes(_times(np.abs(B), np.abs(v)) + np.abs(rates))
        arms = np.abs(B).max(axis=1, keepdims=True, initial=0.0)
        ways = (np.abs(B) / np.where(arms > 0, arms, 1.0)).max(axis=2, initial=0.0)
        ways = sizes(np.where(ways > 0, ways, 1.0))
        slop = rtol * np.maximum(
            slop, STILL * ways * (slop / ways).max(axis=1, initial=0.0)[:, None]
        )
        fast = np.where(speeds > 0, speeds, 1.0)
        off = sizes(friction - (size / fast)[:, term] * rates)
        right &= np.all((speeds <= slop) | (off <= allowed), axis=1)
    return right


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _over(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (vectors[:, None, :] @ matrices)[:, 0, :]
