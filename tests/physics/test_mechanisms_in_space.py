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


# Of each kind the directions of force and the axes of moment that it carries, in the axes of a.
CARRIED = {
    "ball": ("xyz", ""), "hinge": ("xyz", "xy"), "slide": ("xy", "xyz"), "cylinder": ("xy", "xy"),
    "universal": ("xyz", "z"), "planar": ("z", "xy"), "weld": ("xyz", "xyz"),
}  # fmt: skip


@pytest.mark.parametrize("kind", CARRIED)
def test_a_joint_carries_whatever_it_does_not_give_way_to(kind):
    """Pushed and twisted along what it holds, a body rests, and the joint pushes back as much."""
    unit, rng = 1e-3, np.random.default_rng(5)
    place, R, frame = free("")
    where, arm = unit * rng.normal(size=3), unit * rng.normal(size=3)
    turned = Rotation.random(random_state=6)
    a = st.Frame().move(tuple(where)).turn(turned)
    pushes, twists = (["xyz".index(e) for e in word] for word in CARRIED[kind])
    push, twist = np.zeros((2, 3))
    push[pushes], twist[twists] = rng.normal(size=len(pushes)), unit * rng.normal(size=len(twists))
    push, twist = turned.apply(push), turned.apply(twist)
    # The push acts beside the joint: what it turns by itself is taken off.
    lever = turned.apply(arm)
    system = st.body(1.0, inertia=(unit**2, 2 * unit**2, 2.5 * unit**2), frame=frame)
    system += st.System(loads=[st.Load(tuple(push), on=frame.point((0, 0, 0)))])
    system += st.moment(tuple(twist - np.cross(lever, push)), on=frame)
    system += st.joint(kind, a, frame.move(tuple(-arm)), name="it")
    at = dict(zip(place, where + lever)) | {R: turned}
    rest = st.statics(system, start=at, kind="any")
    assert rest[R].approx_equal(turned, atol=1e-9)
    seen = push if len(pushes) == 3 else turned.inv().apply(push)[pushes]
    back = np.ravel(rest.lam["it.force"])
    assert back == pytest.approx(-seen, abs=1e-9)
    if twists:
        moment = turned.inv().apply(twist)[twists]
        back = np.ravel(rest.lam["it.moment"])
        assert back == pytest.approx(-moment, abs=1e-9 * unit)


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


def test_springs_and_dampers_resist_turning():
    """Two bodies on a spring against turning: k(1/I + 1/J); angular momentum in space stays."""
    unit = 1e-6
    R, S, k, c = st.rotation("R"), st.rotation("S"), 5.0 * unit, 0.3 * unit
    one, other = st.Frame().turn(R), st.Frame().turn(S)
    pair = st.body(1.0, inertia=(unit, unit, unit), frame=one)
    pair += st.body(1.0, inertia=(2 * unit, 2 * unit, 2 * unit), frame=other)
    pair += st.spring(k, between=(one, other), about="all")
    found = st.modes(pair, at={}).frequencies
    assert found == pytest.approx([0, 0, 0, *[np.sqrt(7.5)] * 3], abs=1e-9)
    pair += st.damper(c, between=(one, other), about="all")
    assert np.min(np.real(st.linearize(pair, at={}).eigenvalues)) == pytest.approx(-0.225, rel=1e-6)
    start = {R.omega: (1, 2, 3), S: Rotation.random(random_state=1)}
    motion = st.simulate(pair, span=(0, 3), start=start, points=4)
    whole = motion[R].apply(motion[R.omega]) + motion[S].apply(2 * motion[S.omega])
    assert whole == pytest.approx(np.tile(whole[0], (4, 1)), abs=1e-12)
    # About one axis: k per radian, from an angle of its own, beside a hinge.
    hinge = st.body(1.0, inertia=(unit, unit, 2 * unit), frame=one)
    hinge += st.joint("hinge", st.Frame(), one, axis="z")
    hinge += st.spring(8 * unit, between=(st.Frame(), one), about="z", rest=2.5)
    rest = st.statics(hinge)
    assert rest[R].as_rotvec() == pytest.approx([0, 0, 2.5], abs=1e-9)
    assert rest.eigenvalues == pytest.approx([8 * unit], rel=1e-9)
    assert st.modes(hinge, at=rest).frequencies == pytest.approx([2.0], rel=1e-9)
    hinge += st.damper(unit, between=(st.Frame(), one), about="z")
    growth = np.real(st.linearize(hinge, at=rest).eigenvalues)
    assert growth == pytest.approx([-0.25] * 2, rel=1e-9)


