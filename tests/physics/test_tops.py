"""Tops and gyroscopes against closed forms and published numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stationary as st
from stationary.solve.gate.claims import findings

R = st.rotation("R")
A, C, M, G, L = 1.0, 0.6, 1.3, 9.81, 0.5
TOP = st.body(
    M, inertia=(A - M * L**2, A - M * L**2, C), at=(0, 0, L), frame=st.Frame().turn(R), gravity=G
)


def test_the_heavy_top_of_the_benchmark():
    """Géradin and Cardona's top, to the digits of a run with 80-bit numbers."""
    top = st.body(
        15, inertia=(0.234375, 0.46875, 0.234375), at=(0, 1, 0), frame=st.Frame().turn(R),
        gravity=9.81,
    )  # fmt: skip
    motion = st.simulate(top, span=(0, 1), start={R.omega: (0, 150, -4.61538)}, points=6)
    quaternion = motion[R].as_quat(scalar_first=True)
    for k, expected, omega in (
        (1, [-0.7082791529743126, 0.4387810881265819, 0.5457283961454177, 0.08939975282400501],
         [-2.691590912143409, 150.0, 4.917260989893994]),
        (5, [0.7329439806796637, -0.2782857193376127, 0.5318246113341626, -0.3201761427362493],
         [-0.8220781016827051, 150.0, -5.923291348117336]),
    ):  # fmt: skip
        same = np.sign(quaternion[k] @ expected)
        assert same * quaternion[k] == pytest.approx(expected, abs=1e-9)
        assert motion[R.omega][k] == pytest.approx(omega, abs=1e-8)


@pytest.mark.parametrize("precession", [1.0, 5.0])
def test_a_top_precesses_steadily_slow_and_fast(precession):
    tilt = 0.6
    # Both are roots of A cos θ Ω² − C ω₃ Ω + m g l = 0.
    spin = (M * G * L + A * np.cos(tilt) * precession**2) / (C * precession)
    turned = Rotation.from_euler("x", tilt)
    omega = turned.inv().apply([0, 0, precession])
    omega[2] = spin
    motion = st.simulate(TOP, span=(0, 2), start={R: turned, R.omega: omega}, points=9)
    axis = motion[R].apply([0, 0, 1])
    around = tilt * 0 + precession * motion.t - np.pi / 2
    expected = np.column_stack([np.sin(tilt) * np.cos(around), np.sin(tilt) * np.sin(around)])
    assert axis[:, :2] == pytest.approx(expected, abs=1e-11)
    assert axis[:, 2] == pytest.approx(np.full(9, np.cos(tilt)), abs=1e-11)


def test_a_top_nods_at_the_rate_of_its_effective_potential():
    tilt, precession = 0.6, 1.0
    spin = (M * G * L + A * np.cos(tilt) * precession**2) / (C * precession)
    about = A * np.sin(tilt) ** 2 * precession + C * spin * np.cos(tilt)

    def potential(theta):
        turn = about - C * spin * np.cos(theta)
        return turn**2 / (2 * A * np.sin(theta) ** 2) + M * G * L * np.cos(theta)

    h = 1e-3
    weights = np.array([-1, 16, -30, 16, -1]) / (12 * h**2)
    bend = weights @ potential(tilt + h * np.arange(-2, 3))
    turned = Rotation.from_euler("x", tilt)
    omega = turned.inv().apply([0, 0, precession])
    omega[:] = omega[0] + 1e-5, omega[1], spin
    up = (R @ (0, 0, 1))[2]
    event = st.Event(st.rate(up), direction=1)
    motion = st.simulate(TOP, span=(0, 8), start={R: turned, R.omega: omega}, events=[event])
    rates = 2 * np.pi / np.diff(motion.events[0])
    assert rates == pytest.approx(np.full(len(rates), np.sqrt(bend / A)), rel=1e-6)


