"""Exudyn: mass points and distance constraints, index 2 by its implicit second-order solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.chain import GRAVITY, POINTS, Chain
from benchmarks.peers import Peer

STEPS = 20  # between two output times


def derive(chain: Chain) -> tuple[Any, list[int], Chain]:
    import exudyn as exu
    import exudyn.itemInterface as items

    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(items.ObjectGround())
    markers = [mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground))]
    sensors = []
    for x, y in chain.start():
        node = mbs.AddNode(items.NodePoint2D(referenceCoordinates=[x, y]))
        mbs.AddObject(items.ObjectMassPoint2D(physicsMass=chain.mass, nodeNumber=node))
        marker = mbs.AddMarker(items.MarkerNodePosition(nodeNumber=node))
        mbs.AddLoad(items.Force(markerNumber=marker, loadVector=[*(chain.mass * GRAVITY), 0]))
        markers.append(marker)
    if chain.closed:
        place = [*chain.support(), 0]
        markers.append(
            mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=ground, localPosition=place))
        )
    for a, b in zip(markers, markers[1:]):
        mbs.AddObject(items.ObjectConnectorDistance(markerNumbers=[a, b], distance=chain.link))
    mbs.Assemble()
    return (container, mbs), sensors, chain


def compile_(derived: Any):
    import exudyn as exu

    (_, mbs), _, chain = derived
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = chain.last
    settings.timeIntegration.numberOfSteps = STEPS * (POINTS - 1)
    settings.timeIntegration.newton.relativeTolerance = 1e-10
    settings.timeIntegration.newton.absoluteTolerance = 1e-12
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.generalizedAlpha.useIndex2Constraints = True
    settings.timeIntegration.generalizedAlpha.useNewmark = True
    settings.timeIntegration.verboseMode = 0
    settings.linearSolverType = exu.LinearSolverType.EigenSparse
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.solutionWritePeriod = chain.last / (POINTS - 1)
    system = mbs.systemData
    start = chain.start().ravel()
    states = [system.GetSystemState()]

    def run() -> np.ndarray:
        made: list[np.ndarray] = []

        def note(mbs: Any, t: float) -> bool:
            if len(made) * STEPS == note.calls:
                places = start + np.array(system.GetODE2Coordinates())
                made.append(np.concatenate([places, system.GetODE2Coordinates_t()]))
            note.calls += 1
            return True

        note.calls = 0
        system.SetSystemState(states[0])
        mbs.SetPreStepUserFunction(note)
        mbs.SolveDynamic(settings, showHints=False, showCausingItems=False)
        places = start + np.array(system.GetODE2Coordinates())
        made.append(np.concatenate([places, system.GetODE2Coordinates_t()]))
        return np.array(made)

    return run


PEERS = [
    Peer(
        "Exudyn, trapezoidal",
        ("exudyn",),
        derive,
        compile_,
        note="NodePoint2D, ConnectorDistance, index 2, 2000 steps of its implicit trapezoidal rule",
    )
]
