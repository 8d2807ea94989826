"""Robots from URDF files against Newton and Euler's laws, and against Pinocchio where it is."""

import numpy as np
import pytest

import stationary as st
from tests.derive.test_chains import G, Tree

pytest.importorskip("yourdfpy", reason="needs pip install 'stationary[robots]'")


def described(tree, floating=False):
    """A random tree as URDF."""
    lines = ['<robot name="tree">', '<link name="base">']
    if floating:
        lines.append(_inertial(2.0, (0.1, 0.2, 0.3), np.diag([1.0, 2.0, 2.5])))
    lines.append("</link>")
    for k, parent in enumerate(tree.parents):
        lines += [f'<link name="link{k}">', _inertial(tree.masses[k], tree.centres[k],
                                                      tree.inertias[k]), "</link>"]  # fmt: skip
        kind = "prismatic" if tree.slides[k] else "continuous"
        above = f"link{parent}" if parent >= 0 else "base"
        turn = tree.turns[k].as_euler("xyz")
        lines += [
            f'<joint name="q{k}" type="{kind}">',
            f'<parent link="{above}"/><child link="link{k}"/>',
            f'<origin xyz="{_row(tree.moves[k])}" rpy="{_row(turn)}"/>',
            f'<axis xyz="{_row(tree.axes[k])}"/>',
            '<limit lower="-100" upper="100" effort="1e9" velocity="1e9"/></joint>',
        ]
    return "\n".join([*lines, "</robot>"])


def _row(values):
    return " ".join(repr(float(x)) for x in values)


def _inertial(m, at, spread):
    entries = " ".join(
        f'i{a}{b}="{float(spread["xyz".index(a), "xyz".index(b)])!r}"'
        for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    )
    return (
        f'<inertial><origin xyz="{_row(at)}" rpy="0 0 0"/><mass value="{float(m)!r}"/>'
        f"<inertia {entries}/></inertial>"
    )


