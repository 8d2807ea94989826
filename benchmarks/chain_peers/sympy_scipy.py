"""SymPy's LagrangesMethod with constraints, lambdified, and SciPy; nothing is stabilized."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.chain import GRAVITY, Chain
from benchmarks.peers import Peer


def derive(chain: Chain) -> tuple[Any, Any, Any, Chain]:
    import sympy as sp
    from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

    t = dynamicsymbols._t
    q = dynamicsymbols(f"q:{2 * chain.masses}")
    v = [x.diff(t) for x in q]
    energy = sum(chain.mass * x**2 / 2 for x in v)
    energy += sum(chain.mass * float(GRAVITY[i % 2]) * x for i, x in enumerate(q))
    points = [(0, 0), *zip(q[::2], q[1::2])]
    if chain.closed:
        points.append(tuple(chain.support().tolist()))
    links = [
        (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - chain.link**2 for a, b in zip(points, points[1:])
    ]
    method = LagrangesMethod(energy, q, hol_coneqs=links)
    method.form_lagranges_equations()
    plain = dict(zip(v, sp.symbols(f"v:{len(q)}"))) | dict(zip(q, sp.symbols(f"x:{len(q)}")))
    count = 2 * len(q) + len(links)
    mass = method.mass_matrix_full.subs(plain)
    forcing = method.forcing_full.subs(plain)
    arguments = [*(plain[x] for x in q), *(plain[x] for x in v)]
    return (arguments, mass, forcing), count, len(q), chain


def compile_(derived: Any):
    import sympy as sp
    from scipy.integrate import solve_ivp

    (arguments, mass, forcing), _, k, chain = derived
    f = sp.lambdify([arguments], [mass, forcing], "numpy", cse=True)
    start = np.concatenate([chain.start().ravel(), np.zeros(k)])

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        M, F = f(y)
        return np.linalg.solve(M, F.ravel())[: 2 * k]

    def run() -> np.ndarray:
        return solve_ivp(
            rate, (0.0, chain.last), start, "DOP853", chain.times(), rtol=3e-14, atol=1e-16
        ).y.T

    return run


def _unfit(n: int) -> str:
    return "" if n <= 10 else "SymPy's matrices are dense: minutes per derivation"


PEERS = [
    Peer(
        "SymPy + SciPy DOP853",
        ("sympy", "scipy"),
        derive,
        compile_,
        unfit=_unfit,
        note="LagrangesMethod with hol_coneqs, lambdify with cse, tolerance 3e-14",
    )
]
