"""From branch to branch: which sides of its switches a motion is on, and when it changes them."""

from __future__ import annotations

from itertools import product

import numpy as np

from stationary.lower.branches import Branch, held, sliding
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.lower.switches import Switches
from stationary.solve.motion.jumps import sides_at
from stationary.solve.motion.ode import Piece, Stopped
from stationary.solve.motion.zero_passages import passages

# Looks at every step for a border that is passed and passed back.
_LOOKS = 8

# A state off a border by this part of its way there is not on it.
_OFF = 1e-6

# Rates below this part of what they are summed from are rounding.
_ROUNDING = 1e-12

# Borders met at one instant whose sides are all tried together.
_TOGETHER = 4

# So many changes, each after a shorter time than the one before the last, are chatter if more like
# the last one than are worth their while would fill what is ahead, or if there have been very many;
# and whenever time hardly tells them apart.
CHATTER = 20
_AHEAD = 10_000
_VERY_MANY = 20_000
_APART = 64.0

# Where the law is taken as it is stated, so many changes within this part of the span are errors.
_CLOSELY = 1e-2


def chatters(changes: list[float], least: float, count: int) -> bool:
    """Tell whether changes, the last ones of a number of them, follow each other ever faster.

    By then they are `least` apart.
    """
    if len(changes) < CHATTER:
        return False
    changes = changes[-CHATTER:]
    between = np.diff(changes)
    if np.all(between <= _APART * np.spacing(np.abs(changes[1:]))):
        return True
    faster = np.all(between[2:] < between[:-2])
    return bool(faster and (between[-1] < least or count > _VERY_MANY))


