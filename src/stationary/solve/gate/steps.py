"""Steps on velocities and impulses: momentum, contact and Coulomb's law of every one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.lower.touching import touch_of
from stationary.result.steps import Taken
from stationary.result.touched import Touched
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.touch.moreau import Stepper
from stationary.solve.touch.near import dry_slips
from stationary.solve.touch.step_law import divided

# What an impulse, a velocity or an account may be off, of the terms that it is the sum of.
_SUMS = 1e-8
# By what of velocities contact and friction may be missed, unless the motion itself tells more; and
# by what of the way of a step gaps may be negative.
_LAWS = 1e-6
_WAYS = 1e-5
# So many last digits of a place are rounding.
_ROUNDINGS = 64.0


@dataclass(frozen=True)
class Seen:
    """What is measured of steps: largest penetration, excess over cones, and force times gap.

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
    every = [_Step(look, one, max(_LAWS, 2 * motion.missed)) for one in motion.taken]
    worst: dict[str, Finding] = {}
    for one in [*every, _Outputs(motion)]:
        for finding in one.findings():
            if finding.claim not in worst or finding.excess > worst[finding.claim].excess:
                worst[finding.claim] = finding
    names = ("penetration", "cone", "complementarity")
    largest = {name: max((getattr(x, name) for x in every), default=0.0) for name in names}
    falls = [one.fallen for one in every] or [0.0]
    return Seen(list(worst.values()), **largest, fallen=(falls[0], max(falls)))


