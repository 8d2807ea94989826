"""Systems of many kinds, with a start: what a page must move as `simulate` does."""

from collections.abc import Callable
from typing import Any

import numpy as np

import stationary as st

Case = tuple[st.System, dict[str, Any]]
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


@case
def pendulum() -> Case:
    theta, (m, L, g) = st.coordinates("theta"), st.parameters(m=1.0, L=1.0, g=9.81)
    bob = (L * st.sin(theta), -L * st.cos(theta))
    return st.particle(m, at=bob, gravity=g), {"start": {theta: 2.0}}


@case
def double_pendulum() -> Case:
    a, b, (L, g) = *st.coordinates("a b"), st.parameters(L=1.0, g=9.81)
    P = (L * st.sin(a), -L * st.cos(a))
    Q = (P[0] + L * st.sin(b), P[1] - L * st.cos(b))
    system = st.particle(1.0, at=P, gravity=g) + st.particle(0.5, at=Q, gravity=g)
    return system, {"start": {a: 1.0, b: -0.5}}


@case
def held_by_a_rod() -> Case:
    x, y = st.coordinates("x y")
    system = st.particle(1.0, at=(x, y), gravity=9.8) + st.rod((0, 0), (x, y), 1.0)
    return system, {"start": {x: 0.6, y: -0.8}}


@case
def two_rods() -> Case:
    x, y, u, v = st.coordinates("x y u v")
    system = st.particle(1.0, at=(x, y), gravity=9.8) + st.particle(2.0, at=(u, v), gravity=9.8)
    system += st.rod((0, 0), (x, y), 1.0) + st.rod((x, y), (u, v), 0.5)
    return system, {"start": {x: 0.6, y: -0.8, u: 0.6, v: -1.3}}


@case
def redundant_rod() -> Case:
    x, y = st.coordinates("x y")
    twice = st.Constraint(x**2 + y**2 - 1, name="again")
    system = st.particle(1.0, at=(x, y), gravity=9.8) + st.rod((0, 0), (x, y), 1.0)
    return system + st.System(constraints=[twice]), {"start": {x: 0.6, y: -0.8}}


@case
def damped_and_driven() -> Case:
    x, (k, c) = st.coordinates("x"), st.parameters(k=3.0, c=0.2)
    system = st.System(
        kinetic=x.dot**2 / 2,
        potential=k * x**2 / 2 + x**4 / 4,
        dissipation=c * x.dot**2 / 2,
        loads=[st.Load(st.cos(2 * st.t), on=x)],
    )
    return system, {"start": {x: 1.0}}


@case
def steered_by_inputs() -> Case:
    x, (F, G) = st.coordinates("x"), st.inputs("F G")
    system = st.System(
        kinetic=x.dot**2 / 2, potential=x**2, loads=[st.Load(F, on=x), st.Load(G, on=x)]
    )
    return system, {"inputs": {F: 0.7, G: -x.dot / 5 + st.sin(st.t)}, "start": {x: 0.1}}


@case
def cart_and_pendulum() -> Case:
    x, theta = st.coordinates("x theta")
    bob = (x + st.sin(theta), -st.cos(theta))
    system = st.particle(2.0, at=(x, 0)) + st.particle(1.0, at=bob, gravity=9.81)
    system += st.spring(5.0, between=((0, 0), (x, 0)))
    return system, {"start": {theta: 1.0, x.dot: 0.3}}


@case
def bead_on_a_turning_hoop() -> Case:
    theta = st.coordinates("theta")
    T = (theta.dot**2 + 9 * st.sin(theta) ** 2) / 2
    system = st.System(kinetic=T, potential=-9.81 * st.cos(theta))
    return system, {"start": {theta: 0.4}}


@case
def kepler() -> Case:
    x, y = st.coordinates("x y")
    system = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=-1 / st.sqrt(x**2 + y**2))
    return system, {"start": {x: 1.0, y.dot: 1.1}}


@case
def moved_by_its_support() -> Case:
    x, y = st.coordinates("x y")
    ride = st.Constraint((x - 0.1 * st.sin(3 * st.t)) ** 2 + y**2 - 1, name="rod")
    system = st.particle(1.0, at=(x, y), gravity=9.81) + st.System(constraints=[ride])
    return system, {"start": {x: 0.0, y: -1.0, x.dot: 0.3}}


