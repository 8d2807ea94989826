"""Weigh by pushing: loads of feet, or a smooth pressure, from measured motions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy.stats import chi2, f

from stationary.errors import StatementError
from stationary.model.polygon import area
from stationary.model.push import Push
from stationary.model.slider import slider
from stationary.model.system import System
from stationary.result.status import Status
from stationary.result.weighed import FittedPressure, Identifiable
from stationary.solve.arguments import quiet
from stationary.solve.gate.claims import passed
from stationary.solve.inertia import require_system
from stationary.solve.pressure.weighing.apart import beside
from stationary.solve.pressure.weighing.measured import Measured
from stationary.solve.pressure.weighing.mistaken import likely, looks_alike
from stationary.solve.pressure.weighing.next_push import next_push
from stationary.solve.pressure.weighing.offset import aside, offset
from stationary.solve.pressure.weighing.search import Fitted, Search
from stationary.solve.pressure.weighing.smooth import shapes
from stationary.solve.pressure.weighing.uncertain import uncertain
from stationary.solve.sliding.limits.load import limit_surface

# Feet few enough that the likelihood of each load is followed.
_EACH = 12
# The points that sample an area, at least and at most, for so many motions of points in all.
_SAMPLES, _MOTIONS = (160, 480), 15_000
# What misses the fit by this share of itself is contradicted; where most miss it by so much, it is
# asked whether they are meant otherwise.
_MISSED, _DOUBTED = 0.5, 0.15
# A stated centre is contradicted by what chance does less often than this; motions that are told to
# be without errors are read to this share of themselves.
_CHANCE, _EXACT = 1e-4, 1e-4
# Motions that miss the fit by so many times their errors may be meant otherwise.
_SCATTERS = 2.0
# The share of the stated weight that forces may be off by without a word.
_FORCE = 0.02
# The share of pushes that may be left out, and how often those that miss the fit are looked for.
_SHARE, _PASSES = 0.25, 6


@quiet
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
    _require_friction(friction)
    if pushes is not None and (isinstance(pushes, Push) or not isinstance(pushes, Iterable)):
        raise StatementError(
            "the pushes are not a list.",
            f"Found {type(pushes).__name__}.",
            "Give a list of them, one for each push: pushes=[st.Push(…), …].",
        )
    taken = [_push(p, k) for k, p in enumerate(pushes)] if pushes is not None else []
    if not taken:
        raise StatementError(
            "there is no push.", "Found an empty list.", "Give what was measured: st.Push(…)."
        )
    forced = any(p.force is not None for p in taken)
    points, each, weight, patch, bends = _unknown(part, params, len(taken))
    centre = _stated_centre(part)

    def measured(names: list[int], mu: float | None = friction) -> Measured:
        return Measured(points, each, [taken[k] for k in names], noise, mu, patch, bends)

    usable, out = _usable(measured(list(range(len(taken)))), weight)
    search = Search(measured(usable), weight, forced)
    plain = search.fitted()
    odd, fitted = _mistakes(search, plain)
    if len(out) + len(odd) > _SHARE * len(taken):
        odd, fitted = [], plain
    names = [k for j, k in enumerate(usable) if j not in odd]
    if len(odd):
        search = Search(measured(names), weight, forced)
        fitted = search.fitted(fitted)
    out |= dict.fromkeys((usable[j] for j in odd), "misses the fit")
    rougher = _rougher(search, fitted, measured(names, None)) if friction is not None else ""
    doubt = _require_agreement(search, fitted, names, rougher)
    if centre is not None:
        fitted = _at_centre(search, fitted, centre)
        search = replace(search, centre=centre)
    moved = "" if doubt else rougher or offset(search, fitted) or _far_off(search, fitted)
    doubt += f"; they agree better if {moved}" * bool(moved)
    doubt += aside(part, [taken[k] for k in names], names) + beside(search.measured)
    heavier = _heavier(search, fitted)
    fit = _result(part, search, fitted, names, out, doubt + heavier)
    if heavier:
        # Sensor or weight, one of them is wrong: the loads are those of either.
        either = weight / fitted.load.sum()
        low, high = fit.intervals.T
        low, high = np.minimum(low, either * low), np.maximum(high, either * high)
        fit = replace(fit, intervals=np.stack([low, high], axis=1))
    known = {"pushes": search.measured, "weight": None if forced else weight}
    return passed(fit, "fit_pressure", **known)


def _far_off(search: Search, fitted: Fitted) -> str:
    """Return how else pushes may be meant that miss the fit by several times their errors."""
    known = uncertain(search, fitted)
    return likely(search) if known.beyond and known.rms > _SCATTERS else ""


def _rougher(search: Search, fitted: Fitted, free: Measured) -> str:
    """Return the friction of the finger with which pushes agree that contradict the stated one."""
    known = uncertain(search, fitted)
    rubs = free.wants_friction or np.any(free.sticks)
    if not rubs or not known.beyond or known.rms < _SCATTERS:
        return ""
    other = replace(search, measured=free)
    freed = other.fitted(fitted)
    if uncertain(other, freed).rms > 0.5 * known.rms:
        return ""
    if not free.wants_friction:
        return f"the finger sticks, with a friction of {free.sticks_from(freed.load):.2g} or more"
    return f"the friction of the finger is {freed.mu:.2g}"


def _heavier(search: Search, fitted: Fitted) -> str:
    """Say that forces sum up to other loads than the part is stated with."""
    known, total = uncertain(search, fitted), float(fitted.load.sum())
    count, weight = len(fitted.load), search.weight
    off = known.quantile * float(np.sqrt(max(known.covariance[:count, :count].sum(), 0.0)))
    if not search.forced or abs(total - weight) < max(2 * off, _FORCE * weight):
        return ""
    return (f"; by the forces the loads sum up to {total:.3g} ± {off:.1g}, the part is stated with "
            f"{weight:.3g}: intervals hold the loads of both")  # fmt: skip


def _at_centre(search: Search, fitted: Fitted, centre: tuple[float, float]) -> Fitted:
    """Return the fit with its resultant at the stated centre; refuse one that pushes contradict."""
    measured, held = search.measured, replace(search, centre=centre)
    known = uncertain(search, fitted)
    # As smooth as without a centre: what is left tells them apart.
    kept = held.descended(fitted.load, fitted.mu)
    least = _EXACT if measured.relative else 1.0
    enough = 2 * float(f.ppf(1 - _CHANCE, 2, max(known.dof, 1))) if measured.relative else (
        float(chi2.ppf(1 - _CHANCE, 2)))  # fmt: skip
    if kept.left - fitted.left > enough * max(known.rms, least) ** 2:
        place, (x, y) = known.centre, known.quantile * known.off
        moved = likely(held) or offset(held, kept)
        raise StatementError(
            "the pushes contradict the stated centre.",
            f"Found the resultant of the loads at ({place[0]:.4g} ± {x:.2g}, {place[1]:.4g} ± "
            f"{y:.2g}) from the pushes alone, and centre=({centre[0]:.4g}, {centre[1]:.4g}).",
            f"They agree if {moved}."
            if moved
            else "Check the frame of points and motions: the part's own, with the same origin. A "
            "finger far above the table moves the resultant, too: leave out centre= then.",
        )
    return held.fitted(fitted)


def _mistakes(search: Search, fitted: Fitted) -> tuple[list[int], Fitted]:
    """Return the pushes that are far from what most of the others say, and a fit to those.

    A mistake pulls a fit by least squares, and others seem to be mistakes: what is far counts by
    the logarithm of its distance, and far is what most of the pushes are not. Of several ends the
    one to which most pushes are close is taken.
    """
    every = search.measured

    def each(fit: Fitted) -> np.ndarray:
        return every.per_push(every.residuals(fit.load, fit.mu)[0])

    near = every.usual(each(fitted))
    if not np.any(each(fitted) > 3 * near):
        return [], fitted
    ends = [fitted]
    for load, mu in [(fitted.load, fitted.mu), *search.starts()]:
        far, fit = np.inf, fitted
        for _ in range(_PASSES):
            fit = replace(search, far=far).descended(load, mu)
            load, mu, before, far = fit.load, fit.mu, far, 3 * every.usual(each(fit))
            if not far < 0.9 * before:
                break
        ends.append(fit)
    best = min(ends, key=lambda f: every.usual(each(f)))
    odd = [int(k) for k in np.flatnonzero(each(best) > 6 * every.usual(each(best)))]
    return odd, best if odd else fitted


def _usable(measured: Measured, weight: float) -> tuple[list[int], dict[int, str]]:
    """Return the pushes that tell something, and why the others do not."""
    count = len(measured.pushes)
    out = {int(k): "did not move" for k in measured.idle}
    if len(out) == count:
        raise StatementError(
            "no push moved the part.",
            f"Found {count} motion{'s' * (count != 1)} of zero, or of less than the noise.",
            "Give pushes under which it slides.",
        )
    back = [int(k) for k in measured.backing if int(k) not in out]
    pull = [int(k) for k in measured.pulling if int(k) not in out]
    if len(back) > _SHARE * count:
        k, meant = back[0], likely(Search(measured, weight, forced=False))
        away = measured.speeds[k] * measured.size * measured.unit
        raise StatementError(
            f"push {k} contradicts its finger.",
            f"Found a contact that moves by {away:.3g} along the normal, as in {len(back)} of "
            f"{count} pushes: away from the finger, which cannot pull.",
            f"They agree if {meant}."
            if meant
            else "Check the sign of its normal, and the "
            "frame of its motion: both in the part's own frame.",
        )
    if len(pull) > _SHARE * count:
        meant = likely(Search(measured, weight, forced=True))
        raise StatementError(
            f"the force of push {pull[0]} pulls.",
            f"Found {measured.given[pull[0], 0]:.3g} along the normal, and no more than zero in "
            f"{len(pull)} of {count} pushes.",
            f"They agree if {meant}."
            if meant
            else "Give the force of the finger on the part, in the part's own frame: sensors may "
            "show that on the finger, which has the other sign.",
        )
    out |= {k: "its force pulls" for k in pull}
    out |= {k: "goes away from its finger" for k in back}
    return [k for k in range(count) if k not in out], out


def _require_agreement(search: Search, fitted: Fitted, names: list[int], rougher: str) -> str:
    """Refuse pushes that no loads explain, not even roughly; say how else they may be meant.

    `rougher` is a friction of the finger with which they agree, if there is one.
    """
    motion, force = search.measured.missed(fitted.r)
    worst = np.maximum(motion, force)
    bad = np.flatnonzero(worst > _MISSED)
    meant = (rougher or likely(search)) if len(bad) or np.median(worst) > _DOUBTED else ""
    if len(bad):
        named = ", ".join(str(names[int(k)]) for k in bad[np.argsort(-worst[bad])][:5])
        what = "motions" if motion.max() > _MISSED else "forces"
        missed = motion.max() if what == "motions" else force.max()
        raise StatementError(
            f"the pushes contradict each other: no loads explain push {named}.",
            f"Found {what} that miss the best fit by {100 * missed:.0f} % of themselves.",
            f"They agree if {meant}."
            if meant
            else "Check contact, normal, motion and force "
            "of these pushes, in the part's own frame, or leave them out.",
        )
    return f"; they agree better by far if {meant}" if meant else ""


def _result(
    part: System, search: Search, fitted: Fitted, kept: list[int], out: dict[int, str], doubt: str
) -> FittedPressure:
    measured, weight, forced = search.measured, search.weight, search.forced
    load, mu, r = fitted.load, fitted.mu, fitted.r
    count, total = len(load), float(load.sum())
    known = uncertain(search, fitted)
    blind, directions, covariance = known.blind, known.directions, known.covariance
    quantile, rms, sigma, beyond = known.quantile, known.rms, known.sigma, known.beyond
    B = measured.shapes
    weights = B @ load
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", B, covariance[:count, :count], B), 0))
    unseen = np.abs(B @ directions[:, :count].T).max(axis=1, initial=0.0)
    seen = unseen <= 0.02 * np.abs(directions).max(initial=1e-300) * B.max(axis=1)
    if not len(directions):
        # Of a smooth pressure: where it is known better than by its mean.
        seen = (quantile * error < B.sum(axis=1) * total / count) | (measured.bends is None)
    centre, spread = known.centre, known.off
    top = np.inf if forced else weight
    below = above = quantile * error
    if len(load) == len(B) <= _EACH and not np.any(blind) and error.max() > 1e-6 * total:
        rise = (quantile * sigma) ** 2
        around = search.around(fitted)
        own = covariance - known.astray @ known.astray.T
        ends = [[search.reach(fitted, own, k, way, rise, around) for k in range(count)]
                for way in (-1, 1)]  # fmt: skip
        below, above = np.hypot(ends, quantile * np.linalg.norm(known.astray[:count], axis=1))
    about = np.abs(directions[:, :count] @ (B.T @ measured.points - centre) / total).sum(axis=0)
    off = quantile * spread + np.where(about > 1e-9 * measured.size, np.inf, 0.0)
    low = np.where(seen, np.maximum(weights - below, 0.0), 0.0)
    high = np.where(seen, np.minimum(weights + above, top), top)
    finger, around = mu, (mu, mu)
    if measured.wants_friction:
        # Along what is not told, as far as the loads can go.
        room = total / np.maximum(np.abs(directions[:, :count]).max(axis=1), 1e-300)
        apart = quantile * float(np.sqrt(covariance[count, count]))
        apart += float(np.sum(room * np.abs(directions[:, count])))
        around = (max(mu - apart, 0.0), mu + apart)
        if np.any(blind) and apart > mu + 1:
            finger, around = np.nan, (0.0, np.inf)
    elif not np.isfinite(measured.mu):
        least = measured.sticks_from(load, covariance[:count, :count], sigma)
        finger, around = np.nan, (least, np.inf)
    missed = f"the motions miss the fit by {rms:.3g} times the stated noise"
    if len(directions) or not np.any(seen):
        untold = _untold(directions, count, total, measured.bends is not None)
        status = Status("undetermined", untold + f"; {missed}" * beyond)
    elif beyond:
        status = Status("scatters", f"{missed}; intervals are widened by that")
    else:
        free = f"{len(blind)} unknown{'s' * (len(blind) != 1)}"
        if measured.bends is not None:
            free = f"a smooth pressure, of which they tell about {known.determined:.0f}"
        status = Status("fitted", f"{measured.equations} equations for {free}")
    each = np.full(len(kept) + len(out), np.nan)
    each[kept] = measured.per_push(r)
    status = Status(str(status), status.message + doubt)
    if out:
        words = ", ".join(f"{k} ({why})" for k, why in sorted(out.items())[:6])
        more = " …" if len(out) > 6 else ""
        status = Status(str(status), f"{status.message}; left out: push {words}{more}")
    return FittedPressure(
        part, measured.points, weights, np.stack([low, high], axis=1),
        Identifiable(seen, directions),
        float(finger), (float(around[0]), float(around[1])), covariance, rms, each,
        next_push(part, search, fitted, known), status, tuple(sorted(out)),
        measured.cells, centre, np.stack([centre - off, centre + off], axis=1),
        _unknowable(part, search, measured.points, weights, np.stack([low, high], axis=1)),
    )  # fmt: skip


def _unknowable(
    part: System, search: Search, points: np.ndarray, weights: np.ndarray, intervals: np.ndarray
) -> str:
    """Say what no push of this part can tell, whatever its readings."""
    if search.centre is not None:
        return ""
    support = next((p.support for p in part.parts if p.support is not None), None)
    corners = points
    if support is not None and search.measured.bends is not None:
        corners = np.array(support.points).reshape(-1, 2)
    return looks_alike(corners, points, weights, intervals)


def _untold(directions: np.ndarray, count: int, total: float, smooth: bool) -> str:
    """Say what no push tells."""
    if smooth:
        return "the pushes do not tell where the pressure is; push elsewhere, or farther"
    size = np.abs(directions[:, :count]).max(axis=1, initial=0.0)
    # Loads that change by a thousandth of themselves while the friction of the finger does at will.
    loads = size > 1e-3 * total * np.abs(directions[:, count:]).max(axis=1, initial=0.0)
    if not np.any(loads):
        return "the friction of the finger no push tells"
    names = "; ".join(
        ", ".join(f"{x:+.2f}" for x in d[:count] / s)
        for d, s in list(zip(directions[loads], size[loads]))[:3]
    )  # fmt: skip
    return f"these changes of the loads no push tells: {names}"


def _stated_centre(part: System) -> tuple[float, float] | None:
    """Return where the part is stated to have the resultant of its loads."""
    return next((p.support.centre for p in part.parts if p.support is not None), None)


def _require_friction(friction: Any) -> None:
    """Refuse a friction of the finger that is none."""
    try:
        good = friction is None or 0 <= float(friction) < np.inf
    except (TypeError, ValueError):
        good = False
    if not good:
        raise StatementError(
            "the friction of the finger is no coefficient.",
            f"Found friction={str(friction)[:40]}.",
            "Give a number, zero or more; leave it out where pushes have finger=, to find it.",
        )


def _push(given: Any, k: int) -> Push:
    if isinstance(given, Push):
        return given
    known = {f.name for f in fields(Push)}
    if isinstance(given, Mapping) and set(given) <= known:
        return Push(**given)
    raise StatementError(
        f"push {k} is none.",
        f"Found {str(given)[:60]}.",
        f"Pass st.Push(…), or a dictionary with {', '.join(sorted(known))}.",
    )


def _unknown(part: Any, params: Any, pushes: int):
    """Return the points of a part, shapes of its pressure, and its weight.

    Of an area also the radii of patches, and second differences of its pressure.
    """
    require_system(part)
    open_ = [p.support for p in part.parts if p.support is not None]
    if len(open_) == 1 and open_[0].kind == "points":
        points = np.array(open_[0].points)
        if len(points) == 1:
            raise StatementError(
                "there is nothing to weigh.",
                "Found one foot, which bears all of the weight.",
                "Give the feet on which the part rests, two or more.",
            )
        return points, np.eye(len(points)), open_[0].weight, None, None
    if len(open_) == 1:
        disc = open_[0].kind == "disc"
        over = {"radius": open_[0].radius} if disc else {"outline": open_[0].points}
        count = int(np.clip(_MOTIONS / pushes, *_SAMPLES))
        points, weights = _table(slider(**over, count=count), None)
        whole = np.pi * open_[0].radius ** 2 if disc else abs(area(np.array(open_[0].points)))
        patch = np.sqrt(whole / np.pi * weights / weights.sum())
        each, bends = shapes(points, weights)
        return points, each, open_[0].weight, patch, bends
    if len(part.coordinates) == 3 and any(x.table is not None for x in part.friction):
        points, weights = _table(part, params)
        return points, np.eye(len(points)), float(weights.sum()), None, None
    raise StatementError(
        "loads are asked of what is no part on a table.",
        f"Found {len(part.coordinates)} coordinates.",
        "State it as st.slider(points=feet, weight=…).",
    )


def _table(part: System, params: Any) -> tuple[np.ndarray, np.ndarray]:
    surface = limit_surface(part, params=params, count=8)
    return surface.points, surface.weights
