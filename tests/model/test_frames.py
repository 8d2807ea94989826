"""Frames, orientations, bodies and joints as statements."""

import copy
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.spatial.transform import Rotation

import stationary as st
from stationary.model.built_once import Shared, opened
from stationary.model.graphs import nodes

a, b, c, s = st.coordinates("a b c s")
h = st.parameters(h=0.7)


def numbers(expressions, values):
    """Values of expressions, what they share written out."""
    return np.array([float(opened(sp.S(e)).xreplace(values)) for e in expressions])


def chain(count):
    """A spatial chain with moves, turns about axes of its own and others, and slides."""
    q = st.coordinates(" ".join(f"q{k}" for k in range(count)))
    frame = st.Frame()
    for k, angle in enumerate(q):
        axis = ("x", (1, 2, -1), "z", (0, -1, 0))[k % 4]
        frame = frame.turn(axis, angle).move((0.1, 0.3 + (0.2 * angle if k % 3 == 1 else 0), 0.5))
    return q, frame


def test_a_chain_of_frames_is_a_product_of_rotations():
    q, frame = chain(5)
    rng = np.random.default_rng(1)
    values = dict(zip(q, rng.normal(size=5)))
    place, turned = np.zeros(3), Rotation.identity()
    for k, angle in enumerate(values.values()):
        axis = np.array(([1, 0, 0], [1, 2, -1], [0, 0, 1], [0, -1, 0])[k % 4], dtype=float)
        turned = turned * Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
        step = np.array([0.1, 0.3 + (0.2 * angle if k % 3 == 1 else 0), 0.5])
        place = place + turned.apply(step)
    arm = np.array([0.3, -0.2, 0.9])
    assert numbers(frame.point(tuple(arm)), values) == pytest.approx(place + turned.apply(arm))
    assert numbers(frame.axis("y"), values) == pytest.approx(turned.as_matrix()[:, 1])


def test_angular_velocity_and_drift_are_the_rates_of_the_pose():
    q, frame = chain(5)
    rng = np.random.default_rng(2)
    places, speeds = rng.normal(size=(2, 5))
    values = {**dict(zip(q, places)), **{x.dot: v for x, v in zip(q, speeds)}}

    def pose(time):
        there = dict(zip(q, places + time * speeds))
        return (
            numbers(frame.origin, there),
            numbers([e for r in frame.matrix for e in r], there).reshape(3, 3),
        )

    step = 1e-5
    (before, turned_before), (after, turned_after) = pose(-step), pose(step)
    turned = pose(0.0)[1]
    skew = turned.T @ (turned_after - turned_before) / (2 * step)
    assert numbers(frame.omega, values) == pytest.approx(
        [skew[2, 1], skew[0, 2], skew[1, 0]], rel=1e-8, abs=1e-8
    )
    velocity = (after - before) / (2 * step)
    assert numbers(frame.velocity(), values) == pytest.approx(velocity, rel=1e-8)
    assert numbers(st.rate(frame.origin), values) == pytest.approx(velocity, rel=1e-8)


def test_frames_are_immutable_and_serve_the_plane():
    base = st.Frame()
    arm = base.move((0, h)).turn(a)
    assert base.origin == (0, 0, 0)
    assert arm.point((1, 0)) == (st.cos(a), h + st.sin(a))
    assert arm.omega == (0, 0, a.dot)
    by_frame = st.body(2, inertia=0.3, at=(0.5, 0), frame=arm, gravity=9.81)
    by_hand = st.body(2, inertia=0.3, at=(st.cos(a) / 2, h + st.sin(a) / 2), angle=a, gravity=9.81)
    assert sp.simplify(opened(by_frame.kinetic) - by_hand.kinetic) == 0
    assert sp.simplify(opened(by_frame.potential) - by_hand.potential) == 0


