"""CasADi and IDAS: the same index-1 equations, written down by hand.

Accelerations are eliminated (masses are points), tensions are algebraic unknowns. The constraints
are stabilized as Baumgarte does: without, they drift off quadratically.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.chain import GRAVITY, Chain
from benchmarks.peers import Peer

# Beside the motion's own rate; larger values make the problem stiff.
ALPHA = 20.0


def derive(chain: Chain) -> tuple[Any, Chain]:
    import casadi as ca

    p, v, s = ca.SX.sym("p", 2, chain.masses), ca.SX.sym("v", 2, chain.masses), None
    s = ca.SX.sym("s", chain.n)
    end = ca.DM(chain.support()) if chain.closed else None
    points = ca.horzcat(ca.SX(2, 1), p, *([end] if chain.closed else []))
    speeds = ca.horzcat(ca.SX(2, 1), v, *([ca.SX(2, 1)] if chain.closed else []))
    u = points[:, 1:] - points[:, :-1]
    w = speeds[:, 1:] - speeds[:, :-1]
    tension = u * ca.repmat(s.T, 2, 1)
    after = ca.horzcat(tension[:, 1:], *([] if chain.closed else [ca.SX(2, 1)]))
    a = ca.repmat(ca.DM(GRAVITY), 1, chain.masses)
    a += (after - tension[:, : chain.masses]) / chain.mass
    pulls = ca.horzcat(ca.SX(2, 1), a, *([ca.SX(2, 1)] if chain.closed else []))
    bent = pulls[:, 1:] - pulls[:, :-1]
    R = (ca.sum1(u * u) - chain.link**2) / 2
    rows = ca.sum1(u * bent) + ca.sum1(w * w) + 2 * ALPHA * ca.sum1(u * w) + ALPHA**2 * R
    dae = {"x": ca.vertcat(ca.vec(p), ca.vec(v)), "z": s, "alg": rows.T}
    dae["ode"] = ca.vertcat(ca.vec(v), ca.vec(a))
    return dae, chain


def _compile(derived: Any, tolerance: float):
    import casadi as ca

    dae, chain = derived
    options = {"reltol": tolerance, "abstol": tolerance / 100, "max_num_steps": 1_000_000}
    options |= {"linear_solver": "csparse", "suppress_algebraic": True}
    times = chain.times()
    solver = ca.integrator("chain", "idas", dae, 0.0, times[1:].tolist(), options)
    start = np.concatenate([chain.start().ravel(), np.zeros(2 * chain.masses)])
    tensions = ca.rootfinder(
        "s", "newton", {"x": dae["z"], "p": dae["x"], "g": dae["alg"]}
    )(np.ones(chain.n), start)  # fmt: skip

    def run() -> np.ndarray:
        made = solver(x0=start, z0=tensions)["xf"]
        return np.vstack([start, np.asarray(made).T])

    return run


def accurate(derived: Any):
    return _compile(derived, 1e-12)


def usual(derived: Any):
    return _compile(derived, 1e-8)


PEERS = [
    Peer(
        "CasADi + IDAS, 1e-12", ("casadi",), derive, accurate, note="index 1 by hand, interpreted"
    ),
    Peer(
        "CasADi + IDAS, 1e-8",
        ("casadi",),
        derive,
        usual,
        variant=True,
        note="the same at a usual tolerance",
    ),
]
