"""Constrained systems that several tests share."""

import numpy as np
from scipy.optimize import minimize

import stationary as st
from stationary.lower.kernel import graph_of

cos, sin, sqrt = st.cos, st.sin, st.sqrt

G = 9.81


def pendulum(length=1.0, m=1.0, name="rod"):
    x, y = st.coordinates("x y")
    return st.particle(m, at=(x, y), gravity=G) + st.rod((0, 0), (x, y), length, name=name)


# -- the same motion in other coordinates ---------------------------------------------------------


def in_angles(count):
    """A chain of unit masses on unit links, by its angles from the downward vertical."""
    names = st.coordinates(" ".join(f"a{i}" for i in range(count)))
    angles = names if count > 1 else (names,)
    chain, at = st.System(coordinates=angles), (0, 0)
    for a in angles:
        at = (at[0] + sin(a), at[1] - cos(a))
        chain = chain + st.particle(1, at=at, gravity=G)
    return angles, chain


def in_positions(count):
    """The same chain by the positions of its masses, with a constraint for each link."""
    r = st.coordinates("r", shape=(count, 2))
    links = [st.Constraint(st.norm(r[0]) - 1, name="first")]
    if count > 1:
        links.append(st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link"))
    return r, st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: G * p[1], r),
        constraints=links,
    )


# -- stabilization --------------------------------------------------------------------------------


def moving_systems():
    """Holonomic, moving, Pfaffian and driven Pfaffian constraints, over x, y and z."""
    x, y, z = st.coordinates("x y z")
    kinetic = (1 + x**2) * x.dot**2 / 2 + 1.3 * y.dot**2 / 2 + 0.7 * z.dot**2 + x.dot * y.dot / 5
    potential = x * y + y * z**2 + sin(x)
    return (
        {
            "holonomic": dict(constraints=[x**2 + y * z - 1]),
            "moving": dict(constraints=[x**2 + y * sin(z) - cos(2 * st.t)]),
            "pfaffian": dict(pfaffian=[x.dot * sin(z) - y.dot * cos(z)]),
            "driven": dict(pfaffian=[x.dot * y + z.dot - x * sin(st.t)]),
            "both": dict(
                constraints=[x**2 + y * z - st.t], pfaffian=[x.dot * y + z.dot - cos(st.t)]
            ),
        },
        kinetic,
        potential,
    )


def ball_on_turntable(spin, t_end):
    """A ball that rolls on a turntable; wx and wy stand for the integrals of its rates of turning.

    The inertia of a ball is the same about every axis, so that these quasi-coordinates will do.
    """
    x, y, wx, wy = st.coordinates("x y wx wy")
    m, r = 0.6, 0.25
    ball = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + 2 / 5 * m * r**2 * (wx.dot**2 + wy.dot**2) / 2,
        pfaffian=[
            st.Pfaffian(
                (x.dot - r * wy.dot + spin * y, y.dot + r * wx.dot - spin * x), name="rolling"
            )
        ],
    )
    start = {x: 0.5, y: 0.1, x.dot: 0.3, y.dot: -0.2}
    now = float(spin.subs(st.t, 0)) if hasattr(spin, "subs") else spin
    start |= {wy.dot: (0.3 + now * 0.1) / r, wx.dot: -(-0.2 - now * 0.5) / r}
    return st.simulate(ball, span=(0, t_end), start=start, repair=False)


# -- consistent starts ----------------------------------------------------------------------------


def uneven():
    """Two unequal masses with coupled inertia, on a link and a curve."""
    x, y, z, w = q = st.coordinates("x y z w")
    system = st.System(
        kinetic=0.5 * x.dot**2 + 2.0 * y.dot**2 + 0.1 * z.dot**2 + 1.5 * w.dot**2
        + 0.3 * x.dot * y.dot - 0.2 * z.dot * w.dot,
        constraints=[
            st.Constraint(sqrt((x - z) ** 2 + (y - w) ** 2) - 1, name="link"),
            st.Constraint(y - x**2 / 2, name="curve"),
        ],
    )  # fmt: skip
    M = np.array([[1, 0.3, 0, 0], [0.3, 4, 0, 0], [0, 0, 0.2, -0.2], [0, 0, -0.2, 3]])
    return q, system, M


