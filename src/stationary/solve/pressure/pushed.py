"""A part and what pushes it, at one configuration, scaled to size and speed one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp

from stationary.derive.sliding import Sliding
from stationary.errors import NoMotion, StatementError, say
from stationary.lower.engines.casadi import Numeric
from stationary.lower.kernel import graph_of
from stationary.model.drawing import Support
from stationary.model.symbols import Velocity
from stationary.model.system import System
from stationary.solve.inertia import require_system
from stationary.solve.linear import Rows
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import Rest, bearing_of

# A gap below this share of the size of the part is closed.
_TOUCHES = 1e-7
# A centre this close to a rim is on it, in radii.
_ON = 1e-9


def support_of(part: Any) -> Support:
    """Return where a part may rest; refuse one whose pressure is known."""
    require_system(part)
    open_ = [p.support for p in part.parts if p.support is not None]
    if len(open_) != 1:
        raise StatementError(
            "bounds over pressures belong to one part whose pressure is left open.",
            f"Found {len(open_) or 'no'} such part{'s' * (len(open_) != 1)}.",
            "State it as st.slider(outline=…, weight=…, centre=(x, y)).",
        )
    return open_[0]


@lru_cache(maxsize=64)
def _holds(system: System) -> tuple[Any, Any, Any]:
    """Return the functions of constraints, contacts and slips of a system without its part."""
    bare = replace(system, parts=())
    sliding = Sliding(graph_of(bare))
    layout = sliding.graph.layout
    return (
        layout,
        Numeric(sliding.holds, frozenset({2, 5}), dense=True),
        Numeric(sliding.slips, frozenset({2}), dense=True) if sliding.rates else None,
    )


@lru_cache(maxsize=8)
def _scene(system: System, q: bytes, t: float, params: bytes) -> Scene:
    """Return a configuration of a part, the same for every question about it."""
    given = np.frombuffer(q), t, np.frombuffer(params)
    return Scene(system, support_of(system), *given)


@lru_cache(maxsize=64)
def _slopes(system: System, expression: sp.Expr) -> tuple[tuple[sp.Expr, ...], sp.Expr, bool]:
    """Return how an expression depends on each velocity, what is left, and whether it is linear."""
    velocities = [c.dot for c in system.coordinates]
    known = {c.name: c for c in system.coordinates}
    swap = {
        s: known[s.of.name].dot if isinstance(s, Velocity) else known[s.name]
        for s in expression.free_symbols
        if getattr(getattr(s, "of", s), "name", None) in known
    }
    expression = expression.xreplace(swap)
    slopes = tuple(sp.diff(expression, v) for v in velocities)
    rest = expression.xreplace({v: sp.S.Zero for v in velocities})
    return slopes, rest, not any(s.has(*velocities) for s in slopes)


@dataclass(frozen=True, eq=False)
class Scene:
    """A pushed part at one configuration; questions about the same share it."""

    system: System
    support: Support
    q: np.ndarray
    t: float
    params: np.ndarray

    @staticmethod
    def of(part: System, at: Any, params: Mapping[Any, float] | None, t: float) -> Scene:
        """Evaluate a statement at a configuration."""
        support = support_of(part)
        if support.centre is None:
            raise StatementError(
                "the centre of the part is not known.",
                "Found weight= without centre=.",
                "Give the point below its centre of mass: centre=(x, y).",
            )
        for kind in ("loads", "friction", "pfaffian"):
            if getattr(part, kind):
                raise StatementError(
                    f"bounds over pressures do not know {kind}.",
                    f"Found {len(getattr(part, kind))} beside the open pressure.",
                    "Push the part by a pusher or by constraints alone.",
                )
        layout, _, _ = _holds(part)
        if len(part.coordinates) != 3:
            raise StatementError(
                "a pushed part has three coordinates: position and angle.",
                f"Found {len(part.coordinates)}.",
                "Drive it by expressions of time.",
            )
        q, _ = layout.state(at, what="at")
        given = np.asarray(layout.values(params), float)
        return _scene(part, np.asarray(q, float).tobytes(), float(t), given.tobytes())

    # -- geometry --------------------------------------------------------------------------------

    @cached_property
    def turned(self) -> np.ndarray:
        """The rotation of the part."""
        c, s = np.cos(self.q[2]), np.sin(self.q[2])
        return np.array([[c, -s], [s, c]])

    @cached_property
    def arm(self) -> np.ndarray:
        """From the part's origin to its centre, in the frame of the table."""
        assert self.support.centre is not None
        return self.turned @ np.array(self.support.centre)

    @cached_property
    def size(self) -> float:
        """How far the support is from the centre, at most."""
        assert self.support.centre is not None
        centre = np.array(self.support.centre)
        if self.support.kind == "disc":
            return self.support.radius + float(np.hypot(*centre))
        return float(np.hypot(*(np.array(self.support.points) - centre).T).max())

    @cached_property
    def rest(self) -> Rest:
        """The support in the frame of the table, from the centre, in sizes of the part."""
        if self.support.kind == "disc":
            x, y = -self.arm / self.size
            if np.hypot(x, y) >= (1 - _ON) * self.support.radius / self.size:
                raise self._refused(False)
            return Rest(np.zeros((0, 2)), self.support.radius / self.size, (float(x), float(y)))
        corners = np.array(self.support.points) @ self.turned.T
        corners, feet = (corners - self.arm) / self.size, self.support.kind == "points"
        bearing = bearing_of(corners, feet)
        if bearing is None or not len(bearing):
            raise self._refused(bearing is None)
        return Rest(bearing, feet=feet)

    def _refused(self, split: bool) -> StatementError:
        """Say why a centre on the border of its support leaves nothing to bound."""
        assert self.support.centre is not None
        x, y = self.support.centre
        if split:
            return StatementError(
                "the weight of the part rests on both sides of a notch.",
                f"Found its centre ({x:g}, {y:g}) on the line between two edges of its outline.",
                "Give a centre inside, or the corners that bear load as points=.",
            )
        return StatementError(
            "the weight of the part rests on one point.",
            f"Found its centre ({x:g}, {y:g}) at a corner of its support.",
            f"Its pressure is known: st.slider(points=[({x:g}, {y:g})], weights=…), and "
            "st.minimum_power for its motion.",
        )

    def own(self, points: np.ndarray) -> np.ndarray:
        """Return scaled points in the part's own frame."""
        return (points * self.size + self.arm) @ self.turned

    def table(self, points: np.ndarray) -> np.ndarray:
        """Return scaled points in the frame of the table."""
        return points * self.size + self.arm + self.q[:2]

    @cached_property
    def rates(self) -> np.ndarray:
        """(ẋ, ẏ, φ̇) for each entry of a scaled twist of speed one."""
        (x, y), size = self.arm, self.size
        return np.array([[1.0, 0.0, y / size], [0.0, 1.0, -x / size], [0.0, 0.0, 1 / size]])

    # -- what pushes -----------------------------------------------------------------------------

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, b of A v + b = 0; G, g of contacts that touch; their slips S, s and friction."""
        _, holds, slips = _holds(self.system)
        given = (self.t, self.q, np.zeros(0), self.params)
        R, drive, A, gap, moved, G = holds(*given)
        A, G = A.reshape(-1, 3), G.reshape(-1, 3)
        near = np.abs(np.ravel(gap)) <= _TOUCHES * self.size
        if len(near) and not near.any():
            raise StatementError(
                "nothing touches the part.",
                f"Found a gap of {float(np.ravel(gap)[0]):.3g} at t = {self.t:g}.",
                "Ask where the pusher is at the part: choose at= and t= so.",
            )
        off = float(np.abs(R).max(initial=0.0))
        if off > 1e-6 * self.size:
            raise StatementError(
                "the constraints do not hold at this configuration.",
                f"Found a violation of {off:.3g}.",
                "Ask at one where they do: at={…}, t=….",
            )
        grip = np.zeros(len(near))
        S, s = np.zeros((len(near), 3)), np.zeros(len(near))
        if slips is not None:
            layout = _holds(self.system)[0]
            _, drift, B, size, _ = slips(*given)
            B, names = B.reshape(-1, 3), [r.name for r in layout.gaps]
            for entry in layout.slips:
                k = names.index(entry.name)
                row = entry.first
                S[k], s[k] = B[row], np.ravel(drift)[row]
                grip[k] = np.ravel(size)[row]
        return (
            A,
            np.ravel(drive),
            G[near],
            np.ravel(moved)[near],
            S[near],
            np.stack([s[near], grip[near]]),
        )

    @cached_property
    def speed(self) -> float:
        """How fast what pushes advances."""
        A, b, G, g, *_ = self.rows
        every, rate = np.vstack([A, G]) @ self.rates, np.concatenate([b, g])
        fast = np.abs(rate) / np.maximum(np.linalg.norm(every, axis=1), 1e-300)
        top = float(fast.max(initial=0.0))
        if not top > 0:
            raise NoMotion(
                say(
                    "nothing pushes the part.",
                    "Found no constraint or contact that moves with time here.",
                    "Let the pusher move: point=(0.1, st.t).",
                ),
                kind="jammed",
            )
        return top

    @cached_property
    def modes(self) -> list[Mode]:
        """The ways in which what pushes can touch."""
        A, b, G, g, S, (s, grip) = self.rows
        A, G, S = A @ self.rates, G @ self.rates, S @ self.rates
        b, g, s = b / self.speed, g / self.speed, s / self.speed
        if len(G) > 1 or (len(G) and len(A)):
            raise StatementError(
                "bounds over pressures know one pusher, or constraints.",
                f"Found {len(G)} contacts that touch and {len(A)} constraints.",
                "Push by one of them at a time.",
            )
        if not len(G):
            return [_held("holds", A, -b)]
        if not -g[0] > 1e-12:
            raise NoMotion(
                say(
                    "the pusher does not advance into the part.",
                    f"Found a gap that grows by {g[0] * self.speed:.3g} per unit of time.",
                    "Let it move towards the part.",
                ),
                kind="jammed",
            )
        if not grip[0] > 0:
            return [_held("holds", G, -g)]
        mu = float(grip[0])
        both, rate = np.vstack([G, S]), -np.array([g[0], s[0]])
        stuck = _held("sticks", both, rate)
        dual = np.linalg.pinv(both)
        cone = (mu * dual[:, 0] - dual[:, 1], mu * dual[:, 0] + dual[:, 1])
        modes = [replace(stuck, force=None, cone=cone)]
        for sign, name in ((1.0, "slides forward"), (-1.0, "slides back")):
            plain = _held(name, G, -g)
            guard = sign * (S[0] + s[0] / -g[0] * G[0])
            modes.append(
                replace(plain, force=G[0] - sign * mu * S[0], guard=guard,
                        gives=float(sign * mu * s[0] - g[0]))
            )  # fmt: skip
        return modes

    def functional(self, of: sp.Expr) -> tuple[np.ndarray, float]:
        """Return a linear expression of velocities as a covector of scaled twists, and the rest."""
        try:
            expression = sp.sympify(of, strict=True)
        except sp.SympifyError:
            # Text is read by the grammar of names alone.
            raise StatementError(
                "what shall be bounded is no expression.",
                f"Found {str(of)[:60]!r}, expected a linear expression of velocities.",
                'Ask of=phi.dot, a sum of velocities, "power" or "centre".',
            ) from None
        slopes, rest, linear = _slopes(self.system, expression)
        numbers = slopes
        if any(x.free_symbols for x in (*slopes, rest)):
            values = dict(zip(self.system.coordinates, map(float, self.q)))
            values |= dict(zip(self.system.parameters, map(float, self.params)))
            *numbers, rest = (x.subs(values) for x in (*slopes, rest))
        if not linear or any(x.free_symbols for x in (*numbers, rest)):
            raise StatementError(
                "what shall be bounded is not linear in the velocities.",
                f"Found {str(of)[:60]}.",
                'Ask of=phi.dot, a sum of velocities, "power" or "centre".',
            )
        row = np.array([float(x) for x in numbers]) @ self.rates * self.speed
        if not row.any():
            raise StatementError(
                "what shall be bounded is the same for every pressure.",
                f"Found {str(of)[:60]}, with no velocity in it here.",
                'Ask of=phi.dot, a sum of velocities, "power" or "centre".',
            )
        return row, float(rest)


def _held(name: str, rows: np.ndarray, rate: np.ndarray) -> Mode:
    """Return the motions under rows of constraints, and the force of a single one."""
    held = Rows(rows)
    base, free = held.correction(-rate), held.tangent
    if np.abs(rows @ base - rate).max() > 1e-9 * max(np.abs(rate).max(), 1e-300):
        raise NoMotion(
            say(
                "the constraints contradict each other.",
                "Found rates that no motion of the part has.",
                "Leave one of them out.",
            ),
            kind="jammed",
        )
    force = None
    if free.shape[1] == 2:
        k = int(np.abs(rate).argmax())
        force = rows[k] * np.sign(rate[k])
    return Mode(name, base, free, force)
