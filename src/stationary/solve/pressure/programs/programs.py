"""Many small linear programs at once: all pressures at one motion, for many motions.

For a given motion friction is linear in the pressure. With ⟨·⟩ for the mean over the pressure, v̂(x)
for the direction in which x moves, and rigid motions a, b, each program is

    h = min ⟨b·v̂⟩ + C |⟨a·v̂⟩|   over pressures with ⟨1⟩ = 1 and ⟨x⟩ = 0.

It always has a solution, and its dual f(x) = b·v̂ − ν a·v̂ − λ0 − λ·x ≥ 0 with |ν| ≤ C, h = λ0,
proves that no pressure does better. Programs of four rows are solved side by side by the simplex
method: what one costs in calls of Python, hundreds share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import hypot

import numpy as np
from scipy.optimize import nnls

from stationary.solve.linear import extent
from stationary.solve.pressure.envelope import centres, descended, fields
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import REACH, WEIGHT, Rest

# How much imbalance costs: more than a multiplier is worth at any motion that matters, for a push
# that passes the centre at this distance or farther, in sizes of the part.
CAP, _FAR = 1e3, 0.05
_EIGHT = np.arange(8) * (np.pi / 4)
_CIRCLE = np.stack([np.cos(_EIGHT), np.sin(_EIGHT)], axis=1)
_PIVOTS = 60
# Of sizes of the part: centres of rotation beyond see all of the border in one direction.
_BEYOND = 1e3
# Columns beside one, in parts of how far apart they are.
_ASIDE = np.array([-1.0, 0.0, 1.0, -0.2, 0.2])


@dataclass(frozen=True)
class Answers:
    """The solutions of programs, one per row."""

    value: np.ndarray
    masses: np.ndarray  # of the columns in the basis; zero for what is no atom
    points: np.ndarray
    ways: np.ndarray  # the direction of friction at each atom
    resting: np.ndarray
    edges: np.ndarray
    along: np.ndarray
    affine: np.ndarray  # λ0, λx, λy
    dual: np.ndarray  # ν
    basis: np.ndarray


def cap_of(mode: Mode) -> float:
    """Return what imbalance costs: the closer a push passes by the centre, the more it is worth."""
    if mode.force is None:
        return CAP
    return CAP * max(1.0, _FAR / max(mode.lever, 1e-9))


class Programs:
    """All pressures on a support, asked at many motions at once."""

    def __init__(self, rest: Rest, cap: float = CAP):
        self.rest, self.cap = rest, cap
        self.edges, self.along = rest.grid
        self.points = rest.columns
        self.count = len(self.points)
        self.solved = 0

    @cached_property
    def level(self) -> np.ndarray:
        """What each column adds to the load and to its moments: one, x and y."""
        return np.vstack([np.ones(self.count), self.points.T])

    @cached_property
    def frame(self) -> np.ndarray:
        """Directions in which the support extends: two, or one for a rod."""
        return extent(self.points)

    @cached_property
    def first(self) -> np.ndarray:
        """Columns of a pressure that has its resultant at the centre."""
        rows = np.vstack([np.ones(self.count), self.frame @ self.points.T])
        held = np.flatnonzero(nnls(rows, np.eye(len(rows))[0])[0]).tolist()
        # A centre on the border needs fewer: others that bear nothing complete the basis.
        while len(held) < len(rows):
            span = np.linalg.qr(rows[:, held])[0]
            held.append(int(np.linalg.norm(rows - span @ (span.T @ rows), axis=0).argmax()))
        return np.array(held)

    @cached_property
    def _start(self) -> np.ndarray:
        rows = np.vstack([np.ones(self.count), self.frame @ self.points.T])
        return np.linalg.inv(rows[:, self.first])

    def beside(self, points: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """Return the columns next to points of the border: one that is there, or two around it.

        Points that rest have none.
        """
        u, v, turn = twist.tolist()
        slow = 1e-9 * max(abs(u), abs(v), abs(turn))
        held: set[int] = set()
        for x, y in points.tolist():
            if hypot(u - turn * y, v + turn * x) > slow:
                far = np.abs(self.points[:, 0] - x) + np.abs(self.points[:, 1] - y)
                one, two = far.argpartition(1)[:2].tolist()
                held |= {one} if far[one] < 1e-9 * REACH else {one, two}
        return np.array(sorted(held), dtype=int)

    def passing(self, twists: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return places of further columns, where the border passes by the centre of rotation.

        There directions change within its distance, however short: once the centre leaves the part,
        an edge next to it does what was done at rest.
        """
        if self.rest.feet:
            return None
        q = centres(twists)
        return self.rest.passing(np.where(np.abs(q) < _BEYOND, q, _BEYOND))

    def least(
        self, twists: np.ndarray, aims: np.ndarray, rows: np.ndarray,
        near: np.ndarray | None = None, more: tuple[np.ndarray, np.ndarray] | None = None,
        grips: np.ndarray | None = None, grip: float = 1.0,
    ) -> Answers:  # fmt: skip
        """Solve one program per motion, from the bases of a neighbour where they are given.

        `more` are places (edges, along) of further columns, (B, n) each, and `grips` further
        directions (B, n, 2) of the force on what rests, which is up to `grip` times its limit.
        """
        size, flat = len(twists), len(self.frame)
        self.solved += size
        x, y = (np.broadcast_to(c, (size, self.count)) for c in self.points.T)
        edges, along = (np.broadcast_to(c, (size, self.count)) for c in (self.edges, self.along))
        if more is not None:
            added = self.rest.at(more[0].ravel(), more[1].ravel())[0].reshape(size, -1, 2)
            x, y = np.hstack([x, added[..., 0]]), np.hstack([y, added[..., 1]])
            edges, along = np.hstack([edges, more[0]]), np.hstack([along, more[1]])
        border = x.shape[1]
        total = border + 8 + (0 if grips is None else grips.shape[1])
        q = centres(twists)
        inside = self.rest.contain(q)
        q[~inside] = 0.0
        spread = np.empty((4, size, total))
        X, Y, U, V = spread
        X[:, :border], Y[:, :border] = x, y
        X[:, border:], Y[:, border:] = q[:, :1], q[:, 1:]
        v = twists[:, 1:2] + twists[:, 2:] * x
        u = twists[:, :1] - twists[:, 2:] * y
        speed = np.maximum(np.sqrt(u * u + v * v), 1e-300)
        np.divide(u, speed, out=U[:, :border])
        np.divide(v, speed, out=V[:, :border])
        U[:, border : border + 8], V[:, border : border + 8] = grip * _CIRCLE.T[:, None]
        if grips is not None:
            U[:, border + 8 :], V[:, border + 8 :] = grip * grips[..., 0], grip * grips[..., 1]
        turn = X * V - Y * U
        A = np.zeros((size, flat + 2, total + 2))
        A[:, 0, :total] = 1.0
        for k, (a, b) in enumerate(self.frame):
            A[:, 1 + k, :total] = a * X + b * Y
        A[:, -1, :total] = rows[:, :1] * U + rows[:, 1:2] * V + rows[:, 2:] * turn
        A[:, -1, total], A[:, -1, total + 1] = 1.0, -1.0
        cost = np.full((size, total + 2), self.cap)
        cost[:, :total] = aims[:, :1] * U + aims[:, 1:2] * V + aims[:, 2:] * turn
        # A point outside the support bears nothing.
        cost[~inside, border:total] = 1e6
        basis, masses, dual = self._solved(A, cost, near)
        atom = basis < total
        held = np.where(atom, basis, 0)
        taken = np.take_along_axis(spread, held[None], 2)
        affine = np.empty((size, 3))
        affine[:, 0] = dual[:, 0]
        affine[:, 1:] = dual[:, 1:-1] @ self.frame
        rests = held >= border
        place = np.where(rests, 0, held)
        every = np.arange(size)[:, None]
        return Answers(
            (np.take_along_axis(cost, basis, 1) * masses).sum(axis=1),
            np.where(atom, masses, 0.0), np.moveaxis(taken[:2], 0, 2), np.moveaxis(taken[2:], 0, 2),
            rests & atom, np.where(rests, -1, edges[every, place]),
            np.where(rests, 0.0, along[every, place]), affine, dual[:, -1], basis,
        )  # fmt: skip

    def refined(
        self, twists: np.ndarray, aims: np.ndarray, rows: np.ndarray, grip: float = 1.0,
        rounds: int = 12, more: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Answers:  # fmt: skip
        """Solve programs whose columns may be anywhere: they move to where f is least.

        Newton's method along the border takes the atoms of an answer, and the lowest column, there;
        the force on what rests turns against the witness. The first may be at further places, too.
        """
        answers = self.least(twists, aims, rows, more=more, grip=grip)
        q = centres(twists)
        if self.rest.feet and not self.rest.contain(q).any():
            return answers
        count = answers.basis.shape[1]
        width, grown = 0 if more is None else more[0].shape[1], 0
        for turn in range(rounds):
            # Pairs of columns that are closer and closer stand for one that is stationary.
            apart = 0.1 / 12.0**turn
            witness = aims - answers.dual[:, None] * rows
            push = fields(witness, np.where(np.isfinite(q), q, 0.0)[:, None])
            angle = np.arctan2(-push[..., 1], -push[..., 0]) + apart * _ASIDE
            push = np.stack([np.cos(angle), np.sin(angle)], axis=2)
            held = np.where(answers.resting[..., None], answers.ways / grip, push[:, :1])
            grips = np.concatenate([held, push], axis=1)
            edges = np.where(answers.resting, 0, answers.edges)
            along = np.where(answers.resting, 0.0, answers.along)
            if not self.rest.feet:
                below, begun = self._beside(answers, twists, witness)
                lower = descended(self.rest, twists, witness, answers.affine, below, begun,
                                  self.rest.spacing[below], 4)  # fmt: skip
                aside = apart * np.repeat(_ASIDE[:3:2], count)
                wide = np.tile(below[:, :count], 2)
                beside = np.tile(lower[:, :count], 2) + aside * self.rest.spacing[wide]
                edges = np.hstack([edges, below, wide])
                along = np.hstack([along, lower, self.rest.moved(wide, beside)])
            # Columns of the last basis keep their places, or find them among the new ones.
            slot, was = np.arange(count), self.count + width
            now = self.count + edges.shape[1]
            basis = answers.basis
            place = np.where(basis < self.count, basis, self.count + slot)
            place = np.where(basis >= was, now + basis - was, place)
            place = np.where(answers.resting, now + 8 + slot, place)
            slack = basis >= was + 8 + grown
            place = np.where(slack, basis - (was + grown) + now + grips.shape[1], place)
            width, grown = edges.shape[1], grips.shape[1]
            before = answers.value
            answers = self.least(twists, aims, rows, place, (edges, along), grips, grip)
            if np.all(before - answers.value <= 1e-14 * (WEIGHT + np.abs(before))):
                break
        return answers

    def _beside(self, answers: Answers, twists: np.ndarray, witness: np.ndarray):
        """Return places to go down from: the atoms, at corners on both edges, and low columns."""
        rest = self.rest
        u = fields(twists, self.points)
        u /= np.maximum(np.sqrt((u**2).sum(axis=2)), 1e-300)[..., None]
        f = (fields(witness, self.points) * u).sum(axis=2) - answers.affine[:, 1:] @ self.points.T
        low = np.argpartition(f, min(3, self.count - 1), axis=1)[:, :3]
        edges = np.hstack([np.where(answers.resting, 0, answers.edges), self.edges[low]])
        along = np.hstack([np.where(answers.resting, 0.5, answers.along), self.along[low]])
        if rest.pieces > 1:
            corner = along == 0.0
            edges = np.hstack([edges, np.where(corner, (edges - 1) % rest.pieces, edges)])
            along = np.hstack([along, np.where(corner, 1.0, along)])
        return edges, along

    def _solved(self, A: np.ndarray, cost: np.ndarray, near: np.ndarray | None):
        size, rows, _ = A.shape
        every = np.arange(size)
        basis, inverse, amounts = self._begun(A)
        if near is not None:
            tried = _inverses(np.take_along_axis(A, near[:, None, :], 2))
            good = tried[:, :, 0].min(axis=1) >= -1e-12
            basis[good], inverse[good] = near[good], tried[good]
            amounts[good] = np.maximum(tried[good, :, 0], 0)
        paid = np.take_along_axis(cost, basis, 1)
        left, ones = every, np.arange(size)
        for _ in range(_PIVOTS):
            # Only those that still change, once they are few.
            dual = (paid[left, None, :] @ inverse[left])[:, 0]
            offered = A if len(left) == size else A[left]
            reduced = cost[left] - (dual[:, None, :] @ offered)[:, 0]
            enters = reduced.argmin(axis=1)
            going = reduced[ones, enters] < -1e-11 * (WEIGHT + np.abs(dual).max(axis=1))
            if not going.any():
                break
            way = (inverse[left] @ offered[ones, :, enters][:, :, None])[:, :, 0]
            room = np.where(way > 1e-10, amounts[left], np.inf) / np.maximum(way, 1e-10)
            out = room.argmin(axis=1)
            step = room[ones, out]
            going &= np.isfinite(step)
            if not going.all():
                left, out, enters = left[going], out[going], enters[going]
                step, way = step[going], way[going]
                ones = np.arange(len(left))
            if not len(left):
                break
            row = inverse[left, out] / way[ones, out][:, None]
            updated = inverse[left] - way[:, :, None] * row[:, None, :]
            updated[ones, out] = row
            inverse[left] = updated
            moved = np.maximum(amounts[left] - step[:, None] * way, 0.0)
            moved[ones, out] = step
            amounts[left] = moved
            basis[left, out] = enters
            paid[left, out] = cost[left, enters]
        # The sums of many turns, made anew.
        inverse = _inverses(np.take_along_axis(A, basis[:, None, :], 2), inverse)
        dual = (paid[:, None, :] @ inverse)[:, 0]
        return basis, np.maximum(inverse[:, :, 0], 0.0), dual

    def _begun(self, A: np.ndarray):
        """Return the basis that every motion allows: one pressure, and what it lacks."""
        size, rows, columns = A.shape
        basis = np.empty((size, rows), dtype=int)
        basis[:, :-1] = self.first
        lacks = A[:, -1, :][:, self.first]
        balance = lacks @ self._start
        sign = np.where(balance[:, 0] > 0, -1.0, 1.0)
        basis[:, -1] = np.where(sign > 0, columns - 2, columns - 1)
        inverse = np.zeros((size, rows, rows))
        inverse[:, :-1, :-1] = self._start
        inverse[:, -1, :-1] = -sign[:, None] * balance
        inverse[:, -1, -1] = sign
        return basis, inverse, np.maximum(inverse[:, :, 0], 0.0)


def _inverses(square: np.ndarray, otherwise: np.ndarray | None = None) -> np.ndarray:
    """Return inverses of matrices; of singular ones what is given, or minus one everywhere."""
    singular = np.abs(np.linalg.det(square)) <= 1e-13 * np.linalg.norm(square, axis=1).prod(axis=1)
    if not singular.any():
        return np.linalg.inv(square)
    inverses = np.linalg.inv(np.where(singular[:, None, None], np.eye(square.shape[1]), square))
    inverses[singular] = -1.0 if otherwise is None else otherwise[singular]
    return inverses
