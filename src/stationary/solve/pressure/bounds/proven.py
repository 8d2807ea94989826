"""Proof of an interval: no pressure goes beyond its ends by more than a share of them.

Pressures mix and motions follow them without jumps, so that one which went beyond a value would
have others between it and the pressures of the interval that stop at that value. A smooth finger
has a line of motions there, a rough one such a line for each side to which it slides and one single
motion with which it sticks; duals leave no pressure at any of them. A dual at every motion θ of a
line with which

    g(x) = W(x)·v̂(x) − λ·x > 0   everywhere on the support,   W = across − ν along,

proves that none stops there: its mean over a pressure in balance would be zero. Between two motions
duals are interpolated; how far g then is from its own interpolant is bounded by its second
derivative, and g at both ends by what is known of it along every edge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.result.pressure import Cover, PressureBounds
from stationary.result.status import Status
from stationary.solve.pressure.duals.lowest import at_rest, lowest, lowest_over
from stationary.solve.pressure.envelope import centres, fields
from stationary.solve.pressure.programs.lines import Pencil
from stationary.solve.pressure.programs.programs import Programs
from stationary.solve.pressure.programs.single import EXACT, Single
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import Rest

# Sides of the polygon around a disc, on which its proof is made.
_SIDES = 360
# Mixtures of the two edges of a cone that are tried as a witness.
_MIXED = np.linspace(0, np.pi / 2, 9)


def require_share(share: Any) -> None:
    """Refuse what is no share by which a proven interval may be wider."""
    if isinstance(share, bool) or not (isinstance(share, (int, float)) and 0 < share < 1):
        raise StatementError(
            "how much wider the proven interval may be is no share.",
            f"Found prove={share!r}.",
            "Give a small number, as in prove=1e-6.",
        )


def proven_power(bounds: PressureBounds, wide: float, share: float) -> PressureBounds:
    """Return bounds of the power, of which the lower end is proven to a share of it."""
    outer = bounds.low - wide * bounds.low, bounds.high
    if wide <= share and all(d and d.scope for d in (bounds.proof.low, bounds.proof.high)):
        status = Status("proven", "duals at each end hold for every pressure")
    else:
        words = f"proven is the wider interval {outer[0]:.8g} … {outer[1]:.8g} only"
        status = Status(str(bounds.status), words)
    return replace(bounds, outer=outer, status=status)


def proven(
    scene: Scene, bounds: PressureBounds, functional: np.ndarray, rest: float, share: float
) -> PressureBounds:
    """Return bounds with what is proven of them."""
    require_share(share)
    duals = bounds.proof.low, bounds.proof.high
    if all(d is not None and d.scope == "every pressure" for d in duals) and len(scene.modes) == 1:
        words = "one dual at each end holds for every pressure"
        return replace(bounds, outer=(bounds.low, bounds.high), status=Status("proven", words))
    support = _around(scene.rest)
    size = max(abs(bounds.low - rest), abs(bounds.high - rest))
    outer, covers = [], []
    for sign, end in ((-1.0, bounds.low), (1.0, bounds.high)):
        room, covers_ = float(share) * size, []
        while room < 2 * size:
            covers_ = _beyond(support, scene.modes, sign * functional, sign * (end - rest) + room)
            if all(c.proven for c in covers_):
                break
            room *= 10
        good = bool(covers_) and all(c.proven for c in covers_)
        outer.append(end + sign * room if good else sign * np.inf)
        covers += covers_
    kept = replace(bounds.proof, covers=tuple(covers))
    wide = max(bounds.low - outer[0], outer[1] - bounds.high) / size
    if wide <= share * (1 + 1e-6):
        count = sum(len(c.angles) for c in covers)
        words = f"duals at {count} motions leave no pressure that goes beyond by {wide:.0e}"
        status = Status("proven", words)
    else:
        words = f"proven is the wider interval {outer[0]:.8g} … {outer[1]:.8g} only"
        if scene.rest.radius:
            words += ", that of a polygon around the disc"
        status = Status(str(bounds.status), words)
    return replace(bounds, outer=(float(outer[0]), float(outer[1])), proof=kept, status=status)


def _around(rest: Rest) -> Rest:
    """Return a support of which the proof is made: a polygon around a disc, or itself."""
    if not rest.radius:
        return rest
    angle = np.arange(_SIDES) * (2 * np.pi / _SIDES)
    out = rest.radius / np.cos(np.pi / _SIDES)
    return Rest(out * np.stack([np.cos(angle), np.sin(angle)], axis=1) + rest.middle)


def _beyond(rest: Rest, modes: list[Mode], functional: np.ndarray, value: float) -> list[Cover]:
    """Return what leaves no pressure at the motions with a value, mode by mode."""
    covers = []
    for mode in modes:
        if mode.free.shape[1] == 2:
            cover = covered(Pencil(Programs(rest), mode, functional), value)
        else:
            cover = _stuck(rest, mode, functional, value)
        covers.append(cover)
        if not cover.proven:
            break
    return covers


def _stuck(rest: Rest, mode: Mode, functional: np.ndarray, value: float) -> Cover:
    """Return a dual at the one motion with a value with which the finger sticks."""
    none = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3))
    slope = functional @ mode.free
    if mode.free.shape[1] == 0 or abs(slope[0]) <= 1e-14 * np.abs(functional).max():
        # All motions have one value, and it is another.
        other = float(functional @ mode.base)
        return Cover(value, bool(other < value), *none, value - other)
    way = mode.free[:, 0]
    twist = mode.base + way * ((value - functional @ mode.base) / slope[0])
    single, nothing = Single(rest), np.zeros(3)
    tried = [(way, nothing), (-way, nothing)]
    if mode.cone:
        first, last = mode.cone
        tried += [(-np.cos(a) * first - np.sin(a) * last, way) for a in _MIXED]
    best = -np.inf
    for aim, row in tried:
        answer = single.least(twist, aim, row, rounds=EXACT)
        affine = np.array([0.0, *answer.affine[1:]])
        # With no λ0 the mean of f is the imbalance alone.
        low = lowest_over(rest, twist, answer.witness, -affine)
        best = max(best, low)
        if low > 0:
            return Cover(value, True, np.zeros(1), affine[None], answer.witness[None], low)
    return Cover(value, False, *none, best)


# -- one line of motions ---------------------------------------------------------------------------

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
