"""A motion is on the sides of kinks and jumps on which its statement says that it is."""

from __future__ import annotations

import numpy as np

from stationary.result.motion import Motion
from stationary.solve.gate.finding import Finding

# Output times that are looked at, each in a stretch of its own if there are so many.
_LOOKS = 64

# By what part rates may differ; and how near to a border both its sides are looked at: by this part
# of the way that coordinates and velocities go, and of the time, or by so many tolerances.
_OFF, _OFF_CONSTRAINTS = 1e-9, 1e-6
_NEAR, _ERRORS = 1e-6, 10.0


def sides(motion: Motion, rtol: float = 0.0) -> list[Finding]:
    """Measure the law that was followed beside the statement, at states that were told.

    Where borders are passed, sides change up to the errors of the steps: a state counts as right if
    what is stated there, or shortly before or after it, is what was followed.
    """
    if motion.law is None:
        return []
    some = np.unique(np.linspace(0, len(motion.t) - 1, _LOOKS).astype(int))
    t, y = motion.t[some], motion.y[some]
    followed = motion.law(t, t, y)
    held = np.all(np.isfinite(followed), axis=1)
    t, y, followed = t[held], y[held], followed[held]
    if not len(t):
        return []
    # On constraints the rate differs at which what errors leave of them decays.
    allowed = _OFF_CONSTRAINTS if motion.kernel.rows else _OFF
    off, near = _missed(motion, t, t, y), max(_NEAR, _ERRORS * rtol)
    way = np.ptp(motion.y, axis=0) + np.spacing(np.abs(motion.y).max(axis=0))
    if not np.all(off <= allowed):
        with np.errstate(all="ignore"):
            ahead = np.min(near * way / (np.abs(followed) + 1e-300), axis=1)
            ahead = np.minimum(ahead, near * (motion.t[-1] - motion.t[0]))
            around = [(t + s * ahead, y + s * ahead[:, None] * followed) for s in (-1, 1)]
            around += [(t, y + s * near * way) for s in (-1, 1)]
            off = np.min([off, *(_missed(motion, t, *there) for there in around)], axis=0)
    k = int(np.argmax(off))
    claim = "forces are those of the side on which it is"
    return [Finding(claim, f"at t = {t[k]:.6g}", float(off[k]), allowed)]


@np.errstate(all="ignore")
def _missed(motion: Motion, within: np.ndarray, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return by what part the statement's rates at states are not those that were followed."""
    assert motion.law is not None
    followed, stated = motion.law(within, t, y), _stated(motion, t, y)
    size = np.abs(followed) + np.abs(stated)
    # What nearly vanishes is as exact as it is large elsewhere.
    size += _OFF * np.nan_to_num(size, posinf=0.0).max(axis=0) + 1e-300
    return np.nan_to_num(np.abs(stated - followed) / size, nan=np.inf).max(axis=1)


def _stated(motion: Motion, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the rates that the statement gives states, one row each."""
    kernel, last = motion.kernel, [motion.alpha] if motion.kernel.rows else []
    p = [np.concatenate([motion.params, motion.drives.slots(float(x)), last]) for x in t]
    values = np.array(p).T if kernel.rhs.numel_in(2) else np.empty(0)
    return np.asarray(kernel.rhs(t[None, :], y.T, values)).T
