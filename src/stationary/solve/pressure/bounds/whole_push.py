"""Where a finger can have pushed a part to: a band over time for every pressure.

While a finger stays at an edge, its place s along that edge and the angle φ of the part tell where
the part is. All pressures together keep (φ, s) within a box whose sides move as fast as the fastest
pressure anywhere on that side would move them, at every time anew. No single pressure need do that,
and the pressure may even change on the way: the band is safe rather than attained.

A smooth finger moves the part as fast as it advances along the normal of its edge, whatever else it
does: motions for one normal speed hang on s alone, and a few places along the edge tell them all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, StationaryError
from stationary.model.symbols import t as time
from stationary.model.system import System
from stationary.result.pressure import PressureBounds
from stationary.result.status import Status
from stationary.solve.pressure.bounds.interval import greatest
from stationary.solve.pressure.extremes.extremes import Extremes
from stationary.solve.pressure.pushed import Scene

_ANGLES = 12
# Angles at which the band of a whole push is told.
_BAND = 41


def advance_of(part: System, scene: Scene, at: Any, params: Any, t: float, ask: Any) -> Any:
    """Bound how far a fence advances until the next edge of the outline lies at it.

    The slowest and the fastest rotation at every angle between now and then, integrated over the
    angle by Gauss and Legendre; a pressure that is slowest at one angle need not be at the next, so
    that the bounds are safe rather than attained.
    """
    x, y, phi = part.coordinates
    now = ask(part, of=phi.dot, at=at, params=params, t=t)
    if now.proof.turns == "not at all" or now.low <= 0 <= now.high:
        raise StatementError(
            "the part need not turn towards the fence.",
            f"Found rates of turning from {now.low:.4g} to {now.high:.4g}.",
            "Push so that all pressures turn it the same way.",
        )
    normal, corner, speed = _fence(scene)
    sense = float(np.sign(now.low))
    final = _aligned(scene, normal, corner, sense)
    nodes, weights = np.polynomial.legendre.leggauss(_ANGLES)
    slowness = np.zeros((2, _ANGLES))
    for k, node in enumerate(nodes):
        angle = float(scene.q[2] + (final - scene.q[2]) * (node + 1) / 2)
        # The corner stays where it is at the fence; only the angle counts.
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        place = scene.q[:2] + scene.turned @ corner - turn @ corner
        bounds = ask(
            part, of=phi.dot, at={x: place[0], y: place[1], phi: angle}, params=params, t=t
        )
        rates = sorted((abs(bounds.low), abs(bounds.high)))
        slowness[:, k] = 1 / rates[1], 1 / rates[0]
    half = abs(final - scene.q[2]) / 2 * speed
    low, high = half * (slowness @ weights)
    # In between the polynomial through the same angles, integrated.
    places = np.linspace(-1, 1, _BAND)
    degree = np.arange(_ANGLES)
    shapes = np.polynomial.legendre.legvander(nodes, _ANGLES - 1)
    terms = (2 * degree + 1) / 2 * ((slowness * weights) @ shapes)
    ways = [np.polynomial.legendre.legval(places, np.polynomial.legendre.legint(c, lbnd=-1))
            for c in terms]  # fmt: skip
    angles = scene.q[2] + (final - scene.q[2]) * (places + 1) / 2
    return replace(
        now, of="advance", low=float(low), high=float(high), pressures=(),
        band=np.column_stack([angles, half * ways[0], half * ways[1]]),
        proof=now.proof.uncertified("the fastest and the slowest at every angle, added up"),
        status=Status("conservative", "the slowest and the fastest pressure at every angle: no "
                      "single pressure need have them all"),
    )  # fmt: skip


def _fence(scene: Scene) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the direction in which the fence pushes, the corner at it, and its speed."""
    _, _, G, g, _, _ = scene.rows
    if len(G) != 1:
        raise StatementError(
            "there is no fence that advances.",
            f"Found {len(G)} contacts that touch.",
            "Push by st.Pusher(point=…, corner=…, normal=…).",
        )
    force = G[0]
    normal = force[:2] / np.hypot(*force[:2])
    lever = force[2] / np.hypot(*force[:2])
    corners = np.array(scene.support.points) @ scene.turned.T
    if not len(corners):
        raise StatementError("a disc has no edge to align.", "Found radius=.", "Give an outline.")
    off = np.abs(corners[:, 0] * normal[1] - corners[:, 1] * normal[0] - lever)
    k = int((corners @ normal).argmin())
    if off[k] > 1e-6 * scene.size:
        raise StatementError(
            "what pushes is not at the foremost corner of the part.",
            f"Found a corner {off[k]:.3g} beside the line of its force.",
            "Push by a fence, st.Pusher(point=…, corner=…, normal=…), at the corner of the outline "
            "that is first in its way.",
        )
    speed = float(-g[0] / np.hypot(*force[:2]))
    return normal, np.array(scene.support.points)[k], speed