def statement_size(count):
    """Number of distinct nodes in the energies of a chain of bodies."""
    q, frame, parts = st.coordinates(" ".join(f"q{k}" for k in range(count))), st.Frame(), []
    for k, angle in enumerate(q):
        frame = frame.turn("xyz"[k % 3], angle)
        parts.append(st.body(1, inertia=(1, 2, 2.5), at=(0, 0.1, 0.2), frame=frame, gravity=9.81))
        frame = frame.move((0.1, 0.2, 0.5))
    system = sum(parts[1:], parts[0])
    return len({n for e in (system.kinetic, system.potential) for n in nodes(e)})


def test_the_statement_of_a_chain_grows_with_its_length():
    sizes = [statement_size(n) for n in (5, 10, 20)]
    assert sizes[2] - sizes[1] <= 2.1 * (sizes[1] - sizes[0])


def test_equal_shared_expressions_are_one_object_and_differentiate_as_written_out():
    one, two = (chain(4)[1].point((1, 2, 3))[0] for _ in range(2))
    assert one is two
    q = chain(4)[0]
    slope = one.diff(q[1])
    assert isinstance(slope, Shared)
    assert sp.expand(opened(slope) - opened(one).diff(q[1])) == 0


def test_equations_of_frames_read_as_those_by_hand():
    rotor = st.Frame().turn("z", a).turn("x", b)
    eq = st.equations(st.body(1, inertia=(1, 2, 3), frame=rotor))
    expected = sp.Matrix([[2 * sp.sin(b) ** 2 + 3 * sp.cos(b) ** 2, 0], [0, 1]])
    assert sp.simplify(sp.Matrix(eq.M) - expected) == sp.zeros(2, 2)


def test_an_orientation_holds_itself_in_any_statement():
    R = st.rotation("R")
    own = st.System(
        kinetic=sum(k * w**2 for k, w in zip((1, 2, 3), R.omega)) / 2,
        potential=(R @ (0, 0, 1))[2],
    )
    assert [e.name for e in own.constraints] == ["R"]
    both = own + st.body(1, inertia=(1, 1, 1), frame=R) + own
    assert [e.name for e in both.constraints] == ["R"]
    assert own == st.System(kinetic=own.kinetic, potential=own.potential)


@pytest.mark.parametrize("kind", ["quaternion", "list", "matrix", "rotation", "name"])
def test_an_orientation_starts_from_whatever_says_it(kind):
    R, x = st.rotation("R"), st.coordinates("x")
    body = st.body(1, inertia=(1, 2, 2.5), frame=st.Frame().move((x, 0, 0)).turn(R))
    turned = Rotation.random(random_state=3)
    quaternion = turned.as_quat(scalar_first=True)
    given = {
        "quaternion": {R: quaternion},
        "list": {R: list(quaternion)},
        "matrix": {R: turned.as_matrix()},
        "rotation": {R: turned},
        "name": {"R": turned},
    }[kind]
    omega = {"R.omega": (1, 2, 3)} if kind == "name" else {R.omega: (1, 2, 3)}
    state = st.consistent(body, omega | given)
    assert (state[R] * turned.inv()).magnitude() < 1e-14
    assert state[R.omega] == pytest.approx([1, 2, 3], abs=1e-14)


def test_an_orientation_left_out_is_not_turned():
    R = st.rotation("R")
    state = st.consistent(st.body(1, inertia=(1, 2, 2.5), frame=st.Frame().turn(R)), {})
    assert state[R].magnitude() == 0


R = st.rotation("R")
BASE, ARM = st.Frame(), st.Frame().turn("z", a)
NOTHING: Any = None
FREE = st.Frame().move(st.coordinates("x y z")).turn(st.rotation("R"))

