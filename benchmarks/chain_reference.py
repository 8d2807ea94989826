"""Where the chain really is at the end: ``python -m benchmarks.chain_reference`` computes it anew.

Written-out equations: the tensions of the links follow from a tridiagonal system, nothing of what
is compared takes part. Extrapolation in extended precision (19 digits), and for the longest chain
Runge–Kutta of order 8 in double precision. The places and velocities of ten masses are kept.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import solve_banded

from benchmarks.chain import GRAVITY, LAST, Chain

FILE = Path(__file__).with_name("chain_reference.json")

# Modified midpoint rules with 2, 4, … 2·_STAGES substeps, extrapolated to none.
_STAGES = 9
# Steps of the extrapolation; a second run with a quarter more says how far the first is off.
_STEPS = {3: 150, 10: 400, 100: 500}


def shown(chain: Chain) -> np.ndarray:
    """Return the masses that are compared: ten of them, the last one included."""
    return np.unique(np.linspace(0, chain.masses - 1, 10).astype(int))


@cache
def _kept() -> dict[str, dict]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def uncertainty(chain: Chain) -> float:
    return _kept()[chain.name]["uncertainty"]


def error(chain: Chain, q: np.ndarray, v: np.ndarray) -> float:
    """Return the largest error of a place (m) or a velocity (m/s) at the end."""
    picked = np.stack([x.reshape(-1, 2)[shown(chain)] for x in (q, v)])
    return float(np.abs(picked - np.array(_kept()[chain.name]["end"], dtype=float)).max())


# -- how it is computed ----------------------------------------------------------------------------


def accelerations(chain: Chain, places: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """Return the accelerations of the masses, from u·ü + u̇·u̇ = 0 for every link u."""
    kind, n = places.dtype, chain.n
    zero = np.zeros((1, 2), dtype=kind)
    end = [chain.support().astype(kind)[None, :]] if chain.closed else []
    still = [zero] if chain.closed else []
    u = np.diff(np.concatenate([zero, places, *end]), axis=0)
    w = np.diff(np.concatenate([zero, speeds, *still]), axis=0)
    # Mass i is pulled by tension s[i+1] along u[i+1] and by s[i] against u[i].
    squares = (u * u).sum(axis=1)
    beside = (u[:-1] * u[1:]).sum(axis=1)
    weight = np.full(n, 2, dtype=kind)
    weight[0] = 1
    weight[-1] = 1 if chain.closed else 2
    main = weight * squares
    known = chain.mass * (w * w).sum(axis=1)
    pull = GRAVITY.astype(kind)
    known[0] += chain.mass * u[0] @ pull
    if chain.closed:
        known[-1] -= chain.mass * u[-1] @ pull
    s = _tridiagonal(main, -beside, known)
    tension = s[:, None] * u
    after = np.concatenate([tension[1:], np.zeros((1 - chain.closed, 2), dtype=kind)])
    return pull + (after - tension[: chain.masses]) / kind.type(chain.mass)


def _tridiagonal(main: np.ndarray, side: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Solve a symmetric tridiagonal system."""
    n = len(main)
    if main.dtype == np.float64:
        band = np.zeros((3, n))
        band[0, 1:], band[1], band[2, :-1] = side, main, side
        return solve_banded((1, 1), band, known)
    main, known = main.copy(), known.copy()
    for i in range(1, n):
        factor = side[i - 1] / main[i - 1]
        main[i] -= factor * side[i - 1]
        known[i] -= factor * known[i - 1]
    for i in reversed(range(n)):
        if i < n - 1:
            known[i] -= side[i] * known[i + 1]
        known[i] /= main[i]
    return known


def _rate(chain: Chain, y: np.ndarray) -> np.ndarray:
    places, speeds = y.reshape(2, chain.masses, 2)
    return np.concatenate([speeds, accelerations(chain, places, speeds)]).ravel()


def _extrapolated(chain: Chain, steps: int) -> np.ndarray:
    """Integrate to the end (Hairer, Nørsett & Wanner, Solving ODEs I, section II.9)."""
    real = np.longdouble
    y = np.concatenate([chain.start(), np.zeros((chain.masses, 2))]).ravel().astype(real)
    whole = real(chain.last) / steps
    for _ in range(steps):
        first, previous = _rate(chain, y), []
        for k in range(1, _STAGES + 1):
            h = whole / (2 * k)
            before, now = y, y + h * first
            for _ in range(2 * k - 1):
                before, now = now, before + 2 * h * _rate(chain, now)
            row = [now]
            for j, coarser in enumerate(previous, 1):
                row.append(row[-1] + (row[-1] - coarser) / (real(k * k) / real((k - j) ** 2) - 1))
            previous = row
        y = previous[-1]
    return y


def _runge(chain: Chain, rtol: float) -> np.ndarray:
    y = np.concatenate([chain.start(), np.zeros((chain.masses, 2))]).ravel()
    made = solve_ivp(
        lambda t, y: _rate(chain, y), (0.0, chain.last), y, "DOP853", rtol=rtol, atol=rtol / 100
    )
    return made.y[:, -1]


def compute(chain: Chain) -> dict:
    """Return what is kept of a chain."""
    if chain.n in _STEPS:
        steps = _STEPS[chain.n]
        coarse, fine = _extrapolated(chain, steps), _extrapolated(chain, steps * 5 // 4)
    else:
        coarse, fine = _runge(chain, 1e-12), _runge(chain, 3e-14)
    picked = fine.reshape(2, chain.masses, 2)[:, shown(chain)]
    end = [[[np.format_float_scientific(x, precision=20) for x in p] for p in h] for h in picked]
    return {"end": end, "uncertainty": float(np.abs(coarse - fine).max())}


def main() -> None:
    """Compute everything anew and keep it."""
    kept = {}
    for n in LAST:
        for closed in (False, True):
            chain = Chain(n, closed)
            found = kept[chain.name] = compute(chain)
            print(f"{chain.name}: known to {found['uncertainty']:.0e}", flush=True)
            FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