def _aligned(scene: Scene, normal: np.ndarray, corner: np.ndarray, sense: float) -> float:
    """Return the angle at which another corner comes to the fence: an edge of the hull is at it."""
    arms = np.array(scene.support.points) - corner
    arms = arms[np.hypot(*arms.T) > 1e-9 * scene.size]
    now = np.arctan2(arms[:, 1], arms[:, 0]) + scene.q[2]
    ahead = np.arctan2(normal[1], normal[0])
    # Seen from the corner all others are before the fence; they turn until the first is along it.
    turn = np.pi / 2 - sense * ((now - ahead + np.pi) % (2 * np.pi) - np.pi)
    return float(scene.q[2] + sense * turn.min())


# -- a band while a finger pushes ------------------------------------------------------------------

# Steps of a band: where every rate is looked for, and where rates are known along the edge.
_STEPS, _FINE = 10, 40
# Places along the edge at which they are looked for, for what the finger goes in all.
_PLACES = 3
# More than a part turns in one step of a band that says anything.
_TURN = 0.5


def band_of(
    scene: Scene, now: PressureBounds, of: Any, span: tuple[float, float]
) -> PressureBounds:  # fmt: skip
    """Return the band of a coordinate while a finger pushes, from the bounds at its start."""
    names = [c.name for c in scene.system.coordinates]
    which = names.index(of.name)
    push = _Push.of(scene)
    smooth = not np.any(scene.rows[5][1])
    follows = _Along.of(push, span) if smooth else push
    times = np.linspace(span[0], span[1], (_FINE if smooth else _STEPS) + 1)
    box = np.array([[scene.q[2]] * 2, [0.0, 0.0]])
    rows = [(times[0], *push.range(which, times[0], box))]
    words = "the box of angles and places of the finger grows as the fastest pressure on each of "
    looked = "at places along the edge" if smooth else "three times"
    words += f"its sides, looked at {looked}, would have it: no single pressure need do that"
    first = None
    for a, b in zip(times[:-1], times[1:]):
        try:
            first = follows.rates(a, box) if first is None else first
            last = follows.rates(b, box + (b - a) * first)
        except StationaryError as error:
            words = f"up to t = {a:.4g}; beyond, for some pressure: {str(error).splitlines()[0]}"
            break
        # Over a step the faster of its two ends.
        fast = np.stack([np.minimum(first, last)[:, 0], np.maximum(first, last)[:, 1]], axis=1)
        if np.abs(fast[0]).max() * (b - a) > _TURN:
            words = (f"up to t = {a:.4g}; beyond, the push may pass so close by the centre that "
                     "some pressure turns the part at once")  # fmt: skip
            break
        box, first = box + (b - a) * fast, last
        rows.append((b, *push.range(which, b, box)))
    band = np.array(rows)
    return replace(
        now, of=of.name, low=float(band[-1, 1]), high=float(band[-1, 2]), pressures=(), band=band,
        proof=now.proof.uncertified(words),
        status=Status("conservative", words),
    )  # fmt: skip


