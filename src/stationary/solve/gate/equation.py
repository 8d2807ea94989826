"""A motion follows its differential equation from each output time to the next."""

from __future__ import annotations

import numpy as np

from stationary.lower.kernel import numeric
from stationary.result.motion import Motion
from stationary.result.touched import Touched
from stationary.solve.gate.finding import Finding, measured

# A motion in steps may lose so many times what the midpoint rule does, or this share of its way.
_FEW, _STEPS = 4.0, 1e-8
# Rounds in which a step of the midpoint rule settles.
_ROUNDS = 60


def equation(motion: Motion | Touched, rtol: float) -> list[Finding]:
    """Integrate from every output time to the next by another method, and compare.

    Each entry of the state is measured beside the way that it goes, and beside its last digits.
    Where a state jumps, as at an event that changes it, nothing is compared.
    """
    allowed = rtol * _way(motion) + _last_digits(motion)
    return _compared(motion, motion.continued(), allowed)


def stepped(motion: Motion) -> list[Finding]:
    """Compare in the same way a motion in steps of one length, which promises the order two.

    From one output time to the next it may lose a few times what the implicit midpoint rule does,
    in steps of the same length; where that loses nothing, its own tolerance is left.
    """
    there, h = motion.continued(), float(motion.t[-1] - motion.t[0]) / max(motion.steps, 1)
    lost = np.zeros(motion.y.shape[1])
    for k, end in enumerate(there):
        by_steps = _midpoint(motion, k, h)
        lost = np.maximum(lost, np.nan_to_num(np.abs(by_steps - end), nan=np.inf))
    # The rule loses more of what is coupled than of what is followed alone.
    n, span = motion.kernel.size, float(motion.t[-1] - motion.t[0])
    lost[:n] = np.maximum(lost[:n], lost[n : 2 * n] * h)
    lost[n : 2 * n] = np.maximum(lost[n : 2 * n], lost[:n] / span)
    return _compared(motion, there, _FEW * lost + _STEPS * _way(motion) + _last_digits(motion))


def _midpoint(motion: Motion, k: int, h: float) -> np.ndarray:
    """Return where the implicit midpoint rule comes from one output time to the next."""
    rhs, last = numeric(motion.kernel, "rhs"), [motion.alpha] if motion.kernel.rows else []
    t, y, end = float(motion.t[k]), motion.y[k], float(motion.t[k + 1])
    p = np.concatenate([motion.params, motion.drives.slots(t), last])
    count = max(1, int(np.ceil((end - t) / h - 1e-6)))
    length = (end - t) / count
    for i in range(count):
        now, middle = t + (i + 0.5) * length, y
        for _ in range(_ROUNDS):
            there = y + length / 2 * rhs(now, middle, p)[0]
            settled = np.all(np.abs(there - middle) <= 4 * np.spacing(np.abs(there)))
            middle = there
            if settled:
                break
        y = 2 * middle - y
    return y


def _way(motion: Motion | Touched) -> np.ndarray:
    """Return how far each entry of the state goes."""
    y = motion.states if isinstance(motion, Touched) else motion.y
    way = np.maximum(np.ptp(y, axis=0), np.abs(np.diff(y, axis=0)).max(axis=0))
    # A velocity is as sharp as the way it makes in the whole time, and the other way round.
    n, span = motion.kernel.size, float(motion.t[-1] - motion.t[0])
    way[:n] = np.maximum(way[:n], 1e-6 * way[n : 2 * n] * span)
    if isinstance(motion, Touched):
        # What was supplied and taken has the digits of the energy.
        way[2 * n :] = np.maximum(way[2 * n :], float(np.abs(motion.kinetic).max()))
    return way


def _last_digits(motion: Motion | Touched) -> np.ndarray:
    y = motion.states if isinstance(motion, Touched) else motion.y
    return 64 * np.spacing(np.abs(y).max(axis=0))


def _compared(motion: Motion | Touched, there: np.ndarray, allowed: np.ndarray) -> list[Finding]:
    """Measure how far output states are from those to which the ones before them lead."""
    n, y = motion.kernel.size, motion.states if isinstance(motion, Touched) else motion.y
    jumps = np.concatenate([np.ravel(times) for times in motion.events] or [np.zeros(0)])
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
