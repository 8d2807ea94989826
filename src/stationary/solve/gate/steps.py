"""Steps on velocities and impulses: momentum, contact and Coulomb's law of every one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.lower.touching import touch_of
from stationary.result.steps import Taken
from stationary.result.touched import Touched
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.gate.step_rows import Stack
from stationary.solve.touch.moreau import Stepper
from stationary.solve.touch.nearby import dry_slips

# What an impulse, a velocity or an account may be off, of the terms that it is the sum of.
_SUMS = 1e-8
# By what of velocities contact and friction may be missed, unless the motion itself tells more; and
# by what of the way of a step gaps may be negative.
_LAWS = 1e-6
_WAYS = 1e-5
# So many last digits of a place are rounding.
_ROUNDINGS = 64.0

# Rows and coordinates that are measured together; and up to so many rows all are looked at in every
# step, of more only those that steps name, and all gaps in so many of the steps.
_TOGETHER, _ALL, _SURVEYS = 100_000, 2000, 32


@dataclass(frozen=True)
class Seen:
    """What is measured of steps: largest penetration, excess over cones, and force times gap.

    A gap that rebounds is to leave with its speed: its force is taken times what it misses of that.

    `fallen` are the energies that forces give to what is free for a step: the first, and any.
    """

    findings: list[Finding]
    penetration: float = 0.0
    cone: float = 0.0
    complementarity: float = 0.0
    fallen: tuple[float, float] = (0.0, 0.0)


def steps(motion: Touched) -> Seen:
    """Measure every step that a motion tells, from the statement alone."""
    look = Stepper(touch_of(motion.system), motion.drives, motion.params, motion.kernel.rows)
    missed, every = max(_LAWS, 2 * motion.missed), len(look.acted) <= _ALL
    blocks = [_Steps(Stack(look, some, every), missed) for some in _blocks(look, motion.taken)]
    surveys: list[_Survey] = []
    if not every and look.touch.gaps and motion.taken:
        some = np.linspace(0, len(motion.taken) - 1, min(_SURVEYS, len(motion.taken)))
        surveys = [_Survey(look, motion.taken[k], missed) for k in np.unique(some.astype(int))]
    worst: dict[str, Finding] = {}
    for one in [*blocks, *surveys, _Outputs(motion)]:
        for finding in one.findings():
            if finding.claim not in worst or finding.excess > worst[finding.claim].excess:
                worst[finding.claim] = finding
    names = ("penetration", "cone", "complementarity")
    largest = {name: max((getattr(x, name) for x in blocks), default=0.0) for name in names}
    depths = [largest["penetration"], *(one.penetration for one in surveys)]
    falls = np.concatenate([np.zeros(0 if blocks else 1), *(one.fallen for one in blocks)])
    return Seen(list(worst.values()), **(largest | {"penetration": max(depths)}),
                fallen=(float(falls[0]), float(falls.max())))  # fmt: skip


def _blocks(look: Stepper, taken: Sequence[Taken]) -> Iterator[Sequence[Taken]]:
    """Yield steps that are measured together."""
    first, size = 0, 0
    for k, one in enumerate(taken):
        # All rows of what is small, or those that the step names.
        size += 2 * look.near.count + min(len(look.acted), max(len(one.rows), _ALL))
        if size > _TOGETHER:
            yield taken[first : k + 1]
            first, size = k + 1, 0
    if first < len(taken):
        yield taken[first:]


class _Steps:
    """Steps beside what the statement says where they begin and where they end."""

    def __init__(self, stack: Stack, missed: float):
        self.stack, self.missed = stack, missed
        s, t = stack, stack.touching
        h = s.of_coordinates(s.h)
        self.z = s.impulses
        self.free = s.v + h * s.divided(s.force)
        gained = h * s.force * (self.free - s.v) / 2
        self.fallen = s.sums(gained, s.of_coordinates(np.arange(s.count)))
        self.mean = self.free + s.divided(s.slope.T @ s.closing)
        # What a contact is fast beside, and how far it goes.
        size = abs(s.slope)
        speeds = size @ (np.abs(s.v) + np.abs(s.after) + np.abs(self.free)) + np.abs(s.drive)
        self.speeds = np.where(s.place >= s.base, speeds, 0.0)
        self.fast = s.most(self.speeds, s.step)
        # Impulses are strong beside those that would stop what moves.
        answers = size.multiply(size) @ (1 / s.M.diagonal())
        stop = np.divide(self.speeds, answers, out=np.zeros(len(answers)), where=answers > 0)
        self.strong = s.most(np.maximum(np.abs(self.z), stop)[t], s.step[t])
        digits = np.spacing(np.abs(s.q)) + np.spacing(np.abs(s.to))
        below = np.maximum(-s.value, 0.0)
        ways = max(_WAYS, missed) * s.h * self.fast
        self.allowed = (ways[s.step] + _ROUNDINGS * (size @ digits) + below)[s.contacts]
        some = s.contacts
        self.penetration = float(np.max(-s.end[some], initial=0.0))
        # Rates of gaps along the step, and those with which they are to rebound.
        self.rates = s.slope[some] @ self.mean + s.drive[some]
        each = s.h[s.step[some]]
        comes = s.value[some] + each * (s.slope[some] @ self.free + s.drive[some]) <= 0
        self.back = np.where(comes, -s.back[some] * np.minimum(s.rate[some], 0.0), 0.0)
        missed_rate = np.where(self.back > 0, np.abs(self.rates - self.back), np.inf)
        gap = np.minimum(np.abs(s.end[some]), each * missed_rate)
        self.complementarity = float(np.max(np.abs(s.closing[some] / each) * gap, initial=0.0))
        over = (self._lengths(self.z) - self._limits(self.z)) / s.h[s.rubs[1]]
        self.cone = float(np.max(over, initial=0.0))

    def findings(self) -> list[Finding]:
        """Measure each claim."""
        claims = [*self._sums(), *self._account()]
        if len(self.stack.contacts):
            claims += self._contacts()
        return [*claims, *self._friction(self.z, self.stack.after),
                *self._friction(self.stack.closing, self.mean)]  # fmt: skip

    def _named(
        self, claim: str, off: Any, allowed: Any, step: np.ndarray, name: Callable[[int], str]
    ) -> Finding:
        allowed = np.broadcast_to(allowed, np.shape(off)) + 1e-300
        at: list[int] = []

        def name_and_keep(i: int) -> str:
            at.append(i)
            return name(i)

        worst = measured(claim, np.asarray(off), allowed, name_and_keep)[0]
        when = self.stack.taken[int(step[at[0]])].t
        where = f"{worst.where} in the step from t = {when:.6g}"
        return Finding(worst.claim, where, worst.measured, worst.allowed)

    def _coordinate(self, i: int) -> str:
        return self.stack.look.touch.graph.layout.name(i % self.stack.size_of_one)

    def _contact(self, i: int) -> str:
        s = self.stack
        return s.look.touch.graph.layout.gap_name(int(s.place[s.contacts[i]]) - s.base)

    def _sums(self) -> list[Finding]:
        s, z, closing = self.stack, self.z, self.stack.closing
        h, step = s.of_coordinates(s.h), s.of_coordinates(np.arange(s.count))
        size = abs(s.slope)
        off = s.M @ (s.after - s.v) - h * s.force - s.slope.T @ z
        moves, pulls = np.abs(s.after) + np.abs(s.v), h * np.abs(s.force)
        terms = abs(s.M) @ moves + pulls + size.T @ np.abs(z)
        # What strong impulses do to a coordinate is rounded with them.
        steepest = size.max(axis=0).toarray().ravel() if size.shape[0] else 0.0
        terms = terms + 1e-6 * s.of_coordinates(s.most(np.abs(z), s.step)) * steepest
        # Solving for velocities is rounded by what inertia could couple, in units of its roots.
        roots = np.sqrt(s.M.diagonal())
        rounding = np.finfo(float).eps * roots * s.of_coordinates(s.sums(roots * moves, step))
        way = h * (moves + np.abs(self.mean))
        # Impulses that hold each other leave the rounding of their sum.
        held = (size.T @ np.abs(closing) + pulls) / s.M.diagonal()
        digits = 4 * np.spacing(np.maximum(np.abs(s.q), np.abs(s.to)))
        digits = digits + _ROUNDINGS * np.finfo(float).eps * h * held
        # What others could make of it by inertia is rounded with their speeds.
        digits = digits + _ROUNDINGS * h * rounding / s.M.diagonal()
        gone = np.abs(s.to - s.q - h * self.mean)
        claims = [
            self._named("momentum changes by impulses:", np.abs(off),
                        _SUMS * terms + _ROUNDINGS * rounding, step, self._coordinate),
            self._named("it goes where velocities lead:", gone, _SUMS * way + digits, step,
                        self._coordinate),
        ]  # fmt: skip
        if len(s.fixed):
            A, drive, at = s.slope[s.fixed], s.drive[s.fixed], s.step[s.fixed]
            back = s.value[s.fixed] / s.h[at]
            left = np.abs(A @ self.mean + drive + back)
            parts = s.most(abs(A) @ np.abs(self.mean) + np.abs(drive) + np.abs(back), at)
            layout, kept = s.look.touch.graph.layout, s.look.fixed
            claims.append(self._named(
                "velocities obey", left, self.missed * parts[at], at,
                lambda i: layout.row_name(kept[int(s.place[s.fixed[i]])]),
            ))  # fmt: skip
        return claims

    def _contacts(self) -> list[Finding]:
        s, some = self.stack, self.stack.contacts
        step, G, drive = s.step[some], s.slope[some], s.drive[some]
        h, push, closing = s.h[step], self.z[some], s.closing[some]
        weak, slow = (self.missed * self.strong)[step], (self.missed * self.fast)[step]
        after, mean, back = G @ s.after + drive, self.rates, self.back
        gap, end = s.value[some], s.end[some]
        # A gap that bends is closed where it is, or where it would be if it did not bend.
        open_ = np.minimum(end, gap + h * mean) > self.allowed
        strikes = (push != closing) & (push > weak)

        def claimed(claim: str, off: np.ndarray, allowed: np.ndarray) -> Finding:
            return self._named(claim, off, allowed, step, self._contact)

        return [
            claimed("contact stays outside:", np.maximum(-end, 0.0), self.allowed),
            claimed("contact only pushes:", np.maximum(-np.minimum(push, closing), 0.0), weak),
            claimed("an open contact is free of impulses, or rebounds:",
                 np.where(open_ & (closing > weak), np.abs(mean - back), 0.0), slow),
            claimed("an impact leaves as it should:",
                 np.where(strikes, np.abs(after - back), 0.0), slow),
            claimed("what strikes rebounds:",
                 np.where((push > weak) & (back > 0), np.maximum(back - after, 0.0), 0.0), slow),
        ]  # fmt: skip

    def _slips(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of slips, one rub after the other, and the rub of each."""
        _, _, first, width, _ = self.stack.rubs
        rub = np.repeat(np.arange(len(width)), width)
        before = np.cumsum(width) - width
        return first[rub] + np.arange(len(rub)) - before[rub], rub

    def _lengths(self, vectors: np.ndarray) -> np.ndarray:
        """Return the length of the vector of each rub."""
        rows, rub = self._slips()
        return np.sqrt(np.bincount(rub, vectors[rows] ** 2, len(self.stack.rubs[0])))

    def _limits(self, z: np.ndarray) -> np.ndarray:
        """Return the largest impulse of each rub."""
        s = self.stack
        rub, step, first, _, owner = s.rubs
        each = np.where(owner >= 0, np.maximum(np.append(z, 0.0)[owner], 0.0), s.h[step])
        rests = np.array([one.rests for one in s.taken])[step, rub]
        return np.where(rests, s.rest[first], s.size[first]) * each

    def _friction(self, z: np.ndarray, v: np.ndarray) -> list[Finding]:
        s = self.stack
        rubs, step, *_ = s.rubs
        if not len(rubs):
            return []
        limit, (rows, rub) = self._limits(z), self._slips()
        slip = np.zeros(len(z))
        slip[rows] = (s.slope @ v + s.drive)[rows]
        speed = self._lengths(slip)
        allowed = self.missed * np.maximum(self.strong, s.most(limit, step))[step]
        slow = (self.missed * self.fast)[step]
        share = np.minimum(2 * slow / np.maximum(speed, 1e-300), 1.0)
        against = z.copy()
        against[rows] += (limit / np.maximum(speed, 1e-300))[rub] * slip[rows]
        off = np.where(speed > slow, self._lengths(against), 0.0)
        look = s.look
        names = [rows.name for rows, _ in dry_slips(look.touch) for _ in range(rows.places.size)]

        def name(k: int) -> str:
            return names[int(look.first[rubs[k]])]

        return [
            self._named("friction stays within its limit:",
                        np.maximum(self._lengths(z) - limit, 0.0), allowed, step, name),
            self._named("friction opposes the slip:", off, allowed + 2 * limit * share, step, name),
        ]  # fmt: skip

    def _account(self) -> list[Finding]:
        """Measure what was supplied, rubbed off and struck off."""
        s, some = self.stack, self.stack.touching
        step, z, drive = s.step[some], self.z[some], s.drive[some]
        each = z * ((s.slope @ ((s.v + s.after) / 2))[some] + drive)
        contact = s.place < s.base + s.gaps
        for k, one in enumerate(s.taken):
            contact[np.searchsorted(s.key, k * s.total + one.struck)] = True
        contact = contact[some]
        given = s.h * s.power
        account = np.array([given - s.sums(z * drive, step), -s.sums(each * ~contact, step),
                         -s.sums(each * contact, step)])  # fmt: skip
        took = np.array([one.took for one in s.taken]).T
        terms = s.sums(np.abs(z) * self.speeds[some], step) + np.abs(given)
        return [self._named("energy is accounted for:", np.abs(account - took).ravel(),
                            np.tile(_SUMS * terms, 3), np.tile(np.arange(s.count), 3),
                            lambda i: ("work", "heat", "struck_off")[i // s.count])]  # fmt: skip


class _Survey:
    """Gaps that a step does not name where it ends: too many to look at them in every step."""

    def __init__(self, look: Stepper, taken: Taken, missed: float):
        self.look, self.taken, self.missed = look, taken, missed
        u = look.at(taken.t, taken.q, taken.v)[-1]
        gap = look.near.all_values(taken.end, taken.to, taken.after, u)
        named = taken.rows - len(look.fixed)
        gap[named[(named >= 0) & (named < len(gap))]] = np.inf
        self.penetration = float(np.max(-gap, initial=0.0))

    def findings(self) -> list[Finding]:
        """Measure that contacts stay outside that the step does not name."""
        if self.penetration <= 0:
            return []
        return _Steps(Stack(self.look, [self.taken], True), self.missed)._contacts()[:1]


class _Outputs:
    """What a motion tells, beside the steps that it tells."""

    def __init__(self, motion: Touched):
        self.motion = motion

    def findings(self) -> list[Finding]:
        """Measure that it tells where steps end, and that one begins where another ends."""
        motion, claims = self.motion, []
        taken, n = motion.taken, motion.kernel.size
        for one, following in zip(taken, taken[1:]):
            if abs(following.t - one.end) < 1e-3 * one.h:
                shown = np.concatenate([following.q, following.v, [following.t]])
                known = np.concatenate([one.to, one.after, [one.end]])
                claims.append(self._same("a step begins where one ends:", shown, known, one.end))
        for one in taken:
            k = one.output
            if k >= 0:
                forces = np.zeros(motion.acting.shape[1])
                forces[one.rows] = one.impulses / one.h
                shown = np.concatenate(
                    [motion.y[k, : 2 * n], motion.acting[k], motion.t[k : k + 1]]
                )
                known = np.concatenate([one.to, one.after, forces, [one.end]])
                claims.append(self._same("it tells where a step ends:", shown, known, one.end))
        return claims

    def _same(self, claim: str, shown: np.ndarray, known: np.ndarray, t: float) -> Finding:
        allowed = 4 * np.spacing(np.maximum(np.abs(shown), np.abs(known)))
        i = int(np.argmax(np.abs(shown - known) / allowed))
        off, room = float(abs(shown[i] - known[i])), float(allowed[i])
        return Finding(claim, f"at t = {t:.6g}", off, room)