@dataclass(frozen=True)
class _Push:
    """A finger at an edge: where it is, and what of the part it touches at first."""

    scene: Scene
    finger: Any
    touched: np.ndarray
    along: np.ndarray

    @staticmethod
    def of(scene: Scene) -> _Push:
        system = scene.system
        where = [p.points[0] for p in system.parts if p.kind == "particle"]
        _, _, G, *_ = scene.rows
        if len(where) != 1 or len(G) != 1 or _moves(system, where[0]):
            raise StatementError(
                "a band over time belongs to a finger that pushes at an edge.",
                f"Found {len(G)} contacts that touch and {len(where)} fingers.",
                'Push by st.Pusher(point=…, edge=…); ask of="advance" for a fence.',
            )
        values = dict(zip(system.parameters, map(float, scene.params)))
        finger = sp.lambdify(time, [sp.sympify(x, strict=True).subs(values) for x in where[0]])
        touched = scene.turned.T @ (np.array(finger(scene.t), float) - scene.q[:2])
        normal = scene.turned.T @ G[0][:2]
        along = np.array([-normal[1], normal[0]]) / np.hypot(normal[0], normal[1])
        push = _Push(scene, finger, touched, along)
        # Past the finger an edge turns with the part; a fence does not.
        probe = replace(scene, q=push.pose(scene.t, float(scene.q[2]) + 1e-3, 0.0))
        other = probe.turned.T @ probe.rows[2][0][:2]
        if abs(other @ along) > 1e-6 * np.hypot(other[0], other[1]):
            raise StatementError(
                "a band over time belongs to a finger that pushes at an edge.",
                "Found a fence at a corner.",
                'Ask of="advance".',
            )
        return push

    def pose(self, t: float, angle: float, place: float) -> np.ndarray:
        """Return the part with an angle, touched at a place."""
        c, s = np.cos(angle), np.sin(angle)
        u = self.touched + place * self.along
        X = np.array(self.finger(t), float)
        return np.array([X[0] - c * u[0] + s * u[1], X[1] - s * u[0] - c * u[1], angle])

    def velocity(self, t: float) -> np.ndarray:
        """Return how the finger moves over the table."""
        step = 1e-6 * self.scene.size / self.scene.speed
        X = [np.array(self.finger(t + h), float) for h in (-step, step)]
        return (X[1] - X[0]) / (2 * step)

    def rates(self, t: float, box: np.ndarray) -> np.ndarray:
        """Return how fast each side of a box of (φ, s) moves outwards at most."""
        rates = np.zeros((2, 2))
        for k in range(2):
            for side, sign in enumerate((-1.0, 1.0)):
                looks = []
                wide = float(np.ptp(box[1 - k]))
                for share in (0.0, 0.5, 1.0) if wide > 0 else (0.0,):
                    state = [0.0, 0.0]
                    state[k], state[1 - k] = box[k, side], box[1 - k, 0] + share * wide
                    looks.append(sign * self.rate(t, state, k, sign))
                more = abs(looks[0] - 2 * looks[1] + looks[2]) / 2 if len(looks) > 1 else 0.0
                rates[k, side] = sign * (max(looks) + more)
        return rates

    def at(self, t: float, state: list[float]) -> Scene:
        """Return the part with an angle and a place of the finger."""
        return replace(self.scene, q=self.pose(t, state[0], state[1]), t=t)

    def rate(
        self, t: float, state: list[float], k: int, sign: float,
        known: tuple[Scene, list[Extremes]] | None = None,
    ) -> float:  # fmt: skip
        """Return the least or the greatest rate of φ or s over all pressures."""
        scene, hunts = known or (self.at(t, state), None)
        u = self.touched + state[1] * self.along
        row, rest = np.array([0.0, 0.0, 1.0]), 0.0
        if k:
            d = scene.turned @ self.along
            row = np.array([-d[0], -d[1], self.along @ np.array([u[1], -u[0]])])
            rest = float(d @ self.velocity(t))
        functional = row @ scene.rates * scene.speed
        _, summit = greatest(scene, sign * functional, hunts)
        return float(functional @ summit.twist) + rest

    def range(self, which: int, t: float, box: np.ndarray) -> tuple[float, float]:
        """Return between what a coordinate is for the states of a box."""
        if which == 2:
            return float(box[0, 0]), float(box[0, 1])
        # Linear in s; a sine of the angle, which may be greatest between its ends.
        u = [self.touched + s * self.along for s in box[1]]
        turns = [np.arctan2(-x[1], x[0]) if which == 0 else np.arctan2(x[0], x[1]) for x in u]
        angles = list(box[0])
        for turn in turns:
            first = np.ceil((box[0, 0] - turn) / np.pi)
            angles += [turn + k * np.pi for k in np.arange(first, first + 3)]
        inside = [a for a in angles if box[0, 0] <= a <= box[0, 1]]
        values = [self.pose(t, a, s)[which] for a in inside for s in box[1]]
        return float(min(values)), float(max(values))


