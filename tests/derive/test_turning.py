"""The derivation of bodies in space is told by angular velocities."""

import stationary as st

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
