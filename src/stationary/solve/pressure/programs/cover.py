"""Proof that no pressure goes beyond a value: duals all along a line of motions.

If some pressure went beyond, others in between would stop at the line, since pressures mix and
motions follow them without jumps. So a dual at every motion θ of the line, with which

    g(x) = W(x)·v̂(x) − λ·x > 0   everywhere on the support,   W = across − ν along,

proves that none does: its mean over a pressure in balance would be zero. Between two motions duals
are interpolated; how far g then is from its own interpolant is bounded by its second derivative,
and g at both ends by what is known of it along every edge.
"""

from __future__ import annotations

import numpy as np

from stationary.result.pressure import Cover
from stationary.solve.pressure.duals.lowest import at_rest, lowest
from stationary.solve.pressure.programs.lines import Pencil
from stationary.solve.pressure.programs.programs import Programs, centres, fields

_FIRST = 33
_DEPTH = 40
_MOST = 3000

# What imbalance costs in the programs of a proof.
_CAP = 8.0


class _Duals:
    """Motions along the line, their duals, and how low g is on every edge."""

    def __init__(self, pencil: Pencil, value: float, angles: np.ndarray, rounds: int):
        self.pencil, self.rest = pencil, pencil.programs.rest
        self.angles = angles
        line = pencil.line(value)
        self.twists = line.at(angles)
        answers = pencil.ask(self.twists, rounds)
        across, along = pencil.ways(self.twists[:1])
        self.across, self.along = across[0], along[0]
        self.dual = answers.dual
        self.affine = np.column_stack([np.zeros(len(angles)), answers.affine[:, 1:]])
        self.turn = np.stack([-np.sin(angles), np.cos(angles)], axis=1) @ np.stack(
            [line.first, line.last])  # fmt: skip

    def witness(self, dual: np.ndarray) -> np.ndarray:
        return self.across - dual[:, None] * self.along


def covered(pencil: Pencil, value: float) -> Cover:
    """Prove that no pressure has a value beyond this one, or say that it is not proven."""
    pencil = Pencil(Programs(pencil.programs.rest, _CAP), pencil.mode, pencil.functional)
    line = pencil.line(value)
    low, high = pencil.allowed(line)
    if not high > low:
        # The finger slips to the other side at all of these motions.
        none = np.zeros((0, 3))
        return Cover(value, True, np.zeros(0), none, none, np.inf)
    knots = pencil.knots(line)
    knots = knots[(knots >= low) & (knots <= high)]
    angles = np.unique(np.concatenate([np.linspace(low, high, _FIRST), knots]))
    known = _Duals(pencil, value, angles, 0)
    data = [known.angles, known.twists, known.turn, known.dual, known.affine]
    todo = np.arange(len(angles) - 1)
    kept: list[tuple[np.ndarray, ...]] = []
    margin, count = np.inf, len(angles)
    left, right = [x[:-1] for x in data], [x[1:] for x in data]
    proven = False
    for depth in range(_DEPTH):
        room = _room(pencil, known, left, right)
        good = room > 0
        margin = min(margin, float(room[good].min(initial=np.inf)))
        kept.append((left[0][good], left[3][good], left[4][good]))
        todo = np.flatnonzero(~good)
        if not len(todo):
            proven = True
            break
        count += len(todo)
        middle = (left[0][todo] + right[0][todo]) / 2
        narrow = right[0][todo] - left[0][todo] < 1e-13
        if count > _MOST or narrow.any():
            break
        between = _Duals(pencil, value, middle, 0 if depth < 2 else 5 if depth < 6 else 12)
        fresh = [between.angles, between.twists, between.turn, between.dual, between.affine]
        left, right = (
            [np.concatenate([a[todo], b]) for a, b in zip(left, fresh)],
            [np.concatenate([b, a[todo]]) for a, b in zip(right, fresh)],
        )
    every = [np.concatenate(x) for x in zip(*kept)]
    order = np.argsort(every[0])
    return Cover(value, proven, every[0][order], every[2][order],
                 known.witness(every[1][order]), margin)  # fmt: skip


def _room(pencil: Pencil, known: _Duals, left, right) -> np.ndarray:
    """Return how much of g is left between two motions: positive where it is proven."""
    best = np.full(len(left[0]), -np.inf)
    for first, last in ((left, right), (left, left), (right, right)):
        best = np.maximum(best, _with(pencil, known, left, right, (first[3], first[4]),
                                      (last[3], last[4])))  # fmt: skip
    return best