def nearest(given, M):
    """The nearest state with R = 0 by brute force, and R and A of `uneven` as functions."""

    def R(p):
        return np.array([np.hypot(p[0] - p[2], p[1] - p[3]) - 1, p[1] - p[0] ** 2 / 2])

    def A(p):
        d = np.hypot(p[0] - p[2], p[1] - p[3])
        ex, ey = (p[0] - p[2]) / d, (p[1] - p[3]) / d
        return np.array([[ex, ey, -ex, -ey], [-p[0], 1, 0, 0]])

    found = minimize(
        lambda p: (p - given) @ M @ (p - given) / 2,
        given,
        jac=lambda p: M @ (p - given),
        constraints={"type": "eq", "fun": R, "jac": A},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return found.x, R, A


def parallelogram(third):
    x, y, z, w = st.coordinates("x y z w")
    system = (
        st.particle(1, at=(x, y), gravity=G)
        + st.particle(2, at=(z, w), gravity=G)
        + st.rod((0, 0), (x, y), 1, name="left")
        + st.rod((2, 0), (z, w), 1, name="right")
        + st.rod((x, y), (z, w), 2, name="coupler")
    )
    if third:
        middle = (x + (z - x) / 4, y + (w - y) / 4)
        system = system + st.rod((0.5, 0), middle, 1, name="third")
    return system


CUBE = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)


def bricard(order):
    """Bricard's mechanism: six unit bars along the edges of a cube, hinges along the third edge.

    A bar i joins the points i and i + 1; its hinges have unit axes, at right angles to the bar and
    to each other. Counting says that it is rigid: 24 unknowns, 24 conditions. It moves. The axes
    have no mass. Bar 0 is the ground.
    """
    edges = np.roll(CUBE, -1, axis=0) - CUBE
    points, axes = [tuple(CUBE[0]), tuple(CUBE[1])], []
    normals = [np.cross(edges[i - 1], edges[i]) for i in range(6)]
    axes = [tuple(normals[0]), tuple(normals[1])]
    start = {}
    for i in range(2, 6):
        points.append(st.coordinates(f"px{i} py{i} pz{i}"))
        axes.append(st.coordinates(f"ux{i} uy{i} uz{i}"))
        start |= dict(zip(points[-1], CUBE[i])) | dict(zip(axes[-1], normals[i]))

    def dot(a, b):
        return sum(p * q for p, q in zip(a, b))

    kinetic, potential, rows = 0, 0, []
    for i in range(1, 6):
        a, b, u, v = points[i], points[(i + 1) % 6], axes[i], axes[(i + 1) % 6]
        da, db = ([st.rate(c) if c in start else 0 for c in point] for point in (a, b))
        # A uniform bar of mass 1.
        kinetic = kinetic + (dot(da, da) + dot(da, db) + dot(db, db)) / 6
        potential = potential + G * (a[1] + b[1]) / 2
        bar = [q - p for p, q in zip(a, b)]
        rows += [(f"length {i}", dot(bar, bar) - 1), (f"square {i}", (dot(bar, u), dot(bar, v)))]
        rows += [(f"twist {i}", dot(u, v))]
    rows += [(f"unit {i}", dot(axes[i], axes[i]) - 1) for i in range(2, 6)]
    system = st.System(
        kinetic=kinetic,
        potential=potential,
        constraints=[st.Constraint(rows[k][1], name=rows[k][0]) for k in order],
    )
    return system, start


def bricards_motion(order):
    system, start = bricard(order)
    assert graph_of(system).layout.multipliers == system.size == 24
    motion = st.simulate(system, span=(0, 3), start=start, points=31)
    assert len(motion.redundant) == 1
    # All 24 conditions hold, the dropped one too; with one degree of freedom they and the energy
    # determine the motion.
    assert motion.residual["R"] < 1e-13
    assert motion.residual["Rdot"] < 1e-12
    assert motion.residual["energy"] < 1e-12
    assert np.ptp(motion["py3"]) > 0.7
    return motion


def slack():
    """A bob on two rods with a massless joint between them: slack until they are straight."""
    x, y, z, w = st.coordinates("x y z w")
    return (
        st.rod((0, 0), (x, y), 1, name="upper")
        + st.rod((x, y), (z, w), 1, name="lower")
        + st.particle(1.0, at=(z, w), gravity=G)
    ), {x: 0.6, y: -0.8, z: 1.6, w: -0.8}
