"""Rigid bodies in space against closed forms."""

import numpy as np
import pytest
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
