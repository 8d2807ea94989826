"""Orientations and solids in model files."""

import numpy as np
import pytest

import stationary as st

FILE = """
rotations = ["R"]
[parameters]
A = 1.0
C = 0.6
w = 6.4
[energies]
kinetic = "A*(R_omega_x^2 + R_omega_y^2)/2 + C*R_omega_z^2/2"
potential = "w*R_zz"
[start]
R = [0.8, 0.6, 0, 0]
"R.omega" = [0, 0, 20]
[simulate]
span = [0, 1]
"""


def test_a_file_states_a_top_by_its_rotation():
    model = st.load(FILE)
    R = st.rotation("R")
    A, C, w = st.parameters(A=1.0, C=0.6, w=6.4)
    x, y, z = R.omega
    kinetic = A * (x**2 + y**2) / 2 + C * z**2 / 2
    by_hand = st.System(kinetic=kinetic, potential=w * (R @ (0, 0, 1))[2])
    start = {R: (0.8, 0.6, 0, 0), R.omega: (0, 0, 20)}
    expected = st.simulate(by_hand, span=(0, 1), start=start)
    found = model.ask("simulate")
    assert found[R].as_quat()[-1] == pytest.approx(expected[R].as_quat()[-1], abs=1e-12)
    # Orientations are searched whole.
    assert [rest.stable for rest in model.ask("equilibria")] == [True, False]


def test_systems_in_space_are_written_and_read():
    x, y, z = st.coordinates("x y z")
    R = st.rotation("R")
    frame = st.Frame().move((x, y, z)).turn(R)
    for shape in (st.Box((1, 2, 3)), st.Sphere(1), st.Cylinder(1, 2, "x"), st.Rod(2, "y")):
        body = st.body(2.0, shape=shape, at=(0, 0.1, 0), frame=frame, gravity=9.81, name="it")
        body += st.rolling("sphere", frame, radius=1, name="it")
        text = st.save(body, start={R: (0.6, 0.8, 0, 0), R.omega: (1, 2, 3), x: 1.0})
        model = st.load(text)
        assert model.system.parts[0].shape == shape
        assert model.start["R"] == pytest.approx([0.6, 0.8, 0, 0])
        if isinstance(shape, (st.Sphere, st.Rod)):
            continue  # stated by the same words as the others, with fewer numbers
        rng = np.random.default_rng(1)
        q, v = rng.normal(size=(2, 7))
        one, other = st.compile(body), st.compile(model.system)
        assert other.force(q, v) == pytest.approx(one.force(q, v), rel=1e-12)
        assert other.mass(q).toarray() == pytest.approx(one.mass(q).toarray(), rel=1e-12)


@pytest.mark.parametrize(
    "change, words",
    [
        (('rotations = ["R"]', 'rotations = ["2"]'), "cannot name a rotation"),
        (("R = [0.8, 0.6, 0, 0]", "S = [0.8, 0.6, 0, 0]"), "is not a coordinate"),
        (('"R.omega" =', '"R.dot" ='), "is not a coordinate"),
        (("A = 1.0", "A = 1.0\nR_x = 1.0"), "names two things"),
    ],
)
def test_bad_files_are_told_with_their_place(change, words):
    with pytest.raises(st.StatementError, match=words):
        st.load(FILE.replace(*change))
