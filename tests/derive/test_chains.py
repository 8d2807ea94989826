"""Trees of bodies: inertia, bias and gravity against Newton and Euler's laws, in linear time."""

from functools import cached_property
from importlib.util import find_spec
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as some
from scipy.spatial.transform import Rotation

import stationary as st
from stationary.lower.kernel import graph_of

G = 9.81


class Tree:
    """A random tree of bodies with hinges and slides, as a statement and as numbers."""

    slides: Any
    masses: Any

    def __init__(self, seed, count, floating=False):
        rng = np.random.default_rng(seed)
        self.parents = [int(rng.integers(-1, k)) if k else -1 for k in range(count)]
        self.slides = rng.random(count) < 0.3
        self.axes = rng.normal(size=(count, 3))
        # Some axes are those of the frame, which take another way.
        for k in np.flatnonzero(rng.random(count) < 0.5):
            self.axes[k] = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        self.axes /= np.linalg.norm(self.axes, axis=1, keepdims=True)
        self.turns = Rotation.random(count, random_state=rng)
        self.moves, self.centres = rng.normal(size=(2, count, 3))
        self.masses = rng.uniform(0.1, 3, count)
        spread = rng.normal(size=(count, 3, 4))
        # Of points of mass: no inertia like this violates the triangle inequality.
        self.inertias = [
            sum((p @ p) * np.eye(3) - np.outer(p, p) for p in cloud.T) for cloud in spread
        ]
        self.q, self.v = rng.normal(size=(2, count))
        self.root = st.Frame()
        if floating:
            x, y, z = st.coordinates("x y z")
            self.root = st.Frame().move((x, y, z)).turn(st.rotation("R"))

    @cached_property
    def frames(self):
        frames: list[st.Frame] = []
        for k, parent in enumerate(self.parents):
            base = frames[parent] if parent >= 0 else self.root
            base = base.move(tuple(self.moves[k])).turn(self.turns[k])
            q = st.coordinates(f"q{k}")
            axis = tuple(self.axes[k])
            moved = base.move(tuple(e * q for e in axis)) if self.slides[k] else base.turn(axis, q)
            frames.append(moved)
        return frames

    @property
    def system(self):
        bodies = [
            st.body(self.masses[k], inertia=self.inertias[k], at=tuple(self.centres[k]),
                    frame=frame, gravity=G)
            for k, frame in enumerate(self.frames)
        ]  # fmt: skip
        return sum(bodies[1:], bodies[0])

    def ordered(self, compiled):
        """Where the coordinates of the links stand in those of the system."""
        names = [c.name for c in compiled.system.coordinates]
        return [names.index(f"q{k}") for k in range(len(self.parents))]

    def links(self, q, v, a):
        """Yield of every link its pose, ω, α, acceleration, and slopes of turn and place by q."""
        count = len(q)
        poses: list = []
        for k, parent in enumerate(self.parents):
            if parent < 0:
                turn, place = Rotation.identity(), np.zeros(3)
                omega, alpha, pull = np.zeros((3, 3))
                turning, moving = np.zeros((2, 3, count))
            else:
                turn, place, omega, alpha, pull, turning, moving = poses[parent]
            arm = turn.apply(self.moves[k])
            turn = turn * self.turns[k]
            axis = turn.apply(self.axes[k])
            if self.slides[k]:
                arm = arm + q[k] * axis
            place = place + arm
            moving = moving - np.cross(arm, turning.T).T
            pull = pull + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
            turning, moving = turning.copy(), moving.copy()
            if self.slides[k]:
                pull = pull + 2 * np.cross(omega, axis * v[k]) + axis * a[k]
                moving[:, k] += axis
            else:
                turn = turn * Rotation.from_rotvec(q[k] * self.axes[k])
                alpha = alpha + np.cross(omega, axis * v[k]) + axis * a[k]
                omega = omega + axis * v[k]
                turning[:, k] += axis
            poses.append((turn, place, omega, alpha, pull, turning, moving))
            yield poses[-1]

    def torques(self, q, v, a, gravity):
        """What moves it so, by Newton's and Euler's laws projected on the joints."""
        total, up = np.zeros(len(q)), np.array([0, 0, gravity])
        for k, (turn, _, omega, alpha, pull, turning, moving) in enumerate(self.links(q, v, a)):
            arm = turn.apply(self.centres[k])
            push = self.masses[k] * (
                pull + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm)) + up
            )
            spread = turn.as_matrix() @ self.inertias[k] @ turn.as_matrix().T
            twist = spread @ alpha + np.cross(omega, spread @ omega)
            total += (moving - np.cross(arm, turning.T).T).T @ push + turning.T @ twist
        return total

    def _way(self, k):
        """The links from the root to one of them."""
        return (*(self._way(self.parents[k]) if self.parents[k] >= 0 else ()), k)

    def by_pinocchio(self):
        """M, gravity and all forces at rest of the joints, as Pinocchio finds them."""
        import pinocchio as pin  # pyright: ignore[reportMissingImports]

        model, ids = pin.Model(), {}
        # Every branch is numbered to its end before the next: its subtrees are ranges.
        for k in sorted(range(len(self.parents)), key=self._way):
            parent = self.parents[k]
            kind = pin.JointModelPrismaticUnaligned if self.slides[k] else (
                pin.JointModelRevoluteUnaligned)  # fmt: skip
            place = pin.SE3(self.turns[k].as_matrix(), self.moves[k])
            above = ids[parent] if parent >= 0 else 0
            ids[k] = model.addJoint(above, kind(*self.axes[k]), place, f"q{k}")
            inertia = pin.Inertia(self.masses[k], self.centres[k], self.inertias[k])
            model.appendBodyToJoint(ids[k], inertia, pin.SE3.Identity())
        model.gravity.linear[:] = 0, 0, -G
        data = model.createData()
        order = [model.joints[ids[k]].idx_v for k in range(len(ids))]
        q, v = np.empty((2, len(order)))
        q[order], v[order] = self.q, self.v
        M = pin.crba(model, data, q)
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
        gravity = pin.computeGeneralizedGravity(model, data, q)[order]
        return M, gravity, pin.nonLinearEffects(model, data, q, v)[order]


