"""Many motions and rests on this machine's cores: ``python -m benchmarks.many [runs]``.

Processor time per run of all threads together, since other work may share the machine.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.integrate import solve_ivp

import stationary as st
from stationary.lower.engines.heyoka import equations
from stationary.many.engines import batches, plain, rests

from .gpu import PENDULUM, ask, square, theta1, theta2

x, y = st.coordinates("x y")
F, k = st.parameters(F=0.1, k=1.0)


def bar(a, b, length):
    return k * (st.sqrt((x - a) ** 2 + (y - b) ** 2) - length) ** 2 / 2


TRUSS = st.System(
    potential=bar(-1, 1, st.sqrt(2)) + bar(0, 1, 1) + bar(1, 1, st.sqrt(2)), work=F * x - F * y / 2
)


def measured(work, count):
    began = time.process_time()
    work()
    return (time.process_time() - began) / count


def by_scipy(start):
    def rates(t, s):
        a, b, u, v = s
        d = a - b
        den, g = 2 - np.cos(d) ** 2, 9.81
        du = (-(u**2) * np.sin(d) * np.cos(d) + g * np.sin(b) * np.cos(d)
              - v**2 * np.sin(d) - 2 * g * np.sin(a)) / den  # fmt: skip
        dv = (v**2 * np.sin(d) * np.cos(d) + 2 * (g * np.sin(a) * np.cos(d)
              + u**2 * np.sin(d) - g * np.sin(b))) / den  # fmt: skip
        return [u, v, du, dv]

    return solve_ivp(rates, (0, 10), [*start, 0, 0], method="DOP853", rtol=1e-12, atol=1e-12)


def by_heyoka(starts):
    """The same Taylor integrator in heyoka's own batch mode, without anything around it."""
    import heyoka as hy

    motions = batches.motions_of(ask(PENDULUM, square(20), {"end": theta1}, span=(0, 10)))
    assert not isinstance(motions, str)
    pairs, coefficients = equations(motions.kernel.rhs)
    width = hy.recommended_simd_size()
    ta = hy.taylor_adaptive_batch(pairs, np.zeros((4, width)), opt_level=3)
    given = np.concatenate([motions.values, np.ones(5)])
    pars = np.asarray(coefficients(given)).ravel()[: len(ta.pars)]

    def run():
        for i in range(0, len(starts), width):
            ta.state[:] = 0.0
            ta.state[:2, : len(starts[i : i + width])] = starts[i : i + width].T
            if len(ta.pars):
                ta.pars[:] = pars[:, None]
            ta.set_time(0.0)
            ta.propagate_until(10.0)

    return run


def main(side=64):
    line = np.linspace(-3, 3, side)
    starts = np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)
    asked = ask(PENDULUM, square(side), {"end": (theta1, theta2)}, span=(0, 10))
    batches.compute(asked, 0, 64)
    rows = {"double pendulum, 10 s to rounding: st.sweep": measured(
        lambda: batches.compute(asked, 0, side**2), side**2)}  # fmt: skip
    run = by_heyoka(starts)
    run()
    rows["the same by heyoka's own batch mode"] = measured(run, side**2)
    some = starts[:: len(starts) // 12][:12]
    rows["the same by a loop of SciPy's DOP853 at 1e-12"] = measured(
        lambda: [by_scipy(s) for s in some], len(some)
    )
    noted = {"flip": st.first(abs(theta2) - st.pi), "top": st.most(abs(theta2.dot))}
    asked = ask(PENDULUM, square(side), noted, span=(0, 10))
    rows["st.sweep with a crossing and an extreme"] = measured(
        lambda: batches.compute(asked, 0, side**2), side**2
    )
    from stationary.many.design import as_design
    from stationary.many.keep import as_keeps
    from stationary.many.question import as_question

    over = st.samples({F: (0, 0.3), k: (1, 2)}, count=100_000, seed=1)
    rested = as_question(st.statics, TRUSS, as_design(over), as_keeps(None, "statics", TRUSS), {})
    rests.compute(rested, 0, 100)
    rows["statics of a truss of three bars: st.sweep"] = measured(
        lambda: rests.compute(rested, 0, 100_000), 100_000
    )
    rows["the same by a plain loop of st.statics"] = measured(
        lambda: plain.compute(rested, 0, 50), 50
    )
    print("| what | processor time per run |\n| --- | --- |")
    for what, took in rows.items():
        print(f"| {what} | {took * 1e3:.4g} ms |")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
