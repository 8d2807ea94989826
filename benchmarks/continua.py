"""A bar of n linear elements: from its densities to matrices, a state of rest and fifty modes.

Beside it scikit-fem assembles the same matrices and SciPy solves with them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.goals import Goal
from benchmarks.table import Table, duration
from benchmarks.worker import measure, now, say

SIZES = (1000, 2000, 5000, 10_000)
STAGES = ("discretize", "matrices", "static", "modes")
COUNT = 50
PEERS = {"stationary": "stationary", "scikit-fem + SciPy": "skfem"}
WITHIN = {"discretize": 2.0, "static": 1.0, "modes": 5.0}


def sections(sizes: Sequence[int]) -> tuple[Table, list[Goal]]:
    """Measure all sizes with both, each in a process of its own."""
    table = Table(
        f"continua: a bar of n linear elements, {COUNT} modes",
        ["package", "n", *STAGES, "together", "lowest ω error"],
    )
    table.remarks = [
        "discretize: densities to a System, or mesh and basis; matrices: K and M as numbers; "
        "static and modes: with all that the answer needs and carries",
        "the first of everything in a fresh process, after import",
    ]
    totals: dict[int, dict[str, float]] = {}
    for name, module in PEERS.items():
        if find_spec(module) is None:
            table.remarks.append(f"left out: {name}: {module} not installed")
            continue
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                lines, failure = measure(["benchmarks.continua", module, str(n)], Path(folder), 120)
            if failure:
                table.remarks.append(f"{name}, n = {n}: {failure}")
                table.failed = True
                continue
            took = lines[-1]
            if module == "stationary":
                totals[n] = took
            cells = [duration(took[stage]) for stage in STAGES]
            together = sum(took[stage] for stage in STAGES)
            table.add(name, n, *cells, duration(together), f"{took['error']:.1e}")
    return table, list(_goals(totals))


def _goals(totals: dict[int, dict[str, float]]) -> Iterable[Goal]:
    if len(totals) > 1 and min(totals) >= SIZES[0]:
        spent = [sum(took[stage] for stage in STAGES) for took in totals.values()]
        slope = np.polyfit(np.log(list(totals)), np.log(spent), 1)[0]
        yield Goal(
            "continua: growth of time with n", "≤ linear: n^1.1", f"n^{slope:.2f}",
            bool(slope <= 1.1),
        )  # fmt: skip
    largest = max(totals, default=0)
    if largest == SIZES[-1]:
        for stage, limit in WITHIN.items():
            took = totals[largest][stage]
            what = {"discretize": "discretized", "static": "a static solve", "modes": "50 modes"}
            yield Goal(
                f"continua: {largest} linear elements, {what[stage]}", f"< {duration(limit)}",
                duration(took), took < limit,
            )  # fmt: skip


class Clock:
    """Notes how long each stage took."""

    def __init__(self) -> None:
        self.began, self.took = now(), {}

    def note(self, stage: str) -> None:
        self.took[stage], self.began = now() - self.began, now()


def ours(n: int) -> None:
    """Measure stationary."""
    import stationary as st

    clock = Clock()
    X, L, f = st.positions("X"), *st.parameters(L=1.0, f=0.5)
    u = st.field("u", over=(X, 0, L))
    bar = st.Continuum(
        kinetic=u.dot**2 / 2, potential=u.diff(X) ** 2 / 2,
        loads=[st.Load(f, on=u.at(L))], fixed={u.at(0): 0},
    )  # fmt: skip
    rod = st.discretize(bar, elements=n)
    clock.note("discretize")
    numbers, zero = st.compile(rod), np.zeros(n)
    K, M = numbers.hessian(zero), numbers.mass(zero)
    clock.note("matrices")
    rest = st.statics(rod)
    clock.note("static")
    found = st.modes(rod, count=COUNT).frequencies
    clock.note("modes")
    _report(clock, n, K, M, rest.q[-1], found)


def peer(n: int) -> None:
    """Measure scikit-fem for the matrices and SciPy for the answers."""
    from scipy.sparse.linalg import eigsh, splu
    from skfem import Basis, ElementLineP1, MeshLine
    from skfem.models.poisson import laplace, mass

    clock = Clock()
    basis = Basis(MeshLine(np.linspace(0, 1, n + 1)), ElementLineP1())
    clock.note("discretize")
    K, M = laplace.assemble(basis)[1:, 1:].tocsc(), mass.assemble(basis)[1:, 1:].tocsc()
    clock.note("matrices")
    load = np.zeros(n)
    load[-1] = 0.5
    u = splu(K).solve(load)
    clock.note("static")
    squares = eigsh(K, k=COUNT, M=M, sigma=0.0, which="LM", return_eigenvectors=True)[0]
    clock.note("modes")
    _report(clock, n, K, M, u[-1], np.sqrt(np.sort(squares)))


def _report(clock: Clock, n: int, K, M, end: float, found: np.ndarray) -> None:
    # Both must have solved the same problem: exact entries, the exact end, 50 good frequencies.
    h = 1 / n
    assert K.nnz == M.nnz == 3 * n - 2
    assert np.isclose(K[0, 0], 2 / h, rtol=1e-12) and np.isclose(M[-1, -1], h / 3, rtol=1e-12)
    assert np.isclose(end, 0.5, rtol=1e-9)
    roots = (np.arange(COUNT) + 0.5) * np.pi
    # What consistent linear elements give exactly, by their dispersion relation.
    exact = np.sqrt(6 / h**2 * (1 - np.cos(roots * h)) / (2 + np.cos(roots * h)))
    assert np.allclose(found, exact, rtol=1e-6)
    say(**clock.took, error=float(found[0] / roots[0] - 1))


def main(module: str, size: str) -> None:
    """Measure one package at one size."""
    {"stationary": ours, "skfem": peer}[module](int(size))


if __name__ == "__main__":
    main(*sys.argv[1:])
