"""Unknown pressure: bounds, their proofs, a locus, and many pushes fitted.

``python -m benchmarks.pressure save`` measures all of it and writes ``results_pressure.md``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.goals import Goal
from benchmarks.table import Table, duration, ratio
from benchmarks.worker import measure, say

BOX = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]
PUSHES = 400
ROWS = {
    "first": ("the first bound after import", None),
    "bound": ("one bound of a box, smooth finger", 5e-3),
    "moved": ("the same, at another configuration each time", None),
    "rough": ("one bound of a box, rough finger", None),
    "disc": ("one bound of a disc, smooth finger", None),
    "power": ("power, smooth finger", None),
    "rough power": ("power, rough finger", None),
    "proof": ("one bound, proven to 1e-6", None),
    "locus": ("a locus of 200 directions", 0.5),
    "brute": ("motions of 10 000 random pressures of a box", None),
    "fit": (f"{PUSHES} pushes fitted", 5.0),
}
RESULTS = Path(__file__).with_name("results_pressure.md")


def sections(pushes: int) -> tuple[Table, list[Goal]]:
    """Measure in a process of its own."""
    table = Table("pressure: bounds and weighing", ["what", "took", "random pressures take"])
    goals: list[Goal] = []
    with tempfile.TemporaryDirectory() as folder:
        lines, failure = measure(["benchmarks.pressure", str(pushes)], Path(folder), 300.0)
    if failure:
        table.failed = True
        table.remarks.append(failure)
        return table, goals
    for key, (what, wanted) in ROWS.items():
        took = lines[-1][key]
        against = "" if key in ("fit", "brute", "first") else ratio(lines[-1]["brute"], took)
        table.add(what, duration(took), against)
        if wanted is not None and (key != "fit" or pushes == PUSHES):
            goals.append(
                Goal(f"pressure: {what}", f"< {duration(wanted)}", duration(took), took < wanted)
            )
    reach = lines[-1]["reach"]
    table.remarks.append(f"processor time, median of several in one process; {pushes} pushes")
    table.remarks.append(
        f"10 000 random pressures cover {reach:.1%} of the interval that the bound gives exactly"
    )
    return table, goals


def measured(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    """Return pushes of a part on four feet, with errors of 0.1 mm and 0.1°."""
    import stationary as st

    feet = np.array(BOX)
    part = st.slider(points=feet, weights=[0.1, 0.2, 0.3, 0.4])
    surface = st.limit_surface(part)
    pushes = []
    for _ in range(count):
        angle = rng.uniform(0, 2 * np.pi)
        normal = np.array([np.cos(angle), np.sin(angle)])
        point = -0.06 * normal + rng.uniform(-0.03, 0.03) * np.array([normal[1], -normal[0]])
        twist = surface.twist((*normal, point[0] * normal[1] - point[1] * normal[0]))
        contact = twist[:2] + twist[2] * np.array([-point[1], point[0]])
        twist = 0.01 * twist / (contact @ normal)
        twist = twist + rng.normal(size=3) * [1e-4, 1e-4, np.radians(0.1)]
        pushes.append({"point": point, "normal": normal, "motion": twist})
    return pushes


def random_pressures(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pressures of three atoms in a box, with their resultant at its middle."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while sum(len(x) for x, _ in found) < count:
        points = rng.uniform(-1, 1, (4 * count, 3, 2)) * BOX[2]
        rows = np.concatenate([np.ones((len(points), 1, 3)), points.transpose(0, 2, 1)], axis=1)
        points = points[np.abs(np.linalg.det(rows)) > 1e-9]
        rows = np.concatenate([np.ones((len(points), 1, 3)), points.transpose(0, 2, 1)], axis=1)
        loads = np.linalg.inv(rows)[:, :, 0]
        good = loads.min(axis=1) >= 0
        found.append((points[good], loads[good]))
    points, loads = (np.concatenate(k)[:count] for k in zip(*found))
    return points, loads


def took(ask: Any, count: int) -> float:
    """Return the median of processor times."""
    times = []
    for _ in range(count):
        start = process_time()
        ask()
        times.append(process_time() - start)
    return float(np.median(times))


def run(count: int) -> None:
    """Measure everything and say it."""
    import stationary as st
    from stationary.result.least_power import motions

    def part(friction: float, **given: Any) -> Any:
        finger = st.Pusher(point=(0.02, st.t - 0.03), edge=(BOX[0], BOX[1]), friction=friction)
        return st.slider(**(given or {"outline": BOX}), weight=2.0, centre=(0, 0), pusher=finger)

    def ask(what: Any, of: Any = "phi.dot", **given: Any) -> Any:
        return lambda: st.pressure_bounds(what, of=of, **given)

    smooth, rough, disc = part(0.0), part(0.3), part(0.0, radius=0.03)
    first = took(ask(smooth), 1)
    for warm in (ask(rough), ask(disc)):
        warm()
    pushes = measured(np.random.default_rng(0), count)
    rests = st.slider(points=BOX, weight=1.0)
    noise = (1e-4, float(np.radians(0.1)))
    points, loads = random_pressures(np.random.default_rng(0), 10_000)
    row = np.array([0.0, 1.0, 0.02])
    base, free = row / (row @ row), np.linalg.svd(row[None])[2][1:].T
    many = len(points)
    every = np.tile(base, (many, 1)), np.tile(free, (many, 1, 1))
    rates = (base + motions(points, loads, *every)[0] @ free.T)[:, 2]
    bound = st.pressure_bounds(smooth, of="phi.dot")
    shifts = iter(np.linspace(0, 0.01, 9))
    moved = lambda: ask(smooth, at={smooth.coordinates[0]: next(shifts)})()  # noqa: E731
    say(**{
        "first": first, "bound": took(ask(smooth), 9), "moved": took(moved, 9),
        "rough": took(ask(rough), 5),
        "disc": took(ask(disc), 5), "power": took(ask(smooth, "power"), 5),
        "rough power": took(ask(rough, "power"), 3), "proof": took(ask(smooth, prove=1e-6), 3),
        "locus": took(ask(smooth, "centre", count=200), 3),
        "brute": took(lambda: motions(points, loads, *every), 3),
        "reach": float(np.ptp(rates)) / (bound.high - bound.low),
        "fit": took(lambda: st.fit_pressure(rests, pushes=pushes, noise=noise), 1),
    })  # fmt: skip


def save() -> None:
    """Measure all rows and write `results_pressure.md`."""
    from benchmarks import goals
    from benchmarks.__main__ import machine

    table, reached = sections(PUSHES)
    tables = [table, goals.table(reached)]
    parts = ["# Unknown pressure", "\n\n".join(machine(())), *(t.markdown() for t in tables)]
    RESULTS.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(*(t.text() for t in tables), f"written: {RESULTS}", sep="\n\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["save"]:
        save()
    else:
        run(int(sys.argv[1]))
