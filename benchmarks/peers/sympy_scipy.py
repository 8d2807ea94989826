"""SymPy's LagrangesMethod, lambdify and SciPy's DOP853."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import pendulum
from benchmarks.peers import Peer

# The smallest that SciPy accepts is 2.2e-14.
TOLERANCE = 3e-14


def derive(n: int) -> Any:
    import sympy as sp
    from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

    q = dynamicsymbols(f"q:{n}")
    v = [a.diff() for a in q]
    values = sp.symbols(" ".join(pendulum.PARAMETERS))
    kinetic, potential = pendulum.energies(q, v, *values, sp.sin, sp.cos)
    method = LagrangesMethod(kinetic - potential, q)
    method.form_lagranges_equations()
    return q, v, values, method.mass_matrix, method.forcing


def compile(derived: Any):
    import sympy as sp
    from scipy.integrate import solve_ivp
    from scipy.linalg.lapack import dposv

    q, v, values, mass, forcing = derived
    n = len(q)
    # Velocities first: a derivative contains the angle that it is the derivative of.
    plain = sp.symbols(f"w:{n} a:{n}")
    swap = dict(zip([*v, *q], plain))
    lower = [(i, j) for i in range(n) for j in range(i + 1)]
    entries = [mass[i, j].xreplace(swap) for i, j in lower]
    forces = [f.xreplace(swap) for f in forcing]
    # Python's own floats: NumPy's scalars make each sine several times slower.
    f = sp.lambdify([*plain[n:], *plain[:n], *values], [entries, forces], "math", cse=True)
    rows, columns = (np.array(x) for x in zip(*lower))
    numbers, state, grid = list(pendulum.PARAMETERS.values()), pendulum.start(n), pendulum.times()
    M, rates = np.zeros((n, n), order="F"), np.empty(2 * n)

    def rhs(t: float, y: np.ndarray) -> np.ndarray:
        entries, forces = f(*y.tolist(), *numbers)
        M[rows, columns] = entries
        rates[:n] = y[n:]
        rates[n:] = dposv(M, forces, lower=1)[1]
        return rates.copy()

    def run() -> np.ndarray:
        return solve_ivp(
            rhs, (0.0, pendulum.LAST), state, "DOP853", grid, rtol=TOLERANCE, atol=TOLERANCE
        ).y.T

    return run


PEERS = [
    Peer(
        "SymPy + SciPy DOP853",
        ("sympy", "scipy"),
        derive,
        compile,
        note=f"LagrangesMethod, lambdify with cse, tolerance {TOLERANCE:g}",
    )
]
