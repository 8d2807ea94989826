"""A motion follows its differential equation from each output time to the next."""

from __future__ import annotations

import numpy as np

from stationary.result.motion import Motion
from stationary.result.touched import Touched
from stationary.solve.gate.finding import Finding, measured


def equation(motion: Motion | Touched, rtol: float) -> list[Finding]:
    """Integrate from every output time to the next by another method, and compare.

    Each entry of the state is measured beside the way that it goes, and beside its last digits.
    Where a state jumps, as at an event that changes it, nothing is compared.
    """
    y = motion.states if isinstance(motion, Touched) else motion.y
    jumps = np.concatenate([np.ravel(times) for times in motion.events] or [np.zeros(0)])
    there = motion.continued()
    way = np.maximum(np.ptp(y, axis=0), np.abs(np.diff(y, axis=0)).max(axis=0))
    # A velocity is as sharp as the way it makes in the whole time, and the other way round.
    n, span = motion.kernel.size, float(motion.t[-1] - motion.t[0])
    way[:n] = np.maximum(way[:n], 1e-6 * way[n : 2 * n] * span)
    if isinstance(motion, Touched):
        # What was supplied and taken has the digits of the energy.
        way[2 * n :] = np.maximum(way[2 * n :], float(np.abs(motion.kinetic).max()))
    allowed = rtol * way + 64 * np.spacing(np.abs(y).max(axis=0))
    off = np.abs(there - y[1:])
    for k, (a, b) in enumerate(zip(motion.t, motion.t[1:])):
        if np.any((jumps > a) & (jumps <= b)):
            off[k] = 0.0
    if isinstance(motion, Touched):
        off[np.isin(motion.t[1:], motion.began)] = 0.0
    worst = np.argmax(off / np.maximum(allowed, 1e-300), axis=0)
    layout = motion.kernel.layout
    names = [layout.name(i) for i in range(n)] + [layout.name(i) + ".dot" for i in range(n)]
    names += ["work", "heat"][: y.shape[1] - 2 * n]
    values = off[worst, np.arange(len(worst))]
    return measured("the motion follows its equation in", values, allowed, names.__getitem__)


def energy(motion: Motion | Touched, rtol: float) -> list[Finding]:
    """Measure the balance of energy at every output time beside the largest energies."""
    largest = [np.abs(x).max() for x in (motion.kinetic, motion.potential, motion.work)]
    off = float(np.abs(motion.balance).max())
    return [Finding("energy", "balances", off, rtol * max(largest) + 1e-300)]
