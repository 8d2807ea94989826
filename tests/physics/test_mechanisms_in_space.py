"""Mechanisms in space: joints against minimal coordinates, and reactions by name."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import stationary as st
from tests.solve.held import CUBE, bricards_motion

G = 9.81


def free(name):
    """The coordinates of a free body, its orientation, and its frame."""
    place = st.coordinates(f"x{name} y{name} z{name}")
    turned = st.rotation(f"R{name}")
    return tuple(place), turned, st.Frame().move(tuple(place)).turn(turned)


def turned_to(direction):
    """A rotation that takes z to a direction."""
    return Rotation.align_vectors([direction], [[0, 0, 1]])[0]


@pytest.mark.slow
def test_a_spatial_slider_crank_moves_as_in_its_only_freedom():
    """The crank of Haug's and IFToMM's example: its axis is at a right angle to the slide."""
    crank, rod, m1, m2, m3 = 0.08, 0.3, 0.12, 0.5, 2.0
    axle = st.Frame().move((0, 0.1, 0.12))
    theta = st.coordinates("theta")
    # In one freedom: the pin runs in a circle about x, the slider along x at the rod's length.
    pin = (0, 0.1 - crank * st.sin(theta), 0.12 + crank * st.cos(theta))
    slide = st.sqrt(rod**2 - pin[1] ** 2 - pin[2] ** 2)
    v, s = st.rate(pin), st.rate(slide)
    turning = m1 * crank**2 / 3 * theta.dot**2 / 2
    # A thin rod by the velocities of its ends.
    swinging = m2 / 6 * (v[1] ** 2 + v[2] ** 2 + s**2)
    one = st.System(
        kinetic=turning + swinging + m3 * s**2 / 2,
        potential=m1 * G * (pin[2] + 0.12) / 2 + m2 * G * pin[2] / 2,
    )
    arm = axle.turn("x", theta).move((0, 0, crank))
    (x2, y2, z2), R2, middle = free("2")
    x3 = st.coordinates("x3")
    block = st.Frame().move((x3, 0, 0))
    loop = st.body(m1, inertia=(m1 * crank**2 / 12, m1 * crank**2 / 12, 0), at=(0, 0, -crank / 2),
                   frame=arm, gravity=G)  # fmt: skip
    loop += st.body(m2, shape=st.Rod(rod), frame=middle, gravity=G)
    loop += st.body(m3, inertia=(1, 1, 1), frame=block)
    loop += st.joint("ball", arm, middle.move((0, 0, -rod / 2)), name="pin")
    # The spin of a thin rod is nobody's: a universal joint decides it.
    loop += st.joint("universal", block, middle.move((0, 0, rod / 2)), axis=("y", "x"), name="end")
    begin = np.array([0, 0.1, 0.2])
    far = np.sqrt(rod**2 - 0.1**2 - 0.2**2)
    along = np.array([far, 0, 0]) - begin
    turned = turned_to(along / rod)
    spun = turned * Rotation.from_euler(
        "z", np.arctan2(-(turned.apply([1, 0, 0])[1]), turned.apply([0, 1, 0])[1])
    )
    start = dict(zip((x2, y2, z2), begin + along / 2)) | {R2: spun, x3: far}
    span = {"span": (0, 2), "points": 21}
    # The rate of the only freedom makes the others follow.
    whole = st.simulate(loop, start=start | {theta.dot: 6.0}, **span)
    first = whole[theta.dot][0]
    alone = st.simulate(one, start={theta.dot: first}, **span)
    assert whole[theta] == pytest.approx(alone[theta], abs=1e-9)
    assert whole[x3] == pytest.approx(alone[slide], abs=1e-9)
    assert np.ptp(whole.energy) < 1e-11 * np.abs(whole.potential).max()


def test_a_hinge_carries_the_pendulum_of_the_library():
    """IFToMM A01: mass 1 on a rod of length 1 from the horizontal; the rod pulls 3 m g cos φ."""
    place, R, frame = free("")
    bob = st.body(1.0, inertia=(1e-3, 1e-3, 1e-3), frame=frame, gravity=G)
    bob += st.joint("hinge", st.Frame(), frame.move((1, 0, 0)), axis="y", name="pin")
    motion = st.simulate(bob, span=(0, 2), start={place[0]: -1.0}, points=41)
    x, z = motion[place[0]], motion[place[2]]
    # About a hinge it is a compound pendulum.
    turning = 1.0 + 1e-3
    square = 2 * G * -z / turning
    assert motion.lam["pin.force"].shape == (41, 3)
    along = np.column_stack([-x, np.zeros(41), -z])
    pull = np.sum(motion.lam["pin.force"] * along, axis=1)
    assert pull == pytest.approx(square + G * -z, abs=1e-9)
    assert motion.lam["pin.moment"] == pytest.approx(np.zeros((41, 2)), abs=1e-9)
    assert np.abs(motion[place[1]]).max() < 1e-12


def test_a_weld_carries_weight_and_moment():
    place, R, frame = free("")
    beam = st.body(2.0, shape=st.Rod(1.0, "x"), frame=frame, gravity=G)
    wall = st.joint("weld", st.Frame(), frame.move((-0.5, 0, 0)), name="wall")
    rest = st.statics(beam + wall, start={place[0]: 0.5})
    assert rest.lam["wall.force"] == pytest.approx([0, 0, 2 * G], abs=1e-9)
    assert rest.lam["wall.moment"] == pytest.approx([0, -G, 0], abs=1e-9)


@pytest.mark.parametrize("kind, freedoms", [
    ("ball", 3), ("hinge", 1), ("slide", 1), ("cylinder", 2), ("universal", 2), ("planar", 3),
    ("weld", 0),
])  # fmt: skip
def test_joints_leave_the_freedoms_that_they_should(kind, freedoms):
    _, R, frame = free("")
    rng = np.random.default_rng(3)
    ground = st.Frame().move((0.1, 0.2, 0.3)).turn(Rotation.random(random_state=4))
    joint = st.joint(kind, ground, frame)
    body = st.body(1.0, inertia=(1, 2, 2.5), frame=frame)
    turned = Rotation.from_matrix(np.array(ground.matrix, dtype=float))
    start = {"x": 0.1, "y": 0.2, "z": 0.3, R: turned, R.omega: rng.normal(size=3)}
    state = st.consistent(body + joint, start | {"x.dot": 1.0})
    assert 7 - len(state.rows) == freedoms


def test_a_moment_turns_as_much_as_it_works():
    """About an axis of the body that stays where it is, a constant moment spins up linearly."""
    R = st.rotation("R")
    frame = st.Frame().turn(R)
    twist = st.moment(tuple(3 * e for e in frame.axis("z")), on=frame)
    motion = st.simulate(
        st.body(1, inertia=(1, 1, 1.5), frame=frame) + twist,
        span=(0, 2), start={R: Rotation.random(random_state=2)}, points=5,
    )  # fmt: skip
    assert motion[R.omega][:, 2] == pytest.approx(2 * motion.t, abs=1e-10)
    assert motion[R.omega][:, :2] == pytest.approx(np.zeros((5, 2)), abs=1e-10)


@pytest.mark.slow
def test_bricards_mechanism_in_angles_moves_as_by_its_corners():
    """IFToMM's overconstrained loop: five unit rods, six hinges at right angles to each other."""
    edges = np.roll(CUBE, -1, axis=0) - CUBE
    axes = [tuple(np.cross(edges[k - 1], edges[k])) for k in range(6)]
    # The corners' y looks up.
    ground = st.Frame().turn("x", st.pi / 2)
    frame, bodies, corners = ground.move(tuple(CUBE[1])), [], []
    for k, angle in zip(range(1, 6), st.coordinates("a1 a2 a3 a4 a5")):
        frame = frame.turn(axes[k], angle)
        spread = (np.eye(3) - np.outer(edges[k], edges[k])) / 12
        bodies.append(st.body(1.0, inertia=spread, at=tuple(edges[k] / 2), frame=frame, gravity=G))
        frame = frame.move(tuple(edges[k]))
        corners.append(frame.origin)
    closed = ground.move(tuple(CUBE[0]))
    loop = sum(bodies[1:], bodies[0]) + st.joint("hinge", closed, frame, axis=axes[0], name="end")
    motion = st.simulate(loop, span=(0, 3), start={}, points=31)
    assert motion.redundant and motion.status == "done"
    assert np.abs(motion.violations).max() < 1e-12
    assert np.ptp(motion.energy) < 1e-11 * np.abs(motion.potential).max()
    by_corners = bricards_motion(range(19))
    assert motion[corners[1][2]] == pytest.approx(by_corners["py3"], abs=1e-8)


def test_springs_and_dampers_join_frames():
    """A mass on three springs at right angles swings at the rate of each, and is damped by one."""
    place, R, frame = free("")
    k, c = (4.0, 9.0, 16.0), 0.1
    body = st.body(1.0, inertia=(1, 1, 1), frame=frame)
    far = 1e6
    for axis, stiffness in zip(np.eye(3), k):
        end = st.Frame().move(tuple(far * axis))
        body += st.spring(stiffness, between=(end, frame), rest=far)
    body += st.damper(c, between=(st.Frame().move((far, 0, 0)), frame))
    lin = st.linearize(body, at={})
    swing = np.sort(np.abs(lin.eigenvalues[np.abs(lin.eigenvalues) > 1e-3]))[::2]
    assert swing == pytest.approx([2, 3, 4], rel=1e-5)
    assert np.min(np.real(lin.eigenvalues)) == pytest.approx(-c / 2, rel=1e-5)
    flat = st.Frame().move(st.coordinates("u v")).turn(st.coordinates("phi"))
    spring = st.spring(1, between=((0, 0), flat))
    assert {s.name for s in spring.coordinates} == {"u", "v"}
