"""How far the end of a motion can be trusted: how errors of its steps have grown until then.

Energy tells nothing about that: a chaotic motion keeps its energy to rounding and has lost its way.
The motion is integrated again, beginning with an error as its own steps make it, and what becomes
of the error is compared with how far and how fast the motion goes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from stationary.lower.rounding import chance
from stationary.model.shared_lengths import added
from stationary.result.motion import Motion
from stationary.solve.gate.run import rounding_of_energy
from stationary.solve.motion.ode import BlowUp
from stationary.solve.motion.stabilize import roots_by

#: Tolerances, and fixed steps, of two more runs over those of the first: errors of one alone may
#: come to the same by chance, and need not follow the tolerances. Where none can be tighter, the
#: second is near.
OTHERS, NEAR, LONGER = (10.0, 0.1), 4.0, (2.0, 3.0)

# The difference of both runs is at least this many times the error of the first.
_TIMES = 3.0

# Times at which the second run is looked at to tell how far the motion goes.
LOOKS = 101

# States of a motion that tell how forces round.
_SEEN = 32

# A force is rounded anew in so many steps: then a motion comes to where it has been.
_ANEW = 32

# Where this part of the way is all that is known at the end, two runs may have met by chance: they
# are compared at so many of the last looks.
_CHANCE, _LAST_LOOKS = 1e-2, 10

# All digits that a number has.
_ALL = -np.log10(np.finfo(float).eps)

# Of a motion that an event ends sooner than this part of it nothing is left.
_LATE = 1e-3

# A coordinate that carries less than this part of the motion is at rest but for rounding.
_AT_REST = 1e-13

# So many last digits of the largest energy are rounding of its sum.
_LAST_DIGITS = 16

# A motion that goes no further than so many times its rounding is at rest.
_STILL = 100.0


def _rounding(y: np.ndarray, steps: int) -> np.ndarray:
    """Return what rounding of all steps adds up to by chance."""
    size = np.abs(y).max(axis=0)
    # What is exactly zero all along has none.
    return np.sqrt(max(steps, 1)) * np.where(size > 0, np.spacing(size), 0.0)


def _noise(motion: Motion) -> np.ndarray:
    """Return what rounding of forces makes of states on the way, by chance."""
    some = np.unique(np.linspace(0, len(motion.t) - 1, _SEEN).astype(int))
    t, y = motion.t[some], motion.y[some]
    held = [motion.alpha] if motion.kernel.rows else []
    fixed = (np.tile(x, (len(t), 1)) for x in (motion.params, held))
    p = np.hstack([next(fixed), motion.drives.every(t), next(fixed)])
    lost = np.sqrt((chance(motion.kernel.rhs, t, y, p) ** 2).mean(axis=0))
    return lost * (motion.t[-1] - motion.t[0]) / np.sqrt(min(max(motion.steps, 1), _ANEW))


def disturbed(motion: Motion, which: int = 0) -> np.ndarray:
    """Return the first state with the rounding of all steps in it, by one of many ways."""
    signs = np.random.default_rng(which).choice([-1.0, 1.0], motion.y.shape[1])
    return motion.y[0] + signs * (_rounding(motion.y, motion.steps) + _noise(motion))


def _rests(motion: Motion, second: Motion) -> bool:
    """Tell whether neither run goes anywhere: there is no way to measure digits by."""
    n, rounding = motion.kernel.size, _rounding(motion.y, motion.steps)
    reach = rounding[:n] + rounding[n : 2 * n] * (motion.t[-1] - motion.t[0])
    return all(np.all(np.ptp(run.q, axis=0) <= _STILL * reach) for run in (motion, second))


def _missing(motion: Motion) -> float:
    """Return what the energy that is missing at the end makes of velocities at least.

    Where a force is steep, the last digits of a place are many of its energy: they are lost on the
    way, where nothing that is done to the start tells of them.
    """
    level = float(np.abs([motion.kinetic, motion.potential, motion.work]).max())
    missing = abs(float(motion.balance[-1])) - _LAST_DIGITS * np.finfo(float).eps * level
    most = 2 * float(motion.kinetic.max())
    if not (missing > 0 and most > 0):
        return 0.0
    # Large terms that cancel leave an energy few digits, and the motion all of its own.
    missing -= rounding_of_energy(motion, np.array([0, len(motion.t) - 1]))
    return float(np.clip(missing / most, 0.0, 1.0))


def digits_left(motion: Motion, second: Motion, *, larger: bool = True) -> float:
    """Return how many digits a motion has in common with a second one at the end.

    Errors of the second are larger, unless that is said to be exact.

    They are those of places over the way that coordinates go, and of velocities. Coordinates that
    are added to each other go one way: a mass that the others have not reached yet moves by
    rounding alone, and is as well known as they are; so is what stays at rest while others move.
    Where all do there are no digits that could be counted: nan.
    """
    n, kernel, states = motion.kernel.size, motion.kernel, second.y
    if not second.success or motion.t[-1] - second.t[-1] > _LATE * (motion.t[-1] - motion.t[0]):
        return 0.0
    if _rests(motion, second):
        return np.nan
    weight = roots_by(kernel, motion.params, motion.t[0], motion.y[0])
    groups, scales = added(kernel.layout), []
    for part, origin in ((slice(0, n), states[0, :n]), (slice(n, 2 * n), 0.0)):
        far = np.abs(states[:, part] - origin).max(axis=0)
        whole = np.linalg.norm(weight * far)
        for group in groups:
            far[group] = far[group].max()
        # What is at rest but for rounding, as the radius of a circle, is known beside the rest.
        scales.append(np.where(far > _AT_REST * whole / weight, far, whole / weight))
    scale = np.concatenate(scales)

    def apart(one: np.ndarray, other: np.ndarray) -> float:
        error = np.abs(one[..., : 2 * n] - other[..., : 2 * n])
        moved = (error > 0) & (scale > 0)
        return float(np.divide(error, scale, where=moved, out=np.zeros_like(error)).max())

    worst = apart(states[-1], motion.y[-1])
    if worst > _CHANCE:
        late = second.t[second.t <= motion.t[-1]][-_LAST_LOOKS:]
        with suppress(BlowUp):
            here: Any = motion.at(late)
            worst = max(worst, apart(states[np.isin(second.t, late)], np.hstack([here.q, here.v])))
    if larger and motion.method != "Taylor" and worst < 1 / _TIMES**2:
        worst /= _TIMES
    worst = max(worst, _missing(motion))
    return float(np.clip(-np.log10(max(worst, 1e-300)), 0.0, _ALL))