@pytest.mark.parametrize("seed, count", [(11, 7)])
def test_an_arm_has_the_inertia_and_the_forces_of_newton_and_euler(seed, count):
    tree = Tree(seed, count)
    model = st.load(described(tree))
    compiled = st.compile(model.system)
    names = [c.name for c in model.system.coordinates]
    assert names == [f"q{k}" for k in range(count)]
    zero = np.zeros(count)
    M = np.array([tree.torques(tree.q, zero, e, 0.0) for e in np.eye(count)]).T
    assert compiled.mass(tree.q).toarray() == pytest.approx(M, abs=1e-12 * np.abs(M).max())
    force = tree.torques(tree.q, tree.v, zero, G)
    found = -compiled.force(tree.q, tree.v)
    assert found == pytest.approx(force, abs=1e-12 * np.abs(force).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed, count, floating", [(1, 7, False), (2, 7, False), (3, 20, True)])
def test_a_robot_is_the_one_that_pinocchio_reads(tmp_path, seed, count, floating):
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed: pip install pin")
    tree = Tree(seed, count)
    file = tmp_path / "robot.urdf"
    file.write_text(described(tree, floating))
    system = st.load(file, floating=floating).system
    root = [pin.JointModelFreeFlyer()] if floating else []
    robot = pin.buildModelFromUrdf(str(file), *root)
    robot.gravity.linear[:] = 0, 0, -G
    data = robot.createData()
    rng = np.random.default_rng(seed)
    layout = st.compile(system).graph.layout
    q, v = np.zeros(system.size), np.zeros(system.size)
    theirs, speeds = pin.neutral(robot), np.zeros(robot.nv)
    # Coordinates of ours to freedoms of theirs: q̇ = rates · v.
    rates = np.zeros((system.size, robot.nv))
    for k in range(count):
        joint = robot.joints[robot.getJointId(f"q{k}")]
        place = layout.offsets[f"q{k}"]
        q[place], speeds[joint.idx_v] = rng.normal(), rng.normal()
        if joint.nq == 1:
            theirs[joint.idx_q] = q[place]
        else:
            theirs[joint.idx_q : joint.idx_q + 2] = np.cos(q[place]), np.sin(q[place])
        rates[place, joint.idx_v] = 1
    turned, three, four = np.eye(3), [0], np.array([0])
    if floating:
        four = layout.kinematics.quaternions[0]
        q[four] = rng.normal(size=4)
        q[four] /= np.linalg.norm(q[four])
        theirs[3:7] = np.roll(q[four], -1)
        speeds[:6] = rng.normal(size=6)
        three = [layout.offsets[f"base_{axis}"] for axis in "xyz"]
        q[three] = theirs[:3] = rng.normal(size=3)
        # Theirs are velocities in the axes of the body.
        turned = pin.Quaternion(theirs[3:7]).toRotationMatrix()
        rates[np.ix_(three, range(3))] = turned
        w, x, y, z = q[four]
        rates[np.ix_(four, range(3, 6))] = (
            np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2
        )
    v = rates @ speeds
    compiled = st.compile(system)
    ours = rates.T @ compiled.mass(q).toarray() @ rates
    M = pin.crba(robot, data, theirs)
    M = np.triu(M) + np.triu(M, 1).T
    assert ours == pytest.approx(M, abs=1e-12 * np.abs(M).max())
    gravity = pin.computeGeneralizedGravity(robot, data, theirs)
    assert -rates.T @ compiled.force(q) == pytest.approx(gravity, abs=1e-12 * np.abs(gravity).max())
    # Accelerations are the same motion: of ours those of the freedoms are q̈ = G v̇ + Ġ v.
    expected = pin.aba(robot, data, theirs, speeds, np.zeros(robot.nv))
    a = compiled.acceleration(q, v)
    if floating:
        step = 1e-6
        ahead = pin.integrate(robot, theirs, step * speeds)
        behind = pin.integrate(robot, theirs, -step * speeds)
        turn = (pin.Quaternion(ahead[3:7]).toRotationMatrix()
                - pin.Quaternion(behind[3:7]).toRotationMatrix()) / (2 * step)  # fmt: skip
        found = np.empty(robot.nv)
        found[:3] = turned.T @ (a[three] - turn @ speeds[:3])
        found[3:6] = 4 * rates[np.ix_(four, np.arange(3, 6))].T @ a[four]
        joints = [robot.joints[robot.getJointId(f"q{k}")].idx_v for k in range(count)]
        found[joints] = [a[layout.offsets[f"q{k}"]] for k in range(count)]
        assert found == pytest.approx(expected, abs=1e-7 * np.abs(expected).max())
        found[:3] = expected[:3]
        assert found == pytest.approx(expected, abs=1e-11 * np.abs(expected).max())
    else:
        assert rates.T @ a == pytest.approx(expected, abs=1e-11 * np.abs(expected).max())


ARM = """<robot name="arm">
<link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 0.5"/><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial>
<visual><geometry><cylinder radius="0.05" length="1"/></geometry></visual></link>
<link name="tool"><inertial><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="shoulder-pan" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/>
<dynamics damping="0.7"/></joint>
<joint name="wrist" type="revolute"><parent link="upper"/><child link="tool"/>
<origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/>
<mimic joint="shoulder-pan" multiplier="-2" offset="0.1"/></joint>
</robot>
"""


def test_joints_keep_their_names_damp_and_mimic():
    model = st.load(ARM)
    (q,) = model.system.coordinates
    assert q.name == "shoulder_pan"
    assert model.params == {"g": 9.81}
    assert model.system.dissipation == 0.35 * q.dot**2
    # A link without a shape is seen where its mass is.
    assert [(p.name, p.shape is None) for p in model.system.parts] == [
        ("upper", False),
        ("tool", True),
    ]
    inertia = st.compile(model.system).mass([0.3]).toarray()[0, 0]
    # The tool turns at one less two times the rate, and a metre away.
    assert inertia == pytest.approx(0.1 + 2 * 0.5**2 + 1 + 0.1, rel=1e-14)
    assert model.ask("simulate", span=(0, 1), start={q: 0.3}).status == "done"


@pytest.mark.parametrize(
    "change, words",
    [
        (('child link="tool"', 'child link="hand"'), "holds a link that is missing"),
        (('<joint name="wrist" type="revolute">', '<joint name="wrist" type="screw">'), "kind"),
        (('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>'), "length zero"),
        (('ixx="0.1"', 'ixx="-0.1"'), "not positive"),
        (('<link name="tool">', '<link name="lost"/>\n<link name="tool">'), "not one tree"),
        (("</robot>", ""), "no description of a robot"),
    ],
)
def test_bad_descriptions_are_told_in_three_parts(change, words):
    with pytest.raises(st.StatementError) as error:
        st.load(ARM.replace(*change))
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 3


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(st.StatementError, match="there is no robot"):
        st.load("nowhere.urdf")
