"""A motion from change to change: contact and Coulomb's law at every change and every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from stationary.lower.touching import touch_of
from stationary.result.touched import Touched, vectors_in
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.touch.at_state import looks_of
from stationary.solve.touch.record import Record

# What gaps may be off, of how far they go, of what is rounding of them, and of how far all goes in
# the metric of the masses; and forces, of the strongest in that metric.
_WAYS, _ROUNDINGS, _ASIDE, _FORCES = 1e-8, 64.0, 1e-12, 1e-7

# Inside steps, motions by a tolerance are off by so many times that.
_INSIDE = 100.0

# Columns that are measured together.
_TOGETHER = 4096


def changes(motion: Touched, record: Record, tolerance: float) -> tuple[list[Finding], np.ndarray]:
    """Measure where steps begin, their middles, and changes.

    The tolerance is that of the steps, relative; zero where these are exact to rounding. Return
    findings, and the largest penetration, excess over cones, and force times gap.
    """
    blocks = [_Block(motion, *some) for some in _blocks(motion, record)]
    if not blocks:
        return [], np.zeros(3)
    return _Measured(motion, blocks, tolerance).findings(), np.max(
        [b.numbers for b in blocks], axis=0
    )


def _blocks(motion: Touched, record: Record) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield times, states and vectors p of what is measured together."""
    times = np.concatenate([motion.began, *record.times])
    states = np.vstack([motion.starts, *record.states])
    counts = [len(t) for t in record.times]
    modes = [motion.modes, *([mode] * count for mode, count in zip(record.modes, counts) if count)]
    every = np.vstack(modes)
    for first in range(0, len(times), _TOGETHER):
        some = slice(first, first + _TOGETHER)
        p = vectors_in(motion, times[some], every[some])
        yield times[some], states[some], motion.directed(times[some], states[some], p)


class _Block:
    """Gaps, forces and limits at some times."""

    def __init__(self, motion: Touched, t: np.ndarray, y: np.ndarray, p: np.ndarray):
        kernel, touch, n = motion.touching, touch_of(motion.system), motion.kernel.size
        inputs = np.asarray(kernel.inputs(t[None, :], y.T, p))
        arguments = (t[None, :], y[:, :n].T, y[:, n : 2 * n].T, inputs, motion.params)
        sense = np.ones((touch.arguments[-1].numel(), 1))
        self.q = y[:, :n].T
        self.t, gaps, fixed = t, touch.gaps, len(motion.kernel.rows)
        self.gap = np.asarray(touch.rows(*arguments, sense)[0])[:gaps]
        _, moving, rest, _ = (np.asarray(x) for x in touch.limits(*arguments, sense))
        self.a, self.z = (np.asarray(x) for x in kernel.forces(t[None, :], y.T, p))
        self.push = self.z[fixed : fixed + gaps]
        rubs = self.z[fixed + gaps :]
        self.over = np.zeros((len(touch.rubs), len(t)))
        for j, rub in enumerate(touch.rubs):
            limit = np.maximum(moving, rest)[rub.entries[0]]
            limit = limit if rub.gap is None else limit * self.push[rub.gap]
            self.over[j] = np.linalg.norm(rubs[list(rub.entries)], axis=0) - limit
        with np.errstate(invalid="ignore"):
            times_gap = np.abs(self.push * self.gap)
        self.numbers = np.array([
            abs(np.max(-self.gap, initial=0.0)), np.max(self.over, initial=0.0),
            np.max(times_gap, initial=0.0),
        ])  # fmt: skip


def _long(M: np.ndarray, columns: np.ndarray) -> float:
    """Return the length of the longest column in the metric of the masses."""
    return float(np.sqrt(np.max(np.sum(columns * (M @ columns), axis=0), initial=0.0)))


class _Measured:
    """All blocks beside what their claims allow."""

    def __init__(self, motion: Touched, blocks: Sequence[_Block], tolerance: float):
        self.touch = touch_of(motion.system)
        self.t = np.concatenate([b.t for b in blocks])
        self.gap, self.push, self.z, self.over = (
            np.hstack([getattr(b, name) for b in blocks]) for name in ("gap", "push", "z", "over")
        )
        looks = looks_of(motion.touching)
        p = vectors_in(motion, motion.began, motion.modes).T
        some = np.unique([0, len(motion.began) // 2, len(motion.began) - 1])
        facts = [looks(float(motion.began[k]), motion.starts[k], p[k]) for k in some]
        at = facts[0].gaps
        rounding = np.max([f.value_rounding for f in facts], axis=0)[at]
        size = np.sqrt(np.maximum(np.max([np.diag(f.W) for f in facts], axis=0), 1e-300))
        strongest = float(np.max(np.abs(self.z) * size[:, None], initial=0.0))
        strongest = max(strongest, _long(facts[0].M, np.hstack([b.a for b in blocks])))
        strongest = max(strongest, *(float(np.sqrt(abs(f.force @ f.free))) for f in facts))
        # How far a gap would go if all that moves went its way.
        ways = np.hstack([b.q for b in blocks]) - motion.starts[0, : len(facts[0].q), None]
        far = _long(facts[0].M, ways)
        self.near = _WAYS * np.ptp(self.gap, axis=1) + _ROUNDINGS * rounding
        self.near += max(_ASIDE, _INSIDE * tolerance) * far * size[at]
        self.weak = max(_FORCES, _INSIDE * tolerance) * strongest / size
        self.first = facts[0].fixed

    def findings(self) -> list[Finding]:
        """Measure each claim."""
        at, gaps, rubs = self.first, self.touch.gaps, self.touch.rubs
        weak, rows = self.weak, [self.first + self.touch.gaps + r.entries[0] for r in rubs]
        names, owned = self.touch.names, [r.name for r in rubs]
        return [
            *self._worst("contact stays outside:", -self.gap, self.near, lambda i: names[i]),
            *self._worst("contact only pushes:", -self.push, weak[at : at + gaps],
                         lambda i: names[i]),
            *self._worst("friction stays within its limit:", self.over, weak[rows],
                         lambda i: owned[i]),
        ]  # fmt: skip

    def _worst(
        self, claim: str, off: np.ndarray, allowed: np.ndarray, name: Callable[[int], str]
    ) -> list[Finding]:
        finding = measured(claim, np.max(off, axis=1, initial=0.0), allowed + 1e-300, name)
        return [Finding(f.claim, f"{f.where} near t = {self._when(off, f):.6g}", f.measured,
                        f.allowed) for f in finding]  # fmt: skip

    def _when(self, off: np.ndarray, finding: Finding) -> float:
        return float(self.t[int(np.argmax(np.any(off == finding.measured, axis=0)))])
