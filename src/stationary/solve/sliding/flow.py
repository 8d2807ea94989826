"""The velocity of least power as a differential equation, smooth between changes of what sticks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.solve.sliding.principle import solved
from stationary.solve.sliding.problem import Answer
from stationary.solve.sliding.question import TOUCHING, Place, Question, evaluated
from stationary.solve.sliding.reduced import _mended, _newton, least_move

_SMALLEST = 1e-13


class _Passed(Exception):
    """A stage of a step where the present mode does not exist any more."""


@dataclass(frozen=True)
class _Piece:
    """A stretch of time between two steps, and the mode that held on it."""

    first: float
    last: float
    dense: Any
    near: Answer
    touching: np.ndarray


class Flow:
    """The motion as an initial value problem for q, the energy lost and the energy supplied."""

    class Ended(Exception):  # noqa: N818  # an ending, not an error
        """The motion cannot go on: why."""

        def __init__(self, word: str, message: str, outcome: Any = None, place: Any = None):
            super().__init__(word)
            self.word, self.message, self.outcome, self.place = word, message, outcome, place

    def __init__(self, question: Question, rtol: float):
        self.question, self.rtol = question, rtol
        self.n = question.system.size
        self.steps = 0
        self.events: list[float] = []
        self.pieces: list[_Piece] = []
        self.near: Answer | None = None
        self.last: Answer | None = None
        self.touching = np.zeros(0, dtype=int)

    # -- velocities -------------------------------------------------------------------------------

    def _held(
        self, t: float, q: np.ndarray, near: Answer, touching: np.ndarray
    ) -> tuple[Answer, Place]:
        """Return the answer in a fixed mode."""
        place = self.question.at(t, q, viscous=True, touching=touching)
        if np.any(self.question.rubs >= 0):
            outcome, place = solved(self.question, place, near)
            if outcome.word != "moves" or outcome.answer is None:
                raise _Passed
            return outcome.answer, place
        found = _newton(place.problem, self._warm(near))
        if found is None:
            raise _Passed
        self.last = found
        return found, place

    def _warm(self, near: Answer) -> Answer:
        """Return the latest answer in the same mode."""
        last = self.last
        same = last is not None and last.stuck is near.stuck and last.working is near.working
        return last if same else near  # pyright: ignore[reportReturnType]

    def _rate(self, t: float, x: np.ndarray) -> np.ndarray:
        assert self.near is not None
        answer, place = self._held(t, x[: self.n], self.near, self.touching)
        return np.concatenate([answer.v, self._powers(answer, place)])

    def _powers(self, answer: Answer, place: Place) -> list[float]:
        """Return what friction takes and what is supplied."""
        p = place.problem
        here = (place.t, place.q, place.u, self.question.params)
        given = evaluated(self.question.sliding, "power")(*here, answer.v)[0]
        pumped = float(evaluated(self.question.sliding, "pumped")(*here)[0][0])
        taken = float(answer.y @ p.rates(answer.v))
        if p.viscous:
            taken += float(p.viscous(answer.v)[1] @ answer.v)
        drive = float(answer.y @ p.c - answer.lam @ p.b - answer.mu @ p.g)
        return [taken, float(given[1:].sum()) + drive + pumped]

    def _fits(self, t: float, q: np.ndarray) -> bool:
        """Tell whether the present mode is still right."""
        near = self.near
        assert near is not None
        try:
            answer, place = self._held(t, q, near, self.touching)
        except _Passed:
            return False
        size = max(1.0, np.abs(q).max(initial=0.0))
        apart = np.setdiff1d(np.arange(len(place.gap)), self.touching)
        if np.any(place.gap[apart] < 0):
            return False
        opened = ~near.working & (place.gap[self.touching] > 10 * TOUCHING * size)
        if opened.any() or _mended(answer)[0]:
            return False
        if np.any(self.question.rubs >= 0):
            return bool(
                np.array_equal(answer.stuck, near.stuck)
                and np.array_equal(answer.working, near.working)
            )
        # What slides must not have turned round meanwhile.
        dry = (near.problem.power == 0) & ~near.stuck
        return bool(np.all(near.problem.sums(answer.y * near.y)[dry] > 0))

    def _mode(self, t: float, q: np.ndarray, near: Answer | None) -> None:
        """Find what sticks and what touches from here on."""
        place = self.question.at(t, q, viscous=True)
        outcome, place = solved(self.question, place, near if self._same(near, place) else None)
        if outcome.word in ("accelerates", "jammed") or outcome.answer is None:
            message = {
                "accelerates": "the loads give more than friction can take: it accelerates",
                "jammed": "no velocity satisfies the constraints: it is jammed",
            }.get(outcome.word, f"the solver stopped: {outcome.word}")
            raise Flow.Ended(outcome.word, message, outcome, place)
        self.near, self.touching = outcome.answer, place.touching

    def _same(self, near: Answer | None, place: Place) -> bool:
        return near is not None and np.array_equal(self.touching, place.touching)

    # -- steps ------------------------------------------------------------------------------------

    def run(self, q: np.ndarray, grid: np.ndarray, many: int) -> Iterator[tuple]:
        """Yield time, state, answer and place at every time of the grid."""
        from scipy.integrate import DOP853

        t, last = float(grid[0]), float(grid[-1])
        x = np.concatenate([q, [0.0, 0.0]])
        # A drive that starts at this very moment shows in a moment's time.
        nudge = 1e-9 * (last - t)
        self._mode(t, q, None)
        k = 0
        if not np.any(self.near.v):  # pyright: ignore[reportOptionalMemberAccess]
            still = self.near, self.touching
            self._mode(t + nudge, q, None)
            if np.any(self.near.v):  # pyright: ignore[reportOptionalMemberAccess]
                # It sets off at once: the first moment is over before anything has moved.
                moving = self.near, self.touching
                self.near, self.touching = still
                yield self._kept(t, x)
                self.near, self.touching = moving
                k, t = 1, t + nudge
                x = self._onto(t, x)
        h, changes, hair = (last - t) / 100, 0, 1e-12 * (last - t)
        scale = max(1.0, np.abs(q).max(initial=0.0))
        while k < len(grid):
            if t >= last * (1 - 1e-15) - 1e-300 or k == 0 and grid[k] <= t:
                while k < len(grid) and grid[k] <= t + 1e-13 * (last - grid[0]):
                    yield self._kept(float(grid[k]), x)
                    k += 1
                if k >= len(grid):
                    break
            try:
                solver = DOP853(
                    self._rate, t, x, last, rtol=self.rtol, atol=self.rtol * scale * 1e-2,
                    first_step=min(h, last - t),
                )  # fmt: skip
                message = solver.step()
                if message:
                    raise _Passed
                end, dense = float(solver.t), solver.dense_output()
                h = float(solver.h_abs)
            except _Passed:
                h = h / 8
                if h < _SMALLEST * max(1.0, abs(t), last - grid[0]):
                    # The mode ends right here.
                    self._change(t, x, changes, many)
                    changes += 1
                    h = (last - grid[0]) / 1000
                continue
            changed = not self._fits(end, dense(end)[: self.n])
            if changed:
                end = self._located(t, end, dense)
            self.steps += 1
            self.pieces.append(_Piece(t, end, dense, self.near, self.touching))  # pyright: ignore[reportArgumentType]
            while k < len(grid) and grid[k] <= end:
                yield self._kept(float(grid[k]), dense(float(grid[k])))
                k += 1
            x = self._onto(end, dense(end))
            stood = end - t <= 2 * max(hair, _SMALLEST * max(1.0, abs(t)))
            t = end
            if changed:
                # Past the corner by a hair, and by a thicker one if the same change is found again.
                hair = 4 * hair if stood else 1e-12 * (last - grid[0])
                if stood:
                    x = x + hair * np.concatenate([self.near.v, [0.0, 0.0]])  # pyright: ignore[reportOptionalMemberAccess]
                    t = min(t + hair, last)
                self._change(t, x, changes, many)
                changes += 1
                h = min(max(h, 1e-6 * (last - grid[0])), (last - grid[0]) / 100)

    def _change(self, t: float, x: np.ndarray, changes: int, many: int) -> None:
        if changes >= many:
            raise Flow.Ended(
                "too many changes",
                f"found {changes} changes of what sticks; increments follow so many better",
            )
        self.events.append(t)
        self._mode(t, x[: self.n], None)

    def _located(self, t: float, end: float, dense: Any) -> float:
        """Return the last time at which the mode holds."""
        low, high = t, end
        for _ in range(60):
            middle = (low + high) / 2
            if high - low <= 4e-16 * max(abs(low), abs(high), 1e-3 * (end - t)):
                break
            if self._fits(middle, dense(middle)[: self.n]):
                low = middle
            else:
                high = middle
        return low if low > t else min(end, t + max(1e-15 * abs(t), _SMALLEST * (end - t)))

    def _onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Move a state onto the constraints and the contacts that hold: by rounding's worth."""
        q = x[: self.n].copy()
        near = self.near
        assert near is not None
        for _ in range(4):
            place = self.question.at(t, q, touching=self.touching)
            p = place.problem
            holonomic = np.zeros(len(p.b), dtype=bool)
            for rows in self.question.layout.rows:
                holonomic[rows.places] = rows.holonomic
            off = np.concatenate(
                [np.where(holonomic, place.R, 0.0), place.gap[self.touching][near.working]]
            )
            if np.abs(off).max(initial=0.0) <= 2e-16 * max(1.0, np.abs(q).max(initial=0.0)):
                break
            q = q + least_move(p, near.working, off)
        return np.concatenate([q, x[self.n :]])

    def _kept(self, t: float, x: np.ndarray) -> tuple:
        x = self._onto(t, x)
        assert self.near is not None
        try:
            answer, place = self._held(t, x[: self.n], self.near, self.touching)
        except _Passed:
            place = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
            answer = self.near
        return t, x, answer, place

    def at(self, t: float) -> tuple:
        """Return state, answer and place at any time of the motion."""
        ends = [piece.last for piece in self.pieces]
        piece = self.pieces[min(int(np.searchsorted(ends, t)), len(ends) - 1)]
        self.near, self.touching = piece.near, piece.touching
        _, x, answer, place = self._kept(t, piece.dense(t))
        return x, answer, place