def _with(pencil: Pencil, known: _Duals, left, right, first, last) -> np.ndarray:
    rest = pencil.programs.rest
    wide = right[0] - left[0]
    W = known.witness(first[0]), known.witness(last[0])
    low = np.minimum(lowest(rest, left[1], W[0], first[1]), lowest(rest, right[1], W[1], last[1]))
    swing = np.abs(last[0] - first[0]) / wide
    corners = rest.corners
    ends = [np.arange(rest.pieces), (np.arange(rest.pieces) + 1) % len(corners)]
    if rest.feet:
        ends = [np.arange(len(corners))] * 2

    def most(twists):
        """Return the greatest speed on each piece: at one of its ends."""
        v = fields(twists, corners)
        size = np.hypot(v[..., 0], v[..., 1])
        return np.maximum(size[:, ends[0]], size[:, ends[1]])

    push = np.maximum(most(W[0]), most(W[1]))
    along = most(np.repeat(known.along[None], len(wide), axis=0))
    # Where every motion between has its derivative: |v″| = |v|.
    grows = np.maximum(most(left[2]), most(right[2])) + most(left[1]) * wide[:, None]
    slow = np.minimum(_least(rest, ends, left[1]), _least(rest, ends, right[1]))
    slow = slow - grows * wide[:, None] / 2
    size = wide[:, None]

    def loss(speed):
        share = grows / np.maximum(speed, 1e-100)
        return size**2 / 8 * (2 * swing[:, None] * along * share + 3 * push * share**2)

    room = np.where(slow > 0, low - loss(slow), -np.inf)
    # Near the centre of rotation friction may act in any direction, as on what rests: times ω that
    # is a norm and a product of what bends with the angle by no more than itself.
    q = centres(left[1]), centres(right[1])
    inside = rest.contain(q[0]) | rest.contain(q[1])
    turn = np.abs(left[1][:, 2]), np.abs(right[1][:, 2])
    with np.errstate(invalid="ignore"):
        at_pole = np.minimum(turn[0] * at_rest(q[0], W[0], first[1]),
                           turn[1] * at_rest(q[1], W[1], last[1]))  # fmt: skip
    size_ = np.maximum(*(np.linalg.norm(w, axis=1) for w in W))
    affine = np.maximum(*(np.hypot(*a[:, 1:].T) for a in (first[1], last[1])))
    changed = (
        np.linalg.norm(W[1] - W[0], axis=1) + np.hypot(*(last[1] - first[1])[:, 1:].T)
    ) / wide
    bend = 2 * (2 * changed + size_ + affine)
    same = np.sign(left[1][:, 2]) == np.sign(right[1][:, 2])
    moved = np.where(same, at_pole - wide**2 / 8 * bend, -np.inf)
    # ω itself is a sine of the angle: between its ends it is no smaller than the lesser of them,
    # and no greater than they and what it bends by.
    fast = np.maximum(*turn) + wide**2 / 8 * np.hypot(*(left[1][:, 2], left[2][:, 2]))
    moved = np.where(np.isfinite(moved), moved, -np.inf) / np.maximum(fast, 1e-300)
    slope = np.maximum(*(np.abs(w[:, 2]) for w in W)) + affine
    turn = np.minimum(*turn)
    # A point that is near at one angle is not far at the others.
    drift = 2 * wide / np.maximum(turn, 1e-100) ** 2
    for share in (0.5, 0.9):
        near = share * np.maximum(moved, 0.0) / np.maximum(slope, 1e-300) - drift
        speed = (turn * near)[:, None]
        other = np.minimum(low - loss(speed), ((1 - share) * moved)[:, None])
        room = np.maximum(room, np.where(speed > 0, other, -np.inf))
    room = room.min(axis=1)
    # What rests inside bears load, too.
    return np.where(inside, np.minimum(room, moved), room)


def _least(rest, ends, twists: np.ndarray) -> np.ndarray:
    """Return the least speed on each piece."""
    a, b = rest.corners[ends[0]], rest.corners[ends[1]]
    va, vb = fields(twists, a), fields(twists, b)
    way = vb - va
    square = np.maximum((way**2).sum(axis=2), 1e-300)
    share = np.clip(-(va * way).sum(axis=2) / square, 0, 1)
    v = va + share[..., None] * way
    return np.hypot(v[..., 0], v[..., 1])
