"""Random systems, and sweeps over them, on which engines must agree."""

import numpy as np

import stationary as st
from stationary.many.design import as_design
from stationary.many.keep import as_keeps
from stationary.many.question import as_question

KINDS = ("free", "damped", "driven", "held", "sampled", "pushed", "rods", "turned")


def pendulums(random, kind):
    """Return one to three coupled pendulums: damped, driven, held by a rod, or pushed."""
    n = int(random.integers(2 if kind == "held" else 1, 4))
    q = [st.coordinates(name) for name in ["a", "b", "c"][:n]]
    m, k = st.parameters(m=float(random.uniform(0.5, 2)), k=float(random.uniform(0.5, 2)))
    weights = random.uniform(0.5, 1.5, n)
    T = sum(w * m * x.dot**2 / 2 for w, x in zip(weights, q))
    for x, y in zip(q, q[1:]):
        T += 0.3 * m * st.cos(x - y) * x.dot * y.dot
    U = sum(k * (1 - st.cos(x)) + 0.1 * x**4 for x in q)
    U += sum(0.5 * k * (x - y) ** 2 for x, y in zip(q, q[1:]))
    more, given = {}, {}
    if kind == "damped":
        more["dissipation"] = sum(0.1 * x.dot**2 for x in q)
    if kind == "driven":
        more["loads"] = [st.Load(0.5 * st.sin(2 * st.t), on=q[0])]
    if kind in ("sampled", "pushed"):
        u = st.inputs("u")
        more["loads"] = [st.Load(u, on=q[-1])]
        given["inputs"] = {u: random.uniform(-1, 1, 7) if kind == "sampled" else 0.3}
    if kind == "held":
        held = [q[0] + 0.5 * st.sin(q[1]) - 0.2, q[-1] - 0.3 * q[0] ** 2 + 0.1]
        more["constraints"] = held[: n - 1]
    made = st.System(kinetic=T, potential=U, coordinates=q, **more)
    return made, q[0], q[-1], m, given


def rods(random):
    """Return two bobs that rods hold, in the plane, each by two places."""
    x, y, z, w = st.coordinates("x y z w")
    m = st.parameters(m=1.0)
    held = st.rod((0, 0), (x, y), 1.0) + st.rod((x, y), (z, w), float(random.uniform(0.6, 1.2)))
    made = st.particle(m, at=(x, y), gravity=2.0) + st.particle(0.7, at=(z, w), gravity=2.0) + held
    start = {y: -0.8, z: 1.3, w: float(random.uniform(-1.4, -0.9))}
    return made, x, w, m, {"start": start}


def turned(random):
    """Return a heavy body that turns in space about a point."""
    R = st.rotation("R")
    m = st.parameters(m=1.0)
    frame = st.Frame().turn(R)
    inertia = tuple(random.uniform(1.0, 1.6, 3))
    made = st.body(m, inertia=inertia, frame=frame.move((0.0, 0.0, 0.3)), gravity=3.0)
    x, _, z = frame.point((0.2, 0.1, 1.0))
    spin = random.uniform(-2, 2, (2, 3))
    return made, x, z, m, {"spins": spin, "omega": R.omega[0]}


def question(seed, *, events=True, **given):
    """Return a sweep of four runs with everything that can be kept."""
    random = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    if kind == "turned":
        made, x, y, m, more = turned(random)
        speed, other = more["omega"], y
        over = {"R.omega": more["spins"], m: random.uniform(0.5, 2.0, 2)}
        given = {"span": (0, 2)} | given
    else:
        made, x, y, m, more = rods(random) if kind == "rods" else pendulums(random, kind)
        speed, other = x.dot, y.dot
        over = {x: random.uniform(0.4, 0.8, 2), m: random.uniform(0.5, 2.0, 2)}
        if kind in ("sampled", "pushed") and seed % 3:
            (u,) = more["inputs"]
            kinds = {"sampled": [[0.0, 1.0, -1.0], ([-1, 0.7, 3.5], [0.2, 0.9, -0.5])],
                     "pushed": [0.5, -0.5]}  # fmt: skip
            over, more = {x: over[x], u: kinds[kind]}, {}
        start = {y.dot: float(random.uniform(-1, 1))} | more.pop("start", {})
        given = {"span": (0, 3), "start": start} | more | given
    level = float(random.uniform(-0.3, 0.3))
    keep = {
        "end": (x, other),
        "first": st.first(x - level),
        "down": st.first(speed + y - level, direction=-1),
        "most": st.most(abs(speed)),
        "least": st.least(x * y),
        "mean": st.mean(st.cos(x) * m),
        "way": st.values((x, other), at=[0.0, 1.1, 2.0]),
    }
    what = random.choice(["none", "stop", "bounce", "slow"]) if events else "none"
    if what == "stop":
        given["events"] = [st.Event(speed - y + 1.5, terminal=True)]
        del keep["way"]
    elif what != "none" and kind not in ("rods", "turned", "held"):
        factor, way = (-0.8, -1) if what == "bounce" else (0.9, 0)
        given["events"] = [
            st.Event(x - level, direction=way, action={x.dot: factor * x.dot}),
            st.Event(y - level - 2, terminal=True),
        ]
    return as_question(st.simulate, made, as_design(over), as_keeps(keep, "simulate", made), given)
