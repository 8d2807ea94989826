"""Sliding: a pushed part on many support points, and a rope, against cone solvers."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import Goal
from benchmarks.table import Table, duration
from benchmarks.worker import measure, now, say

SIZES = (100, 1000, 10_000)
POINTS, LINKS = 1000, 1000
RATE, ROPE = 1e-3, 50e-3
# Motions over time in a warm process, and what each may take.
OVER_TIME = {
    "feet": ("five feet pushed by a rough finger", 50e-3),
    "card": (f"a card of {POINTS} points pushed by a rough finger over 50 mm", 1.0),
    "random": ("the slowest of 20 random five feet pushed by a rough finger", 50e-3),
    "push": ("one rough push without a guess", 2e-3),
    "spring": ("a block behind a spring, 201 points", 50e-3),
}

ROWS = {
    "ours": "stationary, along a pushed trajectory",
    "cold": "stationary, without a guess",
    "clarabel": "Clarabel, built and solved",
    "cvxpy": "CVXPY with Clarabel, built and solved",
}


def sections(sizes: Sequence[int]) -> tuple[list[Table], list[Goal]]:
    """Measure all sizes, each in a process of its own."""
    table = Table(
        "sliding: one motion of a pushed square on n support points",
        ["package", *(f"n = {n}" for n in sizes), "power against ours"],
    )
    found: dict[int, dict[str, Any]] = {}
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            lines, failure = measure(["benchmarks.sliding", "part", str(n)], Path(folder), 300.0)
        if failure:
            table.remarks.append(f"n = {n}: {failure}")
            table.failed = True
            continue
        found[n] = lines[-1]
    for key, what in ROWS.items():
        cells = [duration(found[n].get(key)) if n in found else "–" for n in sizes]
        off = [found[n].get(f"{key} off") for n in found]
        worst = max((x for x in off if x is not None), default=None)
        table.add(what, *cells, "–" if worst is None else f"{worst:.0e}")
    table.remarks.append("median of several motions in one process, after import")
    rope = Table(
        "sliding: one motion of a rope", ["links", "first", "again", "from a guess", "an increment"]
    )
    goals = []
    if POINTS in found:
        took = found[POINTS]["ours"]
        goals.append(
            Goal(f"sliding: a motion on {POINTS} points", f"< {duration(RATE)}", duration(took),
                 took < RATE)
        )  # fmt: skip
        for peer in ("clarabel", "cvxpy"):
            if peer in found[POINTS]:
                ratio = found[POINTS][peer] / took
                goals.append(
                    Goal(f"sliding: faster than {peer}", "> 1×", f"{ratio:.0f}×", ratio > 1)
                )
    with tempfile.TemporaryDirectory() as folder:
        count = LINKS if POINTS in sizes else 50
        lines, failure = measure(["benchmarks.sliding", "rope", str(count)], Path(folder), 300.0)
    if failure:
        rope.failed = True
        rope.remarks.append(failure)
    else:
        took = lines[-1]
        rope.add(count, *(duration(took[k]) for k in ("first", "again", "warm", "increment")))
        if count == LINKS:
            goals.append(
                Goal(f"sliding: a rope of {LINKS} links", f"< {duration(ROPE)}",
                     duration(took["again"]), took["again"] < ROPE)
            )  # fmt: skip
    over_time = Table("sliding: motions over time", ["motion", "first", "again"])
    with tempfile.TemporaryDirectory() as folder:
        lines, failure = measure(["benchmarks.sliding", "motions", "3"], Path(folder), 300.0)
    if failure:
        over_time.failed = True
        over_time.remarks.append(failure)
    else:
        for key, (what, wanted) in OVER_TIME.items():
            first, again = lines[-1][key]
            over_time.add(what, duration(first), duration(again))
            goals.append(
                Goal(f"sliding: {what}", f"< {duration(wanted)}", duration(again), again < wanted)
            )
    return [table, rope, over_time], goals


def median(act: Callable[[], Any], times: int) -> tuple[float, Any]:
    taken, made = [], None
    for _ in range(times):
        clock = now()
        made = act()
        taken.append(now() - clock)
    return float(np.median(taken)), made


def part(size: str) -> None:
    """Measure one part."""
    import stationary as st
    from stationary.solve.sliding.instant.least_power import asked

    n, took = int(size), {}
    square = [(0, 0), (1, 0), (1, 1), (0, 1)]
    free = st.slider(outline=square, limit=1.0, count=n)
    x, y, phi = free.coordinates
    pushed = free + st.System(
        constraints=[x + 0.3 * st.cos(phi) - 0.3, y + 0.3 * st.sin(phi) - st.t]
    )

    def at(turn: float) -> dict[Any, float]:
        return {x: 0.3 - 0.3 * np.cos(turn), y: -0.3 * np.sin(turn), phi: turn}

    step = st.minimum_power(pushed, at=at(0.0))
    power = step.power
    taken = []
    for k in range(200):
        clock = now()
        step = st.minimum_power(pushed, at=at(1e-3 * k), guess=step)
        taken.append(now() - clock)
    took["ours"], took["ours off"] = float(np.median(taken)), 0.0
    took["cold"], cold = median(lambda: st.minimum_power(pushed, at=at(0.0)), 10)
    took["cold off"] = abs(cold.power - power) / power
    problem = asked(pushed, at(0.0), None, None, 0.0)[1].problem
    for name, solve in (("clarabel", _clarabel), ("cvxpy", _cvxpy)):
        try:
            took[name], value = median(lambda s=solve: s(problem), 5)
            took[f"{name} off"] = abs(value - power) / power
        except ImportError:
            continue
    say(**took)


def _clarabel(problem: Any) -> float:
    """Build and solve the cone program by hand."""
    import clarabel
    import scipy.sparse as sparse

    n, K = problem.n, problem.terms
    cost = np.concatenate([-problem.f, problem.size])
    eye = sparse.identity(K, format="csr")
    B, A = sparse.csr_matrix(problem.B), sparse.csr_matrix(problem.A)
    order = np.arange(3 * K).reshape(3, K).T.ravel()
    cone = sparse.vstack(
        [
            sparse.hstack([sparse.csr_matrix((K, n)), -eye]),
            sparse.hstack([-B[0::2], sparse.csr_matrix((K, K))]),
            sparse.hstack([-B[1::2], sparse.csr_matrix((K, K))]),
        ],
        format="csr",
    )[order]
    rows = sparse.vstack(
        [sparse.hstack([A, sparse.csr_matrix((A.shape[0], K))]), cone], format="csc"
    )
    rhs = np.zeros((3, K))
    rhs[1], rhs[2] = problem.c[0::2], problem.c[1::2]
    known = np.concatenate([-problem.b, rhs.ravel()[order]])
    cones = [clarabel.ZeroConeT(A.shape[0]), *(clarabel.SecondOrderConeT(3) for _ in range(K))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    nothing = sparse.csc_matrix((n + K, n + K))
    return clarabel.DefaultSolver(nothing, cost, rows, known, cones, settings).solve().obj_val


def _cvxpy(problem: Any) -> float:
    """State the same with CVXPY, all points as one matrix."""
    import cvxpy as cp

    v = cp.Variable(problem.n)
    B = np.asarray(problem.B)
    w = cp.vstack([B[0::2] @ v + problem.c[0::2], B[1::2] @ v + problem.c[1::2]])
    power = problem.size @ cp.norm(w, axis=0) - problem.f @ v
    asked = cp.Problem(cp.Minimize(power), [np.asarray(problem.A) @ v + problem.b == 0])
    return float(asked.solve(solver=cp.CLARABEL))


def rope(size: str) -> None:
    """Measure one rope."""
    import stationary as st

    n, took = int(size), {}
    r, link = st.coordinates("r", shape=(n, 2)), 1.0 / (n - 1)
    bend = 0.8 * np.sin(6 * np.pi * np.arange(n - 1) / (n - 1))
    steps = link * np.stack([np.cos(bend), np.sin(bend)], axis=1)
    place = np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])
    hand = (r[n - 1, 0] - place[-1, 0] - st.t, r[n - 1, 1] - place[-1, 1])
    pulled = st.System(
        constraints=[
            st.each(lambda a, b: st.norm(b - a) - link, r[:-1], r[1:], name="link"),
            st.Constraint(hand, name="hand"),
        ],
        friction=st.each(lambda p: st.Friction(1 / n, on=p), r, name="ground"),
    )
    clock = now()
    step = st.minimum_power(pulled, at={r: place})
    took["first"] = now() - clock
    took["again"], step = median(lambda: st.minimum_power(pulled, at={r: place}), 5)
    took["warm"], _ = median(lambda: st.minimum_power(pulled, at={r: place}, guess=step), 5)
    assert step.gap < 1e-9
    # Ten increments of one link each, the first of which has nothing to start from.
    clock = now()
    slide = st.quasistatics(
        pulled, span=(0, 10 * link), start={r: place}, points=11, step=link, method="increments"
    )
    took["increment"] = (now() - clock) / slide.steps
    assert slide.residual["gap"] < 1e-9
    say(**took)


def motions(times: str) -> None:
    """Measure motions over time, the first time and again."""
    import stationary as st

    feet = [(-0.9, -0.4), (0.9, -0.4), (0.9, 0.4), (-0.9, 0.4), (0, 0.1)]
    points = np.random.default_rng(0).uniform(-1, 1, (POINTS, 2)) * [0.0425, 0.027]
    finger = {"edge": ((-1, -0.5), (1, -0.5)), "friction": 0.3}
    late = st.Pusher(point=(0.5 + 0.3 * st.t, st.t - 0.55), **finger)
    there = st.Pusher(point=(0.5 + 0.3 * st.t, st.t - 0.5), **finger)
    edge = ((-0.0425, -0.027), (0.0425, -0.027))
    along = st.Pusher(point=(0.01, st.t - 0.027), edge=edge, friction=0.3)
    weights = [0.2, 0.3, 0.1, 0.25, 0.15]
    part = st.slider(points=feet, weights=weights, pusher=late)
    touched = st.slider(points=feet, weights=weights, pusher=there)
    card = st.slider(points=points, weights=1 / POINTS, pusher=along)
    x = st.coordinates("x")
    block = st.System(potential=50 * (x - st.sin(st.t)) ** 2, friction=[st.Friction(30.0, on=x)])
    asked: dict[str, Callable[[], Any]] = {
        "feet": lambda: st.quasistatics(part, span=(0, 0.5), points=41),
        "card": lambda: st.quasistatics(card, span=(0, 0.05), points=50),
        "push": lambda: st.minimum_power(touched),
        "spring": lambda: st.quasistatics(block, span=(0, 4 * np.pi), points=201),
    }
    took = {key: (median(act, 1)[0], median(act, int(times))[0]) for key, act in asked.items()}
    pushed = [_random_part(seed) for seed in range(20)]
    each = [
        (median(act, 1)[0], median(act, int(times))[0])
        for act in (lambda p=p: st.quasistatics(p, span=(0, 0.5), points=41) for p in pushed)
    ]
    took["random"] = max(x for x, _ in each), max(x for _, x in each)
    say(**took)


def _random_part(seed: int) -> Any:
    """Five feet anywhere under an edge, and a finger that is about to touch it."""
    import stationary as st

    rng = np.random.default_rng(seed)
    feet, weights = rng.uniform(-1, 1, (5, 2)) * [0.9, 0.45], rng.uniform(0.1, 1, 5)
    place, side = rng.uniform(-0.8, 0.8), rng.uniform(-1, 1)
    rough, apart = rng.uniform(0.1, 0.8), rng.uniform(0, 0.05)
    point = (place + side * st.t, st.t - 0.5 - apart)
    pusher = st.Pusher(point=point, edge=((-1, -0.5), (1, -0.5)), friction=rough)
    return st.slider(points=feet, weights=weights / weights.sum(), pusher=pusher)


if __name__ == "__main__":
    {"part": part, "rope": rope, "motions": motions}[sys.argv[1]](sys.argv[2])
