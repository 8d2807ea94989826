"""Touch: a ball, a belt, a woodpecker, a stack and discs in a box, beside MuJoCo and Exudyn."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
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
    "belt": "a block that sticks and slips on a belt: period, relative",
    "woodpecker": "the woodpecker toy: time of its second peck, relative",
    "stack": "10 boxes on each other for 10 s: largest drift, of their height",
    "discs": "discs that fall into a box for 2 s: largest penetration, of their radius",
}
#: Time stepping of the midpoint kind with steps of 2e-6 s.
PECK = 0.22687
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


# -- MuJoCo: soft contacts in steps of one length --------------------------------------------------


def _mujoco(text: str, span: float, step: float) -> Callable[[], Any]:
    import mujoco  # pyright: ignore[reportMissingImports]

    options = f'<option timestep="{step}" gravity="0 0 -{G}" integrator="implicitfast"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{options}{text}</mujoco>")

    def run() -> Any:
        data = mujoco.MjData(model)
        lowest = 0.0
        for _ in range(round(span / step)):
            mujoco.mj_step(model, data)
            if data.ncon:
                lowest = min(lowest, float(data.contact.dist.min()))
        return data, lowest

    return run


def mujoco_ball(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    # A stiff contact whose damping gives back half of the speed: ζ = −ln e/√(π² + ln² e).
    stiff, loss = 1e6, -np.log(BACK) / np.hypot(np.pi, np.log(BACK))
    touch = f'solref="{-stiff} {-2 * loss * np.sqrt(stiff)}" solimp="0.99 0.99 0.001"'
    text = (
        f'<worldbody><geom type="plane" size="5 5 1" {touch}/><body pos="0 0 1.1">'
        f'<joint type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="1" {touch}/>'
        "</body></worldbody>"
    )
    return _mujoco(text, 1.0, 1e-4), lambda found: abs(found[0].qpos[0] + 1 - exact_ball(1.0))


def mujoco_stack(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    h, count = 0.1, 2 if quick else BOXES
    bodies = "".join(
        f'<body pos="0 0 {h / 2 + i * h}"><freejoint/>'
        f'<geom type="box" size="0.1 0.1 {h / 2}" mass="1" friction="0.5"/></body>'
        for i in range(count)
    )
    text = f'<worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody>'

    def error(found: Any) -> float:
        at = found[0].qpos.reshape(-1, 7)[:, :3]
        first = np.column_stack([np.zeros((count, 2)), h / 2 + h * np.arange(count)])
        return float(np.abs(at - first).max()) / h

    return _mujoco(text, 10.0, 2e-3), error


def mujoco_discs(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    count = 12 if quick else DISCS
    begin, width = places(count)
    discs = "".join(
        f'<body pos="{a} 0 {b}"><joint type="slide" axis="1 0 0"/>'
        f'<joint type="slide" axis="0 0 1"/>'
        f'<geom type="sphere" size="{R}" mass="1" condim="1"/></body>'
        for a, b in begin
    )
    sides = (
        '<geom type="plane" size="9 9 1" condim="1"/>'
        '<geom type="plane" size="9 9 1" zaxis="1 0 0" condim="1"/>'
        f'<geom type="plane" size="9 9 1" zaxis="-1 0 0" pos="{width} 0 0" condim="1"/>'
    )
    text = f'<size memory="2G"/><worldbody>{sides}{discs}</worldbody>'
    run = _mujoco(text, 0.2 if quick else 2.0, 5e-3)
    return run, lambda found: -found[1] / R


# -- Exudyn: springs that only push, and friction that is steep about zero ------------------------


def _exudyn(build: Callable[[Any, Any], int], span: float, step: float) -> Callable[[], Any]:
    import exudyn as exu  # pyright: ignore[reportMissingImports]
    from exudyn import itemInterface as items  # pyright: ignore[reportMissingImports]

    def run() -> Any:
        whole = exu.SystemContainer()
        system = whole.AddSystem()
        sensor = build(system, items)
        system.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.endTime = span
        settings.timeIntegration.numberOfSteps = round(span / step)
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = step
        system.SolveDynamic(settings)
        return system.GetSensorStoredData(sensor)

    return run


def known(system: Any, items: Any) -> int:
    """Return the node in which a connector keeps what it remembers."""
    return system.AddNode(
        items.NodeGenericData(numberOfDataCoordinates=3, initialCoordinates=[1.0, 0.0, 0.0])
    )


def exudyn_ball(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import exudyn as exu  # pyright: ignore[reportMissingImports]

    stiff, loss = 1e6, -np.log(BACK) / np.hypot(np.pi, np.log(BACK))

    def build(system: Any, items: Any) -> int:
        ball = system.AddNode(items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[1.0]))
        system.AddObject(items.Mass1D(nodeNumber=ball, physicsMass=1.0))
        at = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=ball, coordinate=0))
        ground = system.AddNode(items.NodePointGround())
        fixed = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
        system.AddLoad(items.LoadCoordinate(markerNumber=at, load=-G))
        system.AddObject(items.ObjectConnectorCoordinateSpringDamperExt(
            markerNumbers=[fixed, at], nodeNumber=known(system, items), useLimitStops=True,
            limitStopsLower=0.0, limitStopsUpper=1e3, limitStopsStiffness=stiff,
            limitStopsDamping=2 * loss * np.sqrt(stiff),
        ))  # fmt: skip
        return system.AddSensor(items.SensorNode(
            nodeNumber=ball, storeInternal=True,
            outputVariableType=exu.OutputVariableType.Coordinates,
        ))  # fmt: skip

    return _exudyn(build, 1.0, 1e-4), lambda found: abs(found[-1, 1] - exact_ball(1.0))


def exudyn_belt(quick: bool) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    import exudyn as exu  # pyright: ignore[reportMissingImports]

    def build(system: Any, items: Any) -> int:
        markers = []
        # The belt is a mass that nothing slows.
        for mass, speed in ((1.3, 0.2), (1e9, 0.2)):
            node = system.AddNode(
                items.Node1D(referenceCoordinates=[0.0], initialVelocities=[speed])
            )
            system.AddObject(items.Mass1D(nodeNumber=node, physicsMass=mass))
            marker = items.MarkerNodeCoordinate(nodeNumber=node, coordinate=0)
            markers.append(system.AddMarker(marker))
        block, (at, belt) = 0, markers
        ground = system.AddNode(items.NodePointGround())
        fixed = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
        spring = items.CoordinateSpringDamper(markerNumbers=[fixed, at], stiffness=7.0)
        system.AddObject(spring)
        system.AddObject(items.ObjectConnectorCoordinateSpringDamperExt(
            markerNumbers=[belt, at], dynamicFrictionForce=1.1, staticFrictionOffsetForce=0.9,
            exponentialDecayStatic=1e-3, frictionProportionalZone=1e-4,
        ))  # fmt: skip
        return system.AddSensor(items.SensorNode(
            nodeNumber=block, storeInternal=True,
            outputVariableType=exu.OutputVariableType.Coordinates_t,
        ))  # fmt: skip

    def error(found: Any) -> float:
        t, v = found[:, 0], found[:, 1]
        down = np.flatnonzero((v[:-1] > 0) & (v[1:] <= 0))
        return abs(np.diff(t[down]).mean() / exact_belt() - 1)

    return _exudyn(build, 20.0, 1e-3), error


# -- the table ------------------------------------------------------------------------------------


def sections(limit: float, quick: bool) -> tuple[list[Table], list[Goal]]:
    """Measure all rows, each in a process of its own; one that cannot be stated is left out."""
    present = [
        p for p in PACKAGES if find_spec(p) is not None and not (quick and p != "stationary")
    ]
    table = Table("touch: error and time", ["motion", *(PACKAGES[p] for p in present)])
    goals = []
    for row, what in ROWS.items():
        found: dict[str, tuple[float, float]] = {}
        cells = []
        for package in present:
            if f"{package}_{row}" not in globals():
                cells.append("–")
                continue
            command = ["benchmarks.touch", package, row, "quick" if quick else "whole"]
            patience = limit if row != "discs" else 10 * limit
            with tempfile.TemporaryDirectory() as folder:
                lines, failure = measure(command, Path(folder), patience)
            if failure:
                cells.append(failure)
                table.failed |= package == "stationary" and failure != "limit"
                continue
            error, took = lines[-1]["error"], lines[-1]["took"]
            found[package] = error, took
            cells.append(f"{error:.0e} in {duration(took)}")
        table.add(what, *cells)
        if row in FEW and "stationary" in found:
            for peer in found.keys() - {"stationary"}:
                (ours, time), (theirs, other) = found["stationary"], found[peer]
                goals.append(Goal(f"touch: {row} beside {PACKAGES[peer]}", "no slower, no worse",
                                  f"{other / time:.1f}×, error {ours:.0e} for {theirs:.0e}",
                                  time <= other and ours <= theirs))  # fmt: skip
    table.remarks.append("the second run in a process, after import, derivation and compilation")
    table.remarks.append("–: the package has no way to state it")
    return [table], goals


def main(package: str, row: str, size: str) -> None:
    run, error = globals()[f"{package}_{row}"](size == "quick")
    clock = now()
    found = run()
    first = now() - clock
    # What takes long is run once.
    took = best_of(run, 3)[0] if first < 20 else first
    say(error=float(error(found)), took=float(took))


if __name__ == "__main__":
    main(*sys.argv[1:])
