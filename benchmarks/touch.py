"""Touch: a ball, a belt, a woodpecker, a stack and discs in a box, beside MuJoCo and Exudyn.

``python -m benchmarks.touch save`` measures all of it and writes ``results_touch.md``.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.goals import Goal
from benchmarks.table import Table, duration
from benchmarks.worker import best_of, measure, now, say

G, BACK, BOXES, DISCS, R = 9.81, 0.5, 10, 1000, 0.05
#: What the error of each row is.
ROWS = {
    "ball": "a ball dropped from 1 m, e = 0.5: place after 1 s, of the height",
    "walls": "a ball between two walls, e = 1, 100000 impacts: energy, relative",
    "belt": "a block that sticks and slips on a belt: period, relative",
    "woodpecker": "the woodpecker toy: time of its second peck, relative",
    "stack": "10 boxes on each other for 10 s: largest drift, of their height",
    "discs": "discs that fall into a box for 2 s: largest penetration, of their radius",
}
#: Time stepping of the midpoint kind with steps of 2e-6 s.
PECK = 0.22687
RESULTS = Path(__file__).with_name("results_touch.md")
PACKAGES = {"stationary": "stationary", "mujoco": "MuJoCo", "exudyn": "Exudyn"}
# Few contacts: here ours is to be the fastest at no larger an error.
FEW = ("ball", "belt", "woodpecker", "stack")


def exact_ball(t: float) -> float:
    """Return where a ball is that was dropped from one metre."""
    fall = np.sqrt(2 / G)
    begin, speed = fall, G * fall * BACK
    if t < fall:
        return 1 - G * t**2 / 2
    while t > begin + 2 * speed / G:
        begin, speed = begin + 2 * speed / G, speed * BACK
    return speed * (t - begin) - G * (t - begin) ** 2 / 2


def exact_belt() -> float:
    """Return the period of a block of mass 1.3 on a belt."""
    more, w, kv = 0.9, np.sqrt(7 / 1.3), 1.4
    return 2 * more / kv + 2 / w * (np.pi - np.arctan(more * w / kv))


def places(count: int) -> tuple[np.ndarray, float]:
    """Return where discs start, and how wide their box is."""
    columns = max(4, int(np.sqrt(count)))
    k = np.arange(count)
    askew = np.random.default_rng(1).uniform(-0.004, 0.004, (count, 2))
    grid = np.column_stack([0.06 + 0.11 * (k % columns), 0.06 + 0.115 * (k // columns)])
    return grid + askew, 0.11 * columns + 0.02


# -- ours -----------------------------------------------------------------------------------------


def stationary_ball(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import stationary as st

    y = st.coordinates("y")
    floor = st.Contact(y, restitution=BACK, name="floor")
    ball = st.System(kinetic=y.dot**2 / 2, potential=G * y, contacts=[floor])
    return (lambda: st.simulate(ball, span=(0, 1), start={y: 1.0}, points=11),
            lambda motion: abs(motion[y][-1] - exact_ball(1.0)))  # fmt: skip


def stationary_walls(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import stationary as st

    x = st.coordinates("x")
    walls = [st.Contact(gap, restitution=1) for gap in (x, 1 - x)]
    ball = st.System(kinetic=x.dot**2 / 2, contacts=walls)
    count = 100 if quick else 100_000

    def error(motion: Any) -> float:
        assert len(motion.changes.of("impact")) == count
        return np.abs(motion.energy / motion.energy[0] - 1).max()

    start = {x: 0.3, x.dot: 1.0}
    return lambda: st.simulate(ball, span=(0, count), start=start, points=11), error


def stationary_belt(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import stationary as st

    x = st.coordinates("x")
    belt = st.Friction(1.1, on=x - 0.2 * st.t, static=2.0, name="belt")
    block = st.System(kinetic=1.3 * x.dot**2 / 2, potential=7.0 * x**2 / 2, friction=[belt])

    def error(motion: Any) -> float:
        slips = motion.changes.of("slip", "belt").t
        return abs(np.diff(slips).mean() / exact_belt() - 1)

    return lambda: st.simulate(block, span=(0, 20), start={x.dot: 0.2}, points=11), error


def stationary_woodpecker(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import stationary as st
    from examples.woodpecker import START, system

    toy = system()
    return (lambda: st.simulate(toy, span=(0, 0.25), start=START, points=11),
            lambda motion: abs(motion.changes.of("impact", "beak").t[1] / PECK - 1))  # fmt: skip


def stationary_stack(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import stationary as st

    w, h, count = 0.2, 0.1, 2 if quick else BOXES
    boxes = [st.coordinates(f"x{i} y{i} p{i}") for i in range(count)]
    kinetic, potential, contacts = 0, 0, []
    for i, (across, up, turn) in enumerate(boxes):
        kinetic += (across.dot**2 + up.dot**2) / 2 + (w**2 + h**2) / 24 * turn.dot**2
        potential += G * up
        for s in (-1, 1):
            px = across + s * w / 2 * st.cos(turn) + h / 2 * st.sin(turn)
            py = up + s * w / 2 * st.sin(turn) - h / 2 * st.cos(turn)
            gap, slip = py, px
            if i:
                X, Y, P = boxes[i - 1]
                gap = (py - Y) * st.cos(P) - (px - X) * st.sin(P) - h / 2
                slip = (px - X) * st.cos(P) + (py - Y) * st.sin(P)
            contacts.append(st.Contact(gap, friction=0.5, slip=slip, name=f"{i} {s}"))
    system = st.System(kinetic=kinetic, potential=potential, contacts=contacts)
    start = {boxes[i][1]: h / 2 + i * h for i in range(count)}
    return (lambda: st.simulate(system, span=(0, 10), start=start, points=11),
            lambda motion: np.abs(motion.q - motion.q[0]).max() / h)  # fmt: skip


def stationary_discs(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import stationary as st

    count = 12 if quick else DISCS
    begin, width = places(count)
    r = st.coordinates("r", shape=(count, 2))
    i, j = np.triu_indices(count, 1)
    box = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: G * p[1], r),
        contacts=[
            st.each(lambda a, b: st.Contact(st.norm(b - a) - 2 * R), r[i], r[j], name="pair"),
            st.each(lambda p: st.Contact(p[1] - R), r, name="floor"),
            st.each(lambda p: st.Contact(p[0] - R), r, name="left"),
            st.each(lambda p: st.Contact(width - R - p[0]), r, name="right"),
        ],
    )
    method = st.Moreau(step=5e-3)
    span = (0, 0.2 if quick else 2.0)
    return (lambda: st.simulate(box, span=span, start={r: begin}, points=3, method=method),
            lambda motion: motion.residual["penetration"] / R)  # fmt: skip


# -- the table ------------------------------------------------------------------------------------


#: The steps with which a package is run, a usual one and a fine one, by row.
STEPS = {
    "mujoco": {"ball": (1e-3, 1e-5), "belt": (2e-3, 1e-4), "stack": (2e-3, 2e-4),
               "discs": (5e-3,)},
    "exudyn": {"ball": (1e-3, 1e-5), "belt": (1e-3, 1e-4), "woodpecker": (2e-5, 1e-5),
               "discs": (1e-3,)},
}  # fmt: skip
#: Why a package has no row.
WITHOUT = {
    ("mujoco", "woodpecker"): "MuJoCo has contacts with friction between shapes; the gaps of the "
    "toy are linear in its angles",
    ("exudyn", "stack"): "Exudyn touches by spheres on spheres and triangles: boxes stated by "
    "these fell through each other",
}


def sections(limit: float, quick: bool) -> tuple[list[Table], list[Goal]]:
    """Measure all rows, each in a process of its own; one that cannot be stated is left out."""
    present = [
        p for p in PACKAGES if find_spec(p) is not None and not (quick and p != "stationary")
    ]
    table = Table("touch: error and time", ["motion", *(PACKAGES[p] for p in present)])
    goals = []
    for row, what in ROWS.items():
        found: dict[str, list[tuple[float, float]]] = {}
        cells = []
        for package in present:
            if package in STEPS and row not in STEPS[package]:
                cells.append("–")
                continue
            command = ["benchmarks.touch", package, row, "quick" if quick else "whole"]
            patience = 2 * limit if row in ("walls", "discs") else limit
            with tempfile.TemporaryDirectory() as folder:
                lines, failure = measure(command, Path(folder), patience)
            found[package] = [(line["error"], line["took"]) for line in lines]
            told = [f"{error:.0e} in {duration(took)}" for error, took in found[package]]
            cells.append("; ".join([*told, failure] if failure else told))
            table.failed |= package == "stationary" and failure not in ("", "limit")
        table.add(what, *cells)
        if row in FEW and found.get("stationary"):
            ours, time = found["stationary"][0]
            for peer in sorted(found.keys() - {"stationary"}):
                # Beside the run that comes nearest to the error of ours.
                theirs, other = min(found[peer], default=(np.inf, np.inf))
                goals.append(Goal(f"touch: {row}, {PACKAGES[peer]}", "no slower, no worse",
                                  f"{other / time:.1f}×, {ours:.0e} for {theirs:.0e}",
                                  time <= other and ours <= theirs))  # fmt: skip
    table.remarks += [
        "the second run in a process, after import, derivation and compilation; of the others with "
        "a usual step, and with a fine one",
        "the time of the second peck is known to 1e-4; in Exudyn its contacts are a function of "
        "the user, springs whose rebound changes with friction and with what else is closed",
        "of the discs MuJoCo throws some out of the box with steps below 5 ms; in Exudyn, as "
        "stated here, they fly apart: neither says what a better statement would give",
    ]
    table.remarks += [f"–: {why}" for (p, _), why in WITHOUT.items() if p in present]
    return [table], goals


def main(package: str, row: str, size: str) -> None:
    """Run a row once, what is quick again, and say its error and time, for every step."""
    quick = size == "quick"
    if package == "stationary":
        settings = [globals()[f"stationary_{row}"](quick)]
    else:
        make = getattr(import_module("benchmarks.touch_peers"), f"{package}_{row}")
        settings = (make(step, quick) for step in STEPS[package][row])
    for run, error in settings:
        clock = now()
        found = run()
        first = now() - clock
        # What takes long is run once.
        took = best_of(run, 2)[0] if first < 5 else first
        say(error=float(error(found)), took=float(took))


def save(limit: float = 60.0) -> None:
    """Measure all rows and write `results_touch.md`."""
    from benchmarks import goals
    from benchmarks.__main__ import machine

    several, reached = sections(limit, quick=False)
    tables = [*several, goals.table(reached)]
    parts = ["# Touch", "\n\n".join(machine(("exudyn",))), *(t.markdown() for t in tables)]
    RESULTS.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(*(t.text() for t in tables), f"written: {RESULTS}", sep="\n\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["save"]:
        save()
    else:
        main(*sys.argv[1:])
