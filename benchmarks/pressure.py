"""Unknown pressure: a bound, its proof, a locus, and many pushes fitted."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import Goal
from benchmarks.sliding import median
from benchmarks.table import Table, duration
from benchmarks.worker import measure, say

BOX = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]
PUSHES = 400
ROWS = {
    "bound": ("one bound of a box", 5e-3),
    "proof": ("one bound, proven to 1e-6", None),
    "locus": ("a locus of 200 directions", 0.5),
    "fit": (f"{PUSHES} pushes fitted", 5.0),
}


def sections(pushes: int) -> tuple[Table, list[Goal]]:
    """Measure in a process of its own."""
    table = Table("pressure: bounds and weighing", ["what", "took"])
    goals: list[Goal] = []
    with tempfile.TemporaryDirectory() as folder:
        lines, failure = measure(["benchmarks.pressure", str(pushes)], Path(folder), 300.0)
    if failure:
        table.failed = True
        table.remarks.append(failure)
        return table, goals
    for key, (what, wanted) in ROWS.items():
        took = lines[-1][key]
        table.add(what, duration(took))
        if wanted is not None and (key != "fit" or pushes == PUSHES):
            goals.append(
                Goal(f"pressure: {what}", f"< {duration(wanted)}", duration(took), took < wanted)
            )
    table.remarks.append(f"median of several in one process, after import; {pushes} pushes")
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


def run(count: int) -> None:
    """Measure everything and say it."""
    import stationary as st

    finger = st.Pusher(point=(0.02, st.t - 0.03), edge=(BOX[0], BOX[1]))
    part = st.slider(outline=BOX, weight=2.0, centre=(0, 0), pusher=finger)
    turn = part.coordinates[2].dot
    st.pressure_bounds(part, of=turn)
    pushes = measured(np.random.default_rng(0), count)
    rests = st.slider(points=BOX, weight=1.0)
    noise = (1e-4, float(np.radians(0.1)))
    say(
        bound=median(lambda: st.pressure_bounds(part, of=turn), 5)[0],
        proof=median(lambda: st.pressure_bounds(part, of=turn, prove=1e-6), 3)[0],
        locus=median(lambda: st.pressure_bounds(part, of="centre", count=200), 3)[0],
        fit=median(lambda: st.fit_pressure(rests, pushes=pushes, noise=noise), 1)[0],
    )


if __name__ == "__main__":
    run(int(sys.argv[1]))