class _Step:
    """One step beside what the statement says where it begins and where it ends."""

    def __init__(self, look: Stepper, taken: Taken, missed: float):
        self.taken, self.missed, self.look = taken, missed, look
        t, h, q, v = taken.t, taken.h, taken.q, taken.v
        M, force, R, A, ahead, power, u = look.at(t, q, v)
        self.M, self.force, self.power = M, force, float(power[0])
        self.rows = rows = look.near.all(t, q, v, u)
        self.base, self.gaps = len(look.fixed), look.touch.gaps
        self.C = sparse.vstack([A.tocsr()[look.fixed], rows.slope]).tocsr()
        self.drive = np.concatenate([ahead[look.fixed], rows.drive])
        self.off = R[look.fixed]
        self.z, self.closing = np.zeros((2, len(self.drive)))
        self.z[taken.rows], self.closing[taken.rows] = taken.impulses, taken.closing
        self.free = v + h * divided(M, force)
        self.fallen = float(h * force @ (self.free - v)) / 2
        self.mean = self.free + divided(M, self.C.T @ self.closing)
        self.gap = look.near.all(t + h, taken.to, taken.after, u).value[: self.gaps]
        # What a contact is fast beside, and how far it goes.
        size = abs(self.C[self.base :])
        self.speeds = size @ (np.abs(v) + np.abs(taken.after) + np.abs(self.free)) + np.abs(
            rows.drive
        )
        self.fast = float(self.speeds.max(initial=0.0))
        # Impulses are strong beside those that would stop what moves.
        answers = size.multiply(size) @ (1 / M.diagonal())
        stop = np.divide(self.speeds, answers, out=np.zeros(len(answers)), where=answers > 0)
        self.strong = max(np.abs(self.z[self.base :]).max(initial=0.0), stop.max(initial=0.0))
        digits = np.spacing(np.abs(q)) + np.spacing(np.abs(taken.to))
        self.digits = _ROUNDINGS * (size[: self.gaps] @ digits)
        below = np.maximum(-rows.value[: self.gaps], 0.0)
        self.penetration = float(np.max(-self.gap, initial=0.0))
        self.allowed = max(_WAYS, self.missed) * h * self.fast + self.digits + below
        pushes = self.z[self.base : self.base + self.gaps] / h
        self.complementarity = float(np.max(np.abs(pushes * self.gap), initial=0.0))
        self.cone = float(np.max(self._lengths(self.z) - self._limits(self.z)[0], initial=0.0)) / h

    def findings(self) -> list[Finding]:
        """Measure each claim."""
        claims = [*self._sums(), *self._account()]
        if self.gaps:
            claims += self._contacts()
        return [*claims, *self._friction(self.z, self.taken.after),
                *self._friction(self.closing, self.mean)]  # fmt: skip

    def _named(self, claim: str, off: Any, allowed: Any, name: Callable[[int], str]) -> Finding:
        allowed = np.broadcast_to(allowed, np.shape(off)) + 1e-300
        worst = measured(claim, np.asarray(off), allowed, name)[0]
        where = f"{worst.where} in the step from t = {self.taken.t:.6g}"
        return Finding(worst.claim, where, worst.measured, worst.allowed)

    def _coordinate(self, i: int) -> str:
        return self.look.touch.graph.layout.name(i)

    def _contact(self, i: int) -> str:
        return self.look.touch.graph.layout.gap_name(i)

    def _sums(self) -> list[Finding]:
        one, h = self.taken, self.taken.h
        off = self.M @ (one.after - one.v) - h * self.force - self.C.T @ self.z
        terms = abs(self.M) @ (np.abs(one.after) + np.abs(one.v)) + h * np.abs(self.force)
        terms = terms + abs(self.C).T @ np.abs(self.z)
        # What strong impulses do to a coordinate is rounded with them.
        steepest = abs(self.C).max(axis=0).toarray().ravel() if self.C.shape[0] else 0.0
        terms = terms + 1e-6 * np.abs(self.z).max(initial=0.0) * steepest
        # Solving for velocities is rounded by what inertia could couple, in units of its roots.
        roots = np.sqrt(self.M.diagonal())
        rounding = np.finfo(float).eps * roots * (roots @ (np.abs(one.after) + np.abs(one.v)))
        way = h * (np.abs(one.v) + np.abs(one.after) + np.abs(self.mean))
        # Impulses that hold each other leave the rounding of their sum.
        held = (abs(self.C).T @ np.abs(self.closing) + h * np.abs(self.force)) / self.M.diagonal()
        digits = 4 * np.spacing(np.maximum(np.abs(one.q), np.abs(one.to)))
        digits = digits + _ROUNDINGS * np.finfo(float).eps * h * held
        gone = np.abs(one.to - one.q - h * self.mean)
        name = self._coordinate
        claims = [
            self._named("momentum changes by impulses:", np.abs(off),
                        _SUMS * terms + _ROUNDINGS * rounding, name),
            self._named("it goes where velocities lead:", gone, _SUMS * way + digits, name),
        ]  # fmt: skip
        if self.base:
            A, drive = self.C[: self.base], self.drive[: self.base]
            left = np.abs(A @ self.mean + drive + self.off / h)
            parts = abs(A) @ np.abs(self.mean) + np.abs(drive) + np.abs(self.off) / h
            layout, kept = self.look.touch.graph.layout, self.look.fixed
            claims.append(self._named("velocities obey", left, self.missed * parts.max(),
                                     lambda i: layout.row_name(kept[i])))  # fmt: skip
        return claims

    def _contacts(self) -> list[Finding]:
        one, h, some = self.taken, self.taken.h, slice(self.base, self.base + self.gaps)
        rows, G, drive = self.rows, self.C[some], self.drive[some]
        push, closing = self.z[some], self.closing[some]
        weak = self.missed * self.strong
        before = np.minimum(rows.rate[: self.gaps], 0.0)
        after, mean = G @ one.after + drive, G @ self.mean + drive
        gap, slow = rows.value[: self.gaps], self.missed * self.fast
        comes = gap + h * (G @ self.free + drive) <= 0
        back = np.where(comes, -rows.back * before, 0.0)
        # A gap that bends is closed where it is, or where it would be if it did not bend.
        open_ = np.minimum(self.gap, gap + h * mean) > self.allowed
        strikes = (push != closing) & (push > weak)
        return [
            self._named("contact stays outside:", np.maximum(-self.gap, 0.0), self.allowed,
                        self._contact),
            self._named("contact only pushes:", np.maximum(-np.minimum(push, closing), 0.0), weak,
                        self._contact),
            self._named("an open contact is free of impulses, or rebounds:",
                        np.where(open_ & (closing > weak), np.abs(mean - back), 0.0), slow,
                        self._contact),
            self._named("an impact leaves as it should:",
                        np.where(strikes, np.abs(after - back), 0.0), slow, self._contact),
            self._named("what strikes rebounds:",
                        np.where((push > weak) & (back > 0), np.maximum(back - after, 0.0), 0.0),
                        slow, self._contact),
        ]  # fmt: skip

    def _lengths(self, vectors: np.ndarray) -> np.ndarray:
        """Return the length of the vector of each rub."""
        width = self.look.width
        return np.sqrt(np.bincount(np.repeat(np.arange(len(width)), width),
                                   vectors[self.base + self.gaps :] ** 2, len(width)))  # fmt: skip

    def _limits(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest impulse of each rub, and the rub of each slip."""
        look = self.look
        push = np.maximum(z[self.base : self.base + self.gaps], 0.0)
        own = look.owner >= 0
        each = np.where(own, push[look.owner] if self.gaps else 0.0, self.taken.h)
        first, rows = look.first, self.rows
        limit = np.where(self.taken.rests, rows.rest[first], rows.size[first]) * each
        return limit, np.repeat(np.arange(len(own)), look.width)

    def _friction(self, z: np.ndarray, v: np.ndarray) -> list[Finding]:
        look, first = self.look, self.base + self.gaps
        if not len(look.first):
            return []
        limit, rub = self._limits(z)
        slip = np.zeros_like(z)
        slip[first:] = self.C[first:] @ v + self.drive[first:]
        speed, allowed = self._lengths(slip), self.missed * max(self.strong, float(limit.max()))
        slow = self.missed * self.fast
        share = np.minimum(2 * slow / np.maximum(speed, 1e-300), 1.0)
        against = z.copy()
        against[first:] += (limit / np.maximum(speed, 1e-300))[rub] * slip[first:]
        slides = speed > slow
        off = np.where(slides, self._lengths(against), 0.0)
        names = [rows.name for rows, _ in dry_slips(look.touch) for _ in range(rows.places.size)]

        def name(k: int) -> str:
            return names[int(look.first[k])]

        return [
            self._named("friction stays within its limit:",
                        np.maximum(self._lengths(z) - limit, 0.0), allowed, name),
            self._named("friction opposes the slip:", off, allowed + 2 * limit * share, name),
        ]  # fmt: skip

    def _account(self) -> list[Finding]:
        """Measure what was supplied, rubbed off and struck off."""
        one, base, gaps = self.taken, self.base, self.gaps
        middle = (one.v + one.after) / 2
        rates, z = self.C[base:] @ middle + self.drive[base:], self.z[base:]
        each = z * rates
        supplied = one.h * self.power - float(z @ self.drive[base:])
        told = np.array([supplied, -each[gaps:].sum(), -each[:gaps].sum()])
        terms = np.abs(z) @ self.speeds + abs(one.h * self.power)
        return [self._named("energy is accounted for:", np.abs(told - one.took), _SUMS * terms,
                            ("work", "heat", "struck_off").__getitem__)]  # fmt: skip


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
                told = np.concatenate([following.q, following.v, [following.t]])
                known = np.concatenate([one.to, one.after, [one.end]])
                claims.append(self._same("a step begins where one ends:", told, known, one.end))
        for one in taken:
            k = one.output
            if k >= 0:
                forces = np.zeros(motion.acting.shape[1])
                forces[one.rows] = one.impulses / one.h
                told = np.concatenate([motion.y[k, : 2 * n], motion.acting[k], motion.t[k : k + 1]])
                known = np.concatenate([one.to, one.after, forces, [one.end]])
                claims.append(self._same("it tells where a step ends:", told, known, one.end))
        return claims

    def _same(self, claim: str, told: np.ndarray, known: np.ndarray, t: float) -> Finding:
        allowed = 4 * np.spacing(np.maximum(np.abs(told), np.abs(known)))
        i = int(np.argmax(np.abs(told - known) / allowed))
        off, room = float(abs(told[i] - known[i])), float(allowed[i])
        return Finding(claim, f"at t = {t:.6g}", off, room)