@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()])
def test_a_torsion_spring_about_a_hinge_counts_from_minus_to_plus_half_a_turn(method):
    # From half a turn it goes on as fast from minus half a turn: sines of the same time, repeated.
    angle, rate, frequency = st.coordinates("angle"), 6.0, np.sqrt(0.5)
    flap = st.Frame().turn("z", angle)
    wheel = st.body(1.0, inertia=(1, 1, 1), frame=flap)
    wheel += st.spring(0.5, between=(st.Frame(), flap), about="z")
    motion = st.simulate(wheel, span=(0, 5), start={angle.dot: rate}, method=method)
    turn = 2 * np.arcsin(np.pi * frequency / rate) / frequency
    count = round(5 / turn)
    expected = 2 * np.pi * count + rate / frequency * np.sin(frequency * (5 - count * turn))
    assert motion.status == "done" and motion[angle][-1] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    "between, about, words",
    [
        ((st.Frame(), st.Frame()), "z", "has nothing to resist"),
        (((0, 0, 0), st.Frame()), "z", "joins two frames"),
        ((st.Frame(), st.Frame().turn(st.rotation("R"))), (0, 0, 0), "length zero"),
    ],
)
def test_springs_that_resist_nothing_are_told(between, about, words):
    for part in (st.spring, st.damper):
        with pytest.raises(st.StatementError) as error:
            part(1, between=between, about=about)
        assert words in str(error.value) and len(str(error.value).splitlines()) == 3


@pytest.mark.parametrize(
    "metre, kilogram, second",
    [(1e-6, 1, 1e-3), pytest.param(1e3, 1e3, 1, marks=pytest.mark.slow)],
)
def test_a_bicycle_has_the_published_small_motions(metre, kilogram, second):
    """Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463 (2007) 1955: the benchmark."""
    wheelbase, trail, tilt = 1.02 * metre, 0.08 * metre, np.pi / 10
    rear_radius, front_radius = 0.3 * metre, 0.35 * metre
    gravity, inertia = G * metre / second**2, kilogram * metre**2
    x, y, z, yaw, roll, pitch, steer, rear, front = st.coordinates(
        "x y z yaw roll pitch steer rear front"
    )
    frame = st.Frame().move((x, y, z)).turn("z", yaw).turn("x", roll).turn("y", pitch)
    body = np.array([[9.2, 0, -2.4], [0, 11, 0], [-2.4, 0, 2.8]]) * inertia
    fork = np.array([[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]]) * inertia
    # Places are told from the point where the rear wheel touches, and from where the axis of the
    # fork meets the ground.
    foot = frame.move((0, 0, -rear_radius))
    head = foot.move((wheelbase + trail, 0, 0)).turn((-np.sin(tilt), 0, np.cos(tilt)), steer)
    ahead = head.move((-wheelbase - trail, 0, 0))
    wheels = frame.turn("y", rear), ahead.move((wheelbase, 0, front_radius)).turn("y", front)
    parts = [
        (85, body.tolist(), (0.3, 0, 0.9), foot),
        (4, fork.tolist(), (0.9, 0, 0.7), ahead),
        (2, tuple(inertia * np.array([0.0603, 0.12, 0.0603])), (0, 0, 0), wheels[0]),
        (3, tuple(inertia * np.array([0.1405, 0.28, 0.1405])), (0, 0, 0), wheels[1]),
    ]
    bicycle = st.rolling("disc", wheels[0], radius=rear_radius, axis="y", name="rear")
    bicycle += st.rolling("disc", wheels[1], radius=front_radius, axis="y", name="front")
    for mass, matrix, place, on in parts:
        at = tuple(metre * c for c in place)
        bicycle += st.body(mass * kilogram, inertia=matrix, at=at, frame=on, gravity=gravity)
    # M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = 0 of lean and steer, as printed there.
    M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
    # It cannot fall over by itself between 4.292 and 6.024 m/s.
    words = {
        0.0: "saddle",
        1.0: "flutter",
        4.29: "flutter",
        4.2923826: "",
        5.0: "",
        6.02426: "",
        6.02427: "saddle",
    }
    for speed, grows in words.items():
        pace = speed * metre / second
        rates = {x.dot: pace, rear.dot: pace / rear_radius, front.dot: pace / front_radius}
        pull, drag = -np.linalg.solve(M, G * K0 + speed**2 * K2), -np.linalg.solve(M, speed * C1)
        A = np.block([[np.zeros((2, 2)), np.eye(2)], [pull, drag]])
        expected = np.sort_complex(np.linalg.eigvals(A))
        lin = st.linearize(bicycle, at={z: rear_radius, **rates}, states=[roll, steer])
        found = np.sort_complex(lin.eigenvalues * second)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-11)
        whole = st.linearize(bicycle, at={z: rear_radius, x.dot: pace})
        assert "e-" not in repr(whole).splitlines()[2] or metre < 1
        assert (grows in whole.stability) if grows else whole.stability == "marginally stable"
        assert (grows in lin.stability) if grows else lin.stability == "asymptotically stable"
    # To first order nothing pitches, rises or sinks, but for rounding.
    for state in (pitch, z):
        with pytest.raises(st.StatementError, match=f"'{state}' is no state of its own"):
            st.linearize(bicycle, at={z: rear_radius, x.dot: metre / second}, states=[state, steer])
    slips = {x.dot: metre / second, rear.dot: 1.03 * metre / second / rear_radius}
    with pytest.raises(st.StatementError, match="the operating point violates constraints"):
        st.linearize(bicycle, at={z: rear_radius, **slips})


