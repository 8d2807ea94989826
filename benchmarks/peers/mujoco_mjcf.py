"""MuJoCo: the pendulum as an MJCF model, recursive dynamics, RK4 at fixed steps."""

from __future__ import annotations

import numpy as np

from benchmarks import pendulum
from benchmarks.peers import Peer

# Steps between two output times. RK4 gains with the fourth power of the step until rounding
# takes over; more of them make the result worse.
FINEST = 100
USUAL = 5  # 2 ms, MuJoCo's default

# MuJoCo has no point masses: an inertia so small that it cannot be seen in double precision.
_INERTIA = "1e-14 1e-14 1e-14"


def derive(n: int) -> str:
    m, length, g = pendulum.PARAMETERS.values()
    inner = ""
    for k in reversed(range(n)):
        inner = (
            f'<body pos="0 0 {0 if k == 0 else -length}"><joint type="hinge" axis="0 -1 0"/>'
            f'<inertial pos="0 0 {-length}" mass="{m}" diaginertia="{_INERTIA}"/>'
            f"{inner}</body>"
        )
    return (
        f'<mujoco><option gravity="0 0 {-g}" integrator="RK4"><flag contact="disable" '
        f'constraint="disable" energy="disable"/></option><worldbody>{inner}</worldbody></mujoco>'
    )


def _compile(text: str, between: int):
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep = pendulum.LAST / (pendulum.POINTS - 1) / between
    data = mujoco.MjData(model)
    n = model.nq
    angles, speeds = np.split(pendulum.start(n), 2)
    made = np.empty((pendulum.POINTS, 2 * n))

    def run() -> np.ndarray:
        mujoco.mj_resetData(model, data)
        # Joints turn relative to the link before them.
        data.qpos[:], data.qvel[:] = np.diff(angles, prepend=0.0), np.diff(speeds, prepend=0.0)
        for k in range(pendulum.POINTS):
            if k:
                mujoco.mj_step(model, data, between)
            made[k, :n], made[k, n:] = data.qpos, data.qvel
        return np.hstack([np.cumsum(half, axis=1) for half in (made[:, :n], made[:, n:])])

    return run


def finest(text: str):
    return _compile(text, FINEST)


def usual(text: str):
    return _compile(text, USUAL)


PEERS = [
    Peer(
        "MuJoCo RK4, 0.1 ms",
        ("mujoco",),
        derive,
        finest,
        note="the step at which it is most accurate",
    ),
    Peer("MuJoCo RK4, 2 ms", ("mujoco",), derive, usual, variant=True, note="its default step"),
]
