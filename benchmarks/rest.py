"""Where it rests: a hanging chain of n links, from its statement to its balance."""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import Goal
from benchmarks.table import Table, duration, ratio
from benchmarks.worker import measure, now, say

SIZES = (100, 300, 1000, 3000, 10_000)
SPAN, LENGTH, SAG = 2.0, 3.0, 0.8
WITHIN, RESIDUAL, MEMORY = 3.0, 1e-10, 1e9


def sections(sizes: Sequence[int], limit: float) -> tuple[Table, list[Goal]]:
    """Measure all packages at all sizes, each in a process of its own."""
    table = Table(
        "rest: a hanging chain of n links",
        ["package", "n", "statement to rest", "÷ ours", "÷ n", "residual", "off", "memory"],
    )
    table.remarks = [
        "2(n − 1) coordinates and n constraints, from a parabola of the wrong length; in a fresh "
        "process after import",
        "residual: the largest unbalanced force or violation, the whole chain weighing 1; off: the "
        "largest distance from the closed form of n links",
    ]
    ours: dict[int, dict[str, Any]] = {}
    for name in PEERS:
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                lines, failure = measure(["benchmarks.rest", name, str(n)], Path(folder), limit)
            if failure:
                stopped = failure == "limit"
                table.add(name, n, f"> {limit:g} s" if stopped else "failed", *["–"] * 5)
                table.failed |= name == OURS
                if not stopped:
                    table.remarks.append(f"{name}, n = {n}: {failure}")
                # What takes too long for a chain takes longer for a longer one.
                break
            found = lines[-1]
            if name == OURS:
                ours[n] = found
            took, own = found["seconds"], ours.get(n, {}).get("seconds")
            table.add(
                name, n, duration(took), ratio(took, own) if name != OURS else "",
                duration(took / n), f"{found['residual']:.0e}", f"{found['off']:.0e}",
                f"{found['memory'] / 1e6:.0f} MB",
            )  # fmt: skip
            if found["residual"] > 1e-4:
                table.remarks.append(f"{name}, n = {n}: gave up before the chain was at rest")
                break
    return table, list(_goals(ours))


def _goals(ours: dict[int, dict[str, Any]]) -> Iterable[Goal]:
    # Below a thousand links the time hardly depends on n.
    large = {n: found["seconds"] for n, found in ours.items() if n >= 1000}
    if len(large) > 1:
        slope = np.polyfit(np.log(list(large)), np.log(list(large.values())), 1)[0]
        yield Goal("rest: growth of time with n", "≤ linear: n^1.1", f"n^{slope:.2f}", slope <= 1.1)
    last = ours.get(SIZES[-1])
    if last is not None:
        what = f"rest: chain of {SIZES[-1]} links"
        took, residual, memory = (last[key] for key in ("seconds", "residual", "memory"))
        yield Goal(what, f"< {duration(WITHIN)}", duration(took), took < WITHIN)
        yield Goal(f"{what}, residual", f"< {RESIDUAL:g}", f"{residual:.0e}", residual < RESIDUAL)
        yield Goal(f"{what}, memory", "< 1 GB", f"{memory / 1e6:.0f} MB", memory < MEMORY)


# -- the problem -----------------------------------------------------------------------------------


def start(n: int) -> np.ndarray:
    """Return the inner joints on a parabola that has not the right length."""
    s = np.arange(1, n) / n
    return np.stack([SPAN * s, -4 * SAG * s * (1 - s)], axis=1)


def exact(n: int) -> np.ndarray:
    """Return the inner joints at rest: the slopes of the links are evenly spaced."""
    from scipy.optimize import brentq

    step = np.arange(1, n + 1) - (n + 1) / 2

    def excess(pull: float) -> float:
        return LENGTH / n * np.sum(1 / np.hypot(1, step / pull)) - SPAN

    pull = brentq(excess, 1e-3 * n, 10 * n, xtol=1e-15, rtol=1e-15)
    angle = np.arctan(step / pull)
    return np.cumsum(LENGTH / n * np.stack([np.cos(angle), np.sin(angle)], axis=1), axis=0)[:-1]


def legs(r: np.ndarray) -> np.ndarray:
    """Return the links of a chain as vectors."""
    return np.diff(np.vstack([[0.0, 0.0], r, [SPAN, 0.0]]), axis=0)


def residual(r: np.ndarray) -> float:
    """Return the largest unbalanced force, tensions chosen at their best, or violation."""
    import scipy.sparse as sparse
    from scipy.sparse.linalg import splu

    n = len(r) + 1
    A = gradients(r)
    weight = np.tile([0.0, 1 / n], n - 1)
    # Tensions in least squares, with refinements: the matrix is that of a second derivative.
    gram = splu(sparse.csc_matrix(A @ A.T))
    lam = np.zeros(n)
    for _ in range(4):
        lam += gram.solve(A @ (weight - A.T @ lam))
    violation = np.hypot(*legs(r).T) - LENGTH / n
    return float(max(np.abs(weight - A.T @ lam).max(), np.abs(violation).max()))