def test_a_sleeping_top_wakes_below_its_limit():
    """ω² = 4 m g l A/C²."""
    limit = 2 * np.sqrt(A * M * G * L) / C
    for factor, stable in ((0.9, False), (0.999, False), (1.001, True), (1.2, True)):
        lin = st.linearize(TOP, at={R.omega: (0, 0, factor * limit)})
        assert (lin.stability == "marginally stable") is stable
    w = st.parameters(w=10.0)
    x, y, z = R.omega
    spinning = st.System(
        kinetic=A * (x**2 + y**2) / 2 + C * (z + w) ** 2 / 2,
        potential=M * G * L * (R @ (0, 0, 1))[2],
    )
    diagram = st.continuation(spinning, parameter=w, span=(5, 12), start={})
    (special,) = diagram.special
    assert special.kind == "hopf"
    assert special.parameter == pytest.approx(limit, rel=1e-9)


def test_a_hanging_top_has_three_freedoms_and_each_rest_once():
    found = st.equilibria(TOP, within={})
    assert len(found) == 2 and all(rest.family == 1 for rest in found)
    hanging = st.modes(TOP, at={R: Rotation.from_euler("x", np.pi)})
    swing = np.sqrt(M * G * L / A)
    assert hanging.frequencies == pytest.approx([0, swing, swing], abs=1e-9)
    assert len(st.linearize(TOP, at={R: (0, 1, 0, 0)}).eigenvalues) == 6


def test_foucaults_pendulum_turns_with_the_sine_of_the_latitude():
    turn, latitude = 1e-3, 0.9
    earth = st.Frame().turn("z", turn * st.t).turn("y", np.pi / 2 - latitude)
    u, v = st.coordinates("u v")
    bob = earth.move((u, v, 0))
    pendulum = st.System(kinetic=sum(e**2 for e in bob.drift) / 2, potential=(u**2 + v**2) / 2)
    # The plane of the swing is seen whenever the bob comes back to where it turns round.
    time = 2 * np.pi * 50
    motion = st.simulate(pendulum, span=(0, time), start={u: 1.0}, points=2)
    angle = np.arctan2(motion[v][-1], motion[u][-1])
    assert angle == pytest.approx(-turn * np.sin(latitude) * time, rel=1e-5)