@case
def sleigh() -> Case:
    x, y, phi = st.coordinates("x y phi")
    blade = st.Pfaffian(st.sin(phi) * x.dot - st.cos(phi) * y.dot, name="blade")
    vx = x.dot - 0.3 * st.sin(phi) * phi.dot
    vy = y.dot + 0.3 * st.cos(phi) * phi.dot
    T = (vx**2 + vy**2) / 2 + 0.2 * phi.dot**2 / 2
    return st.System(kinetic=T, pfaffian=[blade]), {"start": {x.dot: 1.0, phi.dot: 0.4}}


@case
def four_bar() -> Case:
    a, b, c = st.coordinates("a b c")
    P = (st.cos(a), st.sin(a))
    Q = (P[0] + 2 * st.cos(b), P[1] + 2 * st.sin(b))
    end = [st.Constraint(Q[0] - 2 - 1.5 * st.cos(c)), st.Constraint(Q[1] - 1.5 * st.sin(c))]
    system = st.particle(1.0, at=P, gravity=9.81) + st.particle(0.5, at=Q, gravity=9.81)
    system += st.System(kinetic=0.1 * c.dot**2 / 2, constraints=end)
    return system, {"start": {a: 1.2, b: 0.3, c: 1.4}}


@case
def chain_of_springs() -> Case:
    q = st.coordinates("q", shape=(8, 1))
    system = st.System(
        kinetic=st.each(lambda v: v[0] ** 2 / 2, q.dot),
        potential=st.each(lambda a, b: (b[0] - a[0]) ** 2 + (b[0] - a[0]) ** 4 / 8, q[:-1], q[1:]),
    )
    return system, {"start": {q: np.sin(np.arange(8.0)).reshape(8, 1)}}


@case
def rope() -> Case:
    r = st.coordinates("r", shape=(7, 2))
    links = st.each(lambda a, b: (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - 0.01, r[:-1], r[1:])
    system = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda z: 9.81 * z[1], r),
        dissipation=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        constraints=[st.Constraint(r[0, 0]), st.Constraint(r[0, 1]), links],
    )
    down = np.column_stack([0.06 * np.arange(7), -0.08 * np.arange(7)])
    return system, {"start": {r: down}}


@case
def free_body() -> Case:
    R = st.rotation("R")
    body = st.body(1.0, inertia=(1.0, 2.0, 2.5), frame=st.Frame().turn(R))
    return body, {"start": {R.omega: (0.3, 1.0, 0.2)}}


@case
def top() -> Case:
    R = st.rotation("R")
    frame = st.Frame().turn(R)
    body = st.body(1.0, inertia=(0.2, 0.2, 0.05), frame=frame, at=(0, 0, 0.3), gravity=9.81)
    tilted = (np.cos(0.25), np.sin(0.25), 0, 0)
    return body, {"start": {R: tilted, R.omega: (0, 0, 30.0)}, "span": (0, 3)}


@case
def spherical_pendulum() -> Case:
    x, y, z = st.coordinates("x y z")
    system = st.particle(1.0, at=(x, y, z), gravity=9.81) + st.rod((0, 0, 0), (x, y, z), 1.0)
    return system, {"start": {x: 0.6, z: -0.8, y.dot: 1.5}}


@case
def string() -> Case:
    X, L = st.positions("X"), 1.0
    w = st.field("w", over=(X, 0, L))
    line = st.Continuum(
        kinetic=w.dot**2 / 2, potential=w.diff(X) ** 2 / 2, fixed={w.at(0): 0, w.at(L): 0}
    )
    return st.discretize(line, elements=8), {"start": {w: st.sin(st.pi * X) / 10}, "span": (0, 5)}


@case
def strange_functions() -> Case:
    x, y = st.coordinates("x y")
    U = st.sqrt(1 + x**2) + st.log(st.cosh(y)) + st.atan(x * y) ** 2 + st.exp(-((x - y) ** 2))
    return st.System(kinetic=(x.dot**2 + (1 + x**2) * y.dot**2) / 2, potential=U), {
        "start": {x: 0.7, y: -0.4}
    }


def rope_of_a_hundred() -> tuple[st.System, dict[Any, Any]]:
    """A hundred links, held at one end and let go level; and its start."""
    r = st.coordinates("r", shape=(101, 2))
    links = st.each(lambda a, b: (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - 1e-4, r[:-1], r[1:])
    rope = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda z: 9.81 * z[1], r),
        constraints=[st.Constraint(r[0, 0]), st.Constraint(r[0, 1]), links],
    )
    return rope, {r: np.column_stack([0.01 * np.arange(101), np.zeros(101)])}
