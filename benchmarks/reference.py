"""Where the pendulum really is at the end: ``python -m benchmarks.reference`` computes it anew.

Written-out equations of motion and Bulirsch–Stoer extrapolation in 40 digits: nothing of what is
compared takes part. It takes minutes, so that the result is kept beside this file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import pendulum

FILE = Path(__file__).with_name("reference.json")
DIGITS = 40

# Modified midpoint rules with 2, 4, … 2·_STAGES substeps, extrapolated to none: order 2·_STAGES.
_STAGES = 14
# Steps of the extrapolation; a second run with more of them says how far the first is off.
_STEPS = {1: 60, 2: 100, 3: 120, 6: 150, 10: 180, 20: 220}


@dataclass(frozen=True)
class Reference:
    """The end of the motion of n links.

    Attributes
    ----------
    end : ndarray
        Angles, then angular velocities, rounded to double precision.
    uncertainty : float
        Difference between two runs with different steps.
    confirmed : float
        Difference to heyoka's equations and integrator in extended precision (19 digits).
    growth : float
        By how much a small error of the start has grown at the end; times 1e-16 it is what no
        calculation in double precision can be expected to stay below.
    """

    end: np.ndarray
    uncertainty: float
    confirmed: float
    growth: float

    def error(self, state: np.ndarray) -> float:
        """Return the largest error of an angle (rad) or an angular velocity (rad/s)."""
        return float(np.max(np.abs(np.asarray(state) - self.end)))


@cache
def _kept() -> dict[str, dict]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def reference(n: int) -> Reference:
    """Return the reference for n links."""
    kept = _kept()[str(n)]
    end = np.array([float(x) for x in kept["end"]])
    return Reference(end, kept["uncertainty"], kept["confirmed"], kept["growth"])


# -- how it is computed ----------------------------------------------------------------------------


def _accelerations(angles: list, speeds: list, length, g) -> list:
    """Solve Σⱼ wᵢⱼ (cos(θᵢ−θⱼ) θ̈ⱼ + sin(θᵢ−θⱼ) θ̇ⱼ²) l = −wᵢᵢ g sin θᵢ by Cholesky.

    Here wᵢⱼ is the number of equal masses that links i and j both carry.
    """
    import mpmath as mp

    n = len(angles)
    c, s = [mp.cos(a) for a in angles], [mp.sin(a) for a in angles]
    squares = [w * w for w in speeds]
    pulls = [
        -(n - i) * g / length * s[i]
        - mp.fsum(
            (n - max(i, j)) * (s[i] * c[j] - c[i] * s[j]) * squares[j] for j in range(n) if j != i
        )
        for i in range(n)
    ]
    root = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = (n - i) * (c[i] * c[j] + s[i] * s[j]) - mp.fdot(root[i][:j], root[j][:j])
            root[i][j] = mp.sqrt(rest) if i == j else rest / root[j][j]
    forward: list = []
    for i in range(n):
        forward.append((pulls[i] - mp.fdot(root[i][:i], forward)) / root[i][i])
    found: list = [None] * n
    for i in reversed(range(n)):
        above = mp.fsum(root[k][i] * found[k] for k in range(i + 1, n))
        found[i] = (forward[i] - above) / root[i][i]
    return found


def _end(n: int, state: list, steps: int) -> list:
    """Integrate to the last time (Hairer, Nørsett & Wanner, Solving ODEs I, section II.9)."""
    import mpmath as mp

    length, g = mp.mpf(pendulum.PARAMETERS["l"]), mp.mpf(pendulum.PARAMETERS["g"])

    def f(y: list) -> list:
        return y[n:] + _accelerations(y[:n], y[n:], length, g)

    def moved(y: list, rate: list, by) -> list:
        return [a + by * b for a, b in zip(y, rate)]

    whole = mp.mpf(pendulum.LAST) / steps
    for _ in range(steps):
        first, previous = f(state), []
        for k in range(1, _STAGES + 1):
            h = whole / (2 * k)
            before, now = state, moved(state, first, h)
            for _ in range(2 * k - 1):
                before, now = now, moved(before, f(now), 2 * h)
            row = [now]
            for j, coarser in enumerate(previous, 1):
                ratio = mp.mpf(k) ** 2 / mp.mpf(k - j) ** 2 - 1
                row.append([a + (a - b) / ratio for a, b in zip(row[-1], coarser)])
            previous = row
        state = previous[-1]
    return state


def _by_heyoka(n: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return the end as a function of the start: other equations, another method, 19 digits."""
    import heyoka as hy

    from benchmarks.peers.heyoka_lagrangian import derive

    real = np.longdouble
    stepper = hy.taylor_adaptive(
        derive(n), np.zeros(2 * n, dtype=real), compact_mode=True, fp_type=real,
        pars=np.array(list(pendulum.PARAMETERS.values()), dtype=real),
    )  # fmt: skip

    def end(state: np.ndarray) -> np.ndarray:
        stepper.time, stepper.state[:] = real(0), state
        stepper.propagate_until(real(pendulum.LAST))
        return stepper.state.copy()

    return end


def _distance(a: list, b: list) -> float:
    return float(max(abs(x - y) for x, y in zip(a, b)))


def compute(n: int) -> dict:
    """Return what is kept of n links."""
    import mpmath as mp

    with mp.workdps(DIGITS):
        state = [mp.mpf(float(x)) for x in pendulum.start(n)]
        end = _end(n, state, _STEPS[n])
        finer = _end(n, state, _STEPS[n] * 5 // 4)
        other, begin = _by_heyoka(n), pendulum.start(n).astype(np.longdouble)
        near, small, rng = other(begin), np.longdouble(2) ** -30, np.random.default_rng(n)
        signs = rng.choice([-1, 1], (10, 2 * n))
        growth = max(np.max(np.abs(other(begin + small * s) - near)) for s in signs) / small
        confirmed = [mp.mpf(np.format_float_scientific(x, precision=25)) for x in near]
        return {
            "end": [mp.nstr(x, 30) for x in finer],
            "uncertainty": _distance(end, finer),
            "confirmed": _distance(confirmed, finer),
            "growth": round(float(growth), 1),
        }


def main() -> None:
    """Compute everything anew and keep it."""
    kept = {}
    for n in pendulum.SIZES:
        found = kept[str(n)] = compute(n)
        print(
            f"n = {n:2d}: known to {found['uncertainty']:.0e}, "
            f"confirmed to {found['confirmed']:.0e}",
            flush=True,
        )
        FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
