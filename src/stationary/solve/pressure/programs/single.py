"""One linear program at a time: all pressures at one motion, within a tenth of a millisecond.

The program is that of `programs`: the least ⟨aim·v̂⟩ over pressures with ⟨1⟩ = 1, ⟨x⟩ = 0 and
⟨row·v̂⟩ = 0, imbalance being paid for. A search that goes from motion to motion by what the last
program said asks one after the other, each from the basis of the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, cos, hypot, pi, sin

import numpy as np

from stationary.solve.pressure.envelope import lowest_on
from stationary.solve.pressure.programs.programs import Programs
from stationary.solve.pressure.support import REACH, WEIGHT, Rest

_EIGHT = np.arange(8) * (np.pi / 4)
_CIRCLE = np.stack([np.cos(_EIGHT), np.sin(_EIGHT)])
_PIVOTS = 60
#: Rounds in which columns move to where they are best: rough, and exact.
ROUGH, EXACT = 3, 14
# Places this close along an edge, in its length, are one.
_SAME = 1e-15
# A dual that is lower than this, in sizes of its multipliers, has overlooked a place.
_LOW = 1e-10
# Columns that may be added to those of the grid while a program is solved.
_MORE = 10 * EXACT
# Of these, columns beside a centre of rotation that is next to the border, at most.
_BESIDE = 52


@dataclass(slots=True)
class Answer:
    """The solution of a program: its value, its dual, and the atoms of its pressure."""

    value: float
    dual: float  # ν
    affine: np.ndarray  # λ0, λx, λy
    masses: list[float]  # zero for what is no atom
    columns: list[int]
    points: list[list[float]]  # x and y
    ways: list[list[float]]  # the direction of friction at each atom
    edges: list[int]  # −1 for what rests
    along: list[float]
    twist: np.ndarray
    witness: np.ndarray
    cap: float  # what imbalance costs

    @property
    def balanced(self) -> bool:
        """Whether some pressure satisfies the row."""
        return abs(self.dual) < 0.9 * self.cap

    def slope(self, change: np.ndarray) -> float:
        """Return the derivative of the value with the motion, the virtual ones staying as is."""
        (tx, ty, tw), (cx, cy, cw), (wx, wy, ww) = (
            k.tolist() for k in (self.twist, change, self.witness)
        )
        _, lx, ly = self.affine.tolist()
        total = 0.0
        for m, edge, x, y, u, v in zip(self.masses, self.edges, *self.points, *self.ways):
            if not m:
                continue
            if edge < 0:
                # The place at rest moves on: v + δv + ω × δx = 0.
                dx, dy = -(cy + cw * x) / tw, (cx - cw * y) / tw
                total += m * (ww * (dx * v - dy * u) - lx * dx - ly * dy)
                continue
            speed = hypot(tx - tw * y, ty + tw * x) or 1e-300
            swing = ((cy + cw * x) * u - (cx - cw * y) * v) / speed
            total += m * swing * ((wy + ww * x) * u - (wx - ww * y) * v)
        return total


class Single:
    """All pressures on a support, asked at one motion after another."""

    def __init__(self, rest: Rest, programs: Programs | None = None):
        self.rest = rest
        programs = programs or Programs(rest)
        self.solved = 0
        self.frame, points = programs.frame, rest.columns
        self.border = len(points) + 2
        total = self.border + 8 + _MORE + _BESIDE
        # Two columns of imbalance, those of the border, those of what rests, and further ones; a
        # row for all load, for its centre in each direction in which the support extends, and for
        # the balance.
        self.A = np.zeros((len(self.frame) + 2, total))
        self.A[-1, 0], self.A[-1, 1] = 1.0, -1.0
        self.A[0, 2:] = 1.0
        self.places = np.zeros((2, total))
        self.places[:, 2 : self.border] = points.T
        self.A[1:-1] = self.frame @ self.places
        self.cost = np.zeros(total)
        self.cap = programs.cap
        self.cost[:2] = self.cap
        # The direction of friction at each, and its moment.
        self.M = np.zeros((3, total))
        self.M[:2, self.border : self.border + 8] = _CIRCLE
        self.edges, self.along = np.full(total, -1), np.zeros(total)
        self.edges[2 : self.border], self.along[2 : self.border] = rest.grid
        self.X, self.Y = points.T.copy()
        self.first = [int(k) + 2 for k in programs.first]
        self._start = np.linalg.inv(self.A[:-1, self.first])
        if not rest.radius and not rest.feet:
            a, b = rest.corners, np.roll(rest.corners, -1, axis=0)
            self.a, self.b, self.way = a.T.copy(), b.T.copy(), (b - a).T.copy()

    def contains(self, x: float, y: float) -> bool:
        """Tell whether a point is inside, or at the border up to rounding."""
        rest = self.rest
        if rest.radius:
            return hypot(x - rest.middle[0], y - rest.middle[1]) <= rest.radius * (1 + 1e-12)
        if rest.feet:
            return rest.contains(np.array([x, y]))
        if x * x + y * y > 1 + 1e-9:  # nothing is farther from the centre than one
            return False
        (ax, ay), (_, by), (wx, wy) = self.a, self.b, self.way
        across = wx * (y - ay) - wy * (x - ax)
        over = (ay > y) != (by > y)
        if np.count_nonzero(over & ((across > 0) == (wy > 0))) % 2:
            return True
        return bool(np.abs(across).min() < 1e-12 * REACH) and rest.contains(np.array([x, y]))

    def least(self, twist: np.ndarray, aim: np.ndarray, row: np.ndarray,
              basis: list[int] | None = None, rounds: int = ROUGH,
              positive: bool = False) -> Answer:  # fmt: skip
        """Solve the program of a motion, from a basis nearby where it is given.

        With `positive` it is left as soon as its value cannot be negative.
        """
        self.solved += 1
        A, M, cost, border = self.A, self.M, self.cost, self.border
        tx, ty, tw = twist.tolist()
        X, Y = self.X, self.Y
        U, V, turn_ = M[:, 2:border]
        np.subtract(tx, tw * Y, out=U)
        np.add(ty, tw * X, out=V)
        speed = np.sqrt(U * U + V * V)
        speed += 1e-300
        U /= speed
        V /= speed
        np.subtract(X * V, Y * U, out=turn_)
        end, q = border + 8, None
        if abs(tw) > 1e-12 * (abs(tx) + abs(ty)) and self.contains(-ty / tw, tx / tw):
            q = -ty / tw, tx / tw
            self.places[0, border:end], self.places[1, border:end] = q
            A[1:-1, border:end] = (self.frame @ q)[:, None]
            M[2, border:end] = q[0] * _CIRCLE[1] - q[1] * _CIRCLE[0]
        both = np.array((row, aim))
        A[-1, 2:end], cost[2:end] = both @ M[:, 2:end]
        if q is None:
            # A point outside the support bears nothing.
            A[1:, border:end], cost[border:end] = 0.0, 1e6 * self.cap
        grid = end
        if rounds > ROUGH and abs(tw) > 1e-12 * (abs(tx) + abs(ty)):
            end = self._near(twist, both, end)
        basis, inverse, amounts = self._begun(basis, end)
        value, dual = np.inf, np.zeros(len(A))
        for turn in range(rounds):
            basis, inverse, amounts, dual = self._pivoted(basis, inverse, amounts, end)
            value = float(cost[basis] @ amounts)
            if positive and q is not None:
                # All load at the centre of rotation, whatever the force there.
                w = aim - dual[-1] * row
                push = hypot(w[0] - w[2] * q[1], w[1] + w[2] * q[0])
                if value - push - dual[0] - dual[1:-1] @ (self.frame @ q) > 0:
                    break
            if turn == rounds - 1:
                break
            last = self._more(aim - dual[-1] * row, dual[1:-1] @ self.frame,
                              basis if rounds > ROUGH else [], twist, q, end)  # fmt: skip
            if last == end:
                last = self._overlooked(aim, row, twist, dual, end) if rounds > ROUGH else end
                if last == end:
                    break
            self._filled(both, end, last)
            # Where atoms hold each other in place, columns lower the value only two at a time.
            gain = float((cost[end:last] - dual @ A[:, end:last]).min())
            end = last
            if gain > -1e-14 * (WEIGHT + float(np.abs(dual).max())):
                if rounds == ROUGH:
                    break
                last = self._overlooked(aim, row, twist, dual, end)
                if last == end:
                    break
                self._filled(both, end, last)
                end = last
        if end > grid:
            amounts, dual = self._anew(basis, amounts, dual)
            value = float(cost[basis] @ amounts)
        masses = [m if k > 1 else 0.0 for m, k in zip(amounts.tolist(), basis)]
        affine = np.array([dual[0], *(dual[1:-1] @ self.frame)])
        answer = Answer(
            value, float(dual[-1]), affine, masses, basis, self.places[:, basis].tolist(),
            M[:2, basis].tolist(), self.edges[basis].tolist(), self.along[basis].tolist(),
            twist, aim - dual[-1] * row, self.cap,
        )  # fmt: skip
        if end > grid:
            # The next program has columns of the grid only.
            answer.columns = [k if k < grid else -1 for k in basis]
        return answer

    def _near(self, twist: np.ndarray, both: np.ndarray, end: int) -> int:
        """Add columns where the border passes by the centre of rotation.

        Directions change there within less than the columns of the grid are apart.
        """
        q = np.array([-twist[1], twist[0]]) / twist[2]
        edges, along, _ = self.rest.beside(q)
        edges, along = edges[:_BESIDE], along[:_BESIDE]
        if not len(edges):
            return end
        columns = slice(end, end + len(edges))
        x, y = self.rest.at(edges, along)[0].T
        u, v = twist[0] - twist[2] * y, twist[1] + twist[2] * x
        speed = np.hypot(u, v) + 1e-300
        self.places[:, columns] = x, y
        self.M[:, columns] = u / speed, v / speed, (x * v - y * u) / speed
        self.edges[columns], self.along[columns] = edges, along
        self.A[1:-1, columns] = self.frame @ self.places[:, columns]
        self.A[-1, columns], self.cost[columns] = both @ self.M[:, columns]
        return end + len(edges)

    def _begun(self, basis: list[int] | None, end: int):
        """Return a basis to start from: the given one, or one pressure and what it lacks."""
        A = self.A
        if basis is not None and max(basis) < end and min(basis) >= 0:
            try:
                inverse = np.linalg.inv(A[:, basis])
            except np.linalg.LinAlgError:
                inverse = None
            if inverse is not None:
                amounts = inverse[:, 0]
                if amounts.min() >= -1e-12 and np.abs(inverse).max() < 1e8:
                    return list(basis), inverse, np.maximum(amounts, 0.0)
        lacks = A[-1, self.first] @ self._start
        sign = -1.0 if lacks[0] > 0 else 1.0
        inverse = np.zeros((len(A), len(A)))
        inverse[:-1, :-1] = self._start
        inverse[-1, :-1] = -sign * lacks
        inverse[-1, -1] = sign
        return [*self.first, 0 if sign > 0 else 1], inverse, np.maximum(inverse[:, 0], 0.0)

    def _anew(self, basis, amounts, dual):
        """Solve for the loads and the dual of a basis, without the rounding of its many turns.

        Columns that have moved next to each other make an inverse large, and its updates wrong.
        """
        square = self.A[:, basis]
        try:
            loads = np.linalg.solve(square, np.eye(len(square))[0])
            prices = np.linalg.solve(square.T, self.cost[basis])
        except np.linalg.LinAlgError:
            return amounts, dual
        good = np.isfinite(loads).all() and loads.min() >= -1e-9 * WEIGHT
        return (np.maximum(loads, 0.0), prices) if good else (amounts, dual)

    def _pivoted(self, basis, inverse, amounts, end):
        A, cost = self.A[:, :end], self.cost[:end]
        dual = cost[basis] @ inverse
        close = -1e-13 * (WEIGHT + float(np.abs(dual).max()))
        for _ in range(_PIVOTS):
            reduced = cost - dual @ A
            enters = int(reduced.argmin())
            least = float(reduced[enters])
            if least > close:
                break
            way = inverse @ A[:, enters]
            out, step = -1, np.inf
            for k, (w, m) in enumerate(zip(way.tolist(), amounts.tolist())):
                if w > 1e-10 and m < step * w:
                    out, step = k, m / w
            if out < 0:
                break
            row = inverse[out] / way[out]
            amounts = amounts - step * way
            np.maximum(amounts, 0.0, out=amounts)
            amounts[out] = step
            way[out] -= 1.0
            inverse = inverse - way[:, None] * row
            basis[out] = enters
            dual = dual + least * row
        return basis, inverse, amounts, dual

    def _more(self, witness, plain, basis, twist, q, end: int) -> int:
        """Add columns where f is lower than at those of the last answer."""
        places, M = self.places, self.M
        wx, wy, ww = witness.tolist()
        tx, ty, tw = twist.tolist()
        if q is not None:
            # The force on what rests is against the witness.
            angle = atan2(-(wy + ww * q[0]), -(wx - ww * q[1]))
            places[0, end], places[1, end] = q
            M[0, end], M[1, end] = cos(angle), sin(angle)
            self.edges[end] = -1
            end += 1
        if self.rest.feet:
            return end
        for k in basis:
            if k < 2 or self.edges[k] < 0:
                continue
            edge, along = int(self.edges[k]), float(self.along[k])
            spots = [(edge, along)]
            if along == 0.0 and self.rest.pieces > 1:
                spots.append(((edge - 1) % self.rest.pieces, 1.0))
            for edge, along in spots:
                new = self._lower(witness, plain, twist, edge, along)
                if abs(new - along) > _SAME:
                    x, y, *_ = self._place(edge, new)
                    u, v = tx - tw * y, ty + tw * x
                    size = hypot(u, v) or 1e-300
                    places[0, end], places[1, end], M[0, end], M[1, end] = x, y, u / size, v / size
                    self.edges[end], self.along[end] = edge, new
                    end += 1
        return end

    def _overlooked(self, aim, row, twist, dual, end: int) -> int:
        """Add a column where f is lowest on the whole support, if that is below those of the basis.

        Columns that move see what is close to them only.
        """
        if end >= self.A.shape[1]:
            return end
        affine = np.array([dual[0], *(dual[1:-1] @ self.frame)])
        low, where = lowest_on(self.rest, twist, aim - dual[-1] * row, -affine)
        if low > -_LOW * (WEIGHT + float(np.abs(dual).max())):
            return end
        kind, edge, along, angle = where
        if kind == "still":
            self.places[:, end] = -twist[1] / twist[2], twist[0] / twist[2]
            self.M[:2, end] = cos(angle), sin(angle)
            self.edges[end] = -1
            return end + 1
        x = self.rest.at(np.array([edge]), np.array([along]))[0][0]
        u, v = twist[0] - twist[2] * x[1], twist[1] + twist[2] * x[0]
        size = hypot(u, v) or 1e-300
        self.places[:, end], self.M[:2, end] = x, (u / size, v / size)
        self.edges[end], self.along[end] = edge, along
        return end + 1

    def _filled(self, both: np.ndarray, end: int, last: int) -> None:
        """Give new columns their moments, their places and what they do."""
        (x, y), (u, v) = self.places[:, end:last], self.M[:2, end:last]
        self.M[2, end:last] = x * v - y * u
        self.A[1:-1, end:last] = self.frame @ self.places[:, end:last]
        self.A[-1, end:last], self.cost[end:last] = both @ self.M[:, end:last]

    def _place(self, edge: int, along: float) -> tuple[float, ...]:
        """Return a point of the border and its derivatives along it."""
        rest = self.rest
        if rest.radius:
            c, s = rest.radius * cos(2 * pi * along), rest.radius * sin(2 * pi * along)
            k = 2 * pi
            return rest.middle[0] + c, rest.middle[1] + s, -k * s, k * c, -k * k * c, -k * k * s
        dx, dy = float(self.way[0, edge]), float(self.way[1, edge])
        x, y = float(self.a[0, edge]) + along * dx, float(self.a[1, edge]) + along * dy
        return x, y, dx, dy, 0.0, 0.0

    def _lower(self, witness, plain, twist, edge: int, along: float) -> float:
        """Go down along the border, by Newton's method, from a place on it."""
        (tx, ty, tw), (wx, wy, ww) = twist.tolist(), witness.tolist()
        lx, ly = plain.tolist()
        far = float(self.rest.spacing[edge])
        for _ in range(4):
            x, y, dx, dy, ddx, ddy = self._place(edge, along)
            u, v = tx - tw * y, ty + tw * x
            size = hypot(u, v) or 1e-300
            u, v = u / size, v / size
            a, b = wx - ww * y, wy + ww * x
            # The direction of motion turns by θ along the border: e' = θ' e⊥.
            turn = tw * (dx * u + dy * v) / size
            stretch = tw * (dx * v - dy * u) / size
            bend = tw * (ddx * u + ddy * v) / size - 2 * turn * stretch
            across, along_ = b * u - a * v, a * u + b * v
            slope = ww * (dx * v - dy * u) + turn * across - lx * dx - ly * dy
            second = (ww * (ddx * v - ddy * u) + 2 * ww * turn * (dx * u + dy * v)
                      + bend * across - turn * turn * along_ - lx * ddx - ly * ddy)  # fmt: skip
            step = -slope / second if second > 0 else (-far if slope > 0 else far)
            new = along + min(max(step, -far), far)
            new = new % 1.0 if self.rest.radius else min(max(new, 0.0), 1.0)
            if abs(new - along) < _SAME:
                return new
            along = new
        return along