def test_a_disc_rolls_on_curved_ground():
    """On a plane as on a plane; in a trough it swings with ω² = 2 g/(3(ρ − r))."""
    (x, y, z), R, frame = free("")
    r, deep, touch = 0.3, 1.0, st.coordinates("touch")
    disc = st.body(1.0, shape=st.Cylinder(r, 0, "y"), frame=frame, gravity=G)

    def on(surface):
        return disc + st.rolling(
            "disc", frame, radius=r, axis="y", on=surface, touch=touch, name="edge"
        )

    flat = disc + st.rolling("disc", frame, radius=r, axis="y", name="edge")
    start = {R: Rotation.from_euler("ZX", [0.3, 0.2]), R.omega: (0.3, 4.0, 0.5)}
    start |= {z: r * np.cos(0.2)}
    settings = {"span": (0, 1), "points": 6}
    expected = st.simulate(flat, start=start, **settings)
    found = st.simulate(on(lambda X, Y, Z: Z), start=start | {touch: np.pi / 2}, **settings)
    for e in (x, y, z):
        assert found[e] == pytest.approx(expected[e], abs=1e-10)
    assert found.lam["edge.normal"] == pytest.approx(expected.lam["edge.normal"], abs=1e-8)
    assert found.lam["edge.touch"] == pytest.approx(np.zeros(6), abs=1e-9)
    trough = on(lambda X, Y, Z: deep - st.sqrt(X**2 + Z**2))
    lin = st.linearize(trough, at={z: r - deep, touch: np.pi / 2})
    assert lin.frequencies == pytest.approx([np.sqrt(2 * G / (3 * (deep - r)))], rel=1e-9)
    with pytest.raises(st.StatementError, match="touches a curved surface at a point"):
        st.rolling("disc", frame, radius=r, on=lambda X, Y, Z: Z)


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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1.0, 1e9])
def test_a_hinged_rod_falls_in_as_few_steps_in_every_unit(unit):
    place, turned, frame = free("")
    rod = st.body(1.0, shape=st.Box((unit, unit / 2, unit / 3)), frame=frame, gravity=G * unit)
    rod += st.joint("hinge", st.Frame(), frame.move((-unit / 2, 0, 0)), axis="y", name="pin")
    motion = st.simulate(rod, span=(0, 1), start={place[0]: unit / 2}, points=3)
    theta = st.coordinates("theta")
    about = (1 + 1 / 9) / 12 + 1 / 4
    swing = st.System(kinetic=about * theta.dot**2 / 2, potential=-G * st.sin(theta) / 2)
    known = st.simulate(swing, span=(0, 1), points=3)
    np.testing.assert_allclose(motion[place[2]] / unit, -np.sin(known[theta]) / 2, atol=1e-12)
    assert motion.steps <= 2 * known.steps