def by_us(tree):
    """M, gravity, all forces at rest of the joints, and accelerations, link by link."""
    compiled = st.compile(tree.system)
    order = tree.ordered(compiled)
    whole = np.empty((2, len(order)))
    whole[:, order] = tree.q, tree.v
    M = compiled.mass(whole[0]).toarray()[np.ix_(order, order)]
    gravity, force = -compiled.force(whole[0])[order], -compiled.force(whole[0], whole[1])[order]
    return M, gravity, force, compiled.acceleration(whole[0], whole[1])[order]


@pytest.mark.slow
@given(seed=some.integers(0, 10**6), count=some.integers(1, 5))
@settings(max_examples=4, phases=[Phase.explicit, Phase.generate])
@example(seed=4, count=6)
def test_inertia_bias_and_gravity_of_a_tree_are_those_of_newton_and_euler(seed, count):
    tree = Tree(seed, count)
    q, v, zero = tree.q, tree.v, np.zeros(count)
    *found, a = by_us(tree)
    expected = (
        np.array([tree.torques(q, zero, e, 0.0) for e in np.eye(count)]).T,
        tree.torques(q, zero, zero, G),
        tree.torques(q, v, zero, G),
    )
    for ours, by_hand in zip(found, expected):
        assert ours == pytest.approx(by_hand, abs=1e-11 * np.abs(by_hand).max())
    left = tree.torques(q, v, a, G)
    assert left == pytest.approx(zero, abs=1e-11 * np.abs(expected[2]).max())


@pytest.mark.skipif(
    find_spec("pinocchio") is None, reason="pinocchio is not installed: pip install pin"
)
@given(seed=some.integers(0, 10**6), count=some.integers(1, 8))
@settings(max_examples=8, phases=[Phase.generate])
def test_inertia_bias_and_gravity_of_a_tree_are_those_of_pinocchio(seed, count):
    tree = Tree(seed, count)
    for ours, theirs in zip(by_us(tree), tree.by_pinocchio()):
        assert ours == pytest.approx(theirs, abs=1e-11 * np.abs(theirs).max())


