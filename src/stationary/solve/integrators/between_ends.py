"""What lies between the ends of a step and was not seen from them, for methods without series."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stationary.solve.motion.ode import Ode
from stationary.solve.motion.stabilize import sizes

# Difference quotients over this part of a step tell how fast its interpolation goes.
_PART = 1e-4

# An interpolation is no solution; what was not seen misses the equation by far more than this.
_DEFECT = 1e-2

# Errors of states are a few tolerances.
_NOISE = 100.0


@np.errstate(all="ignore")
def unseen(
    ode: Ode,
    times: np.ndarray,
    evaluate: Callable[[np.ndarray], np.ndarray],
    larger: float | None = None,
    known: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[int, float] | None:
    """Return the first step that has jumped over something sharp, and how narrow that is.

    What is not so many times `larger` than the forces at its ends may be left to a fixed step.
    Sizes of states may be `known`.
    """
    features, n = ode.kernel.features, ode.kernel.size
    if features is None:
        return None
    h, nodes = np.diff(times), evaluate(times)
    z, rate, f = features.look(times, nodes, ode.p)
    v = slice(n, 2 * n)
    # Rates that are what tolerances make of stiff forces lead nowhere: not so those of places,
    # which are as fast wherever a tolerance puts them.
    known = sizes(ode, times[0], nodes[0], times[-1]) if known is None else known
    allowed = ode.atol * known[0]
    moved = features.look(times, nodes * (1 + ode.rtol) + allowed, ode.p)[2]
    noise = features.along(times, nodes, ode.p, moved - f)
    rate = np.where(np.abs(rate) <= _NOISE * np.abs(noise), 0.0, rate)
    passed = features.passed(h, z[:-1], rate[:-1], z[1:], rate[1:])
    # Velocities that do not follow from the accelerations at both ends are looked into, unless
    # these are such rates.
    changed = moved[:, v] - f[:, v]
    change, both = np.diff(nodes[:, v], axis=0), h[:, None] * (f[1:, v] + f[:-1, v])
    size = np.abs(change) + h[:, None] * (np.abs(f[1:, v]) + np.abs(f[:-1, v]))
    noise = h[:, None] * (np.abs(changed[1:]) + np.abs(changed[:-1]))
    passed |= np.any(np.abs(change - both / 2) > _DEFECT * size + _NOISE * noise, axis=1)
    among = np.flatnonzero(passed)
    if not len(among):
        return None
    step, since, left = features.inside(
        ode.p, times[:-1], h, z, rate, among, lambda k, s: evaluate(times[k] + s)
    )
    order = np.lexsort((since, step))
    step, since = step[order], since[order]
    t, small = times[step] + since, _PART * h[step]
    rates = (evaluate(t + small / 2) - evaluate(t - small / 2)) / small[:, None]
    looked = features.look(t, evaluate(t), ode.p)[2][:, v]
    ends = np.maximum(np.abs(f[step, v]), np.abs(f[step + 1, v]))
    size = ends + np.abs(looked)
    size += (np.abs(nodes[step, v]) + np.abs(nodes[step + 1, v])) / h[step][:, None]
    missed = np.abs(rates[:, v] - looked)
    seen = missed <= _DEFECT * size
    # What a tolerance allows in the whole step need not be seen.
    seen |= missed * h[step][:, None] <= allowed[v]
    if larger is not None:
        seen |= np.abs(looked) <= larger * ends
    if left is not None:
        seen[(step > left[0]) | (step == left[0]) & (since >= left[2])] = False
    wrong = np.flatnonzero(~np.all(seen, axis=1))
    if not len(wrong):
        return None
    k = step[wrong[0]]
    instants = np.concatenate([[0.0], since[step == k], h[k : k + 1]])
    # As narrow as the looks around what is wrong first.
    at = int(np.searchsorted(instants, since[wrong[0]]))
    return int(k), float(np.diff(instants[at - 1 : at + 2]).min())