BAD = {
    "triangle": (
        lambda: st.body(1, inertia=(1, 1, 3), frame=ARM),
        "no body has such moments of inertia",
    ),
    "negative": (lambda: st.body(1, inertia=(1, -1, 1), frame=ARM), "not positive"),
    "matrix": (
        lambda: st.body(1, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]], frame=ARM),
        "not symmetric",
    ),
    "indefinite": (
        lambda: st.body(1, inertia=[[1, 2, 0], [2, 1, 0], [0, 0, 1]], frame=ARM),
        "not positive",
    ),
    "default": (
        lambda: st.body(1, inertia=(*st.parameters(A=1, B=1), 3), frame=ARM),
        "no body has such",
    ),
    "one moment": (
        lambda: st.body(1, inertia=1, frame=st.Frame().turn("x", a)),
        "three moments of inertia",
    ),
    "nothing": (lambda: st.body(1, frame=ARM), "needs its inertia"),
    "axis": (lambda: BASE.turn((0, 0, 0), a), "length zero"),
    "axis name": (lambda: BASE.turn("w", a), "'x', 'y', 'z'"),
    "moving axis": (lambda: BASE.turn((a, 0, 1), b), "moves"),
    "no angle": (lambda: BASE.turn("z"), "has no angle"),
    "no rotation": (lambda: BASE.turn(np.eye(3) * 2), "is no rotation"),
    "mirror": (lambda: BASE.turn(np.diag([1, 1, -1])), "is no rotation"),
    "itself": (lambda: st.joint("hinge", ARM, ARM), "to itself"),
    "kind": (lambda: st.joint("hindge", BASE, ARM), "Did you mean 'hinge'"),
    "holds nothing": (lambda: st.joint("hinge", BASE, ARM), "holds nothing"),
    "apart": (lambda: st.joint("ball", BASE, ARM.move((0, 0, 1))), "cannot hold"),
    "joint axis": (lambda: st.joint("hinge", BASE, st.Frame().turn(R), axis=(0, 0, 0)), "zero"),
    "no frame": (lambda: st.joint("ball", BASE, NOTHING), "two frames"),
    "rolls": (lambda: st.rolling("cube", ARM, radius=1), "does not roll"),
    "radius": (lambda: st.rolling("disc", ARM, radius=-1), "not positive"),
    "moment": (lambda: st.moment((0, 0, 1), on=BASE), "turns nothing"),
    "shape": (lambda: st.body(1, shape="box", frame=ARM), "st.Box"),
    "edge": (lambda: st.Box((1, 0, 2)), "not positive"),
    "surface": (
        lambda: st.rolling("sphere", FREE, radius=1, on=lambda X, Y: Y),
        "no function of (X, Y, Z)",
    ),
    "two names": (
        lambda: (
            st.body(1, inertia=(1, 1, 1), frame=FREE)
            + st.System(kinetic=st.coordinates("R").dot ** 2)
        ),
        "a coordinate and a rotation of that name",
    ),
    "rotation name": (lambda: st.rotation("a b"), "cannot name a rotation"),
    "point": (lambda: st.Frame().turn("x", a).point((1, 2)), "three entries"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_statements_are_told_in_three_parts(case):
    make, words = BAD[case]
    with pytest.raises(st.StatementError) as error:
        make()
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 3


@pytest.mark.parametrize(
    "start, words",
    [
        ({R: (1, 1, 0, 0)}, "is not a unit"),
        ({R: (0, 0, 0, 0)}, "is not a unit"),
        ({R: np.eye(3) * 1.1}, "no orientation"),
        ({R: "north"}, "no orientation"),
        ({R.omega: (1, 2)}, "no angular velocity"),
        ({"S": (1, 0, 0, 0)}, "not a coordinate"),
    ],
)
def test_bad_orientations_at_the_start_are_told_in_three_parts(start, words):
    body = st.body(1, inertia=(1, 1, 1), frame=st.Frame().turn(R))
    with pytest.raises(st.StatementError) as error:
        st.simulate(body, span=(0, 1), start=start)
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 3


def test_a_coordinate_is_no_entry_of_a_rotation_of_its_name():
    frame = st.Frame().move((st.coordinates("R_x"), 0, 0)).turn(R)
    with pytest.raises(st.StatementError, match="'R_x' names two things"):
        st.body(1, inertia=(1, 1, 1), frame=frame)


def test_systems_in_space_travel_and_come_back_equal(tmp_path):
    q, frame = chain(3)
    system = st.body(1, shape=st.Box((1, 2, 3)), at=(0, 0.1, 0.2), frame=frame.turn(R), gravity=9.8)
    assert pickle.loads(pickle.dumps(system)) == system
    assert copy.deepcopy(system) == system
    motion = st.simulate(
        system, span=(0, 0.01), start={q[0].dot: 1.0, R.omega: (1, 2, 3)}, points=3
    )
    st.save(motion, tmp_path / "motion.nc")
    again = st.load(tmp_path / "motion.nc")
    assert again.system == system
    assert again[R].as_quat() == pytest.approx(motion[R].as_quat(), abs=0)


def test_rotations_keep_names_that_constraints_are_numbered_by():
    (x, y, z), R1, R2 = st.coordinates("x y z"), st.rotation("R1"), st.rotation("R2")
    frames = [st.Frame().move((x, y, z)).turn(R2), st.Frame().turn(R1)]
    both = st.body(1, inertia=(1, 1, 1), frame=frames[0])
    both += st.body(1, inertia=(1, 1, 1), frame=frames[1])
    both += st.System(constraints=[x - y]) + st.joint("ball", *frames, name="pin")
    names = [c.name for c in both.constraints]
    assert len(names) == 4 and {"R1", "R2", "pin.force"} < set(names)
    motion = st.simulate(both, span=(0, 1), start={R1.omega: (0, 0, 1), R2: (1, 0, 0, 0)})
    assert motion[R2].magnitude() == pytest.approx(0, abs=1e-12)
    assert motion[R1].as_rotvec()[-1] == pytest.approx([0, 0, 1])


@pytest.mark.parametrize("quarters", range(-5, 6))
def test_a_right_angle_is_one_as_number_and_as_expression(quarters):
    typed, exact = (st.Frame().turn("x", quarters * pi / 2) for pi in (math.pi, st.pi))
    assert typed.point((1, 2, 3)) == exact.point((1, 2, 3))


def test_a_body_in_space_reads_by_its_angular_velocity_and_its_axes():
    turn, Q, q = st.rotation("R"), st.rotation("Q"), st.coordinates("x y z")
    frame = st.Frame().move(q).turn(turn)
    top = st.body(2.0, inertia=(1, 2, 3), frame=frame, gravity=9.81)
    assert "T = R.omega.x**2/2 + R.omega.y**2 + 3*R.omega.z**2/2" in str(top)
    assert r"\omega_{y}^{2}" in top._repr_latex_() and "R_{w} " not in top._repr_latex_()
    # What is printed has the values of what is stated, in chains too.
    far = frame.move((0, 0, 1)).turn(Q).move((0, 0.5, 0))
    chain = top + st.body(1.0, inertia=(1, 1, 2), frame=far, gravity=9.81)
    values: dict = {s: 0.1 + 0.07 * k for k, s in enumerate(chain.scalars())}
    values |= {s.dot: 0.3 - 0.05 * k for k, s in enumerate(chain.scalars())}
    spoken = {f"{c.name}_dot": values[c.dot] for c in q}
    spoken |= {c.name: values[c] for c in chain.scalars()}
    for r in (turn, Q):
        for a, speed, row in zip("xyz", r.omega, r.matrix):
            spoken[f"{r.name}_omega_{a}"] = opened(speed).subs(values)
            spoken |= {f"{r.name}_{a}{b}": opened(e).subs(values) for b, e in zip("xyz", row)}
    lines = dict(line.strip().split(" = ", 1) for line in str(chain).splitlines()[1:3])
    for letter, stated in (("T", chain.kinetic), ("U", chain.potential)):
        text = re.sub(r"\.(?=[a-z])", "_", lines[letter])
        expected = float(opened(stated).subs(values))
        assert float(eval(text, {}, spoken)) == pytest.approx(expected, rel=1e-12)
