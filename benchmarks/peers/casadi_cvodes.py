"""CasADi: automatic differentiation on a scalar graph, SUNDIALS' CVODES."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from typing import Any

import numpy as np

from benchmarks import pendulum
from benchmarks.peers import Peer

# Below this the error no longer shrinks.
TOLERANCE = 3e-14


def derive(n: int) -> Any:
    import casadi as ca

    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    p = ca.SX.sym("p", len(pendulum.PARAMETERS))
    kinetic, potential = pendulum.energies(
        ca.vertsplit(q), ca.vertsplit(v), *ca.vertsplit(p), ca.sin, ca.cos
    )
    momentum = ca.gradient(kinetic, v)
    mass = ca.jacobian(momentum, v)
    force = ca.gradient(kinetic - potential, q) - ca.jtimes(momentum, q, v)
    rates = ca.vertcat(v, ca.ldl_solve(force, *ca.ldl(mass)))
    return ca.cse(rates), ca.vertcat(q, v), p


def _compile(derived: Any, options: dict[str, Any]):
    import casadi as ca

    rates, y, p = derived
    grid = pendulum.times()
    # Adams with functional iteration: nothing here is stiff, and no Jacobian is needed.
    options = {
        "linear_multistep_method": "adams",
        "nonlinear_solver_iteration": "functional",
        "reltol": TOLERANCE,
        "abstol": TOLERANCE,
        "max_num_steps": 1_000_000,
        **options,
    }
    ode = {"x": y, "p": p, "ode": rates}
    solve = ca.integrator("solve", "cvodes", ode, 0.0, grid[1:], options)
    state, numbers = pendulum.start(y.numel() // 2), list(pendulum.PARAMETERS.values())

    def run() -> np.ndarray:
        found = np.asarray(solve(x0=state, p=numbers)["xf"]).T
        return np.vstack([state, found])

    return run


def interpreted(derived: Any):
    return _compile(derived, {})


def compiled(derived: Any):
    flags = {"flags": ["-O2", "-march=native"], "compiler": "cc", "linker": "cc"}
    # CasADi writes where it runs, and a compiler that is stopped leaves that there.
    with contextlib.chdir(tempfile.gettempdir()):
        return _compile(derived, {"jit": True, "compiler": "shell", "jit_options": flags})


def _without_compiler(n: int) -> str:
    return "" if shutil.which("cc") else "no C compiler here"


PEERS = [
    Peer(
        "CasADi + CVODES",
        ("casadi",),
        derive,
        interpreted,
        note=f"interpreted; Adams, tolerance {TOLERANCE:g}",
    ),
    Peer(
        "CasADi + CVODES, in C",
        ("casadi",),
        derive,
        compiled,
        unfit=_without_compiler,
        variant=True,
        note="the graph written as C and compiled by cc -O2",
    ),
]
