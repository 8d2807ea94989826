"""Weigh by pushing: loads of feet, or a smooth pressure, from measured motions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear
from scipy.stats import norm, t

from stationary.errors import StatementError, say
from stationary.model.push import Push
from stationary.model.slider import slider
from stationary.model.system import System
from stationary.result.status import Status
from stationary.result.weighed import FittedPressure, Identifiable
from stationary.solve.inertia import require_system
from stationary.solve.pressure.measured import Measured
from stationary.solve.sliding.limits import limit_surface

_STEPS = 60

# How far aside a search looks for less, in parts of the weight, and how often.
_ASIDE, _ROUNDS = (0.001, 0.005, 0.02), 5
# Smooth shapes over an outline, and the points that sample it.
_SHAPES, _SAMPLES = 7, 160
# The share of pushes that may be left out, and how often those that miss the fit are looked for.
_SHARE, _PASSES = 0.25, 4


def fit_pressure(
    part: System,
    *,
    pushes: Sequence[Push | Mapping[str, Any]],
    noise: tuple[float, ...] | None = None,
    friction: float | None = None,
    params: Mapping[Any, float] | None = None,
) -> FittedPressure:
    """Find the loads under a part from how it moved when it was pushed.

    Once a motion is known, friction is linear in the loads, and the motion of minimum power is the
    one at which they balance the finger. The loads for which the motions of minimum power come
    closest to the measured ones, in their standard errors, are the most likely.

    Parameters
    ----------
    part : System
        ``st.slider(points=feet, weight=…)``, or an outline or a disc with a weight, over which the
        pressure is smooth. Without forces the loads are known up to a factor: they sum up to the
        weight.
    pushes : list of Push
        Or of dictionaries with the same words.
    noise : tuple of two numbers, optional
        Standard errors of displacements and of angles (or of velocities and rates), and of forces,
        where they were measured: without a third number one in a hundred. Left out, they are
        estimated from what the fit leaves over, displacements and turns of the size of the part
        alike.
    friction : float, optional
        Of the finger. Left out, it is found where pushes have `finger=`, and zero otherwise.
    params : dict, optional
        Values of parameters in the statement of the part.

    Returns
    -------
    FittedPressure

    Examples
    --------
    One push does not weigh four feet; the fit names what it cannot tell and what to push next:

    >>> feet = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    >>> push = st.Push(point=(0.3, -1), normal=(0, 1), motion=(0.0, 1.0, 0.2))
    >>> fit = st.fit_pressure(st.slider(points=feet, weight=1.0), pushes=[push])
    >>> str(fit.status), bool(fit.identifiable), len(fit.identifiable.directions) > 0
    ('undetermined', False, True)
    """
    points, shapes, weight = _unknown(part, params)
    taken = [_push(p, k) for k, p in enumerate(pushes)] if pushes is not None else []
    if not taken:
        raise StatementError(
            say("there is no push.", "Found an empty list.", "Give what was measured: st.Push(…).")
        )
    forced = any(p.force is not None for p in taken)

    def fitted(names: list[int]):
        chosen = Measured(points, shapes, [taken[k] for k in names], noise, friction)
        return chosen, _fitted(chosen, weight, forced)

    usable, out = _usable(Measured(points, shapes, taken, noise, friction))
    every, (load, mu, J, r) = fitted(usable)
    measured, names, odd = every, usable, set()
    for _ in range(_PASSES):
        # A mistake pulls the fit, and others seem to be mistakes: each is judged anew.
        each = every.per_push(every.residuals(load, mu)[0])
        now = {usable[k] for k in every.odd(each)}
        if now == odd or len(out) + len(now) > _SHARE * len(taken):
            break
        odd, names = now, [k for k in usable if k not in now]
        measured, (load, mu, J, r) = fitted(names)
    out |= dict.fromkeys(odd, "misses the fit")
    return _told(part, measured, load, mu, J, r, weight, forced, noise is not None, names, out)


def _usable(measured: Measured) -> tuple[list[int], dict[int, str]]:
    """Return the pushes that tell something, and why the others do not."""
    count = len(measured.pushes)
    out = {int(k): "did not move" for k in measured.idle}
    back = [int(k) for k in measured.backing if int(k) not in out]
    if len(out) == count:
        raise StatementError(
            say(
                "no push moved the part.",
                f"Found {count} motion{'s' * (count != 1)} of zero, or of less than the noise.",
                "Give pushes under which it slides.",
            )
        )
    if len(back) > _SHARE * count:
        measured.require_pushes(range(count))
    out |= {k: "goes away from its finger" for k in back}
    return [k for k in range(count) if k not in out], out


def _fitted(measured: Measured, weight: float, forced: bool):
    """Minimize what is left of the motions, from even loads and from loads in balance.

    Where a motion is one about a foot it does not change with the loads, and a search may end
    there; the better of two starts seldom does. Errors hide that: only what is exact ends early.
    """
    count = measured.shapes.shape[1]
    mu = measured.mu if np.isfinite(measured.mu) else 0.3
    mu = 0.3 if measured.wants_friction else mu
    starts = (measured.balanced(mu), np.full(count, 1 / count))
    found = []
    for share in starts:
        load = weight * (0.98 * share + 0.02 / count)
        found.append(_descended(measured, load, mu, weight, forced))
        r = found[-1][3]
        if measured.typical < 1 and r @ r <= 4.0 * measured.equations * measured.typical:
            break
    best = min(found, key=lambda f: float(f[3] @ f[3]))
    return best if measured.typical < 1 else _beside(measured, best, weight, forced)


def _beside(measured: Measured, best, weight: float, forced: bool):
    """Look a little aside, in every direction: a search stops where a foot just begins to move."""
    total = float(best[0].sum())
    ways = np.linalg.svd(np.ones((1, len(best[0]))))[2][1:]
    steps = [aside * total * way for way in (*ways, *-ways) for aside in _ASIDE]
    for _ in range(_ROUNDS):
        load, mu, _, r = best
        places = [place for step in steps if np.all((place := load + step) > 0)]
        left = [float((x := measured.residuals(place, mu)[0]) @ x) for place in places]
        if not left or min(left) >= r @ r:
            return best
        found = _descended(measured, places[int(np.argmin(left))], mu, weight, forced)
        best = min(found, best, key=lambda f: float(f[3] @ f[3]))
    return best


def _descended(measured: Measured, load: np.ndarray, mu: float, weight: float, forced: bool):
    """Minimize what is left by Gauss and Newton's method, damped; loads stay positive."""
    count = len(load)
    wanted = measured.wants_friction
    if forced:
        load = load * measured.first_scale(load, mu)
    r, J = measured.residuals(load, mu)
    damping = 1e-3
    for _ in range(_STEPS):
        scale = np.append(np.full(count, load.sum() / count), 0.3)[: J.shape[1]]
        rows, right = [J * scale], [-r]
        if not forced:
            # Without forces nothing tells how much there is in all.
            stiff = 1e3 * max(np.abs(J * scale).max(), 1e-300)
            rows.append(stiff * np.append(np.ones(count), 0.0)[None, : J.shape[1]])
            right.append(np.array([stiff * (weight - load.sum()) / scale[0]]))
        size = np.abs(rows[0]).max() or 1.0
        rows.append(damping * size * np.eye(J.shape[1]))
        right.append(np.zeros(J.shape[1]))
        now = np.append(load, mu)[: J.shape[1]]
        low = -now / scale
        step = lsq_linear(np.vstack(rows), np.concatenate(right),
                          (np.minimum(low, -1e-300), np.inf), method="bvls").x * scale  # fmt: skip
        new = np.maximum(now + step, 0.0)
        new_load, new_mu = new[:count], float(new[count]) if wanted else mu
        if not new_load.sum() > 0:
            damping *= 10
            continue
        if not forced:
            new_load = new_load * (weight / new_load.sum())
        new_r, new_J = measured.residuals(new_load, new_mu)
        if new_r @ new_r <= r @ r * (1 + 1e-12):
            small, gain = np.abs(step / scale).max(), r @ r - new_r @ new_r
            load, mu, r, J = new_load, new_mu, new_r, new_J
            damping = max(damping / 30, 1e-12)
            if small < 1e-12 or (small < 1e-6 and gain <= 1e-11 * (r @ r)):
                break
        else:
            damping *= 8
            if damping > 1e6 or np.abs(step / scale).max() < 1e-12:
                break
    return load, mu, J, r


