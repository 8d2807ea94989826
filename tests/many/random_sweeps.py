"""Random systems, and sweeps over them, on which engines must agree."""

import numpy as np

import stationary as st
from stationary.many.design import as_design
from stationary.many.keep import as_keeps
from stationary.many.question import as_question


def system(random):
    """Return one to three coupled pendulums: damped, driven, or held by a rod, at random."""
    n = int(random.integers(1, 4))
    names = ["a", "b", "c"][:n]
    q = [st.coordinates(name) for name in names]
    m, k = st.parameters(m=float(random.uniform(0.5, 2)), k=float(random.uniform(0.5, 2)))
    kind = random.choice(["free", "damped", "driven", "held"])
    weights = random.uniform(0.5, 1.5, n)
    T = sum(w * m * x.dot**2 / 2 for w, x in zip(weights, q))
    for x, y in zip(q, q[1:]):
        T += 0.3 * m * st.cos(x - y) * x.dot * y.dot
    U = sum(k * (1 - st.cos(x)) + 0.1 * x**4 for x in q)
    U += sum(0.5 * k * (x - y) ** 2 for x, y in zip(q, q[1:]))
    more = {}
    if kind == "damped":
        more["dissipation"] = sum(0.1 * x.dot**2 for x in q)
    if kind == "driven":
        more["loads"] = [st.Load(0.5 * st.sin(2 * st.t), on=q[0])]
    if kind == "held" and n > 1:
        more["constraints"] = [q[0] + 0.5 * st.sin(q[1]) - 0.2]
    made = st.System(kinetic=T, potential=U, coordinates=q, **more)
    return made, q, m, k


def question(seed, **given):
    """Return a sweep of four runs with everything that can be kept."""
    random = np.random.default_rng(seed)
    made, q, m, k = system(random)
    x, y = q[0], q[-1]
    level = float(random.uniform(-0.3, 0.3))
    keep = {
        "end": (x, y.dot),
        "first": st.first(x - level),
        "down": st.first(x.dot + y - level, direction=-1),
        "most": st.most(abs(x.dot)),
        "least": st.least(x * y),
        "mean": st.mean(st.cos(x) * m),
        "way": st.values((x, y.dot), at=[0.0, 1.1, 3.0]),
    }
    over = {x: random.uniform(0.4, 1.2, 2), m: random.uniform(0.5, 2.0, 2)}
    given = {"span": (0, 3), "start": {y.dot: float(random.uniform(-1, 1))}} | given
    if random.random() < 0.3:
        given["events"] = [st.Event(x.dot - y + 1.5, terminal=True)]
        del keep["way"]
    return as_question(st.simulate, made, as_design(over), as_keeps(keep, "simulate", made), given)
