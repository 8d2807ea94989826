"""The derivation of bodies in space is told by angular velocities."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.lower.kernel import graph_of
from stationary.model.space.rotation import body_rates

R = st.rotation("R")
A, C, m, g, length = st.parameters("A C m g l")


def test_a_top_is_told_by_eulers_equations():
    top = st.body(m, inertia=(A, A, C), at=(0, 0, length), frame=st.Frame().turn(R), gravity=g)
    text = st.equations(top).explain()
    assert "R_{w}" not in text
    assert r"U &= R_{zz} g l m" in text
    # The third axis is one of symmetry, and gravity turns about the other two.
    assert r"\dot{\omega}_z C &= 0" in text
    assert r"&= R_{zy} g l m" in text
    assert r"&= - R_{zx} g l m" in text
    assert r"\omega_{y} \omega_{z} \left(- A + C - l^{2} m\right)" in text


def test_constraints_and_moments_have_their_place():
    x, y, z = st.coordinates("x y z")
    frame = st.Frame().move((x, y, z)).turn(R)
    body = st.body(m, inertia=(A, A, C), frame=frame, gravity=g)
    tau = st.inputs("tau")
    body += st.moment(tuple(tau * e for e in frame.axis("z")), on=frame)
    body += st.System(constraints=[st.Constraint(z, name="table")])
    text = st.equations(body).explain()
    assert "R_{w}" not in text
    assert r"\dot{\omega}_z C" in text and r"&= \tau" in text
    assert r"m \ddot{z} &= - g m + \lambda_{\mathrm{table}}" in text


@pytest.mark.slow
def test_what_is_conserved_is_written_by_angular_velocities():
    frame = st.Frame().move(st.coordinates("x y z")).turn(R)
    report = st.check(st.body(2.0, inertia=(1, 2, 3), frame=frame, gravity=9.81))
    energy = "R.omega.x**2/2 + R.omega.y**2 + 3*R.omega.z**2/2 + x.dot**2 + y.dot**2 + z.dot**2"
    assert "R_w" not in report["energy"].text
    found = report["energy"].text.removeprefix("T + U = ").removesuffix(" is conserved")
    stand = {"R.omega.": "w", ".dot": "_dot"}
    for name, short in stand.items():
        found, energy = found.replace(name, short), energy.replace(name, short)
    assert (sp.sympify(found) - sp.sympify(energy + " + 19.62*z")).expand() == 0
    # Of a rod whose centre is off the place that moves the momentum has a part that turns.
    rod = st.body(2.0, inertia=(1, 2, 3), frame=frame, at=(0, 0, 0.5))
    along = "'x' with conserved momentum -R.omega.x*R.xy + R.omega.y*R.xx + 2*x.dot"
    assert along in st.check(rod)["cyclic"].text


def test_equations_are_printed_by_angular_velocities():
    top = st.body(m, inertia=(A, A, C), at=(0, 0, length), frame=st.Frame().turn(R), gravity=g)
    eq = st.equations(top)
    assert "  R.z: R.omega.z.dot*C = 0\n" in str(eq) and "R_w" not in str(eq)
    assert r"\dot{\omega}_z C &= 0" in eq.latex() and "R_{w}" not in eq.latex()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["disc", "swinging"])
def test_what_is_told_is_what_happens(kind):
    """Left and right sides agree in the accelerations and forces that the graph finds."""
    x, y, z = st.coordinates("x y z")
    frame, at = st.Frame().move((x, y, z)).turn(R), (0, 0.1 * (kind != "disc"), 0)
    system = st.body(1.3, inertia=(0.2, 0.3, 0.4), at=at, frame=frame, gravity=9.81)
    system += st.System(dissipation=sum(w**2 for w in R.omega) / 3)
    if kind == "swinging":
        system += st.joint("hinge", st.Frame(), frame.move((0.1, 0, 0.5)), axis="x", name="pin")
    else:
        system += st.rolling(kind, frame, radius=0.5, name="it")
    rng, graph = np.random.default_rng(1), graph_of(system)
    turned = st.equations(system).turned
    assert turned is not None
    names = [c.name for c in system.coordinates]
    rows = tuple(range(graph.layout.multipliers))
    q = graph.layout.kinematics.onto(rng.normal(size=7))
    G = graph.layout.kinematics.rates(q)
    v = G @ rng.normal(size=6)
    a, lam, _ = (np.array(e).ravel() for e in graph.held(rows, (), (0,) * 7)(0, q, v, [], [], 0.0))
    four = graph.layout.kinematics.quaternions[0]
    known = {c: q[names.index(c.name)] for c in turned.plain}
    known |= {c.dot: v[names.index(c.name)] for c in turned.plain}
    known |= {c.ddot: a[names.index(c.name)] for c in turned.plain}
    known |= dict(zip((lam for lam, _, _ in turned.held), lam[graph.layout.stated]))
    (turn,) = turned.turns
    known |= dict(zip(turn.omega, body_rates(q[four], v[four])))
    known |= dict(zip(turn.rates, body_rates(q[four], a[four])))
    there = dict(zip(R.entries, q[four]))
    for symbols, entries in zip(turn.matrix, R.matrix):
        known |= {s: e.xreplace(there) for s, e in zip(symbols, entries)}
    assert len(turned.rows) == 6
    for _, left, right in turned.rows:
        assert float(left.subs(known)) == pytest.approx(float(right.subs(known)), abs=1e-9)
