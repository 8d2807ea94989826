"""Where a finger can have pushed a part to: a band over time for every pressure.

While a finger stays at an edge, its place s along that edge and the angle φ of the part tell where
the part is. All pressures together keep (φ, s) within a box whose sides move as fast as the fastest
pressure anywhere on that side would move them, at every time anew. No single pressure need do that,
and the pressure may even change on the way: the band is safe rather than attained.
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
from stationary.solve.pressure.interval import greatest
from stationary.solve.pressure.pushed import Scene

_STEPS = 10
# More than a part turns in one step of a band that says anything.
_TURN = 0.5


def band_of(
    scene: Scene, now: PressureBounds, of: Any, span: tuple[float, float]
) -> PressureBounds:  # fmt: skip
    """Return the band of a coordinate while a finger pushes, from the bounds at its start."""
    names = [c.name for c in scene.system.coordinates]
    which = names.index(of.name)
    push = _Push.of(scene)
    times = np.linspace(span[0], span[1], _STEPS + 1)
    box = np.array([[scene.q[2]] * 2, [0.0, 0.0]])
    rows = [(times[0], *push.range(which, times[0], box))]
    words = "the box of angles and places of the finger grows as the fastest pressure on each of "
    words += "its sides, looked at three times, would have it: no single pressure need do that"
    first = None
    for a, b in zip(times[:-1], times[1:]):
        try:
            first = push.rates(a, box) if first is None else first
            last = push.rates(b, box + (b - a) * first)
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
        made = _Push(scene, finger, touched, along)
        # Past the finger an edge turns with the part; a fence does not.
        probe = replace(scene, q=made.pose(scene.t, float(scene.q[2]) + 1e-3, 0.0))
        other = probe.turned.T @ probe.rows[2][0][:2]
        if abs(other @ along) > 1e-6 * np.hypot(other[0], other[1]):
            raise StatementError(
                "a band over time belongs to a finger that pushes at an edge.",
                "Found a fence at a corner.",
                'Ask of="advance".',
            )
        return made

    def pose(self, t: float, angle: float, place: float) -> np.ndarray:
        """Return the part with an angle, touched at a place."""
        c, s = np.cos(angle), np.sin(angle)
        u = self.touched + place * self.along
        X = np.array(self.finger(t), float)
        return np.array([X[0] - c * u[0] + s * u[1], X[1] - s * u[0] - c * u[1], angle])

    def rates(self, t: float, box: np.ndarray) -> np.ndarray:
        """Return how fast each side of a box of (φ, s) moves outwards at most."""
        made = np.zeros((2, 2))
        for k in range(2):
            for side, sign in enumerate((-1.0, 1.0)):
                looks = []
                wide = float(np.ptp(box[1 - k]))
                for share in (0.0, 0.5, 1.0) if wide > 0 else (0.0,):
                    state = [0.0, 0.0]
                    state[k], state[1 - k] = box[k, side], box[1 - k, 0] + share * wide
                    looks.append(sign * self._rate(t, state, k, sign))
                more = abs(looks[0] - 2 * looks[1] + looks[2]) / 2 if len(looks) > 1 else 0.0
                made[k, side] = sign * (max(looks) + more)
        return made

    def _rate(self, t: float, state: list[float], k: int, sign: float) -> float:
        """Return the least or the greatest rate of φ or s over all pressures."""
        scene = replace(self.scene, q=self.pose(t, *state), t=t)
        u = self.touched + state[1] * self.along
        row, rest = np.array([0.0, 0.0, 1.0]), 0.0
        if k:
            d = scene.turned @ self.along
            row = np.array([-d[0], -d[1], self.along @ np.array([u[1], -u[0]])])
            step = 1e-6 * scene.size / scene.speed
            X = [np.array(self.finger(t + h), float) for h in (-step, step)]
            rest = float(d @ (X[1] - X[0])) / (2 * step)
        functional = row @ scene.rates * scene.speed
        _, summit = greatest(scene, sign * functional)
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
        found = [self.pose(t, a, s)[which] for a in inside for s in box[1]]
        return float(min(found)), float(max(found))


def _moves(system: System, where: Any) -> bool:
    """Tell whether a finger depends on where the part is."""
    free = set().union(*(sp.sympify(x, strict=True).free_symbols for x in where))
    return bool(free - {time} - set(system.parameters))