def _told(
    part, measured: Measured, load, mu, J, r, weight, forced, stated, kept, out
) -> FittedPressure:  # fmt: skip
    count = len(load)
    total = float(load.sum())
    scale = np.append(np.full(count, total / count), 1.0)[: J.shape[1]]
    # Changes of the loads that keep their sum, unless forces weigh them.
    basis = np.eye(J.shape[1])
    if not forced:
        one = np.append(np.ones(count), 0.0)[: J.shape[1]]
        basis = np.linalg.svd(one[None])[2][1:].T
    unit = J * scale @ basis
    _, s, V = np.linalg.svd(unit, full_matrices=True)
    s = np.append(s, np.zeros(V.shape[0] - len(s)))
    dof = max(measured.equations - basis.shape[1], 0)
    rms = float(np.sqrt(r @ r / max(dof, 1)))
    # What misses the stated noise by more than chance widens the intervals.
    beyond = stated and dof > 0 and rms > 1.0 + 4.0 / np.sqrt(2 * dof)
    sigma = 1.0 if stated and not beyond else rms
    # What has a standard error as large as all loads together is not told.
    floor = 1e-9 * s.max(initial=0.0)
    blind = (s <= floor) | (max(sigma, 1e-300) / np.maximum(s, 1e-300) > count)
    directions = (basis @ V[blind].T).T * scale
    spread = np.where(blind, 0.0, 1 / np.maximum(s, 1e-300))
    half = basis @ V.T * spread
    covariance = sigma**2 * (half @ half.T) * np.outer(scale, scale)
    quantile = norm.ppf(0.975) if stated and not beyond else t.ppf(0.975, max(dof, 1))
    B = measured.shapes
    weights = B @ load
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", B, covariance[:count, :count], B), 0))
    unseen = np.abs(B @ directions[:, :count].T).max(axis=1, initial=0.0)
    seen = unseen <= 0.02 * np.abs(directions).max(initial=1e-300) * B.max(axis=1)
    if not len(directions):
        seen = np.ones(len(B), dtype=bool)
    top = np.inf if forced else weight
    low = np.where(seen, np.maximum(weights - quantile * error, 0.0), 0.0)
    high = np.where(seen, np.minimum(weights + quantile * error, top), top)
    finger, around = mu, (mu, mu)
    if measured.wants_friction:
        off = quantile * float(np.sqrt(covariance[count, count]))
        around = (max(mu - off, 0.0), mu + off)
        if np.any(blind) and np.abs(directions[:, count]).max() > 1e-6:
            finger, around = np.nan, (0.0, np.inf)
    elif not np.isfinite(measured.mu):
        finger, around = np.nan, (measured.sticks_from(load), np.inf)
    names = "; ".join(
        ", ".join(f"{x:+.2f}" for x in d[:count] / np.abs(d[:count]).max(initial=1e-300))
        for d in directions[:3]
    )  # fmt: skip
    if len(directions):
        status = Status("undetermined", f"these changes of the loads no push tells: {names}")
    elif beyond:
        missed = f"the motions miss the fit by {rms:.3g} times the stated noise"
        status = Status("scatters", f"{missed}; intervals are widened by that")
    else:
        status = Status("fitted", f"{measured.equations} equations for {basis.shape[1]} unknowns")
    each = np.full(len(kept) + len(out), np.nan)
    each[kept] = measured.per_push(r)
    measured.require_agreement(each[kept], kept)
    if out:
        words = ", ".join(f"{k} ({why})" for k, why in sorted(out.items())[:6])
        more = " …" if len(out) > 6 else ""
        status = Status(str(status), f"{status.message}; left out: push {words}{more}")
    return FittedPressure(
        part, measured.points, weights, np.stack([low, high], axis=1),
        Identifiable(seen, directions),
        float(finger), (float(around[0]), float(around[1])), covariance, rms, each,
        measured.next_push(load, mu, V, s, basis, scale), status, tuple(sorted(out)),
    )  # fmt: skip


