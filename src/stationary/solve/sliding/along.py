"""What is told at many times of a phase at once: places, velocities, forces, and their evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.solve.sliding.problem import ROLLS
from stationary.solve.sliding.question import Places, Question


@dataclass(frozen=True)
class Told:
    """What is told at many times, one after the other; what is not `fine` is told one by one.

    `force` is what is left over of forces and `gap` the duality gap, relative to what is at work.
    """

    q: np.ndarray
    v: np.ndarray
    energies: np.ndarray
    power: np.ndarray
    forces: np.ndarray
    fine: np.ndarray
    force: np.ndarray
    gap: np.ndarray

    @classmethod
    def of(
        cls, question: Question, at: Places, v: np.ndarray, forces: np.ndarray,
        energies: np.ndarray, fine: np.ndarray,
    ) -> Told:  # fmt: skip
        """Tell velocities and forces: of friction, of constraints and of all contacts."""
        starts, rubs = question.starts, question.rubs
        ends = np.cumsum([question.sliding.rates, question.layout.multipliers])
        y, lam, mu = np.split(forces, ends, axis=1)
        w = _times(at.B, v) + at.c
        speeds = np.sqrt(np.add.reduceat(w * w, starts, axis=1)) if len(starts) else w
        size = at.size.copy()
        size[:, rubs >= 0] *= mu.clip(0.0)[:, rubs[rubs >= 0]]
        slips, pushed = (size * speeds).sum(axis=1), (at.f * v).sum(axis=1)
        # How strong and how fast what is at work is, as one problem tells it.
        pushes = _most(at.f / at.levers)
        row_sizes = np.abs(at.A / at.levers).max(axis=2, initial=0.0)
        held = lam * np.where(row_sizes > 0, row_sizes, 1.0)
        least = _some(np.maximum(_most(size[:, rubs < 0]), pushes), 1.0)
        strength = np.maximum(least, np.maximum(_most(held), _most(mu)))
        rolls = (np.abs(at.B).max(axis=1, initial=0.0) * np.abs(v)).sum(axis=1) + _most(at.c)
        speed = np.maximum(_most(w), ROLLS * rolls)
        speed = _some(_some(speed, np.maximum(_most(v), _most(at.b))), 1.0)
        left = at.f - _over(at.B, y) + _over(at.A, lam) + _over(at.G, mu)
        value, bound = slips - pushed, (y * at.c).sum(axis=1)
        bound = bound - (lam * at.b).sum(axis=1) - (mu * at.g).sum(axis=1)
        scale = slips + np.abs(pushed) + np.abs(value) + strength * speed
        return cls(
            at.q, v, energies, (y * w).sum(axis=1), forces, fine & at.fine,
            _most(left / at.levers) / strength, np.abs(value - bound) / scale,
        )  # fmt: skip

    def rows(self, fed: bool) -> np.ndarray:
        """Return what is kept of each time, with room for the energy that is fed where it is."""
        more = np.zeros((len(self.q), int(fed)))
        return np.hstack([self.q, self.v, more, self.energies, self.power[:, None], self.forces])


def onto(question: Question, t: np.ndarray, q: np.ndarray, working: np.ndarray) -> Places | None:
    """Return the places on the constraints and on the contacts that hold: by rounding's worth.

    None where they cannot be told at once.
    """
    at = question.many(t, q)
    for _ in range(3):
        if at is None:
            return None
        rows = np.concatenate([at.A, at.G[:, working]], axis=1)
        off = np.hstack([np.where(question.holonomic, at.R, 0.0), at.gap[:, working]])
        rates = np.hstack([at.b, at.g[:, working]])
        last = np.spacing(np.maximum(np.abs(at.q), at.length))
        digits = _times(np.abs(rows), last) + np.spacing(np.abs(t))[:, None] * np.abs(rates)
        wrong = at.fine & np.any(np.abs(off) > 2 * digits, axis=1)
        if not wrong.any():
            return at
        moves = _times(np.linalg.pinv(rows[wrong], 1e-12), off[wrong])
        q = at.q.copy()
        q[wrong] -= moves
        at = question.many(t, q)
    return at


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _over(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (vectors[:, None, :] @ matrices)[:, 0, :]


def _most(values: np.ndarray) -> np.ndarray:
    return np.abs(values).max(axis=1, initial=0.0)


def _some(values: np.ndarray, else_: np.ndarray | float) -> np.ndarray:
    return np.where(values > 0, values, else_)