def test_a_gyrocompass_swings_about_north():
    inertia, spin_inertia, spin, turn, latitude = 0.02, 0.03, 1000.0, 7.292e-5, 0.8
    north = st.Frame().turn("z", turn * st.t).turn("y", -latitude)
    # The first axis looks up, the third north: the rotor may turn about the first.
    heading = st.coordinates("heading")
    x, y, z = north.turn("x", heading).omega
    compass = st.System(kinetic=inertia * (x**2 + y**2) / 2 + spin_inertia * (z + spin) ** 2 / 2)
    ahead = turn * np.cos(latitude)
    square = (spin_inertia * (spin + ahead) * ahead - inertia * ahead**2) / inertia
    found = st.modes(compass, at={heading: 0.0})
    assert found.frequencies == pytest.approx([np.sqrt(square)], rel=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("share, unit", [(0.5, 1e-6), (0.25, 1.0), (0.4, 1e6)])
def test_a_wheel_rolls_upright_above_its_critical_speed(share, unit):
    """ω² = A m g r/(C (C + m r²)): v² = g r/4 for a hoop, g r/3 for a disc; Routh (1905)."""
    m, r, gravity = 1.3, 0.5 * unit, G * unit
    first, axial = share * m * r**2, (2 if share != 0.4 else 1.4) * share * m * r**2
    limit = np.sqrt(first * m * gravity * r / (axial * (axial + m * r**2)))
    x, y, z, yaw, lean, spin = st.coordinates("x y z yaw lean spin")
    inertia = (first, axial, first)

    def wheel(frame):
        return st.body(m, inertia=inertia, frame=frame, gravity=gravity) + st.rolling(
            "disc", frame, radius=r, axis="y"
        )

    place = st.Frame().move((x, y, z))
    by_angles = wheel(place.turn("z", yaw).turn("x", lean).turn("y", spin))
    by_rotation = wheel(place.turn(R))
    turned = Rotation.from_euler("ZY", [0.7, 1.1])
    ahead = np.cross(turned.apply([0, 1, 0]), [0, 0, 1])
    for factor, word in ((0.999, "unstable (saddle)"), (1.001, "marginally stable")):
        w = factor * limit
        one = st.linearize(by_angles, at={z: r, x.dot: w * r, spin.dot: w})
        way = {x.dot: ahead[0] * w * r, y.dot: ahead[1] * w * r}
        other = st.linearize(by_rotation, at={R: turned, R.omega: (0, w, 0), z: r, **way})
        assert one.stability == other.stability == word
        fastest = max(abs(one.eigenvalues))
        assert max(abs(other.eigenvalues)) == pytest.approx(fastest, rel=1e-6)
        wrong = replace(other, A=1.001 * other.A)
        assert any(not f.holds for f in findings(wrong)) and all(f.holds for f in findings(other))


@pytest.mark.parametrize("precession", [1.0, 5.0])
def test_small_motions_of_a_precessing_top_nod(precession):
    """The nutation frequency is that of the effective potential of the tilt."""
    tilt, h = 0.6, 1e-3
    spin = (M * G * L + A * np.cos(tilt) * precession**2) / (C * precession)
    about = A * np.sin(tilt) ** 2 * precession + C * spin * np.cos(tilt)
    theta = tilt + h * np.arange(-2, 3)
    energy = (about - C * spin * np.cos(theta)) ** 2 / (2 * A * np.sin(theta) ** 2)
    bend = np.array([-1, 16, -30, 16, -1]) / (12 * h**2) @ (energy + M * G * L * np.cos(theta))
    turned = Rotation.from_euler("x", tilt)
    omega = turned.inv().apply([0, 0, precession])
    omega[2] = spin
    lin = st.linearize(TOP, at={R: turned, R.omega: omega})
    assert lin.stability == "marginally stable"
    assert lin.frequencies == pytest.approx([np.sqrt(bend / A)], rel=1e-7)


def test_a_rotor_in_a_frame_holds_it_upright_above_its_limit():
    """Two rotations on one axle: (C ω)² = 4 I m g l, I of the frame and of the rotor across it."""
    S = st.rotation("S")
    frame, rotor = st.Frame().turn(R), st.Frame().turn(S)
    gyroscope = st.body(0.5, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0.1), frame=frame, gravity=G)
    gyroscope += st.body(1.0, inertia=(0.2, 0.2, 0.3), frame=rotor)
    gyroscope += st.joint("hinge", frame, rotor, axis="z", name="axle")
    limit = np.sqrt(4 * (0.1 + 0.5 * 0.1**2 + 0.2) * 0.5 * G * 0.1) / 0.3
    for factor, word in ((0.99, "unstable (flutter)"), (1.01, "marginally stable")):
        lin = st.linearize(gyroscope, at={S.omega: (0, 0, factor * limit)})
        assert lin.stability == word


@pytest.mark.parametrize("shape", [st.Sphere(0.2), st.Cylinder(0.2, 1.0, "y")])
def test_a_round_body_rolls_on_as_it_did(shape):
    x, y, z = st.coordinates("x y z")
    frame = st.Frame().move((x, y, z)).turn(R)
    kind = type(shape).__name__.lower()
    body = st.body(1.0, shape=shape, frame=frame, gravity=G)
    body += st.rolling(kind, frame, radius=0.2, axis="y", name="it")
    lin = st.linearize(body, at={z: 0.2, x.dot: 1.0, R.omega: (0, 5.0, 0)})
    assert lin.stability == "marginally stable"
    assert np.abs(np.real(lin.eigenvalues)).max() < 1e-6
