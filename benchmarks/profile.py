"""Where our own time goes: the engine alone, what `simulate` adds, and how large the code is."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import pendulum
from benchmarks.peers.ours import derive, optimized
from benchmarks.table import Table, duration
from benchmarks.worker import best_of, measure, say


def section(sizes: Sequence[int], limit: float) -> Table:
    """Measure all sizes, each in a process of its own."""
    table = Table(
        "profile: optimized code",
        ["n", "simulate", "engine alone", "simulate adds", "steps", "instructions", "nonlinear"],
    )
    table.remarks = [
        "engine alone: the compiled integrator on the same grid, without checks, evidence and "
        "Motion;",
        "nonlinear: products, quotients and functions of what changes with time, which is what a "
        "Taylor step pays for",
    ]
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            lines, failure = measure(["benchmarks.profile", str(n)], Path(folder), limit)
        if failure:
            table.remarks.append(f"n = {n}: {failure}")
            table.failed = True
            continue
        f = lines[-1]
        table.add(
            n, duration(f["simulate"]), duration(f["engine"]),
            duration(max(f["simulate"] - f["engine"], 0.0)), f["steps"], f["instructions"],
            f["nonlinear"],
        )  # fmt: skip
    return table


def nonlinear(rhs) -> int:
    """Count instructions whose cost grows with the order of the series."""
    import casadi as ca

    linear = {ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN, ca.OP_OUTPUT}
    moves = [False] * rhs.sz_w()
    count = 0
    for k in range(rhs.n_instructions()):
        op, read, write = rhs.instruction_id(k), rhs.instruction_input(k), rhs.instruction_output(k)
        if op == ca.OP_OUTPUT:
            continue
        if op == ca.OP_INPUT:
            moves[write[0]] = read[0] < 2
            continue
        live = [moves[i] for i in read] if op != ca.OP_CONST else []
        scaled = op == ca.OP_MUL and not all(live) or op == ca.OP_DIV and not live[1]
        count += any(live) and op not in linear and not scaled
        moves[write[0]] = any(live)
    return count


def main(size: str) -> None:
    """Measure one size."""
    from stationary.lower.kernel import kernel_of

    n = int(size)
    derived = derive(n)
    simulate, _ = best_of(optimized(derived), 1.0)
    kernel = kernel_of(derived[0], ())
    stepper = kernel.engine.integrator(kernel.layout.values(None))
    state, grid = pendulum.start(n), pendulum.times()

    def run() -> tuple:
        stepper.time, stepper.state[:] = 0.0, state
        return stepper.propagate_grid(grid)

    engine, out = best_of(run, 1.0)
    assert np.all(np.isfinite(out[-1]))
    say(
        simulate=simulate, engine=engine, steps=out[3],
        instructions=kernel.rhs.n_instructions(), nonlinear=nonlinear(kernel.rhs),
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
