"""Rigid bodies in space against closed forms."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import stationary as st

x, y, z = st.coordinates("x y z")
R = st.rotation("R")
FREE = st.Frame().move((x, y, z)).turn(R)


@pytest.mark.slow
def test_a_free_body_tumbles_by_jacobis_functions_over_a_hundred_periods():
    I1, I2, I3 = inertia = np.array([1.0, 2.0, 3.0])
    body = st.body(1.0, inertia=tuple(inertia), frame=st.Frame().turn(R))
    # Close to the middle axis after a quarter of the period: Dzhanibekov's flips.
    E, L = 2.2 / 2, np.sqrt(2.2 * 2.05)
    A = np.sqrt((2 * E * I3 - L**2) / (I1 * (I3 - I1)))
    B = np.sqrt((2 * E * I3 - L**2) / (I2 * (I3 - I2)))
    C = np.sqrt((L**2 - 2 * E * I1) / (I3 * (I3 - I1)))
    rate = np.sqrt((I3 - I2) * (L**2 - 2 * E * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (2 * E * I3 - L**2) / ((I3 - I2) * (L**2 - 2 * E * I1))
    period = 4 * ellipk(m) / rate
    flip = st.Event(R.omega[1])
    motion = st.simulate(
        body, span=(0, 100 * period), start={R.omega: (A, 0.0, C)}, points=801, events=[flip]
    )
    assert motion.status == "done"
    sn, cn, dn, _ = ellipj(rate * np.remainder(motion.t, period), m)
    assert motion[R.omega] == pytest.approx(np.column_stack([A * cn, B * sn, C * dn]), abs=1e-9)
    momentum = motion[R].apply(motion[R.omega] * inertia)
    assert np.abs(momentum - momentum[0]).max() < 1e-12 * L
    assert np.ptp(motion.energy) < 1e-12 * E
    assert np.abs(np.linalg.norm(motion[R].as_quat(), axis=1) - 1).max() < 1e-15
    assert np.abs(motion.violations).max() < 2e-15
    half = motion.events[0][-3:] / (period / 2)
    assert half == pytest.approx(np.round(half), abs=1e-9)


@pytest.mark.slow
def test_a_ball_on_a_turntable_runs_in_circles_at_two_sevenths_of_its_rate():
    Omega, r = 1.3, 0.1
    table = st.Frame().turn("z", Omega * st.t)
    ball = st.body(2.0, shape=st.Sphere(r), frame=FREE, gravity=9.81)
    ball += st.rolling("sphere", FREE, radius=r, on=table, name="ball")
    start = {x: 0.5, z: r, x.dot: 0.2, y.dot: 0.1, R.omega: (0, 0, 0.3)}
    motion = st.simulate(ball, span=(0, 2 * np.pi / (2 / 7 * Omega)), start=start, points=51)
    place = np.column_stack([motion[x], motion[y]])
    assert place[-1] == pytest.approx(place[0], abs=1e-10)
    centre = (place[0] + place[25]) / 2
    away = np.linalg.norm(place - centre, axis=1)
    assert away == pytest.approx(np.full(51, away[0]), rel=1e-10)
    assert motion.lam["ball.normal"] == pytest.approx(np.full(51, 2 * 9.81), rel=1e-12)


@pytest.mark.slow
def test_a_ball_in_a_tube_goes_down_and_up_again():
    g, r, inner = 9.81, 0.1, 1.0
    ball = st.body(2.0, shape=st.Sphere(r), frame=FREE, gravity=g)
    ball += st.rolling("sphere", FREE, radius=r, on=lambda X, Y, Z: inner - st.sqrt(X**2 + Y**2))
    speed, path = 2.0, inner - r
    turn = speed / path
    swing = np.sqrt(2 / 7) * turn
    start = {x: path, y.dot: speed, R.omega: (0, 0, -speed / r)}
    motion = st.simulate(ball, span=(0, 2 * np.pi / swing), start=start, points=51)
    fall = -(5 / 2) * g / turn**2 * (1 - np.cos(swing * motion.t))
    assert motion[z] == pytest.approx(fall, abs=1e-10 * abs(fall).max())


def test_a_box_that_falls_on_a_corner_is_struck_by_newtons_law():
    """Without rebound: J = −(n·v)/(1/m + (r × n)·I⁻¹(r × n)) at the corner r."""
    edges, corner, gravity = np.array([0.4, 0.3, 0.2]), np.array([0.2, 0.15, -0.1]), 9.81
    x, y, z = st.coordinates("x y z")
    turned = st.rotation("R")
    frame = st.Frame().move((x, y, z)).turn(turned)
    box = st.body(1.0, shape=st.Box(tuple(edges)), frame=frame, gravity=gravity)
    gap = frame.point(tuple(corner))[2]
    box += st.System(contacts=[st.Contact(gap, restitution=0, name="floor")])
    start = {z: 1.0, turned.omega: (1.0, 0.0, 0.0)}
    motion = st.simulate(box, span=(0, 0.5), start=start, points=6)
    assert isinstance(motion, st.Touched)
    first = motion.changes[0]
    # It turns about an axis of its own until then.
    now = Rotation.from_euler("x", first.t)
    arm, up = now.apply(corner), np.array([0.0, 0.0, 1.0])
    assert 1 - gravity * first.t**2 / 2 + arm[2] == pytest.approx(0, abs=1e-12)
    moments = (np.sum(edges**2) - edges**2) / 12
    twist = np.cross(arm, up)
    answer = 1 + now.inv().apply(twist) ** 2 @ (1 / moments)
    speed = -gravity * first.t + np.cross([1.0, 0, 0], arm)[2]
    assert first.kind == "impact" and first.impulse == pytest.approx(-speed / answer, rel=1e-9)
    at = motion.at(motion.t[-1])
    assert isinstance(at[turned], Rotation) and abs(at[gap]) < 1e-12
