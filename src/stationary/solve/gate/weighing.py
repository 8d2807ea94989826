"""Loads weighed by pushing: motions under them balance, and miss the measured ones as is told."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.result.weighed import FittedPressure
from stationary.solve.gate.finding import Finding, measured


def weighs(fit: FittedPressure, pushes: Any, weight: float | None, rtol: float) -> list[Finding]:
    """Measure loads, their centre and intervals, and what is left of every push that counts.

    `pushes` are those that are not left out, scaled to the size of the part; `weight` is what the
    loads sum up to, None where forces weigh them.
    """
    w, total = np.asarray(fit.weights), float(np.sum(fit.weights))
    names = [f"load {k}" for k in range(len(w))].__getitem__
    small = np.full(len(w), rtol * total)
    claims = measured("loads push:", np.maximum(-w, 0.0), small, names)
    if weight is not None:
        claims.append(Finding("loads sum up to", "the weight", abs(total - weight), rtol * weight))
    low, high = np.asarray(fit.intervals).T
    beyond = np.maximum(np.maximum(low - w, w - high), 0.0)
    claims += measured("an interval contains its load:", beyond, small, names)
    off = float(np.abs(w @ fit.points / total - fit.centre).max())
    claims.append(Finding("the centre is that of", "the loads", off, rtol * pushes.size))
    kept = np.setdiff1d(np.arange(len(fit.residuals)), fit.left_out)
    mu = 0.0 if np.isnan(fit.finger) else float(fit.finger)
    if not len(kept) or np.isnan(fit.finger) and bool(np.any(pushes.fingers.side)):
        # Under loads that leave the friction of the finger open nothing says how it moves.
        return claims
    load = np.linalg.lstsq(pushes.shapes, w, rcond=None)[0]
    names = [f"push {k}" for k in kept].__getitem__
    if pushes.support.patch is None:
        left = _unbalanced(pushes, load, mu)
        allowed = np.full(len(left), rtol * total)
        claims += measured("friction and finger balance in", left, allowed, names)
    each, stated = pushes.per_push(pushes.residuals(load, mu)[0]), np.asarray(fit.residuals)[kept]
    # Residuals are in standard errors, or in parts of each motion.
    unit = 1.0 if pushes.relative else np.maximum(pushes.long / pushes.sigma.max(axis=1), 1.0)
    allowed = rtol * (unit + np.maximum(each, stated))
    return claims + measured("loads leave what is told of", np.abs(each - stated), allowed, names)


def _unbalanced(pushes: Any, load: np.ndarray, mu: float) -> np.ndarray:
    """Return what no finger gives of the friction of the feet, push by push.

    A foot at rest gives what is missing, up to its limit.
    """
    twist, x, w = pushes.expected(load, mu).twist, pushes.x, pushes.shapes @ load
    v = np.stack([twist[:, :1] - twist[:, 2:] * x[:, 1], twist[:, 1:2] + twist[:, 2:] * x[:, 0]], 2)
    speed = np.linalg.norm(v, axis=2)
    resting = speed <= 1e-6 * speed.max(axis=1, keepdims=True)
    e = v * np.where(resting, 0.0, w / np.where(resting, 1.0, speed))[..., None]
    moment = x[:, 0] * e[..., 1] - x[:, 1] * e[..., 0]
    wrench = np.stack([e[..., 0].sum(axis=1), e[..., 1].sum(axis=1), moment.sum(axis=1)], axis=1)
    lines, place = pushes.fingers.lines(mu), pushes.fingers.place
    unit = lines / np.linalg.norm(lines, axis=1, keepdims=True)
    along = np.maximum((unit * wrench).sum(axis=1), 0.0)
    beside = np.linalg.norm(wrench - along[:, None] * unit, axis=1)
    # A finger that sticks gives any force at its contact, and no moment about it.
    about = wrench[:, 2] - place[:, 0] * wrench[:, 1] + place[:, 1] * wrench[:, 0]
    held = 2 * np.where(resting, w, 0.0).sum(axis=1)
    return np.maximum(np.where(pushes.sticks, np.abs(about), beside) - held, 0.0)