@given(seed=some.integers(0, 10**6))
@settings(max_examples=4, phases=[Phase.generate])
def test_a_closed_loop_moves_as_by_its_only_freedom(seed):
    """A chain of four whose tip is held: q̇ along the null space of J, Newton's law along it."""
    tree = Tree(seed, 4)
    tree.parents, tip = [-1, 0, 1, 2], (0.3, -0.2, 0.5)
    zero = np.zeros(4)

    def end(q, v=zero, a=zero):
        *_, (turn, place, omega, alpha, pull, turning, moving) = tree.links(q, v, a)
        arm = turn.apply(tip)
        speedup = pull + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        return place + arm, moving - np.cross(arm, turning.T).T, speedup

    held, J, _ = end(tree.q)
    *_, free = np.linalg.svd(J)[2]
    v = 1.7 * free
    bias = -np.linalg.pinv(J) @ end(tree.q, v)[2]
    push = free @ tree.torques(tree.q, v, bias, G)
    inertia = free @ (tree.torques(tree.q, v, bias + free, G) - tree.torques(tree.q, v, bias, G))
    expected = bias - free * push / inertia
    loop = tree.system + st.joint(
        "ball", st.Frame().move(tuple(held)), tree.frames[-1].move(tip), name="tip"
    )
    compiled = st.compile(loop)
    order = tree.ordered(compiled)
    whole = np.empty(4), np.empty(4)
    whole[0][order], whole[1][order] = tree.q, v
    a = compiled.acceleration(whole[0], whole[1])[order]
    assert a == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())
    # The force of the ground on the tip balances all the others.
    lam = np.array(graph_of(loop).held((0, 1, 2))(0, *whole, [], [], 0.0)[1]).ravel()
    force = np.linalg.lstsq(J.T, tree.torques(tree.q, v, expected, G), rcond=None)[0]
    assert lam == pytest.approx(force, abs=1e-9 * np.abs(force).max())


@pytest.mark.parametrize("seed, count", [(1, 1), (2, 4)])
def test_a_floating_tree_moves_by_the_same_law_with_and_without_articulated_bodies(seed, count):
    tree = Tree(seed, count, floating=True)
    system = tree.system
    graph = graph_of(system)
    assert graph.upright
    rng, kinematics, n = np.random.default_rng(seed), graph.layout.kinematics, system.size
    q, v = kinematics.onto(rng.normal(size=n)), rng.normal(size=n)
    four = kinematics.quaternions[0]
    v[four] -= q[four] * (q[four] @ v[four])
    a, lam, _ = (np.array(e).ravel() for e in graph.held((0,))(0, q, v, [], [], 0.0))
    M, force = (np.array(e.full() if isinstance(e, ca.DM) else e) for e in
                graph.dynamics(0, q, v, [], []))  # fmt: skip
    R, _, A, gamma, _ = (np.array(e.full()) for e in graph.constraints(0, q, v, [], []))
    scale = np.abs(force).max()
    assert M @ a == pytest.approx(force.ravel() + A.T @ lam, abs=1e-12 * scale)
    assert A @ a == pytest.approx(-gamma.ravel(), abs=1e-12 * np.abs(gamma).max())


def test_the_graph_of_a_chain_grows_with_its_length():
    sizes = []
    for count in (5, 10, 20):
        q, frame, bodies = st.coordinates(" ".join(f"q{k}" for k in range(count))), st.Frame(), []
        for k, angle in enumerate(q):
            frame = frame.turn("xyz"[k % 3], angle)
            bodies.append(st.body(1, inertia=(1, 2, 2.5), at=(0, 0.1, 0.2), frame=frame, gravity=G))
            frame = frame.move((0.1, 0.2, 0.5))
        graph = graph_of(sum(bodies[1:], bodies[0]))
        sizes.append(graph.acceleration.n_instructions())
    assert sizes[2] - sizes[1] <= 2.1 * (sizes[1] - sizes[0])