class Branches:
    """The branches of one run: the sides that hold now, and the borders that hold the state."""

    def __init__(self, kernel: AbstractKernel, switches: Switches, span: float):
        self._kernel, self._switches, self._span = kernel, switches, span
        self.sides = np.zeros(len(switches.borders))
        self.on: dict[int, int] = {}
        self._free = ~switches.timely
        self._compiled: dict = {}
        # Whether the law is taken as it is stated, because a side ends where its border is.
        self.stated = False
        self._slack = self._rounding = np.zeros(len(self.sides))
        self._changes: list[float] = []
        self._count = 0
        self._end = -np.inf

    @property
    def watching(self) -> bool:
        """Whether a border depends on the state."""
        return bool(self._free.any())

    @property
    def now(self) -> Branch:
        """The kernel that holds until the next change."""
        return self._branch(self.sides, self.on)

    def values(self, p: np.ndarray) -> np.ndarray:
        """Return the vector p of that kernel."""
        return np.concatenate([p, self.sides])

    def _branch(self, sides: np.ndarray, on: dict[int, int]) -> Branch:
        guarded = self._switches.guarded
        if self.stated:
            on = {}
        key = (self.stated, sides.tobytes() if guarded else b"", tuple(on.items()))
        if key not in self._compiled:
            fixed = sides if guarded else None
            self._compiled[key] = (
                sliding(self._kernel, self._switches, fixed, on)
                if on
                else held(self._kernel, self._switches, fixed, stated=self.stated)
            )
        return self._compiled[key]

    # -- choosing sides -------------------------------------------------------------------------

    def _orders(
        self, sides: np.ndarray, on: dict[int, int], t: float, y: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return places and rates of all borders on given sides, and what they are relative to."""
        function = numeric(self._branch(sides, on), "orders", dense=True)
        orders = function(t, y, np.concatenate([p, sides]))[0]
        orders = orders.reshape(len(self.sides), -1, order="F")
        half = orders.shape[1] // 2
        return orders[:, :half], orders[:, half:]

    def enter(self, t: float, until: float, y: np.ndarray, p: np.ndarray) -> None:
        """Choose the sides from an instant until the next known one."""
        if np.isinf(self._end):
            self._end = t + self._span
        self.sides = sides_at(self._switches, t, (t + until) / 2, y, p)
        if self.watching:
            self._resolve(t, y, p, ())

    def _places(self, t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        places = numeric(self._switches, "places")(t, y, self.values(p))[0]
        return places[: len(self.sides)]

    def change(self, t: float, border: int, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Pass a border; return the state, put onto it if it stays there."""
        self._count += 1
        self._changes = [*self._changes[-CHATTER:], t]
        if chatters(self._changes, (self._end - t) / _AHEAD, self._count):
            raise Stopped("chatter", f"forces switch ever faster near t = {t:.6g}", t)
        if border in self.on:
            shares = numeric(self.now, "shares")(t, y, self.values(p))[0]
            self.sides[border] = float(shares[list(self.on).index(border)] > 0.5)
            self.on = {i: order for i, order in self.on.items() if i != border}
            self._slacken(t, y, p)
        elif self._switches.staircases[border]:
            place = self._places(t, y, p)[border]
            self.sides[border] += 1 if place - self.sides[border] > 0.5 else -1
            self._resolve(t, y, p, ())
        else:
            self._resolve(t, y, p, (border,))
            if border in self.on:
                return self._put(t, y, p)
        return y

    def hovers(self, t: float) -> bool:
        """Tell whether the last changes followed each other closely, as errors of steps make."""
        return len(self._changes) >= CHATTER and t - self._changes[-CHATTER] < _CLOSELY * self._span

    def _put(self, t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Put a state onto the borders on which it stays: the steps end there up to their error."""
        on = list(self.on)
        normals = numeric(self._switches, "normals")(t, y, self.values(p))[0]
        normals = normals.reshape(len(self.sides), -1, order="F")[on]
        return y - np.linalg.lstsq(normals, self._places(t, y, p)[on], rcond=None)[0]

    def _slacken(self, t: float, y: np.ndarray, p: np.ndarray) -> None:
        places, sizes = self._orders(self.sides, self.on, t, y, p)
        ahead = np.abs(places[:, 1]) if places.shape[1] > 1 else 0.0
        self._rounding = 4 * np.finfo(float).eps * sizes[:, 0]
        self._rounding[list(self.on)] = 1e-14
        self._slack = 2 * self._rounding + 4 * np.spacing(abs(t)) * ahead

    def _resolve(self, t: float, y: np.ndarray, p: np.ndarray, passed: tuple[int, ...]) -> None:
        """Find sides, or borders to stay on, that agree with where the motion goes from here."""
        self._slacken(t, y, p)
        places = self._places(t, y, p)
        free = self._free & ~self._switches.staircases
        near = (np.abs(places) <= self._slack) | np.isin(np.arange(len(places)), passed)
        # Two borders that meet are passed at once, up to the error of a step, and those that are
        # made of others jump with them.
        self.sides = np.where(free & ~near, places > 0, self.sides)
        near &= free
        doubtful = [int(i) for i in np.flatnonzero(near)]
        sides, on = self.sides, {i: k for i, k in self.on.items() if i in doubtful}
        self.on = {}
        for start in range(0, len(doubtful), _TOGETHER):
            some = doubtful[start : start + _TOGETHER]
            kept = {i: k for i, k in on.items() if i not in doubtful[: start + _TOGETHER]}
            sides, chosen = self._agreeing(some, sides, kept | self.on, t, y, p)
            self.on |= chosen
        self.sides = sides
        self._slacken(t, y, p)

    def _agreeing(
        self, some: list[int], sides: np.ndarray, on: dict[int, int], t: float, y: np.ndarray, p
    ) -> tuple[np.ndarray, dict[int, int]]:
        """Try the sides of some borders, then staying on them."""
        tries = sorted(product((0, 1, None), repeat=len(some)), key=lambda c: c.count(None))
        for choice in tries:
            tried = sides.copy()
            tried[some] = [0.0 if c is None else c for c in choice]
            stay = [i for i, c in zip(some, choice) if c is None]
            orders = self._changed_rates(stay, tried, on, t, y, p)
            if orders is not None and self._agrees(some, tried, on | orders, t, y, p):
                return tried, orders
        # Nothing agrees: as the statement says at the instant itself.
        return sides, {}

    def _changed_rates(
        self, stay: list[int], sides: np.ndarray, on: dict[int, int], t: float, y: np.ndarray, p
    ) -> dict[int, int] | None:
        """Return which rate each border changes against the motion; none if one does not."""
        orders: dict[int, int] = {}
        for i in stay:
            low, high = sides.copy(), sides.copy()
            low[i], high[i] = 0.0, 1.0
            below, sizes = self._orders(low, on, t, y, p)
            above, _ = self._orders(high, on, t, y, p)
            difference = above[i] - below[i]
            real = np.abs(difference) > _ROUNDING * sizes[i]
            real[0] = False
            order = int(np.argmax(real))
            if not real.any() or order > 2 or difference[order] > 0:
                return None
            if np.any(np.abs(below[i, 1:order]) > 4 * np.spacing(abs(t)) * np.abs(below[i, order])):
                return None
            orders[i] = order
        return orders

    def _agrees(
        self, some: list[int], sides: np.ndarray, on: dict[int, int], t: float, y: np.ndarray, p
    ) -> bool:
        """Tell whether the motion goes to the sides that it is said to be on."""
        rates, sizes = self._orders(sides, on, t, y, p)
        for i in some:
            if i in on:
                continue
            real = np.abs(rates[i]) > _ROUNDING * sizes[i]
            real[0] = False
            if real.any() and (rates[i, np.argmax(real)] > 0) != (sides[i] > 0):
                return False
        if on:
            shares = numeric(self._branch(sides, on), "shares")(t, y, np.concatenate([p, sides]))[0]
            return bool(np.all((shares >= 0) & (shares <= 1)))
        return True

    # -- leaving a branch -----------------------------------------------------------------------

    def left(self, piece: Piece, p: np.ndarray) -> tuple[float, int] | None:
        """Return when a piece leaves this branch, and by which border; none if it does not."""
        margins, whole = self.now.margins, self.values(p)
        fractions = np.arange(_LOOKS) / _LOOKS
        inner = piece.t[:-1, None] + np.diff(piece.t)[:, None] * fractions
        times = np.unique(np.append(inner.ravel(), piece.t[-1]))
        states = piece.evaluate(times)
        every = np.asarray(margins(times[None, :], states.T, whole))
        # A state within rounding of a border has not left yet, least of all one just passed.
        room = self._rounding[:, None] + np.finfo(float).tiny
        every = every + room
        begins = np.maximum(every[:, 0], room[:, 0])
        every[:, 0] = np.where(np.abs(every[:, 0]) <= 2 * self._slack, begins, every[:, 0])
        first: tuple[float, int] | None = None
        for i in np.flatnonzero(self._free):
            g = every[i]
            if g.min() >= 0 and not _dips(g):
                continue

            def course(ts: np.ndarray, i: int = int(i), start: float = g[0]) -> np.ndarray:
                values = np.asarray(margins(ts[None, :], piece.evaluate(ts).T, whole))[i] + room[i]
                return np.where(ts == times[0], start, values)

            instants = passages(course, times, g, -1)
            if len(instants) and (first is None or instants[0] < first[0]):
                first = float(instants[0]), int(i)
        return first

    def off(
        self, border: int, t: float, y: np.ndarray, begun: float, start: np.ndarray, p: np.ndarray
    ) -> int:
        """Tell whether a state is on a border (0), before it (1) or behind it (−1).

        What counts is the way there from where it begins.
        """
        states, times = np.array([start, y]).T, np.array([[begun, t]])
        before, now = np.asarray(self.now.margins(times, states, self.values(p)))[border]
        far = abs(now) > _OFF * abs(before) + 2 * self._slack[border]
        return int(far) * (1 if now > 0 else -1)


def _dips(g: np.ndarray) -> bool:
    """Tell whether values come close enough to zero to pass it unseen."""
    with np.errstate(all="ignore"):
        bend = np.abs(np.diff(g, 2)).max(initial=0.0)
    return bool(np.min(g) <= 4 * bend) or len(g) < 4
