"""Drake: bodies on planar joints with distance constraints, its discrete SAP solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.chain import GRAVITY, POINTS, Chain
from benchmarks.peers import Peer

STEPS = 20  # between two output times


def derive(chain: Chain) -> tuple[Any, Chain]:
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
    from pydrake.multibody.tree import PlanarJoint, SpatialInertia, UnitInertia

    plant = MultibodyPlant(chain.last / (POINTS - 1) / STEPS)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector([*GRAVITY, 0.0])
    point = SpatialInertia(chain.mass, np.zeros(3), UnitInertia(1e-4, 1e-4, 1e-4))

    def support(name: str, place: np.ndarray) -> Any:
        # A body welded to the world: a distance to the world itself crashes.
        body = plant.AddRigidBody(name, point)
        where = RigidTransform([*place, 0.0])
        plant.WeldFrames(plant.world_frame(), body.body_frame(), where)
        return body

    bodies = [support("first", np.zeros(2))]
    for k in range(chain.masses):
        body = plant.AddRigidBody(f"b{k}", point)
        plant.AddJoint(PlanarJoint(f"j{k}", plant.world_frame(), body.body_frame()))
        bodies.append(body)
    if chain.closed:
        bodies.append(support("last", chain.support()))
    here = np.zeros(3)
    for a, b in zip(bodies, bodies[1:]):
        plant.AddDistanceConstraint(a, here, b, here, chain.link)
    plant.Finalize()
    return plant, chain


def compile_(derived: Any):
    from pydrake.systems.analysis import Simulator

    plant, chain = derived
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    m, times = chain.masses, chain.times()
    start = np.zeros((2, m, 3))
    start[0, :, :2] = chain.start()

    def run() -> np.ndarray:
        context.SetTime(0.0)
        plant.SetPositionsAndVelocities(context, start.ravel())
        simulator.Initialize()
        made = np.empty((POINTS, 4 * m))
        for k, t in enumerate(times):
            simulator.AdvanceTo(t)
            state = plant.GetPositionsAndVelocities(context).reshape(2, m, 3)
            made[k] = state[:, :, :2].ravel()
        return made

    return run


PEERS = [
    Peer(
        "Drake, SAP",
        ("pydrake",),
        derive,
        compile_,
        note="PlanarJoint, AddDistanceConstraint, 2000 steps of its first-order solver",
    )
]