def _push(given: Any, k: int) -> Push:
    if isinstance(given, Push):
        return given
    known = {f.name for f in fields(Push)}
    if isinstance(given, Mapping) and set(given) <= known:
        return Push(**given)
    raise StatementError(
        say(
            f"push {k} is none.",
            f"Found {str(given)[:60]}.",
            f"Pass st.Push(…), or a dictionary with {', '.join(sorted(known))}.",
        )
    )


def _unknown(part: Any, params: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the points of a part, the shapes of its pressure, and its weight."""
    require_system(part)
    open_ = [p.support for p in part.parts if p.support is not None]
    if len(open_) == 1 and open_[0].kind == "points":
        points = np.array(open_[0].points)
        return points, np.eye(len(points)), open_[0].weight
    if len(open_) == 1:
        area = {"radius": open_[0].radius} if open_[0].kind == "disc" else {
            "outline": open_[0].points}  # fmt: skip
        points, weights = _table(slider(**area, count=_SAMPLES), None)
        return points, _smooth(points, weights), open_[0].weight
    if len(part.coordinates) == 3 and any(x.table is not None for x in part.friction):
        points, weights = _table(part, params)
        return points, np.eye(len(points)), float(weights.sum())
    raise StatementError(
        say(
            "loads are asked of what is no part on a table.",
            f"Found {len(part.coordinates)} coordinates.",
            "State it as st.slider(points=feet, weight=…).",
        )
    )


def _table(part: System, params: Any) -> tuple[np.ndarray, np.ndarray]:
    surface = limit_surface(part, params=params, count=8)
    return surface.points, surface.weights


def _smooth(points: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Return positive shapes over an outline that sum up to an even pressure."""
    chosen = [int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    while len(chosen) < _SHAPES:
        far = np.min(np.linalg.norm(points[:, None] - points[chosen], axis=2), axis=1)
        chosen.append(int(far.argmax()))
    apart = np.linalg.norm(points[:, None] - points[chosen], axis=2)
    wide = np.sort(np.linalg.norm(points[chosen][:, None] - points[chosen], axis=2), axis=1)[:, 1]
    bumps = np.exp(-((apart / (0.8 * wide.mean())) ** 2))
    shapes = bumps / bumps.sum(axis=1, keepdims=True) * area[:, None]
    return shapes / shapes.sum(axis=0)