def gradients(r: np.ndarray) -> Any:
    """Return the gradients of the lengths of the links, one per row."""
    import scipy.sparse as sparse

    n = len(r) + 1
    unit = legs(r) / np.hypot(*legs(r).T)[:, None]
    k = np.arange(n)
    rows = np.concatenate([k[1:], k[1:], k[:-1], k[:-1]])
    places = np.concatenate([2 * k[:-1], 2 * k[:-1] + 1, 2 * k[:-1], 2 * k[:-1] + 1])
    values = np.concatenate([-unit[1:, 0], -unit[1:, 1], unit[:-1, 0], unit[:-1, 1]])
    return sparse.csr_matrix((values, (rows, places)), shape=(n, 2 * (n - 1)))


# -- the packages ----------------------------------------------------------------------------------


def stationary(n: int) -> np.ndarray:
    """Return the joints at rest by `st.statics`."""
    import stationary as st

    r = st.coordinates("r", shape=(n - 1, 2))
    w, h = st.parameters(w=1 / n, h=LENGTH / n)

    def stretch(a: Any, b: Any) -> Any:
        return st.norm(b - a) - h

    chain = st.System(
        potential=st.each(lambda p: w * p[1], r),
        constraints=[
            st.Constraint(stretch(np.zeros(2), r[0]), name="first"),
            st.each(stretch, r[:-1], r[1:], name="link"),
            st.Constraint(stretch(r[-1], np.array([SPAN, 0.0])), name="last"),
        ],
    )
    return st.statics(chain, start={r: start(n)})[r]


def ipopt(n: int) -> np.ndarray:
    """Return the joints at rest by IPOPT, as CasADi calls it, with exact second derivatives."""
    import casadi as ca

    r = ca.MX.sym("r", 2, n - 1)
    every = ca.horzcat(ca.DM([0, 0]), r, ca.DM([SPAN, 0]))
    link = every[:, 1:] - every[:, :-1]
    stretch = ca.sqrt(ca.sum1(link**2)).T - LENGTH / n
    problem = {"x": ca.vec(r), "f": ca.sum2(r[1, :]) / n, "g": stretch}
    quiet = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "ipopt.tol": 1e-10}
    solver = ca.nlpsol("chain", "ipopt", problem, quiet)
    made = solver(x0=start(n).ravel(), lbg=0, ubg=0)
    if not solver.stats()["success"]:
        raise RuntimeError(f"IPOPT: {solver.stats()['return_status']}")
    return np.asarray(made["x"]).reshape(n - 1, 2)


def trust_constr(n: int) -> np.ndarray:
    """Return the joints at rest by SciPy, with sparse derivatives written by hand."""
    from scipy.optimize import NonlinearConstraint, minimize

    weight = np.tile([0.0, 1 / n], n - 1)
    held = NonlinearConstraint(
        lambda q: np.hypot(*legs(q.reshape(-1, 2)).T) - LENGTH / n, 0, 0,
        jac=lambda q: gradients(q.reshape(-1, 2)), hess=bends,
    )  # fmt: skip
    made = minimize(
        lambda q: weight @ q, start(n).ravel(), jac=lambda q: weight, hess=_nothing(n),
        method="trust-constr", constraints=[held],
        options={"gtol": 1e-10, "xtol": 1e-14, "maxiter": 5000},
    )  # fmt: skip
    return made.x.reshape(-1, 2)


def _nothing(n: int) -> Callable[[np.ndarray], Any]:
    import scipy.sparse as sparse

    return lambda q: sparse.csr_matrix((2 * (n - 1), 2 * (n - 1)))


def bends(q: np.ndarray, v: np.ndarray) -> Any:
    """Return Σ v ∂²|link|/∂q², sparse."""
    import scipy.sparse as sparse

    link = legs(q.reshape(-1, 2))
    n, size = len(link), np.hypot(*link.T)
    across = np.stack([-link[:, 1], link[:, 0]], axis=1) / size[:, None]
    k = np.arange(n)
    rows = np.concatenate([k[1:], k[1:], k[:-1], k[:-1]])
    places = np.concatenate([2 * k[:-1], 2 * k[:-1] + 1, 2 * k[:-1], 2 * k[:-1] + 1])
    parts = (-across[1:, 0], -across[1:, 1], across[:-1, 0], across[:-1, 1])
    turn = sparse.csr_matrix((np.concatenate(parts), (rows, places)), shape=(n, len(q)))
    return turn.T @ sparse.diags(v / size) @ turn


OURS = "stationary"
PEERS: dict[str, Callable[[int], np.ndarray]] = {
    OURS: stationary,
    "IPOPT (CasADi)": ipopt,
    "SciPy trust-constr": trust_constr,
}
_NEEDS = {OURS: ("stationary",), "IPOPT (CasADi)": ("casadi",)}


def main(name: str, size: str) -> None:
    """Measure one package at one size."""
    from importlib import import_module

    n = int(size)
    for module in (*_NEEDS.get(name, ()), "scipy.optimize"):
        import_module(module)
    clock = now()
    r = PEERS[name](n)
    took = now() - clock
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    off = float(np.abs(r - exact(n)).max())
    say(seconds=took, residual=residual(r), off=off, memory=memory)


if __name__ == "__main__":
    main(*sys.argv[1:])
