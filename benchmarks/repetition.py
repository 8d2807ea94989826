"""`st.each`: a ring of n particles and n springs, from its statement to its Hessian."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.goals import Goal
from benchmarks.table import Table, duration
from benchmarks.worker import measure, now, say

SIZES = (1000, 2000, 5000, 10_000)
STAGES = ("statement", "derivation", "energy", "gradient", "Hessian")
WITHIN = 1.0


def sections(sizes: Sequence[int]) -> tuple[Table, list[Goal]]:
    """Measure all sizes, each in a process of its own."""
    table = Table("repetition: n particles, n springs", ["n", *STAGES, "together", "÷ n"])
    table.remarks = ["each size in a fresh process after import; energy, gradient and Hessian: one "
                     "evaluation at a random state"]  # fmt: skip
    totals = {}
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            lines, failure = measure(["benchmarks.repetition", str(n)], Path(folder), 120.0)
        if failure:
            table.remarks.append(f"n = {n}: {failure}")
            table.failed = True
            continue
        took = lines[-1]
        totals[n] = sum(took[stage] for stage in STAGES)
        cells = [duration(took[stage]) for stage in STAGES]
        table.add(n, *cells, duration(totals[n]), duration(totals[n] / n))
    return table, list(_goals(totals))


def _goals(totals: dict[int, float]) -> Iterable[Goal]:
    # Below a thousand the time does not depend on n yet.
    if len(totals) > 1 and min(totals) >= SIZES[0]:
        slope = np.polyfit(np.log(list(totals)), np.log(list(totals.values())), 1)[0]
        yield Goal(
            "each: growth of time with n", "≤ linear: n^1.1", f"n^{slope:.2f}", bool(slope <= 1.1)
        )
    largest = max(totals, default=0)
    if largest == SIZES[-1]:
        yield Goal(
            f"each: {largest} particles and springs, all together", f"< {duration(WITHIN)}",
            duration(totals[largest]), totals[largest] < WITHIN,
        )  # fmt: skip


def main(size: str) -> None:
    """Measure one size."""
    import stationary as st

    n, clock, took = int(size), now(), {}

    def note(stage: str) -> None:
        nonlocal clock
        took[stage], clock = now() - clock, now()

    r = st.coordinates("r", shape=(n, 2))
    m, k, rest = st.parameters(m=0.1, k=50.0, rest=1.0)
    following = r[np.roll(np.arange(n), -1)]
    ring = st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda a, b: k * (st.norm(b - a) - rest) ** 2 / 2, r, following),
    )
    note("statement")
    compiled = st.compile(ring)
    # Functions are made when they are first needed; the graph behind them is derived here.
    for made in (compiled.graph.energies, compiled.graph.internal, compiled.graph.stiffness):
        assert made.n_in() == 5
    note("derivation")
    turn = 2 * np.pi * np.arange(n) / n
    radius = n / 2 / np.pi + 0.1 * np.random.default_rng(0).standard_normal(n)
    q = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)]).ravel()
    clock = now()
    energy = compiled.potential(q)
    note("energy")
    gradient = compiled.gradient(q)
    note("gradient")
    hessian = compiled.hessian(q)
    note("Hessian")
    # Forces inside a ring add up to nothing, and a shift of the whole changes none of them.
    assert energy > 0 and abs(gradient[::2].sum()) < 1e-8 * abs(gradient).sum()
    assert np.max(abs(hessian @ np.tile([1.0, 0.0], n))) < 1e-8 * abs(hessian).max()
    say(**took)


if __name__ == "__main__":
    main(*sys.argv[1:])
