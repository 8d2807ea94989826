"""The systems of `touch` in MuJoCo and Exudyn, each as closely as the package can state it.

Both soften contacts and friction, so that errors come from stiffness and step together: every row
is run with a usual step and with a fine one, with stiffness to match.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from benchmarks.touch import BACK, BOXES, DISCS, PECK, G, R, exact_ball, exact_belt, places

#: What runs a system once, and what its error is.
Run = tuple[Callable[[], Any], Callable[[Any], float]]
# A spring of so much damping, of critical damping, gives back the share BACK of a speed.
_LOSS = -np.log(BACK) / np.hypot(np.pi, np.log(BACK))


# -- MuJoCo: soft contacts in steps of one length --------------------------------------------------


def _mujoco(
    text: str, span: float, step: float, each: Callable[[Any, Any], None] | None = None
) -> Callable[[], Any]:
    import mujoco  # pyright: ignore[reportMissingImports]

    options = f'<option timestep="{step}" gravity="0 0 -{G}" integrator="implicitfast"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{options}{text}</mujoco>")

    def run() -> Any:
        data = mujoco.MjData(model)
        lowest = 0.0
        for _ in range(round(span / step)):
            if each is not None:
                each(model, data)
            mujoco.mj_step(model, data)
            if data.ncon:
                lowest = min(lowest, float(data.contact.dist.min()))
        return data, lowest

    return run


def mujoco_ball(step: float, quick: bool) -> Run:
    stiff = (0.03 / step) ** 2
    touch = f'solref="{-stiff} {-2 * _LOSS * np.sqrt(stiff)}" solimp="0.99 0.99 0.001"'
    text = (
        f'<worldbody><geom type="plane" size="5 5 1" {touch}/><body pos="0 0 1.1">'
        f'<joint type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="1" {touch}/>'
        "</body></worldbody>"
    )
    return _mujoco(text, 1.0, step), lambda found: abs(found[0].qpos[0] + 1 - exact_ball(1.0))


def mujoco_belt(step: float, quick: bool) -> Run:
    # The block slides on the belt, a mass that nothing slows; the friction of a joint has one
    # limit, which is set before every step by whether the block slides.
    text = (
        '<worldbody><body><joint name="belt" type="slide" axis="1 0 0"/>'
        '<geom size="0.1" mass="1e9" contype="0" conaffinity="0"/>'
        f'<body><joint name="block" type="slide" axis="1 0 0" frictionloss="2" '
        f'solreffriction="{2 * step} 1"/>'
        '<geom size="0.1" mass="1.3" contype="0" conaffinity="0"/></body></body></worldbody>'
        '<tendon><fixed stiffness="7" springlength="0"><joint joint="belt" coef="1"/>'
        '<joint joint="block" coef="1"/></fixed></tendon>'
    )
    turned: list[float] = []
    before = [1.0]

    def each(model: Any, data: Any) -> None:
        if data.time == 0:
            data.qvel[0] = 0.2
            turned.clear()
        model.dof_frictionloss[1] = 2.0 if abs(data.qvel[1]) < 1e-3 else 1.1
        speed = data.qvel[0] + data.qvel[1]
        if before[0] > 0 >= speed:
            turned.append(data.time)
        before[0] = speed

    def error(found: Any) -> float:
        return abs(np.diff(turned).mean() / exact_belt() - 1) if len(turned) > 1 else np.nan

    return _mujoco(text, 20.0, step, each), error


def mujoco_stack(step: float, quick: bool) -> Run:
    h, count = 0.1, 2 if quick else BOXES
    bodies = "".join(
        f'<body pos="0 0 {h / 2 + i * h}"><freejoint/>'
        f'<geom type="box" size="0.1 0.1 {h / 2}" mass="1" friction="0.5"/></body>'
        for i in range(count)
    )
    touch = f'<default><geom solref="{2 * step} 1"/></default>'
    text = f'{touch}<worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody>'

    def error(found: Any) -> float:
        at = found[0].qpos.reshape(-1, 7)[:, :3]
        first = np.column_stack([np.zeros((count, 2)), h / 2 + h * np.arange(count)])
        return float(np.abs(at - first).max()) / h

    return _mujoco(text, 10.0, step), error


def mujoco_discs(step: float, quick: bool) -> Run:
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
    run = _mujoco(text, 0.2 if quick else 2.0, step)
    return run, lambda found: -found[1] / R


# -- Exudyn: springs that only push, and friction that is steep about zero ------------------------


def _exudyn(
    build: Callable[[Any, Any], int],
    span: float,
    step: float,
    explicit: bool = False,
    many: bool = False,
) -> Callable[[], Any]:
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
        kinds = exu.DynamicSolverType
        if many:
            settings.timeIntegration.explicitIntegration.computeMassMatrixInversePerBody = True
            settings.solutionSettings.sensorsWritePeriod = span / 100
        system.SolveDynamic(settings, solverType=kinds.RK44 if explicit else kinds.GeneralizedAlpha)
        return system.GetSensorStoredData(sensor)

    return run


def _known(system: Any, items: Any) -> int:
    """Return the node in which a connector keeps what it remembers."""
    return system.AddNode(
        items.NodeGenericData(numberOfDataCoordinates=3, initialCoordinates=[1.0, 0.0, 0.0])
    )


def _watched(items: Any, node: int, rates: bool = False) -> Any:
    import exudyn as exu  # pyright: ignore[reportMissingImports]

    kinds = exu.OutputVariableType
    kind = kinds.Coordinates_t if rates else kinds.Coordinates
    return items.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=kind)


def exudyn_ball(step: float, quick: bool) -> Run:
    stiff = (0.1 / step) ** 2

    def build(system: Any, items: Any) -> int:
        ball = system.AddNode(items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[1.0]))
        system.AddObject(items.Mass1D(nodeNumber=ball, physicsMass=1.0))
        at = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=ball, coordinate=0))
        ground = system.AddNode(items.NodePointGround())
        fixed = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
        system.AddLoad(items.LoadCoordinate(markerNumber=at, load=-G))
        system.AddObject(items.ObjectConnectorCoordinateSpringDamperExt(
            markerNumbers=[fixed, at], nodeNumber=_known(system, items), useLimitStops=True,
            limitStopsLower=0.0, limitStopsUpper=1e3, limitStopsStiffness=stiff,
            limitStopsDamping=2 * _LOSS * np.sqrt(stiff),
        ))  # fmt: skip
        return system.AddSensor(_watched(items, ball))

    return _exudyn(build, 1.0, step), lambda found: abs(found[-1, 1] - exact_ball(1.0))


def exudyn_belt(step: float, quick: bool) -> Run:
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
            exponentialDecayStatic=step, frictionProportionalZone=0.1 * step,
        ))  # fmt: skip
        return system.AddSensor(_watched(items, block, rates=True))

    def error(found: Any) -> float:
        t, v = found[:, 0], found[:, 1]
        down = np.flatnonzero((v[:-1] > 0) & (v[1:] <= 0))
        return abs(np.diff(t[down]).mean() / exact_belt() - 1)

    return _exudyn(build, 20.0, step), error


def _loss_of_a_push() -> float:
    """Return the damping with which a spring that never pulls gives back the share BACK."""

    def given_back(z: float) -> float:
        w = np.sqrt(1 - z**2)
        return float(np.exp(-z / w * (np.pi - np.arctan2(2 * z * w, 1 - 2 * z**2))))

    return float(brentq(lambda z: given_back(z) - BACK, 1e-6, 0.9))  # pyright: ignore


def exudyn_woodpecker(step: float, quick: bool) -> Run:
    # No item has gaps that are linear in angles: contacts are a function that the user writes.
    from examples import woodpecker as toy

    lM, lG, lS = toy.lM, toy.lG, toy.lS
    M = np.diag([toy.mS + toy.mM, toy.JM, toy.JS])
    arms = np.array([1.0, lM, lG])
    M += toy.mS * (np.outer(arms, arms) - np.diag([1.0, 0, 0]))
    spring = toy.SPRING * np.array([[0, 0, 0], [0, 1, -1], [0, -1, 1]])
    weight = -G * np.array([toy.mS + toy.mM, toy.mS * lM, toy.mS * lG])
    open_ = (lM + lG - lS - toy.rO, toy.rM - toy.rO, toy.rM - toy.rO)
    gaps = np.array([[0, 0, -toy.hS], [0, toy.hM, 0], [0, -toy.hM, 0]])
    slips = np.array([[1, lM, lG - lS], [1, toy.rM, 0], [1, toy.rM, 0]])
    heavy = 1 / np.einsum("ij,jk,ik->i", gaps, np.linalg.inv(M), gaps)
    stiff = heavy * (0.3 / step) ** 2
    damping = 2 * np.array([_loss_of_a_push(), 1, 1]) * np.sqrt(stiff * heavy)
    slow = 1e3 * step

    def force(system: Any, t: float, item: int, q: Any, v: Any) -> Any:
        q, v = np.asarray(q), np.asarray(v)
        gap = gaps @ q + open_
        push = np.where(gap < 0, np.maximum(-stiff * gap - damping * (gaps @ v), 0.0), 0.0)
        rub = -toy.ROUGH * push * np.clip(slips @ v / slow, -1, 1)
        return push @ gaps + rub @ slips + weight - spring @ q

    def build(system: Any, items: Any) -> int:
        start = {str(k): v for k, v in toy.START.items()}
        names = ("y", "sleeve", "bird")
        node = system.AddNode(items.NodeGenericODE2(
            numberOfODE2Coordinates=3, referenceCoordinates=[0.0] * 3,
            initialCoordinates=[start.get(n, 0.0) for n in names],
            initialCoordinates_t=[start.get(f"{n}.dot", 0.0) for n in names],
        ))  # fmt: skip
        system.AddObject(items.ObjectGenericODE2(
            nodeNumbers=[node], massMatrix=M, forceUserFunction=force,
        ))  # fmt: skip
        return system.AddSensor(_watched(items, node))

    def error(found: Any) -> float:
        closed = open_[0] - toy.hS * found[:, 3] < 0
        pecks = found[1:, 0][~closed[:-1] & closed[1:]]
        # What rebounds within a hundredth of a second is one peck.
        first = pecks[np.diff(pecks, prepend=-1.0) > 0.01]
        return abs(first[1] / PECK - 1) if len(first) > 1 else np.nan

    return _exudyn(build, 0.25, step, explicit=True), error


def _contact(system: Any, friction: float, box: tuple[Any, Any], cells: list[int]) -> Any:
    made = system.AddGeneralContact()
    made.SetFrictionPairings(friction * np.eye(1))
    made.frictionProportionalZone = 1e-3
    made.SetSearchTreeBox(*box)
    made.SetSearchTreeCellSize(numberOfCells=cells)
    return made


def _level(x: tuple[float, float], y: tuple[float, float], z: float) -> tuple[Any, Any]:
    """Return two triangles that look upwards."""
    points = [[x[0], y[0], z], [x[1], y[0], z], [x[1], y[1], z], [x[0], y[1], z]]
    return points, [[0, 1, 2], [0, 2, 3]]


def exudyn_discs(step: float, quick: bool) -> Run:
    count = 12 if quick else DISCS
    begin, width = places(count)
    stiff = 0.1 / step**2
    damping = 0.3 * np.sqrt(stiff)
    high = float(begin[:, 1].max()) + 1.0
    nodes: list[int] = []

    def build(system: Any, items: Any) -> int:
        nodes.clear()
        box = ([-0.5, -0.2, -0.5], [width + 0.5, 0.2, high])
        cells = max(4, int(np.sqrt(count)))
        near = _contact(system, 0.0, box, [cells, 1, cells])
        ground = system.AddObject(items.ObjectGround())
        base = system.AddMarker(items.MarkerBodyRigid(bodyNumber=ground))
        floor = _level((-0.2, width + 0.2), (-0.2, 0.2), 0.0)
        left = [[0, -0.2, -0.2], [0, 0.2, -0.2], [0, 0.2, high], [0, -0.2, high]]
        right = [[width, y, z] for _, y, z in left]
        for points, faces in (
            floor,
            (left, [[0, 1, 2], [0, 2, 3]]),
            (right, [[0, 2, 1], [0, 3, 2]]),
        ):
            near.AddTrianglesRigidBodyBased(base, stiff, damping, 0, points, faces, True)
        for a, b in begin:
            node = system.AddNode(items.NodePoint(referenceCoordinates=[a, 0.0, b]))
            body = system.AddObject(items.MassPoint(nodeNumber=node, physicsMass=1.0))
            at = system.AddMarker(items.MarkerBodyPosition(bodyNumber=body))
            system.AddLoad(items.LoadMassProportional(
                markerNumber=system.AddMarker(items.MarkerBodyMass(bodyNumber=body)),
                loadVector=[0, 0, -G],
            ))  # fmt: skip
            near.AddSphereWithMarker(at, R, stiff, damping, 0)
            nodes.append(node)
        kept = dict(storeInternal=True, sensorNumbers=[], factors=[],
                    sensorUserFunction=lambda system, t, *_: [deepest(system)])  # fmt: skip
        return system.AddSensor(items.SensorUserFunction(**kept))

    def deepest(system: Any) -> float:
        from scipy.spatial import cKDTree

        q = system.systemData.GetODE2Coordinates().reshape(-1, 3)[:, [0, 2]] + begin
        pairs = cKDTree(q).query_pairs(2 * R, output_type="ndarray")
        apart = np.linalg.norm(q[pairs[:, 0]] - q[pairs[:, 1]], axis=1) if len(pairs) else [2 * R]
        walls = min(q[:, 1].min(), q[:, 0].min(), (width - q[:, 0]).min()) - R
        return float(min(np.min(apart) - 2 * R, walls, 0.0))

    span = 0.2 if quick else 2.0
    run = _exudyn(build, span, step, explicit=True, many=True)
    return run, lambda found: float(-found[:, 1].min()) / R