@dataclass(frozen=True)
class _Along:
    """A smooth finger: turns and slips for one normal speed, at places along the edge.

    `known` has, for the place s = j step, the least and the greatest turn and way of the contact
    along the edge, each for an advance of one along the normal.
    """

    push: _Push
    step: float
    known: dict[tuple[int, int, float], float]
    hunts: dict[int, tuple[Scene, list[Extremes]]]

    @staticmethod
    def of(push: _Push, span: tuple[float, float]) -> _Along:
        ends = [np.array(push.finger(t), float) for t in np.linspace(*span, _PLACES + 1)]
        far = float(np.sum(np.linalg.norm(np.diff(ends, axis=0), axis=1)))
        return _Along(push, max(far, 1e-6 * push.scene.size) / _PLACES, {}, {})

    def _of(self, j: int, k: int, sign: float) -> float:
        """Return the extreme turn (k = 0) or way along the edge (k = 1) at one place."""
        if (j, k, sign) not in self.known:
            scene = self.push.scene
            ahead, aside = self._speeds(scene.t, float(scene.q[2]))
            state = [float(scene.q[2]), j * self.step]
            if j not in self.hunts:
                here = self.push.at(scene.t, state)
                self.hunts[j] = here, [Extremes(here.rest, mode) for mode in here.modes]
            # A contact that goes along the edge leaves its finger behind.
            way = sign if k == 0 else -sign
            rate = self.push.rate(scene.t, state, k, way, self.hunts[j])
            self.known[j, k, sign] = (rate if k == 0 else aside - rate) / ahead
        return self.known[j, k, sign]

    def _speeds(self, t: float, angle: float) -> tuple[float, float]:
        """Return how fast the finger goes along the normal and along the edge of a turned part."""
        c, s = np.cos(angle), np.sin(angle)
        X = np.array([[c, s], [-s, c]]) @ self.push.velocity(t)
        along = self.push.along
        return float(along[1] * X[0] - along[0] * X[1]), float(along @ X)

    def _extreme(self, low: float, high: float, k: int, sign: float) -> float:
        """Return the extreme over places: straight between those that are known, and what bends."""
        first, last = int(np.floor(low / self.step)) - 1, int(np.ceil(high / self.step)) + 1
        if low == high == 0.0:
            return self._of(0, k, sign)
        places = np.arange(first, last + 1)
        values = sign * np.array([self._of(int(j), k, sign) for j in places])
        inner = values[(places * self.step >= low) & (places * self.step <= high)]
        ends = np.interp([low, high], places * self.step, values)
        bend = float(np.abs(np.diff(values, 2)).max(initial=0.0))
        return sign * (float(max(*ends, *inner)) + bend)

    def rates(self, t: float, box: np.ndarray) -> np.ndarray:
        """Return how fast each side of a box of (φ, s) moves outwards at most."""
        rates = np.zeros((2, 2))
        for side, sign in enumerate((-1.0, 1.0)):
            ahead, _ = self._speeds(t, box[0, side])
            if not ahead > 0:
                raise StatementError(
                    "the finger goes away from its edge.",
                    f"Found it at t = {t:.4g}, the part turned by {box[0, side]:.4g}.",
                    "Ask up to an earlier time.",
                )
            rates[0, side] = ahead * self._extreme(float(box[1, 0]), float(box[1, 1]), 0, sign)
            # ṡ = V along the edge less what the contact does: a sine of the angle.
            way = self._extreme(box[1, side], box[1, side], 1, -sign)
            angles = [*box[0], *self._turning(t, way, box[0])]
            slips = [b - a * way for a, b in (self._speeds(t, angle) for angle in angles)]
            rates[1, side] = sign * max(sign * slip for slip in slips)
        return rates

    def _turning(self, t: float, way: float, angles: np.ndarray) -> list[float]:
        """Return the angles between two at which a slip is extreme."""
        (a, b), (c, d) = (self._speeds(t, angle) for angle in (0.0, np.pi / 2))
        # b − a way at the angle zero, and at a right angle: the two parts of its sine.
        first = np.arctan2(d - c * way, b - a * way)
        turns = first + np.pi * np.arange(np.ceil((angles[0] - first) / np.pi),
                                          np.floor((angles[1] - first) / np.pi) + 1)  # fmt: skip
        return [float(turn) for turn in turns]


def _moves(system: System, where: Any) -> bool:
    """Tell whether a finger depends on where the part is."""
    free = set().union(*(sp.sympify(x, strict=True).free_symbols for x in where))
    return bool(free - {time} - set(system.parameters))
