"""MuJoCo: masses on slides, held together by its soft equality constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.chain import GRAVITY, POINTS, Chain
from benchmarks.peers import Peer

# Steps between two output times, at least.
BETWEEN = 20
LONGEST = 2e-4


def derive(chain: Chain) -> tuple[str, Chain]:
    step = _step(chain)[0]
    # A spatial tendon through two sites measures a link; an equality holds its length.
    bodies, tendons, equalities = "", "", ""
    names = ["first"]
    for k, (x, y) in enumerate(chain.start()):
        bodies += (
            f'<body pos="{x!r} 0 {y!r}"><joint type="slide" axis="1 0 0"/>'
            f'<joint type="slide" axis="0 0 1"/><inertial pos="0 0 0" mass="{chain.mass!r}" '
            f'diaginertia="1e-9 1e-9 1e-9"/><site name="s{k}"/></body>'
        )
        names.append(f"s{k}")
    fixed = '<site name="first"/>'
    if chain.closed:
        x, y = chain.support()
        fixed += f'<site name="last" pos="{x!r} 0 {y!r}"/>'
        names.append("last")
    for k, (a, b) in enumerate(zip(names, names[1:])):
        tendons += f'<spatial name="t{k}"><site site="{a}"/><site site="{b}"/></spatial>'
        equalities += (
            f'<tendon tendon1="t{k}" solref="{2 * step!r} 1" solimp="0.9999 0.9999 0.001 0.5 1"/>'
        )
    return (
        f'<mujoco><option gravity="{GRAVITY[0]!r} 0 {GRAVITY[1]!r}" integrator="implicitfast" '
        f'timestep="{step!r}" tolerance="1e-12" iterations="200"><flag contact="disable"/></option>'
        f"<worldbody>{fixed}{bodies}</worldbody><tendon>{tendons}</tendon>"
        f"<equality>{equalities}</equality></mujoco>"
    ).replace("np.float64(", "").replace(")", ""), chain


def _step(chain: Chain) -> tuple[float, int]:
    apart = chain.last / (POINTS - 1)
    between = max(BETWEEN, int(np.ceil(apart / LONGEST)))
    return apart / between, between


def compile_(derived: Any):
    import mujoco

    text, chain = derived
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    between, start = _step(chain)[1], chain.start().ravel()

    def run() -> np.ndarray:
        mujoco.mj_resetData(model, data)
        made = np.empty((POINTS, 2 * len(start)))
        for k in range(POINTS):
            if k:
                mujoco.mj_step(model, data, between)
            made[k] = np.concatenate([start + data.qpos, data.qvel])
        return made

    return run


PEERS = [
    Peer(
        "MuJoCo, tendons",
        ("mujoco",),
        derive,
        compile_,
        note="soft constraints with the stiffest time constant that it allows, two steps",
    )
]
