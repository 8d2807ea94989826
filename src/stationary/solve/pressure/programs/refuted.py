"""Which motions no pressure has: duals that leave none, one after the other for many motions.

At a motion, loads that are not negative come as close as they can to total weight, centre and
balance, with friction across that does not rise. What they miss, if they do, is a dual y: where y
is less on every column than on the right side, no loads add up to it. The columns that bear load
at one motion are those of its neighbours, too, so that they give each of these a dual of its own:
a handful of least squares serves a whole line of motions.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from stationary.solve.pressure.envelope import centres
from stationary.solve.pressure.programs.programs import Programs
from stationary.solve.pressure.support import WEIGHT

# Directions of the force on what rests, and how often one is added where it is greatest.
_AROUND_REST = np.arange(16) * (np.pi / 8)
_AROUND_REST = np.stack([np.cos(_AROUND_REST), np.sin(_AROUND_REST)])
_CUTS = 6
# Fewer motions than this ask for their own duals.
_FEW = 12
_RIGHT = np.eye(5)[0]
_LAST = np.eye(5)[:, 4:]


class Refuted:
    """Motions, what loads on the columns of the grid do there across and along, and at rest."""

    def __init__(
        self, programs: Programs, twists: np.ndarray, across: np.ndarray, along: np.ndarray
    ):
        """Evaluate virtual motions at motions, one for each or one for all."""
        rest, self.level = programs.rest, programs.level
        _, X, Y = self.level
        tx, ty, tw = twists.T[:, :, None]
        U, V = tx - tw * Y, ty + tw * X
        speed = np.sqrt(U * U + V * V)
        speed += 1e-300
        U /= speed
        V /= speed
        q = centres(twists)
        self.inside = rest.contain(q)
        q[~self.inside] = 0.0
        self.q = q.T
        qx, qy = self.q
        # Of the border (motions, columns); what a force at rest does, (2, motions).
        self.border, self.at_rest = [], []
        for way in (along, across):
            a, b, c = way.T[:, :, None]
            self.border.append((a - c * Y) * U + (b + c * X) * V)
            a, b, c = way.T
            self.at_rest.append(np.array([a - c * qy, b + c * qx]))
        # Friction across that is less than none, columns of the border, and what rests.
        self.size = X.size
        self.given = np.zeros((5, 1 + self.size + 16 + _CUTS))
        self.given[4, 0], self.given[0, 1:] = 1.0, 1.0
        self.given[:3, 1 : 1 + self.size] = self.level
        self.left = np.ones(len(twists), dtype=bool)

    def open(self, room: float, near: np.ndarray | None = None) -> np.ndarray:
        """Tell at which motions the programs may have a value that is not above `room`.

        Columns that bear load at one of them, if they are known, are tried first.
        """
        left = self.left
        if near is not None and len(near) == 2:
            self._about(near, room)
        elif near is not None and len(near) == 4:
            self._vanishing(0, near, False, _RIGHT, room)
        open_ = np.zeros(len(left), dtype=bool)
        while left.any():
            among = np.flatnonzero(left)
            k = int(among[len(among) // 2])
            left[k] = False
            loads, y = self._own(k, room)
            open_[k] = y is None
            if y is not None and np.count_nonzero(left) >= _FEW:
                self._carry(k, loads, y, room)
        return open_

    def _own(self, k: int, room: float) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the loads that come closest at a motion, and their dual if it leaves none."""
        given, first = self.given, 1 + self.size
        (along, across), (pull, push) = self.border, self.at_rest
        given[3, 1:first], given[4, 1:first] = along[k], across[k]
        end = first
        if self.inside[k]:
            end = first + 16
            given[1:3, first:] = self.q[:, k : k + 1]
            given[3, first:end] = pull[:, k] @ _AROUND_REST
            given[4, first:end] = push[:, k] @ _AROUND_REST
        loads = np.zeros(first)
        for _ in range(_CUTS):
            try:
                loads, off = nnls(given[:, :end], _RIGHT)
            except RuntimeError:
                break
            if off < 1e-11 * WEIGHT:
                break
            y = _RIGHT - given[:, :end] @ loads
            y[4] = min(y[4], 0.0)
            shown, most, at_rest = self._shown(y, room)
            self.left &= ~shown
            if shown[k]:
                return loads, y
            if at_rest[k] < most[k]:
                break
            force = y[3] * pull[:, k] + y[4] * push[:, k]
            force /= np.sqrt(force @ force)
            given[3, end], given[4, end] = pull[:, k] @ force, push[:, k] @ force
            end += 1
        return loads, None

    def _shown(self, y: np.ndarray, room: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tell where a dual, or one for each motion (5, motions), leaves no loads.

        On what rests it is greatest along itself.
        """
        (along, across), (pull, push) = self.border, self.at_rest
        nu, mu = y[3:, :, None] if y.ndim == 2 else y[3:]
        height = nu * along
        height += mu * across
        height += y[:3].T @ self.level
        most = height.max(axis=1)
        force = y[3] * pull + y[4] * push
        force *= force
        at_rest = np.sqrt(force[0] + force[1])
        at_rest += y[1] * self.q[0] + y[2] * self.q[1] + y[0]
        top = np.where(self.inside, np.maximum(most, at_rest), most)
        return top < y[0] + room * y[4] - 1e-9 * np.abs(y[0]), most, at_rest

    def _carry(self, k: int, loads: np.ndarray, y: np.ndarray, room: float) -> None:
        """Give other motions duals that vanish on the columns that bear load at one."""
        held = np.flatnonzero(loads[1 : 1 + self.size])
        if not loads[1 + self.size :].any():
            self._vanishing(k, held, bool(loads[0]), y, room)
        elif len(held) == 2:
            self._about(held, room)
        elif len(held) == 1:
            # What bears load goes on to one side or the other.
            for side in (-1, 1):
                self._about(np.append(held, (held[0] + side) % self.size), room)

    def _columns(self, held: np.ndarray) -> np.ndarray:
        """Return columns of the border at all motions, as rows of (motions, 5, 5)."""
        rows, count = np.zeros((len(self.left), 5, 5)), len(held)
        rows[:, :count, :3] = self.level[:, held].T
        for j, border in zip((3, 4), self.border):
            rows[:, :count, j] = border[:, held]
        return rows

    def _solved(self, rows: np.ndarray, room: float) -> np.ndarray:
        """Tell where duals with these products leave no loads."""
        try:
            y = np.linalg.solve(rows, _LAST)[:, :, 0].T.copy()
        except np.linalg.LinAlgError:
            return np.zeros(len(rows), dtype=bool)
        y[4] = np.minimum(y[4], 0.0)
        return self._shown(y, room)[0]

    def _vanishing(self, k: int, held, slack: bool, y: np.ndarray, room: float) -> None:
        """Nothing rests: the dual of each motion that is like that of one, off its columns."""
        rows, count = self._columns(held), len(held)
        if slack:
            rows[:, count, 4] = 1.0
            count += 1
        rows[:, 4] = y / (y @ y)
        if count < 4:
            rows[:, count:4] = np.linalg.svd(rows[k, [*range(count), 4]])[2][count + 1 :]
        self.left &= ~self._solved(rows, room)

    def _about(self, held: np.ndarray, room: float) -> None:
        """Two columns and what rests: loads that have the centre leave its force two ways.

        The dual of the one that goes further across vanishes there, whichever way that force turns.
        """
        (xa, xb), (ya, yb) = self.level[1:, held]
        (qx, qy), (pull, push) = self.q, self.at_rest
        with np.errstate(divide="ignore", invalid="ignore"):
            area = (xb - xa) * (qy - ya) - (yb - ya) * (qx - xa)
            load = (xa * yb - ya * xb) / area
            along = self.border[0][:, held]
            lacks = ((qx * yb - qy * xb) * along[:, 0] - (qx * ya - qy * xa) * along[:, 1]) / area
            turned = np.array([-pull[1], pull[0]])
            long = pull[0] ** 2 + pull[1] ** 2
            aside = np.sqrt(load * load * long - lacks * lacks)
            aside = np.where(turned[0] * push[0] + turned[1] * push[1] > 0, -aside, aside)
            e = (lacks * pull + aside * turned) / (load * long)
        e[:, ~np.isfinite(e[0] + e[1])] = 0.0
        rows = self._columns(held)
        rows[:, 2, 0], rows[:, 2, 1:3] = 1.0, self.q.T
        for j, w in zip((3, 4), (pull, push)):
            rows[:, 2, j] = w[0] * e[0] + w[1] * e[1]
            rows[:, 3, j] = w[1] * e[0] - w[0] * e[1]
        rows[:, 4, 4] = -1.0
        # Where no such loads are, any dual does.
        none = ~(e[0] * e[0] + e[1] * e[1] > 0)
        rows[none] = np.eye(5)
        self.left &= ~(self._solved(rows, room) & ~none & self.inside)
