"""What is told at many times of a phase at once: places, velocities, forces, and their evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.solve.sliding.problem.numbers import ROLLS
from stationary.solve.sliding.problem.question import Places, Question


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

    @classmethod
    def rowed(cls, rows: list[np.ndarray | None], n: int) -> Told | None:
        """Tell rows of what is kept, each with its evidence at its end; None is not fine."""
        some = next((row for row in rows if row is not None), None)
        if some is None:
            return None
        fine = np.array([row is not None for row in rows])
        table = np.array([some if row is None else row for row in rows])
        q, v, energies, power, forces, evidence = np.split(
            table, [n, 2 * n, 2 * n + 2, 2 * n + 3, len(some) - 2], axis=1
        )
        return cls(q, v, energies, power[:, 0], forces, fine, *evidence.T)

    def rows(self, fed: bool) -> np.ndarray:
        """Return what is kept of each time, with room for the energy that is fed where it is."""
        more = np.zeros((len(self.q), int(fed)))
        return np.hstack([self.q, self.v, more, self.energies, self.power[:, None], self.forces])


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _over(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (vectors[:, None, :] @ matrices)[:, 0, :]


def _most(values: np.ndarray) -> np.ndarray:
    return np.abs(values).max(axis=1, initial=0.0)


def _some(values: np.ndarray, else_: np.ndarray | float) -> np.ndarray:
    return np.where(values > 0, values, else_)
